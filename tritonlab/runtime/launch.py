"""One interpreted launch: its programs one after the other, the guard around each access, and errors that name the learner's line.

Programs run in the order in which a GPU starts them, axis 0 fastest.
"""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from triton.runtime import interpreter as ti

from ..errors import BudgetError, KernelError, KernelInterrupted, OutOfBoundsError, TritonlabError
from ..trace.record import short
from . import language, misuse, rewrite
from .arguments import Arguments
from .faults import out_of_bounds
from .hints import hint_for
from .budget import Clock, Limits, TimeUp
from .memory import AddressSpace, Fault, Touch
from .state import where


@dataclass(eq=False)
class Event:
    """An access as an observer sees it, after it happened. ``values`` is what the lanes got, stored, or gave an atomic."""

    kind: str
    touches: list[Touch]
    ptrs: np.ndarray
    mask: np.ndarray
    values: np.ndarray
    dtype: Any
    other: bool
    source: rewrite.Source | None
    line: int


class Observer(Protocol):
    """What watches launches (the tracer does)."""

    def begin(self, launch: InterpretedLaunch) -> None: ...
    def program(self, launch: InterpretedLaunch, program: tuple[int, int, int]) -> Any: ...
    def access(self, launch: InterpretedLaunch, event: Event) -> None: ...
    def end(self, launch: InterpretedLaunch, error: BaseException | None) -> None: ...


