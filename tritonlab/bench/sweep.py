"""All cases of all ops, several times over, on one GPU."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from .ceilings import Ceilings
from .checking import compare, default_tolerance, poisoned
from .compiled import fresh_compile
from .contest import Contest
from .errors import WrongResultError
from .measurement import Measurement, Measurements
from .ops import Case
from .origin import present_origin
from .timing import CALLS, Timer

__all__ = ["Plan", "Result", "sweep"]


@dataclass(frozen=True)
class Plan:
    """How often and how long: ``passes`` over all cases, about ``milliseconds`` of timed calls for each contender in each."""

    passes: int = 3
    milliseconds: float = 40.0
    compile: Callable[[Callable], Callable] | None = fresh_compile

    @property
    def method(self) -> str:
        """What a record says about how it was made."""
        return (
            f"{CALLS}, random data; "
            f"median over {self.passes} passes through all cases, contenders in turn; "
            "spread: 10th to 90th percentile of all calls, widened to every pass's median; clocks as found"
        )


@dataclass
class Result:
    """The measurements, and what failed: a wrong or raising kernel of the course."""

    measurements: Measurements = field(default_factory=Measurements)
    failures: list[str] = field(default_factory=list)


class _Running:
    """One case while it is being measured."""

    def __init__(self, case: Case, timer: Timer) -> None:
        self.case, self.contest = case, Contest(timer)
        self.contenders: dict[str, Callable] = {}
        self.errors: dict[str, float | None] = {}
        self.cost: tuple[int, int] = (0, 0)
        self.left_out = False

    def make(self, device: str) -> tuple:
        torch.manual_seed(zlib.crc32(self.case.name.encode()))
        return tuple(self.case.make(device))

    def bound(self, args: tuple) -> dict[str, Callable[[], Any]]:
        return {name: partial(fn, *args) for name, fn in self.contenders.items()}


def sweep(
    cases: Sequence[Case],
    timer: Timer,
    ceilings: Ceilings,
    plan: Plan = Plan(),
    progress: Callable[[int, int, str], None] = lambda done, total, what: None,
) -> Result:
    """Measure ``cases`` and the roofs: first everyone's result against the oracle, then pass after pass.

    A contender of the course that is wrong or raises is left out and makes a failure; a baseline only a note.
    A case that does not fit the GPU's memory is left out with a note.
    """
    origin = present_origin(plan.method, timer.device)
    notes: list[str] = []
    failures: list[str] = []
    running = [_Running(case, timer) for case in cases]
    total = plan.passes * (len(cases) + 1)
    done = 0
    for number in range(plan.passes):
        progress(done, total, f"pass {number + 1} of {plan.passes}: roofs")
        ceilings.measure_pass(plan.milliseconds * (3 if number == 0 else 1))
        done += 1
        launch = ceilings.roofs().launch
        for one in running:
            progress(done, total, f"pass {number + 1} of {plan.passes}: {one.case.name}")
            done += 1
            if one.left_out:
                continue
            args: tuple = ()
            try:
                args = one.make(timer.device)
                if number == 0:
                    _prepare(one, args, timer.device, plan, notes, failures)
                one.contest.time(one.bound(args), plan.milliseconds, launch, graphs=number in (0, plan.passes - 1))
            except torch.cuda.OutOfMemoryError:
                one.left_out = True
                notes.append(f"{one.case.name}: left out, it does not fit this GPU's memory")
            finally:
                del args
                timer.finish()
    progress(total, total, "done")
    items = [
        Measurement(
            op=one.case.op,
            implementation=name,
            shape=one.case.shape,
            dtype=one.case.dtype_name,
            timing=one.contest.timing(name),
            graph=one.contest.graph(name),
            bytes=int(one.cost[0]),
            flops=int(one.cost[1]),
            error=one.errors[name],
            origin=origin,
        )
        for one in running
        if not one.left_out
        for name in one.contenders
    ]
    return Result(Measurements(tuple(items), ceilings.roofs(), tuple(notes)), failures)


def _require_memory(one: _Running, device: str) -> None:
    """Leave out early what does not fit with its float64 oracle: some drivers page to the host instead of refusing."""
    if device == "cuda" and one.case.oracle:
        need, free = one.cost[0] * 8 / one.case.dtype.itemsize, torch.cuda.mem_get_info()[0]
        if need > free:
            raise torch.cuda.OutOfMemoryError(f"{one.case.name} needs {need / 1e9:.1f} GB more, {free / 1e9:.1f} GB are free")


def _prepare(one: _Running, args: tuple, device: str, plan: Plan, notes: list[str], failures: list[str]) -> None:
    """Cost, contenders and their results; who fails is left out."""
    case = one.case
    one.cost = tuple(case.cost(*args)) if callable(case.cost) else tuple(case.cost)
    _require_memory(one, device)
    candidates = dict(case.contenders)
    if case.compiled is not None and plan.compile is not None:
        candidates["torch.compile"] = plan.compile(case.compiled)
    expected = case.oracle(*args) if case.oracle else None
    for name, fn in candidates.items():
        who = f"{case.op} {case.name.removeprefix(case.op).strip()}: {name}"
        try:
            out = poisoned(partial(fn, *args))
            tolerance = case.tolerance or default_tolerance(out.dtype)
            one.errors[name] = None if expected is None else float(f"{compare(out, expected, tolerance, name):.4g}")
        except torch.cuda.OutOfMemoryError:
            raise
        except WrongResultError as error:
            if name in case.own:
                failures.append(f"{who}: {error.message}")
                continue
            notes.append(f"{who} is farther from the oracle than the course's kernel may be: {error.message.split(', so its')[0]}")
            one.errors[name] = error.relative and float(f"{error.relative:.4g}")
        except Exception as error:  # whatever a contender raises, the others are still measured
            line = f"{who}: raised {type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
            (failures if name in case.own else notes).append(line)
            continue
        one.contenders[name] = fn
