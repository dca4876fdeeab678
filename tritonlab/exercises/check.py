"""Check an answer: run it on every case, judge each, and say the few most fundamental things that are wrong."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, Callable

from . import compiled, gpu_only
from .answer import screen, unfinished
from .faults import judge_error
from .finding import Finding
from .judge import judge
from .memory import judge_unused
from .problem import Case, Problem
from .probe import unnamed_fill_finding
from .reasons import EXPLAINS, RANK, reason
from .refine import refine
from .result import CheckResult, Reason, Where
from .run import Outcome, run_case

__all__ = ["check"]

MOST = 3
SECONDS = 10.0


def check(fn: Any, problem: Problem) -> CheckResult:
    """The verdict on an answer. Nothing that the answer does is raised here, an interrupt apart."""
    try:
        return _check(fn, problem)
    except Exception as e:  # whatever an answer is made of, a learner sees no traceback of ours
        error = f"{type(e).__name__}: {e}" if str(e) else type(e).__name__
        return CheckResult(problem.name, "not right", (reason("unjudged", error=error),))


def _check(fn: Any, problem: Problem) -> CheckResult:
    wrong = screen(fn, problem)
    if wrong is not None:
        return CheckResult(problem.name, "not right", (wrong,))
    left = unfinished(fn)
    if left is not None:
        return _not_yet(problem, left)
    outcomes, cases = _run_all(fn, problem)
    if any(isinstance(_cause(o.error), NotImplementedError) for o in outcomes):
        return _not_yet(problem, f"{problem.function} raises NotImplementedError.")
    calls = [o for o in outcomes if not o.case.raises]
    if all(o.error is None and o.returned is None and not o.trace.launches for o in calls):
        return _not_yet(problem, f"{problem.function} launches nothing and returns None.")
    found = {o.number: judge(o, problem, fn) for o in outcomes}
    findings = [f for fs in found.values() for f in fs]
    if not findings and len(outcomes) < len(cases):
        what = f"after {SECONDS:g} seconds only {len(outcomes)} of {len(cases)} cases had been run, all of them right."
        findings = [Finding("budget", outcomes[-1], dict(what=what))]
    elif not findings:
        findings = _last_hurdles(fn, problem, outcomes)
    else:
        findings = refine(fn, problem, outcomes, findings)
    return _verdict(fn, problem, outcomes, found, findings, cases)


def _cause(error: BaseException | None) -> BaseException | None:
    return getattr(error, "original", None) or error


def _not_yet(problem: Problem, why: str) -> CheckResult:
    return CheckResult(problem.name, "not yet", note=f'{why} Write it, then check again; lab.exercise("{problem.name}").hint() helps.')


def _run_all(fn: Callable[..., Any], problem: Problem) -> tuple[list[Outcome], tuple[Case, ...]]:
    """Every case's outcome, in order. The first tells the block size, from which the other cases are made."""
    cases = problem.all_cases()
    worked, end = time.thread_time() + SECONDS, time.monotonic() + 4 * SECONDS  # its own work; more on a busy machine
    outcomes: list[Outcome] = []
    first = run_case(fn, problem, cases[0], 0)
    block = _block(first) or problem.block
    if callable(problem.cases) and block != problem.block:
        cases = problem.all_cases(block)
        first = run_case(fn, problem, cases[0], 0)
    first.cache["block"] = block
    outcomes.append(first)
    for number, case in enumerate(cases[1:], 1):
        last = outcomes[-1]
        if time.thread_time() > worked or time.monotonic() > end or (last.error is not None and judge_error(last)[0].code == "budget"):
            break
        if isinstance(_cause(last.error), NotImplementedError):
            break
        outcomes.append(run_case(fn, problem, case, number))
    return outcomes, cases


def _block(outcome: Outcome) -> int | None:
    """The largest block that a store of the answer uses (its tile size), within reason."""
    lanes = [a.mask.size for launch in outcome.trace.launches for a in launch.accesses if a.writes]
    return max(lanes) if lanes and 2 <= max(lanes) <= 4096 else None


