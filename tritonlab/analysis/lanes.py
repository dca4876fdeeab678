"""What the analyses share: the lanes of a launch as flat arrays, and where they lie in memory."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np

from ..trace.record import Access, Launch, Program, TensorArg, Trace

__all__ = ["Lanes", "Memory", "as_launch", "index_of", "line_text", "partial_note", "program_number", "valid_offsets"]


def as_launch(of: Launch | Trace) -> Launch:
    """The launch itself, or the only launch of a trace. ``TypeError`` for anything else."""
    if isinstance(of, Launch):
        return of
    if isinstance(of, Trace):
        return of.launch
    raise TypeError(f"an analysis takes a Launch, or a Trace with one launch; got {type(of).__name__}")


def program_number(program: Program, grid: Program) -> int:
    """A program's place in its grid, axis 0 fastest: the order in which a GPU hands programs out."""
    return program[0] + grid[0] * (program[1] + grid[1] * program[2])


def partial_note(launch: Launch) -> str:
    """Why a result from this launch is partial, or ``""``."""
    reasons = []
    if launch.left_out:
        reasons.append(f"{launch.left_out:,} more access{'es were' if launch.left_out > 1 else ' was'} not recorded")
    if launch.error:
        reasons.append("the launch ended by an error")
    return "partial: " + " and ".join(reasons) if reasons else ""


def line_text(launch: Launch, function: str, line: int) -> str:
    """The learner's source line, stripped; ``""`` when the launch does not hold it."""
    held = launch.functions.get(function or launch.kernel)
    if held is None:
        return ""
    lines = held.source.splitlines()
    at = line - held.first_line
    return lines[at].strip() if 0 <= at < len(lines) else ""


def valid_offsets(arg: TensorArg) -> np.ndarray:
    """The distinct valid offsets of a view, sorted: its elements in memory. A broadcast element counts once."""
    return np.unique(arg.offsets())


def index_of(arg: TensorArg, offset: int) -> tuple[int, ...] | None:
    """The first index of the view (row-major) that lies at this offset; None when there is none."""
    hits = np.flatnonzero(arg.offsets().reshape(-1) == offset)
    if not hits.size:
        return None
    return tuple(int(i) for i in np.unravel_index(int(hits[0]), arg.shape)) if arg.shape else ()


@dataclass(frozen=True)
class Memory:
    """Where the elements of a launch's arguments lie, so that overlapping arguments can be compared.

    Arguments of one ``storage`` share a numbering in units that divide the item sizes of all of them.
    An argument that states no ``storage_size`` (a record made by hand) counts as alone in its storage.
    """

    keys: dict[str, tuple]
    units: dict[tuple, int]
    args: dict[str, TensorArg]

    @classmethod
    def of(cls, launch: Launch) -> Memory:
        keys: dict[str, tuple] = {}
        units: dict[tuple, int] = {}
        for arg in launch.args:
            key = ("storage", arg.storage) if arg.storage_size else ("alone", arg.name)
            keys[arg.name] = key
            units[key] = gcd(units.get(key, 0), arg.itemsize)
        return cls(keys, units, {arg.name: arg for arg in launch.args})

    def places(self, name: str, offsets: np.ndarray) -> np.ndarray:
        """Units that the elements at these offsets occupy: shape (len(offsets), units an element)."""
        arg = self.args[name]
        wide = arg.itemsize // self.units[self.keys[name]]
        start = (offsets.astype(np.int64) + arg.storage_offset) * wide
        return start[:, None] + np.arange(wide, dtype=np.int64)

    def groups(self) -> dict[tuple, list[str]]:
        """Argument names by the storage that they share."""
        found: dict[tuple, list[str]] = {}
        for name, key in self.keys.items():
            found.setdefault(key, []).append(name)
        return found


@dataclass(frozen=True)
class Lanes:
    """The lanes that are on, of many accesses, flat and in order: one entry a lane and unit of memory."""

    place: np.ndarray
    access: np.ndarray
    offset: np.ndarray
    program: np.ndarray
    writes: np.ndarray
    atomic: np.ndarray

    @classmethod
    def of(cls, launch: Launch, memory: Memory, names: list[str]) -> Lanes:
        columns: list[list[np.ndarray]] = [[], [], [], [], [], []]
        for position, access in enumerate(launch.accesses):
            if access.arg not in names:
                continue
            offsets = access.touched.reshape(-1).astype(np.int64)
            places = memory.places(access.arg, offsets)
            n = places.size
            number = program_number(access.program, launch.grid)
            filled = (
                places.reshape(-1),
                np.full(n, position, dtype=np.int64),
                np.repeat(offsets, places.shape[1]),
                np.full(n, number, dtype=np.int64),
                np.full(n, access.writes),
                np.full(n, is_atomic(access)),
            )
            for column, values in zip(columns, filled):
                column.append(values)
        kinds = (np.int64, np.int64, np.int64, np.int64, np.bool_, np.bool_)
        return cls(*(np.concatenate(c) if c else np.empty(0, dtype=k) for c, k in zip(columns, kinds)))


def is_atomic(access: Access) -> bool:
    """Whether an access is an atomic operation."""
    return access.kind.startswith("atomic")
