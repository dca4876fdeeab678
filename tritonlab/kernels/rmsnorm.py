"""Chapter 4: RMSNorm over the last dimension; and a form for rows wider than one tile."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton
import triton.language as tl

from .checks import check_block, check_dtype, check_same_device, check_tensors
from .tensors import as_rows, elements, on_device_of, row_warps, rows_aligned

__all__ = ["DTYPES", "WIDEST_TILE", "bench_cases", "rmsnorm", "rmsnorm_cost", "rmsnorm_kernel", "rmsnorm_wide_kernel"]

DTYPES = (torch.float32, torch.float16, torch.bfloat16)

WIDEST_TILE = 16384
"""Columns up to which a row is held in one tile, if the caller does not choose."""

FLOPS = 4
"""Arithmetic operations an element: square, sum, product with the root, product with the weight."""


@triton.jit
def rmsnorm_kernel(
    x_ptr,
    w_ptr,
    out_ptr,
    n_rows,
    n_cols,
    stride_xm,  # elements from one row of x to the next
    stride_xn,  # elements from one column of x to the next
    stride_w,
    stride_om,
    stride_on,
    eps,
    BLOCK_M: tl.constexpr,  # rows that one program takes
    BLOCK_N: tl.constexpr,  # a power of two, at least n_cols
    ALIGNED: tl.constexpr,  # whether rows can be read 16 bytes at a time
):
    pid_m = tl.program_id(axis=0).to(tl.int64)  # 64 bits: offsets may pass 2**31
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    if not ALIGNED:  # then neighbouring threads read neighbouring elements, of x and of w
        offs_n = tl.max_contiguous(offs_n, 1)
    mask = (offs_m[:, None] < n_rows) & (offs_n[None, :] < n_cols)
    x_ptrs = x_ptr + offs_m[:, None] * stride_xm + offs_n[None, :] * stride_xn
    x = tl.load(x_ptrs, mask=mask, other=0.0).to(tl.float32)  # 0 adds nothing to a sum of squares
    w = tl.load(w_ptr + offs_n * stride_w, mask=offs_n < n_cols, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=1) / n_cols + eps)  # the true length, not BLOCK_N
    out_ptrs = out_ptr + offs_m[:, None] * stride_om + offs_n[None, :] * stride_on
    tl.store(out_ptrs, x * scale[:, None] * w[None, :], mask=mask)


@triton.jit
def rmsnorm_wide_kernel(
    x_ptr,
    w_ptr,
    out_ptr,
    n_cols,
    stride_xm,
    stride_xn,
    stride_w,
    stride_om,
    stride_on,
    eps,
    BLOCK_N: tl.constexpr,  # columns that one step takes
    ALIGNED: tl.constexpr,
):
    row = tl.program_id(axis=0).to(tl.int64)
    x_row = x_ptr + row * stride_xm
    out_row = out_ptr + row * stride_om
    lanes = tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_N,), tl.float32)  # each lane sums its own squares, in fp32
    for start in range(0, n_cols, BLOCK_N):
        offs_n = (start + lanes).to(tl.int64)
        if not ALIGNED:
            offs_n = tl.max_contiguous(offs_n, 1)
        x_ptrs = x_row + offs_n * stride_xn
        x = tl.load(x_ptrs, mask=offs_n < n_cols, other=0.0, eviction_policy="evict_last").to(tl.float32)
        acc += x * x
    scale = tl.rsqrt(tl.sum(acc, axis=0) / n_cols + eps)
    for start in range(0, n_cols, BLOCK_N):  # the second reading finds the row in cache
        offs_n = (start + lanes).to(tl.int64)
        if not ALIGNED:
            offs_n = tl.max_contiguous(offs_n, 1)
        mask = offs_n < n_cols
        x = tl.load(x_row + offs_n * stride_xn, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
        w = tl.load(w_ptr + offs_n * stride_w, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_row + offs_n * stride_on, x * scale * w, mask=mask)


def rmsnorm(
    x: torch.Tensor,
    weight: torch.Tensor,
    eps: float = 1e-6,
    *,
    form: str | None = None,
    BLOCK_M: int | None = None,
    BLOCK_N: int | None = None,
    num_warps: int | None = None,
) -> torch.Tensor:
    """x / √(mean(x²) + eps) · weight over the last dimension.

    x: [..., n_cols] in float32, float16 or bfloat16 with any row and column strides; weight: [n_cols] in any of
    these dtypes; eps: at least 0. Computed in fp32 (squares overflow past 1.8e19), returned in x's dtype and
    shape, contiguous.
    form: "row", whole rows in one tile, BLOCK_M rows a program, or "wide", a row a program in steps of BLOCK_N, read
    twice; if left out, "wide" for more than 16,384 columns.
    BLOCK_M, BLOCK_N: powers of two, BLOCK_N at least n_cols for "row"; num_warps: warps a program; all chosen if
    left out.

    Agrees with ``torch.nn.functional.rms_norm(x, (n_cols,), weight, eps)``. No gradient is recorded. Raises
    ``TypeError`` or ``ValueError`` that names the argument and its value, shape, strides, dtype or device.
    """
    check_tensors(x=x, weight=weight)
    check_dtype(DTYPES, x=x, weight=weight)
    check_same_device(x=x, weight=weight)
    x_rows = as_rows("x", x)
    n_rows, n_cols = x_rows.shape
    if weight.shape != (n_cols,):
        raise ValueError(f"weight must have shape [{n_cols}], a value for each column of x {list(x.shape)}; got {list(weight.shape)}")
    if not eps >= 0:
        raise ValueError(f"eps must be at least 0; got {eps!r}")
    if form not in (None, "row", "wide"):
        raise ValueError(f'form must be "row" or "wide"; got {form!r}')
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if x.numel() == 0:
        return out
    out_rows = as_rows("out", out)
    form = form or ("row" if n_cols <= WIDEST_TILE else "wide")
    if form == "wide" and BLOCK_M not in (None, 1):
        raise ValueError(f'BLOCK_M must be 1 with form="wide"; got {BLOCK_M}')
    if BLOCK_N is None:
        BLOCK_N = triton.next_power_of_2(n_cols) if form == "row" else 4096
    check_block("BLOCK_N", BLOCK_N, at_least=n_cols if form == "row" else 1)
    BLOCK_M = max(1, SHORT // BLOCK_N) if BLOCK_M is None else BLOCK_M
    check_block("BLOCK_M", BLOCK_M)
    num_warps = row_warps(BLOCK_M * BLOCK_N) if num_warps is None else num_warps

    strides = (*x_rows.stride(), weight.stride(0), *out_rows.stride())
    aligned = rows_aligned(x_rows, weight, out_rows)
    meta = {"BLOCK_N": BLOCK_N, "ALIGNED": aligned, "num_warps": num_warps}
    with on_device_of(x):
        if form == "row":
            grid = (triton.cdiv(n_rows, BLOCK_M),)
            rmsnorm_kernel[grid](x_rows, weight, out_rows, n_rows, n_cols, *strides, eps, BLOCK_M=BLOCK_M, **meta)
        else:
            rmsnorm_wide_kernel[(n_rows,)](x_rows, weight, out_rows, n_cols, *strides, eps, **meta)
    return out


SHORT = 1024
"""Elements that a program takes at least: rows shorter than this share one."""


def rmsnorm_cost(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> tuple[int, int]:
    """Bytes that must move (x and weight read once, the output written once) and arithmetic operations of ``rmsnorm``."""
    moved = (elements(x) + x.numel()) * x.element_size() + elements(weight) * weight.element_size()
    return moved, FLOPS * x.numel()


def bench_cases() -> Iterator[dict]:
    """The sizes, dtypes and rivals that ``python -m tritonlab bench rmsnorm`` measures."""
    wide = [(4096, 1024), (4096, 12671)]
    anchors = [(32768, 1024), (16384, 4096), (8192, 8192), (4096, 32768), (2048, 131072)]
    widths = [(4096, n) for n in (128, 256, 512, 1000, 1024, 2047, 2048, 4096, 8192, 12671, 16384)]
    rows = [(n, 1024) for n in (16, 256, 1024)]
    cases = [(shape, torch.float32) for shape in wide] + [(shape, torch.bfloat16) for shape in anchors + widths + rows]
    for shape, dtype in cases:
        yield {
            "shape": shape,
            "dtype": dtype,
            "make": lambda device, shape=shape, dtype=dtype: (
                torch.randn(shape, device=device, dtype=dtype),
                torch.randn(shape[-1], device=device, dtype=dtype),
            ),
            "run": rmsnorm,
            "baselines": {"torch": lambda x, w: torch.nn.functional.rms_norm(x, (x.shape[-1],), w, 1e-6)},
            "cost": rmsnorm_cost,
        }
