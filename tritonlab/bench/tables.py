"""Measurements as text: one table for the terminal, one for the notebook, the same numbers in both."""

from __future__ import annotations

import textwrap
from html import escape
from statistics import median

from .measurement import Measurement, Measurements, Roofs, Timing

__all__ = ["config_text", "html_table", "microseconds", "one_line", "percent", "rate", "roofs_text", "shape_text", "text_table", "unit_of"]

READING = "µs: median of single calls, L2 cleared; ±: spread, four calls in five lie within."
GRAPH = "graph µs: the same call inside a CUDA graph, no gaps between launches, L2 not cleared."
COUNTED = {
    "dram__bytes_read.sum": ("read GB", 1e-9),
    "dram__bytes_write.sum": ("written GB", 1e-9),
    "lts__t_sectors_op_read.sum": ("L2 reads GB", 32e-9),
    "lts__t_sector_hit_rate.pct": ("L2 hit %", 1.0),
    "registers": ("registers", 1.0),
    "spilled": ("spilled B", 1.0),
    "shared": ("shared KiB", 2**-10),
}
"""Counters that a table shows: head, and what to multiply by (an L2 sector is 32 bytes)."""
READ_NAMES = tuple(COUNTED)[:4]
READ = "read, written GB: memory traffic of one launch, L2 reads GB: sectors asked of L2, counted by Nsight Compute with L2 flushed before."
COMPUTE_BOUND = 32
"""FLOP per byte from which a table is in TFLOP/s rather than GB/s."""


