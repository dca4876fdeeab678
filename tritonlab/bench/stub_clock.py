"""A pretend GPU that has nothing but a clock, so that ``triton.testing.do_bench`` itself can be run and watched without one.

What it returns is what it was told: no time of a machine.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import triton

__all__ = ["StubClock", "stub_clock"]


@dataclass(eq=False)
class StubClock:
    """A clock in ms. ``call()`` takes the next of its times (the last one again and again once they are used up) and stands for a kernel.

    ``calls`` counts calls, ``cleared`` how often do_bench cleared the L2 cache, ``events`` holds "call", "clear" and
    "record" in their order, and ``timed`` how many calls lay between two timing events of their own.
    """

    times: tuple[float, ...]
    now: float = 0.0
    events: list[str] = field(default_factory=list)

    @property
    def calls(self) -> int:
        return self.events.count("call")

    @property
    def cleared(self) -> int:
        return self.events.count("clear")

    @property
    def timed(self) -> int:
        return sum(self.events[i : i + 3] == ["record", "call", "record"] for i in range(len(self.events)))

    def call(self) -> None:
        """Let the next time pass."""
        self.now += self.times[min(self.calls, len(self.times) - 1)]
        self.events.append("call")

    def __repr__(self) -> str:
        return f"<StubClock {self.calls} calls, {self.timed} timed, L2 cleared {self.cleared} times>"

    # what do_bench asks of a driver

    def get_device_interface(self) -> StubClock:
        return self

    def get_empty_cache_for_benchmark(self) -> None:
        return None

    def clear_cache(self, cache: Any) -> None:
        self.events.append("clear")

    def synchronize(self) -> None:
        pass

    def Event(self, enable_timing: bool = True) -> _Event:
        return _Event(self)


class _Event:
    def __init__(self, clock: StubClock) -> None:
        self.clock, self.at = clock, 0.0

    def record(self) -> None:
        self.at = self.clock.now
        self.clock.events.append("record")

    def elapsed_time(self, later: _Event) -> float:
        return later.at - self.at


@contextlib.contextmanager
def stub_clock(*times: float | Iterable[float]) -> Iterator[StubClock]:
    """Within the block ``triton.testing.do_bench(clock.call)`` measures a clock instead of a GPU.

    times: what each call takes, in ms, in order; after the last one it stays at that. A list may be given too.
    Raises ``ValueError`` for no times and for one that is not positive.
    """
    flat = [t for given in times for t in (given if isinstance(given, Iterable) else (given,))]
    if not flat or not all(isinstance(t, (int, float)) and not isinstance(t, bool) and t > 0 for t in flat):
        raise ValueError(f"stub_clock takes the time of each call in ms, positive numbers; got {flat!r}")
    clock = StubClock(tuple(float(t) for t in flat))
    config = triton.runtime.driver
    before, config._active = config._active, clock
    try:
        yield clock
    finally:
        config._active = before
