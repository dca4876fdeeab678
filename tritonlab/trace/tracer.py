"""Make a ``Trace`` of what a piece of code launches."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from typing import Any, Iterator

import numpy as np
import torch
import triton
import triton.language as tl

from ..runtime import Event, InterpretedLaunch, observe
from ..runtime.numerics import visible
from ..runtime.rewrite import Source, compiled, source_of
from .record import Access, Function, Launch, Local, Program, Step, TensorArg, Trace

MAX_ACCESSES = 20_000
"""Accesses recorded in one trace; later ones are counted in ``Launch.left_out``."""
MAX_LANES = 8_000_000
"""Lanes recorded in one trace, over all accesses; later accesses are counted in ``Launch.left_out``."""
MAX_VALUES = 65_536
"""Largest block or tensor whose values are kept."""
MAX_STEPS = 20_000
"""Steps recorded in one launch; a program that goes on past it is recorded up to there."""


def trace(work: Callable[[], Any], *, step: Any = None, errors: str = "raise") -> Trace:
    """Run ``work()`` and record every Triton launch that it makes.

    work: a callable without arguments, ``lambda: add(x, y)``. Each launch in it is interpreted, also on CUDA
    tensors (on host copies, which are written back).
    step: the programs whose every line is recorded with all local variables: a pid, a tuple of pids for
    grids of several axes, or a list of these. The same programs are stepped in every launch that has them.
    errors: "raise" lets an exception of ``work`` through, with the trace up to there as its ``trace``
    attribute; "keep" returns that trace, with the exception as ``error``.

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
    if error is not None and (errors == "raise" or not isinstance(error, Exception)):
        error.trace = made  # type: ignore[attr-defined]
        raise error
    return made


def _programs(step: Any) -> list[Program]:
    if step is None:
        return []
    wanted = step if isinstance(step, list) else [step]
    return [_program(p) for p in wanted]


