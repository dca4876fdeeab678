"""Judge what a call did to memory: never written, read before written, never read, inputs changed or copied."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import torch

from ..trace.record import Launch, TensorArg, short
from .finding import Finding, at, call_on_line, indices, output_args, parsed, place
from .problem import Problem
from .run import Outcome, run_case

__all__ = ["judge_inputs", "judge_unread", "judge_unused", "judge_written", "places_written"]


def judge_inputs(outcome: Outcome, problem: Problem) -> list[Finding]:
    """Inputs that were changed in place, and inputs that a launch never saw because a copy was made."""
    found = []
    for position, own in outcome.built.changed():
        name = problem.parameters[position]
        if name not in problem.writes:
            found.append(_changed(outcome, position, name, own))
    if not problem.copies and outcome.trace.launches:
        seen = {a.address for launch in outcome.trace.launches for a in launch.args}
        for name, value in zip(problem.parameters, outcome.built.args):
            if isinstance(value, torch.Tensor) and value.numel() and value.untyped_storage().data_ptr() not in seen:
                detail = "The launch got other memory than the input's. A copy reads and writes everything once more; hand over the tensor itself and its strides."
                found.append(Finding("copied_input", outcome, dict(arg=name, detail=detail), dict(arg=name)))
                break
    return found


def judge_unused(outcomes: list[Outcome], problem: Problem) -> list[Finding]:
    """For a right answer: an input that no launch of any case was given, nor anything that holds its values. Then torch did the work."""
    for position, name in enumerate(problem.parameters):
        told = [o for o in outcomes if not o.case.raises and o.trace.launches and _telling(o, position)]
        if told and not any(_given(o, o.built.args[position]) for o in told):
            detail = (
                f"The values are right, but no launch was given {name}, or a copy of it: the arithmetic with {name} was done outside of a "
                "kernel, and what was launched only passes its result on. Hand the tensor to the kernel, and compute there."
            )
            return [Finding("rule", told[-1], dict(detail=detail), dict(arg=name))]
    return []


def _telling(outcome: Outcome, position: int) -> bool:
    """Whether an argument's values are its own: many random numbers, which no other tensor holds by chance."""
    spec, value = outcome.case.args[position], outcome.built.args[position]
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel() > 1 and getattr(spec, "values", "") == "random"


def _given(outcome: Outcome, value: torch.Tensor) -> bool:
    own = np.unique(value.double().numpy())
    args = [a for launch in outcome.trace.launches for a in launch.args]
    return any(a.address == value.untyped_storage().data_ptr() or a.before is None or np.isin(own, a.before.astype(np.float64)).all() for a in args)


def _changed(outcome: Outcome, position: int, name: str, own: bool) -> Finding:
    tensor = outcome.built.args[position]
    address = tensor.untyped_storage().data_ptr()
    if not own:
        detail = f"What changed lies beside {name} in the same allocation: another tensor's memory."
        return Finding("input_changed", outcome, dict(arg=name, detail=detail), dict(arg=name))
    for n, launch in enumerate(outcome.trace.launches):
        names = {a.name for a in launch.args if a.address == address}
        for access in launch.accesses:
            if access.arg in names and access.writes and access.mask.any():
                lane = int(np.flatnonzero(access.mask.reshape(-1))[0])
                where = f"Program {short(access.program)} writes it through {access.arg} in line {access.line}."
                return Finding("input_changed", outcome, dict(arg=name, detail=where), place(access, launch, lane), n)
    return Finding("input_changed", outcome, dict(arg=name, detail="No launch wrote it: it was changed outside of the kernel."), dict(arg=name))


def places_written(args: list[tuple[int, Launch, TensorArg]]) -> np.ndarray:
    """Element positions in the allocation that any access writes, through any of these arguments; may repeat."""
    found = [
        a.touched.reshape(-1) + arg.storage_offset
        for _, launch, arg in args
        for a in launch.accesses
        if a.arg == arg.name and a.writes
    ]
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)


def result_places(result: torch.Tensor) -> np.ndarray:
    """Element positions in the allocation, in the result's shape."""
    grid = np.full(tuple(result.shape), result.storage_offset(), dtype=np.int64)
    for axis, (n, s) in enumerate(zip(result.shape, result.stride())):
        grid = grid + (np.arange(n, dtype=np.int64) * s).reshape([-1 if i == axis else 1 for i in range(result.dim())])
    return grid


def judge_written(outcome: Outcome, which: int) -> list[Finding]:
    """Elements of one result that no launch wrote, or that were read before anything was written there.

    An unwritten element counts when its value is wrong or when it still is what fresh memory holds.
    """
    args = output_args(outcome, which)
    if any(launch.left_out for _, launch, _ in args):
        return []
    wanted, seen, bad = result_places(outcome.results[which]), outcome.seen[which], outcome.bad[which]
    written = places_written(args)
    fresh = np.isnan(seen) if seen.dtype.kind == "f" else np.zeros(seen.shape, dtype=bool)
    missing = ~np.isin(wanted, written) & ((bad if bad is not None else fresh) | fresh)
    if missing.any():
        return [_never(outcome, args, wanted, missing, written)]
    return _uninitialised(outcome, args, bad)


