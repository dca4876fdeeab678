"""Make a ``Trace`` of what a piece of code launches."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
import triton

from ..runtime import Event, InterpretedLaunch, observe
from ..runtime.numerics import visible
from ..runtime.rewrite import Source
from .record import Access, Function, Launch, Program, Step, TensorArg, Trace
from .stepper import MAX_STEPS, MAX_VALUES, Stepper

MAX_ACCESSES = 20_000
"""Accesses recorded in one trace; later ones are counted in ``Launch.left_out``."""
MAX_LANES = 8_000_000
"""Lanes recorded in one trace, over all accesses; later accesses are counted in ``Launch.left_out``."""

__all__ = ["MAX_ACCESSES", "MAX_LANES", "MAX_STEPS", "MAX_VALUES", "programs_of", "trace"]


def trace(work: Callable[[], Any], *, step: Any = None, errors: str = "raise") -> Trace:
    """Run ``work()`` and record every Triton launch that it makes.

    work: a callable without arguments, ``lambda: add(x, y)``. Each launch in it is interpreted, also on CUDA
    tensors (on host copies, which are written back).
    step: the programs whose every line is recorded with all local variables: a pid, a tuple of pids for
    grids of several axes, or a list of these. The same programs are stepped in every launch that has them.
    errors: "raise" lets an exception of ``work`` through, with the trace up to there as its ``trace``
    attribute; "keep" returns that trace, with the exception as ``error`` (an interrupt is raised all the same).

    Returns a frozen ``Trace``. At most 20,000 accesses and 8 million lanes are recorded (the rest is counted in
    ``left_out``), and values of blocks and tensors of at most 65,536 elements. Raises ``TypeError`` when ``work``
    is not callable, and ``ValueError`` for a ``step`` that is no program.
    """
    if not callable(work):
        kind = "a result, not work to do" if isinstance(work, torch.Tensor) else f"{work!r}, which cannot be called"
        raise TypeError(f"trace takes a callable, trace(lambda: add(x, y)); got {kind}")
    if errors not in ("raise", "keep"):
        raise ValueError(f'errors is "raise" or "keep", got {errors!r}')
    recorder = _Recorder(_programs(step))
    result, error = None, None
    with observe(recorder):
        try:
            result = work()
        except BaseException as e:
            error = e
    made = Trace(tuple(recorder.launches), result, error, triton.__version__)
    if error is None or (errors == "keep" and isinstance(error, Exception) and not isinstance(error, KeyboardInterrupt)):
        return made
    error.trace = made  # type: ignore[attr-defined]
    raise error


def _programs(step: Any) -> list[Program]:
    if step is None:
        return []
    wanted = step if isinstance(step, (list, range)) else [step]
    return [_program(p) for p in wanted]


def _program(p: Any) -> Program:
    ids = p if isinstance(p, tuple) else (p,)
    try:
        numbers = tuple(operator.index(i) for i in ids if not isinstance(i, bool))
    except TypeError:
        numbers = ()
    if len(numbers) != len(ids) or not 1 <= len(ids) <= 3 or min(numbers) < 0:
        raise ValueError(f"step names a program by its pid, 3, or by a tuple of pids, (1, 2); got {p!r}")
    return (*numbers, *(0,) * (3 - len(numbers)))  # type: ignore[return-value]


class _Recorder:
    """Observes launches and turns them into records."""

    def __init__(self, wanted: list[Program]) -> None:
        self.wanted = wanted
        self.launches: list[Launch] = []
        self.recorded = 0
        self.lanes = 0
        self.alive: list[Any] = []

    def begin(self, launch: InterpretedLaunch) -> None:
        self.accesses: list[Access] = []
        self.left_out = 0
        self.steps: dict[Program, tuple[Step, ...]] = {}
        self.functions: dict[str, Function] = {}
        self.stepper: Stepper | None = None
        self.add_function(launch.source)
        self.before = {s.name: _values(s) for s in launch.space.spans}
        self.alive.append(launch.bound)  # so that no address is used twice within one trace
        for program in self.wanted:
            if any(i >= n for i, n in zip(program, launch.grid)):
                self.steps[program] = ()

    def add_function(self, source: Source) -> None:
        """Note the source of a function that runs."""
        if source.name not in self.functions:
            self.functions[source.name] = Function(source.name, "".join(source.lines), source.first_line, source.file)

    def program(self, launch: InterpretedLaunch, program: Program) -> Any:
        if program not in self.wanted:
            return None
        self.stepper = Stepper(launch, program, self.add_function, self._stepped)
        return self.stepper.running()

    def _stepped(self, program: Program, steps: tuple[Step, ...]) -> None:
        self.steps[program] = steps
        self.stepper = None

    def access(self, launch: InterpretedLaunch, event: Event) -> None:
        touches = event.touches
        if self.recorded >= MAX_ACCESSES or self.lanes + event.mask.size > MAX_LANES:
            self.left_out += max(1, len(touches))
            return
        if event.source is not None:
            self.add_function(event.source)
        values = None
        if event.mask.size <= MAX_VALUES:
            seen = launch.space.locate(event.values)[1] if event.dtype.is_ptr() else visible(event.values, event.dtype)
            values = np.array(np.broadcast_to(seen, event.mask.shape))
        if not touches:
            name, offsets = launch.space.locate(event.ptrs)
            self._add(launch.program, event, (name or "").split(", ")[0], offsets, event.mask, values)
        for touch in touches:
            self._add(launch.program, event, touch.span.name, touch.offsets, touch.mask, values)

    def _add(self, program: Program, event: Event, arg: str, offsets: np.ndarray, mask: np.ndarray, values: np.ndarray | None) -> None:
        self.accesses.append(
            Access(
                kind=event.kind, arg=arg, program=program, line=event.line, offsets=np.array(offsets), mask=np.array(mask),
                values=values, other=event.other, function=event.source.name if event.source else "",
                step=len(self.stepper.steps) if self.stepper is not None else None,
            )
        )
        if self.stepper is not None:
            self.stepper.pending.append(len(self.accesses) - 1)
        self.recorded += 1
        self.lanes += mask.size

    def end(self, launch: InterpretedLaunch, error: BaseException | None) -> None:
        args = tuple(
            TensorArg(
                name=s.name, index=s.index, dtype=s.dtype, itemsize=s.itemsize, shape=s.shape, strides=s.strides, storage=s.storage,
                storage_offset=s.storage_offset, storage_size=s.storage_size, device=s.device, address=s.address,
                before=self.before.get(s.name), after=_values(s),
            )
            for s in (*launch.space.spans, *launch.space.adopted)
        )
        plain = {n: v for n, v in launch.bound.items() if n not in launch.tensors}
        self.launches.append(
            Launch(
                kernel=launch.kernel, grid=launch.grid, args=args,
                scalars={n: v for n, v in plain.items() if n not in launch.constexprs and isinstance(v, (int, float, bool, type(None)))},
                meta={n: _constant(v) for n, v in plain.items() if n in launch.constexprs},
                options={k: v for k, v in launch.options.items() if isinstance(v, (int, float, bool, str, type(None)))},
                functions=self.functions, accesses=tuple(self.accesses), left_out=self.left_out, steps=self.steps,
                error=None if error is None else getattr(error, "message", None) or str(error) or type(error).__name__,
                triton_version=triton.__version__,
            )
        )


def _values(span: Any) -> np.ndarray | None:
    """The values of a view as they are now."""
    tensor = span.owner
    if tensor.numel() > MAX_VALUES:
        return None
    value = tensor.detach()
    if value.dtype == torch.bfloat16 or "float8" in str(value.dtype):
        value = value.to(torch.float32)
    return value.numpy(force=True).copy()


def _constant(value: Any) -> Any:
    return value if isinstance(value, (int, float, bool, str, type(None))) else str(value)


def programs_of(launch: Launch) -> Iterable[Program]:
    """All programs of a grid, in the order in which they are interpreted (axis 0 fastest)."""
    nx, ny, nz = launch.grid
    return ((x, y, z) for z in range(nz) for y in range(ny) for x in range(nx))
