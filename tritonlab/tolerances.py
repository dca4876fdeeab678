"""How far a result may lie from its oracle, and why.

``tolerance(op, dtype)`` gives ``rtol`` and ``atol`` for ``torch.testing.assert_close``: an element passes when it
is within ``atol + rtol · |expected|``. Each is derived from what the kernel does, and just wide enough: a result
that is truncated where it should be rounded, or summed in 16 bits, falls outside.

Half a unit in the last place is ``eps / 2`` of the storage dtype: 2^-24 for float32, 2^-11 for float16, 2^-8 for
bfloat16 (eps 2^-7). Results below the smallest normal number lose digits, or become 0 where the GPU flushes them: ``atol``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

__all__ = ["OPS", "Tolerance", "tolerance"]


@dataclass(frozen=True)
class Tolerance:
    """Relative and absolute tolerance of one op in one dtype, and the reason for them."""

    rtol: float
    atol: float
    reason: str


ARITHMETIC = {
    "vector_add": (0.0, "one addition, rounded once"),
    "bias_gelu": (
        5e-5,
        "fp32 inside: where GELU falls like exp(-x²), a rounding of its argument grows by up to 2·|u|, about 260, "
        "and there are three of 6e-8",
    ),
    "softmax": (
        2e-5,
        "fp32 inside: exp(x - max) turns the rounding of its argument, up to 100 in size, into a relative error of "
        "100 · 1.2e-7; the sum adds log2(n) roundings of 6e-8",
    ),
    "rmsnorm": (
        4e-6,
        "fp32 inside: a sum of 131,072 squares through 2,048 lanes makes at most 75 roundings of 6e-8, halved by the "
        "root; rsqrt and two products add four more",
    ),
}
"""Relative error of the fp32 arithmetic of each op, before the result is stored, and where it comes from."""

OPS = tuple(ARITHMETIC)


def tolerance(op: str, dtype: torch.dtype) -> Tolerance:
    """The tolerance of one op's result in one storage dtype.

    Integers must be equal. ``KeyError`` for an op without an entry.
    """
    if op not in ARITHMETIC:
        raise KeyError(f"no tolerance for {op!r}; there is one for {', '.join(OPS)}")
    if not dtype.is_floating_point:
        return Tolerance(0.0, 0.0, "integers are exact")
    inner, why = ARITHMETIC[op]
    info = torch.finfo(dtype)
    half_ulp = info.eps / 2
    if op == "vector_add":
        return Tolerance(half_ulp, info.smallest_normal * half_ulp, f"{why}: half a unit in the last place")
    tiny = max(info.smallest_normal * half_ulp, 2e-37)
    stored = "" if dtype is torch.float32 else f"; then stored as {str(dtype).removeprefix('torch.')}: half a unit in the last place"
    return Tolerance(inner + half_ulp, tiny, why + stored)