def _never(outcome: Outcome, args: list[Any], wanted: np.ndarray, missing: np.ndarray, written: np.ndarray) -> Finding:
    stores = [(n, launch, arg, a) for n, launch, arg in args for a in launch.accesses if a.arg == arg.name and a.writes]
    first = indices(missing)[0]
    words: dict[str, Any] = dict(zip(("what", "verb"), _which(missing)), pattern=_pattern(missing, stores))
    fields: dict[str, Any] = dict(index=first, arg=args[0][2].name if args else None)
    launch_number = args[-1][0] if args else 0
    if not written.size:
        words["cause"] = "No store of any program is on." if stores else _no_store(args)
        return Finding("never_written", outcome, words, fields, launch_number)
    for n, launch, arg, access in stores:
        hits = np.flatnonzero((access.offsets.reshape(-1) + arg.storage_offset == wanted[first]) & ~access.mask.reshape(-1))
        if hits.size:
            lane = int(hits[0])
            words["cause"] = (
                f"Program {short(access.program)}, line {access.line}, lane {lane} points at element {at(first)}, but its mask is off there."
            )
            return Finding("never_written", outcome, words, dict(place(access, launch, lane), index=first), n)
    lanes = sum(int(a.mask.size) for *_, a in stores)
    programs = {(n, a.program) for n, _, _, a in stores}
    places, times = np.unique(written, return_counts=True)
    single = _single_address(args, stores) if lanes < missing.size else ""
    if single:
        words["cause"] = single
    elif lanes < missing.size:
        words["cause"] = f"{_count(len(programs), 'program')} with {_count(lanes, 'lane')} in all cannot reach {missing.size} elements: the grid (or the loop) is too short."
    elif (times > 1).any():
        again = places[times > 1]
        words["cause"] = f"No lane points at element {at(first)}; instead {_count(again.size, 'element')} are written {int(times.max())} times over."
        words["cause"] += _same_tile(stores)
    else:
        words["cause"] = f"No lane of any program points at element {at(first)}."
    n, launch, _, access = stores[-1]
    return Finding("never_written", outcome, words, dict(place(access, launch), index=first), n)


def _no_store(args: list[Any]) -> str:
    empty = [launch for _, launch, _ in args if 0 in launch.grid]
    if empty and len(empty) == len(args):
        grid = tuple(empty[-1].grid)
        while len(grid) > 1 and grid[-1] == 1:
            grid = grid[:-1]
        return f"The grid is {grid}: no program ran. n // BLOCK_SIZE rounds down; triton.cdiv(n, BLOCK_SIZE) rounds up."
    return "The kernel stores nothing there."


def _single_address(args: list[Any], stores: list[Any]) -> str:
    """What is wrong when a kernel that never touches more than one element at a time was to touch a block."""
    if any(a.mask.size > 1 for _, launch, _ in args for a in launch.accesses):
        return ""
    _, launch, arg, access = stores[-1]
    tree = parsed(launch, access.function)
    names = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)} if tree else set()
    size = next((n for n in sorted(names) if "BLOCK" in n), "BLOCK_SIZE")
    call = call_on_line(tree, access.line, access.kind, arg.name)
    used = {n.id for n in ast.walk(call.args[0]) if isinstance(n, ast.Name)} - names if call and call.args else set()
    one = f"{used.pop()} is one number, not a block of them" if len(used) == 1 else "what is added to it is one number, not a block of them"
    return f"The pointer of this tl.{access.kind} is one address in each program: {one}. Add tl.arange(0, {size})."


def _same_tile(stores: list[Any]) -> str:
    by_program = {}
    for _, _, _, a in stores:
        by_program.setdefault(a.program, a)
    accesses = list(by_program.values())
    if len(accesses) > 1 and all(np.array_equal(a.offsets, accesses[0].offsets) for a in accesses[1:]):
        return " All programs make the same offsets: they do not depend on tl.program_id, or not on the axis that the grid has."
    return ""


def _count(n: int, word: str) -> str:
    return f"{n} {word}" + ("" if n == 1 else "s")


