"""The fill picture: one kernel run with several values in its masked lanes, side by side, and the rows that they spoil.

Everything shown was recorded: the lanes' values are those of the trace, and a row is poisoned when what its program
stored differs from the reference. No reduction is computed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..trace.record import Access, Launch, Trace, trim
from .base import View, pack
from .fill_rows import Row, check_alike, rows_of, sites
from .values import number

__all__ = ["FillView", "fill", "samples"]


class FillView(View):
    """A panel for each fill: every row's lanes with the values they took, and its result against the reference."""

    module = "fill.js"
    parts = ("fill_model.js", "fill_panel.js")


def fill(
    make: Callable[[float], Any] | Mapping[float, Any],
    fills: Sequence[float] = (0.0, -math.inf, math.inf),
    *,
    reference: Any,
    out: str | None = None,
    rtol: float = 1e-4,
    atol: float = 1e-6,
) -> FillView:
    """Show the same launch with different fills in its masked lanes, and which rows each of them spoils.

    ``make``: takes a fill and returns the trace (or launch) of a run with it, ``lambda other: lab.trace(lambda:
    kernel[grid](..., other))``; or a dict fill -> trace of runs already made, and ``fills`` is not used. One program has one
    row, or a block of rows whose last axis is the row. ``reference``: the right result, an array in the shape of the argument
    that the kernel stores to (``out``, where there are several). A row is poisoned when one of its stored values is
    not within ``atol + rtol · |reference|``.

    ``TypeError`` for what is no trace, launch or callable; ``ValueError`` when the runs are not of one launch, when one
    ended by an error, when the reference has another shape, and above 64 rows or 1,024 lanes a row.
    """
    runs = _runs(make, fills)
    first = next(iter(runs.values()))
    stored = _stored_arg(first, out)
    expected = _expected(first, stored, reference)
    by_site = {site: {value: rows_of(launch, site, stored, expected) for value, launch in runs.items()} for site in sites(first)}
    most = max(len(own) for runs_rows in by_site.values() for own in runs_rows.values())
    panels: list[dict[str, Any]] = []
    loads = []
    rows: list[Row] = []
    for site, runs_rows in by_site.items():
        check_alike(runs_rows, site)
        own_rows = next(iter(runs_rows.values()))
        if len(own_rows) < most:
            continue  # such as a weight that is loaded once for a block of rows
        if not panels:
            rows = own_rows
            panels = [{"fill": _text(value), "values": [], **_results(own, rtol, atol)} for value, own in runs_rows.items()]
        loads.append(_load_data(first, site, own_rows))
        for panel, own in zip(panels, runs_rows.values()):
            panel["values"].append(pack(np.stack([r.values for r in own])))
    data = {
        "kernel": first.kernel,
        "grid": list(first.grid),
        "out": stored,
        "out_dtype": first.arg(stored).dtype,
        "programs": [r.program for r in rows],
        "loads": loads,
        "panels": panels,
        "first": np.cumsum([0, *(r.result.size for r in rows)]).tolist(),
        "expected": pack(np.concatenate([r.expected for r in rows])),
        "places": pack(np.concatenate([r.places for r in rows]).astype(np.int32)),
        "stored_lanes": pack(np.concatenate([r.stored_lanes for r in rows]).astype(np.int32)),
        "rtol": rtol,
        "atol": atol,
    }
    return FillView(data=data, text=_summary(data))


def _runs(make: Any, fills: Sequence[float]) -> dict[float, Launch]:
    if isinstance(make, Mapping):
        made = dict(make)
    elif callable(make):
        made = {value: make(value) for value in fills}
    else:
        raise TypeError(f"make is a {type(make).__name__}; it is a function that takes a fill and returns a trace, or a dict fill -> trace")
    if not made:
        raise ValueError("there is no run to show: fills is empty")
    runs = {}
    for value, run in made.items():
        launch = run.launch if isinstance(run, Trace) else run
        if not isinstance(launch, Launch):
            raise TypeError(f"the run with {_text(value)} gave a {type(run).__name__}; make must return what lab.trace(...) returns")
        if launch.error is not None:
            raise ValueError(f"the run with {_text(value)} ended by an error: {launch.error}")
        if launch.left_out:
            raise ValueError(f"the run with {_text(value)} has {launch.left_out} accesses that were not recorded; take fewer rows")
        runs[value] = launch
    kinds = {(launch.kernel, launch.grid) for launch in runs.values()}
    if len(kinds) > 1:
        raise ValueError("the runs are not of one launch: " + ", ".join(f"{k}{list(trim(g))}" for k, g in sorted(kinds)))
    return runs


