"""Do two runs of the bench agree within the spreads that they state?"""

from __future__ import annotations

from dataclasses import dataclass

from .measurement import Measurement, Measurements
from .tables import config_text, microseconds, percent, shape_text

__all__ = ["Comparison", "compare_runs"]


@dataclass(frozen=True)
class Comparison:
    """Measurements that two runs share: ``together`` agree, ``apart`` do not; ``alone`` counts those of one run only."""

    labels: tuple[str, str]
    together: tuple[tuple[Measurement, Measurement], ...]
    apart: tuple[tuple[Measurement, Measurement], ...]
    alone: int = 0

    @property
    def agree(self) -> bool:
        """Whether every shared measurement agrees, and there is one."""
        return bool(self.together) and not self.apart

    def __repr__(self) -> str:
        shared = len(self.together) + len(self.apart)
        lines = [f"A: {self.labels[0]}", f"B: {self.labels[1]}"]
        alone = f"; {self.alone} are in one run only" if self.alone else ""
        lines.append(f"{len(self.together)} of {shared} shared measurements agree within their spreads{alone}")
        for a, b in self.apart:
            lines.append(
                f"  {a.op} {a.implementation} {shape_text(a.shape)} {a.dtype}{config_text(a.config)}: {microseconds(a.seconds)} µs {percent(a.timing.spread)}"
                f" against {microseconds(b.seconds)} µs {percent(b.timing.spread)} ({b.seconds / a.seconds - 1:+.1%})"
            )
        return "\n".join(lines)


def compare_runs(a: Measurements, b: Measurements) -> Comparison:
    """The single-call times of two runs, case by case; ``Timing.agrees`` says what agreeing is."""
    first = {m.key: m for m in a}
    second = {m.key: m for m in b}
    shared = [(first[key], second[key]) for key in first if key in second]
    together = tuple(pair for pair in shared if pair[0].timing.agrees(pair[1].timing))
    apart = tuple(pair for pair in shared if not pair[0].timing.agrees(pair[1].timing))
    alone = len(first) + len(second) - 2 * len(shared)
    return Comparison((" / ".join(a.labels), " / ".join(b.labels)), together, apart, alone)
