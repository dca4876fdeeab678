"""In which order programs run, and which of them touch memory."""

from __future__ import annotations

from dataclasses import dataclass

from ..trace.record import Launch, Program, Trace, _Record, short, trim
from .lanes import as_launch, partial_note
from .text import count

__all__ = ["Order", "program_order"]


@dataclass(frozen=True, eq=False, repr=False)
class Order(_Record):
    """The sequence of programs.

    ``traced``: the programs in the order of their first recorded access: the order in which the interpreter
    ran them, one after another. ``gpu``: all programs of the grid in the order in which a GPU hands them out
    (axis 0 fastest), many of them at a time. ``silent``: the programs of the grid without an access, in the
    GPU's order.
    """

    kernel: str
    grid: Program
    traced: tuple[Program, ...]
    gpu: tuple[Program, ...]
    silent: tuple[Program, ...] = ()
    note: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the traced programs come in the GPU's order."""
        seen = set(self.traced)
        return self.traced == tuple(p for p in self.gpu if p in seen)

    def __repr__(self) -> str:
        grid = "×".join(str(n) for n in trim(self.grid))
        parts = [f"{count(len(self.traced), 'program')} of {len(self.gpu):,} touched memory"]
        if not self.agrees:
            parts.append("in another order than a GPU's")
        if self.note:
            parts.append(self.note)
        return f"<Order {self.kernel}[{grid}]: {', '.join(parts)}>"

    def __str__(self) -> str:
        lines = [f"{self.kernel}: order of programs"]
        lines.append(f"traced  {_some(self.traced)}")
        lines.append(f"GPU     {_some(self.gpu)}")
        if self.silent:
            lines.append(f"silent  {_some(self.silent)}")
        return "\n".join(lines + ([self.note] if self.note else []))


def _some(programs: tuple[Program, ...], shown: int = 12) -> str:
    text = " ".join(short(p) for p in programs[:shown])
    return f"{text} … ({len(programs):,} in all)" if len(programs) > shown else text or "none"


def program_order(of: Launch | Trace) -> Order:
    """The programs of a launch in the order traced and in the order of a GPU."""
    launch = as_launch(of)
    gx, gy, gz = launch.grid
    gpu = tuple((x, y, z) for z in range(gz) for y in range(gy) for x in range(gx))
    traced = tuple(dict.fromkeys(a.program for a in launch.accesses))
    seen = set(traced)
    silent = tuple(p for p in gpu if p not in seen)
    return Order(launch.kernel, launch.grid, traced, gpu, silent, partial_note(launch))