def _stored_arg(launch: Launch, out: str | None) -> str:
    names = list(dict.fromkeys(a.arg for a in launch.accesses if a.kind == "store"))
    if not names:
        raise ValueError(f"{launch.kernel} stores nothing, so no fill can spoil anything")
    if out is not None and out not in names:
        raise ValueError(f"out is {out!r}; {launch.kernel} stores to {', '.join(names)}")
    if out is None and len(names) > 1:
        raise ValueError(f"{launch.kernel} stores to {', '.join(names)}: choose one with out=")
    return out or names[0]


def _expected(launch: Launch, stored: str, reference: Any) -> dict[int, float]:
    """The right value by offset of the output argument."""
    arg = launch.arg(stored)
    wanted = np.asarray(reference, dtype=np.float64)
    if wanted.shape != tuple(arg.shape):
        raise ValueError(f"reference has shape {wanted.shape}; {stored} has {tuple(arg.shape)}")
    return dict(zip(arg.offsets().reshape(-1).tolist(), wanted.reshape(-1).tolist()))


def _load_data(launch: Launch, site: tuple[str, int, str], rows: list[Row]) -> dict[str, Any]:
    function, line, arg = site
    held = launch.functions.get(function or launch.kernel)
    at = line - held.first_line if held else -1
    source = held.source.splitlines() if held else []
    return {
        "arg": arg,
        "dtype": launch.arg(arg).dtype,
        "line": line,
        "source": source[at].strip() if 0 <= at < len(source) else "",
        "lanes": int(rows[0].values.size),
        "mask": pack(np.stack([r.mask for r in rows])),
        "offsets": pack(np.stack([r.offsets for r in rows]).astype(np.int32)),
    }


def _results(rows: list[Row], rtol: float, atol: float) -> dict[str, Any]:
    seen = np.concatenate([r.result for r in rows]).astype(np.float64)
    right = np.concatenate([r.expected for r in rows])
    with np.errstate(all="ignore"):
        near = np.isfinite(seen) & np.isfinite(right) & (np.abs(seen - right) <= atol + rtol * np.abs(right))
        wrong = ~(near | (seen == right) | (np.isnan(seen) & np.isnan(right)))
    at = np.cumsum([0, *(r.result.size for r in rows)])
    bad = [bool(wrong[a:b].any()) for a, b in zip(at, at[1:])]
    kept = np.concatenate([r.result for r in rows])
    return {"result": pack(kept if kept.dtype.kind in "iuf" else seen), "wrong": pack(wrong), "bad": bad}


def _text(value: Any) -> str:
    """A fill as it is written: 0.0, -inf, inf."""
    return str(float(value)) if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool) else str(value)


def _summary(data: dict[str, Any]) -> str:
    rows = len(data["programs"])
    parts = []
    for panel in data["panels"]:
        bad = sum(panel["bad"])
        parts.append(f"{panel['fill']} poisons {'none' if not bad else 'all' if bad == rows else number(bad)}")
    return f"{data['kernel']} {rows} row{'s' * (rows != 1)} × {data['loads'][0]['lanes']} lanes: {', '.join(parts)}"


def _played(values: np.ndarray, other: float, block: int) -> Launch:
    """A softmax with one row a program, played in NumPy, whose masked lanes hold ``other``."""
    from .specimens import tensor

    rows, columns = values.shape
    lanes = np.arange(block, dtype=np.int64)
    accesses = []
    out = np.zeros_like(values)
    with np.errstate(all="ignore"):
        for row in range(rows):
            offsets, mask = row * columns + lanes, lanes < columns
            x = np.full(block, other, np.float32)
            x[:columns] = values[row]
            e = np.exp(x - x.max())
            y = e / e.sum()
            out[row] = y[:columns]
            accesses.append(Access("load", "x_ptr", (row, 0, 0), 6, offsets, mask, x, other=True))
            accesses.append(Access("store", "out_ptr", (row, 0, 0), 10, offsets, mask, y))
    args = (tensor("x_ptr", 0, values), tensor("out_ptr", 1, np.zeros_like(values), out))
    return Launch("softmax_kernel", (rows, 1, 1), args, accesses=tuple(accesses))


def samples() -> list[tuple[str, View]]:
    """Fill pictures of small and of wide rows, and of one where nothing is masked, on records made by hand."""

    def one(rows: int, columns: int, block: int, level: float) -> FillView:
        x = np.random.default_rng(3).normal(size=(rows, columns)).astype(np.float32) + np.float32(level)
        e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
        return fill(lambda other: _played(x, other, block), reference=e / e.sum(axis=1, keepdims=True))

    return [
        ("fill-softmax", one(6, 11, 16, 0.0)),
        ("fill-levels", one(6, 11, 16, 12.0)),
        ("fill-wide", one(12, 129, 256, 0.0)),
        ("fill-full", one(4, 16, 16, 0.0)),
    ]
