"""What a trace is made of: frozen records of plain values and NumPy arrays.

Nothing here imports torch or Triton, so that analyses and views can be written and
tested on records made by hand. Two records are equal when all their fields are, arrays
compared element by element with NaN equal to NaN; fields that name a place on this
machine (``file``) do not take part.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Access", "Function", "Launch", "Local", "Program", "Step", "TensorArg", "Trace"]

Program = tuple[int, int, int]
"""The three program ids of one program, axis 0 first; axes the grid lacks are 0."""


def _same(a: Any, b: Any) -> bool:
    """Deep equality: arrays by dtype, shape and element (NaN equals NaN), containers by item."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
            return False
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
    if isinstance(a, (tuple, list)) and type(a) is type(b):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, float) and isinstance(b, float) and a != a and b != b:
        return True
    return type(a) is type(b) and bool(a == b)


class _Fixed(dict):
    """A dict that stays as it was made, so that a record with dicts in it is frozen too."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a record cannot be changed; dataclasses.replace makes a changed copy")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return type(self), (dict(self),)


class _Record:
    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            _same(getattr(self, f.name), getattr(other, f.name))
            for f in dataclasses.fields(self)
            if f.compare
        )

    __hash__ = None  # type: ignore[assignment]


def _freeze(array: np.ndarray | None) -> None:
    if isinstance(array, np.ndarray):
        array.flags.writeable = False


@dataclass(frozen=True, eq=False, repr=False)
class TensorArg(_Record):
    """A tensor that a kernel was launched with, as the kernel sees it.

    ``shape``, ``strides`` and ``storage_offset`` count elements. The kernel's pointer stands
    at offset 0; the valid offsets are those that shape and strides reach (``offsets()``).
    Arguments with the same ``storage`` number share one allocation of ``storage_size`` elements
    (of this argument's dtype), of which this view begins at ``storage_offset``.
    ``address`` is the allocation's real address, to tell whether a tensor that one holds was this argument.
    ``before`` and ``after`` are the view's values around the launch, in the view's shape
    (bfloat16 and float8 as float32), or None above the size that the trace keeps.
    """

    name: str
    index: int
    dtype: str
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    storage: int = 0
    storage_offset: int = 0
    storage_size: int = 0
    device: str = "cpu"
    address: int = field(default=0, compare=False)
    before: np.ndarray | None = None
    after: np.ndarray | None = None

    def __post_init__(self) -> None:
        _freeze(self.before)
        _freeze(self.after)

    @property
    def numel(self) -> int:
        """How many elements the view has (an expanded view counts an element each time)."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def extent(self) -> int:
        """One more than the largest valid offset; 0 for an empty view."""
        if self.numel == 0:
            return 0
        return 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides))

    def offsets(self) -> np.ndarray:
        """The valid offsets in the view's shape, int64: ``offsets()[i, j]`` is where x[i, j] lies."""
        grid = np.zeros(self.shape, dtype=np.int64)
        for axis, (n, s) in enumerate(zip(self.shape, self.strides)):
            where = [1] * len(self.shape)
            where[axis] = n
            grid = grid + (np.arange(n, dtype=np.int64) * s).reshape(where)
        return grid

    def __repr__(self) -> str:
        return f"<TensorArg {self.name} {self.dtype}{list(self.shape)} strides {list(self.strides)}>"


@dataclass(frozen=True, eq=False, repr=False)
class Access(_Record):
    """One load, store or atomic of one program on one tensor argument.

    ``offsets`` (int64) and ``mask`` (bool) have the block's shape (``(1,)`` for a scalar pointer);
    offsets count elements of the argument from its pointer. A lane with mask False touches nothing.
    ``values``: what each lane got (masked lanes: the fill) or stored, block-shaped (bfloat16 as
    float32), or None above the size that the trace keeps. ``other`` says whether a load named a fill.
    A load or store whose lanes point into several arguments is recorded once for each of them,
    with the other lanes masked off. ``line`` is the learner's line, ``function`` the function it is in.
    ``kind``: ``"load"``, ``"store"``, ``"atomic_add"``, ``"atomic_max"``, ..., ``"atomic_cas"``.
    ``step`` is the position, in ``Launch.steps[program]``, of the step that made the access.
    """

    kind: str
    arg: str
    program: Program
    line: int
    offsets: np.ndarray
    mask: np.ndarray
    values: np.ndarray | None = None
    other: bool = False
    function: str = ""
    step: int | None = None

    def __post_init__(self) -> None:
        _freeze(self.offsets)
        _freeze(self.mask)
        _freeze(self.values)

    @property
    def reads(self) -> bool:
        return self.kind != "store"

    @property
    def writes(self) -> bool:
        return self.kind != "load"

    @property
    def touched(self) -> np.ndarray:
        """The offsets of the lanes that are on, flat, in lane order."""
        return self.offsets[self.mask]

    def __repr__(self) -> str:
        on = int(self.mask.sum())
        lanes = self.mask.size
        where = f"{int(self.touched.min())}…{int(self.touched.max())}" if on else "nothing"
        masked = f", {lanes - on} masked" if on < lanes else ""
        return f"<{self.kind} {self.arg}[{where}] program {short(self.program)} line {self.line}: {on} of {lanes} lanes on{masked}>"


@dataclass(frozen=True, eq=False, repr=False)
class Local(_Record):
    """A local variable after a line.

    ``dtype``: Triton's name ("int32", "float32", "int1"), ``"pointer<float32>"``, or ``"python int"`` and
    the like for plain Python values. ``shape``: ``()`` for scalars. ``values``: a block-shaped array, a
    Python scalar, or None when too large or not a value. For pointers the values are element offsets
    and ``arg`` the argument they point into ("a, b" when the lanes differ).
    """

    name: str
    dtype: str
    shape: tuple[int, ...] = ()
    values: Any = None
    arg: str | None = None

    def __post_init__(self) -> None:
        _freeze(self.values)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.dtype}{list(self.shape) if self.shape else ''}>"