def _last_hurdles(fn: Callable[..., Any], problem: Problem, outcomes: list[Outcome]) -> list[Finding]:
    """For an answer that is right here: undefined fills, work left to torch, what a GPU refuses, and on a GPU machine the compiled run."""
    ragged = [o for o in outcomes if o.error is None and not o.case.raises]
    ragged.sort(key=lambda o: o.simplicity)
    tries = 4 if problem.axes else 1  # a tile has several edges, and a fill may matter at one of them only
    for outcome in ragged:
        if tries and any(a.kind == "load" and not a.other and not a.mask.all() for launch in outcome.trace.launches for a in launch.accesses):
            finding = unnamed_fill_finding(fn, problem, outcome)
            if finding is not None:
                return [finding]
            tries -= 1
    unused = judge_unused(ragged, problem)
    if unused:
        return unused
    refused = gpu_only.refusals(fn, problem, ragged)
    if refused:
        return refused
    return compiled.differences(fn, problem, ragged)


def _order(finding: Finding) -> tuple[Any, ...]:
    return (RANK[finding.code], *finding.outcome.simplicity)


def _chosen(findings: list[Finding]) -> list[Finding]:
    """One finding a code, in its smallest case, without those that another one explains; the most fundamental first."""
    chosen: list[Finding] = []
    for finding in sorted(findings, key=_order):
        if any(finding.code == c.code or finding.code in EXPLAINS.get(c.code, ()) for c in chosen):
            continue
        chosen.append(finding)
    return chosen[:MOST]


def _verdict(
    fn: Any, problem: Problem, outcomes: list[Outcome], found: dict[int, list[Finding]], findings: list[Finding], cases: tuple[Case, ...]
) -> CheckResult:
    tests = tuple(o.label for o in outcomes)
    passed = sum(not found[o.number] for o in outcomes)
    if not findings:
        note = gpu_only.cautions(fn, problem, sorted((o for o in outcomes if not o.case.raises), key=lambda o: o.simplicity))
        return CheckResult(problem.name, "right", tests=tests, passed=passed, note=note, trace=outcomes[-1].trace)
    chosen = _chosen(findings)
    block = outcomes[0].cache["block"]
    reasons = tuple(_reason(fn, problem, f, block) for f in chosen)
    trace, where = _look(fn, problem, chosen[0])
    printed = chosen[0].outcome.printed
    return CheckResult(problem.name, "not right", reasons, tests, passed, printed=printed, trace=trace, where=where)


def _reason(fn: Any, problem: Problem, finding: Finding, block: int) -> Reason:
    made = reason(finding.code, fields=finding.fields, **finding.words)
    number = finding.outcome.number
    own = getattr(fn, "__name__", problem.function)
    if own == "<lambda>":
        own = "answer"
    sized = f", block={block}" if callable(problem.cases) and block != problem.block else ""
    again = f'{own}(*lab.exercise("{problem.name}").inputs({number}{sized}))'
    return dataclasses.replace(made, case=number, label=finding.outcome.label, again=again)


def _look(fn: Any, problem: Problem, finding: Finding) -> tuple[Any, Where | None]:
    """The failing case traced again with the steps of the program in question, and the step to open at."""
    program = finding.fields.get("program")
    trace = finding.outcome.trace
    if program is None or finding.launch >= len(trace.launches):
        return trace, Where(finding.launch) if trace.launches else None
    stepped = run_case(fn, problem, finding.outcome.case, finding.outcome.number, step=program, seconds=0.5).trace
    if finding.launch >= len(stepped.launches):
        return trace, Where(finding.launch, program, None, finding.fields.get("lane"))
    steps = stepped.launches[finding.launch].steps.get(program, ())
    line, arg = finding.fields.get("line"), finding.fields.get("arg")
    accesses = stepped.launches[finding.launch].accesses
    on_line = [i for i, s in enumerate(steps) if s.line == line]
    hits = [i for i in on_line if any(_is(accesses[k], finding) for k in steps[i].accesses)]
    step = (hits or on_line[-1:] or [None])[0] if arg else (on_line[-1:] or [None])[0]
    return stepped, Where(finding.launch, program, step, finding.fields.get("lane"))


def _is(access: Any, finding: Finding) -> bool:
    fields = finding.fields
    return access.arg == fields.get("arg") and (fields.get("offset") is None or bool((access.offsets == fields["offset"]).any()))
