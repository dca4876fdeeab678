"""The roofline: what an op could reach at its arithmetic intensity, and what it does reach."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..bench.measurement import Measurement, Measurements, Roofs
from .base import View
from .chart import INK, QUIET, Picture, chart, gbps_text, legend, looks, quiet_grid

__all__ = ["RooflineView", "roofline", "samples"]


class RooflineView(Picture, View):
    """Intensity against rate under the measured roofs, and its text (``alt``)."""

    module = "chart.js"


LEGEND_LETTERS = 100
"""How many letters stand side by side in the wide picture's legend."""

ABOVE = 1.05
"""A rate so many times what the slope allows counts as above it."""


@dataclass(frozen=True)
class _Point:
    """``rate`` in FLOP/s, or None for what is only counted; ``place`` names the vertical it stands on."""

    name: str
    place: str
    intensity: float
    rate: float | None


def roofline(
    what: Measurements | Iterable[Measurement] | Mapping[str, tuple[float, float | None]] | Iterable[tuple[float, float]],
    roofs: Roofs | Measurements | None = None,
) -> RooflineView:
    """Show intensity (FLOP per byte) against rate (TFLOP/s) under the measured roofs.

    ``what``: measurements (the fastest rate of each op, dtype and implementation is shown), or ``{name: (FLOP per byte, FLOP/s)}``,
    or (FLOP per byte, FLOP/s) pairs. A rate of None stands for "not measured": then what the roof allows is marked.
    ``roofs``: where the roofs come from, by default the measurements themselves; for pairs, ``lab.recorded(op)`` will do.

    ``TypeError`` for other things; ``ValueError`` when the roofs are missing, nothing has bytes and operations, or a number is not positive.
    """
    items, labels, given = _items(what)
    source = roofs if roofs is not None else given
    ceilings = source.roofs if isinstance(source, Measurements) else source
    if isinstance(roofs, Measurements):
        labels = tuple(dict.fromkeys((*labels, *(f"roofs: {label}" for label in roofs.labels if label not in labels))))
    if ceilings is None or ceilings.copy is None or ceilings.matmul is None:
        raise ValueError("a roofline needs both measured roofs, copy and matmul: pass roofs=lab.recorded(op), or measurements that carry them")
    points = [_Point(*item) for item in items]
    for p in points:
        if not 0 < p.intensity < math.inf or (p.rate is not None and not 0 < p.rate < math.inf):
            raise ValueError(f"{p.name} has intensity {p.intensity} FLOP per byte and rate {p.rate} FLOP/s; both must be positive")
    if not points:
        raise ValueError("nothing to show: no measurement has both bytes and operations")
    styles = looks(list(dict.fromkeys(p.name for p in points)))

    def draw(figure: Figure, narrow: bool) -> None:
        ax = figure.subplots()
        _roofs(ax, ceilings, points, narrow)
        _points(ax, ceilings, points, styles)
        shown = [_in_legend(p) for p in points]
        fitting = max(1, min(4, LEGEND_LETTERS // max(map(len, shown))))
        legend(figure, [ax], 1 if narrow else fitting, first=shown)

    text = f"{', '.join(_said(p) for p in points)}; ridge {_ridge(ceilings):.0f} FLOP/byte; {'; '.join(labels)}".rstrip("; ")
    heights = (450, 340 + 21 * (len(styles) + 1))
    return chart(RooflineView, draw, heights, _says(points, ceilings), _alt(points, ceilings, labels), labels, text)


def _items(what: Any) -> tuple[list[tuple], tuple[str, ...], Roofs | None]:
    if isinstance(what, Mapping):
        return [(str(name), str(name), *_pair(pair)) for name, pair in what.items()], (), None
    if not isinstance(what, Iterable) or isinstance(what, str):
        raise TypeError(f"roofline takes measurements, pairs (FLOP per byte, FLOP/s), or a dict of such; got {type(what).__name__}")
    listed = list(what)
    if listed and not all(isinstance(m, Measurement) for m in listed):
        return [(f"point {i + 1}", f"point {i + 1}", *_pair(pair)) for i, pair in enumerate(listed)], (), None
    ms = what if isinstance(what, Measurements) else Measurements(tuple(listed))
    best: dict[tuple[str, str, str], Measurement] = {}
    for m in ms:
        key = (m.op, m.dtype, m.implementation)
        if m.intensity and m.tflops and (key not in best or m.tflops > (best[key].tflops or 0)):
            best[key] = m
    items = [
        (m.implementation, f"{m.op} {m.dtype}" if len(ms.dtypes) > 1 or len(ms.ops) > 1 else m.op, m.intensity, (m.tflops or 0) * 1e12)
        for m in best.values()
    ]
    return items, ms.labels, ms.roofs


def _pair(pair: Any) -> tuple[float, float | None]:
    try:
        intensity, rate = pair
        return float(intensity), None if rate is None else float(rate)
    except (TypeError, ValueError) as error:
        raise TypeError(f"a point is (FLOP per byte, FLOP/s), got {pair!r}") from error


def _ridge(roofs: Roofs) -> float:
    assert roofs.ridge is not None
    return roofs.ridge


def _allowed(intensity: float, roofs: Roofs) -> float:
    """FLOP/s that the roofs allow."""
    assert roofs.copy and roofs.matmul
    return min(intensity * roofs.copy.rate, roofs.matmul.rate)


def _roofs(ax: Axes, roofs: Roofs, points: list[_Point], narrow: bool) -> None:
    assert roofs.copy and roofs.matmul
    quiet_grid(ax)
    ridge = _ridge(roofs)
    low, high = min(p.intensity for p in points) / 3, max(ridge * 8, max(p.intensity for p in points) * 3)
    lowest = min(min(p.rate or math.inf, _allowed(p.intensity, roofs)) for p in points)
    bottom, top = min(lowest, _allowed(low, roofs)) / 2e12, roofs.matmul.rate * 4e-12
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(low, high)
    ax.set_ylim(bottom, top)
    line = [low, ridge, high]
    copy, peak = f"copy {gbps_text(roofs.copy.rate)}", _rate_text(roofs.matmul.rate)
    heights = [_allowed(x, roofs) / 1e12 for x in line]
    label = f"measured: {copy}, matmul {peak}" if narrow else "measured roofs"
    ax.plot(line, heights, color=INK, linewidth=1.8, zorder=2, label=label)
    ax.fill_between(line, heights, top, facecolor="#f4f5f7", hatch="\\\\\\", edgecolor="#e3e6ea", linewidth=0, zorder=0)
    ax.plot([ridge] * 2, [bottom, roofs.matmul.rate / 1e12], color=QUIET, linewidth=0.9, linestyle=(0, (2, 3)), zorder=1)
    note = {"textcoords": "offset points", "fontsize": 9}
    ax.annotate(f"ridge {ridge:.0f} FLOP/byte", (ridge, bottom), xytext=(5, 8), rotation=90, va="bottom", color=QUIET, **note)
    if not narrow:
        flat = (high, roofs.matmul.rate / 1e12)
        ax.annotate(f"{roofs.matmul.what}, {peak}", flat, xytext=(-4, 4), ha="right", va="bottom", **note)
        middle = math.sqrt(low * ridge)
        slope = (middle, _allowed(middle, roofs) / 1e12)
        ax.annotate(f"{roofs.copy.what}, {gbps_text(roofs.copy.rate)}", slope, xytext=(7, -3), ha="left", va="top", **note)
    ax.set_xlabel("arithmetic intensity, FLOP per byte")
    ax.set_ylabel("TFLOP/s")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()


def _points(ax: Axes, roofs: Roofs, points: list[_Point], styles: dict[str, tuple]) -> None:
    named: set[str] = set()
    shown: set[str] = set()
    sizes = [max(5.0, 12.0 - 3.2 * i) for i in range(len(styles))]
    for i, p in enumerate(points):
        color, marker, _ = styles[p.name]
        allowed = _allowed(p.intensity, roofs)
        rate = p.rate or allowed
        ax.plot([p.intensity] * 2, [ax.get_ylim()[0], allowed / 1e12], color=QUIET, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1)
        # those at one place lie over each other: the first drawn is the largest, so that each still shows
        size = sizes[list(styles).index(p.name)] if p.place != p.name else 8
        ax.plot(
            [p.intensity], [rate / 1e12], linestyle="none", marker=marker, color=color, markersize=size, zorder=3 + i,
            markerfacecolor=color if p.rate else "white", markeredgecolor="white" if p.rate else color, markeredgewidth=0.7 if p.rate else 1.8,
            label=None if p.name in named else _in_legend(p),
        )
        named.add(p.name)
        if p.place not in shown and p.place != p.name:
            lowest = min(q.rate or _allowed(q.intensity, roofs) for q in points if q.place == p.place)
            ax.annotate(p.place, (p.intensity, lowest / 1e12), xytext=(7, -4), textcoords="offset points", va="top", fontsize=9)
            shown.add(p.place)


def _in_legend(p: _Point) -> str:
    return p.name if p.rate else f"{p.name} (what the roof allows)"


def _rate_text(rate: float) -> str:
    return f"{rate / 1e12:.3g} TFLOP/s" if rate >= 1e12 else f"{rate / 1e9:.3g} GFLOP/s"


def _said(p: _Point) -> str:
    name = p.name if p.place == p.name else f"{p.place} {p.name}"
    return f"{name} at {p.intensity:.3g} FLOP/byte" + (f": {_rate_text(p.rate)}" if p.rate else "")


def _says(points: list[_Point], roofs: Roofs) -> str:
    ridge = _ridge(roofs)
    left = [p for p in points if p.intensity < ridge]
    where = f"of the ridge ({ridge:.0f} FLOP per byte)"
    above = [p for p in left if p.rate and p.rate > ABOVE * _allowed(p.intensity, roofs)]
    if above:
        these = "All lie" if len(above) == len(points) else f"{len(above)} of {len(points)} points lie{'s' if len(above) == 1 else ''}"
        return f"{these} above the slope, left {where}: faster than memory could deliver such bytes, so a cache served a part of them."
    if len(left) == len(points):
        return f"All lie left {where}: moving the bytes takes longer than computing."
    if left:
        return f"{len(left)} of {len(points)} points lie left {where}, where moving the bytes takes longer than computing."
    return f"All lie right {where}: computing takes longer than moving the bytes."


def _alt(points: list[_Point], roofs: Roofs, labels: tuple[str, ...]) -> str:
    assert roofs.copy and roofs.matmul
    parts = [f"Roofline, rate against arithmetic intensity, both logarithmic: the measured {roofs.copy.what} ({gbps_text(roofs.copy.rate)})"]
    parts[0] += f" meets the measured {roofs.matmul.what} ({_rate_text(roofs.matmul.rate)}) at the ridge, {_ridge(roofs):.0f} FLOP per byte."
    for p in points:
        allowed = _allowed(p.intensity, roofs)
        share = f", {p.rate / allowed:.2f} of what the roof allows" if p.rate else f": the roof allows {_rate_text(allowed)}"
        parts.append(f"{_said(p)}{share}.")
    return " ".join(parts + ([f"From {'; '.join(labels)}."] if labels else []))


def samples() -> list[tuple[str, RooflineView]]:
    """Views of made-up measurements, for screenshots and tests."""
    from .bandwidth import _made_up

    made = _made_up()
    counted = {"op by op": (0.4, None), "fused": (1.2, 1.9e12), "matmul": (900.0, 1.8e14)}
    return [("roofline", roofline(made)), ("roofline-points", roofline(counted, roofs=made))]
