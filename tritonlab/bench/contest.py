"""Contenders timed side by side on the same data."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping
from typing import Any

from .measurement import Timing
from .timing import Timer, launch_counts, summarize

__all__ = ["Contest"]

WARM_UP = 100.0
"""Milliseconds."""


class Contest:
    """The times of several contenders over several passes, each pass in another order."""

    def __init__(self, timer: Timer) -> None:
        self.timer = timer
        self._calls: dict[str, list[list[float]]] = {}
        self._graphs: dict[str, list[list[float]]] = {}
        self._turn = 0

    def time(self, contenders: Mapping[str, Callable[[], Any]], milliseconds: float, launch: Timing | None, graphs: bool) -> None:
        """One pass: each contender for about ``milliseconds``, in an order drawn anew for every second pass, and then backwards.

        Each works untimed for as long before its turn (the first longer): a GPU that has rested, or run something
        light, has higher clocks for some tenths of a second, and none is to gain by its neighbour. With ``graphs``, in a CUDA
        graph too, where the launch is a good part of the time.
        """
        names = list(contenders)
        random.Random(f"{self._turn // 2}: {', '.join(names)}").shuffle(names)
        if self._turn % 2:
            names.reverse()
        self._turn += 1
        for place, name in enumerate(names):
            self.timer.warm(contenders[name], max(milliseconds, 0 if place else WARM_UP))
            times = self.timer.calls(contenders[name], milliseconds)
            self._calls.setdefault(name, []).append(times)
            if graphs and launch_counts(statistics.median(times), launch):
                times = self.timer.graph(contenders[name], milliseconds / 4)
                if times:
                    self._graphs.setdefault(name, []).append(times)

    def timed(self, name: str) -> bool:
        """Whether ``name`` was timed in some pass."""
        return bool(self._calls.get(name))

    def timing(self, name: str) -> Timing:
        """Single calls of ``name`` with L2 cleared."""
        return summarize(self._calls[name])

    def graph(self, name: str) -> Timing | None:
        """Calls of ``name`` inside a CUDA graph, or None when there were none."""
        return summarize(self._graphs[name]) if self._graphs.get(name) else None
