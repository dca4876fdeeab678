"""Which tile of the output each program computes, in the order in which programs are launched."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..trace.record import Launch, Trace, _freeze, _Record
from .lanes import as_launch
from .text import count, table

__all__ = ["PidOrder", "tile_order", "whole"]


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """``value`` as an int; ``TypeError`` for what is no whole number, ``ValueError`` for one out of range, by its name."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number; got {value!r}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}; got {number}")
    if most is not None and number > most:
        raise ValueError(f"{name} must be at most {most:,}; got {number:,}")
    return number


@dataclass(frozen=True, eq=False, repr=False)
class PidOrder(_Record):
    """The tile (pid_m, pid_n) of every program, program 0 first, on a matrix of num_pid_m × num_pid_n tiles.

    ``function``: who computed it. ``GROUP_M``: what it was given, or None. ``pid_m``, ``pid_n``: int32 [programs], as
    computed: a wrong function may leave tiles out, take some twice, or go outside.

    ``ValueError`` for sizes below 1, tiles that are no whole numbers of 32 bits, and arrays that are not of one length.
    """

    function: str
    num_pid_m: int
    num_pid_n: int
    pid_m: np.ndarray
    pid_n: np.ndarray
    GROUP_M: int | None = None

    def __post_init__(self) -> None:
        for name in ("num_pid_m", "num_pid_n"):
            object.__setattr__(self, name, whole(name, getattr(self, name), 1))
        for name in ("pid_m", "pid_n"):
            given = np.asarray(getattr(self, name)).reshape(-1)
            with np.errstate(invalid="ignore"):
                array = given.astype(np.int32)
            if not np.array_equal(array, given):
                wrong = given[array != given][0]
                raise ValueError(f"{name} must hold whole numbers of 32 bits; got {wrong}")
            object.__setattr__(self, name, array)
            _freeze(array)
        if self.pid_m.size != self.pid_n.size:
            raise ValueError(f"pid_m and pid_n must be of one length; got {self.pid_m.size:,} and {self.pid_n.size:,}")

    @property
    def programs(self) -> int:
        return int(self.pid_m.size)

    @property
    def tiles(self) -> int:
        return self.num_pid_m * self.num_pid_n

    @property
    def inside(self) -> np.ndarray:
        """Whether each program's tile exists: bool [programs]."""
        m, n = self.pid_m, self.pid_n
        return (m >= 0) & (m < self.num_pid_m) & (n >= 0) & (n < self.num_pid_n)

    @property
    def visits(self) -> np.ndarray:
        """How many programs compute each tile: int64 [num_pid_m, num_pid_n]."""
        flat = self.pid_m.astype(np.int64) * self.num_pid_n + self.pid_n
        return np.bincount(flat[self.inside], minlength=self.tiles).reshape(self.num_pid_m, self.num_pid_n)

    @property
    def unvisited(self) -> tuple[tuple[int, int], ...]:
        """Tiles that no program computes."""
        return _pairs(self.visits == 0)

    @property
    def repeated(self) -> tuple[tuple[int, int], ...]:
        """Tiles that more than one program computes."""
        return _pairs(self.visits > 1)

    @property
    def outside(self) -> tuple[int, ...]:
        """Programs whose tile does not exist."""
        return tuple(int(p) for p in np.flatnonzero(~self.inside))

    @property
    def one_to_one(self) -> bool:
        """Whether every tile has exactly one program, and every program a tile."""
        return bool(self.inside.all() and (self.visits == 1).all())

    def panels(self, start: int = 0, stop: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """What programs start … stop - 1 load: the distinct rows of tiles of A, and the distinct columns of tiles of B."""
        inside = self.inside[start:stop]
        return np.unique(self.pid_m[start:stop][inside]), np.unique(self.pid_n[start:stop][inside])

    def tile_loads(self, start: int, stop: int | None, k_tiles: int) -> int:
        """Tiles of A and B that programs start … stop - 1 need, each counted once; ``k_tiles``: tiles of a panel along K."""
        return sum(len(panel) for panel in self.panels(start, stop)) * whole("k_tiles", k_tiles, 0)

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with the order, in words; empty when it is one-to-one."""
        visits = self.visits
        never, twice, out = int((visits == 0).sum()), int((visits > 1).sum()), len(self.outside)
        said = (
            (never, f"{count(never, 'tile')} never visited"),
            (twice, f"{count(twice, 'tile')} visited more than once"),
            (out, f"{count(out, 'program')} outside"),
        )
        return tuple(words for n, words in said if n)

    @property
    def label(self) -> str:
        """The function, and GROUP_M where it took one."""
        return self.function if self.GROUP_M is None else f"{self.function}, GROUP_M = {self.GROUP_M}"

    def __repr__(self) -> str:
        state = ", ".join(self.faults) or "each visited once"
        return f"<PidOrder {self.label}: {self.num_pid_m}×{self.num_pid_n} tiles, {state}>"

    def __str__(self) -> str:
        if self.num_pid_n > 16 or self.num_pid_m > 16:
            return repr(self)
        cells: list[list[str]] = [["·"] * self.num_pid_n for _ in range(self.num_pid_m)]
        for pid in np.flatnonzero(self.inside):
            m, n = self.pid_m[pid], self.pid_n[pid]
            cells[m][n] = str(pid) if cells[m][n] == "·" else f"{cells[m][n]}+{pid}"
        rows = [[f"pid_m {m}", *row] for m, row in enumerate(cells)]
        headers = ["", *(f"pid_n {n}" for n in range(self.num_pid_n))]
        out = [f"{pid} → ({self.pid_m[pid]}, {self.pid_n[pid]})" for pid in self.outside[:8]]
        note = "; ".join(self.faults) + (f": {', '.join(out)}" if out else "")
        return table(f"{self.label}: the program of each tile", headers, rows, note)


def tile_order(of: Launch | Trace, arg: str | None = None) -> PidOrder:
    """The order in which the programs of a launch, as a GPU hands them out, store the tiles of a matrix.

    ``arg``: the argument stored to, a 2-D tensor; the only such one if left out. The tiles are those of the stores:
    block-shaped [BLOCK_M, BLOCK_N], at multiples of it. Programs that store nothing count as outside.

    ``ValueError`` when no argument fits, several do, tiles differ in shape, or one does not begin at a multiple of it.
    """
    launch = as_launch(of)
    stores = [a for a in launch.accesses if a.kind == "store" and (arg is None or a.arg == arg) and a.offsets.ndim == 2]
    names = list(dict.fromkeys(a.arg for a in stores if len(launch.arg(a.arg).shape) == 2))
    if len(names) != 1:
        what = f"to {', '.join(names)}: choose one with arg=" if names else f"no 2-D block to {arg or 'a 2-D tensor'}"
        raise ValueError(f"{launch.kernel} stores {what}")
    held = launch.arg(names[0])
    shapes = {a.offsets.shape for a in stores if a.arg == names[0]}
    if len(shapes) > 1:
        raise ValueError(f"{launch.kernel} stores tiles of {' and '.join(map(str, sorted(shapes)))} to {names[0]}; one shape is needed")
    (block,) = shapes
    gx, gy, gz = launch.grid
    tiles = np.full((2, gx * gy * gz), -1, dtype=np.int64)
    stride_m, stride_n = held.strides
    for a in stores:
        if a.arg != names[0] or not a.mask.any():
            continue
        x, y, z = a.program
        first = int(a.offsets.flat[0])
        row, column = (first // stride_m, first % stride_m // stride_n) if stride_m >= stride_n else (first % stride_n // stride_m, first // stride_n)
        if row % block[0] or column % block[1]:
            raise ValueError(f"program {a.program} stores a tile that begins at ({row}, {column}), no multiple of {block}")
        tiles[:, (z * gy + y) * gx + x] = row // block[0], column // block[1]
    num = [-(-n // b) for n, b in zip(held.shape, block)]
    return PidOrder(launch.kernel, num[0], num[1], tiles[0], tiles[1])


def _pairs(where: np.ndarray) -> tuple[tuple[int, int], ...]:
    return tuple((int(m), int(n)) for m, n in zip(*np.nonzero(where)))
