"""What an exercise is made of: its text, its stub, its solution, its oracle and its cases.

A problem is plain data. Its solution is real code in the chapter's file (kernels and a launcher), so
that it is imported, checked and shown from one source; the stub is that source with parts taken out.
"""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass, field
from typing import Any, Callable

__all__ = ["Case", "KnownWrong", "Problem", "TensorSpec", "Tolerance", "sizes", "spec"]


@dataclass(frozen=True)
class TensorSpec:
    """A tensor that a case hands to the learner's launcher.

    ``layout``: "contiguous", "every second" (``[::2]`` along the last axis), "wide rows" (columns cut from
    wider rows), "column" (1-D, a column of a matrix), "transposed", "expanded" (stride 0 along the first axis).
    ``values``: "random", "special" (infinities, NaN, signed zeros, very large and small ones among random
    values), "ones", "index" (0, 1, 2, ...), "positive", "large" (±80), "low" (around −200), or a function
    ``(generator, shape) -> float64 tensor``. ``dtype`` is torch's name.
    """

    shape: tuple[int, ...]
    layout: str = "contiguous"
    values: str | Callable[..., Any] = "random"
    dtype: str = "float32"


def spec(*shape: int, layout: str = "contiguous", values: Any = "random", dtype: str = "float32") -> TensorSpec:
    """A ``TensorSpec`` by its sizes: ``spec(65)``, ``spec(4, 33, layout="transposed")``."""
    return TensorSpec(tuple(shape), layout, values, dtype)


@dataclass(frozen=True)
class Case:
    """One call of the launcher: its arguments in order, ``TensorSpec``s and plain values.

    ``raises``: the exception classes of which one must be raised, for a call that the launcher has to refuse;
    ``because`` says in words what is wrong with it. ``note`` is added to the case's label.
    """

    args: tuple[Any, ...]
    raises: tuple[type[BaseException], ...] = ()
    because: str = ""
    note: str = ""

    @property
    def tensors(self) -> tuple[TensorSpec, ...]:
        return tuple(a for a in self.args if isinstance(a, TensorSpec))

    @property
    def strided(self) -> bool:
        """Whether any tensor is not contiguous."""
        return any(t.layout != "contiguous" for t in self.tensors)

    @property
    def special(self) -> bool:
        """Whether any tensor holds values chosen to be hard."""
        return any(t.values in HARD for t in self.tensors)

    @property
    def dtypes(self) -> tuple[str, ...]:
        return tuple(t.dtype for t in self.tensors)

    @property
    def numel(self) -> int:
        """Elements of the largest tensor."""
        sizes = [0]
        for t in self.tensors:
            n = 1
            for s in t.shape:
                n *= s
            sizes.append(n)
        return max(sizes)

    def label(self, names: tuple[str, ...]) -> str:
        """The case in words, by the launcher's parameter names: "x: 65 float32, every second element"."""
        parts = []
        for name, a in zip(names, self.args):
            if isinstance(a, TensorSpec):
                text = f"{name}: {'×'.join(str(n) for n in a.shape) or 'scalar'}"
                if a.layout != "contiguous":
                    text += f" {_LAYOUT_WORDS.get(a.layout, a.layout)}"
                if a.dtype != "float32":
                    text += f" {a.dtype}"
                if a.values != "random":
                    text += f", {a.values if isinstance(a.values, str) else 'chosen'} values"
                parts.append(text)
            else:
                parts.append(f"{name} = {a!r}")
        return ", ".join(parts) + (f" ({self.note})" if self.note else "")


HARD = ("special", "large", "low")
"""Values that ordinary data does not have; a case with them is looked at after all others."""

_LAYOUT_WORDS = {
    "every second": "every second element ([::2])",
    "wide rows": "cut from wider rows",
    "column": "a column of a matrix",
    "transposed": "transposed",
    "expanded": "expanded (stride 0)",
}


@dataclass(frozen=True)
class Tolerance:
    """|seen − expected| ≤ atol + rtol·|expected|, and why it is that much."""

    rtol: float
    atol: float
    why: str


@dataclass(frozen=True)
class KnownWrong:
    """A formula that learners compute by mistake: ``formula(*args)`` gives its float64 values.

    When a wrong answer agrees with it, ``text`` is what the check says. ``code`` is "known_wrong", or
    "precision" for one that computes in too low a precision, or "fill" for a wrong padding value.
    """

    text: str
    formula: Callable[..., Any]
    code: str = "known_wrong"


