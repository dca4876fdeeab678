"""Small text tables, the same everywhere."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["count", "table"]

SHOWN = 16
"""Rows that a table shows before it counts the rest."""


def count(n: int, one: str, many: str = "") -> str:
    """A number with its noun: ``count(1, "lane")`` → "1 lane"."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def table(
    title: str,
    headers: Sequence[str],
    rows: Sequence[Sequence[object]],
    note: str = "",
    last: Sequence[object] | None = None,
    rest: str = "row",
) -> str:
    """A titled table: numbers right-aligned with thousands separators, text left-aligned.

    ``last`` is a totals row below a rule. Rows past ``SHOWN`` are counted, not shown.
    """
    shown = list(rows[:SHOWN]) + ([last] if last else [])
    right = [all(isinstance(row[i], (int, float)) for row in shown) and bool(shown) for i in range(len(headers))]
    cells = [[_cell(v) for v in row] for row in shown]
    widths = [max(len(h), *(len(c[i]) for c in cells)) if cells else len(h) for i, h in enumerate(headers)]

    def line(row: Sequence[str]) -> str:
        return "  ".join(v.rjust(w) if r else v.ljust(w) for v, w, r in zip(row, widths, right)).rstrip()

    rule = "  ".join("─" * w for w in widths)
    body = [line(c) for c in cells]
    out = [title, line(list(headers)), rule]
    if last:
        out += body[:-1] + [rule, body[-1]]
    else:
        out += body
    if len(rows) > SHOWN:
        out.insert(3 + SHOWN, f"… {count(len(rows) - SHOWN, 'more ' + rest, 'more ' + rest + 's')}")
    if note:
        out.append(note)
    return "\n".join(out)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return str(value)
