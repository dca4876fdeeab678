"""Loops over chunks of the summed axis that do not go from one to the next, or leave out the last."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

from .addresses import point_at, stride_name, who
from .finding import Finding
from .tiles import Block, cdiv, groups, program_ids

__all__ = ["judge_chunk_step"]


def judge_chunk_step(blocks: list[Block]) -> Finding | None:
    """A loop whose blocks do not follow each other chunk by chunk, or that ends before the last, partial chunk."""
    out = {n for b in blocks for n in b.result}
    for group in groups([b for b in blocks if b.fits and not b.out and not b.access.writes]).values():
        block = group[0]
        inner = [a for a, n in enumerate(block.names) if n not in out and block.lanes[a] > 1]
        if len(inner) != 1 or block.count(inner[0]) < 2:
            continue
        sequences: dict[Any, list[Block]] = {}
        for b in group:
            sequences.setdefault(b.access.program, []).append(b)
        every = list(sequences.values())
        short = _part_left_out if _splits(block) else _too_short
        found = _jumps(every, inner[0]) or short(every, inner[0])
        if found is not None:
            return found
    return None


def _splits(block: Block) -> dict[str, int]:
    """The arguments that say among how many programs an axis is shared out, where that is more than one."""
    return {k: v for k, v in {**block.launch.meta, **block.launch.scalars}.items() if "SPLIT" in k.upper() and isinstance(v, int) and v > 1}


def _part_left_out(sequences: list[list[Block]], axis: int) -> Finding | None:
    """An axis shared out among programs, whose parts leave out its end or begin within a chunk that another one loads."""
    block = sequences[0][0]
    if block.launch.error or block.launch.left_out:
        return None
    (split, parts), *_ = _splits(block).items()
    n, extent, name = block.lanes[axis], block.extents[axis], block.names[axis]
    part, end = extent // parts, 1 + max(_last(b, axis) for seq in sequences for b in seq)
    whole = f"every {split}-th chunk: range(pid_k * BLOCK_{name}, {name}, {split} * BLOCK_{name})"
    if end < extent:
        cause = f"Parts of {name} // {split} = {part} leave out the rest: {parts}·{part} = {end}. " if part * parts == end else ""
        text = (
            f"No program reads the last {extent - end} of {name} = {extent}. {cause}Either a part is tl.cdiv({name}, {split}), "
            f"and its loads are masked where it ends, or each program takes {whole}."
        )
        return dataclasses.replace(point_at("chunk_step", sequences[-1][-1], text), words=dict(detail=text, cause=cause))
    for before, seq in itertools.permutations(sequences, 2):
        begin, reached = _at(seq[0].origin, seq[0], axis), _last(before[-1], axis)
        same = before[0].access.program[:2] == seq[0].access.program[:2]
        if same and begin % n and _at(before[0].origin, before[0], axis) < begin <= reached:
            text = (
                f"{who(before[-1]).capitalize()}, reads {name} up to {reached}, but program {program_ids(seq[0])} begins at {begin}: what lies between is added twice. "
                f"A part that is no multiple of {n} must mask its last chunk where the part ends; or each program takes {whole}."
            )
            return point_at("chunk_step", seq[0], text)
    return None


def _at(offset: Any, block: Block, axis: int) -> Any:
    """The index along an axis of an offset (or an array of them) into a block's tensor."""
    for a in sorted(block.axes, key=lambda a: -block.arg.strides[a]):
        if a == axis:
            return offset // block.arg.strides[a]
        offset = offset % block.arg.strides[a]
    return offset


def _last(block: Block, axis: int) -> int:
    """The last index along an axis that a block reads; -1 where it reads nothing."""
    touched = block.access.touched.reshape(-1)
    return int(_at(touched, block, axis).max()) if touched.size else -1


def _jumps(sequences: list[list[Block]], axis: int) -> Finding | None:
    long = [s for s in sequences if len(s) > 1]
    if not long:
        return None
    block = long[0][0]
    n, s = block.lanes[axis], block.arg.strides[axis]
    right = n * s
    moves = [[b.origin - a.origin for a, b in zip(seq, seq[1:])] for seq in long]
    if all(m == right for ms in moves for m in ms):
        return None
    splits = _splits(block).values()
    every = {m for ms in moves for m in ms}
    at, name, arg = long[0][1], block.names[axis], block.arg.name
    head = f"In {who(at)}, a step of {n} along {name} is {n}·{s} = {right} elements of {arg}"
    growing = all(ms == [(i + 1) * right for i in range(len(ms))] or ms == [i * right for i in range(len(ms))] for ms in moves)
    stride = stride_name(block.launch, s, arg)
    if every == {0}:
        text = f"In {who(at)}, every step of the loop reads the same block of {arg}, from {arg}[{block.origin}] on: its pointers do not move. Advance them by {n}·{s} = {right} elements a step, BLOCK_{name} times the stride."
    elif growing and max(len(m) for m in moves) > 1:
        third = next(seq for seq in long if len(seq) > 2)
        text = f"In {who(third[2])}, the blocks of {arg} begin at {', '.join(str(b.origin) for b in third[:4])}: each step is longer than the one before. An offset that counts from the start of {name} is added to pointers that have moved already. Keep one of the two."
        at = third[2]
    elif every == {2 * right} and 2 not in splits:
        text = f"{head}, but the block moves by {at.origin - long[0][0].origin}: the chunk's offset is applied twice. Either the pointers move, or the index along {name} does, not both; the mask follows that one."
    elif len(every) == 1 and (across := next((b for b, r in enumerate(block.arg.strides) if b != axis and r > 1 and every == {n * r}), None)) is not None:
        text = f"{head}, but the block moves by {n}·{block.arg.strides[across]}, along {block.names[across]}: the step is multiplied by the stride of the other axis."
    elif s > 1 and every == {n}:
        text = f"{head}, but the block moves by {n}: the step is added without the stride ({stride})."
    elif s > 1 and every == {n * s * s}:
        text = f"{head}, but the block moves by {n * s * s}: the step is scaled by the stride ({stride}) twice."
    elif every == {s}:
        text = f"{head}, but the block moves by {s}, one {name}: the loop's counter counts chunks; multiply it by the size of a chunk, {n}."
    else:
        return None
    return point_at("chunk_step", at, text)


def _too_short(sequences: list[list[Block]], axis: int) -> Finding | None:
    """All chunks are read but the last, which the extent does not fill."""
    block = sequences[0][0]
    if block.launch.error or block.launch.left_out or block.extents[axis] % block.lanes[axis] == 0:
        return None
    tiles = [b.tile() for seq in sequences for b in seq]
    read = {t[axis] for t in tiles if t is not None}
    if None in tiles or read != set(range(block.count(axis) - 1)):
        return None
    n, extent, name = block.lanes[axis], block.extents[axis], block.names[axis]
    last = sequences[0][-1]
    text = (
        f"In {who(last)}, the loop over {name} ends after {len(read)} chunk{'s' if len(read) > 1 else ''} of {n}, but {name} = {extent}: "
        f"the last {extent % n} need a step of their own. {extent} // {n} rounds down; tl.cdiv({name}, {n}) = {cdiv(extent, n)}, or range(0, {name}, {n})."
    )
    return point_at("chunk_step", last, text)
