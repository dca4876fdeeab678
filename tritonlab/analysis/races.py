"""Elements that one program writes and another touches, with nothing to order the two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..trace.record import Access, Launch, Program, Trace, _Record, short
from .lanes import Lanes, Memory, as_launch, index_of, is_atomic, partial_note
from .text import count

__all__ = ["Race", "Races", "find_races"]

KEPT = 16
"""Candidates that a result spells out; the rest is counted."""

ORDERING = ("atomic_cas", "atomic_xchg")


@dataclass(frozen=True)
class Race:
    """Two accesses of different programs to one element, at least one of them a write, not both atomic.

    ``writer`` is a program that writes, ``other`` the one whose access (``other_kind``) meets it.
    ``arg`` and ``offset`` are the writer's; ``other_arg`` differs when two arguments overlap in memory.
    """

    arg: str
    offset: int
    index: tuple[int, ...] | None
    writer: Program
    writer_kind: str
    writer_line: int
    other: Program
    other_kind: str
    other_line: int
    other_arg: str

    def __str__(self) -> str:
        at = f"{self.arg}{list(self.index)}" if self.index is not None else f"{self.arg} offset {self.offset}"
        through = f" through {self.other_arg}" if self.other_arg != self.arg else ""
        return (
            f"{at}: {self.writer_kind} by program {short(self.writer)} line {self.writer_line}, "
            f"{self.other_kind} by program {short(self.other)} line {self.other_line}{through}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Races(_Record):
    """Elements that could come out differently in another order of programs.

    ``written_twice``: elements that two programs write, not both atomically. ``read_and_written``: the
    other elements that one program writes and another reads. ``candidates`` spells out the first, by place
    in memory. They are candidates: a lock or a flag held with atomics may order them, and two programs may
    write the same value; then ``note`` or the coverage says so.
    """

    kernel: str
    written_twice: int
    read_and_written: int
    candidates: tuple[Race, ...] = ()
    note: str = ""

    @property
    def elements(self) -> int:
        return self.written_twice + self.read_and_written

    def __bool__(self) -> bool:
        """Whether there is any candidate."""
        return self.elements > 0

    def __repr__(self) -> str:
        parts = []
        if self.written_twice:
            parts.append(f"{count(self.written_twice, 'element')} written by more than one program")
        if self.read_and_written:
            parts.append(f"{count(self.read_and_written, 'element')} written by one and read by another")
        parts = parts or ["no candidates"]
        if self.note:
            parts.append(self.note)
        return f"<Races {self.kernel}: {', '.join(parts)}>"

    def __str__(self) -> str:
        lines = [f"{self.kernel}: race candidates"] + [str(c) for c in self.candidates]
        if not self:
            lines.append("none")
        left = self.elements - len(self.candidates)
        if left:
            lines.append(f"… {count(left, 'more element')}")
        return "\n".join(lines + ([self.note] if self.note else []))


def find_races(of: Launch | Trace) -> Races:
    """Elements that one program writes and another reads or writes without both being atomic.

    Overlapping arguments are compared in memory; elements of different sizes count in the smallest unit
    that both share.
    """
    launch = as_launch(of)
    memory = Memory.of(launch)
    twice = mixed = 0
    found: list[Race] = []
    for names in memory.groups().values():
        lanes = Lanes.of(launch, memory, names)
        both_write, suspects = _suspects(lanes)
        twice += int(both_write.sum())
        mixed += int(suspects.size - both_write.sum())
        for place in suspects[: KEPT - len(found)]:
            found.append(_pair(launch, lanes, np.flatnonzero(lanes.place == place)))
    notes = [partial_note(launch)] if partial_note(launch) else []
    ordering = sorted({a.kind for a in launch.accesses if a.kind in ORDERING})
    if ordering and found:
        notes.insert(0, f"the kernel uses {' and '.join(ordering)}, which may order them")
    return Races(launch.kernel, twice, mixed, tuple(found), "; ".join(notes))


def _suspects(lanes: Lanes) -> tuple[np.ndarray, np.ndarray]:
    """Places with a conflict, sorted, and for each whether two programs write it.

    A conflict needs two programs, a write, and an access that is not atomic. That is enough: whoever makes
    the plain access, some other program's access is a write or meets a write by it.
    """
    places, inverse = np.unique(lanes.place, return_inverse=True)
    inverse = inverse.reshape(-1)
    several = _programs(lanes, inverse, places.size, np.ones(lanes.place.size, dtype=bool)) > 1
    written = np.bincount(inverse, weights=lanes.writes, minlength=places.size) > 0
    plain = np.bincount(inverse, weights=~lanes.atomic, minlength=places.size) > 0
    suspect = several & written & plain
    writers = _programs(lanes, inverse, places.size, lanes.writes)
    plain_writes = np.bincount(inverse, weights=lanes.writes & ~lanes.atomic, minlength=places.size)
    return ((writers > 1) & (plain_writes > 0))[suspect], places[suspect]


def _programs(lanes: Lanes, inverse: np.ndarray, places: int, chosen: np.ndarray) -> np.ndarray:
    """How many distinct programs have a chosen lane at each place."""
    pairs = np.unique(np.stack([inverse[chosen], lanes.program[chosen]]), axis=1)
    return np.bincount(pairs[0], minlength=places)


def _pair(launch: Launch, lanes: Lanes, here: np.ndarray) -> Race:
    """The first two accesses at a place that conflict, two writes before a write and a read."""
    def conflict(i: int, j: int, both_write: bool) -> bool:
        return bool(
            lanes.program[i] != lanes.program[j]
            and lanes.writes[i]
            and (lanes.writes[j] or not both_write)
            and not (lanes.atomic[i] and lanes.atomic[j])
        )

    i, j = next(
        (i, j) for both_write in (True, False) for i in here for j in here if conflict(i, j, both_write)
    )
    writer, other = launch.accesses[lanes.access[i]], launch.accesses[lanes.access[j]]
    offset = int(lanes.offset[i])
    return Race(
        arg=writer.arg,
        offset=offset,
        index=index_of(launch.arg(writer.arg), offset),
        writer=writer.program,
        writer_kind=_kind(writer),
        writer_line=writer.line,
        other=other.program,
        other_kind=_kind(other),
        other_line=other.line,
        other_arg=other.arg,
    )


def _kind(access: Access) -> str:
    return access.kind if is_atomic(access) else {"load": "loaded", "store": "stored"}[access.kind]
