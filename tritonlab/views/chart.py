"""Measured charts: matplotlib draws them once, in two widths, and the view shows the one that fits.

No pyplot and no user settings take part, so the same measurements give the same picture.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .base import View

__all__ = ["INK", "QUIET", "SHADE", "Picture", "chart", "gbps_text", "legend", "looks", "quiet_grid", "si_bytes"]

INK, QUIET, SHADE = "#1f2328", "#57606a", "#eceff3"
WIDE, NARROW = 854, 434
"""CSS pixels: a view of 900 px, and one of 480, less what frames the picture."""
V = TypeVar("V", bound=View)
_DPI = 100
_SHARP = 2
_STYLE = {
    "font.family": ["DejaVu Sans"],
    "font.size": 10.0,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "text.color": INK,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "svg.hashsalt": "tritonlab",
}
# Okabe–Ito; vermilion is kept for errors
_LOOKS = (
    ("#0072B2", "o", "-"),
    ("#E69F00", "s", (0, (5, 2))),
    ("#009E73", "^", (0, (4, 1.5, 1, 1.5))),
    ("#CC79A7", "D", (0, (1, 1))),
    ("#56B4E9", "v", (0, (6, 1, 1, 1, 1, 1))),
    ("#000000", "P", (0, (2, 2))),
)
_KNOWN = {"tritonlab": 0, "torch": 1, "torch.compile": 2}


class Picture:
    """What the chart views share: ``class NameView(Picture, View): module = "chart.js"``.

    ``alt``: what the picture says, in words; it is the image's alternative text.
    """

    data: dict[str, Any]

    @property
    def alt(self) -> str:
        return self.data["alt"]

    @property
    def png(self) -> bytes:
        """The wide picture, at twice its CSS pixels."""
        return base64.b64decode(self.data["pictures"][0]["png"])


def chart(
    kind: type[V],
    draw: Callable[[Figure, bool], None],
    heights: tuple[float, float],
    says: str,
    alt: str,
    notes: Sequence[str],
    text: str,
) -> V:
    """Make a chart view: ``draw(figure, narrow)`` draws into an empty figure; ``heights`` in CSS px, wide and narrow."""
    pictures = []
    for width, height, narrow in ((WIDE, heights[0], False), (NARROW, heights[1], True)):
        with matplotlib.rc_context({**matplotlib.rcParamsDefault, **_STYLE, "backend": "agg"}):
            figure = Figure(figsize=(width / _DPI, height / _DPI), dpi=_DPI, layout="constrained", facecolor="white")
            FigureCanvasAgg(figure)
            draw(figure, narrow)
            out = io.BytesIO()
            figure.savefig(out, format="png", dpi=_DPI * _SHARP, metadata={"Software": None, "Description": alt})
        pictures.append({"width": width, "height": round(height), "png": base64.b64encode(out.getvalue()).decode("ascii")})
    data: dict[str, Any] = {"pictures": pictures, "says": says, "alt": alt, "notes": list(notes)}
    return kind(data=data, text=text)


def looks(names: Sequence[str]) -> dict[str, tuple[str, str, Any]]:
    """(colour, marker, line style) for each implementation: the course's own and torch's are the same in every chart."""
    taken: dict[str, int] = {name: _KNOWN[name] for name in names if name in _KNOWN}
    free = [i for i in range(len(_LOOKS)) if i not in taken.values()]
    for name in names:
        if name not in taken:
            taken[name] = free.pop(0) if free else len(taken)
    return {name: _LOOKS[taken[name] % len(_LOOKS)] for name in names}


def legend(figure: Figure, axes: Iterable[Axes], columns: int, first: Sequence[str] = ()) -> None:
    """One legend below all axes, each name once, those in ``first`` before the others."""
    found = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels())}
    order = [name for name in dict.fromkeys(first) if name in found] + [name for name in found if name not in first]
    figure.legend([found[name] for name in order], order, loc="outside lower center", ncols=columns, handlelength=2.2, columnspacing=1.2)


def quiet_grid(ax: Axes) -> None:
    """Thin lines behind the data."""
    ax.grid(True, color="#e3e6ea", linewidth=0.7)
    ax.set_axisbelow(True)


def gbps_text(bytes_per_second: float) -> str:
    """4.251e12 → "4,251 GB/s"."""
    value = bytes_per_second / 1e9
    return f"{value:,.0f} GB/s" if value >= 99.95 else f"{value:.3g} GB/s"


def si_bytes(n: float) -> str:
    """Bytes in decimal units, two or three digits: 3.2 GB, 12 kB."""
    for unit in ("B", "kB", "MB", "GB"):
        if n < 999.5 or unit == "GB":
            return f"{n:.3g} {unit}"
        n /= 1000
    raise AssertionError
