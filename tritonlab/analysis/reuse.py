"""How often the same element is loaded, and what a cache would have to fetch."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np

from ..trace.record import Launch, Trace, _Record
from .lanes import as_launch, partial_note
from .text import table

__all__ = ["ArgReuse", "Reuse", "element_reuse", "lru_fetches"]


@dataclass(frozen=True)
class ArgReuse:
    """Loads of one argument. ``elements``: distinct elements loaded; ``loads``: lanes that loaded them;
    ``most``: loads of the element loaded most often; ``programs``: distinct programs that load the element
    with the most of them; ``by_several``: elements that more than one program loads."""

    arg: str
    elements: int
    loads: int
    most: int
    programs: int
    by_several: int

    @property
    def average(self) -> float:
        """Loads per distinct element; 0 when nothing was loaded."""
        return self.loads / self.elements if self.elements else 0.0


@dataclass(frozen=True, eq=False, repr=False)
class Reuse(_Record):
    """How often each loaded argument's elements are loaded, by how many programs."""

    kernel: str
    args: tuple[ArgReuse, ...]
    note: str = ""

    def arg(self, name: str) -> ArgReuse:
        """The row of one argument; ``KeyError`` names those that are loaded."""
        for a in self.args:
            if a.arg == name:
                return a
        raise KeyError(f"{self.kernel} loads no argument {name!r}; it loads {', '.join(a.arg for a in self.args)}")

    def __repr__(self) -> str:
        parts = [f"{a.arg} {a.average:.2f} loads an element" for a in self.args] or ["no loads"]
        if self.note:
            parts.append(self.note)
        return f"<Reuse {self.kernel}: {', '.join(parts)}>"

    def __str__(self) -> str:
        rows = [(a.arg, a.elements, a.loads, a.average, a.most, a.by_several, a.programs) for a in self.args]
        headers = ("argument", "elements", "loads", "loads / element", "most", "by several programs", "most programs")
        return table(f"{self.kernel}: how often elements are loaded", headers, rows, self.note)


def element_reuse(of: Launch | Trace) -> Reuse:
    """How often each element of each loaded argument is loaded, and by how many programs."""
    launch = as_launch(of)
    rows = []
    for arg in launch.args:
        loads = [a for a in launch.accesses if a.arg == arg.name and a.kind == "load" and a.mask.any()]
        if not loads:
            continue
        _, times = np.unique(np.concatenate([a.touched.reshape(-1) for a in loads]), return_counts=True)
        by_program: dict[tuple, list[np.ndarray]] = {}
        for a in loads:
            by_program.setdefault(a.program, []).append(a.touched.reshape(-1))
        own = [np.unique(np.concatenate(found)) for found in by_program.values()]
        _, programs = np.unique(np.concatenate(own), return_counts=True)
        rows.append(
            ArgReuse(
                arg=arg.name,
                elements=int(times.size),
                loads=int(times.sum()),
                most=int(times.max()),
                programs=int(programs.max()),
                by_several=int((programs > 1).sum()),
            )
        )
    return Reuse(launch.kernel, tuple(rows), partial_note(launch))


def lru_fetches(keys: Iterable[Hashable], capacity: int) -> int:
    """How many of these requests, in order, a cache of ``capacity`` entries would have to fetch.

    The cache keeps the entries used last. Keys may be anything hashable: elements, lines, whole panels of a
    matrix. ``ValueError`` for a negative capacity.
    """
    if capacity < 0:
        raise ValueError(f"capacity must be at least 0; got {capacity}")
    held: OrderedDict[Hashable, None] = OrderedDict()
    fetched = 0
    for key in keys:
        if key in held:
            held.move_to_end(key)
            continue
        fetched += 1
        held[key] = None
        if len(held) > capacity:
            held.popitem(last=False)
    return fetched
