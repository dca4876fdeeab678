"""The order map: which program computes which tile of the output, in the order of launch, and what a wave of programs loads.

The order is an ``analysis.PidOrder``, as ``lab.pid_order`` computes it with a kernel's own device function; bytes from L2 and
from memory are ``analysis.l2_traffic``'s, whose model is written under the picture. The browser scrubs and plays the
launch; it computes nothing but which panels the wave has touched so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..analysis.l2 import MOST, SCHEDULES, Gpu, L2Traffic, gpu_named, l2_traffic, tile_sizes
from ..analysis.pids import PidOrder, tile_order, whole
from ..analysis.text import count
from ..trace.record import Launch, Trace
from .base import View, pack

__all__ = ["PidMapView", "pid_map", "samples"]

MOST_ORDERS = 9


class PidMapView(View):
    """A map of tiles for each order: A's panels to the left, B's above, the wave and the path of the launch."""

    module = "pid_map.js"
    parts = ("pid_map_model.js", "pid_map_draw.js")


def pid_map(
    orders: PidOrder | Launch | Trace | Sequence[PidOrder | Launch | Trace] | Mapping[str, PidOrder | Launch | Trace],
    tile: tuple[int, int, int] | None = None,
    K: int | None = None,
    *,
    itemsize: int = 2,
    gpu: str | Gpu = "H200",
    programs_per_sm: int = 1,
    wave: int | None = None,
    launched: int | None = None,
) -> PidMapView:
    """Draw one order of programs over the tiles of C, or several side by side.

    ``orders``: a ``PidOrder`` (``lab.pid_order(grouped_pid, num_pid_m, num_pid_n, GROUP_M)``), or a trace of one launch, whose
    order is read from its stores (``tile_order``); a list of these, or a dict title -> one. ``tile``: (BLOCK_M, BLOCK_N, BLOCK_K), and ``K``: with both, bytes from L2 and from memory are
    shown. ``itemsize``: bytes of an element. ``gpu``: whose number of SMs and size of L2 are taken, a name in
    ``lab.analysis.GPUS`` or a ``Gpu``. ``programs_per_sm``: programs that an SM holds at once; a wave is as many on all
    SMs, or ``wave`` programs. ``launched``: programs launched at first; the first wave if left out.

    ``TypeError`` for what is no order or no whole number; ``ValueError`` for none or more than 9, for K without a tile, and what ``l2_traffic`` refuses.
    """
    named = _named(orders)
    if (tile is None) != (K is None):
        raise ValueError(f"tile and K go together; got tile={tile!r} and K={K!r}")
    held = gpu_named(gpu)
    if tile is not None:
        tile, K = tile_sizes(tile), whole("K", K, 1, MOST)
    at_once = held.sms * whole("programs_per_sm", programs_per_sm, 1, MOST)
    at_once = at_once if wave is None else whole("wave", wave, 1, MOST)
    longest = max(order.programs for order in named.values())
    launched = min(at_once, longest) if launched is None else whole("launched", launched, 0, longest)
    data: dict[str, Any] = {
        "wave": at_once,
        "launched": launched,
        "gpu": held.name,
        "tile": None if tile is None else list(tile),
        "k_tiles": None if tile is None else -(-K // tile[2]),
        "schedules": list(SCHEDULES),
        "model": "",
        "orders": [],
    }
    for title, order in named.items():
        traffic = {}
        if tile is not None:
            traffic = {s: l2_traffic(order, tile, K, itemsize, held, programs_per_sm, s, wave=wave) for s in SCHEDULES}
        data["orders"].append(_order_data(title, order, traffic))
    if tile is not None:
        data["model"] = _model(held, at_once, programs_per_sm if wave is None else None)
    return PidMapView(data=data, text=_summary(data, named))


def _named(orders: Any) -> dict[str, PidOrder]:
    """Title -> order, of whatever was given."""
    if isinstance(orders, Mapping):
        named = {str(k): _order(v) for k, v in orders.items()}
    else:
        several = isinstance(orders, Sequence) and not isinstance(orders, str)
        named = {}
        for order in map(_order, orders if several else [orders]):
            title = _title(order)
            while title in named:
                title += "\u2032"
            named[title] = order
    if any(not order.programs for order in named.values()):
        raise ValueError("an order has no programs: there is nothing to draw")
    if not 1 <= len(named) <= MOST_ORDERS:
        raise ValueError(f"pid_map draws 1 to {MOST_ORDERS} orders; got {len(named)}")
    return named


def _order(given: Any) -> PidOrder:
    if isinstance(given, (Launch, Trace)):
        return tile_order(given)
    if not isinstance(given, PidOrder):
        raise TypeError(f"got a {type(given).__name__}; pid_map draws a PidOrder as lab.pid_order returns it, or a trace; a list or a dict of them")
    return given


def _title(order: PidOrder) -> str:
    name = order.function if order.GROUP_M is None else f"GROUP_M = {order.GROUP_M}"
    pids = np.arange(order.programs)
    if not order.one_to_one or min(order.num_pid_m, order.num_pid_n) == 1:
        return name
    if np.array_equal(pids, order.pid_m.astype(np.int64) * order.num_pid_n + order.pid_n):
        return f"{name} (rows)"
    if np.array_equal(pids, order.pid_n.astype(np.int64) * order.num_pid_m + order.pid_m):
        return f"{name} (columns)"
    return name


def _order_data(title: str, order: PidOrder, traffic: dict[str, L2Traffic]) -> dict[str, Any]:
    visits = order.visits
    return {
        "title": title,
        "num_pid_m": order.num_pid_m,
        "num_pid_n": order.num_pid_n,
        "pid_m": pack(_narrow(order.pid_m)),
        "pid_n": pack(_narrow(order.pid_n)),
        "faults": list(order.faults),
        "never": pack(np.flatnonzero(visits == 0).astype(np.int32)),
        "twice": pack(np.flatnonzero(visits > 1).astype(np.int32)),
        "outside": pack(np.array(order.outside, dtype=np.int32)),
        "traffic": [
            {"asked": t.asked_bytes, "memory": t.memory_bytes, "wave_asked": pack(t.asked), "wave_memory": pack(t.fetched_a + t.fetched_b)}
            for t in traffic.values()
        ],
    }


def _narrow(values: np.ndarray) -> np.ndarray:
    """In 16 bits where they fit: half as much to send to the browser."""
    return values.astype(np.int16) if np.abs(values).max(initial=0) < 2**15 else values


def _model(gpu: Gpu, wave: int, per_sm: int | None) -> str:
    at_once = f"{wave:,} programs at once" + (f" ({gpu.sms} SMs × {per_sm})" if per_sm else "")
    return (
        f"Model, not a measurement: an L2 of {gpu.l2_bytes / 1e6:.1f} MB ({gpu.name}, {gpu.source}) that drops what was used longest ago, and "
        f"{at_once}. “In step”: the programs of a wave walk K together, then comes the next wave. “One after another”: a "
        "program takes its whole panels of A and B before the next one begins. A GPU does neither quite; stores of C are left out."
    )


def _gb(n: float) -> str:
    return f"{n / 1e9:.2f} GB" if n >= 1e8 else f"{n / 1e6:.2f} MB"


def _summary(data: dict[str, Any], named: dict[str, PidOrder]) -> str:
    parts = []
    for order, shown in zip(named.values(), data["orders"]):
        rows, columns = order.panels(0, data["wave"])
        text = f"{shown['title']} {order.num_pid_m}×{order.num_pid_n} tiles"
        text += f", {', '.join(order.faults)}" if order.faults else ""
        n = min(data["wave"], order.programs)
        text += f", first {count(n, 'program') if n > 1 else 'program'} {'touch' if n > 1 else 'touches'} {len(rows)} + {len(columns)} panels"
        if shown["traffic"]:
            text += ", from memory " + " and ".join(f"{_gb(t['memory'])} {s}" for t, s in zip(shown["traffic"], data["schedules"]))
        parts.append(text)
    return "; ".join(parts)


def _played(num_pid_m: int, num_pid_n: int, GROUP_M: int, clamped: bool = True) -> PidOrder:
    """The grouped order, or what becomes of it when the last group's rows are not clamped, played in NumPy."""
    pid = np.arange(num_pid_m * num_pid_n)
    first = pid // (GROUP_M * num_pid_n) * GROUP_M
    rows = np.minimum(num_pid_m - first, GROUP_M) if clamped else GROUP_M
    inside = pid % (GROUP_M * num_pid_n)
    return PidOrder("grouped_pid" if clamped else "unclamped_pid", num_pid_m, num_pid_n, first + inside % rows, inside // rows, GROUP_M)


def samples() -> list[tuple[str, View]]:
    """Order maps: the 9 × 9 check, small multiples of a large matrix, a wrong order, a ragged one and 102,400 programs."""
    nine = [_played(9, 9, g) for g in (1, 3)]
    large = [_played(128, 128, g) for g in (1, 8, 128)]
    return [
        ("pid-map-nine", pid_map(nine, (32, 32, 32), 288, wave=9)),
        ("pid-map-large", pid_map(large, (64, 64, 32), 8192, programs_per_sm=6)),
        ("pid-map-one", pid_map(_played(64, 32, 8), (64, 128, 32), 4096, launched=900)),
        ("pid-map-wrong", pid_map({"not clamped": _played(7, 5, 3, False), "clamped": _played(7, 5, 3)}, wave=5, launched=35)),
        ("pid-map-100k", pid_map(_played(320, 320, 8), (64, 64, 32), 8192, launched=40_000)),
        ("pid-map-six", pid_map([_played(64, 64, g) for g in (1, 2, 4, 8, 16, 64)], (64, 64, 32), 4096)),
    ]
