"""Masks of tiles that are on where there is no element, or off where there is one, and the comparison that makes them so."""

from __future__ import annotations

import ast
import itertools
from typing import Any

import numpy as np

from ..analysis.lanes import index_of
from .faults import has_mask, made_mask
from .finding import Finding, call_on_line, lane_text, parsed, place
from .tiles import Block, groups, program_ids

__all__ = ["judge_masks"]

Rule = tuple[str, Any]
RIGHT: Rule = ("right", None)


def judge_masks(blocks: list[Block], all_blocks: list[Block]) -> Finding | None:
    """The first line whose masks are not those of the elements that exist, while one known mistake makes all of them.

    ``blocks`` are those of the outcome that is judged, ``all_blocks`` those of every outcome: one case alone seldom tells two mistakes apart.
    """
    everywhere = groups([b for b in all_blocks if _usable(b)], across=True)
    for key, group in groups([b for b in blocks if _usable(b)], across=True).items():
        wrong = [b for b in group if not np.array_equal(b.access.mask, _predicted(b, (RIGHT,) * len(b.names)))]
        if not wrong:
            continue
        seen = everywhere[key]
        for rules in _hypotheses(wrong[0]):
            if all(np.array_equal(b.access.mask, _predicted(b, rules)) for b in seen):
                return _finding(wrong[0], rules)
    return None


def _usable(block: Block) -> bool:
    return block.fits and block.tile() is not None and max(block.lanes) > 1


def _predicted(block: Block, rules: tuple[Rule, ...]) -> np.ndarray:
    """The mask that comparisons by these rules, one for each axis of the tensor, give the block."""
    tile = block.tile()
    assert tile is not None
    made = np.ones(block.access.mask.shape, dtype=bool)
    extents = dict(zip(block.names, block.extents))
    extents.update(_other_extents(block))
    for axis, (rule, other) in enumerate(rules):
        n, extent, b = block.lanes[axis], block.extents[axis], block.spread[axis]
        index = tile[axis] * n + np.arange(n)
        if n == 1:  # a scalar index is bounded by the grid, not by a mask
            continue
        on = {
            "right": index < extent,
            "relative": np.arange(n) < extent,
            "missing": np.ones(n, dtype=bool),
            "one too many": index <= extent,
            "other": index < extents.get(other, -1),
            "whole blocks": index < extent // n * n,
        }[rule]
        made &= on.reshape([-1 if i == b else 1 for i in range(made.ndim)])
    return made


def _other_extents(block: Block) -> dict[str, int]:
    return block.outcome.cache.get("extents", {})


def _hypotheses(block: Block) -> list[tuple[Rule, ...]]:
    """Combinations of one known mistake or none for each axis, the fewest mistakes first."""
    choices = []
    for axis, name in enumerate(block.names):
        if block.lanes[axis] == 1:
            choices.append([RIGHT])
            continue
        others = [("other", n) for n in _other_extents(block) if n != name]
        choices.append([RIGHT, ("relative", None), *others, ("one too many", None), ("whole blocks", None), ("missing", None)])
    call, _ = _call(block)
    if call is not None and not has_mask(call, block.access.kind):
        choices = [[("missing", None)] if len(c) > 1 else c for c in choices]
        return list(itertools.product(*choices))
    return sorted(itertools.product(*choices), key=lambda rules: sum(r != RIGHT for r in rules))[1:]


def _finding(block: Block, rules: tuple[Rule, ...]) -> Finding:
    access, arg = block.access, block.arg
    tile = block.tile()
    assert tile is not None
    right = _predicted(block, (RIGHT,) * len(block.names))
    lane = int(np.flatnonzero((access.mask != right).reshape(-1))[0])
    at = np.unravel_index(lane, access.mask.shape)
    index = [t * n + (int(at[b]) if b is not None else 0) for t, n, b in zip(tile, block.lanes, block.spread)]
    axis = next(a for a, r in enumerate(rules) if r != RIGHT and (access.mask.reshape(-1)[lane] == (index[a] >= block.extents[a])))
    name, extent = block.names[axis], block.extents[axis]
    offset = int(access.offsets.reshape(-1)[lane])
    does = {"load": "reads", "store": "writes"}.get(access.kind, f"does {access.kind} on")
    who = f"Program {program_ids(block)}, line {access.line}, lane {lane_text(lane, access.mask.shape)}"
    if access.mask.reshape(-1)[lane]:
        there = index_of(arg, offset)
        is_really = f"is really element {list(there)}" if there is not None else f"is no element of {arg.name}"
        what = f"{who} {does} index {index[axis]} along {name}, but {name} = {extent}: {arg.name}[{offset}] {is_really}."
    else:
        what = f"{who} is off, but it stands for index {index[axis]} along {name}, and {name} = {extent}: that element exists."
    detail = f"{what} {_cause(block, axis, rules)}".strip()
    return Finding("mask", block.outcome, dict(detail=detail), place(access, block.launch, lane), block.number)


def _cause(block: Block, axis: int, rules: tuple[Rule, ...]) -> str:
    access, name = block.access, block.names[axis]
    rule, other = rules[axis]
    call, tree = _call(block)
    summed = name not in block.result
    if rule == "missing":
        if call is not None and not has_mask(call, access.kind):
            made = made_mask(tree) if access.kind == "store" else None
            if made:
                return f"{made[0]} is made in line {made[1]}, but this tl.{access.kind} does not get it: mask={made[0]} is missing."
            return f"This tl.{access.kind} has no mask."
        text = f"Its mask says nothing about {name}."
        return text + (" Both operands need it: 0 in one does not cancel NaN or inf in the other." if summed else "")
    if rule == "relative":
        index = f"the chunk's start + tl.arange, or tl.arange < {name} - start" if summed else f"pid_{name.lower()} * BLOCK_{name} + tl.arange"
        return f"Its mask compares the index within the block, the same in every block, with {name}. Compare the absolute index, {index}."
    if rule == "one too many":
        return f"Its mask lets in the index that equals {name}: indices count from 0, so use `<`, not `<=`."
    if rule == "whole blocks":
        return f"Its mask leaves out the last block, which {name} does not fill: compare each index with {name}."
    exchanged = [r for r in rules if r[0] == "other"]
    text = f"Its mask compares the index along {name} with {other}"
    return text + (", and the bounds of both axes are exchanged." if len(exchanged) > 1 else f": its bound is {name}.")


def _call(block: Block) -> tuple[ast.Call | None, ast.AST | None]:
    """The call that made a block's access, where the source tells, and the function's tree."""
    access, tree = block.access, parsed(block.launch, block.access.function)
    call = call_on_line(tree, access.line, access.kind, block.arg.name)
    if call is None and tree is not None:
        call = _by_pointer(tree, access.line, access.kind, block.arg.name)
    return call, tree


def _by_pointer(tree: ast.AST, line: int, kind: str, arg: str) -> ast.Call | None:
    """Of several calls in a line the one whose pointers are named as the argument, a_ptrs for a_ptr."""
    stem = arg.removesuffix("_ptr")
    calls = [
        n for n in ast.walk(tree)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == kind and n.lineno == line and n.args
        and any(isinstance(m, ast.Name) and m.id in (arg, f"{stem}_ptrs") for m in ast.walk(n.args[0]))
    ]
    return calls[0] if len(calls) == 1 else None
