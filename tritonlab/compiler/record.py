"""What the compiler made of a launch: frozen records of plain values.

Nothing here imports torch or Triton, so that views can be written and tested on records made by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

from .limits import LIMITS, TENSOR_MEMORY, Occupancy, occupancy
from .pipeline import Buffer, Pipeline

__all__ = ["AsmLine", "Buffer", "Compilations", "Compiled", "Counts", "Failed", "Figure", "Figures", "FunctionSource", "Pipeline", "figure"]


@dataclass(frozen=True)
class FunctionSource:
    """Source of a kernel or of a device function that it calls; ``first_line`` numbers the first line of ``source``."""

    name: str
    source: str
    first_line: int


@dataclass(frozen=True)
class AsmLine:
    """One line of PTX or SASS.

    ``number`` counts the lines of ``Compiled.asm["ptx"]`` or ``["sass"]`` from 1. ``opcode`` is the instruction with its
    modifiers ("" for labels and directives) and ``kind`` what it does ("global load", "tensor core", ...); ``bytes`` is what
    a load from or store to global memory moves for each thread.
    ``function`` and ``line`` say from which line of the learner's source it came ("" and None: from none); what a library
    function such as tl.sum made belongs to the line that called it. ``ptx``, for SASS, is the PTX line behind it.
    """

    number: int
    text: str
    opcode: str = ""
    kind: str = ""
    function: str = ""
    line: int | None = None
    ptx: int | None = None
    bytes: int = 0


@dataclass(frozen=True)
class Counts:
    """Instructions of a kernel's PTX or SASS, counted in the text: a loop's body counts once.

    ``total`` leaves out labels, directives and NOP. ``loads`` and ``stores`` are those of global memory by bytes a thread:
    ``{16: 4}`` is four instructions that move 16 bytes each. ``copies`` are asynchronous copies from global to shared
    memory (cp.async, LDGSTS), ``tma`` bulk copies by the tensor memory accelerator. ``mma``, ``wgmma`` and ``tcgen05`` are
    tensor core instructions of the warp, the Hopper warp group and Blackwell. ``special`` counts special functions by name
    (``{"ex2": 8}``; the MUFU unit), ``divisions`` divide and remainder instructions (PTX only: SASS has none).
    ``barriers`` are those at which the program's warps meet (bar.sync); mbarriers in shared memory are among ``kinds``.
    ``local`` are loads and stores of local memory, where spilled registers go. ``opcodes`` holds every instruction.
    """

    total: int = 0
    loads: dict[int, int] = field(default_factory=dict)
    stores: dict[int, int] = field(default_factory=dict)
    shared_loads: int = 0
    shared_stores: int = 0
    copies: int = 0
    tma: int = 0
    local: int = 0
    atomics: int = 0
    mma: int = 0
    wgmma: int = 0
    tcgen05: int = 0
    barriers: int = 0
    shuffles: int = 0
    special: dict[str, int] = field(default_factory=dict)
    divisions: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    opcodes: dict[str, int] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]

    def count(self, opcode: str) -> int:
        """How many instructions begin with an opcode, whole parts of it: ``count("ld.global")``, ``count("MUFU.RCP")``."""
        return sum(n for name, n in self.opcodes.items() if name == opcode or name.startswith(opcode + "."))

    def __repr__(self) -> str:
        return f"<Counts {self.total} instructions: {', '.join(f'{n} {kind}' for kind, n in self.kinds.items())}>"


@dataclass(frozen=True, repr=False)
class Compiled:
    """A launch, compiled for a target.

    ``meta`` are the constexprs, ``options`` num_warps, num_stages, num_ctas and maxnreg. ``signature`` gives each other
    parameter's type as the launch specialises it: ``"*fp32:16"`` a pointer to a 16-byte boundary, ``"i32:16"`` an integer
    that 16 divides, ``"i32"`` any other, ``"=1"`` a value compiled in.
    ``registers`` a thread; ``spilled`` and ``stack`` bytes a thread (spilled registers live on the stack);
    ``shared`` bytes of a program; ``tensor_memory`` columns (sm_100).
    ``asm`` holds the text of ttir, ttgir, llir, ptx and sass; ``lines["ptx"]`` and ``lines["sass"]`` their lines with the
    source line of each; ``functions`` the kernel's source and those of the device functions it calls.
    ``ptx`` and ``sass`` count instructions, ``instructions`` is ``sass.total``. ``pipeline`` says how its loop was pipelined
    (None: no loop loads a tile). ``problems`` says why a GPU of this target could not launch it, () when it can.
    """

    kernel: str
    target: str
    triton_version: str
    grid: tuple[int, int, int] = (1, 1, 1)
    meta: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    signature: dict[str, str] = field(default_factory=dict)
    registers: int = 0
    spilled: int = 0
    stack: int = 0
    shared: int = 0
    tensor_memory: int = 0
    ptx: Counts = field(default_factory=Counts)
    sass: Counts = field(default_factory=Counts)
    asm: dict[str, str] = field(default_factory=dict)
    lines: dict[str, tuple[AsmLine, ...]] = field(default_factory=dict)
    functions: tuple[FunctionSource, ...] = ()
    pipeline: Pipeline | None = None

    __hash__ = None  # type: ignore[assignment]

    @property
    def instructions(self) -> int:
        """SASS instructions of the whole kernel, without NOP."""
        return self.sass.total

    @property
    def num_warps(self) -> int:
        return int(self.options.get("num_warps", 4))

    @property
    def num_stages(self) -> int:
        return int(self.options.get("num_stages", 3))

    @cached_property
    def occupancy(self) -> Occupancy:
        """Programs per SM of the target, and what limits them."""
        return occupancy(
            self.target, self.registers, self.shared, int(self.options.get("warps_launched", self.num_warps)), self.tensor_memory
        )

    @cached_property
    def problems(self) -> tuple[str, ...]:
        has, found = LIMITS[self.target], []
        if self.shared > has.shared_program:
            found.append(
                f"needs {kib(self.shared)} of shared memory, and a program on {self.target} gets at most {kib(has.shared_program)}"
            )
        if self.tensor_memory > TENSOR_MEMORY:
            found.append(f"needs {self.tensor_memory} columns of tensor memory, and an SM has {TENSOR_MEMORY}")
        if self.num_warps * 32 > has.threads_program:
            found.append(f"{self.num_warps} warps are more than a program may have")
        if not found and not self.occupancy.programs:
            found.append(f"{self.registers} registers for each of {self.num_warps * 32} threads are more than an SM has")
        return tuple(found)

    @property
    def fits(self) -> bool:
        """Whether a GPU of the target could launch it."""
        return not self.problems

    @property
    def variant(self) -> str:
        """What Triton compiles anew for: the kernel with its signature, constexprs and options, as one line."""
        given = [
            *(f"{k}: {v}" for k, v in self.signature.items()),
            *(f"{k}={v!r}" for k, v in self.meta.items()),
            *(f"{k}={v}" for k, v in self.options.items()),
        ]
        return f"{self.kernel}({', '.join(given)})"

    def __repr__(self) -> str:
        problem = ", does not fit" if self.problems else ""
        return (
            f"<Compiled {self.kernel} {self.target}: {self.registers} registers, {self.spilled} spilled, "
            f"{kib(self.shared)} shared, {self.instructions} instructions{problem}>"
        )


@dataclass(frozen=True, repr=False)
class Failed:
    """A launch that the compiler refused: the same first fields as ``Compiled``, and why, with the learner's line."""

    kernel: str
    target: str
    triton_version: str
    grid: tuple[int, int, int] = (1, 1, 1)
    meta: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    signature: dict[str, str] = field(default_factory=dict)
    message: str = ""
    line: int = 0
    text: str = ""

    __hash__ = None  # type: ignore[assignment]
    fits = False

    @property
    def problems(self) -> tuple[str, ...]:
        return (self.message,)

    def __repr__(self) -> str:
        return f"<Failed {self.kernel} {self.target}: {self.message}>"