@dataclass(frozen=True, eq=False, repr=False)
class Step(_Record):
    """One executed line of one program, in order of completion.

    ``line`` counts as in the learner's file or cell; ``function`` names the function (the kernel is depth 0,
    a device function that it calls depth 1, ...). ``locals`` are all variables of that function after the
    line, in order of first assignment. ``changed`` names those that this line set to something new.
    ``accesses`` are positions in ``Launch.accesses``.
    """

    program: Program
    function: str
    depth: int
    line: int
    text: str
    locals: tuple[Local, ...] = ()
    changed: tuple[str, ...] = ()
    accesses: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return f"<Step program {short(self.program)} line {self.line}: {self.text.strip()}>"


@dataclass(frozen=True, eq=False, repr=False)
class Function(_Record):
    """Source of a kernel or device function; ``first_line`` is the number of the first line of ``source`` (its decorator or def)."""

    name: str
    source: str
    first_line: int
    file: str = field(default="", compare=False)

    def __repr__(self) -> str:
        return f"<Function {self.name} lines {self.first_line}–{self.first_line + len(self.source.splitlines()) - 1}>"


@dataclass(frozen=True, eq=False, repr=False)
class Launch(_Record):
    """One launch: ``kernel[grid](...)``.

    ``grid`` has three numbers. ``args`` are the tensor arguments in the kernel's order, and after them ("memory 1", ...)
    the tensors that it reached through pointers which it read from memory; ``scalars`` are the other
    run-time arguments, ``meta`` the constexprs, ``options`` what else the launch named (num_warps, num_stages).
    ``accesses`` come in the order in which they happened; ``left_out`` counts those past the trace's bound.
    ``steps`` maps each chosen program to its steps. ``functions`` holds the kernel's source and that of every
    device function, by name. ``error`` is the message of the exception that ended the launch, if one did.
    """

    kernel: str
    grid: Program
    args: tuple[TensorArg, ...] = ()
    scalars: dict[str, Any] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    accesses: tuple[Access, ...] = ()
    left_out: int = 0
    steps: dict[Program, tuple[Step, ...]] = field(default_factory=dict)
    error: str | None = None
    triton_version: str = ""

    def __post_init__(self) -> None:
        for name in ("scalars", "meta", "options", "functions", "steps"):
            object.__setattr__(self, name, _Fixed(getattr(self, name)))

    @property
    def programs(self) -> int:
        """How many programs the grid has."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def source(self) -> str:
        """The kernel's source."""
        return self.functions[self.kernel].source if self.kernel in self.functions else ""

    def arg(self, name: str) -> TensorArg:
        """The tensor argument of that name; ``KeyError`` names those there are."""
        for a in self.args:
            if a.name == name:
                return a
        raise KeyError(f"{self.kernel} has no tensor argument {name!r}; it has {', '.join(a.name for a in self.args)}")

    def __repr__(self) -> str:
        grid = "×".join(str(n) for n in trim(self.grid))
        loads = sum(a.kind == "load" for a in self.accesses)
        stores = sum(a.kind == "store" for a in self.accesses)
        atomics = len(self.accesses) - loads - stores
        parts = [f"{loads} loads", f"{stores} stores"] + ([f"{atomics} atomics"] if atomics else [])
        if self.left_out:
            parts.append(f"{self.left_out} more accesses not recorded")
        if self.steps:
            parts.append(f"{sum(len(s) for s in self.steps.values())} steps of program {', '.join(short(p) for p in self.steps)}")
        if self.error:
            parts.append("ended by an error")
        return f"<Launch {self.kernel}[{grid}]: {', '.join(parts)}>"


@dataclass(frozen=True, eq=False, repr=False)
class Trace(_Record):
    """All launches that a piece of code made. ``result`` is what the code returned, and ``error`` the
    exception that ended it (None when it ran through); neither takes part in comparisons."""

    launches: tuple[Launch, ...] = ()
    result: Any = field(default=None, compare=False)
    error: BaseException | None = field(default=None, compare=False)
    triton_version: str = ""

    @property
    def launch(self) -> Launch:
        """The only launch; ``ValueError`` when there are none or several."""
        if len(self.launches) == 1:
            return self.launches[0]
        if not self.launches:
            raise ValueError("the trace holds no launch: the traced code launched no Triton kernel")
        names = ", ".join(f"launches[{i}] is {launch.kernel}" for i, launch in enumerate(self.launches))
        raise ValueError(f"the trace holds {len(self.launches)} launches; choose one ({names})")

    def __repr__(self) -> str:
        if len(self.launches) == 1:
            return f"<Trace of {self.launches[0]!r}>"
        return f"<Trace of {len(self.launches)} launches: {', '.join(launch.kernel for launch in self.launches)}>"


def trim(grid: Program) -> tuple[int, ...]:
    """A grid without the trailing ones that the launch did not name: (16, 1, 1) → (16,)."""
    n = 3
    while n > 1 and grid[n - 1] == 1:
        n -= 1
    return tuple(grid[:n])


def short(program: Program) -> str:
    """A program's ids without trailing zeros: (15, 0, 0) → "15", (1, 2, 0) → "(1, 2)"."""
    n = 3
    while n > 1 and program[n - 1] == 0:
        n -= 1
    return str(program[0]) if n == 1 else str(tuple(program[:n]))
