"""How far a result may lie from its oracle, and why.

``tolerance(op, dtype)`` gives ``rtol`` and ``atol`` for ``torch.testing.assert_close``: an element passes when it
is within ``atol + rtol · |expected|``. A product's also depends on K, on the size of its operands and on the
input precision: ``tolerance("matmul", dtype, K=4096, input_precision="tf32")``. Each is derived from what the kernel does, and just wide enough: a result
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

PRODUCTS = ("matmul", "grouped_matmul")
OPS = (*ARITHMETIC, *PRODUCTS)

SUM = 4 * 2.0**-23
TF32 = 8 * 2.0**-10


def tolerance(op: str, dtype: torch.dtype, *, K: int = 1, scale: float = 1.0, input_precision: str = "ieee") -> Tolerance:
    """The tolerance of one op's result in one storage dtype.

    K, scale, input_precision: of a product, how many terms an element sums, the size of a term (root mean square of a
    times that of b: 1 for random normal operands), and what is done to float32 operands. Other ops take no notice.
    Integers must be equal. ``KeyError`` for an op without an entry.
    """
    if op in PRODUCTS and dtype.is_floating_point:
        return _of_product(dtype, K, scale, input_precision)
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


def _of_product(dtype: torch.dtype, K: int, scale: float, input_precision: str) -> Tolerance:
    """Absolute, because terms cancel: what a sum loses is measured by its terms, not by what is left of them.

    After k random terms a partial sum is about √k · scale, and each of K additions loses up to a unit in its last place,
    2^-23 of it, all in one direction where the hardware truncates. A tensor core adds many terms at once, so makes
    fewer; random roundings cancel. Both stay below 4 · K · 2^-23 · scale in 10^8 elements; a product left
    out (1 · scale) or a sum in 16 bits (√K · 2^-11 · scale and more) does not up to K = 100,000.
    """
    info = torch.finfo(dtype)
    atol, why = SUM * K * scale, f"fp32 inside: {K:,} additions, each off by up to 2^-23 of a partial sum of some √K terms"
    if input_precision == "tf32":
        atol += TF32 * max(K, 1) ** 0.5 * scale
        why += "; each factor cut to 11 bits, off by up to 2^-10 of itself in a random direction"
    stored = "" if dtype is torch.float32 else f"; then stored as {str(dtype).removeprefix('torch.')}: half a unit in the last place"
    return Tolerance(info.eps / 2 * (1 + 2**-7), max(atol, info.smallest_normal * info.eps / 2), why + stored)