@dataclass(frozen=True, repr=False)
class Compilations(Sequence[Any]):
    """Several launches, compiled, in the order in which they were made."""

    items: tuple[Compiled | Failed, ...] = ()

    __hash__ = None  # type: ignore[assignment]

    @property
    def only(self) -> Compiled:
        """The only one; ``ValueError`` when there are several."""
        if len(self.items) != 1:
            raise ValueError(
                f"there are {len(self.items)} compiled launches; choose one ({', '.join(f'[{i}] is {c.kernel}' for i, c in enumerate(self.items))})"
            )
        return self.items[0]  # type: ignore[return-value]

    @overload
    def __getitem__(self, i: int) -> Compiled | Failed: ...
    @overload
    def __getitem__(self, i: slice) -> Compilations: ...
    def __getitem__(self, i: Any) -> Any:
        return Compilations(self.items[i]) if isinstance(i, slice) else self.items[i]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __repr__(self) -> str:
        return f"<{len(self.items)} compiled launches: {', '.join(repr(c) for c in self.items)}>"


@dataclass(frozen=True)
class Figure:
    """A compiled launch of a sweep in a few figures, as in ``Compiled``.

    ``config`` is what the sweep chose, ``shapes`` those for which this one kernel is launched. ``tensor_cores``: the
    instruction that multiplies, "mma", "wgmma", "tcgen05" or "" for none. ``stages`` and ``slots`` are the pipeline's.
    ``problem``: why it cannot run, "" when it can; ``compiled``: whether the compiler made anything.
    """

    config: tuple[tuple[str, int | str], ...]
    shapes: tuple[tuple[int, ...], ...] = ()
    target: str = ""
    triton_version: str = ""
    compiled: bool = True
    registers: int = 0
    spilled: int = 0
    shared: int = 0
    instructions: int = 0
    programs: int = 0
    limiter: str = ""
    tensor_cores: str = ""
    stages: int = 1
    slots: int = 1
    problem: str = ""


