"""Chapter 3: softmax over the last dimension, a row a program; and a form for rows wider than one tile."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton
import triton.language as tl

from .checks import check_block, check_dtype, check_tensors
from .tensors import as_rows, elements, on_device_of, row_warps

__all__ = ["DTYPES", "WIDEST_TILE", "bench_cases", "softmax", "softmax_cost", "softmax_kernel", "softmax_wide_kernel"]

DTYPES = (torch.float32, torch.float16, torch.bfloat16)

WIDEST_TILE = 16384
"""Columns up to which a row is held in one tile, if the caller does not choose."""

FLOPS = 5
"""Arithmetic operations an element: maximum, subtraction, exponential, sum, product."""


@triton.jit
def softmax_kernel(
    x_ptr,
    out_ptr,
    n_cols,
    stride_xm,  # elements from one row of x to the next
    stride_xn,  # elements from one column of x to the next
    stride_om,
    stride_on,
    BLOCK_SIZE: tl.constexpr,  # a power of two, at least n_cols
):
    row = tl.program_id(axis=0).to(tl.int64)  # 64 bits: offsets may pass 2**31
    cols = tl.arange(0, BLOCK_SIZE).to(tl.int64)
    mask = cols < n_cols
    # -inf is never the maximum, and adds exp(-inf) = 0 to the sum
    x = tl.load(x_ptr + row * stride_xm + cols * stride_xn, mask=mask, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x - tl.max(x, axis=0))
    scale = 1.0 / tl.sum(numerator, axis=0)  # one division a row
    tl.store(out_ptr + row * stride_om + cols * stride_on, numerator * scale, mask=mask)


@triton.jit
def softmax_wide_kernel(
    x_ptr,
    out_ptr,
    n_cols,
    stride_xm,
    stride_xn,
    stride_om,
    stride_on,
    BLOCK_SIZE: tl.constexpr,  # columns that one step takes
):
    row = tl.program_id(axis=0).to(tl.int64)
    x_row = x_ptr + row * stride_xm
    out_row = out_ptr + row * stride_om
    lanes = tl.arange(0, BLOCK_SIZE)
    # each lane keeps the maximum of what it saw, and the sum of exp(x - maximum)
    m = tl.full((BLOCK_SIZE,), -3.4028234663852886e38, tl.float32)  # the lowest finite: -inf - (-inf) is NaN
    total = tl.zeros((BLOCK_SIZE,), tl.float32)
    for start in range(0, n_cols, BLOCK_SIZE):
        cols = (start + lanes).to(tl.int64)
        x = tl.load(x_row + cols * stride_xn, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        smaller = tl.exp(-tl.abs(x - m))  # of the two, the larger counts exp(0) = 1
        total = tl.where(x > m, total * smaller + 1.0, total + smaller)
        m = tl.maximum(m, x)
    row_max = tl.max(m, axis=0)
    scale = 1.0 / tl.sum(total * tl.exp(m - row_max), axis=0)
    for start in range(0, n_cols, BLOCK_SIZE):
        cols = (start + lanes).to(tl.int64)
        mask = cols < n_cols
        x = tl.load(x_row + cols * stride_xn, mask=mask, other=-float("inf")).to(tl.float32)
        tl.store(out_row + cols * stride_on, tl.exp(x - row_max) * scale, mask=mask)


def softmax(
    x: torch.Tensor,
    *,
    form: str | None = None,
    BLOCK_SIZE: int | None = None,
    num_warps: int | None = None,
) -> torch.Tensor:
    """Softmax over the last dimension: exp(x - max) / sum(exp(x - max)).

    x: [..., n_cols] in float32, float16 or bfloat16 with any row and column strides. Computed in fp32, returned
    in x's dtype and shape, contiguous. Rows of -inf, with +inf or with NaN give NaN, as in torch.
    form: "row", the whole row in one tile, or "wide", the row in steps of BLOCK_SIZE, read twice; if left out,
    "wide" for more than 16,384 columns.
    BLOCK_SIZE: a power of two, at least n_cols for "row"; num_warps: warps a program; both chosen if left out.

    No gradient is recorded. Raises ``TypeError`` or ``ValueError`` that names the argument and its shape, strides,
    dtype or device.
    """
    check_tensors(x=x)
    check_dtype(DTYPES, x=x)
    x_rows = as_rows("x", x)
    n_rows, n_cols = x_rows.shape
    if form not in (None, "row", "wide"):
        raise ValueError(f'form must be "row" or "wide"; got {form!r}')
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if x.numel() == 0:
        return out
    out_rows = as_rows("out", out)
    form = form or ("row" if n_cols <= WIDEST_TILE else "wide")
    if BLOCK_SIZE is None:
        BLOCK_SIZE = triton.next_power_of_2(n_cols) if form == "row" else 8192
    check_block("BLOCK_SIZE", BLOCK_SIZE, at_least=n_cols if form == "row" else 1)
    num_warps = row_warps(BLOCK_SIZE) if num_warps is None else num_warps
    kernel = softmax_kernel if form == "row" else softmax_wide_kernel
    with on_device_of(x):
        kernel[(n_rows,)](
            x_rows,
            out_rows,
            n_cols,
            *x_rows.stride(),
            *out_rows.stride(),
            BLOCK_SIZE=BLOCK_SIZE,
            num_warps=num_warps,
        )
    return out


def softmax_cost(x: torch.Tensor) -> tuple[int, int]:
    """Bytes that must move (x read once, the output written once) and arithmetic operations of ``softmax``."""
    return (elements(x) + x.numel()) * x.element_size(), FLOPS * x.numel()


def bench_cases() -> Iterator[dict]:
    """The sizes, dtypes and rivals that ``python -m tritonlab bench softmax`` measures."""
    wide = [(4096, 1024), (4096, 12671)]
    anchors = [(32768, 1024), (16384, 4096), (8192, 8192), (4096, 32768), (2048, 131072)]
    widths = [(4096, n) for n in (128, 256, 512, 1000, 1024, 2047, 2048, 4096, 8192, 12671, 16384)]
    rows = [(n, 1024) for n in (16, 256, 1024)]
    cases = [(shape, torch.float32) for shape in wide] + [(shape, torch.bfloat16) for shape in anchors + widths + rows]
    for shape, dtype in cases:
        yield {
            "shape": shape,
            "dtype": dtype,
            "make": lambda device, shape=shape, dtype=dtype: (torch.randn(shape, device=device, dtype=dtype),),
            "run": softmax,
            "baselines": {"torch": lambda x: torch.softmax(x, dim=-1)},
            "cost": softmax_cost,
        }
