"""The bandwidth chart: GB/s against size, under the roof that a copy reaches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..bench.measurement import Measurement, Measurements, Origin, Roof, Roofs, Timing
from .base import View
from .chart import INK, SHADE, Picture, chart, gbps_text, legend, looks, quiet_grid, si_bytes

__all__ = ["BandwidthView", "bandwidth", "samples"]

AXES = ("elements", "bytes", "rows", "columns", "shape")
LAUNCH_BOUND = 2.0
"""A call is launch-bound while it takes less than this many times the smallest launch: most of its time is fixed cost."""
_MOST_PANELS = 6


class BandwidthView(Picture, View):
    """GB/s against size for several implementations, and its text (``alt``)."""

    module = "chart.js"


@dataclass(frozen=True)
class _Panel:
    """One op and dtype: for each implementation its (position, measurement) in order, and the launch-bound part of the axis."""

    title: str
    axis: str
    series: dict[str, list[tuple[float, Measurement]]]
    shapes: tuple[tuple[int, ...], ...]
    launch_bound: tuple[float, float] | None


def bandwidth(measurements: Measurements | Iterable[Measurement], x: str | None = None) -> BandwidthView:
    """Show GB/s against size, a panel for each op and dtype, a line for each implementation.

    ``x``: what the axis counts, "elements", "bytes" (moved), "rows", "columns" or "shape" (one place for each shape, no
    line); by default what the shapes vary in. The line "copy" is the measured roof; grey marks where more than half of the
    time is that of the smallest launch. Thin bars are the spread, where it is wide enough to be seen.

    ``TypeError`` for other things than measurements; ``ValueError`` when there are none with known bytes, too
    many panels, or for an axis that the shapes do not have.
    """
    if not isinstance(measurements, Iterable):
        raise TypeError(f"bandwidth takes Measurements, such as lab.recorded(...) gives; it got a {type(measurements).__name__}")
    ms = measurements if isinstance(measurements, Measurements) else Measurements(tuple(measurements))
    for m in ms:
        if not isinstance(m, Measurement):
            raise TypeError(f"bandwidth takes Measurements, such as lab.recorded(...) gives; it got a {type(m).__name__}")
    known = Measurements(tuple(m for m in ms if m.bytes), ms.roofs)
    if not known.items:
        raise ValueError("none of the measurements has known bytes, so there is no bandwidth to show (measure with cost=(bytes, flops))")
    if x is not None and x not in AXES:
        raise ValueError(f"x is {x!r}; it can be {', '.join(map(repr, AXES))}")
    keys = list(dict.fromkeys((m.op, m.dtype) for m in known))
    if len(keys) > _MOST_PANELS:
        raise ValueError(
            f"that is {len(keys)} panels (one for each op and dtype), at most {_MOST_PANELS} fit; choose with .where(op=..., dtype=...)"
        )
    several = len(known.labels) > 1
    names = {m: f"{m.implementation} ({known.labels.index(m.label) + 1})" if several else m.implementation for m in known}
    styles = looks(list(dict.fromkeys(names.values())))
    axes = {op: x or _axis(known.where(op=op)) for op in known.ops}
    panels = [_panel([m for m in known if (m.op, m.dtype) == key], names, axes[key[0]], known.roofs, key, len(known.ops) > 1) for key in keys]
    top = _top(known)
    wide_columns = min(len(panels), 3) if len(panels) != 4 else 2
    wide_rows = -(-len(panels) // wide_columns)
    any_shapes = any(p.axis == "shape" for p in panels)

    def draw(figure: Figure, narrow: bool) -> None:
        columns = 1 if narrow else wide_columns
        rows = -(-len(panels) // columns)
        grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
        for i, ax in enumerate(grid.flat):
            if i >= len(panels):
                ax.set_axis_off()
                continue
            _draw(ax, panels[i], styles, known.roofs, top, first=i % columns == 0, note=i == 0, small=narrow or columns > 1)
        legend(figure, grid.flat, 1 if narrow else 3, first=list(styles))

    extra = 60 if any_shapes else 0
    heights = (60 + wide_rows * (290 + extra if wide_columns > 1 else 370 + extra), 60 + 21 * (len(styles) + 2) + len(panels) * (245 + extra))
    notes = [f"({i + 1}) {label}" if several else label for i, label in enumerate(known.labels)]
    return chart(BandwidthView, draw, heights, _says(known), _alt(known, panels, notes), notes, _text(known, notes))


def _panel(items: list[Measurement], names: dict, axis: str, roofs: Roofs | None, key: tuple, name_op: bool) -> _Panel:
    shapes = tuple(dict.fromkeys(m.shape for m in items))
    series: dict[str, list[tuple[float, Measurement]]] = {}
    for m in items:
        series.setdefault(names[m], []).append((_place(m, axis, shapes), m))
    for points in series.values():
        points.sort(key=lambda point: point[0])
    title = f"{key[0]} {key[1]}" if name_op else key[1]
    return _Panel(title, axis, series, shapes, None if axis == "shape" else _launch_bound(series, roofs))


def _axis(items: Iterable[Measurement]) -> str:
    shapes = {m.shape for m in items}
    if all(len(shape) == 1 for shape in shapes):
        return "elements"
    if all(len(shape) == 2 for shape in shapes):
        rows, columns = {s[0] for s in shapes}, {s[1] for s in shapes}
        if len(rows) == 1 and len(columns) > 1:
            return "columns"
        if len(columns) == 1 and len(rows) > 1:
            return "rows"
    return "shape"


def _place(m: Measurement, axis: str, shapes: tuple[tuple[int, ...], ...]) -> float:
    if axis == "shape":
        return float(shapes.index(m.shape))
    if axis in ("rows", "columns") and len(m.shape) != 2:
        raise ValueError(f"x is {axis!r}, but the shape {m.shape} of {m.op} has no {axis}")
    value = {"elements": m.numel, "bytes": m.bytes or 0, "rows": m.shape[0] if m.shape else 0, "columns": m.shape[-1] if m.shape else 0}[axis]
    if value <= 0:
        raise ValueError(f"{m.op} at shape {m.shape} has no place on a logarithmic axis of {axis}")
    return float(value)


def _launch_bound(series: dict[str, list[tuple[float, Measurement]]], roofs: Roofs | None) -> tuple[float, float] | None:
    """From the smallest size to halfway to the first at which someone needs ``LAUNCH_BOUND`` launches' time or more."""
    if roofs is None or roofs.launch is None:
        return None
    best: dict[float, float] = {}
    for points in series.values():
        for place, m in points:
            best[place] = min(best.get(place, float("inf")), m.seconds)
    places = sorted(best)
    bound = [p for p in places if best[p] < LAUNCH_BOUND * roofs.launch.seconds]
    if not bound:
        return None
    last = bound[-1]
    after = [p for p in places if p > last]
    return places[0], (last * after[0]) ** 0.5 if after else last