def figure(c: Compiled | Failed, config: Sequence[tuple[str, Any]] | None = None, shapes: Sequence[tuple[int, ...]] = ()) -> Figure:
    """The few figures of a compiled launch. ``config``: what it is told by; by default its meta-parameters, num_warps and num_stages."""
    if config is None:
        config = [*((k, v) for k, v in c.meta.items() if k.isupper()), *((k, c.options[k]) for k in ("num_warps", "num_stages") if k in c.options)]
    told = dict(config=tuple(config), shapes=tuple(shapes), target=c.target, triton_version=c.triton_version)
    if isinstance(c, Failed):
        return Figure(**told, compiled=False, problem=c.message)
    unit = next((name for name in ("tcgen05", "wgmma", "mma") if getattr(c.ptx, name)), "")
    return Figure(
        **told,
        registers=c.registers,
        spilled=c.spilled,
        shared=c.shared,
        instructions=c.instructions,
        programs=c.occupancy.programs,
        limiter=c.occupancy.limiter,
        tensor_cores=unit,
        stages=c.pipeline.stages if c.pipeline else 1,
        slots=c.pipeline.slots if c.pipeline else 1,
        problem=c.problems[0] if c.problems else "",
    )


@dataclass(frozen=True, repr=False)
class Figures(Sequence[Figure]):
    """The figures of a sweep's launches."""

    items: tuple[Figure, ...] = ()

    def find(self, config: Any, shape: tuple[int, ...] = ()) -> Figure | None:
        """The figure of a config (a dict, or pairs) for a shape; None when it was not compiled."""
        wanted = dict(config)
        return next((f for f in self.items if dict(f.config) == wanted and (not shape or not f.shapes or tuple(shape) in f.shapes)), None)

    @overload
    def __getitem__(self, i: int) -> Figure: ...
    @overload
    def __getitem__(self, i: slice) -> Figures: ...
    def __getitem__(self, i: Any) -> Any:
        return Figures(self.items[i]) if isinstance(i, slice) else self.items[i]

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        made = dict.fromkeys(f"{f.target}, Triton {f.triton_version}" for f in self.items)
        bad = sum(bool(f.problem) for f in self.items)
        return f"<Figures of {len(self.items)} kernels for {' and '.join(made)}{f', {bad} of which cannot run' if bad else ''}>"


def kib(n: int) -> str:
    """Bytes in words: "0 B", "512 B", "96 KiB", "2.5 KiB", "96 KiB + 16 B"."""
    whole, rest = divmod(n, 1024)
    if not whole:
        return f"{n} B"
    if not rest:
        return f"{whole} KiB"
    return f"{whole} KiB + {rest} B" if rest < 52 else f"{n / 1024:.1f} KiB"