def _program(p: Any) -> Program:
    ids = p if isinstance(p, tuple) else (p,)
    if not 1 <= len(ids) <= 3 or any(isinstance(i, bool) or not isinstance(i, int) or i < 0 for i in ids):
        raise ValueError(f"step names a program by its pid, 3, or by a tuple of pids, (1, 2); got {p!r}")
    return (*ids, *(0,) * (3 - len(ids)))  # type: ignore[return-value]


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
        self.stepper: _Stepper | None = None
        self.add_function(launch.source)
        self.before = {s.name: self._values(launch, s) for s in launch.space.spans}
        self.started = True
        self.alive.append(launch.bound)  # so that no address is used twice within one trace
        for program in self.wanted:
            if any(i >= n for i, n in zip(program, launch.grid)):
                self.steps[program] = ()

    def add_function(self, source: Source) -> None:
        if source.name not in self.functions:
            self.functions[source.name] = Function(source.name, "".join(source.lines), source.first_line, source.file)

    @staticmethod
    def _values(launch: InterpretedLaunch, span: Any) -> np.ndarray | None:
        tensor = launch.tensors[span.name]
        if tensor.numel() > MAX_VALUES:
            return None
        value = tensor.detach()
        if value.dtype == torch.bfloat16 or "float8" in str(value.dtype):
            value = value.to(torch.float32)
        return value.numpy().copy()

    def program(self, launch: InterpretedLaunch, program: Program) -> Any:
        if program not in self.wanted:
            return None
        self.stepper = _Stepper(self, launch, program)
        return self.stepper.running()

    def access(self, launch: InterpretedLaunch, event: Event) -> None:
        touches = event.touches
        if self.recorded >= MAX_ACCESSES or self.lanes + event.mask.size > MAX_LANES:
            self.left_out += max(1, len(touches))
            return
        if event.source is not None:
            self.add_function(event.source)
        values = visible(event.values, event.dtype) if event.mask.size <= MAX_VALUES else None
        if values is not None:
            values = np.array(np.broadcast_to(values, event.mask.shape))
        if not touches:
            name, offsets = launch.space.locate(event.ptrs)
            self._add(launch.program, event, (name or "").split(", ")[0], offsets, event.mask, values)
        for touch in touches:
            self._add(launch.program, event, touch.span.name, touch.rel // touch.span.itemsize, touch.mask, values)

    def _add(self, program: Program, event: Event, arg: str, offsets: np.ndarray, mask: np.ndarray, values: np.ndarray | None) -> None:
        stepper = self.stepper
        self.accesses.append(
            Access(
                kind=event.kind, arg=arg, program=program, line=event.line, offsets=np.array(offsets), mask=np.array(mask),
                values=values, other=event.other, function=event.source.name if event.source else "",
                step=len(stepper.steps) if stepper is not None else None,
            )
        )
        if stepper is not None:
            stepper.pending.append(len(self.accesses) - 1)
        self.recorded += 1
        self.lanes += mask.size

    def end(self, launch: InterpretedLaunch, error: BaseException | None) -> None:
        if not getattr(self, "started", False):
            return
        self.started = False
        args = tuple(
            TensorArg(
                name=s.name, index=s.index, dtype=s.dtype, itemsize=s.itemsize, shape=s.shape, strides=s.strides, storage=s.storage,
                storage_offset=s.storage_offset, storage_size=s.storage_size, device=s.device, address=s.address,
                before=self.before[s.name], after=self._values(launch, s),
            )
            for s in launch.space.spans
        )
        plain = {n: v for n, v in launch.bound.items() if n not in launch.tensors}
        self.launches.append(
            Launch(
                kernel=launch.kernel, grid=launch.grid, args=args,
                scalars={n: v for n, v in plain.items() if n not in launch.constexprs and isinstance(v, (int, float, bool, type(None)))},
                meta={n: _constant(v) for n, v in plain.items() if n in launch.constexprs},
                options={k: v for k, v in launch.options.items() if isinstance(v, (int, float, bool, str, type(None)))},
                functions=dict(self.functions), accesses=tuple(self.accesses), left_out=self.left_out, steps=dict(self.steps),
                error=None if error is None else getattr(error, "message", None) or str(error) or type(error).__name__,
                triton_version=triton.__version__,
            )
        )


def _constant(value: Any) -> Any:
    return value if isinstance(value, (int, float, bool, str, type(None))) else str(value)


class _Stepper:
    """Follows one program line by line with ``sys.settrace``."""

    def __init__(self, recorder: _Recorder, launch: InterpretedLaunch, program: Program) -> None:
        self.recorder, self.launch, self.program = recorder, launch, program
        self.steps: list[Step] = []
        self.pending: list[int] = []
        self.stack: list[dict[str, Any]] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        except BaseException:
            sys.settrace(before)
            self._unwind()
            raise
        finally:
            sys.settrace(before)
            self.recorder.steps[self.program] = tuple(self.steps)
            self.recorder.stepper = None

    def _unwind(self) -> None:
        """Close the lines that an exception left open, innermost first."""
        while self.stack:
            level = self.stack.pop()
            if level["line"] is not None:
                self._close(level, level["frame"])

    def _enter(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        source = source_of(frame.f_code)
        if source is None or source.library or event != "call":
            return None
        self.recorder.add_function(source)
        self.stack.append({"source": source, "line": None, "frame": frame, "seen": {}, "order": []})
        return self._line

    def _line(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if not self.stack or self.stack[-1]["frame"] is not frame:
            return self._line
        level = self.stack[-1]
        if event == "line":
            if level["line"] is not None:
                self._close(level, frame)
            level["line"] = frame.f_lineno
        elif event == "return":
            if arg is None and _raising(frame):
                return self._line
            if level["line"] is not None:
                self._close(level, frame)
            self.stack.pop()
        return self._line

    def _close(self, level: dict[str, Any], frame: types.FrameType) -> None:
        """Record the line that has just run, with all locals after it."""
        source, line = level["source"], level["line"]
        level["line"] = None
        if len(self.steps) >= MAX_STEPS:
            self.pending.clear()
            return
        values = frame.f_locals
        locals_, changed = [], []
        for name in [n for n in frame.f_code.co_varnames if n in values]:
            record = self._local(name, values[name])
            locals_.append(record)
            if level["seen"].get(name) != record:
                changed.append(name)
                level["seen"][name] = record
        self.steps.append(
            Step(
                program=self.program, function=source.name, depth=len(self.stack) - 1 if level in self.stack else len(self.stack),
                line=line, text=source.text(line), locals=tuple(locals_), changed=tuple(changed), accesses=tuple(self.pending),
            )
        )
        self.pending.clear()

    def _local(self, name: str, value: Any) -> Local:
        if isinstance(value, tl.constexpr):
            value = value.value
        if isinstance(value, tl.tensor) and hasattr(value.handle, "data"):
            data = np.asarray(value.handle.data)
            shape = tuple(int(n) for n in value.shape) if value.type.is_block() else ()
            arg = None
            dtype = _name(value.dtype)
            if value.dtype.is_ptr():
                arg, data = self.launch.space.locate(data.astype(np.uint64))
                dtype = f"pointer<{_name(value.dtype.element_ty)}>"
            else:
                data = visible(data, value.dtype)
            if data.size > MAX_VALUES:
                return Local(name, dtype, shape, None, arg)
            if not shape:
                return Local(name, dtype, (), data.reshape(-1)[0].item() if data.size else None, arg)
            return Local(name, dtype, shape, np.array(np.broadcast_to(data, shape)), arg)
        if isinstance(value, (bool, int, float, str)) or value is None:
            return Local(name, f"python {type(value).__name__}", (), value)
        if isinstance(value, (tuple, list)) or type(value).__name__ == "tuple":
            return Local(name, "tuple", (), None)
        return Local(name, type(value).__name__, (), None)


def _name(dtype: Any) -> str:
    return {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}.get(dtype.name, dtype.name)


def _raising(frame: types.FrameType) -> bool:
    """Whether a "return" event is really an exception leaving the frame: its last instruction is no return."""
    import dis

    code, last = frame.f_code, frame.f_lasti
    op = dis.opname[code.co_code[last]]
    return not op.startswith("RETURN")


def programs_of(launch: Launch) -> Iterable[Program]:
    """All programs of a grid, in the order in which they are interpreted (axis 0 fastest)."""
    nx, ny, nz = launch.grid
    return ((x, y, z) for z in range(nz) for y in range(ny) for x in range(nx))
