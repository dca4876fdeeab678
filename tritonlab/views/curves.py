"""Curves over a few named values: what a sweep measured, beside what a model says of the same launches."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .base import View
from .chart import Picture, chart, legend, looks, quiet_grid

__all__ = ["CurvesView", "curves", "samples"]

Series = Mapping[Any, float]
MOST_PANELS, MOST_CURVES, MOST_PLACES = 4, 8, 20


class CurvesView(Picture, View):
    """One or several panels of curves over the same named values, and their text (``alt``)."""

    module = "chart.js"


def curves(panels: Mapping[str, Any], *, x: str, y: str, notes: str | Sequence[str] = ()) -> CurvesView:
    """Draw curves over named values: ``curves({"measured": {1: 13.3, 2: 9.9}, "model": {1: 17.3, 2: 8.7}}, x="GROUP_M", y="GB")``.

    ``panels``: a dict curve -> {value of x: number}, or a dict of such dicts: panel -> curve -> …, at most 4 side by
    side on one scale. The values of x stand in the order in which they first come, at equal distances, whatever they are; a curve
    may lack some. The y axis begins at 0. A curve whose name begins with "model" is drawn thin, without marks. ``x``, ``y``: what the axes
    are called, with the unit. ``notes``: where the numbers come from, written below.

    ``TypeError`` for what is no such dict, and notes that are no texts; ``ValueError`` for nothing to draw, numbers that are negative or not finite, and more than
    4 panels, 8 curves or 20 values of x.
    """
    held = _panels(panels)
    names = list(dict.fromkeys(name for series in held.values() for name in series))
    places = list(dict.fromkeys(at for series in held.values() for values in series.values() for at in values))
    for n, most, what in ((len(names), MOST_CURVES, "curves"), (len(places), MOST_PLACES, "values of x")):
        if n > most:
            raise ValueError(f"curves draws 1 to {most} {what}; got {n}")
    if not isinstance(notes, (str, tuple, list)) or not all(isinstance(note, str) for note in notes):
        raise TypeError(f"notes must be a text or a list of texts; got {notes!r}")
    notes = [notes] if isinstance(notes, str) else list(notes)
    highest = max(v for series in held.values() for values in series.values() for v in values.values())
    styles = looks(names)

    def draw(figure: Figure, narrow: bool) -> None:
        shape = (len(held), 1) if narrow else (1, len(held))
        axes = figure.subplots(*shape, squeeze=False, sharex=True, sharey=True).reshape(-1)
        for i, (ax, (title, series)) in enumerate(zip(axes, held.items())):
            _panel(ax, series, places, styles, small=len(held) > 1 and not narrow)
            ax.set_title(title)
            ax.set_ylim(0, highest * 1.06 or 1)
            if narrow or i == 0:
                ax.set_ylabel(y)
            if not narrow or i == len(held) - 1:
                ax.set_xlabel(x)
        legend(figure, axes, 1 if narrow else 3)

    told = [f"{title + ': ' if title else ''}{_said(series)}" for title, series in held.items()]
    heights = (330, 250 * len(held) + 22 * len(names) + 40)
    return chart(CurvesView, draw, heights, f"{y} over {x}", f"{y} over {x}. {'. '.join(told)}.", notes, f"{y} over {x}: {'; '.join(told)}")


def _panels(panels: Any) -> dict[str, dict[str, Series]]:
    """Panel -> curve -> value of x -> number; one panel without a title where none is named."""
    if not isinstance(panels, Mapping):
        raise TypeError(f"panels is a {type(panels).__name__}; curves takes a dict curve -> {{value of x: number}}, or a dict of such")
    nested = [isinstance(v, Mapping) and any(isinstance(w, Mapping) for w in v.values()) for v in panels.values()]
    held = {str(k): dict(v) for k, v in panels.items()} if nested and all(nested) else {"": dict(panels)}
    if not 1 <= len(held) <= MOST_PANELS:
        raise ValueError(f"curves draws 1 to {MOST_PANELS} panels; got {len(held)}")
    for title, series in held.items():
        for name, values in series.items():
            where = f"{title + ', ' if title else ''}{name}"
            if not isinstance(values, Mapping):
                raise TypeError(f"{where} is a {type(values).__name__}; a curve is a dict {{value of x: number}}")
            for at, v in values.items():
                if not _drawable(v):
                    raise ValueError(f"{where} is {v!r} at {at}; curves draws finite numbers of at least 0")
    if not any(values for series in held.values() for values in series.values()):
        raise ValueError("nothing to draw: no curve has a number")
    return {title: {str(name): dict(values) for name, values in series.items()} for title, series in held.items()}


def _drawable(v: Any) -> bool:
    try:
        return isinstance(v, numbers.Real) and 0 <= float(v) < float("inf")
    except OverflowError:  # a whole number past every float
        return False


def _panel(ax: Axes, series: Mapping[str, Series], places: list[Any], styles: dict[str, tuple], small: bool) -> None:
    quiet_grid(ax)
    for name, values in series.items():
        colour, marker, line = styles[name]
        at = [i for i, place in enumerate(places) if place in values]
        thin = {"linewidth": 1.2, "alpha": 0.9} if name.startswith("model") else {"linewidth": 2.2, "marker": marker, "markersize": 6}
        ax.plot(at, [values[places[i]] for i in at], color=colour, linestyle=line, label=name, **thin)
    ax.set_xticks(range(len(places)), [str(p).replace(" ", "\n") for p in places], fontsize=8 if small else None)
    ax.set_xlim(-0.4, len(places) - 0.6)


def _said(series: Mapping[str, Series]) -> str:
    return ", ".join(f"{name} {' '.join(f'{at}: {_short(v)}' for at, v in values.items())}" for name, values in series.items())


def _short(v: float) -> str:
    return f"{v:,.0f}" if 1000 <= abs(v) < 1e9 else f"{v:.3g}"


def samples() -> list[tuple[str, View]]:
    """Curves of a measured sweep beside a model's, and three panels of one scale, with made-up numbers."""
    groups = (1, 2, 4, 8, 16, "whole column")
    one = {"measured": dict(zip(groups, (13.0, 9.5, 6.1, 3.2, 2.1, 13.8))), "model, in step": dict(zip(groups, (3.0, 3.0, 3.0, 2.5, 1.6, 3.0))), "model, one after another": dict(zip(groups, (17.3, 8.7, 4.4, 2.3, 1.2, 17.3)))}
    tiles = {"64×64×32": 240.0, "128×256×64": 640.0}
    panels = {f"{n}³": {tile: {g: base + 30 * i * (n > 4096) for i, g in enumerate(groups)} for tile, base in tiles.items()} for n in (4096, 8192, 16384)}
    return [
        ("curves-model", curves(one, x="GROUP_M", y="GB read from memory", notes=["made-up numbers"])),
        ("curves-panels", curves(panels, x="GROUP_M", y="TFLOP/s", notes=["made-up numbers"])),
    ]
