"""The roofs of the GPU at hand, measured rather than quoted: a large copy, a large matmul, the smallest launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .measurement import Roof, Roofs
from .timing import GpuTimer, Timer, summarize

__all__ = ["Ceilings", "present_roofs"]

_GIB = 1 << 30


class Ceilings:
    """Measures the roofs once a pass, beside the ops, and sums them up at the end.

    ``copy_bytes`` and ``matmul_size`` default to what fits: a copy of 2 GiB (less on a small GPU: an eighth
    of its free memory) and a product of two 8192×8192 bfloat16 matrices (float16 before sm_80).
    """

    def __init__(self, timer: Timer, copy_bytes: int | None = None, matmul_size: int = 8192, matmul: bool = True) -> None:
        self.timer = timer
        if copy_bytes is None:
            copy_bytes = min(2 * _GIB, torch.cuda.mem_get_info()[0] // 8 // 256 * 256)
        self.copy_bytes, self.matmul_size, self.matmul = copy_bytes, matmul_size, matmul
        self.dtype = torch.bfloat16
        if timer.device == "cuda" and not torch.version.hip and torch.cuda.get_device_capability() < (8, 0):
            self.dtype = torch.float16
        self.times: dict[str, list[list[float]]] = {"copy": [], "matmul": [], "launch": []}

    def measure_pass(self, milliseconds: float) -> None:
        """One pass over the three."""
        device = self.timer.device
        source = torch.randint(-128, 128, (self.copy_bytes,), dtype=torch.int8, device=device)
        target = torch.empty_like(source)
        self._add("copy", lambda: target.copy_(source), milliseconds)
        del source, target
        self.timer.finish()
        if self.matmul:
            a, b = (torch.randn(self.matmul_size, self.matmul_size, device=device, dtype=self.dtype) for _ in range(2))
            out = torch.empty_like(a)
            self._add("matmul", lambda: torch.matmul(a, b, out=out), milliseconds)
            del a, b, out
            self.timer.finish()
        one = torch.ones(1, device=device)
        self._add("launch", lambda: one.neg_(), milliseconds)

    def _add(self, name: str, fn: Callable[[], Any], milliseconds: float) -> None:
        self.times[name].append(self.timer.calls(fn, milliseconds))

    def roofs(self) -> Roofs:
        """What the passes so far amount to."""
        launch = summarize(self.times["launch"]) if self.times["launch"] else None
        copy = matmul = None
        if self.times["copy"]:
            copy = Roof(f"copy of {self.copy_bytes / _GIB:.3g} GiB", 2 * self.copy_bytes, summarize(self.times["copy"]))
        if self.times["matmul"]:
            what = f"{str(self.dtype).removeprefix('torch.')} matmul of {self.matmul_size}³"
            matmul = Roof(what, 2 * self.matmul_size**3, summarize(self.times["matmul"]))
        return Roofs(copy, matmul, launch)


_present: dict[str, Roofs] = {}


def present_roofs(timer: Timer | None = None) -> Roofs:
    """The roofs of the GPU at hand, measured once a process (about a second)."""
    timer = timer or GpuTimer()
    name = torch.cuda.get_device_name() if timer.device == "cuda" else timer.device
    if name not in _present:
        ceilings = Ceilings(timer)
        for _ in range(2):
            ceilings.measure_pass(30)
        _present[name] = ceilings.roofs()
    return _present[name]
