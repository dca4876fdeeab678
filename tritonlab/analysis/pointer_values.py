"""A call of a kernel or device function, read from its steps: what a name held before each line, where it was set,
and what an index expression comes to, evaluated in NumPy as Triton would (integers of their own width, C's division)."""

from __future__ import annotations

import ast
import functools
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..trace.record import Access, Launch, Local, Program, Step

__all__ = ["Frame", "Unknown", "Value", "frame_of", "inner"]

HINTS = ("multiple_of", "max_contiguous", "max_constancy", "cast")
"""Functions of ``tl`` whose value is their first argument's."""
RESHAPES = ("expand_dims", "broadcast_to")
WIDTHS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


class Unknown(Exception):
    """An expression that is not understood here, or a value that the trace does not hold."""


@dataclass(frozen=True)
class Value:
    """A number or block; for a pointer its element offsets into ``arg``."""

    array: np.ndarray
    arg: str | None = None


def inner(node: ast.expr) -> ast.expr | None:
    """What an expression only converts, annotates or reshapes: ``x`` of ``x.to(t)``, ``tl.cast(x, t)``, ``x[:, None]``."""
    if isinstance(node, ast.Subscript):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name, owner = node.func.attr, node.func.value
        of_tl = isinstance(owner, ast.Name) and owner.id == "tl"
        if of_tl and name in (*HINTS, *RESHAPES) and node.args:
            return node.args[0]
        if not of_tl and name in ("to", *RESHAPES):
            return owner
    return None


def frame_of(launch: Launch, access: Access) -> Frame | None:
    """The call in which an access was made, up to its line; None when its source is not there."""
    steps = launch.steps[access.program]
    last = steps[access.step]  # type: ignore[index]
    known = launch.functions.get(last.function)
    if known is None:
        return None
    try:
        statements = _statements(known.source)
    except SyntaxError:
        return None
    own: list[Step] = []
    for step in reversed(steps[: access.step + 1]):  # type: ignore[operator]
        if step.depth > last.depth:
            continue
        if step.depth < last.depth or step.function != last.function:
            break
        own.append(step)
        if step is not last and {v.name for v in step.locals} == set(step.changed):
            break  # the call's first line: all of its variables are new
    return Frame(statements, known.first_line, own[::-1], access.program, launch.grid)


@functools.lru_cache(maxsize=64)
def _statements(source: str) -> tuple[ast.stmt, ...]:
    return tuple(n for n in ast.walk(ast.parse(textwrap.dedent(source))) if isinstance(n, ast.stmt) and not isinstance(n, ast.FunctionDef))


