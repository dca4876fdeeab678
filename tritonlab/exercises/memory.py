"""Judge what a call did to memory: never written, read before written, raced for, inputs changed or copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..analysis import find_races, output_coverage
from ..trace.record import Access, Launch, TensorArg, short
from .finding import Finding, at, indices, number, output_args, place
from .problem import Problem
from .run import Outcome

__all__ = ["judge_inputs", "judge_races", "judge_written", "places_written"]


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
        words["cause"] = "No store of any program is on." if stores else "The kernel stores nothing there."
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
    if lanes < missing.size:
        words["cause"] = f"{_count(len(programs), 'program')} with {lanes} lanes in all cannot reach {missing.size} elements: the grid (or the loop) is too short."
    elif (times > 1).any():
        again = places[times > 1]
        words["cause"] = f"No lane points at element {at(first)}; instead {_count(again.size, 'element')} are written {int(times.max())} times over."
        words["cause"] += _same_tile(stores)
    else:
        words["cause"] = f"No lane of any program points at element {at(first)}."
    n, launch, _, access = stores[-1]
    return Finding("never_written", outcome, words, dict(place(access, launch), index=first), n)


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


_ANY_ORDER = "On a GPU programs run at the same time, in any order, so the result can differ from run to run."


def judge_races(outcome: Outcome) -> list[Finding]:
    """Elements that the outcome of a race decides: stored with different values by two programs, or read by one and written by another."""
    for n, launch in enumerate(outcome.trace.launches):
        found = _lanes_collide(outcome, launch, n)
        if found is None and launch.programs > 1:
            found = _stored_twice(outcome, launch, n) or _read_and_written(outcome, launch, n)
        if found is not None:
            return [found]
    return []


def _lanes_collide(outcome: Outcome, launch: Launch, n: int) -> Finding | None:
    for access in launch.accesses:
        if access.kind != "store" or access.values is None:
            continue
        lanes = np.flatnonzero(access.mask.reshape(-1))
        offsets = access.offsets.reshape(-1)[lanes]
        if np.unique(offsets).size == offsets.size:
            continue
        values = np.broadcast_to(access.values, access.mask.shape).reshape(-1)[lanes]
        order = np.argsort(offsets, kind="stable")
        same = offsets[order][1:] == offsets[order][:-1]
        differ = same & (values[order][1:] != values[order][:-1]) & ~(np.isnan(values[order][1:].astype(float)))
        if differ.any():
            i = int(np.flatnonzero(differ)[0])
            a, b = (int(lanes[k]) for k in order[i : i + 2])
            va, vb = (number(v) for v in values[order][i : i + 2])
            what = (
                f"Lanes {a} and {b} of program {short(access.program)} store different values ({va} and {vb}) to "
                f"{access.arg}[{int(offsets[order][i])}] in line {access.line}."
            )
            words = dict(what=what, cause="Only one of them stays; to combine them use an atomic, such as tl.atomic_add.")
            return Finding("race", outcome, words, place(access, launch, b), n)
    return None


def _stored_twice(outcome: Outcome, launch: Launch, n: int) -> Finding | None:
    for arg in dict.fromkeys(a.arg for a in launch.accesses if a.kind == "store"):
        for conflict in output_coverage(launch, arg).conflicts:
            first = conflict.writes[0]
            other = next((w for w in conflict.writes if w.program != first.program and w.value != first.value), None)
            if other is None:
                continue
            what = (
                f"{arg}[{conflict.offset}] is written by program {short(first.program)} (line {first.line}: {number(first.value)}) "
                f"and by program {short(other.program)} (line {other.line}: {number(other.value)})."
            )
            access = _of(launch, arg, other.program, other.line, conflict.offset)
            return Finding("race", outcome, dict(what=what, cause=_ANY_ORDER), _place(access, launch, conflict.offset), n)
    return None


def _read_and_written(outcome: Outcome, launch: Launch, n: int) -> Finding | None:
    races = find_races(launch)
    for race in races.candidates:
        if race.other_kind != "loaded" or races.note.startswith("the kernel uses"):
            continue
        written = "stores to" if race.writer_kind == "stored" else f"does {race.writer_kind} on"
        what = (
            f"Program {short(race.writer)} {written} {race.arg}[{race.offset}] (line {race.writer_line}), "
            f"and program {short(race.other)} reads it in the same launch (line {race.other_line})."
        )
        access = _of(launch, race.arg, race.writer, race.writer_line, race.offset)
        return Finding("race", outcome, dict(what=what, cause=_ANY_ORDER), _place(access, launch, race.offset), n)
    return None


def _of(launch: Launch, arg: str, program: Any, line: int, offset: int) -> Access:
    return next(
        a for a in launch.accesses if a.arg == arg and a.program == program and a.line == line and (a.touched == offset).any()
    )


def _place(access: Access, launch: Launch, offset: int) -> dict[str, Any]:
    lane = int(np.flatnonzero(((access.offsets == offset) & access.mask).reshape(-1))[0])
    return place(access, launch, lane)