def _top(ms: Measurements) -> float:
    highest = max(m.bytes / m.timing.low / 1e9 for m in ms)
    if ms.roofs and ms.roofs.copy:
        highest = max(highest, ms.roofs.copy.rate / 1e9)
    return min(highest, 1.5 * max(m.gbps or 0 for m in ms) if not (ms.roofs and ms.roofs.copy) else highest) * 1.12


def _draw(ax: Axes, panel: _Panel, styles: dict, roofs: Roofs | None, top: float, first: bool, note: bool, small: bool) -> None:
    quiet_grid(ax)
    ax.set_title(panel.title, loc="left")
    if panel.axis != "shape":
        ax.set_xscale("log", base=2 if panel.axis != "bytes" else 10)
        every = [place for points in panel.series.values() for place, _ in points]
        low, high = min(every), max(every)
        margin = (high / low) ** 0.04 if high > low else 2
        ax.set_xlim(low / margin, high * margin)
        if panel.launch_bound:
            start = low / margin
            end = panel.launch_bound[1] if panel.launch_bound[1] < high else high * margin
            label = "launch-bound: mostly the launch's own time"
            ax.axvspan(start, end, facecolor=SHADE, hatch="///", edgecolor="#d3d8de", linewidth=0, zorder=0, label=label)
    for name, points in panel.series.items():
        color, marker, line = styles[name]
        xs = [place for place, _ in points]
        ys = [m.gbps for _, m in points]
        spans = [[m.gbps - m.bytes / m.timing.high / 1e9 for _, m in points], [m.bytes / m.timing.low / 1e9 - m.gbps for _, m in points]]
        ax.errorbar(
            xs, ys, yerr=spans, color=color, marker=marker, markersize=4.5 if small else 6, markeredgecolor="white", markeredgewidth=0.6,
            linestyle="none" if panel.axis == "shape" else line, linewidth=1.7, elinewidth=1, capsize=0, label=name, zorder=3,
        )
    if roofs and roofs.copy:
        rate = roofs.copy.rate
        label = f"{roofs.copy.what}, {gbps_text(rate)}, measured"
        ax.axhline(rate / 1e9, color=INK, linewidth=1.3, linestyle=(0, (7, 3)), zorder=2, label=label)
        if note:
            at = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
            ax.annotate("copy", (0.01, rate / 1e9), xytext=(0, 3), color=INK, fontsize=9, **at)
    ax.set_ylim(0, top)
    ax.yaxis.set_major_formatter("{x:,.0f}" if top >= 10 else "{x:g}")
    if first:
        ax.set_ylabel("GB/s")
    _ticks(ax, panel, small)


