"""Is what was timed right? The result against an oracle in higher precision, in the same run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .errors import MeasureError, WrongResultError

__all__ = ["compare", "default_tolerance", "poisoned"]

_CHUNK = 1 << 24


def default_tolerance(dtype: torch.dtype) -> tuple[float, float]:
    """(rtol, atol) where a case names none: four units in the last place of the dtype, absolute and relative."""
    if not dtype.is_floating_point:
        return 0.0, 0.0
    return 4 * torch.finfo(dtype).eps, 4 * torch.finfo(dtype).eps


def poisoned(fn: Callable[[], Any], accept: Callable[[torch.Tensor], None] = lambda out: None) -> torch.Tensor:
    """What ``fn`` returns, run so that an element which it never wrote shows.

    Its first result's memory is filled with NaN (or the dtype's largest integer) and freed; the second
    run's output then most likely lies there. ``accept`` may refuse the first result.
    """
    out = fn()
    if not isinstance(out, torch.Tensor):
        raise MeasureError(f"what is measured must return its result as one tensor, to be compared; it returned {type(out).__name__}")
    accept(out)
    shape, dtype, device = out.shape, out.dtype, out.device
    del out
    value = float("nan") if dtype.is_floating_point else torch.iinfo(dtype).max if dtype is not torch.bool else True
    poison = torch.empty(shape, dtype=dtype, device=device).fill_(value)
    del poison
    return fn()


def compare(out: torch.Tensor, expected: torch.Tensor, tolerance: tuple[float, float], who: str) -> float:
    """‖out − expected‖ / ‖expected‖, both taken as float64, chunk by chunk.

    ``WrongResultError`` names the first elements that are farther off than atol + rtol · |expected| (``tolerance``
    is (rtol, atol)), NaN and infinity apart; two NaN, or the same infinity twice, count as equal. Its
    ``relative`` holds what would have been given back.
    """
    if out.shape != expected.shape:
        raise WrongResultError(f"{who} gives shape {list(out.shape)} where the oracle has {list(expected.shape)}, so its time means nothing")
    rtol, atol = tolerance
    off = seen = bad = 0.0
    first: list[str] = []
    flat, wanted = out.reshape(-1), expected.reshape(-1)
    for start in range(0, flat.numel(), _CHUNK):
        a = flat[start : start + _CHUNK].to(torch.float64)
        b = wanted[start : start + _CHUNK].to(torch.float64)
        if out.dtype.is_floating_point:  # what is too large for the dtype is stored as infinity
            b = torch.where(b.to(out.dtype).isinf(), b.sign() * float("inf"), b)
        same = (a == b) | (a.isnan() & b.isnan())
        difference = torch.where(same, 0.0, (a - b).abs())
        wrong = ~same & ~((difference <= atol + rtol * b.abs()) & b.isfinite())
        count = int(wrong.sum())
        if count:
            for i in wrong.nonzero().flatten()[: 3 - len(first)].tolist() if len(first) < 3 else []:
                first.append(f"element {start + i} is {a[i].item():.6g}, expected {b[i].item():.6g}")
            bad += count
        finite = difference.isfinite() & b.isfinite()
        off += float((difference[finite] ** 2).sum())
        seen += float((b[finite] ** 2).sum())
    relative = (off / seen) ** 0.5 if seen else 0.0
    if bad:
        error = WrongResultError(
            f"{who} is wrong in {int(bad):,} of {flat.numel():,} elements ({'; '.join(first)}), so its time means nothing",
            "make it right first, then measure",
        )
        error.relative = relative
        raise error
    return relative
