"""What the interpreter accepts and a GPU refuses. The compiler is asked; no GPU is needed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..trace.record import Launch, trim
from .finding import Finding
from .problem import Problem
from .run import Outcome, run_case

__all__ = ["cautions", "launches_of", "refusals"]

AXIS_LIMIT = 65_535
"""Largest extent of grid axes 1 and 2 of a CUDA launch; axis 0 takes 2³¹ − 1."""
TARGETS = ("sm_80", "sm_90")
"""The GPUs that an answer is compiled for."""
TF32 = (
    "On a GPU it would be a little less exact: its tl.dot cuts float32 operands to TF32, 11 bits, and the interpreter does not. "
    'tl.dot(..., input_precision="ieee") multiplies them as they are.'
)


def refusals(fn: Any, problem: Problem, outcomes: list[Outcome]) -> list[Finding]:
    """The first thing that a GPU would refuse of an answer that came out right: a grid, or a kernel that does not compile.

    ``outcomes`` come simplest first; the launches of the first one that has any are compiled (about a second a kernel and target).
    """
    for outcome in outcomes:
        for n, launch in enumerate(outcome.trace.launches):
            detail = _grid(launch)
            if detail:
                return [Finding("gpu_refuses", outcome, dict(detail=detail), dict(kernel=launch.kernel), n)]
    launched = next((o for o in outcomes if o.trace.launches), None)
    return _compiled(fn, problem, launched) if launched is not None else []


def _grid(launch: Launch) -> str:
    for axis in (1, 2):
        if launch.grid[axis] > AXIS_LIMIT:
            return f"axis {axis} of the grid {trim(launch.grid)} has more than {AXIS_LIMIT} programs; only axis 0 may."
    return ""


def launches_of(fn: Any, problem: Problem, outcome: Outcome) -> list[Any]:
    """The launches that the answer makes in one case, captured and not run; they are taken under the guards of every other run."""
    from ..runtime import capture

    taken: list[Any] = []

    @contextlib.contextmanager
    def taking() -> Iterator[None]:
        with capture() as launches:
            try:
                yield
            finally:
                taken.extend(launches)

    run_case(fn, problem, outcome.case, outcome.number, around=taking())
    return taken


def _compiled(fn: Any, problem: Problem, outcome: Outcome) -> list[Finding]:
    """What the compiler says of the launches that the answer makes in one case."""
    from .. import compiler

    taken = launches_of(fn, problem, outcome)
    try:
        refused = compiler.refusals(taken, targets=TARGETS)
    except Exception:  # a compiler that is not there, or cannot be run, says nothing about the answer
        return []
    if not refused:
        return []
    first = refused[0]
    hint = f" Way out: {first.hint}." if first.hint else ""
    alone = {r.target for r in refused if r.kernel == first.kernel} != set(TARGETS)
    only = f" (That is {first.target}; {' and '.join(t for t in TARGETS if t != first.target)} would take it.)" if alone else ""
    fields: dict[str, Any] = dict(kernel=first.kernel)
    if first.line:
        fields.update(line=first.line, source=first.text.strip())
    numbers = [n for n, launch in enumerate(outcome.trace.launches) if launch.kernel == first.kernel]
    return [Finding("gpu_refuses", outcome, dict(detail=f"{first.message}.{hint}{only}"), fields, numbers[0] if numbers else 0)]


def cautions(fn: Any, problem: Problem, outcomes: list[Outcome]) -> str:
    """What a GPU does otherwise with an answer that is right here, and does not refuse; "" for nothing.

    That is float32 dots on the tensor cores: asked of the compiler, in the simplest case with float32 inputs.
    """
    from .. import compiler

    for outcome in outcomes:
        launches = outcome.trace.launches
        dots = any("dot(" in function.source for launch in launches for function in launch.functions.values())
        if dots and any(arg.dtype == "float32" for launch in launches for arg in launch.args):
            try:
                made = compiler.compile(launches_of(fn, problem, outcome), TARGETS[-1])
            except Exception:  # as in refusals: no compiler, no opinion
                return ""
            one_or_more = [made] if isinstance(made, compiler.Compiled) else made
            return TF32 if any(".tf32" in compiled.asm["ptx"] for compiled in one_or_more) else ""
    return ""
