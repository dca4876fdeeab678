"""Follow one program line by line, with every local variable after every line."""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import triton.language as tl

from ..runtime import InterpretedLaunch
from ..runtime.numerics import visible
from ..runtime.rewrite import Source, source_of
from .record import Local, Program, Step

MAX_VALUES = 65_536
"""Largest block or tensor whose values are kept."""
MAX_STEPS = 20_000
"""Steps recorded of one program; one that goes on past it is recorded up to there."""
MAX_KEPT = 8_000_000
"""Elements of local variables kept of one program; later values are left out, and the variables stay."""


@dataclass(eq=False)
class _Level:
    """A function of the learner's that is running: the line it is in, and what its variables were after the last one."""

    source: Source
    frame: types.FrameType
    line: int | None = None
    seen: dict[str, tuple[Any, Any, Local]] = field(default_factory=dict)


class Stepper:
    """Records the steps of one program. ``pending`` takes the numbers of the accesses that the running line makes."""

    def __init__(
        self, launch: InterpretedLaunch, program: Program, add_function: Callable[[Source], None], done: Callable[[Program, tuple[Step, ...]], None]
    ) -> None:
        self.launch, self.program = launch, program
        self.add_function, self.done = add_function, done
        self.steps: list[Step] = []
        self.pending: list[int] = []
        self.stack: list[_Level] = []
        self.kept = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Record while the block runs."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)
            while self.stack:  # lines that an exception left open, innermost first
                self._close(self.stack[-1])
                self.stack.pop()
            self.done(self.program, tuple(self.steps))

    def _enter(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        source = source_of(frame.f_code)
        if source is None or source.library or event != "call":
            return None
        self.add_function(source)
        self.stack.append(_Level(source, frame))
        return self._line

    def _line(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if not self.stack or self.stack[-1].frame is not frame:
            return self._line
        level = self.stack[-1]
        if event == "line":
            self._close(level)
            level.line = frame.f_lineno
        elif event == "return" and not (arg is None and _raising(frame)):
            self._close(level)
            self.stack.pop()
        return self._line

    def _close(self, level: _Level) -> None:
        """Record the line that has just run, with all locals after it."""
        line, level.line = level.line, None
        if line is None:
            return
        accesses, self.pending = tuple(self.pending), []
        if len(self.steps) >= MAX_STEPS:
            return
        values = level.frame.f_locals
        locals_, changed = [], []
        for name in [n for n in level.frame.f_code.co_varnames if n in values]:
            record, new = self._local(level, name, values[name])
            locals_.append(record)
            if new:
                changed.append(name)
        self.steps.append(
            Step(
                program=self.program, function=level.source.name, depth=self.stack.index(level), line=line,
                text=level.source.text(line), locals=tuple(locals_), changed=tuple(changed), accesses=accesses,
            )
        )

    def _local(self, level: _Level, name: str, value: Any) -> tuple[Local, bool]:
        """The record of a variable, and whether it differs from the one before. Unchanged ones are kept once."""
        data = getattr(getattr(value, "handle", None), "data", None)
        before = level.seen.get(name)
        if before is not None and before[0] is value and before[1] is data and (data is not None or isinstance(value, (int, float, str, type(None)))):
            return before[2], False
        record = self._record(name, value)
        if before is not None and before[2] == record:
            record, new = before[2], False
        else:
            new = True
            self.kept += record.values.size if isinstance(record.values, np.ndarray) else 1
        level.seen[name] = (value, data, record)
        return record, new

    def _record(self, name: str, value: Any) -> Local:
        if isinstance(value, tl.constexpr):
            value = value.value
        if isinstance(value, tl.tensor) and isinstance(getattr(value.handle, "data", None), np.ndarray):
            return self._tensor(name, value)
        if isinstance(value, (bool, int, float, str)) or value is None:
            return Local(name, f"python {type(value).__name__}", (), value)
        if isinstance(value, (tuple, list)) or type(value).__name__ == "tuple":
            return Local(name, "tuple", (), None)
        return Local(name, type(value).__name__, (), None)

    def _tensor(self, name: str, value: Any) -> Local:
        data = value.handle.data
        shape = tuple(int(n) for n in value.shape) if value.type.is_block() else ()
        arg, dtype = None, _name(value.dtype)
        if value.dtype.is_ptr():
            arg, data = self.launch.space.locate(data.astype(np.uint64))
            dtype = f"pointer<{_name(value.dtype.element_ty)}>"
        else:
            data = visible(data, value.dtype)
        if data.size > MAX_VALUES or self.kept + data.size > MAX_KEPT:
            return Local(name, dtype, shape, None, arg)
        if not shape:
            return Local(name, dtype, (), data.reshape(-1)[0].item() if data.size else None, arg)
        return Local(name, dtype, shape, np.array(np.broadcast_to(data, shape)), arg)


def _name(dtype: Any) -> str:
    return {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}.get(dtype.name, dtype.name)


def _raising(frame: types.FrameType) -> bool:
    """Whether a "return" event is really an exception leaving the frame: its last instruction is no return."""
    return not dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("RETURN")
