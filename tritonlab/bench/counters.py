"""Hardware counters of single launches, read by Nsight Compute (``ncu``)."""

from __future__ import annotations

import csv
import glob
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .measurement import Measurements

__all__ = ["METRICS", "Counted", "command", "find_ncu", "merge", "parse"]

METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_sectors_op_read.sum", "lts__t_sector_hit_rate.pct")
"""Bytes that memory gave and took; 32-byte sectors that were asked of L2 for reading; how many in a hundred were there."""

PLACES = ("/usr/local/cuda*/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu", "/usr/lib/nsight-compute/ncu")


@dataclass(frozen=True)
class Counted:
    """One profiled launch: its kernel, its grid as ncu prints it, and the counters by name."""

    kernel: str
    grid: str
    counters: tuple[tuple[str, float], ...]


def find_ncu() -> str | None:
    """Where ncu is, or None."""
    return shutil.which("ncu") or next((path for place in PLACES for path in sorted(glob.glob(place), reverse=True)), None)


def command(ncu: str, kernels: Iterable[str], log: str, work: Sequence[str]) -> list[str]:
    """The command line that counts every launch of the named kernels in ``work``, L2 flushed before each, clocks left alone."""
    return [
        ncu, "--csv", "--print-units", "base", "--log-file", log, "--metrics", ",".join(METRICS), "--cache-control", "all",
        "--clock-control", "none", "--kernel-name", f"regex:{'|'.join(kernels)}", *work,
    ]  # fmt: skip


def parse(text: str) -> list[Counted]:
    """What ``ncu --csv`` wrote, a launch an entry, in their order. Lines before the table are its log; no table gives no entries."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    found: dict[str, tuple[str, str, dict[str, float]]] = {}
    for row in csv.DictReader(lines[start:]):
        if not (row.get("ID") or "").isdigit():
            continue  # the line of units, or a message
        name = row.get("Kernel Name") or ""
        counters = found.setdefault(row["ID"], (name, row.get("Grid Size") or "", {}))[2]
        named = {row["Metric Name"]: row.get("Metric Value")} if row.get("Metric Name") else row
        for metric in METRICS:
            value = named.get(metric)
            if value:
                counters[metric] = float(value.replace(",", ""))
    ordered = sorted(found.items(), key=lambda item: int(item[0]))
    return [Counted(name, grid, tuple(counters.items())) for _, (name, grid, counters) in ordered]


def merge(measurements: Measurements, counted: Mapping[tuple, tuple[tuple[str, float], ...]]) -> Measurements:
    """The measurements with the counters of those whose ``key`` is in ``counted`` added to what they have."""
    items = (
        replace(m, counters=tuple({**m.counted, **dict(counted[m.key])}.items())) if m.key in counted else m for m in measurements
    )
    return replace(measurements, items=tuple(items))
