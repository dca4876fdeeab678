"""Experiments on a wrong answer: run a failing case again with one thing changed, and see what it does."""

from __future__ import annotations

import ast
import re
from typing import Any, Callable

import numpy as np
import torch

from ..trace.record import short
from .finding import Finding, number, output_args, parsed, place
from .memory import result_places
from .problem import Problem
from .run import Outcome, run_case
from .values import describe, first_bad, stored_by

__all__ = ["fill_finding", "leak_finding", "low_precision_local", "unfed_finding", "unnamed_fill_finding"]

_OTHER_FILL = 3.0


def _masked_loads(outcome: Outcome) -> list[tuple[int, Any, Any]]:
    """(launch number, launch, access): the first load with a masked lane of each line and argument."""
    found: dict[tuple[int, str], tuple[int, Any, Any]] = {}
    for n, launch in enumerate(outcome.trace.launches):
        for access in launch.accesses:
            if access.kind == "load" and not access.mask.all():
                found.setdefault((access.line, access.arg), (n, launch, access))
    return list(found.values())


def _again(fn: Callable[..., Any], problem: Problem, outcome: Outcome, fill: float, lines: Any = None, unnamed: bool = False) -> Outcome:
    from ..runtime import masked_fill

    return run_case(fn, problem, outcome.case, outcome.number, around=masked_fill(fill, lines, unnamed))


def fill_finding(fn: Callable[..., Any], problem: Problem, outcome: Outcome) -> Finding | None:
    """A fill that would mend the case: tried line by line, then everywhere."""
    loads = _masked_loads(outcome)
    lines = sorted({access.line for *_, access in loads})
    trials = [[line] for line in lines] + ([lines] if len(lines) > 1 else [])
    for chosen in trials:
        for fill in problem.fills:
            if _again(fn, problem, outcome, fill, chosen).right:
                n, launch, access = next(x for x in loads if x[2].line == chosen[0])
                detail = f"{_fill_of(access)} With {number(fill)} there the result is right."
                return Finding("fill", outcome, dict(detail=detail), _fill_place(access, launch, outcome), n)
    return None


def leak_finding(fn: Callable[..., Any], problem: Problem, outcome: Outcome) -> Finding | None:
    """The proof that masked lanes reach the result: it becomes another one with another fill. Says nothing unless the masked lanes
    are known to be where the mistake is, since a right fill matters as well."""
    loads = _masked_loads(outcome)
    for line in sorted({access.line for *_, access in loads}):
        again = _again(fn, problem, outcome, _OTHER_FILL, [line])
        if again.error is not None or _same(again, outcome):
            continue
        n, launch, access = next(x for x in loads if x[2].line == line)
        detail = (
            f"{_fill_of(access)} With {number(_OTHER_FILL)} there the result is another one, and no one fill makes it right. "
            "Either they reach a reduction through other arithmetic (take them out there, tl.where(mask, value, 0)), "
            "or they are counted (a mean divides by the true length, not by the block's)."
        )
        return Finding("fill", outcome, dict(detail=detail), _fill_place(access, launch, outcome), n)
    return None


def unfed_finding(fn: Callable[..., Any], problem: Problem, outcome: Outcome) -> Finding | None:
    """A lane that stores the first wrong element, but whose value one load masked off: only such lanes change with that load's fill."""
    which, index = first_bad(outcome)
    found = stored_by(outcome, which, index)
    if found is None:
        return None
    n, launch, store, lane = found
    before = launch.accesses[: next(i for i, a in enumerate(launch.accesses) if a is store)]
    loads = {(a.line, a.arg): a for a in before if a.kind == "load" and a.program == store.program and a.mask.size == store.mask.size}
    for load in loads.values():
        masked = ~load.mask.reshape(-1)
        if not masked[lane]:
            continue
        again = _again(fn, problem, outcome, _OTHER_FILL, [load.line])
        if again.error is not None or len(again.seen) != len(outcome.seen):
            continue
        moved = (again.seen[which] != outcome.seen[which]) & ~(np.isnan(again.seen[which]) & np.isnan(outcome.seen[which]))
        own = np.isin(result_places(outcome.results[which]), _places(outcome, which, store, masked & store.mask.reshape(-1)))
        others = np.isin(result_places(outcome.results[which]), _places(outcome, which, store, ~masked & store.mask.reshape(-1)))
        if moved[own].any() and not moved[others].any():
            detail = (
                f"Lane {lane} of program {short(store.program)} loads nothing from {load.arg} ({_fill_of(load)[:-1]}), but it is on "
                f"in the store of line {store.line}, {store.arg}[{int(store.offsets.reshape(-1)[lane])}]: a lane that is stored needs its value."
            )
            return Finding("fill", outcome, dict(detail=detail), dict(_fill_place(load, launch, outcome), lane=lane), n)
    return None