def rate(value: float) -> str:
    """GB/s or TFLOP/s with about three digits: 4,251 · 51.2 · 4.81."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def microseconds(seconds: float) -> str:
    """Seconds in µs with about three digits."""
    return rate(seconds * 1e6)


def percent(fraction: float) -> str:
    """A spread: ±0.3% or ±12%."""
    return f"±{fraction * 100:.1f}%" if fraction < 0.00995 else f"±{fraction * 100:.0f}%"


def shape_text(shape: tuple[int, ...]) -> str:
    """(4096,) → 2^12, (4096, 1000) → 4096×1000."""
    if len(shape) == 1 and shape[0] >= 1024 and shape[0] & (shape[0] - 1) == 0:
        return f"2^{shape[0].bit_length() - 1}"
    return "×".join(str(n) for n in shape) or "scalar"


def config_text(config: tuple[tuple[str, int | str], ...]) -> str:
    """Meta-parameters as " BLOCK_M=128 GROUP_M=8", a space before each; nothing for no config."""
    return "".join(f" {name}={value}" for name, value in config)


def one_line(m: Measurement) -> str:
    amount = [f"{microseconds(m.seconds)} µs {percent(m.timing.spread)}"]
    if m.bytes:
        amount.append(f"{rate(m.gbps or 0)} GB/s")
    if (m.intensity or 0) >= COMPUTE_BOUND:
        amount.append(f"{rate(m.tflops or 0)} TFLOP/s")
    return f"{m.op} {m.implementation} {shape_text(m.shape)} {m.dtype}{config_text(m.config)}: {', '.join(amount)} · {m.label}"


def roofs_text(roofs: Roofs) -> str:
    parts = []
    if roofs.copy:
        parts.append(f"{roofs.copy.what} {rate(roofs.copy.rate / 1e9)} GB/s")
    if roofs.matmul:
        parts.append(f"{roofs.matmul.what} {rate(roofs.matmul.rate / 1e12)} TFLOP/s")
    if roofs.launch:
        parts.append(f"smallest launch {microseconds(roofs.launch.seconds)} µs")
    return ", ".join(parts) or "none measured"


def unit_of(items: tuple[Measurement, ...]) -> str:
    """GB/s, TFLOP/s, or "" when neither bytes nor operations are known."""
    known = [m.intensity for m in items if m.intensity is not None]
    if known and median(known) >= COMPUTE_BOUND:
        return "TFLOP/s"
    return "GB/s" if any(m.bytes for m in items) else ""


class _Grid:
    """What both tables show: rows by op, shape and dtype; column groups by implementation."""

    def __init__(self, ms: Measurements) -> None:
        self.unit = unit_of(ms.items)
        self.several_ops = len(ms.ops) > 1
        self.several_runs = len(ms.labels) > 1
        groups: dict[tuple[str, str], bool] = {}
        counted: dict[tuple[str, str], dict[str, None]] = {}
        config: dict[str, None] = {}
        rows: dict[tuple, dict[tuple[str, str], Measurement]] = {}
        for m in ms.items:
            group = (m.implementation, m.label if self.several_runs else "")
            groups[group] = groups.get(group, False) or m.graph is not None
            counted.setdefault(group, {}).update(dict.fromkeys(name for name, _ in m.counters))
            config.update(dict.fromkeys(name for name, _ in m.config))
            rows.setdefault((m.op, m.shape, m.dtype, m.config), {})[group] = m
        self.groups, self.rows, self.config = groups, rows, tuple(config)
        self.counted = {group: [name for name in COUNTED if name in names] for group, names in counted.items()}

    def heads(self) -> list[str]:
        return (["op"] if self.several_ops else []) + ["shape", "dtype", *self.config]

    def row_head(self, key: tuple) -> list[str]:
        op, shape, dtype, config = key
        meta = dict(config)
        return ([op] if self.several_ops else []) + [shape_text(shape), dtype] + [str(meta.get(name, "–")) for name in self.config]

    def columns(self, group: tuple[str, str]) -> list[str]:
        counted = [COUNTED[name][0] for name in self.counted[group]]
        return ([self.unit] if self.unit else []) + ["µs", "±"] + (["graph µs"] if self.groups[group] else []) + counted

    def cells(self, group: tuple[str, str], m: Measurement | None) -> list[str]:
        if m is None:
            return ["–"] * len(self.columns(group))
        amount = m.tflops if self.unit == "TFLOP/s" else m.gbps
        first = [rate(amount) if amount is not None else "–"] if self.unit else []
        graph = [_graph(m.graph)] if self.groups[group] else []
        counted = [_count(m.counted.get(name), *COUNTED[name]) for name in self.counted[group]]
        return first + [microseconds(m.seconds), percent(m.timing.spread).lstrip("±")] + graph + counted


def _graph(timing: Timing | None) -> str:
    return "" if timing is None else microseconds(timing.seconds)


def _count(value: float | None, head: str, scale: float) -> str:
    if value is None:
        return ""
    return rate(value * scale) if "GB" in head or "%" in head else f"{value * scale:,.0f}"


def _titles(ms: Measurements) -> list[str]:
    return [f"{', '.join(ms.ops)} · {label}" if i == 0 else label for i, label in enumerate(ms.labels)]


def _footer(ms: Measurements) -> list[str]:
    lines = [READING + (" " + GRAPH if any(m.graph for m in ms.items) else "")]
    if ms.roofs:
        lines.append(f"Roofs: {roofs_text(ms.roofs)}.")
    if any(name in READ_NAMES for m in ms.items for name, _ in m.counters):
        lines.append(READ)
    reasons: dict[str, int] = {}
    for failure in ms.failures:
        reasons[failure.reason] = reasons.get(failure.reason, 0) + 1
    lines += [f"Not measured: {count} × {reason}." for reason, count in reasons.items()]
    return lines + list(ms.notes)


def text_table(ms: Measurements) -> str:
    """The table as plain text; the same measurements give the same text everywhere."""
    if not ms.items:
        return "\n".join(["No measurements.", *ms.notes])
    grid = _Grid(ms)
    columns: list[list[str]] = []
    for i, head in enumerate(grid.heads()):
        columns.append(["", head, *(grid.row_head(key)[i] for key in grid.rows)])
    left = len(columns)
    for group in grid.groups:
        for i, head in enumerate(grid.columns(group)):
            columns.append(["", head, *(grid.cells(group, row.get(group))[i] for row in grid.rows.values())])
    widths = [max(len(cell) for cell in column) for column in columns]
    # an implementation's name stands over its columns; the last of them grows when the name is longer
    spans, at = [], left
    for group in grid.groups:
        n = len(grid.columns(group))
        name = group[0] + (f" ({_run_number(ms, group[1])})" if grid.several_runs else "")
        missing = len(name) - (sum(widths[at : at + n]) + 2 * (n - 1))
        widths[at + n - 1] += max(0, missing)
        spans.append((name, sum(widths[at : at + n]) + 2 * (n - 1)))
        at += n
    lines = _titles(ms)
    if grid.several_runs:
        lines = [f"({i + 1}) {line}" for i, line in enumerate(lines)]
    head = " " * (sum(widths[:left]) + 2 * (left - 1))
    lines.append("   ".join([head, *(name.center(width) for name, width in spans)]).rstrip())
    starts = set()
    at = left
    for group in grid.groups:
        starts.add(at)
        at += len(grid.columns(group))
    for r in range(1, len(columns[0])):
        line = ""
        for i, column in enumerate(columns):
            cell = column[r].ljust(widths[i]) if i < left else column[r].rjust(widths[i])
            line += ("" if i == 0 else "   " if i in starts else "  ") + cell
        lines.append(line.rstrip())
    width = max(80, *(len(line) for line in lines))
    return "\n".join(lines + [part for note in _footer(ms) for part in textwrap.wrap(note, width)])


def html_table(ms: Measurements) -> str:
    """The table for a notebook: header cells with scope, the caption says where the numbers come from."""
    if not ms.items:
        return "<p>No measurements.</p>"
    grid = _Grid(ms)
    caption = "<br>".join(
        escape(f"({i + 1}) {line}" if grid.several_runs else line) for i, line in enumerate(_titles(ms))
    )
    first = "".join(f'<th scope="col" rowspan="2">{head}</th>' for head in grid.heads())
    second = ""
    for group in grid.groups:
        name = group[0] + (f" ({_run_number(ms, group[1])})" if grid.several_runs else "")
        first += f'<th scope="colgroup" colspan="{len(grid.columns(group))}" style="text-align:center">{escape(name)}</th>'
        second += "".join(f'<th scope="col">{head}</th>' for head in grid.columns(group))
    body = ""
    for key, row in grid.rows.items():
        body += "<tr>" + "".join(f'<th scope="row">{_shape_html(text)}</th>' for text in grid.row_head(key))
        for group in grid.groups:
            body += "".join(f"<td>{escape(cell)}</td>" for cell in grid.cells(group, row.get(group)))
        body += "</tr>\n"
    footer = "<br>".join(escape(line) for line in _footer(ms))
    return (
        '<table class="tl-measurements">\n'
        f'<caption style="text-align:left">{caption}</caption>\n'
        f"<thead><tr>{first}</tr><tr>{second}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"
        f'<p class="tl-measurements-note"><small>{footer}</small></p>'
    )


def _run_number(ms: Measurements, label: str) -> int:
    return ms.labels.index(label) + 1


def _shape_html(text: str) -> str:
    return f"2<sup>{text[2:]}</sup>" if text.startswith("2^") else escape(text)
