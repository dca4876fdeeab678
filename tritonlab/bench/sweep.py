"""All cases of all ops, several times over, on one GPU."""

from __future__ import annotations

import time
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
from .measurement import Failure, Measurement, Measurements
from .ops import Case
from .origin import present_origin
from .timing import CALLS, Timer

__all__ = ["Plan", "Result", "sweep"]


@dataclass(frozen=True)
class Plan:
    """How often and how long: ``passes`` over all cases, about ``milliseconds`` of timed calls for each contender in each.

    After ``seconds`` no further pass is begun.
    """

    passes: int = 3
    milliseconds: float = 40.0
    compile: Callable[[Callable], Callable] | None = fresh_compile
    seconds: float = float("inf")

    @property
    def method(self) -> str:
        """What a record says about how it was made."""
        return (
            f"{CALLS}, random data; "
            f"median over {self.passes} passes through all cases, contenders in a new order in each, warmed up one by one; "
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
        self.counters: dict[str, tuple[tuple[str, float], ...]] = {}
        self.unfit: list[Failure] = []
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

    A contender of the course that is wrong or raises is left out and makes a failure; a baseline only a note, and a
    point of a sweep that raises a ``Failure`` among the measurements. A case that does not fit the GPU's memory is left
    out with a note. When a case breaks while it is timed, what was timed before is kept.
    """
    origin = present_origin(plan.method, timer.device)
    notes: list[str] = []
    failures: list[str] = []
    running = [_Running(case, timer) for case in cases]
    total = plan.passes * (len(cases) + 1)
    done = 0
    begin = time.monotonic()
    for number in range(plan.passes):
        if number and time.monotonic() - begin > plan.seconds:
            notes.append(f"stopped after {number} of {plan.passes} passes: {plan.seconds:.0f} s were over")
            break
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
            except Exception as error:  # what was measured so far must not be lost
                one.left_out = True
                failures.append(f"{one.case.name}: pass {number + 1} raised {_said(error)}")
            finally:
                del args
                _finish(timer, failures)
    progress(total, total, "done")
    items = [
        Measurement(
            op=one.case.op,
            implementation=one.case.swept.get(name, (name, ()))[0],
            shape=one.case.shape,
            dtype=one.case.dtype_name,
            timing=one.contest.timing(name),
            graph=one.contest.graph(name),
            bytes=int(one.cost[0]),
            flops=int(one.cost[1]),
            error=one.errors[name],
            origin=origin,
            config=one.case.swept.get(name, (name, ()))[1],
            counters=one.counters.get(name, ()),
        )
        for one in running
        for name in one.contenders
        if one.contest.timed(name)
    ]
    unfit = tuple(failure for one in running for failure in one.unfit)
    return Result(Measurements(tuple(items), ceilings.roofs(), tuple(notes), unfit), failures)


def _finish(timer: Timer, failures: list[str]) -> None:
    try:
        timer.finish()
    except Exception as error:  # a kernel that broke the GPU's context is noticed here
        failures.append(f"the GPU answered {_said(error)}")


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"


def _loaded(fn: Callable) -> tuple[tuple[str, float], ...]:
    """What the driver says of the kernel that a launch of a sweep loaded."""
    kernel = getattr(fn, "loaded", None)
    if kernel is None or getattr(kernel, "n_regs", None) is None:
        return ()
    return ("registers", kernel.n_regs), ("spilled", 4 * kernel.n_spills), ("shared", kernel.metadata.shared)


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
            if name in case.swept:
                implementation, config = case.swept[name]
                one.unfit.append(Failure(case.op, implementation, case.shape, case.dtype_name, _said(error), config))
                continue
            line = f"{who}: raised {_said(error)}"
            (failures if name in case.own else notes).append(line)
            continue
        one.contenders[name] = fn
        one.counters[name] = _loaded(fn)