def _places(outcome: Outcome, which: int, access: Any, lanes: np.ndarray) -> np.ndarray:
    start = next(arg.storage_offset for _, _, arg in output_args(outcome, which) if arg.name == access.arg)
    return access.offsets.reshape(-1)[lanes] + start


def unnamed_fill_finding(fn: Callable[..., Any], problem: Problem, outcome: Outcome) -> Finding | None:
    """For a right case: whether it is right only because masked lanes without ``other`` happen to be 0 here."""
    loads = [x for x in _masked_loads(outcome) if not x[2].other]
    if not loads:
        return None
    again = _again(fn, problem, outcome, float("nan"), None, True)
    if again.right:
        return None
    n, launch, access = loads[0]
    detail = (
        f"Line {access.line} loads {access.arg} with a mask and names no other: what its masked lanes hold is undefined. "
        "It is 0 here; with NaN there the result is wrong."
    )
    return Finding("fill", outcome, dict(detail=detail), _fill_place(access, launch, outcome), n)


def _same(a: Outcome, b: Outcome) -> bool:
    return all(x.shape == y.shape and np.array_equal(x.astype(float), y.astype(float), equal_nan=True) for x, y in zip(a.seen, b.seen))


def _masked_lane(access: Any) -> int:
    return int(np.flatnonzero(~access.mask.reshape(-1))[0])


def _fill_of(access: Any) -> str:
    if access.values is None:
        return f"Line {access.line} fills the masked lanes of {access.arg}."
    value = np.broadcast_to(access.values, access.mask.shape).reshape(-1)[_masked_lane(access)]
    named = "" if access.other else " (it names no other)"
    return f"Line {access.line} fills the masked lanes of {access.arg} with {number(value)}{named}."


def _fill_place(access: Any, launch: Any, outcome: Outcome) -> dict[str, Any]:
    which, index = first_bad(outcome) if not outcome.right else (0, None)
    fields = dict(place(access, launch, _masked_lane(access)), offset=None)
    if index is not None:
        fields.update(index=index, expected=outcome.expected[which][index].item(), seen=outcome.seen[which][index].item())
    return fields


def low_precision_local(fn: Callable[..., Any], problem: Problem, outcome: Outcome) -> tuple[str, dict[str, Any], int] | None:
    """For a result that is a little off: the first 16-bit variable that the program computes (not just loads)."""
    which, index = first_bad(outcome)
    text, fields, n = describe(outcome, which, index)
    if "program" not in fields or fields["program"] is None:
        return None
    again = run_case(fn, problem, outcome.case, outcome.number, step=fields["program"])
    if n >= len(again.trace.launches):
        return None
    launch = again.trace.launches[n]
    for step in launch.steps.get(fields["program"], ()):
        at_ = f"(program {short(step.program)}, line {step.line})"
        found = dict(fields, line=step.line, source=step.text.strip(), lane=None, arg=None, offset=None)
        if any(launch.accesses[i].kind == "load" for i in step.accesses) and "+=" not in step.text:
            continue
        for local in step.locals:
            if local.name not in step.changed:
                continue
            if local.dtype == "float32" and _accumulates(launch, step, local.name, "(") and ".to(" in step.text and (kind := _narrow(local.values)):
                return f"{local.name} is rounded to {kind} in each step of the loop {at_}: let it stay float32, and convert once at the end. {text}", found, n
            if local.dtype not in ("float16", "bfloat16"):
                continue
            if ".to(" not in step.text or _accumulates(launch, step, local.name):
                return f"{local.name} is {local.dtype} {at_}: accumulate in float32, and convert once at the end. {text}", found, n
        narrow = re.search(r"out_dtype\s*=\s*tl\.(b?float16)", step.text)
        if narrow:
            where = f"this tl.dot gives {narrow[1]} {at_}: leave out_dtype out, float32 is what it gives by itself."
            return f"{where} {text}", found, n
    return None


def _narrow(values: Any) -> str:
    """The 16-bit type that holds every one of these values, "" if none does."""
    if values is None or not np.isfinite(values).all():
        return ""
    wide = torch.from_numpy(np.array(values, dtype=np.float32))
    return next((name for name in ("bfloat16", "float16") if bool((wide.to(getattr(torch, name)).float() == wide).all())), "")


def _accumulates(launch: Any, step: Any, name: str, signs: str = "+-*") -> bool:
    """Whether a line in a loop computes a variable from its own old value, and does not only convert it (with "(" among ``signs``: or does)."""
    tree = parsed(launch, step.function)
    loops = [w for w in ast.walk(tree) if isinstance(w, (ast.For, ast.While))] if tree is not None else []
    if not any(w.lineno < step.line <= (w.end_lineno or w.lineno) for w in loops):
        return False
    _, _, made = step.text.partition("=")
    own = re.search(rf"\b{name}\b", made) is not None and any(sign in made for sign in (*signs, "dot("))
    return "+=" in step.text or own
