"""Bytes that the programs load and store, against the ideal: each input once, each output once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..trace.record import Launch, TensorArg, Trace, _Record
from .lanes import Memory, as_launch, is_atomic, partial_note, valid_offsets
from .text import table

__all__ = ["ArgTraffic", "Traffic", "bytes_moved"]


@dataclass(frozen=True)
class ArgTraffic:
    """Bytes of one argument. ``unique_loaded`` and ``unique_stored`` count an element once however many lanes
    touch it; ``ideal`` is the view's size in memory, once if the kernel loads it and once if it writes it."""

    arg: str
    dtype: str
    loaded: int
    stored: int
    unique_loaded: int
    unique_stored: int
    ideal: int

    @property
    def moved(self) -> int:
        return self.loaded + self.stored

    @property
    def redundancy(self) -> float:
        """Bytes moved over the ideal; 1 when both are 0."""
        return _ratio(self.moved, self.ideal)


@dataclass(frozen=True, eq=False, repr=False)
class Traffic(_Record):
    """Bytes between programs and memory, as the kernel asks for them (a cache may serve some of them).

    A lane that is on moves one element; a lane of an atomic loads and stores one. The totals count
    memory that several arguments share once in ``unique`` and ``ideal``.
    """

    kernel: str
    args: tuple[ArgTraffic, ...]
    unique: int
    ideal: int
    note: str = ""

    @property
    def loaded(self) -> int:
        return sum(a.loaded for a in self.args)

    @property
    def stored(self) -> int:
        return sum(a.stored for a in self.args)

    @property
    def moved(self) -> int:
        return self.loaded + self.stored

    @property
    def redundancy(self) -> float:
        """Bytes moved over the ideal: 1.0 is each input read once and each output written once."""
        return _ratio(self.moved, self.ideal)

    def arg(self, name: str) -> ArgTraffic:
        """The row of one argument; ``KeyError`` names those there are."""
        for a in self.args:
            if a.arg == name:
                return a
        raise KeyError(f"{self.kernel} has no tensor argument {name!r}; it has {', '.join(a.arg for a in self.args)}")

    def __repr__(self) -> str:
        parts = [
            f"{self.loaded:,} bytes loaded, {self.stored:,} stored",
            f"ideal {self.ideal:,} ({self.redundancy:.2f} × the ideal)",
        ]
        if self.note:
            parts.append(self.note)
        return f"<Traffic {self.kernel}: {', '.join(parts)}>"

    def __str__(self) -> str:
        rows = [(a.arg, a.dtype, a.loaded, a.stored, a.ideal, a.redundancy) for a in self.args]
        last = ("all", "", self.loaded, self.stored, self.ideal, self.redundancy)
        notes = [self.note] if self.note else []
        if self.ideal != sum(a.ideal for a in self.args):
            notes.insert(0, "arguments overlap in memory: their ideal counts once in the last row")
        headers = ("argument", "dtype", "loaded", "stored", "ideal", "moved / ideal")
        return table(f"{self.kernel}: bytes moved", headers, rows, "\n".join(notes), last)


def bytes_moved(of: Launch | Trace) -> Traffic:
    """Bytes that a launch's programs load and store, argument by argument, against the ideal.

    The ideal reads each element of an input once and writes each element of an output once: an argument is
    an input if a load touches it, an output if a store or an atomic does. A broadcast (stride 0) element is
    one element.
    """
    launch = as_launch(of)
    memory = Memory.of(launch)
    rows: list[ArgTraffic] = []
    touched: dict[tuple, dict[str, list[np.ndarray]]] = {}
    whole: dict[tuple, dict[str, list[np.ndarray]]] = {}
    for arg in launch.args:
        loads, stores = _offsets(launch, arg, reads=True), _offsets(launch, arg, reads=False)
        is_input = any(a.kind == "load" and a.arg == arg.name and a.mask.any() for a in launch.accesses)
        valid = valid_offsets(arg)
        key = memory.keys[arg.name]
        for side, offsets, wanted in (("load", loads, is_input), ("store", stores, bool(stores.size))):
            held = touched.setdefault(key, {}).setdefault(side, [])
            held.append(memory.places(arg.name, np.unique(offsets)).reshape(-1))
            if wanted:
                whole.setdefault(key, {}).setdefault(side, []).append(memory.places(arg.name, valid).reshape(-1))
        rows.append(
            ArgTraffic(
                arg=arg.name,
                dtype=arg.dtype,
                loaded=int(loads.size) * arg.itemsize,
                stored=int(stores.size) * arg.itemsize,
                unique_loaded=int(np.unique(loads).size) * arg.itemsize,
                unique_stored=int(np.unique(stores).size) * arg.itemsize,
                ideal=int(valid.size) * arg.itemsize * (int(is_input) + int(stores.size > 0)),
            )
        )
    unique, ideal = _total(memory, touched), _total(memory, whole)
    return Traffic(launch.kernel, tuple(rows), unique, ideal, partial_note(launch))


def _offsets(launch: Launch, arg: TensorArg, reads: bool) -> np.ndarray:
    found = [
        a.touched.reshape(-1)
        for a in launch.accesses
        if a.arg == arg.name and (is_atomic(a) or (a.kind == "load") == reads)
    ]
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)


def _total(memory: Memory, held: dict[tuple, dict[str, list[np.ndarray]]]) -> int:
    """Bytes of the distinct units in each storage, those loaded and those stored counted apart."""
    return sum(
        int(np.unique(np.concatenate(places)).size) * memory.units[key]
        for key, sides in held.items()
        for places in sides.values()
    )


def _ratio(moved: int, ideal: int) -> float:
    if ideal:
        return moved / ideal
    return 1.0 if not moved else float("inf")