@dataclass(frozen=True)
class Problem:
    """An exercise.

    ``name``: "chapter.exercise". ``prompt``: what to do, shown above the cell. ``stub``: what stands in the cell.
    ``solution``: its kernels and, last, its launcher. ``oracle(*args)`` gives the right result as a float64 (or
    integer) tensor or a tuple of them, computed by torch. ``cases``: calls from small to large, or a function of the
    block size that the learner's kernel was seen to use (``sizes`` makes them). ``tolerance``: one, or one by
    result dtype. ``dtype``: the result's dtype by torch's name, a function of the arguments, or None for the first
    tensor's. ``known_wrong``: mistakes worth naming. ``fills``: values that are tried in masked lanes when a ragged case is
    wrong. ``writes``: parameters that the launcher may change. ``copies``: whether inputs may be copied before the
    launch. ``extra``: further rules, each ``(outcome) -> (code, text) or None`` on a case that came out right. ``axes``: names
    of the axes of tensor parameters, and of the result as "out", for kernels that work on tiles: {"a": ("M", "K"), ...}.
    """

    name: str
    prompt: str
    stub: str
    solution: tuple[Any, ...]
    oracle: Callable[..., Any]
    cases: tuple[Case, ...] | Callable[[int], tuple[Case, ...]]
    hints: tuple[str, ...]
    tolerance: Tolerance | dict[str, Tolerance]
    dtype: str | Callable[..., str] | None = None
    known_wrong: tuple[KnownWrong, ...] = ()
    fills: tuple[float, ...] = (0.0, float("-inf"), float("inf"), 1.0)
    writes: tuple[str, ...] = ()
    copies: bool = True
    extra: tuple[Callable[..., Any], ...] = ()
    block: int = 64
    axes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _sources: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.hints) < 2:
            raise ValueError(f"{self.name}: an exercise needs at least two hints, got {len(self.hints)}")
        if not self.solution or not inspect.isfunction(self.solution[-1]):
            raise TypeError(f"{self.name}: the last of solution must be the launcher, got {self.solution!r}")

    @property
    def launcher(self) -> Callable[..., Any]:
        """The solution's launcher."""
        return self.solution[-1]

    @property
    def function(self) -> str:
        """The name that the learner's launcher has in the stub."""
        return self.launcher.__name__

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the launcher's parameters."""
        return tuple(inspect.signature(self.launcher).parameters)

    @property
    def solution_source(self) -> str:
        """The solution as it would stand in a cell."""
        if "solution" not in self._sources:
            parts = [textwrap.dedent(inspect.getsource(_plain(f))).rstrip() for f in self.solution]
            self._sources["solution"] = "\n\n\n".join(parts) + "\n"
        return self._sources["solution"]

    def all_cases(self, block: int | None = None) -> tuple[Case, ...]:
        """The cases for a kernel with that block size (the problem's own if None)."""
        if callable(self.cases):
            return tuple(self.cases(block or self.block))
        return self.cases

    def tolerance_for(self, dtype: str) -> Tolerance:
        """The tolerance of a result of that dtype; ``KeyError`` names those declared."""
        if isinstance(self.tolerance, Tolerance):
            return self.tolerance
        if dtype not in self.tolerance:
            raise KeyError(f"{self.name} has no tolerance for {dtype}; it has {', '.join(self.tolerance)}")
        return self.tolerance[dtype]


def _plain(function: Any) -> Any:
    """The Python function inside a jitted, tuned or plain one."""
    while not inspect.isfunction(function):
        function = function.fn
    return function


def _prime_above(n: int) -> int:
    while any(n % d == 0 for d in range(2, int(n**0.5) + 1)):
        n += 1
    return n


def sizes(block: int) -> tuple[int, ...]:
    """Lengths at which a tiled kernel goes wrong: BLOCK, 3·BLOCK, 1, BLOCK − 1, BLOCK + 1, a prime past 3·BLOCK, 0."""
    ordered = (block, 3 * block, 1, block - 1, block + 1, _prime_above(3 * block + 2), 0)
    return tuple(dict.fromkeys(n for n in ordered if n >= 0))
