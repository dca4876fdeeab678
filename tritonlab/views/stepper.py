"""The stepper: a program executed line by line, as the trace recorded it.

``stepper_data`` lays the record out once as plain data; the browser explores it without calling Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..trace.record import Launch, Program, Trace
from .base import View
from .stepper_data import Layout, recorded_accesses, recorded_steps
from .words import shown_program

__all__ = ["StepperView", "recorded_accesses", "recorded_steps", "samples", "stepper"]


class StepperView(View):
    """The executed lines of one or more programs: source, locals and memory at every step."""

    module = "stepper.js"
    parts = ("stepper_pictures.js", "stepper_source.js", "stepper_locals.js", "stepper_memory.js")

    def __repr__(self) -> str:
        return f"<Stepper {self.text}>"


def stepper(t: Trace | Launch, program: int | tuple[int, ...] | None = None, at: int | None = None) -> StepperView:
    """Step through what a traced program did, line by line.

    ``t``: a trace with one launch, or a launch, recorded with ``step=...``. ``program``: the program id to
    show, an int or a tuple; by default all stepped programs, to choose from inside the view. ``at``: the step to
    open at, a position in ``launch.steps[program]`` (-1: the last); by default the error that ended the launch, or
    else the first step that touches memory.
    ``ValueError`` when no program was stepped, or not that one, or it has no step ``at``; ``TypeError`` when ``t``
    is no trace.

    Blocks of more than 65536 lanes are cut to the first 65536; the view keeps up to 20000 steps and 8 MB of
    values. What is left out is said in the view.
    """
    if isinstance(t, Trace):
        launch, error = t.launch, t.error
    elif isinstance(t, Launch):
        launch, error = t, None
    else:
        raise TypeError(f"t is a {type(t).__name__}; stepper takes a Trace or a Launch, as lab.trace makes them")
    chosen = _chosen(launch, program)
    data = Layout(launch, error).data(chosen)
    data["start"] = _start(data["programs"], at)
    names = ", ".join(shown_program(p, launch.grid) for p in chosen)
    steps = sum(len(launch.steps[p]) for p in chosen)
    ended = ", ended by an error" if launch.error and any(p["stops"] for p in data["programs"]) else ""
    plural = ("program" if len(chosen) == 1 else "programs", "step" if steps == 1 else "steps")
    return StepperView(data, f"{launch.kernel} {plural[0]} {names}: {steps} {plural[1]}{ended}")


def _chosen(launch: Launch, program: int | tuple[int, ...] | None) -> list[Program]:
    """The programs to show, in the order in which they ran."""
    there = [p for p, steps in launch.steps.items() if steps]
    if not there:
        raise ValueError(
            f"the launch of {launch.kernel} holds no steps; trace it with step=..., "
            "for example lab.trace(run, step=0) for program 0"
        )
    if program is None:
        return sorted(there, key=lambda p: p[::-1])
    ids = (program,) if isinstance(program, (int, np.integer)) else tuple(program)
    full = (*(int(i) for i in ids), 0, 0, 0)[:3]
    if full not in there or len(ids) > 3:
        names = ", ".join(shown_program(p, launch.grid) for p in there)
        raise ValueError(f"program {program} was not stepped; this launch holds the steps of program {names}")
    return [full]


def _start(programs: list[dict[str, Any]], at: int | None) -> list[int]:
    """Position of the program and of its step that the view opens at."""
    if at is None:
        ended = [[i, p["stops"]["step"]] for i, p in enumerate(programs) if p["stops"]]
        touching = (i for i, step in enumerate(programs[0]["steps"]) if step["accesses"])
        return ended[0] if ended else [0, next(touching, 0)]
    n = len(programs[0]["steps"])
    if not -n <= at < n:
        raise ValueError(f"at is {at}; program {programs[0]['name']} has steps 0 to {n - 1}")
    return [0, at % n]


def samples() -> list[tuple[str, StepperView]]:
    """Steppers on records made by hand: a device function, an error, a loop over 2-D blocks."""
    from . import stepped

    return [
        ("stepper-vector-add", stepper(stepped.vector_add())),
        ("stepper-device-function", stepper(stepped.vector_add(), at=5)),
        ("stepper-error", stepper(stepped.refused())),
        ("stepper-row-sums", stepper(stepped.row_sums(), program=2, at=12)),
    ]
