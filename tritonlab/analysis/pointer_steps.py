"""How a kernel came to the pointers of one access: the expressions of its source, evaluated on its own recorded locals.

The steps of a trace hold every local variable after every line; what a line computes in between (``offs_m[:, None]``,
``... * stride_am``) is evaluated here in NumPy from those locals. The last stage must equal the recorded offsets lane by
lane, otherwise nothing is shown and ``note`` says why.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..trace.record import Access, Launch
from .pointer_values import Frame, Unknown, Value, frame_of, inner

__all__ = ["Factor", "PointerSteps", "Stage", "Term", "pointer_steps"]

MAX_ADVANCES = 6
"""Advances by different amounts that are told one by one; more are added up."""


@dataclass(frozen=True, eq=False)
class Stage:
    """One block on the way to the pointers.

    ``text``: the expression, or ``name = expression``; ``filled``: the same with scalars as numbers. ``values``: an array of
    ``shape``, for pointers element offsets into ``arg``. ``times``: how often the line ran (advances of a loop).
    ``axes``: for each of its axes the axis of the access's block that it runs along. ``wide``: the shape that it is
    stretched to by broadcasting, where that is another.
    """

    text: str
    filled: str
    line: int
    values: np.ndarray
    arg: str | None
    axes: tuple[int, ...]
    times: int = 1
    wide: tuple[int, ...] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __repr__(self) -> str:
        return f"<{self.text} {list(self.shape)}{f' ×{self.times}' if self.times > 1 else ''}>"


@dataclass(frozen=True, eq=False)
class Factor:
    """One factor of a term: a number, or a block whose shape broadcasts to the access's."""

    text: str
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class Term:
    """What is added to the argument's pointer: the product of ``factors``, ``times`` times over (negative: taken away)."""

    factors: tuple[Factor, ...]
    times: int = 1

    @property
    def values(self) -> np.ndarray:
        product = np.array(self.times, np.int64)
        for f in self.factors:
            product = product * f.values.astype(np.int64)
        return product

    def __repr__(self) -> str:
        return f"<{self.times} × {' · '.join(f.text for f in self.factors)}>"


@dataclass(frozen=True, eq=False)
class PointerSteps:
    """``stages`` in order of evaluation, ``terms`` whose sum are the offsets; both empty when ``note`` says why."""

    stages: tuple[Stage, ...] = ()
    terms: tuple[Term, ...] = ()
    note: str = ""

    def __repr__(self) -> str:
        return f"<PointerSteps {self.note or f'{len(self.stages)} stages, {len(self.terms)} terms'}>"


def pointer_steps(launch: Launch, access: Access) -> PointerSteps:
    """The stages and terms of an access's pointers. Without steps of its program, or where the source says more than
    is understood here, an empty result with the reason as ``note``."""
    if not launch.steps.get(access.program) or access.step is None:
        return PointerSteps(note=f"program {access.program} was not stepped")
    frame = frame_of(launch, access)
    if frame is None:
        return PointerSteps(note="the trace holds no source of this line")
    reason = "no load or store found in this line"
    for call in _calls(frame, access.kind):
        try:
            found = _Story(frame, access, call).told()
        except Unknown as unknown:
            reason = str(unknown)
            continue
        if found is not None:
            return found
        reason = "the expression evaluated from the locals differs from the recorded offsets"
    return PointerSteps(note=reason)


def _calls(frame: Frame, kind: str) -> list[ast.expr]:
    """First arguments of the calls on the access's line that make an access of this kind."""
    statement = frame.statement(frame.last)
    if statement is None:
        return []
    found = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == kind:
            pointer = next((k.value for k in node.keywords if k.arg == "pointer"), node.args[0] if node.args else None)
            if pointer is not None:
                found.append(pointer)
    return found


