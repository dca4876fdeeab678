"""The K loop of a matmul, counted: what each program streams, what is reused, and FLOP per byte of its tile."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..trace.record import Access, Launch, Program, Trace
from .lanes import as_launch, partial_note
from .product_result import KStep, Operand, OutputTile, TileReuse
from .product_roles import Product, Role, find_product, index_of_lanes
from .text import count

__all__ = ["tile_reuse"]


def tile_reuse(of: Launch | Trace) -> TileReuse:
    """Count the K loop of a matmul launch: per program K steps, bytes, outputs, FLOP and FLOP per byte; loads an element.

    Roles are found by ``find_product``, which raises ``ValueError`` for a launch that is no product. Everything else
    is counted from the recorded accesses, lane by lane; nothing is assumed about which tile a program should load.
    A K step is one load of A with one load of B in their order, or, where a program does not load both equally often,
    all loads until one of the same source lines comes again. What is loaded after a store of C belongs to the next tile.
    """
    launch = as_launch(of)
    product = find_product(launch)
    a, b, c = (_Side(launch, role) for role in (product.a, product.b, product.c))
    tiles: list[OutputTile] = []
    strange = 0
    done: dict[Program, int] = {}
    for program, stores, steps in _segments(launch, product):
        made = [_step(launch, a, b, c, ours, stores) for ours in steps]
        strange += any(s is None for s, _ in made)
        tiles.append(_tile(launch, c, program, done.get(program, 0), stores, [s or rest for s, rest in made]))
        done[program] = done.get(program, 0) + 1
    note = [partial_note(launch)] if partial_note(launch) else []
    if strange:
        note.append(f"{count(strange, 'tile')} with blocks of A and B that no dot takes, whose FLOP are not counted")
    return TileReuse(launch.kernel, launch.grid, product, a.operand, b.operand, tuple(tiles), "; ".join(note))


class _Side:
    """The accesses of A, B or C: which programs load each element, and how their blocks lie on the matrix."""

    def __init__(self, launch: Launch, role: Role) -> None:
        arg = launch.arg(role.arg)
        self.role, self.extent, self.itemsize = role, arg.extent, arg.itemsize
        self.turned: dict[tuple, bool] = {}
        by_program: dict[Program, list[np.ndarray]] = {}
        for access in launch.accesses:
            if access.arg == role.arg and access.kind == "load":
                by_program.setdefault(access.program, []).append(self.inside(access))
        own = [np.unique(np.concatenate(found)) for found in by_program.values()]
        self.offsets, self.counts = np.unique(np.concatenate(own) if own else np.zeros(0, np.int64), return_counts=True)
        loads = sum(o.size for found in by_program.values() for o in found)
        most = int(self.counts.max(initial=0))
        self.operand = Operand(role.arg, role.shape, int(self.offsets.size), loads, most, loads * self.itemsize)

    def inside(self, *accesses: Access) -> np.ndarray:
        """The offsets of the lanes that are on, those that no element can have left out."""
        touched = [a.offsets.ravel() if a.mask.all() else a.touched.ravel() for a in accesses]
        flat = touched[0] if len(touched) == 1 else np.concatenate([*touched, np.zeros(0, np.int64)])
        if flat.size and (flat.min() < 0 or flat.max() >= self.extent):
            flat = flat[(flat >= 0) & (flat < self.extent)]
        return flat

    def count(self, accesses: list[Access]) -> tuple[int, tuple[int, int]]:
        """Bytes that these load, and the fewest and most programs that load one of the elements."""
        touched = self.inside(*accesses)
        if not touched.size:
            return 0, (0, 0)
        programs = self.counts[np.searchsorted(self.offsets, touched)]
        return int(touched.size) * self.itemsize, (int(programs.min()), int(programs.max()))

    def block(self, access: Access) -> np.ndarray | None:
        """Which lanes of a block are on, the matrix's rows down and its columns across; None for three or more axes.

        A block that the kernel transposes after loading it stands here as the matrix has it: which of its axes goes
        along the rows is read from the offsets of the first access of that line that shows it.
        """
        mask = np.asarray(access.mask, bool)
        shape = tuple(n for n in mask.shape if n != 1) if mask.ndim > 2 else mask.shape
        if len(shape) > 2:
            return None
        site = (access.function, access.line, shape)
        if len(shape) < 2:  # a scalar, or part of one row or column
            flat = mask.reshape(-1)
            if site not in self.turned and flat.sum() > 1:
                rows, _ = index_of_lanes(self.role, np.asarray(access.offsets).reshape(-1)[flat])
                self.turned[site] = bool(np.ptp(rows))
            return flat.reshape(-1, 1) if self.turned.get(site) else flat.reshape(1, -1)
        if site not in self.turned:
            turned = _turned(self.role, mask.reshape(shape), np.asarray(access.offsets).reshape(shape))
            if turned is not None:
                self.turned[site] = turned
        return mask.reshape(shape).T if self.turned.get(site) else mask.reshape(shape)


def _turned(role: Role, mask: np.ndarray, offsets: np.ndarray) -> bool | None:
    """Whether a block's first axis goes along the columns of the matrix; None when its lanes do not show it."""
    rows, columns = index_of_lanes(role, offsets)
    pairs = (mask[:-1] & mask[1:], mask[:, :-1] & mask[:, 1:])
    row_down, column_down = (bool((np.diff(i, axis=0) != 0)[pairs[0]].any()) for i in (rows, columns))
    row_across, column_across = (bool((np.diff(i, axis=1) != 0)[pairs[1]].any()) for i in (rows, columns))
    if not (row_down or column_down or row_across or column_across):
        return None
    return (column_down and not row_down) or (row_across and not column_across)


