"""The stopwatch: how one call is timed on a GPU, and how many times become one ``Timing``."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .errors import MeasureError
from .measurement import Timing

__all__ = ["GpuTimer", "Timer", "interpreted_error", "launch_counts", "summarize"]

LAUNCH_SHARE = 0.2


class Timer(Protocol):
    """What measures; tests pass one that needs no GPU."""

    device: str

    def calls(self, fn: Callable[[], Any], milliseconds: float) -> list[float]:
        """Seconds of single calls of ``fn``, the L2 cache cleared before each, over about ``milliseconds``."""

    def graph(self, fn: Callable[[], Any], milliseconds: float) -> list[float] | None:
        """Seconds of a call of ``fn`` inside a CUDA graph, or None when it cannot be captured."""

    def finish(self) -> None:
        """Wait for the device, and give unused memory back."""


class GpuTimer:
    """Times with Triton's do_bench and do_bench_cudagraph on the present GPU (CUDA or ROCm).

    Every single time is asked for (``return_mode="all"``): do_bench's own default is the mean.
    """

    device = "cuda"

    def __init__(self) -> None:
        import torch

        if not torch.cuda.is_available():
            raise interpreted_error(None)

    def calls(self, fn: Callable[[], Any], milliseconds: float) -> list[float]:
        from triton.testing import do_bench

        times = do_bench(fn, warmup=max(1, milliseconds / 4), rep=milliseconds, return_mode="all")
        return [ms / 1e3 for ms in times]

    def graph(self, fn: Callable[[], Any], milliseconds: float) -> list[float] | None:
        import torch
        from triton.testing import do_bench_cudagraph

        try:
            times = do_bench_cudagraph(fn, rep=milliseconds, return_mode="all")
        except (RuntimeError, AssertionError):  # not every callable can be captured
            torch.cuda.synchronize()
            return None
        return [ms / 1e3 for ms in times]

    def finish(self) -> None:
        import torch

        torch.cuda.synchronize()
        torch.cuda.empty_cache()


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
