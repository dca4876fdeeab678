"""Pointers of a tile that go wrong: where a block begins and how its lanes lie apart.

Each judge looks at the blocks of one outcome whatever the answer's source looks like, and says nothing unless one known
mistake fits every block of a line.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ..trace.record import Launch
from .finding import Finding, place
from .tiles import Block, groups, program_ids

__all__ = ["judge_block_start", "judge_lane_step", "point_at", "stride_name", "who"]

Tile = dict[str, int]


def stride_name(launch: Launch, value: int, arg: str) -> str:
    """The scalar argument that holds a stride, by its name where one has it: "stride_am = 20"; else the value."""
    letter = arg.split("_")[0][:1]
    names = [n for n, v in launch.scalars.items() if v == value and not isinstance(v, bool) and "stride" in n.lower()]
    own = [n for n in names if n.lower().startswith(f"stride_{letter}")]
    return f"{(own or names)[0]} = {value}" if names else str(value)


def point_at(code: str, block: Block, detail: str) -> Finding:
    """A finding at the first lane of a block."""
    return Finding(code, block.outcome, dict(detail=detail), place(block.access, block.launch, 0), block.number)


def who(block: Block) -> str:
    """The program and the line of a block, in words."""
    return f"program {program_ids(block)}, line {block.access.line}"


# lanes


def judge_lane_step(blocks: list[Block]) -> Finding | None:
    """Lanes that lie apart as no stride of their tensor says."""
    for block in blocks:
        if block.fits or block.access.mask.sum() < 2:
            continue
        strides = block.arg.strides
        moving = [a for a, n in enumerate(block.access.offsets.shape) if n > 1]
        axis = next((a for a in reversed(moving) if block.steps[a] and block.steps[a] not in strides), None)
        if axis is None and len(moving) == len(strides) == 2:
            axis = next((a for a, s in zip(moving, strides) if block.steps[a] != s), None)
        if axis is None:
            continue
        step, wanted = block.steps[axis], strides[moving.index(axis) - len(moving)]
        down = "next to each other" if axis == len(block.access.offsets.shape) - 1 else "below each other"
        owner = next((f": that is a stride of {a.name}" for a in block.launch.args if a.name != block.arg.name and step != 1 and step in a.strides), "")
        name = block.names[moving.index(axis) - len(moving)]
        detail = (
            f"In {who(block)}, lanes {down} in the block are {step} apart in {block.arg.name}{owner}. Its shape is {block.arg.shape} and its "
            f"strides are {strides}: from one {name} to the next it is {wanted}. The index along {name} times the stride of {name}, and that "
            "stride handed over under its own name."
        )
        return point_at("lane_step", block, detail)
    return None


# the start of a block


def judge_block_start(blocks: list[Block]) -> Finding | None:
    """A block that begins at (tile × BLOCK) scaled by a stride too often or not at all, or at the tile's number itself."""
    out = {n for b in blocks for n in b.result}
    first = [b for b in blocks if b.fits and b.ordinal == 0]
    reference = _reference(first, out)
    for group in groups(first).values():
        wrong = [b for b in group if not _right(b, reference, out)]
        if not wrong:
            continue
        known = all(set(reference.get((b.number, b.access.program), ())) >= out & set(b.names) for b in wrong)
        for axis, name in enumerate(group[0].names):
            if name not in out or group[0].lanes[axis] == 1:
                continue
            for kind, q in _scalings(group[0], axis, known):
                fitting = [_fitting(b, reference, axis, kind, q, out) for b in wrong]
                if None not in fitting:
                    return _start_finding(wrong[0], axis, fitting[0][name], kind, q)  # type: ignore[index]
    return None


def _reference(first: list[Block], out: set[str]) -> dict[Any, Tile]:
    """Which tile each program works on: by its ids, by what it loads, or by what it stores, whichever fits most blocks."""
    tables: list[dict[Any, Tile]] = []
    programs = {(b.number, b.access.program): b.launch for b in first}
    if any(sum(n > 1 for n in launch.grid) > 1 for launch in programs.values()):
        names = list(dict.fromkeys(n for b in first for n in b.names if n in out))
        for way in itertools.permutations(range(3), min(len(names), 3)):
            tables.append({key: {n: key[1][g] for n, g in zip(names, way)} for key in programs})
    for part in ([b for b in first if not b.out], [b for b in first if b.out]):
        table: dict[Any, Tile] = {}
        for b in part:
            own = table.setdefault((b.number, b.access.program), {})
            at = b.inside() or {}
            if not any(t for n, t in at.items() if n not in out):
                own.update({n: t for n, t in at.items() if n in out and n not in own})
        tables.append(table)

    def score(table: dict[Any, Tile]) -> float:
        whole = [out & set(b.names) <= set(table.get((b.number, b.access.program), ())) for b in first]
        return sum((1.0 if w else 0.4) for b, w in zip(first, whole) if _right(b, table, out))

    return max(tables, key=score)