def _which(missing: np.ndarray) -> tuple[str, str]:
    total, n = missing.size, int(missing.sum())
    if n == total:
        return ("The only element" if n == 1 else f"All {n} elements"), ("was" if n == 1 else "were")
    if n == 1:
        return f"Element {at(indices(missing)[0])} (1 of {total})", "was"
    if missing.ndim > 1:
        columns = missing.reshape(-1, missing.shape[-1])
        if (columns == columns[0]).all() and _run(columns[0]):
            a, b = _run(columns[0])
            return f"Columns {a}…{b} of every row ({n} of {total} elements)", "were"
        full = missing.reshape(missing.shape[0], -1).all(axis=1)
        if full.sum() * (total // missing.shape[0]) == n and _run(full):
            a, b = _run(full)
            return (f"Rows {a}…{b}" if b > a else f"Row {a}") + f" ({n} of {total} elements)", "were"
        return f"{n} of {total} elements (the first is {at(indices(missing)[0])})", "were"
    run = _run(missing)
    if run:
        return f"Elements {run[0]}…{run[1]} ({n} of {total})", "were"
    where = np.flatnonzero(missing)
    step = np.diff(where)
    if n > 2 and (step == step[0]).all():
        return f"Elements {where[0]}, {where[1]}, {where[2]}, … ({n} of {total})", "were"
    return f"{n} of {total} elements (the first is {at(indices(missing)[0])})", "were"


def _run(mask: np.ndarray) -> tuple[int, int] | None:
    on = np.flatnonzero(mask)
    if on.size and on[-1] - on[0] + 1 == on.size:
        return int(on[0]), int(on[-1])
    return None


def _pattern(missing: np.ndarray, stores: list[Any]) -> str:
    run = _run(missing.reshape(-1))
    tile = max((int(a.mask.size) for *_, a in stores), default=0)
    if not run or missing.ndim != 1 or tile < 2 or run[1] != missing.size - 1 or run[0] == 0:
        return ""
    if run[0] % tile == 0:
        if run[1] - run[0] < tile:
            return ": the last tile"
        return ": everything after the first tile" if run[0] == tile else f": everything after the first {run[0] // tile} tiles"
    return ": the end of the last tile" if run[0] // tile == (missing.size - 1) // tile else ""


def never_read(outcome: Outcome, tensor: torch.Tensor) -> np.ndarray:
    """Which elements of an input no load of any launch reads, in its shape; none where the trace left accesses out."""
    address = tensor.untyped_storage().data_ptr()
    args = [(n, launch, a) for n, launch in enumerate(outcome.trace.launches) for a in launch.args if a.address == address]
    if not args or any(launch.left_out for _, launch, _ in args):
        return np.zeros(tuple(tensor.shape), dtype=bool)
    read = [
        a.touched.reshape(-1) + arg.storage_offset for _, launch, arg in args for a in launch.accesses if a.arg == arg.name and a.reads
    ]
    return ~np.isin(result_places(tensor), np.concatenate(read) if read else np.empty(0, dtype=np.int64))


def judge_unread(outcomes: list[Outcome], wrong: Finding, problem: Problem) -> Finding | None:
    """For wrong values: elements of an input that were never read, although the solution reads them, or right cases read all."""
    outcome = wrong.outcome
    solved = None
    for position, (name, tensor) in enumerate(zip(problem.parameters, outcome.built.args)):
        missing = never_read(outcome, tensor) if isinstance(tensor, torch.Tensor) else None
        if missing is None or not missing.any():
            continue
        solved = solved or run_case(problem.launcher, problem, outcome.case, outcome.number)
        if solved.right:
            missing &= ~never_read(solved, solved.built.args[position])
        elif any(never_read(o, o.built.args[position]).any() for o in outcomes if o.right and not o.case.raises and o.case.numel):
            continue
        if missing.any():
            what, verb = _which(missing)
            words = dict(what=what, verb=verb, arg=name, detail=wrong.words["detail"])
            return Finding("never_read", outcome, words, dict(wrong.fields, arg=name, offset=None, lane=None), wrong.launch)
    return None


def _uninitialised(outcome: Outcome, args: list[Any], bad: np.ndarray | None) -> list[Finding]:
    if bad is None or not bad.any():
        return []
    inputs = {a.untyped_storage().data_ptr() for a in outcome.built.args if isinstance(a, torch.Tensor)}
    known = np.empty(0, dtype=np.int64)
    for n, launch, arg in args:
        if arg.address in inputs or arg.before is None or arg.before.dtype.kind != "f":
            continue
        empty = arg.offsets()[np.isnan(arg.before)] + arg.storage_offset
        for access in launch.accesses:
            if access.arg != arg.name:
                continue
            spots = access.offsets.reshape(-1) + arg.storage_offset
            hits = np.flatnonzero(access.mask.reshape(-1) & np.isin(spots, empty) & ~np.isin(spots, known))
            if access.reads and hits.size:
                does = "adds to" if access.kind == "atomic_add" else "reads" if access.kind == "load" else f"does {access.kind} on"
                cause = f"Line {access.line} {does} what torch.empty left there: begin with torch.zeros, or store before reading."
                words = dict(program=short(access.program), arg=arg.name, offset=int(access.offsets.reshape(-1)[hits[0]]), cause=cause)
                return [Finding("uninitialised", outcome, words, place(access, launch, int(hits[0])), n)]
            if access.writes:
                known = np.union1d(known, spots[access.mask.reshape(-1)])
    return []
