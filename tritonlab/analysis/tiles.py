"""Which program touches which elements."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..trace.record import Access, Launch, Program, Trace, _freeze, _Record, short
from .lanes import as_launch, is_atomic, partial_note, program_number
from .text import count, table

__all__ = ["Owners", "owners"]

Box = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, eq=False, repr=False)
class Owners(_Record):
    """Who touches the elements of one argument, by one kind of access.

    ``first`` and ``count`` have the view's shape, int64: the number of the program that touched the
    element first (``program_number``; -1 for never) and how many programs touched it. ``touched`` maps
    each program, in order of its first touch, to its distinct element offsets, sorted. ``boxes`` maps it
    to the smallest box of the view that holds them, as (first index, last index + 1) on every axis; a
    program that touched nothing inside the view has none. ``outside`` counts distinct offsets that the
    view does not reach.
    """

    kernel: str
    arg: str
    kind: str
    grid: Program
    first: np.ndarray
    count: np.ndarray
    touched: dict[Program, np.ndarray] = field(default_factory=dict)
    boxes: dict[Program, Box] = field(default_factory=dict)
    outside: int = 0
    note: str = ""

    def __post_init__(self) -> None:
        for array in (self.first, self.count, *self.touched.values()):
            _freeze(array)

    @property
    def shared(self) -> int:
        """How many elements of the view more than one program touches."""
        return int((self.count > 1).sum())

    @property
    def untouched(self) -> int:
        """How many elements of the view no program touches."""
        return int((self.count == 0).sum())

    def slices(self, program: Program) -> str:
        """A program's box as an index: ``"[960:1000]"``; ``"nothing"`` when it has none."""
        if program not in self.boxes:
            return "nothing"
        low, high = self.boxes[program]
        return "[" + ", ".join(f"{a}:{b}" for a, b in zip(low, high)) + "]"

    def __repr__(self) -> str:
        parts = [f"{count(len(self.touched), 'program')} {VERB[self.kind]} {count(self.first.size, 'element')}"]
        if self.shared:
            parts.append(f"{self.shared:,} by more than one program")
        if self.untouched:
            parts.append(f"{self.untouched:,} by none")
        if self.outside:
            parts.append(f"{self.outside:,} offsets outside")
        if self.note:
            parts.append(self.note)
        return f"<Owners {self.kernel} {self.arg}: {', '.join(parts)}>"

    def __str__(self) -> str:
        rows = [(short(p), len(offsets), f"{self.arg}{self.slices(p)}") for p, offsets in self.touched.items()]
        title = f"{self.kernel}: what each program {HEADING[self.kind]} {self.arg}"
        return table(title, ("program", "elements", "box"), rows, self.note, rest="program")


VERB = {"load": "load", "store": "store", "atomic": "update", "any": "touch"}
HEADING = {"load": "loads from", "store": "stores to", "atomic": "updates of", "any": "touches of"}


def _chosen(kind: str, access: Access) -> bool:
    return kind == "any" or (is_atomic(access) if kind == "atomic" else access.kind == kind)


def owners(of: Launch | Trace, arg: str, kind: str = "any") -> Owners:
    """Which program touches which elements of ``arg``.

    ``kind`` is ``"load"``, ``"store"``, ``"atomic"`` or ``"any"``. Raises ``KeyError`` for an argument
    that the launch does not have and ``ValueError`` for another kind.
    """
    launch = as_launch(of)
    if kind not in VERB:
        raise ValueError(f"kind must be one of {', '.join(map(repr, VERB))}; got {kind!r}")
    tensor = launch.arg(arg)
    view = tensor.offsets()
    valid, inverse = np.unique(view, return_inverse=True)
    inverse = inverse.reshape(view.shape)

    by_program: dict[Program, list[np.ndarray]] = {}
    for access in launch.accesses:
        if access.arg == arg and _chosen(kind, access) and access.mask.any():
            by_program.setdefault(access.program, []).append(access.touched.reshape(-1))
    touched = {p: np.unique(np.concatenate(found)).astype(np.int64) for p, found in by_program.items()}

    first = np.full(valid.size, -1, dtype=np.int64)
    counted = np.zeros(valid.size, dtype=np.int64)
    low, high = _reach(inverse, valid.size)
    boxes: dict[Program, Box] = {}
    outside: list[np.ndarray] = []
    for program, offsets in touched.items():
        inside = np.isin(offsets, valid)
        outside.append(offsets[~inside])
        at = np.searchsorted(valid, offsets[inside])
        counted[at] += 1
        first[at] = np.where(first[at] < 0, program_number(program, launch.grid), first[at])
        if at.size:
            boxes[program] = (
                tuple(int(i) for i in low[at].min(axis=0)),
                tuple(int(i) + 1 for i in high[at].max(axis=0)),
            )
    return Owners(
        kernel=launch.kernel,
        arg=arg,
        kind=kind,
        grid=launch.grid,
        first=first[inverse],
        count=counted[inverse],
        touched=touched,
        boxes=boxes,
        outside=int(np.unique(np.concatenate(outside)).size) if outside else 0,
        note=partial_note(launch),
    )


def _reach(inverse: np.ndarray, places: int) -> tuple[np.ndarray, np.ndarray]:
    """For every distinct offset the smallest and largest index on each axis: two of shape (places, axes)."""
    low = np.zeros((places, inverse.ndim), dtype=np.int64)
    high = np.zeros((places, inverse.ndim), dtype=np.int64)
    flat = inverse.reshape(-1)
    for axis, index in enumerate(np.indices(inverse.shape)):
        low[flat, axis] = np.iinfo(np.int64).max
        np.minimum.at(low[:, axis], flat, index.reshape(-1))
        np.maximum.at(high[:, axis], flat, index.reshape(-1))
    return low, high