class _Story:
    """Walks from the pointer expression back to where its names were set."""

    def __init__(self, frame: Frame, access: Access, pointer: ast.expr) -> None:
        self.frame, self.access, self.pointer = frame, access, pointer
        self.stages: list[Stage] = []
        self.at: dict[Any, int] = {}

    def told(self) -> PointerSteps | None:
        shape = self.access.offsets.shape
        axes = tuple(range(len(shape)))
        value = self.frame.value(self.pointer, self.frame.last)
        if value.arg != self.access.arg or not self._same(value.array):
            return None
        self._build(self.pointer, self.frame.last, axes)
        terms = self._terms(self.pointer, self.frame.last, 1)
        total = sum((t.values for t in terms), np.array(0, np.int64))
        if not self._same(total):
            terms = []
        return PointerSteps(tuple(self.stages), tuple(terms))

    def _same(self, offsets: np.ndarray) -> bool:
        """Whether these are the recorded offsets (a scalar pointer is recorded with shape (1,))."""
        recorded = self.access.offsets
        if offsets.ndim > recorded.ndim:
            return False
        try:
            return bool(np.array_equal(np.broadcast_to(offsets, recorded.shape), recorded))
        except ValueError:
            return False

    # Stages.

    def _build(self, node: ast.expr, at: int, axes: tuple[int, ...], wide: tuple[int, ...] = (), nested: bool = False) -> None:
        """Append the stages of an expression as it stands after step ``at`` began, its own last."""
        value = self.frame.value(node, at)
        if not value.array.ndim:
            if isinstance(node, ast.Name) and value.arg is not None:
                self._name(node, at, axes, wide)
            return
        axes = axes[len(axes) - value.array.ndim :]
        if isinstance(node, ast.Name):
            self._name(node, at, axes, wide)
            return
        through = inner(node)
        if through is not None and not self.frame.reshapes(node):
            self._build(through, at, axes, wide, nested)
            return
        if isinstance(node, ast.BinOp):
            shape = value.array.shape
            for side in (node.left, node.right):
                self._build(side, at, axes, shape, nested=True)
        elif through is not None:  # offs[:, None], expand_dims
            kept = self.frame.kept_axes(node, at)
            self._build(through, at, tuple(axes[k] for k in kept), ())
        elif nested and self.frame.is_arange(node):
            return
        self._stage(ast.unparse(node), self.frame.filled(node, at), at, value, axes, wide)

    def _name(self, node: ast.Name, at: int, axes: tuple[int, ...], wide: tuple[int, ...]) -> None:
        found = self.frame.definition(node.id, at)
        value = self.frame.value(node, at)
        if found is None:
            if value.array.ndim:
                self._stage(node.id, node.id, at, value, axes, wide, key=(node.id, None))
            return
        set_at, expression, added = found
        if added is None:
            if self._understood(expression, set_at):
                self._parts(expression, set_at, axes)
            text, times = f"{node.id} = {ast.unparse(expression)}", 1
            filled = self.frame.filled(expression, set_at)
        else:
            first, times = self.frame.run_of(node.id, set_at)
            self._build(ast.Name(node.id), first, axes)
            text = f"{node.id} {added}= {ast.unparse(expression)}"
            filled = f"{node.id} {added}= {self.frame.filled(expression, set_at)}"
        if value.array.ndim:
            self._stage(text, filled, set_at, value, axes, wide, times, key=(node.id, set_at))

    def _understood(self, expression: ast.expr, at: int) -> bool:
        """Whether an expression can be evaluated here; a loaded or reduced block cannot, and stands for itself."""
        try:
            self.frame.value(expression, at)
        except Unknown:
            return False
        return True

    def _parts(self, expression: ast.expr, at: int, axes: tuple[int, ...]) -> None:
        """The stages of what an assigned expression is made of, but not its own: that is the name's."""
        before = len(self.stages)
        self._build(expression, at, axes, nested=True)
        whole = ast.unparse(expression)
        if len(self.stages) > before and self.stages[-1].text == whole:
            self.stages.pop()
            self.at = {k: v for k, v in self.at.items() if v < len(self.stages)}

    def _stage(
        self, text: str, filled: str, at: int, value: Value, axes: tuple[int, ...], wide: tuple[int, ...], times: int = 1, key: Any = None
    ) -> None:
        shape = value.array.shape
        stretched = tuple(wide) if wide and tuple(wide) != shape else None
        key = key or (text, at)
        if key in self.at:
            known = self.stages[self.at[key]]
            if known.wide is None and stretched:
                self.stages[self.at[key]] = replace(known, wide=stretched)
            return
        self.at[key] = len(self.stages)
        self.stages.append(Stage(text, filled, self.frame.line(at), value.array, value.arg, axes, times, stretched))

    # Terms.

    def _terms(self, node: ast.expr, at: int, times: int) -> list[Term]:
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            return self._terms(node.left, at, times) + self._terms(node.right, at, -times if isinstance(node.op, ast.Sub) else times)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self._terms(node.operand, at, -times)
        through = inner(node)
        if through is not None and not self.frame.reshapes(node):
            return self._terms(through, at, times)
        value = self.frame.value(node, at)
        if isinstance(node, ast.Name):
            found = self.frame.definition(node.id, at)
            if found is not None and (value.arg is not None or value.array.ndim):
                set_at, expression, added = found
                if added is None:
                    if (value.arg is not None or isinstance(expression, (ast.BinOp, ast.Name))) and self._understood(expression, set_at):
                        return self._terms(expression, set_at, times)
                else:
                    first, _ = self.frame.run_of(node.id, set_at)
                    return self._terms(ast.Name(node.id), first, times) + self._advances(node.id, set_at, times, added)
        if value.arg is not None:
            return [Term((Factor(ast.unparse(node), value.array),), times)] if value.array.any() else []
        factors = [self._factor(f, at) for f in _product(node)]
        return [Term(tuple(factors), times)] if any(f.values.any() for f in factors) or len(factors) > 1 else []

    def _advances(self, name: str, set_at: int, times: int, added: str) -> list[Term]:
        """What a loop has added to a name so far: one term where it is the same every time."""
        sign = -times if added == "-" else times
        made = [self._terms(self.frame.definition(name, at + 1)[1], at, sign) for at in self.frame.run(name, set_at)]
        alike = all(_alike(a, made[0]) for a in made)
        if alike:
            return [Term(t.factors, t.times * len(made)) for t in made[0]]
        if len(made) <= MAX_ADVANCES:
            return [t for terms in made for t in terms]
        total = sum((t.values for terms in made for t in terms), np.array(0, np.int64))
        return [Term((Factor(f"advances of {name}", total),))]

    def _factor(self, node: ast.expr, at: int) -> Factor:
        text = ast.unparse(inner(node) if inner(node) is not None and not self.frame.reshapes(node) else node)
        return Factor(text, np.asarray(self.frame.value(node, at).array))


def _product(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _product(node.left) + _product(node.right)
    return [node]


def _alike(a: list[Term], b: list[Term]) -> bool:
    return len(a) == len(b) and all(
        x.times == y.times and len(x.factors) == len(y.factors)
        and all(f.text == g.text and np.array_equal(f.values, g.values) for f, g in zip(x.factors, y.factors))
        for x, y in zip(a, b)
    )  # fmt: skip
