"""A launch's rows, for the fill picture: what each row's lanes held at one load, and what was stored for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..trace.record import Access, Launch
from .touches import linear

__all__ = ["MOST_LANES", "MOST_ROWS", "Row", "check_alike", "rows_of", "sites"]

MOST_ROWS, MOST_LANES = 64, 1024


@dataclass
class Row:
    """What one row of a block did: its lanes at the load in question, and what was stored for it."""

    program: int
    values: np.ndarray
    mask: np.ndarray
    offsets: np.ndarray
    result: np.ndarray
    expected: np.ndarray
    places: np.ndarray
    stored_lanes: np.ndarray


def sites(launch: Launch) -> list[tuple[str, int, str]]:
    """(function, line, argument) of the loads with masked lanes; of all loads where nothing is masked."""
    every: dict[tuple[str, int, str], bool] = {}
    for a in launch.accesses:
        if a.kind == "load":
            key = (a.function, a.line, a.arg)
            every[key] = every.get(key, False) or not bool(np.all(a.mask))
    if not every:
        raise ValueError(f"{launch.kernel} loads nothing, so no lane is filled")
    return [key for key, masked in every.items() if masked] or list(every)


def rows_of(launch: Launch, site: tuple[str, int, str], stored: str, expected: dict[int, float]) -> list[Row]:
    loads: dict[int, list[Access]] = {}
    stores: dict[int, list[Access]] = {}
    for a in launch.accesses:
        if a.kind == "load" and (a.function, a.line, a.arg) == site:
            loads.setdefault(linear(a.program, launch.grid), []).append(a)
        elif a.kind == "store" and a.arg == stored:
            stores.setdefault(linear(a.program, launch.grid), []).append(a)
    rows: list[Row] = []
    for program, accesses in sorted(loads.items()):
        missing = [a for a in (*accesses, *stores.get(program, [])) if a.values is None]
        if missing:
            raise ValueError(f"{missing[0]!r} kept no values: the blocks are too large to show")
        blocks = [(_by_row(a.values, a.mask), _by_row(a.mask, a.mask), _by_row(a.offsets, a.mask)) for a in accesses]
        many = blocks[0][0].shape[0]
        for i in range(many):
            values, mask, offsets = (np.concatenate([b[k][i] for b in blocks]) for k in range(3))
            if many > 1 and not mask.any():
                continue  # a row past the end of the tensor
            rows.append(Row(program, values, mask, offsets, *_stored_row(stores.get(program, []), i, many, expected)))
    if len(rows) > MOST_ROWS:
        raise ValueError(f"the launch has {len(rows)} rows; the fill picture shows at most {MOST_ROWS}, so take fewer")
    widest = max(r.values.size for r in rows)
    if widest > MOST_LANES:
        raise ValueError(f"a row has {widest} lanes; the fill picture shows at most {MOST_LANES}, so take narrower rows")
    if len({r.values.size for r in rows}) > 1:
        raise ValueError(f"line {site[1]} loads blocks of different sizes in different programs")
    return rows


def _by_row(values: Any, mask: np.ndarray) -> np.ndarray:
    """A block as rows × lanes."""
    block = np.broadcast_to(values, np.shape(mask))
    return block.reshape(-1, block.shape[-1]) if block.ndim > 1 else block.reshape(1, -1)


def _stored_row(stores: list[Access], i: int, many: int, expected: dict[int, float]) -> tuple[np.ndarray, ...]:
    """Values, right values, offsets and lanes of what was stored for row i of a program's block."""
    values, places, lanes, before = [], [], [], 0
    for a in stores:
        block = [_by_row(x, a.mask) for x in (a.values, a.mask, a.offsets)]
        if block[0].shape[0] != many:  # one value a row, in a block of its own
            block = [x.reshape(many, -1) for x in block] if block[0].size % many == 0 else block
        v, m, o = (x[i if x.shape[0] == many else 0] for x in block)
        values.append(v[m])
        places.append(o[m])
        lanes.append(np.flatnonzero(m) + before)
        before += m.size
    if not stores:
        return (np.zeros(0),) * 2 + (np.zeros(0, np.int64),) * 2
    where = np.concatenate(places)
    right = np.array([expected.get(int(o), math.nan) for o in where])
    return np.concatenate(values), right, where, np.concatenate(lanes)


def check_alike(rows: dict[float, list[Row]], site: tuple[str, int, str]) -> None:
    first, *others = rows.values()
    for other in others:
        same = len(other) == len(first) and all(
            a.program == b.program and np.array_equal(a.mask, b.mask) and np.array_equal(a.offsets, b.offsets) and np.array_equal(a.places, b.places)
            for a, b in zip(first, other)
        )
        if not same:
            raise ValueError(f"the runs differ in more than their fill: line {site[1]} does not touch the same elements in each")
