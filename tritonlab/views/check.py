"""The picture that follows a failed check: the tile view or the stepper, opened at the offending place."""

from __future__ import annotations

from typing import Any

from ..trace.record import Trace
from .base import View

__all__ = ["check", "samples"]

COVERAGE = ("never_written", "race", "strides", "last_tile", "input_changed", "rule", "copied_input")
"""Reasons that the tile view shows best: they are about which program touches what. All others open the stepper."""


def check(result: Any) -> View | None:
    """The view for a ``CheckResult`` of ``tritonlab.exercises``: of its first reason, at the place that reason names.

    Reasons about which program touches what open the tile view at the program; the others open the stepper at the
    step, where the trace holds the program's steps. None when there is nothing to show: the answer is right or an
    unfinished stub, or the reason points at no launch. ``TypeError`` for what is no ``CheckResult``.
    """
    if not all(hasattr(result, name) for name in ("ok", "reasons", "trace", "where")):
        raise TypeError(f"check takes what ex.check(...) returns; got {type(result).__name__}")
    if result.ok or not result.reasons or result.trace is None or result.where is None:
        return None
    launches, where = result.trace.launches, result.where
    if not 0 <= where.launch < len(launches):
        return None
    launch = launches[where.launch]
    if not launch.programs:
        return None
    failed = launch.error is not None and len(launches) == 1
    if where.step is not None and launch.steps.get(where.program) and not _by_tiles(result):
        from .stepper import stepper

        shown = Trace((launch,), error=result.trace.error, triton_version=result.trace.triton_version) if failed else launch
        return stepper(shown, program=where.program, at=None if failed else where.step)
    if not launch.accesses:
        return None
    from .tiles import tiles

    return tiles(launch, program=where.program if result.reasons[0].program is not None else None)


def _by_tiles(result: Any) -> bool:
    return result.reasons[0].code in COVERAGE and result.trace.error is None


def samples() -> list[tuple[str, View]]:
    """None of its own: what it shows are other views."""
    return []
