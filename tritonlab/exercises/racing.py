"""Judge races: what a call wrote that depends on the order in which programs, or lanes, come."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..analysis import find_races, output_coverage
from ..trace.record import Access, Launch, short
from .finding import Finding, number, place
from .run import Outcome

__all__ = ["judge_races"]

_DOES = {"stored": "stores to", "loaded": "reads"}
_ANY_ORDER = "On a GPU programs run at the same time, in any order, so the result can differ from run to run."


def judge_races(outcome: Outcome) -> list[Finding]:
    """Elements that the outcome of a race decides: stored with different values by two programs, or written by one and read, or changed
    with an atomic, by another."""
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
            va, vb = _two(*values[order][i : i + 2])
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
            va, vb = _two(first.value, other.value)
            what = (
                f"{arg}[{conflict.offset}] is written by program {short(first.program)} (line {first.line}: {va}) "
                f"and by program {short(other.program)} (line {other.line}: {vb})."
            )
            access = _of(launch, arg, other.program, other.line, conflict.offset)
            return Finding("race", outcome, dict(what=what, cause=_ANY_ORDER), _place(access, launch, conflict.offset), n)
    return None


def _read_and_written(outcome: Outcome, launch: Launch, n: int) -> Finding | None:
    races = find_races(launch)
    for race in races.candidates:
        if race.writer_kind == race.other_kind == "stored" or races.note.startswith("the kernel uses"):
            continue  # two plain stores: what they store decides, above
        what = (
            f"Program {short(race.writer)} {_DOES.get(race.writer_kind, f'does {race.writer_kind} on')} {race.arg}[{race.offset}] "
            f"(line {race.writer_line}), and program {short(race.other)} {_DOES.get(race.other_kind, f'does {race.other_kind} on')} it "
            f"in the same launch (line {race.other_line})."
        )
        access = _of(launch, race.arg, race.writer, race.writer_line, race.offset)
        return Finding("race", outcome, dict(what=what, cause=_ANY_ORDER), _place(access, launch, race.offset), n)
    return None


def _two(a: Any, b: Any) -> tuple[str, str]:
    """Two different values, with as many digits as it takes to tell them apart."""
    texts = number(a), number(b)
    return texts if texts[0] != texts[1] else (f"{a:.9g}", f"{b:.9g}")


def _of(launch: Launch, arg: str, program: Any, line: int, offset: int) -> Access:
    return next(
        a for a in launch.accesses if a.arg == arg and a.program == program and a.line == line and (a.touched == offset).any()
    )


def _place(access: Access, launch: Launch, offset: int) -> dict[str, Any]:
    lane = int(np.flatnonzero(((access.offsets == offset) & access.mask).reshape(-1))[0])
    return place(access, launch, lane)