class InterpretedLaunch:
    """A launch being interpreted. ``jit`` is the kernel, ``bound`` its arguments by name (constexprs as they are).

    ``space`` holds the tensor views that it may touch, and ``tensors`` these tensors by name, on the host.
    """

    def __init__(self, jit: Any, grid: tuple[int, int, int], bound: dict[str, Any], options: dict[str, Any], limits: Limits, observers: list[Any]) -> None:
        self.jit = jit
        self.kernel: str = jit.fn.__name__
        self.grid = grid
        self.bound = bound
        self.options = options
        self.limits = limits
        self.observers = observers
        self.constexprs = {p.name for p in jit.params if p.is_constexpr}
        self.program: tuple[int, int, int] = (0, 0, 0)
        self.fault: OutOfBoundsError | None = None
        self.source = rewrite.compiled(jit)[1]
        self._arguments = Arguments(self.kernel)
        self._clock = Clock(limits.seconds)
        self._functions: dict[int, Any] = {}
        self._printed = 0

    @property
    def space(self) -> AddressSpace:
        return self._arguments.space

    @property
    def tensors(self) -> dict[str, torch.Tensor]:
        return self._arguments.tensors

    def run(self) -> None:
        """Run every program of the grid. Errors name the learner's line; nothing stays patched."""
        error: BaseException | None = None
        begun: list[Any] = []
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                try:
                    language.apply()
                    arguments = self._arguments.values(self.bound, self.jit.params)
                    for observer in self.observers:
                        observer.begin(self)
                        begun.append(observer)
                    self._programs(arguments)
                finally:
                    try:
                        language.restore()
                    finally:
                        self._arguments.write_back()
        except BaseException as e:
            error = e
            raise
        finally:
            for observer in begun:
                observer.end(self, error)

    def _programs(self, arguments: dict[str, Any]) -> None:
        builder = ti.interpreter_builder
        nx, ny, nz = self.grid
        builder.set_grid_dim(nx, ny, nz)
        fn = self.function(self.jit)
        try:
            with self._clock:
                for z in range(nz):
                    for y in range(ny):
                        for x in range(nx):
                            self.program = (x, y, z)
                            builder.set_grid_idx(x, y, z)
                            self.tick()
                            if self.observers:
                                self._watched(fn, arguments)
                            else:
                                fn(**arguments)
                            if self.fault is not None:  # a helper that caught it cannot hide it
                                raise self.fault
        except (Exception, KeyboardInterrupt, SystemExit, TimeUp) as e:
            raise self._located(e) from None

    def _watched(self, fn: Any, arguments: dict[str, Any]) -> None:
        with ExitStack() as stack:
            for observer in self.observers:
                watching = observer.program(self, self.program)
                if watching is not None:
                    stack.enter_context(watching)
            fn(**arguments)

    def function(self, jit: Any) -> Any:
        """The callable of a kernel or device function, built once a launch."""
        built = self._functions.get(id(jit))
        if built is None:
            made = rewrite.build(jit, lambda module: {**language.names(module), rewrite.TICK: self.tick})
            if jit.fn.__name__ == "philox" and (jit.fn.__module__ or "") == "triton.language.random":
                plain = made

                def made(seed: Any, *args: Any, **kwargs: Any) -> Any:
                    misuse.check_seed(self.space, seed)
                    return plain(seed, *args, **kwargs)

            built = self._functions[id(jit)] = made
        return built

    def tick(self) -> None:
        """Raise once the launch's time is used up. Called for each program, loop turn and access."""
        if self._clock.up():
            raise self._time_up()

    def _time_up(self) -> BudgetError:
        error = BudgetError(
            f"the launch ran longer than its {self.limits.seconds:g} s in the interpreter, and was stopped",
            "does the loop end? If it is only slow: launch fewer programs, or raise the limit, `with lab.limits(seconds=...):`",
        )
        error.budget = f"{self.limits.seconds:g} seconds"
        return error

    def _located(self, e: BaseException) -> BaseException:
        """The exception with kernel, line and program; any other exception as a ``KernelError``."""
        source, line = rewrite.line_of(e)
        if isinstance(e, KernelError):
            error: KernelError = e
        elif isinstance(e, TimeUp):
            error = self._time_up()
        elif isinstance(e, KeyboardInterrupt):
            error = KernelInterrupted("the launch was interrupted", original=e)
        elif isinstance(e, TritonlabError) or isinstance(e, RecursionError) and not rewrite.recursive(e):
            return e  # a launch deep in someone else's recursion is no fault of the kernel
        else:
            message, hint = hint_for(e, source.text(line) if source else "")
            error = KernelError(message, hint, original=e)
        if not error.kernel:
            place(error, self.jit, source or self.source, line or self.source.first_line, self.program, self.grid)
        return error.with_traceback(None)

    # the guard

    def check(self, kind: str, ptrs: np.ndarray, mask: np.ndarray, width: int) -> tuple[np.ndarray, list[Touch]]:
        """Real addresses of an access, or ``OutOfBoundsError`` with nothing touched."""
        self.tick()
        if ptrs.dtype != np.uint64:
            ptrs = ptrs.astype(np.uint64)
        found = self.space.resolve(ptrs, mask, width)
        if isinstance(found, Fault):
            self.fault = out_of_bounds(kind, found, mask, width)
            source, line = where(2)
            place(self.fault, self.jit, source or self.source, line or self.source.first_line, self.program, self.grid)
            raise self.fault
        return found

    def emit(self, kind: str, ptrs: np.ndarray, mask: np.ndarray, touches: list[Touch], values: np.ndarray, dtype: Any, other: bool) -> None:
        """Tell the observers of an access."""
        source, line = where(2)
        event = Event(kind, touches, ptrs, mask, values, dtype, other, source, line)
        for observer in self.observers:
            observer.access(self, event)

    def say(self, text: str) -> None:
        """Print for the running program, up to the launch's limit of lines."""
        for line in text.split("\n"):
            self._printed += 1
            if self._printed <= self.limits.lines:
                print(f"[program {short(self.program)}] {line}")
            elif self._printed == self.limits.lines + 1:
                print(f"[{self.kernel}] more than {self.limits.lines:g} printed lines; the rest is left out (lab.limits(lines=...) raises this)")


def place(error: KernelError, jit: Any, source: rewrite.Source, line: int, program: tuple[int, int, int], grid: tuple[int, int, int]) -> None:
    """Note on an error where it happened."""
    error.kernel, error.function, error.program, error.grid = jit.fn.__name__, source.name, program, grid
    error.line, error.text, error.excerpt = line, source.text(line).strip(), source.excerpt(line)
