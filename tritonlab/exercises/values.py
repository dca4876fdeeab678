"""Judge wrong values: which elements, who stored them, and what they agree with."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..trace.record import Access, Launch, short
from .finding import Finding, at, indices, number, output_args, place
from .inputs import to_numpy
from .memory import result_places
from .problem import Problem
from .run import Outcome, compare

__all__ = ["agrees", "describe", "guess", "last_tile", "stored_by", "wrong_lane"]


def agrees(outcomes: list[Outcome], problem: Problem, formula: Any) -> bool:
    """Whether a formula gives what was seen, in every element of these outcomes and not what was expected."""
    for o in outcomes:
        try:
            made = formula(*o.built.pristine())
        except Exception:
            return False
        made = made if isinstance(made, tuple) else (made,)
        for m, seen, bad, dtype in zip(made, o.seen, o.bad, o.wanted_dtypes):
            if m.dtype.is_floating_point:
                m = m.to(getattr(torch, dtype))
            values = to_numpy(m)
            if bad is None or values.shape != seen.shape or compare(seen, values, problem.tolerance_for(dtype)).any():
                return False
    return True


def stored_by(outcome: Outcome, which: int, index: tuple[int, ...]) -> tuple[int, Launch, Access, int] | None:
    """(launch number, launch, access, lane) of the last store or atomic to an element of a result."""
    spot = int(result_places(outcome.results[which])[index])
    for n, launch, arg in reversed(output_args(outcome, which)):
        for access in reversed(launch.accesses):
            if access.arg == arg.name and access.writes:
                hits = np.flatnonzero(access.mask.reshape(-1) & (access.offsets.reshape(-1) + arg.storage_offset == spot))
                if hits.size:
                    return n, launch, access, int(hits[-1])
    return None


def describe(outcome: Outcome, which: int, index: tuple[int, ...], guess_text: str = "") -> tuple[str, dict[str, Any], int]:
    """The first wrong element in words, the reason's fields, and the launch it points into."""
    expected, seen = outcome.expected[which][index], outcome.seen[which][index]
    output = f" of output {which}" if len(outcome.expected) > 1 else ""
    text = f"The first is {at(index)}{output}: expected {number(expected)}, seen {number(seen)}"
    fields: dict[str, Any] = dict(index=index, expected=expected.item(), seen=seen.item())
    found = stored_by(outcome, which, index)
    launch = 0
    if found is not None:
        launch, record, access, lane = found
        fields = dict(place(access, record, lane), **fields)
        text += f" (program {short(access.program)}, line {access.line}, lane {lane})"
    return text + "." + (f" {guess_text}" if guess_text else ""), fields, launch


def guess(outcome: Outcome, problem: Problem, which: int) -> str:
    """What the wrong values look like, when something simple fits all of them; "" otherwise."""
    bad, seen, expected = outcome.bad[which], outcome.seen[which], outcome.expected[which]
    assert bad is not None
    s, e = seen[bad].astype(np.float64), expected[bad].astype(np.float64)
    if s.size < 2 or len(np.unique(s)) == 1 == len(np.unique(e)):
        return ""
    for name, value in zip(problem.parameters, outcome.built.pristine()):
        if isinstance(value, torch.Tensor) and tuple(value.shape) == seen.shape:
            if np.array_equal(to_numpy(value)[bad].astype(np.float64), s, equal_nan=True):
                return f"The wrong values are those of {name}."
    with np.errstate(all="ignore"):
        if (s == 0).all():
            return "The wrong values are all 0."
        if np.isnan(s).all():
            return "The wrong values are all NaN."
        if np.allclose(s, -e, rtol=1e-3):
            return "The wrong values have the sign reversed."
        ratio, difference = s / e, s - e
        if np.isfinite(ratio).all() and np.allclose(ratio, ratio[0], rtol=1e-3) and (np.abs(e) > 1e-3).all():
            return f"The wrong values are {number(round(float(ratio[0]), 4))} times what is expected."
        if np.isfinite(difference).all() and np.allclose(difference, difference[0], rtol=1e-3, atol=1e-4 * np.abs(e).max()):
            return f"The wrong values are all off by {number(round(float(difference[0]), 4))}."
        by_row = _row_factors(seen, expected, bad)
        if by_row is not None:
            return f"Each wrong row is one factor times what is expected ({number(round(by_row, 4))} in the first)."
    flat_s, flat_e = seen.reshape(-1), expected.reshape(-1)
    for shift in (1, -1):
        if flat_s.size > 4 and np.array_equal(flat_s[1:-1], np.roll(flat_e, -shift)[1:-1].astype(flat_s.dtype)):
            return f"Each element holds what belongs {'one place later' if shift == 1 else 'one place earlier'}."
    if seen.ndim == 2 and seen.shape[0] == seen.shape[1] and np.array_equal(seen, expected.T.astype(seen.dtype)):
        return "The result is transposed."
    return ""


