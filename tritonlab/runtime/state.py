"""What is being interpreted right now, and in which thread. Launches are interpreted one at a time."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from . import rewrite

if TYPE_CHECKING:
    from .launch import InterpretedLaunch

lock = threading.RLock()
"""Held while a launch is interpreted, started on a GPU, or compiled: ``triton.language`` is patched for the first of these."""

compiling: list[int] = []
"""An entry for each thread that compiles or waits to: a thread that launches in a loop lets them have their turn."""


COMPILES = 3.0
"""Seconds after a kernel's translation in which what follows it, down to the machine code, may still be under way."""


class _State:
    launch: InterpretedLaunch | None = None
    thread: int = 0
    compiled: float = -COMPILES  # when a kernel was last translated


state = _State()


def interpreting() -> InterpretedLaunch | None:
    """The launch that this thread is in the middle of, or None."""
    return state.launch if state.thread == threading.get_ident() else None


def forget_stale() -> None:
    """Clear the note of a launch that is over: an interrupt can come between a launch's end and the clearing."""
    launch, frame = interpreting(), sys._getframe(1)
    while launch is not None and frame is not None:
        if frame.f_code is type(launch).run.__code__:
            return
        frame = frame.f_back  # type: ignore[assignment]
    state.launch = None


def where(depth: int = 1) -> tuple[rewrite.Source | None, int]:
    """The innermost learner's line that is running, skipping Triton's own jitted functions."""
    frame = sys._getframe(depth)
    while frame is not None:
        source = rewrite.source_of(frame.f_code)
        if source is not None and not source.library:
            return source, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None, 0
