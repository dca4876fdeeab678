"""Look over all cases at once: what the failing ones have in common says what kind of mistake it is."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

from .addresses import judge_block_start, judge_lane_step
from .chunks import judge_chunk_step
from .finding import Finding
from .masking import judge_masks
from .memory import judge_unread
from .problem import HARD, Problem
from .probe import fill_finding, leak_finding, low_precision_local, unfed_finding
from .reasons import TEMPLATES, VALUES
from .run import Outcome
from .tile_map import judge_tile_map
from .tiles import blocks_of
from .values import agrees, describe, first_bad, last_tile, wrong_lane

__all__ = ["refine"]

_SMALL = 2.0**-4


def refine(fn: Callable[..., Any], problem: Problem, outcomes: list[Outcome], findings: list[Finding]) -> list[Finding]:
    """The findings, with wrong values (and what strides cause) replaced by what explains them."""
    findings = _strides(problem, outcomes, findings)
    tiled = _tiled(problem, outcomes, findings)
    if tiled is not None:
        return [tiled, *findings]
    wrong = [f for f in findings if f.code == "wrong_values"]
    blocked = {f.outcome.number for f in findings if f.code not in VALUES}
    open_ = [f for f in wrong if f.outcome.number not in blocked]
    if not open_:
        return findings
    better = _explain(fn, problem, outcomes, sorted(open_, key=lambda f: f.outcome.simplicity))
    return [f for f in findings if f not in wrong] + [better]


def _strides(problem: Problem, outcomes: list[Outcome], findings: list[Finding]) -> list[Finding]:
    """When contiguous cases pass and only strided ones fail, that is the reason."""
    failing = {f.outcome.number for f in findings}
    plain = [o for o in outcomes if not o.case.strided and not o.case.raises and o.case.numel > 1]
    codes = ("out_of_bounds", "never_written", "race", "input_changed", "wrong_values", "raises")
    strided = [f for f in findings if f.outcome.case.strided]
    if not strided or not plain or any(o.number in failing for o in plain):
        return findings
    kept = []
    for f in findings:
        if f.outcome.case.strided and f.code in codes:
            f = dataclasses.replace(f, code="strides", words=dict(layout=_layouts(f, problem), detail=_stride_detail(f, problem)))
        kept.append(f)
    return kept


_SYMPTOMS = ("out_of_bounds", "input_changed", "never_written", "uninitialised", "race", *VALUES)


def _tiled(problem: Problem, outcomes: list[Outcome], findings: list[Finding]) -> Finding | None:
    """What is wrong with the tiles that the answer loads and stores, in the simplest failing case that shows it."""
    if not problem.axes:
        return None
    failing = {f.outcome.number: f.outcome for f in findings if f.code in _SYMPTOMS}
    cases = sorted(failing.values(), key=lambda o: o.simplicity)
    each = [blocks_of(o, problem) for o in outcomes if not o.case.raises]
    together = [b for blocks in each for b in blocks]
    judges = (
        judge_lane_step,
        judge_block_start,
        judge_chunk_step,
        lambda blocks: judge_tile_map(blocks, each),
        lambda blocks: judge_masks(blocks, together),
    )
    for judge in judges:
        found = [f for f in (judge(blocks_of(o, problem)) for o in cases) if f is not None]
        if found:
            best = next((f for f in found if f.words.get("cause")), found[0])
            return _as_strides(best, findings, problem)
    return None


def _as_strides(found: Finding, findings: list[Finding], problem: Problem) -> Finding:
    """Lanes that are wrong only where tensors are not contiguous: strides are what is not honoured."""
    if found.code == "lane_step" and any(f.code == "strides" for f in findings):
        return dataclasses.replace(found, code="strides", words=dict(layout=_layouts(found, problem), detail=found.words["detail"]))
    return found


def _layouts(finding: Finding, problem: Problem) -> str:
    case = finding.outcome.case
    parts = [
        f"{name} {_WORDS.get(t.layout, t.layout)}"
        for name, t in zip(problem.parameters, case.args)
        if getattr(t, "layout", "contiguous") != "contiguous"
    ]
    return " and ".join(parts)


_WORDS = {"every second": "of every second element (x[::2])", "wide rows": "cut from wider rows", "column": "taken as a column of a matrix"}


def _stride_detail(finding: Finding, problem: Problem) -> str:
    if finding.code == "out_of_bounds":
        words = finding.words
        return f"{words['kind']} out of bounds: program {words['program']}, lane {words['lane']} {words['does']} {words['arg']}[{words['offset']}], {words['outside']}."
    if finding.code == "wrong_values":
        which, index = first_bad(finding.outcome)
        lane = wrong_lane(finding.outcome, which, index, problem.parameters)
        return lane or describe(finding.outcome, which, index)[0]
    return TEMPLATES[finding.code].format(**finding.words)


def _explain(fn: Callable[..., Any], problem: Problem, outcomes: list[Outcome], wrong: list[Finding]) -> Finding:
    """The best explanation of wrong values, given the failing cases from small to large."""
    first = wrong[0]
    bad = [f.outcome for f in wrong]
    for known in problem.known_wrong:
        if agrees(bad, problem, known.formula):
            which, index = first_bad(first.outcome)
            text, fields, launch = describe(first.outcome, which, index)
            return Finding(known.code, first.outcome, dict(detail=f"{known.text} {text}"), fields, launch)
    ordinary = [f for f in wrong if not f.outcome.case.special]
    found = fill_finding(fn, problem, first.outcome)
    if problem.axes:  # the lanes of a tile that is loaded are not those of the tile that is stored
        found = found or judge_unread(outcomes, first, problem)
    found = found or unfed_finding(fn, problem, first.outcome)
    found = found or judge_unread(outcomes, first, problem)
    found = found or _precision(fn, problem, outcomes, wrong)
    if not found and all(_ragged(f.outcome) for f in wrong):
        found = leak_finding(fn, problem, first.outcome)
    if not found:
        found = _tile(problem, outcomes, ordinary) if ordinary else _special(first)
    return found or first


def _off(outcome: Outcome) -> float:
    """The largest relative error of a case; infinity when something is not finite."""
    import numpy as np

    worst = 0.0
    for seen, expected, bad in zip(outcome.seen, outcome.expected, outcome.bad):
        if bad is None or not bad.any():
            continue
        s, e = seen[bad].astype(float), expected[bad].astype(float)
        if not (np.isfinite(s).all() and np.isfinite(e).all()):
            return float("inf")
        scale = np.maximum(np.abs(e), np.abs(expected[np.isfinite(expected)]).max() * 1e-2)
        worst = max(worst, float((np.abs(s - e) / scale).max()))
    return worst


def _precision(fn: Callable[..., Any], problem: Problem, outcomes: list[Outcome], wrong: list[Finding]) -> Finding | None:
    """Small errors, or a 16-bit variable in the arithmetic of a 16-bit case while float32 cases pass."""
    first = min(wrong, key=lambda f: f.outcome.simplicity)
    ordinary = [f.outcome for f in wrong if not f.outcome.case.special]
    small = bool(ordinary) and all(_off(o) < _SMALL for o in ordinary)
    narrow = all(set(f.outcome.case.dtypes) & {"float16", "bfloat16"} for f in wrong)
    if not (small or narrow):
        return None
    found = low_precision_local(fn, problem, first.outcome)
    if found is not None:
        detail, fields, launch = found
        return Finding("precision", first.outcome, dict(detail=detail), fields, launch)
    if not small:
        return None
    which, index = first_bad(first.outcome)
    text, fields, launch = describe(first.outcome, which, index)
    tolerance = problem.tolerance_for(first.outcome.wanted_dtypes[which])
    detail = f"off by up to {_off(first.outcome):.1e} of the value, and {tolerance.why} {text}"
    return Finding("precision", first.outcome, dict(detail=detail), fields, launch)


def _special(first: Finding) -> Finding:
    kinds = sorted({str(t.values) for t in first.outcome.case.tensors if t.values in HARD})
    words = {"special": "infinities, NaN and very large or small ones", "large": "large ones (±80)", "low": "very negative ones (around −200)"}
    which = ", ".join(words[k] for k in kinds)
    return dataclasses.replace(first, code="special", words=dict(which=which, detail=first.words["detail"]))


def _tile(problem: Problem, outcomes: list[Outcome], wrong: list[Finding]) -> Finding | None:
    """Wrong only in tiles that have masked lanes: within each failing case, or in exactly the cases that have such tiles."""
    first = wrong[0]
    which, _ = first_bad(first.outcome)
    within = [f for f in wrong if last_tile(f.outcome, first_bad(f.outcome)[0])]
    if within:
        tiled = min(within, key=lambda f: f.outcome.simplicity)
        return dataclasses.replace(tiled, code="last_tile", words=dict(place="in the last tile", detail=tiled.words["detail"]))
    ragged = {o.number: _ragged(o) for o in outcomes if o.bad}
    failing = {f.outcome.number for f in wrong}
    ordinary = [o for o in outcomes if o.bad and not o.case.special and o.case.numel]
    full = [o for o in ordinary if not ragged[o.number]]
    passing = [o for o in ordinary if ragged[o.number] and o.number not in failing]
    if full and all(ragged[n] for n in failing) and not passing and not any(o.number in failing for o in full):
        place = "when the length does not fill the tile"
        return dataclasses.replace(first, code="last_tile", words=dict(place=place, detail=first.words["detail"]))
    return None


def _ragged(outcome: Outcome) -> bool:
    return any(not a.mask.all() for launch in outcome.trace.launches for a in launch.accesses)
