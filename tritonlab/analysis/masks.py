"""How many lanes of each access are masked off."""

from __future__ import annotations

from dataclasses import dataclass

from ..trace.record import Launch, Program, Trace, _Record, short
from .lanes import as_launch, line_text, partial_note
from .text import count, table

__all__ = ["LaneCount", "MaskedLanes", "masked_lanes"]


@dataclass(frozen=True)
class LaneCount:
    """The lanes of one access. ``access`` is its position in ``Launch.accesses``; ``other``: a load named a fill."""

    access: int
    kind: str
    arg: str
    program: Program
    line: int
    text: str
    lanes: int
    on: int
    other: bool

    @property
    def masked(self) -> int:
        return self.lanes - self.on


@dataclass(frozen=True, eq=False, repr=False)
class MaskedLanes(_Record):
    """The lanes of every access of a launch, on and masked off, in the order of the accesses."""

    kernel: str
    counts: tuple[LaneCount, ...]
    note: str = ""

    @property
    def lanes(self) -> int:
        return sum(c.lanes for c in self.counts)

    @property
    def on(self) -> int:
        return sum(c.on for c in self.counts)

    @property
    def masked(self) -> int:
        return self.lanes - self.on

    @property
    def share(self) -> float:
        """Masked lanes as a share of all lanes, 0 to 1; 0 when there are no lanes."""
        return self.masked / self.lanes if self.lanes else 0.0

    def programs(self) -> tuple[Program, ...]:
        """The programs that mask at least one lane, in order of their first such access."""
        return tuple(dict.fromkeys(c.program for c in self.counts if c.masked))

    def of(self, program: Program) -> tuple[LaneCount, ...]:
        """The lane counts of one program."""
        return tuple(c for c in self.counts if c.program == program)

    def __repr__(self) -> str:
        parts = [f"{self.masked:,} of {count(self.lanes, 'lane')} masked in {count(len(self.counts), 'access', 'accesses')}"]
        if self.note:
            parts.append(self.note)
        return f"<MaskedLanes {self.kernel}: {', '.join(parts)}>"

    def __str__(self) -> str:
        groups: dict[tuple, list[LaneCount]] = {}
        for c in self.counts:
            groups.setdefault((c.line, c.kind, c.arg, c.text), []).append(c)
        rows = []
        for (line, kind, arg, _), found in groups.items():
            where = tuple(dict.fromkeys(c.program for c in found if c.masked))
            rows.append((line, kind, arg, sum(c.lanes for c in found), sum(c.masked for c in found), _who(where)))
        title = f"{self.kernel}: lanes masked off, by line"
        last = ("all", "", "", self.lanes, self.masked, _who(self.programs()))
        return table(title, ("line", "kind", "argument", "lanes", "masked", "in programs"), rows, self.note, last)


def _who(programs: tuple[Program, ...]) -> str:
    shown = ", ".join(short(p) for p in programs[:4])
    return f"{shown}, … ({len(programs)} programs)" if len(programs) > 4 else shown or "none"


def masked_lanes(of: Launch | Trace) -> MaskedLanes:
    """Count the lanes of every access that are on and that are masked off."""
    launch = as_launch(of)
    counts = tuple(
        LaneCount(
            access=position,
            kind=a.kind,
            arg=a.arg,
            program=a.program,
            line=a.line,
            text=line_text(launch, a.function, a.line),
            lanes=int(a.mask.size),
            on=int(a.mask.sum()),
            other=a.other,
        )
        for position, a in enumerate(launch.accesses)
    )
    return MaskedLanes(launch.kernel, counts, partial_note(launch))