def _segments(launch: Launch, product: Product) -> Iterator[tuple[Program, list[int], list[list[int]]]]:
    """For every program, in order of first access, and every tile of C: the places of its stores and of each step's loads."""
    by_program: dict[Program, list[int]] = {}
    for place, access in enumerate(launch.accesses):
        if (access.arg in (product.a.arg, product.b.arg) and access.kind == "load") or (access.arg == product.c.arg and access.writes):
            by_program.setdefault(access.program, []).append(place)
    for program, places in by_program.items():
        loads: list[int] = []
        stores: list[int] = []
        for place in places:
            if launch.accesses[place].writes:
                stores.append(place)
                continue
            if stores:
                yield program, stores, _split(launch, product, loads)
                loads, stores = [], []
            loads.append(place)
        yield program, stores, _split(launch, product, loads)


def _split(launch: Launch, product: Product, loads: list[int]) -> list[list[int]]:
    """The loads of one tile of C in K steps."""
    of_a = [p for p in loads if launch.accesses[p].arg == product.a.arg]
    of_b = [p for p in loads if launch.accesses[p].arg == product.b.arg]
    if len(of_a) == len(of_b):
        return [list(pair) for pair in zip(of_a, of_b)]
    steps: list[list[int]] = []
    seen: set[tuple] = set()
    for place in loads:
        access = launch.accesses[place]
        site = (access.arg, access.function, access.line)
        if site in seen or not steps:
            steps.append([])
            seen = set()
        steps[-1].append(place)
        seen.add(site)
    return steps


def _step(launch: Launch, a: _Side, b: _Side, c: _Side, places: list[int], stores: list[int]) -> tuple[KStep | None, KStep]:
    """The step; None in front of one without FLOP when its blocks fit no dot."""
    of_a = tuple(p for p in places if launch.accesses[p].arg == a.role.arg)
    of_b = tuple(p for p in places if launch.accesses[p].arg == b.role.arg)
    bytes_a, programs_a = a.count([launch.accesses[p] for p in of_a])
    bytes_b, programs_b = b.count([launch.accesses[p] for p in of_b])
    work = None
    if len(of_a) == len(of_b) == 1:
        stored = c.block(launch.accesses[stores[0]]) if len(stores) == 1 else None
        work = _dot(a.block(launch.accesses[of_a[0]]), b.block(launch.accesses[of_b[0]]), stored)
    made = KStep(of_a, of_b, bytes_a, bytes_b, *(work or (0, 0)), programs_a, programs_b)
    return (made if work else None), made


def _dot(a: np.ndarray | None, b: np.ndarray | None, stored: np.ndarray | None) -> tuple[int, int] | None:
    """FLOP of the dot of two blocks, and of those between lanes that are on whose result is stored; None if they do not fit."""
    if a is None or b is None or a.shape[1] != b.shape[0]:
        return None
    flop = 2 * a.shape[0] * a.shape[1] * b.shape[1]
    if stored is None or stored.shape != (a.shape[0], b.shape[1]) or stored.all():
        return flop, flop if a.all() and b.all() else 2 * int((a.sum(0, dtype=np.int64) * b.sum(1, dtype=np.int64)).sum())
    return flop, 2 * int((a.astype(np.float32) @ b.astype(np.float32))[stored].sum(dtype=np.float64))


def _tile(launch: Launch, c: _Side, program: Program, nth: int, stores: list[int], steps: list[KStep]) -> OutputTile:
    accesses = [launch.accesses[p] for p in stores]
    touched = c.inside(*accesses)
    box = None
    if touched.size:
        rows, columns = index_of_lanes(c.role, touched)
        box = ((int(rows.min()), int(rows.max()) + 1), (int(columns.min()), int(columns.max()) + 1))
    block = c.block(accesses[0]) if len(accesses) == 1 else None
    shape = (0, 0) if block is None else block.shape
    return OutputTile(program, nth, tuple(stores), shape, int(touched.size), int(touched.size) * c.itemsize, box, tuple(steps))  # type: ignore[arg-type]
