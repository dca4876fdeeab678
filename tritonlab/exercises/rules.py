"""Further rules that an exercise can set: each takes the outcome of a right case and gives (code, text) or None."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ..trace.record import trim
from .finding import output_args
from .memory import places_written
from .run import Outcome

__all__ = ["launches_at_most", "one_launch", "written_once"]


def launches_at_most(position: int, name: str) -> Callable[[Outcome], tuple[str, str] | None]:
    """The launch has no more programs than the argument at that position says."""

    def rule(outcome: Outcome) -> tuple[str, str] | None:
        most: Any = outcome.case.args[position]
        for launch in outcome.trace.launches:
            if launch.programs > most:
                grid = trim(launch.grid)
                return "rule", f"{launch.kernel} was launched with {launch.programs} programs, grid {grid}; {name} = {most} allows {most}."
        return None

    return rule


def one_launch(outcome: Outcome) -> tuple[str, str] | None:
    """Everything is done by one launch."""
    launches = outcome.trace.launches
    if len(launches) > 1:
        names = list(dict.fromkeys(launch.kernel for launch in launches))
        return "rule", f"The values are right, but there are {len(launches)} launches ({', '.join(names)}); the exercise wants one that does it all."
    return None


def written_once(outcome: Outcome) -> tuple[str, str] | None:
    """Every element of the result is stored once: no program repeats another's work."""
    for which in range(len(outcome.results)):
        args = output_args(outcome, which)
        places, times = np.unique(places_written(args), return_counts=True)
        if (times > 1).any():
            again = int((times > 1).sum())
            many = "1 element is" if again == 1 else f"{again} elements are"
            launch, arg = args[0][1], args[0][2]
            first = int(places[times > 1][0]) - arg.storage_offset
            stores = [a for a in launch.accesses if a.arg == arg.name and a.writes and (a.touched == first).any()]
            who = " and ".join(f"program {a.program[0]}" for a in stores[:2])
            return "rule", f"The values are right, but {many} written more than once: {arg.name}[{first}] by {who}. Each tile belongs to one program."
    return None
