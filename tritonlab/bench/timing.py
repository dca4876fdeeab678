"""The stopwatch: how one call is timed on a GPU, and how many times become one ``Timing``."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .errors import MeasureError
from .measurement import Timing

__all__ = ["CALLS", "GpuTimer", "Timer", "interpreted_error", "launch_counts", "summarize"]

LAUNCH_SHARE = 0.2
CALLS = "single calls between CUDA events as in triton.testing.do_bench, L2 cleared before each, the GPU kept busier than the host"
HOST_MARGIN = 1.5
"""The GPU is kept busy this many times as long as the host needs to queue a call."""
MOST_CLEARS, MOST_CALLS = 10, 2000


class Timer(Protocol):
    """What measures; tests pass one that needs no GPU."""

    device: str

    def calls(self, fn: Callable[[], Any], milliseconds: float) -> list[float]:
        """Seconds of single calls of ``fn``, the L2 cache cleared before each, over about ``milliseconds``."""

    def warm(self, fn: Callable[[], Any], milliseconds: float) -> None:
        """Call ``fn`` over and over for about ``milliseconds``, untimed."""

    def graph(self, fn: Callable[[], Any], milliseconds: float) -> list[float] | None:
        """Seconds of a call of ``fn`` inside a CUDA graph, or None when it cannot be captured."""

    def finish(self) -> None:
        """Wait for the device, and give unused memory back."""


class GpuTimer:
    """Times on the present GPU (CUDA or ROCm).

    ``calls`` does what ``triton.testing.do_bench`` does: events around single calls, L2 cleared before each. In
    addition it keeps the GPU busy for longer than the host needs to queue a call, by clearing as often as that takes:
    otherwise a small kernel with a slow launcher is timed while the GPU waits for Python. ``graph`` is
    ``do_bench_cudagraph``. All single times are given (do_bench's own default is their mean).
    """

    device = "cuda"

    def __init__(self, cuda: Any = None, clock: Callable[[], float] = time.perf_counter, clear: Callable[[], Any] | None = None) -> None:
        if cuda is None:
            import torch

            cuda = torch.cuda
        if not cuda.is_available():
            raise interpreted_error(None)
        self.cuda, self.clock, self._clear, self._clear_seconds = cuda, clock, clear, 0.0

    def calls(self, fn: Callable[[], Any], milliseconds: float) -> list[float]:
        fn()
        self.clear()  # so that neither is set up within what is timed
        self.cuda.synchronize()
        _, host, whole = self._rounds(fn, 5, 1)
        clears = 1
        if whole < HOST_MARGIN * host:
            clears = min(MOST_CLEARS, math.ceil(HOST_MARGIN * host / self.clear_seconds()))
            whole = max(whole, clears * self.clear_seconds())
        count = max(1, min(MOST_CALLS, int(milliseconds / 1e3 / whole)))
        self._rounds(fn, max(1, count // 4), clears)
        return self._rounds(fn, count, clears)[0]

    def warm(self, fn: Callable[[], Any], milliseconds: float) -> None:
        stop = self.clock() + milliseconds / 1e3
        while self.clock() < stop:
            for _ in range(5):
                fn()
            self.cuda.synchronize()

    def _rounds(self, fn: Callable[[], Any], count: int, clears: int) -> tuple[list[float], float, float]:
        """Seconds of each of ``count`` calls, what the host needed to queue a round, and what a round took in all."""
        clear = self.clear
        starts, ends = ([self.cuda.Event(enable_timing=True) for _ in range(count)] for _ in range(2))
        begin = self.clock()
        for start, end in zip(starts, ends, strict=True):
            for _ in range(clears):
                clear()
            start.record()
            fn()
            end.record()
        queued = self.clock()
        self.cuda.synchronize()
        done = self.clock()
        return [s.elapsed_time(e) / 1e3 for s, e in zip(starts, ends, strict=True)], (queued - begin) / count, (done - begin) / count

    def clear(self) -> None:
        """Fill L2 with other data."""
        if self._clear is None:
            import torch

            size = max(256 << 20, 4 * getattr(torch.cuda.get_device_properties(), "L2_cache_size", 0))
            self._clear = torch.empty(size // 4, dtype=torch.int32, device="cuda").zero_
        self._clear()

    def clear_seconds(self) -> float:
        """How long the GPU is busy with one clearing; measured once."""
        if not self._clear_seconds:
            start, end = (self.cuda.Event(enable_timing=True) for _ in range(2))
            self.clear()
            start.record()
            for _ in range(10):
                self.clear()
            end.record()
            self.cuda.synchronize()
            self._clear_seconds = max(start.elapsed_time(end) / 1e4, 1e-6)
        return self._clear_seconds

    def graph(self, fn: Callable[[], Any], milliseconds: float) -> list[float] | None:
        from triton.testing import do_bench_cudagraph

        try:
            times = do_bench_cudagraph(fn, rep=milliseconds, return_mode="all")
        except (RuntimeError, AssertionError):  # not every callable can be captured
            self.cuda.synchronize()
            return None
        return [ms / 1e3 for ms in times]

    def finish(self) -> None:
        self.cuda.synchronize()
        self.cuda.empty_cache()


def summarize(passes: Sequence[Sequence[float]]) -> Timing:
    """One ``Timing`` from the seconds of several passes.

    The median of all calls; the spread runs from their tenth to their ninetieth percentile, and is widened
    where a pass's own median lies outside, so that what changed between passes (clocks, heat, where the
    memory lies) is in it. Rounded to the ten picoseconds that a record keeps.
    """
    times = sorted(t for one in passes for t in one if t > 0)
    if not times:
        raise MeasureError("the timer gave no time above zero")
    medians = [statistics.median(one) for one in passes if len(one) and statistics.median(one) > 0]
    tenth, ninetieth = _quantile(times, 0.1), _quantile(times, 0.9)
    middle = statistics.median(times)
    return Timing(round(middle, 11), round(min(tenth, *medians, middle), 11), round(max(ninetieth, *medians, middle), 11), len(times))


def _quantile(ordered: Sequence[float], q: float) -> float:
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def launch_counts(seconds: float, launch: Timing | None) -> bool:
    """Whether the launch is a good part (a fifth or more) of a call of ``seconds``; then a graph's time stands beside it."""
    return launch is not None and launch.seconds > LAUNCH_SHARE * seconds


def interpreted_error(op: str | None, machine_has_gpu: bool = False) -> MeasureError:
    """The refusal to time interpreted work: why, and what to do instead."""
    why = "the interpreter runs a kernel's programs one after the other in Python, so its time says nothing of how fast the kernel is on a GPU"
    name = repr(op) if op else '"vector_add"'
    shown = f"`lab.recorded({name})` shows a recorded run".replace("'", '"')
    if machine_has_gpu:
        return MeasureError(
            f"what was called gave a tensor on the CPU, where kernels are interpreted, and {why}",
            f'put the tensors on the GPU (device="cuda"); {shown}',
        )
    return MeasureError(f"this machine has no GPU that torch can see, and {why}", f"{shown}; on a machine with a GPU this cell measures")
