"""A sweep of configs made up for the samples and tests of views."""

from __future__ import annotations

from ..bench.measurement import Failure, Measurement, Measurements, Origin, Timing
from ..compiler.limits import occupancy
from ..compiler.record import Figure, kib

__all__ = ["swept"]


def swept() -> tuple[Measurements, list[Figure]]:
    """A sweep of 36 configs and three shapes by a made-up rule, with figures."""
    origin = Origin("NVIDIA Sample", "2.13.0", "3.7.1", "2026-11-30T00:00:00Z", "made up for a sample")
    items, failures, figures = [], [], []
    for i, (m, n) in enumerate(((32, 32), (64, 64), (128, 64), (128, 128), (128, 256), (256, 256))):
        for warps in (4, 8):
            for stages in (1, 3, 4):
                config = (("BLOCK_M", m), ("BLOCK_N", n), ("BLOCK_K", 64), ("GROUP_M", 8), ("num_warps", warps), ("num_stages", stages))
                shared = stages * (m + n) * 128
                registers = min(255, 40 + m * n // (warps * 32))
                fits = occupancy("sm_90", registers, shared, warps)
                problem = "" if shared <= 227 * 1024 else f"needs {kib(shared)} of shared memory, and a program on sm_90 gets at most 227 KiB"
                figures.append(
                    Figure(config, (), "sm_90", "3.7.1", True, registers, 64 * (registers == 255), shared, 500 + 10 * i, fits.programs, fits.limiter, "wgmma", stages, stages, problem)
                )  # fmt: skip
                for size in (512, 4096, 8192):
                    if problem:
                        failures.append(Failure("samples", "grouped", (size,) * 3, "bfloat16", "out of resource: shared memory", config))
                        continue
                    fill = min(1.0, (size / m) * (size / n) / 264)
                    rate = 700e12 * fill**0.8 * (m * n / (m + n) / 86) ** 0.45 * {1: 0.6, 3: 1.0, 4: 1.01}[stages] * (1 - 0.3 * (registers == 255))
                    seconds = 2 * size**3 / min(rate, 760e12) * (1 + 0.01 * ((7 * i + warps + stages) % 5))
                    timing = Timing(seconds, seconds * 0.985, seconds * 1.02, 50)
                    counters = (("registers", registers), ("spilled", 0), ("shared", shared))
                    items.append(Measurement("samples", "grouped", (size,) * 3, "bfloat16", timing, origin, 6 * size**2, 2 * size**3, config=config, counters=counters))  # fmt: skip
    for size, tflops in ((512, 60), (4096, 720), (8192, 740)):
        seconds = 2 * size**3 / tflops / 1e12
        items.append(Measurement("samples", "torch", (size,) * 3, "bfloat16", Timing(seconds, seconds * 0.99, seconds * 1.01, 50), origin, 6 * size**2, 2 * size**3))  # fmt: skip
    return Measurements(tuple(items), failures=tuple(failures)), figures