class Frame:
    """The steps of one call, ``0 … last``; ``at`` names the moment before step ``at`` sets anything."""

    def __init__(self, statements: tuple[ast.stmt, ...], first_line: int, steps: list[Step], program: Program, grid: Program) -> None:
        self.steps, self.program, self.grid = steps, program, grid
        self.last = len(steps) - 1
        self.shift = first_line - 1
        self.statements = statements
        self.met: dict[int, ast.stmt | None] = {}

    def line(self, at: int) -> int:
        return self.steps[at].line

    def statement(self, at: int) -> ast.stmt | None:
        """The innermost statement that step ``at`` ran; of a loop or a condition, only its head counts."""
        line = self.steps[at].line - self.shift
        if line not in self.met:
            fits = [s for s in self.statements if s.lineno <= line <= (s.end_lineno or s.lineno)]
            self.met[line] = max(fits, key=lambda s: s.lineno, default=None)
        return self.met[line]

    def _before(self, at: int) -> dict[str, Local]:
        return {v.name: v for v in self.steps[max(at - 1, 0)].locals}

    def definition(self, name: str, at: int) -> tuple[int, ast.expr, str | None] | None:
        """Where a name got the value that it has before step ``at``: the step, the expression, and ``"+"`` or ``"-"``
        where that was added to what it held. None for parameters and for what another kind of statement sets."""
        for i in range(at - 1, -1, -1):
            statement = self.statement(i)
            if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name) and statement.target.id == name:
                sign = {ast.Add: "+", ast.Sub: "-"}.get(type(statement.op))
                return (i, statement.value, sign) if sign else None
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    expression = _assigned(target, statement.value, name)
                    if expression is None:
                        continue
                    return (i, *_self_added(name, expression))
                if any(isinstance(n, ast.Name) and n.id == name for t in statement.targets for n in ast.walk(t)):
                    return None  # unpacked from a call
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.target.id == name:
                return (i, statement.value, None) if statement.value is not None else None
            elif isinstance(statement, ast.For) and isinstance(statement.target, ast.Name) and statement.target.id == name:
                return None
        return None

    def run(self, name: str, set_at: int) -> list[int]:
        """The steps of one line that added to a name again and again, up to ``set_at``, first to last."""
        found, line = [set_at], self.steps[set_at].line
        while (before := self.definition(name, found[-1])) is not None and before[2] and self.steps[before[0]].line == line:
            found.append(before[0])
        return found[::-1]

    def run_of(self, name: str, set_at: int) -> tuple[int, int]:
        """The first step of ``run`` and how many there are."""
        steps = self.run(name, set_at)
        return steps[0], len(steps)

    def value(self, node: ast.expr, at: int) -> Value:
        """What an expression comes to with the names as they are before step ``at``."""
        with np.errstate(all="ignore"):
            return self._eval(node, self._before(at))

    def filled(self, node: ast.expr, at: int) -> str:
        """The expression's text with scalar names as the numbers they hold."""
        before = self._before(at)
        return ast.unparse(_Fill(before).visit(ast.parse(ast.unparse(node), mode="eval").body))

    def reshapes(self, node: ast.expr) -> bool:
        """Whether an expression with ``inner`` changes the shape."""
        return isinstance(node, ast.Subscript) or isinstance(node, ast.Call) and node.func.attr in RESHAPES  # type: ignore[attr-defined]

    def kept_axes(self, node: ast.expr, at: int) -> list[int]:
        """For each axis of the inner block, which axis of the reshaped one it became."""
        after, before = self.value(node, at).array.ndim, self.value(inner(node), at).array.ndim  # type: ignore[arg-type]
        if isinstance(node, ast.Subscript):
            return [i for i, key in enumerate(_keys(node.slice)) if not _is_none(key)]
        if node.func.attr == "expand_dims":  # type: ignore[attr-defined]
            new = _axis(node) % after
            return [i for i in range(after) if i != new]
        return list(range(after - before, after))

    def is_arange(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "arange"

    def _eval(self, node: ast.expr, names: dict[str, Local]) -> Value:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            return Value(np.asarray(node.value)) if isinstance(node.value, float) else Value(_Weak(node.value))
        if isinstance(node, ast.Name):
            if node.id not in names:
                raise Unknown(f"the trace holds no value of {node.id}")
            return _held(names[node.id])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            operand = self._eval(node.operand, names)
            return Value(_binary(ast.Sub(), _Weak(0), operand.array))
        if isinstance(node, ast.BinOp):
            return _combined(node.op, self._eval(node.left, names), self._eval(node.right, names))
        if isinstance(node, ast.Subscript):
            block = self._eval(node.value, names)
            keys = _keys(node.slice)
            if not block.array.ndim or not all(_is_none(k) or _is_whole(k) for k in keys):
                raise Unknown(f"{ast.unparse(node)} is not understood")
            index = tuple(None if _is_none(k) else slice(None) for k in keys)
            return Value(block.array[index], block.arg)
        if isinstance(node, ast.Call):
            return self._call(node, names)
        raise Unknown(f"{ast.unparse(node)} is not understood")

    def _call(self, node: ast.Call, names: dict[str, Local]) -> Value:
        through = inner(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if through is not None:
            value = self._eval(through, names)
            if name == "expand_dims":
                return Value(np.expand_dims(value.array, _axis(node)), value.arg)
            if name == "broadcast_to":
                raise Unknown(f"{ast.unparse(node)} is not understood")
            wide = name in ("to", "cast") and "int64" in ast.unparse(node)
            return Value(_wide(value.array), None) if wide and value.arg is None else value
        given = [self._eval(a, names) for a in node.args if not isinstance(a, ast.Starred)]
        numbers = [int(v.array) for v in given if v.arg is None and not v.array.ndim]
        if name == "arange" and len(numbers) == 2:
            return Value(np.arange(*numbers, dtype=np.int32))
        if name in ("program_id", "num_programs"):
            axis = numbers[0] if numbers else int(self._eval(node.keywords[0].value, names).array) if node.keywords else 0
            return Value(np.asarray((self.program if name == "program_id" else self.grid)[axis], np.int32))
        if name == "cdiv" and len(numbers) == 2:
            return Value(np.asarray(-(-numbers[0] // numbers[1]), np.int32))
        if name in ("minimum", "maximum") and len(given) == 2:
            a, b = (_plain(v.array) for v in given)
            return Value(np.asarray(getattr(np, name)(a, b)))
        raise Unknown(f"{ast.unparse(node)} is not understood")


class _Weak(np.ndarray):
    """A Python number: it takes the width of what it meets."""

    def __new__(cls, value: int) -> _Weak:
        return np.asarray(value, np.int64).view(cls)


def _plain(array: np.ndarray) -> Any:
    return int(array) if isinstance(array, _Weak) else np.asarray(array)


def _wide(array: np.ndarray) -> np.ndarray:
    return np.asarray(array).astype(np.int64)


def _held(local: Local) -> Value:
    if local.values is None or isinstance(local.values, (str, bool)):
        raise Unknown(f"the trace holds no value of {local.name}")
    if local.dtype.startswith("pointer"):
        if local.arg is None or ", " in local.arg:
            raise Unknown(f"{local.name} points into several arguments")
        return Value(np.asarray(local.values, np.int64), local.arg)
    if local.dtype == "python int":
        return Value(_Weak(local.values))
    if isinstance(local.values, np.ndarray):
        return Value(local.values)
    return Value(np.asarray(local.values, np.dtype(local.dtype) if local.dtype in WIDTHS else None))


def _combined(op: ast.operator, left: Value, right: Value) -> Value:
    if left.arg is not None and right.arg is not None:
        raise Unknown("two pointers in one sum")
    arg = left.arg or right.arg
    if arg is None:
        return Value(_binary(op, left.array, right.array))
    if not isinstance(op, (ast.Add, ast.Sub)) or isinstance(op, ast.Sub) and right.arg is not None:
        raise Unknown("a pointer is only added to")
    return Value(_binary(op, _wide(left.array), _wide(right.array)), arg)


def _binary(op: ast.operator, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    both_weak = isinstance(a, _Weak) and isinstance(b, _Weak)
    x, y = _plain(a), _plain(b)
    try:
        if isinstance(op, ast.Add):
            out = x + y
        elif isinstance(op, ast.Sub):
            out = x - y
        elif isinstance(op, ast.Mult):
            out = x * y
        elif isinstance(op, ast.FloorDiv):
            out = x // y if both_weak else (x - np.fmod(x, y)) // y
        elif isinstance(op, ast.Mod):
            out = x % y if both_weak else np.fmod(x, y)
        else:
            raise Unknown(f"{type(op).__name__} is not understood")
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        raise Unknown(str(error)) from None
    return _Weak(out) if both_weak else np.asarray(out)


def _keys(index: ast.expr) -> list[ast.expr]:
    return list(index.elts) if isinstance(index, ast.Tuple) else [index]


def _is_none(key: ast.expr) -> bool:
    return isinstance(key, ast.Constant) and key.value is None


def _is_whole(key: ast.expr) -> bool:
    return isinstance(key, ast.Slice) and key.lower is key.upper is key.step is None


def _axis(node: ast.expr) -> int:
    given = [k.value for k in node.keywords if k.arg == "axis"] + node.args  # type: ignore[attr-defined]
    try:
        return int(ast.literal_eval(given[-1] if not node.keywords else given[0]))  # type: ignore[attr-defined]
    except (ValueError, TypeError, IndexError, SyntaxError):
        raise Unknown(f"{ast.unparse(node)} is not understood") from None


def _assigned(target: ast.expr, value: ast.expr, name: str) -> ast.expr | None:
    """The expression that an assignment gives to a name, through tuples of equal length."""
    if isinstance(target, ast.Name):
        return value if target.id == name else None
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for t, v in zip(target.elts, value.elts):
            if (found := _assigned(t, v, name)) is not None:
                return found
    return None


def _self_added(name: str, expression: ast.expr) -> tuple[ast.expr, str | None]:
    """``x = x + a`` as what is added and its sign; any other expression with None."""
    if isinstance(expression, ast.BinOp) and isinstance(expression.left, ast.Name) and expression.left.id == name:
        sign = {ast.Add: "+", ast.Sub: "-"}.get(type(expression.op))
        if sign:
            return expression.right, sign
    return expression, None


class _Fill(ast.NodeTransformer):
    """Writes numbers in place of scalar names."""

    def __init__(self, names: dict[str, Local]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        known = self.names.get(node.id)
        if known is None or known.shape or known.dtype.startswith("pointer") or not isinstance(known.values, (int, float)):
            return node
        return ast.copy_location(ast.Constant(known.values), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        through = inner(node)
        plain = through is not None and node.func.attr not in RESHAPES  # type: ignore[attr-defined]
        return self.visit(through) if plain else self.generic_visit(node)
