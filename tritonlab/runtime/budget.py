"""How much an interpreted launch may take, and the watch that stops one which takes longer."""

from __future__ import annotations

import ctypes
import dataclasses
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..errors import LaunchTypeError

_DEBUGGERS = ("pdb", "bdb", "debugpy", "pydevd", "_pydevd_bundle", "IPython.core.debugger", "IPython.terminal.debugger", "ipdb")
_BUSY = 4
"""How many times its seconds a launch may take on a machine that is busy with other work: it is the launch's own work that counts."""
_GRACE = 0.25
"""Seconds past its deadline after which a launch that has not noticed is stopped from outside."""


@dataclass(frozen=True)
class Limits:
    """How much an interpreted launch may take: programs, seconds, and printed lines."""

    programs: float = 10_000
    seconds: float = 60.0
    lines: float = 100


_stack = [Limits()]


def current() -> Limits:
    """The limits of a launch that starts now."""
    return _stack[-1]


@contextmanager
def limits(programs: float | None = None, seconds: float | None = None, lines: float | None = None) -> Iterator[Limits]:
    """Change how much an interpreted launch may take, within a ``with`` block.

    programs: largest number of programs a launch may have (default 10,000); seconds: longest time of one
    launch in the interpreter (60 s of its own work, or four times as long where it waits or the machine is busy); lines: how many printed lines it may show (100). ``float("inf")`` lifts a limit.
    """
    given = {k: v for k, v in (("programs", programs), ("seconds", seconds), ("lines", lines)) if v is not None}
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
            raise LaunchTypeError(f"limits({name}=...) takes a number of at least 0, got {value!r}")
    mine = dataclasses.replace(_stack[-1], **given)
    _stack.append(mine)
    try:
        yield mine
    finally:
        for i in reversed(range(len(_stack))):  # another thread may have added its own since
            if _stack[i] is mine:
                del _stack[i]
                break


class TimeUp(BaseException):
    """Raised by the watch inside a launch that is past its time."""


def debugging(frame: Any = None) -> bool:
    """Whether a debugger follows this thread (or, given a frame, is at work in its stack)."""
    if frame is None:
        following = sys.gettrace()
        owner = type(getattr(following, "__self__", None))
        return following is not None and (owner.__name__ in ("PyDB", "ThreadTracer") or any(b.__module__ in _DEBUGGERS for b in owner.__mro__))
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).split(".")[0] in _DEBUGGERS or frame.f_globals.get("__name__") in _DEBUGGERS:
            return True
        frame = frame.f_back
    return False


class _Watch:
    """One thread that sleeps until the running launch's deadline, and then raises ``TimeUp`` in the launch's thread.

    It is for code that never passes a place where the launch looks at the clock itself. Starting a launch costs it no wake-up.
    """

    def __init__(self) -> None:
        # Launches take the lock itself, which C code takes and gives back at one stroke. Condition's own ``with`` is Python:
        # an interrupt that came within it would leave the lock taken, and every later launch would wait for ever.
        self.lock = threading.Lock()
        self.condition = threading.Condition(self.lock)
        self.thread: threading.Thread | None = None
        self.target = 0
        self.clock: Clock | None = None
        self.deadline = self.wakes = float("inf")
        self.raised = 0

    def start(self, clock: Clock) -> None:
        with self.lock:
            self.target, self.clock, self.deadline, self.raised = threading.get_ident(), clock, clock.deadline, 0
            if self.deadline == float("inf"):
                return
            if self.thread is None:
                self.thread = threading.Thread(target=self._run, name="tritonlab time limit", daemon=True)
                self.thread.start()
            elif self.deadline < self.wakes:
                self.condition.notify()

    def stop(self) -> None:
        """No ``TimeUp`` comes after this; one that is on its way is dropped, any other interrupt waits until it is done.

        It is not called back through ``PyThreadState_SetAsyncExc(thread, NULL)``: that leaves Python 3.11 waiting for
        it for ever, and under a trace function it then never gets past the start of the next function.
        """
        interrupt: BaseException | None = None
        for _ in range(4):
            try:
                with self.lock:
                    self.target, self.clock = 0, None
                for _ in range(2 if self.raised else 0):
                    pass  # it comes here, if it is still to come
                break
            except TimeUp:
                continue
            except BaseException as e:
                interrupt = e
        if interrupt is not None:
            raise interrupt

    def _run(self) -> None:
        try:
            self._watch()
        finally:
            self.thread = None  # should it ever end, the next launch starts another

    def _watch(self) -> None:
        with self.condition:
            while True:
                now = time.perf_counter()
                if self.target and self.clock is not None and now >= self.deadline:
                    frame = sys._current_frames().get(self.target)
                    if debugging(frame):
                        self.deadline = self.clock.deadline = float("inf")
                    elif not self.clock.over():
                        self.deadline = self.clock.deadline
                    elif now < self.clock.deadline + _GRACE:
                        self.deadline = self.clock.deadline + _GRACE
                    else:
                        self.raised += 1
                        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.target), ctypes.py_object(TimeUp))
                        self.deadline = now + 0.5  # again, should the code swallow it
                    del frame
                self.wakes = self.deadline if self.target else float("inf")
                self.condition.wait(None if self.wakes == float("inf") else min(max(0.0, self.wakes - now), 3600.0))


_watch = _Watch()


def _fresh_watch() -> None:
    global _watch
    _watch = _Watch()


os.register_at_fork(after_in_child=_fresh_watch)


class Clock:
    """The time of one launch, as a context manager around its programs: ``up`` says that the time is over.

    What counts is the processor time of the launch's thread, so that a busy machine makes no right kernel fail; a
    launch that waits for something else has four times as long.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.deadline = float("inf")

    def __enter__(self) -> "Clock":
        now = time.perf_counter()
        self.deadline, self.last = now + self.seconds, now + _BUSY * self.seconds
        self.processor = time.pthread_getcpuclockid(threading.get_ident())
        self.worked = time.clock_gettime(self.processor)
        _watch.start(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        _watch.stop()

    def over(self) -> bool:
        """Whether the deadline has passed, after moving it by what the launch has not yet worked."""
        now = time.perf_counter()
        if now <= self.deadline:
            return False
        left = self.seconds - (time.clock_gettime(self.processor) - self.worked)
        if left <= 0 or now >= self.last:
            return True
        self.deadline = min(now + max(left, 0.001), self.last)
        return False

    def up(self) -> bool:
        if not self.over():
            return False
        if debugging():
            self.deadline = float("inf")  # whoever steps through a kernel takes the time it takes
            return False
        return True