def _ticks(ax: Axes, panel: _Panel, small: bool) -> None:
    if panel.axis == "shape":
        ax.set_xticks(range(len(panel.shapes)), ["×".join(map(str, shape)) for shape in panel.shapes], rotation=35, ha="right", fontsize=8.5)
        ax.set_xlim(-0.6, len(panel.shapes) - 0.4)
        return
    ax.minorticks_off()
    places = sorted({place for points in panel.series.values() for place, _ in points})
    if panel.axis == "bytes":
        shown = [10.0**k for k in range(0, 16) if places[0] / 2 <= 10.0**k <= places[-1] * 2] or places
        ax.set_xticks(shown, [si_bytes(n) for n in shown])
        ax.set_xlabel("bytes moved")
        return
    label = {"elements": "elements", "rows": "rows", "columns": "columns (row width)"}[panel.axis]
    other = {"rows": "columns", "columns": "rows"}.get(panel.axis)
    if other and len(fixed := {shape[1 if panel.axis == "rows" else 0] for shape in panel.shapes}) == 1:
        label += f", {fixed.pop()} {other}"
    ax.set_xlabel(label)
    powers = [p for p in places if float(p).is_integer() and int(p) & (int(p) - 1) == 0]
    step = max(1, -(-len(powers) // (5 if small else 9)))
    shown = powers[::-1][::step][::-1] if len(powers) > 1 else places
    ax.set_xticks(shown, [f"$2^{{{int(p).bit_length() - 1}}}$" if p >= 1024 and int(p) & (int(p) - 1) == 0 else f"{int(p):,}" for p in shown])


def _says(ms: Measurements) -> str:
    best = max(ms, key=lambda m: m.gbps or 0)
    size = f"{best.numel:,} elements" if len(best.shape) == 1 else "×".join(map(str, best.shape))
    sentence = f"`{best.op}`: {best.implementation} moves up to {gbps_text(best.bytes / best.seconds)} ({size}, {best.dtype})"
    if ms.roofs and ms.roofs.copy:
        sentence += f", {best.bytes / best.seconds / ms.roofs.copy.rate:.2f} of what a copy reaches"
    return sentence + "."


def _alt(ms: Measurements, panels: list[_Panel], notes: list[str]) -> str:
    parts = ["Chart of bandwidth in GB/s against size."]
    for panel in panels:
        parts.append(f"{ms.ops[0]} {panel.title}:" if len(ms.ops) == 1 else f"{panel.title}:")
        for name, points in panel.series.items():
            ends = [points[0][1], points[-1][1]]
            said = [_rate_at(m) for m in (ends if len(points) > 1 else ends[:1])]
            best = max((m for _, m in points), key=lambda m: m.gbps or 0)
            peak = "" if best in ends else f", at most {_rate_at(best)}"
            parts.append(f"{name} {' to '.join(said)}{peak};")
        if panel.launch_bound:
            unit = {"bytes": "bytes moved"}.get(panel.axis, panel.axis)
            parts.append(f"launch-bound up to about {panel.launch_bound[1]:,.0f} {unit}.")
    if ms.roofs and ms.roofs.copy:
        parts.append(f"The roof is the measured {ms.roofs.copy.what}, {gbps_text(ms.roofs.copy.rate)}.")
    return " ".join([*parts, f"From {'; '.join(notes)}."])


def _rate_at(m: Measurement) -> str:
    return f"{gbps_text(m.bytes / m.seconds)} at {'×'.join(f'{n:,}' for n in m.shape)}"


def _text(ms: Measurements, notes: list[str]) -> str:
    best = max(ms, key=lambda m: m.gbps or 0)
    smallest, largest = min(ms, key=lambda m: m.numel), max(ms, key=lambda m: m.numel)
    sizes = " to ".join(dict.fromkeys("×".join(f"{n}" for n in m.shape) for m in (smallest, largest)))
    copy = f", copy {gbps_text(ms.roofs.copy.rate)}" if ms.roofs and ms.roofs.copy else ""
    return (
        f"{', '.join(ms.ops)} {', '.join(ms.dtypes)} of {sizes}: {', '.join(ms.implementations)}; {len(ms)} points, "
        f"best {gbps_text(best.bytes / best.seconds)}{copy}; {'; '.join(notes)}"
    )


def samples() -> list[tuple[str, BandwidthView]]:
    """Views of made-up measurements, for screenshots and tests."""
    return [("bandwidth", bandwidth(_made_up()))]


def _made_up() -> Measurements:
    origin = Origin("Made-up GPU", "0", "0", "2000-01-01T00:00:00Z", "made up for a drawing test")
    roofs = Roofs(Roof("copy of 1 GiB", 2.0e9, _timing(1e-3)), Roof("bfloat16 matmul of 4096³", 2.0 * 4096**3, _timing(5e-4)), _timing(4e-6))
    items: list[Measurement] = []
    for dtype, size in (("float32", 4), ("bfloat16", 2)):
        for power in range(12, 27):
            nbytes = 3 * size * 2**power
            for name, fixed, slower in (("tritonlab", 5e-6, 1.0), ("torch", 4e-6, 1.03), ("torch.compile", 7e-6, 1.2)):
                seconds: Any = fixed + slower * nbytes / 2.0e12
                items.append(Measurement("vector_add", name, (2**power,), dtype, _timing(seconds), origin, nbytes, 2**power, recorded=True))
    return Measurements(tuple(items), roofs)


def _timing(seconds: float) -> Timing:
    return Timing(seconds, seconds - 3e-7, seconds + 4e-7, 100)
