"""Whether every element of an output is written once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..trace.record import Access, Launch, Program, TensorArg, Trace, _freeze, _Record, short
from .lanes import as_launch, index_of, is_atomic, partial_note, valid_offsets
from .text import count, table

__all__ = ["Conflict", "Coverage", "Write", "output_coverage"]

KEPT = 16
"""Conflicts that a result spells out; the rest is counted."""


@dataclass(frozen=True)
class Write:
    """One store to one element. ``value`` is None when the trace did not keep values."""

    program: Program
    line: int
    value: float | int | bool | None

    def __str__(self) -> str:
        shown = "?" if self.value is None else f"{self.value:g}" if isinstance(self.value, float) else str(self.value)
        return f"{shown} by program {short(self.program)} line {self.line}"


@dataclass(frozen=True)
class Conflict:
    """An element that was stored more than once with different values, and by whom, in order.

    ``index`` is its first place in the view; None for an offset outside of it.
    """

    offset: int
    index: tuple[int, ...] | None
    writes: tuple[Write, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Coverage(_Record):
    """How often each element of an output was written.

    ``times`` has the view's shape, int64. ``never``, ``once`` and ``more`` count elements in memory
    (a broadcast element once); ``outside`` counts writes at offsets that the view does not reach.
    ``differing`` counts the elements that were stored more than once with different values, of which
    ``conflicts`` spells out the first; ``unknown`` those stored more than once whose values the trace did
    not keep. Atomic updates count as writes, never as conflicts.
    """

    kernel: str
    arg: str
    times: np.ndarray
    never: int
    once: int
    more: int
    outside: int = 0
    differing: int = 0
    unknown: int = 0
    conflicts: tuple[Conflict, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        _freeze(self.times)

    @property
    def complete(self) -> bool:
        """Every element was written exactly once, nothing else was, and the trace holds all accesses."""
        return not (self.never or self.more or self.outside or self.note)

    def __repr__(self) -> str:
        total = self.never + self.once + self.more
        if self.complete:
            return f"<Coverage {self.kernel} {self.arg}: {count(total, 'element')}, each written once>"
        parts = [f"{self.once:,} of {count(total, 'element')} written once"]
        for n, what in ((self.never, "never"), (self.more, "more than once")):
            if n:
                parts.append(f"{n:,} {what}")
        if self.differing:
            parts.append(f"{self.differing:,} with different values")
        if self.unknown:
            parts.append(f"{self.unknown:,} with values not kept")
        if self.outside:
            parts.append(f"{count(self.outside, 'write')} outside")
        if self.note:
            parts.append(self.note)
        return f"<Coverage {self.kernel} {self.arg}: {', '.join(parts)}>"

    def __str__(self) -> str:
        rows = [("once", self.once), ("never", self.never), ("more than once", self.more)]
        if self.differing:
            rows.append(("with different values", self.differing))
        if self.outside:
            rows.append(("writes outside", self.outside))
        text = table(f"{self.kernel}: how often {self.arg} is written", ("written", "elements"), rows)
        for conflict in self.conflicts:
            at = "offset " + str(conflict.offset) if conflict.index is None else f"{self.arg}{list(conflict.index)}"
            text += f"\n{at}: " + ", then ".join(map(str, conflict.writes))
        left = self.differing - len(self.conflicts)
        if left:
            text += f"\n… {count(left, 'more element')} with different values"
        return text + (f"\n{self.note}" if self.note else "")


def output_coverage(of: Launch | Trace, arg: str | None = None) -> Coverage:
    """How often each element of an output is written: never, once, more than once.

    ``arg`` may be left out when the launch writes exactly one argument; otherwise ``ValueError`` names
    those that it writes. ``KeyError`` for an argument that the launch does not have.
    """
    launch = as_launch(of)
    tensor = launch.arg(arg) if arg is not None else _only_output(launch)
    writes = [a for a in launch.accesses if a.arg == tensor.name and a.writes]
    valid = valid_offsets(tensor)
    offsets = np.concatenate([a.touched.reshape(-1) for a in writes]) if writes else np.empty(0, dtype=np.int64)
    inside = np.isin(offsets, valid)
    times = np.bincount(np.searchsorted(valid, offsets[inside]), minlength=valid.size)
    differing, unknown, conflicts = _conflicts(tensor, [a for a in writes if not is_atomic(a)])
    return Coverage(
        kernel=launch.kernel,
        arg=tensor.name,
        times=times[np.searchsorted(valid, tensor.offsets())].astype(np.int64),
        never=int((times == 0).sum()),
        once=int((times == 1).sum()),
        more=int((times > 1).sum()),
        outside=int((~inside).sum()),
        differing=differing,
        unknown=unknown,
        conflicts=conflicts,
        note=partial_note(launch),
    )


def _only_output(launch: Launch) -> TensorArg:
    names = list(dict.fromkeys(a.arg for a in launch.accesses if a.writes and a.mask.any()))
    if len(names) == 1:
        return launch.arg(names[0])
    if not names:
        raise ValueError(f"{launch.kernel} writes no argument in this trace; name the one to look at with arg=")
    raise ValueError(f"{launch.kernel} writes {', '.join(names)}; choose one with arg=")


def _conflicts(tensor: TensorArg, stores: list[Access]) -> tuple[int, int, tuple[Conflict, ...]]:
    """Elements stored more than once: how many with different values, how many unknown, the first of them."""
    if not stores:
        return 0, 0, ()
    source = np.concatenate([np.full(int(a.mask.sum()), i) for i, a in enumerate(stores)])
    offsets = np.concatenate([a.touched.reshape(-1) for a in stores])
    places, inverse, times = np.unique(offsets, return_inverse=True, return_counts=True)
    again = np.flatnonzero(times > 1)
    if not again.size:
        return 0, 0, ()
    kept = np.concatenate([np.full(int(a.mask.sum()), a.values is not None) for a in stores])
    values = np.concatenate([_stored(a) for a in stores])
    order = np.argsort(inverse.reshape(-1), kind="stable")
    starts = np.concatenate([[0], np.cumsum(times)])
    differing = unknown = 0
    conflicts: list[Conflict] = []
    for place in again:
        lanes = order[starts[place] : starts[place + 1]]
        if not kept[lanes].all():
            unknown += 1
            continue
        found = [values[i].item() for i in lanes]
        if all(v == found[0] or (v != v and found[0] != found[0]) for v in found):
            continue
        differing += 1
        if len(conflicts) < KEPT:
            writes = tuple(Write(stores[source[i]].program, stores[source[i]].line, v) for i, v in zip(lanes, found))
            offset = int(places[place])
            conflicts.append(Conflict(offset, index_of(tensor, offset), writes))
    return differing, unknown, tuple(conflicts)


def _stored(access: Access) -> np.ndarray:
    """The values of the lanes that are on, flat, in lane order; zeros when the trace did not keep them."""
    if access.values is None:
        return np.zeros(int(access.mask.sum()), dtype=np.int8)
    return np.broadcast_to(access.values, access.mask.shape)[access.mask].reshape(-1)