def _row_factors(seen: np.ndarray, expected: np.ndarray, bad: np.ndarray) -> float | None:
    """The first wrong row's factor when every wrong row is a multiple of what is expected; None otherwise."""
    if seen.ndim != 2 or seen.shape[1] < 2:
        return None
    wrong = bad.any(axis=1)
    ratio = seen[wrong].astype(np.float64) / expected[wrong].astype(np.float64)
    if np.isfinite(ratio).all() and np.allclose(ratio, ratio[:, :1], rtol=1e-3):
        return float(ratio[0, 0])
    return None


def last_tile(outcome: Outcome, which: int) -> bool:
    """Whether all wrong elements were stored by accesses with masked lanes, and those stored with all lanes on are right."""
    bad = outcome.bad[which]
    assert bad is not None
    places = result_places(outcome.results[which]).reshape(-1)
    ragged = np.zeros(places.size, dtype=bool)
    for _, launch, arg in output_args(outcome, which):
        for access in launch.accesses:
            if access.arg == arg.name and access.writes:
                ragged[np.isin(places, access.touched.reshape(-1) + arg.storage_offset)] = not access.mask.all()
    wrong = bad.reshape(-1)
    return bool(wrong.any() and ragged[wrong].all() and (~ragged & ~wrong).any())


def wrong_lane(outcome: Outcome, which: int, index: tuple[int, ...], names: tuple[str, ...]) -> str:
    """For an elementwise launch: the input element that the lane of ``index`` should have read, and the one it read."""
    found = stored_by(outcome, which, index)
    if found is None:
        return ""
    _, launch, access, lane = found
    shape = tuple(outcome.results[which].shape)
    for name, value in zip(names, outcome.built.args):
        if not isinstance(value, torch.Tensor) or tuple(value.shape) != shape or value.is_contiguous():
            continue
        address = value.untyped_storage().data_ptr()
        for arg in (a for a in launch.args if a.address == address):
            loads = [a for a in launch.accesses if a.arg == arg.name and a.kind == "load" and a.program == access.program]
            for load in (a for a in loads if a.mask.size == access.mask.size):
                read = int(load.offsets.reshape(-1)[lane])
                wanted = int(arg.offsets()[index])
                if load.mask.reshape(-1)[lane] and read != wanted:
                    steps = " + ".join(f"{i}·{s}" for i, s in zip(index, arg.strides))
                    return (
                        f"{name}{at(index)} lies at offset {steps} = {wanted}, but lane {lane} of program {short(load.program)} "
                        f"reads {arg.name}[{read}] in line {load.line}."
                    )
    return ""


def first_bad(outcome: Outcome) -> tuple[int, tuple[int, ...]]:
    """(output, index) of the first wrong element."""
    which = next(i for i, b in enumerate(outcome.bad) if b is not None and b.any())
    return which, indices(outcome.bad[which])[0]  # type: ignore[arg-type]