def _candidates(block: Block, reference: dict[Any, Tile], out: set[str], past: bool = False) -> Iterator[Tile]:
    """The tiles that the block may be meant to be: one where its program's is known, else all (``past``: and as many as there are programs)."""
    known = reference.get((block.number, block.access.program), {})
    choices = []
    for axis, name in enumerate(block.names):
        many = max(block.count(axis), block.launch.programs if past else 1)
        choices.append(range(1) if name not in out else [known[name]] if name in known else range(many))
    return (dict(zip(block.names, way)) for way in itertools.product(*choices))


def _rest(block: Block, tile: Tile, out: set[str], but: int | None = None) -> int:
    return sum(tile[n] * block.unit(a) for a, n in enumerate(block.names) if n in out and a != but)


def _inner(block: Block, left: int, out: set[str]) -> bool:
    """Whether an offset is 0, or the start of a chunk along the axis that is summed over."""
    inner = [a for a, n in enumerate(block.names) if n not in out]
    return left == 0 or any(left > 0 and left % block.unit(a) == 0 and left // block.unit(a) < block.count(a) for a in inner)


def _right(block: Block, reference: dict[Any, Tile], out: set[str]) -> bool:
    return any(_inner(block, block.origin - _rest(block, way, out), out) for way in _candidates(block, reference, out, past=True))


def _scalings(block: Block, axis: int, known: bool) -> list[tuple[str, int]]:
    """The mistakes to try, (kind, stride): those that many tiles could explain only where the program's tile is known."""
    own = block.arg.strides[axis]
    others = {s for a in block.launch.args for s in a.strides if s > 1} - {own}
    twice = [("twice", q) for q in ([own] if own > 1 else []) + sorted(others)]
    if not known:
        return twice
    exchanged = [("exchanged", s) for s in block.arg.strides if s != own] if block.across(axis) else []
    return [*exchanged, *([("none", 0)] if own > 1 else []), *twice, ("number", 0), ("missing", 0)]


def _fitting(block: Block, reference: dict[Any, Tile], axis: int, kind: str, q: int, out: set[str]) -> Tile | None:
    """The first candidate tile whose start along an axis, computed by a known mistake, is where the block begins."""
    n, s = block.lanes[axis], block.arg.strides[axis]
    for way in _candidates(block, reference, out):
        t = way[block.names[axis]]
        start = {"twice": t * n * q * s, "exchanged": t * n * q, "none": t * n, "number": t * s, "missing": 0}[kind]
        if t and _inner(block, block.origin - start - _rest(block, way, out, axis), out):
            return way
    return None


def _start_finding(block: Block, axis: int, t: int, kind: str, q: int) -> Finding:
    n, s, name, arg = block.lanes[axis], block.arg.strides[axis], block.names[axis], block.arg.name
    stride, start = stride_name(block.launch, s, arg), t * n
    if kind == "exchanged":
        detail = (
            f"The strides of {arg} are exchanged: in {who(block)}, the index along {name} is multiplied by {q}, but its stride is {s}. "
            f"The shape of {arg} is {block.arg.shape} and its strides are {block.arg.strides}; each goes with its own index."
        )
        return point_at("lane_step", block, detail)
    head = f"In {who(block)}, the block of {arg} begins at {arg}[{block.origin}]"
    right = f"Its tile is number {t} along {name}: index {t}·{n} = {start}" + (f", {start}·{s} = {start * s} elements in." if s > 1 else ".")
    if kind == "twice" and q == s:
        what = f"{start}·{s}·{s} = {start * s * s}: the start is scaled by the stride ({stride}) twice. A block's start is an index, {t}·{n}; multiply by the stride once, last."
    elif kind == "twice":
        other = stride_name(block.launch, q, arg)
        what = f"index {start}·{q} = {start * q} along {name}: a start that is scaled by a stride already ({other}) is used as an index. A block's start is an index, {t}·{n}; strides come last, once each."
    elif kind == "none":
        what = f"its start along {name}, {t}·{n} = {start}, is added as it is, without the stride ({stride}). It is an index, not a number of elements: multiply it by the stride as the lanes are."
    elif kind == "number":
        what = f"its start along {name} is the tile's number, {t}, itself. Multiply it by the size of a block, {t}·{n}."
    else:
        what = f"index 0 along {name}, where tile 0 begins: the tile's own start is missing."
    return point_at("block_start", block, f"{head}: {what} {right}")
