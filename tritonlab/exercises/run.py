"""Run one case of an answer, guarded and traced; nothing that the answer does gets past here."""

from __future__ import annotations

import contextlib
import ctypes
import io
import threading
import time
import warnings
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

import numpy as np
import torch

from ..trace.record import Trace
from .inputs import Built, build, to_numpy
from .problem import Case, Problem
from .tuners import untuned

__all__ = ["Endless", "Outcome", "compare", "run_case"]

SECONDS = 2.0
PROGRAMS = 4096


class Endless(BaseException):
    """The launcher itself (not a kernel) ran past its time."""


@dataclass(eq=False)
class Outcome:
    """What came of one case. ``results`` and ``expected`` are tuples of tensors and float64 (or integer) arrays;
    ``bad`` marks, for each output, the elements that are wrong (None when it could not be compared)."""

    number: int
    case: Case
    label: str
    built: Built
    trace: Trace
    returned: Any = None
    results: tuple[torch.Tensor, ...] = ()
    expected: tuple[np.ndarray, ...] = ()
    seen: tuple[np.ndarray, ...] = ()
    bad: tuple[np.ndarray | None, ...] = ()
    error: BaseException | None = None
    printed: str = ""
    wanted_dtypes: tuple[str, ...] = ()
    cache: dict[str, Any] = field(default_factory=dict)

    @property
    def simplicity(self) -> tuple[Any, ...]:
        """Sorts cases by how easy they are to think about: ordinary values, contiguous, few axes, few elements but more than one."""
        case = self.case
        axes = max((len(t.shape) for t in case.tensors), default=0)
        size = 0 if case.raises else case.numel
        return (case.special, case.strided and not case.raises, case.numel <= 1, 0 if case.raises else axes, size, self.number)

    @property
    def right(self) -> bool:
        """Whether it came back with the right values (a refusal, where one was wanted)."""
        if self.case.raises:
            return isinstance(self.error, self.case.raises)
        return self.error is None and bool(self.bad) and all(b is not None and not b.any() for b in self.bad)


def run_case(
    fn: Callable[..., Any], problem: Problem, case: Case, number: int, *, step: Any = None, around: Any = None, seconds: float = SECONDS
) -> Outcome:
    """Call ``fn`` with the case's arguments under the guard and compare what it returns with the oracle.

    ``step`` is a program whose steps the trace keeps; ``around`` a context manager to run the call in; ``seconds`` what a launch may take.
    """
    built = build(case, number)
    pristine = built.pristine()
    with untuned(fn):
        trace, printed = _traced(fn, built.args, step, around, seconds)
    outcome = Outcome(number, case, case.label(problem.parameters), built, trace, error=trace.error, printed=printed)
    outcome.cache["answer"] = fn
    outcome.returned = trace.result
    if trace.error is None and not case.raises:
        _expect(outcome, problem, pristine)
    return outcome


def _expect(outcome: Outcome, problem: Problem, pristine: tuple[Any, ...]) -> None:
    expected = problem.oracle(*pristine)
    expected = expected if isinstance(expected, tuple) else (expected,)
    wanted = problem.dtype(*pristine) if callable(problem.dtype) else problem.dtype
    if wanted is None:
        wanted = next(str(a.dtype).removeprefix("torch.") for a in pristine if isinstance(a, torch.Tensor))
    dtypes = (wanted,) * len(expected) if isinstance(wanted, str) else tuple(wanted)
    outcome.wanted_dtypes = dtypes
    rounded = [e.to(getattr(torch, d)) if e.dtype.is_floating_point else e for e, d in zip(expected, dtypes)]
    outcome.expected = tuple(
        np.where(np.isinf(to_numpy(r)), to_numpy(r), to_numpy(e)) if e.dtype.is_floating_point else to_numpy(e)
        for e, r in zip(expected, rounded)
    )
    returned = outcome.returned if isinstance(outcome.returned, (tuple, list)) else (outcome.returned,)
    if len(returned) != len(expected) or not all(isinstance(r, torch.Tensor) and r.layout == torch.strided for r in returned):
        return
    outcome.results = tuple(returned)
    here = [r.device.type == "cpu" for r in returned]
    outcome.seen = tuple(to_numpy(r) if h else np.zeros(tuple(r.shape)) for r, h in zip(returned, here))
    outcome.bad = tuple(
        compare(s, e, problem.tolerance_for(d)) if h and s.shape == e.shape else None
        for s, e, d, h in zip(outcome.seen, outcome.expected, dtypes, here)
    )


def compare(seen: np.ndarray, expected: np.ndarray, tolerance: Any) -> np.ndarray:
    """Where two arrays differ by more than the tolerance; NaN equals NaN, infinities only themselves."""
    with np.errstate(all="ignore"):
        seen, expected = seen.astype(np.float64), expected.astype(np.float64)
        same = (seen == expected) | (np.isnan(seen) & np.isnan(expected))
        near = np.abs(seen - expected) <= tolerance.atol + tolerance.rtol * np.abs(expected)
        return ~(same | (near & np.isfinite(seen) & np.isfinite(expected)))


def _traced(fn: Callable[..., Any], args: tuple[Any, ...], step: Any, around: Any, seconds: float) -> tuple[Trace, str]:
    from ..runtime import limits
    from ..trace.tracer import trace

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with _fresh_memory_is_poison(), limits(programs=PROGRAMS, seconds=seconds), around or contextlib.nullcontext():
            try:
                with _deadline(seconds + 0.5):
                    found = trace(lambda: fn(*args), step=step, errors="keep")
            except KeyboardInterrupt:
                raise
            except BaseException as e:  # SystemExit and its like must not end the notebook
                found = getattr(e, "trace", None) or Trace(error=e)
    return found, out.getvalue()


# What torch.use_deterministic_algorithms calls after importing all of its compiler, which takes seconds.
_set_deterministic = getattr(torch._C, "_set_deterministic_algorithms", torch.use_deterministic_algorithms)


@contextlib.contextmanager
def _fresh_memory_is_poison() -> Iterator[None]:
    """``torch.empty`` and its kind hand out NaN (the largest integer), so that what nobody wrote shows."""
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    filled = torch.utils.deterministic.fill_uninitialized_memory
    _set_deterministic(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    try:
        yield
    finally:
        _set_deterministic(before[0], warn_only=before[1])
        torch.utils.deterministic.fill_uninitialized_memory = filled


@contextlib.contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Raise ``Endless`` in this thread after so long: for loops in the launcher, which no launch's budget sees.

    As in a launch's budget, the thread's own work counts: where the machine is busy it has four times as long.
    """
    thread = ctypes.c_ulong(threading.get_ident())
    processor = time.pthread_getcpuclockid(threading.get_ident())
    worked, last = time.clock_gettime(processor), time.monotonic() + 4 * seconds
    done = threading.Event()
    lock = threading.Lock()
    sent: list[bool] = []

    def watch() -> None:
        wait = seconds
        while not done.wait(wait):  # again and again: an answer that catches everything is not to get away with it
            left = seconds - (time.clock_gettime(processor) - worked)
            if left > 0 and time.monotonic() < last:
                wait = max(left, 0.01)
                continue
            wait = 0.25
            with lock:
                if not done.is_set():
                    sent.append(True)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(Endless))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        with lock:
            done.set()
        watcher.join()
        if sent:  # it may still be on its way: taking it back would leave the interpreter's pending flag set, so wait for it
            with contextlib.suppress(Endless):
                for _ in range(1000):
                    pass
