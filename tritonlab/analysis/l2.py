"""What an order of tiles asks of the L2 cache and of memory, under a stated model.

Program (pid_m, pid_n) of C = A @ B loads panel pid_m of A (BLOCK_M rows) and panel pid_n of B (BLOCK_N columns), both
along the whole of K. The cache holds ``l2_bytes`` and, when it is full, drops what was used longest ago. Two schedules
bracket what a GPU does, which is neither:

- "in step": a wave of programs runs at once and walks K together in small steps, so each panel of the wave is asked for
  by all its programs at the same time; then the next wave.
- "one after another": a program takes its panel of A, then its panel of B, and only then comes the next program.

Left out: stores of C, the cache's lines and sets, and that the H200's L2 has two halves.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..trace.record import _freeze, _Record
from .pids import PidOrder, whole
from .text import count, table

__all__ = ["GPUS", "SCHEDULES", "Gpu", "L2Traffic", "gpu_named", "l2_traffic", "tile_sizes"]

SCHEDULES = ("in step", "one after another")
MOST = 2**31 - 1
"""What K and the programs at once may be."""


@dataclass(frozen=True)
class Gpu:
    """Streaming multiprocessors and L2 of a GPU, and where the figures stand."""

    name: str
    sms: int
    l2_bytes: int
    source: str


MIB = 2**20
GPUS: dict[str, Gpu] = {
    gpu.name: gpu
    for gpu in (
        Gpu("T4", 40, 4 * MIB, "NVIDIA Turing GPU architecture whitepaper"),
        Gpu("A100", 108, 40 * MIB, "NVIDIA A100 tensor core GPU architecture whitepaper"),
        Gpu("H100", 132, 50 * MIB, "NVIDIA H100 tensor core GPU architecture whitepaper, SXM5"),
        Gpu("H200", 132, 60 * MIB, "as CUDA's device properties report it"),
    )
}


@dataclass(frozen=True, eq=False, repr=False)
class L2Traffic(_Record):
    """Bytes that an order asks for and that memory has to deliver; arrays are per wave, int64 or float64.

    ``wave``: programs that run at once. ``a_panels``, ``b_panels``: distinct panels that a wave asks for. ``asked``: bytes its
    programs ask for. ``fetched_a``, ``fetched_b``: bytes that the cache does not hold and memory delivers.
    ``panel_a``, ``panel_b``: bytes of one panel.
    """

    order: PidOrder
    schedule: str
    gpu: Gpu
    l2_bytes: int
    wave: int
    tile: tuple[int, int, int]
    K: int
    itemsize: int
    panel_a: int
    panel_b: int
    a_panels: np.ndarray
    b_panels: np.ndarray
    asked: np.ndarray
    fetched_a: np.ndarray
    fetched_b: np.ndarray

    def __post_init__(self) -> None:
        for name in ("a_panels", "b_panels", "asked", "fetched_a", "fetched_b"):
            _freeze(getattr(self, name))

    @property
    def waves(self) -> int:
        return int(self.asked.size)

    @property
    def asked_bytes(self) -> int:
        """Bytes of A and B that all programs ask for."""
        return int(self.asked.sum())

    @property
    def a_bytes(self) -> float:
        """Bytes of A that memory delivers."""
        return float(self.fetched_a.sum())

    @property
    def b_bytes(self) -> float:
        """Bytes of B that memory delivers."""
        return float(self.fetched_b.sum())

    @property
    def memory_bytes(self) -> float:
        """Bytes of A and B that memory delivers."""
        return self.a_bytes + self.b_bytes

    @property
    def hit_rate(self) -> float:
        """The share of the bytes asked for that L2 delivers, 0 to 1."""
        return 1 - self.memory_bytes / self.asked_bytes if self.asked_bytes else 0.0

    @property
    def least_bytes(self) -> int:
        """Bytes of the panels that are needed at all, each once: no order needs less."""
        rows, columns = self.order.panels()
        return len(rows) * self.panel_a + len(columns) * self.panel_b

    @property
    def a_fetches(self) -> float:
        """Panels of A that memory delivers, parts of panels as fractions."""
        return self.a_bytes / self.panel_a if self.panel_a else 0.0

    @property
    def b_fetches(self) -> float:
        """Panels of B that memory delivers, parts of panels as fractions."""
        return self.b_bytes / self.panel_b if self.panel_b else 0.0

    @property
    def model(self) -> str:
        """The model in one sentence."""
        how = {
            "in step": f"{count(self.wave, 'program')} run at once and walk K together, wave by wave",
            "one after another": "each program takes its two panels before the next one begins",
        }[self.schedule]
        return f"{self.gpu.name}, an L2 of {self.l2_bytes / 1e6:.1f} MB that drops what was used longest ago; {how}"

    def __repr__(self) -> str:
        return (
            f"<L2Traffic {self.order.label}, {self.schedule}: {self.memory_bytes / 1e9:.2f} GB from memory "
            f"of {self.asked_bytes / 1e9:.2f} GB asked for, {self.hit_rate:.0%} from L2>"
        )

    def __str__(self) -> str:
        share = self.asked_bytes
        rows, columns = self.order.panels()
        programs = int(self.order.inside.sum())
        body = [
            ("A", len(rows), programs, round(self.a_fetches, 2), self.a_bytes / 1e9),
            ("B", len(columns), programs, round(self.b_fetches, 2), self.b_bytes / 1e9),
        ]
        last = ("both", len(rows) + len(columns), 2 * programs, round(self.a_fetches + self.b_fetches, 2), self.memory_bytes / 1e9)
        headers = ("panels of", "there are", "asked for", "from memory", "GB from memory")
        note = f"{self.hit_rate:.1%} of {share / 1e9:.2f} GB from L2. Model: {self.model}."
        return table(f"{self.order.label}, {self.schedule}", headers, body, note, last)


def l2_traffic(
    order: PidOrder,
    tile: tuple[int, int, int],
    K: int,
    itemsize: int = 2,
    gpu: str | Gpu = "H200",
    programs_per_sm: int = 1,
    schedule: str = "in step",
    *,
    wave: int | None = None,
    l2_bytes: int | None = None,
) -> L2Traffic:
    """What memory has to deliver of A and B when programs run in this order; the model stands at the top of this module.

    ``tile``: (BLOCK_M, BLOCK_N, BLOCK_K). ``K``: the length of a panel; ``itemsize``: bytes of an element. ``gpu``: a
    name in ``GPUS`` or a ``Gpu``. ``programs_per_sm``: programs that one SM runs at once; ``wave``: programs at once
    on the whole GPU instead, and ``l2_bytes`` another size of the cache. Every panel counts as whole, also at the matrix's edge;
    programs outside the matrix load nothing.

    ``TypeError`` and ``ValueError`` name the argument that is no such thing or out of range, and the GPUs and schedules that there are.
    """
    if not isinstance(order, PidOrder):
        raise TypeError(f"order is a {type(order).__name__}; it is a PidOrder, as lab.pid_order and tile_order return it")
    held = gpu_named(gpu)
    if schedule not in SCHEDULES:
        raise ValueError(f"schedule is {schedule!r}; it is one of {', '.join(map(repr, SCHEDULES))}")
    tile = tile_sizes(tile)
    K, itemsize = whole("K", K, 1, MOST), whole("itemsize", itemsize, 1, 16)
    capacity = held.l2_bytes if l2_bytes is None else whole("l2_bytes", l2_bytes, 0)
    at_once = held.sms * whole("programs_per_sm", programs_per_sm, 1, MOST)
    at_once = at_once if wave is None else whole("wave", wave, 1, MOST)
    if order.programs * (tile[0] + tile[1]) * K * itemsize >= 2**63:
        raise ValueError(f"K is too large: {order.programs:,} programs × ({tile[0]} + {tile[1]}) × {K:,} × {itemsize} bytes is no 64-bit number")
    there = np.flatnonzero(order.inside)
    first_b = int(order.num_pid_m)  # panels of B are numbered after those of A
    panels = np.stack([order.pid_m[there], order.pid_n[there] + first_b], axis=1).astype(np.int64)
    size = np.repeat([tile[0] * K * itemsize, tile[1] * K * itemsize], [order.num_pid_m, order.num_pid_n])
    n_waves = -(-order.programs // at_once)
    of_wave = there // at_once
    cuts = np.searchsorted(of_wave, np.arange(n_waves + 1))
    waves = [np.unique(panels[a:b]) for a, b in zip(cuts, cuts[1:])]
    if schedule == "in step":
        fetched = _in_step(waves, size, first_b, capacity)
    else:
        fetched = _one_after_another(panels, size, first_b, capacity, of_wave, n_waves)
    a_panels = np.array([int((w < first_b).sum()) for w in waves], dtype=np.int64)
    return L2Traffic(
        order=order, schedule=schedule, gpu=held, l2_bytes=capacity, wave=at_once,
        tile=tile, K=K, itemsize=itemsize, panel_a=int(tile[0] * K * itemsize), panel_b=int(tile[1] * K * itemsize),
        a_panels=a_panels,
        b_panels=np.array([w.size for w in waves], dtype=np.int64) - a_panels,
        asked=np.diff(cuts) * int((tile[0] + tile[1]) * K * itemsize),
        fetched_a=fetched[0], fetched_b=fetched[1],
    )  # fmt: skip


def _in_step(waves: list[np.ndarray], size: np.ndarray, first_b: int, capacity: int) -> np.ndarray:
    """Bytes that each wave fetches of A and of B: float64 [2, waves].

    While a wave walks K, point x (0 … 1) of a panel was last used at point x of an earlier wave v. What was used since then is,
    past x, the panels of waves v … w - 1, and up to x those of waves v + 1 … w: a size that goes in a straight line
    from the one to the other. Where it is within the capacity, the cache still holds the panel.
    """
    last = np.full(size.size, -1, dtype=np.int64)  # the wave that used a panel last
    used = np.zeros(len(waves))  # bytes of the panels, by the wave that used them last
    fetched = np.zeros((2, len(waves)))
    for w, touched in enumerate(waves):
        before, bytes_ = last[touched], size[touched]
        known = before >= 0
        low = int(before[known].min(initial=w))
        at_start = _since(used, low, w)
        np.subtract.at(used, before[known], bytes_[known])
        used[w] += bytes_.sum()
        last[touched] = w
        at_end = _since(used, low, w)
        held = np.zeros(touched.size)
        v = before[known] - low
        held[known] = _share_below(at_start[v], at_end[v + 1], capacity)
        missed = (1 - held) * bytes_
        fetched[:, w] = missed[touched < first_b].sum(), missed[touched >= first_b].sum()
    return fetched


def _since(used: np.ndarray, low: int, w: int) -> np.ndarray:
    """Bytes of the panels used last in wave v or later, for v = low … w."""
    return np.cumsum(used[low : w + 1][::-1])[::-1]


def _share_below(start: np.ndarray, end: np.ndarray, level: float) -> np.ndarray:
    """The share, 0 to 1, of a straight line from start to end that is not above the level."""
    low, high = np.minimum(start, end), np.maximum(start, end)
    span = np.where(high > low, high - low, 1)
    return np.where(high <= level, 1.0, np.where(low > level, 0.0, np.clip((level - low) / span, 0, 1)))


def _one_after_another(panels: np.ndarray, size: np.ndarray, first_b: int, capacity: int, waves: np.ndarray, n_waves: int) -> np.ndarray:
    """Bytes fetched of A and of B by programs that run one after another, by the wave that each belongs to: float64 [2, waves]."""
    held: OrderedDict[int, None] = OrderedDict()
    sizes, free = size.tolist(), capacity
    fetched = [[0.0] * n_waves, [0.0] * n_waves]
    for wave, panel in zip(np.repeat(waves, 2).tolist(), panels.reshape(-1).tolist()):
        if panel in held:
            held.move_to_end(panel)
            continue
        fetched[panel >= first_b][wave] += sizes[panel]
        held[panel] = None
        free -= sizes[panel]
        while free < 0:
            free += sizes[held.popitem(last=False)[0]]
    return np.array(fetched).reshape(2, n_waves)


def tile_sizes(tile: Sequence[int]) -> tuple[int, int, int]:
    """(BLOCK_M, BLOCK_N, BLOCK_K) as ints, each 1 … 65,536; the errors name the one that is not."""
    if isinstance(tile, str) or not isinstance(tile, Sequence) or len(tile) != 3:
        raise ValueError(f"tile is {tile!r}; it is (BLOCK_M, BLOCK_N, BLOCK_K)")
    m, n, k = (whole(name, value, 1, 65_536) for name, value in zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), tile))
    return m, n, k


def gpu_named(gpu: str | Gpu) -> Gpu:
    """A GPU of ``GPUS`` by its name, or the one given; ``ValueError`` names those there are."""
    if isinstance(gpu, Gpu):
        return gpu
    if not isinstance(gpu, str) or gpu not in GPUS:
        raise ValueError(f"gpu is {gpu!r}; known are {', '.join(GPUS)}")
    return GPUS[gpu]
