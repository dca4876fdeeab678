"""Judge one case: everything that is wrong with it, as findings."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..trace.record import Launch, TensorArg
from .answer import named_in
from .faults import judge_error, judge_refusal
from .finding import Finding, output_args
from .memory import judge_inputs, judge_written
from .problem import Problem
from .racing import judge_races
from .run import Outcome
from .values import describe, first_bad, guess

__all__ = ["judge"]


def judge(outcome: Outcome, problem: Problem, fn: Any) -> list[Finding]:
    """The findings of one case; none when it came out right."""
    if outcome.case.raises:
        return judge_refusal(outcome)
    if outcome.error is not None:
        return judge_error(outcome)
    inputs = judge_inputs(outcome, problem)
    result = _result(outcome, problem, fn)
    if result and result[0].code in ("returns_none", "wrong_type", "no_launch"):
        return result
    found = inputs + result
    if not any(f.code in ("wrong_shape", "wrong_device", "not_by_launch") for f in result):
        for which in range(len(outcome.results)):
            found += judge_written(outcome, which)
        found += judge_races(outcome)
    if not found or all(f.code not in ("wrong_shape",) for f in found):
        found += _values(outcome, problem)
    if not found:
        found += _rules(outcome, problem)
    return found


def _result(outcome: Outcome, problem: Problem, fn: Any) -> list[Finding]:
    returned, launches = outcome.returned, outcome.trace.launches
    empty = not any(e.size for e in outcome.expected)
    if returned is None:
        written = sorted({a.arg for launch in launches for a in launch.accesses if a.writes})
        hint = f" that the kernel wrote through {written[-1]}" if written else ""
        return [Finding("returns_none", outcome, dict(hint=hint))]
    if not outcome.results:
        count = len(outcome.expected)
        wanted = "the output tensor" if count == 1 else f"a tuple of {count} tensors"
        kind = f"a tuple of {len(returned)}" if isinstance(returned, (tuple, list)) else f"{type(returned).__name__}"
        return [Finding("wrong_type", outcome, dict(got=kind, wanted=wanted))]
    if not launches and not empty:
        return [Finding("no_launch", outcome, dict(maker=_maker(fn)))]
    found = []
    for seen, expected, tensor, dtype in zip(outcome.seen, outcome.expected, outcome.results, outcome.wanted_dtypes):
        if seen.shape != expected.shape:
            found.append(Finding("wrong_shape", outcome, dict(got=_shape(seen.shape), wanted=_shape(expected.shape))))
        got = str(tensor.dtype).removeprefix("torch.")
        if got != dtype:
            found.append(Finding("wrong_dtype", outcome, dict(got=got, wanted=dtype)))
        if tensor.device.type != "cpu":
            found.append(Finding("wrong_device", outcome, dict(got=str(tensor.device), wanted="cpu")))
    for which, tensor in enumerate(outcome.results):
        if tensor.numel() and tensor.device.type == "cpu":
            found += _made_elsewhere(outcome, problem, which)
    return found


def _shape(shape: tuple[int, ...]) -> str:
    return str(tuple(int(n) for n in shape))


def _maker(fn: Any) -> str:
    return "torch" if any(v is torch for v in named_in(fn).values()) else "plain PyTorch operations"


def _made_elsewhere(outcome: Outcome, problem: Problem, which: int) -> list[Finding]:
    args = output_args(outcome, which)
    stored = [(n, launch, arg) for n, launch, arg in args if any(a.arg == arg.name and a.writes for a in launch.accesses)]
    if stored:
        return _changed_afterwards(outcome, which, *stored[-1])
    address = outcome.results[which].untyped_storage().data_ptr()
    for name, value in zip(problem.parameters, outcome.built.args):
        if isinstance(value, torch.Tensor) and value.untyped_storage().data_ptr() == address:
            return [Finding("not_by_launch", outcome, dict(what=f"It is the input {name} itself."), dict(arg=name))]
    if args:
        _, launch, arg = args[-1]
        if any(a.arg == arg.name for a in launch.accesses):
            what = f"The kernel only reads it, as {arg.name}."
            return [Finding("not_by_launch", outcome, dict(what=what), dict(kernel=launch.kernel, arg=arg.name), args[-1][0])]
        return []
    what = "torch made it: by arithmetic, a cast or a copy outside of the kernel. Return the tensor that the kernel wrote."
    return [Finding("not_by_launch", outcome, dict(what=what))]


def _changed_afterwards(outcome: Outcome, which: int, number: int, launch: Launch, arg: TensorArg) -> list[Finding]:
    """Whether a result still holds what the last launch that stored to it left there."""
    result, seen = outcome.results[which], outcome.seen[which]
    view = (tuple(result.shape), tuple(result.stride()), result.storage_offset())
    if arg.after is None or view != (arg.shape, arg.strides, arg.storage_offset):
        return []
    after = arg.after.astype(seen.dtype)
    if np.array_equal(after, seen, equal_nan=seen.dtype.kind in "fc"):
        return []
    what = "After the last launch its values were changed outside of a kernel. Return what the kernel wrote."
    return [Finding("not_by_launch", outcome, dict(what=what), dict(kernel=launch.kernel, arg=arg.name), number)]


def _values(outcome: Outcome, problem: Problem) -> list[Finding]:
    if not any(b is not None and b.any() for b in outcome.bad):
        return []
    which, index = first_bad(outcome)
    bad = outcome.bad[which]
    detail, fields, launch = describe(outcome, which, index, guess(outcome, problem, which))
    words = dict(count=int(bad.sum()), total=bad.size, detail=detail)  # type: ignore[union-attr]
    return [Finding("wrong_values", outcome, words, fields, launch)]


def _rules(outcome: Outcome, problem: Problem) -> list[Finding]:
    found = []
    for rule in problem.extra:
        broken = rule(outcome)
        if broken is not None:
            code, text = broken
            found.append(Finding(code, outcome, dict(detail=text)))
    return found
