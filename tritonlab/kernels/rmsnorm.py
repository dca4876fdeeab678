"""Chapter 4: RMSNorm over the last dimension; and a form for rows wider than one tile."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial

import torch
import triton
import triton.language as tl

from .checks import check_block, check_dtype, check_same_device, check_tensors
from .tensors import as_rows, blocks, elements, empty_like, on_device_of, rows_aligned

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
    # keep what will be read again, and let go of what will not; where rows share cache lines, leave it to the cache
    KEEP: tl.constexpr = "evict_last" if ALIGNED else ""
    DROP: tl.constexpr = "evict_first" if ALIGNED else ""
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
        x = tl.load(x_ptrs, mask=offs_n < n_cols, other=0.0, eviction_policy=KEEP).to(tl.float32)
        acc += x * x
    scale = tl.rsqrt(tl.sum(acc, axis=0) / n_cols + eps)
    for start in range(0, n_cols, BLOCK_N):  # the second reading finds the row in cache
        offs_n = (start + lanes).to(tl.int64)
        if not ALIGNED:
            offs_n = tl.max_contiguous(offs_n, 1)
        mask = offs_n < n_cols
        x = tl.load(x_row + offs_n * stride_xn, mask=mask, other=0.0, eviction_policy=DROP).to(tl.float32)
        w = tl.load(w_ptr + offs_n * stride_w, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_row + offs_n * stride_on, x * scale * w, mask=mask, eviction_policy=DROP)


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
    twice; if left out, "wide" for more than 16,384 columns (8,192 where rows are not aligned).
    BLOCK_M, BLOCK_N: powers of two, BLOCK_N at least n_cols for "row"; num_warps: warps a program; all chosen if
    left out.

    Agrees with ``torch.nn.functional.rms_norm(x, (n_cols,), weight, eps)``. No gradient is recorded. Raises
    ``TypeError`` or ``ValueError`` that names the argument and its value, shape, strides, dtype or device.
    """
    usual = (
        isinstance(x, torch.Tensor)
        and isinstance(weight, torch.Tensor)
        and x.ndim == 2
        and x.dtype in DTYPES
        and weight.dtype in DTYPES
        and weight.shape == x.shape[1:]
        and x.device == weight.device
        and x.layout is weight.layout is torch.strided
        and eps >= 0
        and (form is None or form in FORMS)
    )
    if not usual:
        check_arguments(x, weight, eps, form)
    for name, block in (("BLOCK_M", BLOCK_M), ("BLOCK_N", BLOCK_N)):
        if block is not None:
            check_block(name, block)
    out = empty_like(x)
    if x.numel() == 0:
        return out
    rows = x if x.ndim == 2 else as_rows("x", x)
    n_rows, n_cols = rows.shape
    aligned = rows_aligned(rows, weight)
    form, block_m, block_n, warps = launch_shape(n_cols, x.element_size(), aligned, form, BLOCK_M, BLOCK_N)
    check_block("BLOCK_N", block_n, at_least=n_cols if form == "row" else 1)
    if form == "wide" and block_m > 1:
        raise ValueError(f'BLOCK_M must be 1 with form="wide"; got {block_m}')
    strides = (*rows.stride(), weight.stride(0), n_cols, 1)
    num_warps = warps if num_warps is None else num_warps
    with on_device_of(x):
        if form == "row":
            rmsnorm_kernel[(blocks(n_rows, block_m),)](
                rows, weight, out, n_rows, n_cols, *strides, eps, BLOCK_M=block_m, BLOCK_N=block_n, ALIGNED=aligned, num_warps=num_warps
            )
        else:
            rmsnorm_wide_kernel[(n_rows,)](
                rows, weight, out, n_cols, *strides, eps, BLOCK_N=block_n, ALIGNED=aligned, num_warps=num_warps
            )
    return out


FORMS = ("row", "wide")


@lru_cache(maxsize=256)
def launch_shape(
    n_cols: int, itemsize: int, aligned: bool, form: str | None, block_m: int | None, block_n: int | None
) -> tuple[str, int, int, int]:
    """Form, BLOCK_M, BLOCK_N and num_warps, as far as the caller left them open; found by a sweep on an H200.

    Rows in one tile: at least 2,048 elements a program, 16 a thread, up to 16 warps (rows not aligned: 1,024
    elements, 32 a thread). A row in steps: four of them, in 32 warps, at most 64 KiB each, so that few rows are under
    way at a time and they are still in cache for their second reading.
    """
    form = form or ("row" if n_cols <= (WIDEST_TILE if aligned else WIDEST_TILE // 2) else "wide")
    if form == "wide":
        most = 2**16 // itemsize if aligned else 2**14
        block_n = max(1, min(most, triton.next_power_of_2(n_cols // 4))) if block_n is None else block_n
        return form, 1 if block_m is None else block_m, block_n, max(1, min(32, block_n * itemsize // 512))
    block_n = triton.next_power_of_2(n_cols) if block_n is None else block_n
    block_m = max(1, (2048 if aligned else 1024) // block_n) if block_m is None else block_m
    return form, block_m, block_n, max(1, min(16, block_m * block_n // (512 if aligned else 1024)))


def check_arguments(x: object, weight: object, eps: object, form: object) -> None:
    """Raise for what ``rmsnorm`` cannot do, naming the argument and what it is."""
    check_tensors(x=x, weight=weight)
    check_dtype(DTYPES, x=x, weight=weight)
    check_same_device(x=x, weight=weight)
    n_cols = as_rows("x", x).shape[1]
    if weight.shape != (n_cols,):
        raise ValueError(f"weight must have shape [{n_cols}], a value for each column of x {list(x.shape)}; got {list(weight.shape)}")
    if not eps >= 0:
        raise ValueError(f"eps must be at least 0; got {eps!r}")
    if form is not None and form not in FORMS:
        raise ValueError(f'form must be "row" or "wide"; got {form!r}')


def rmsnorm_cost(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> tuple[int, int]:
    """Bytes that must move (x and weight read once, the output written once) and arithmetic operations of ``rmsnorm``."""
    moved = (elements(x) + x.numel()) * x.element_size() + elements(weight) * weight.element_size()
    return moved, FLOPS * x.numel()


def bench_cases() -> Iterator[dict]:
    """The sizes, dtypes and rivals that ``python -m tritonlab bench rmsnorm`` measures."""
    fp32 = [(4096, 1024), (4096, 12671)]
    anchors = [(32768, 1024), (16384, 4096), (16384, 4095), (8192, 8192), (4096, 32768), (2048, 131072)]
    widths = [(4096, n) for n in (128, 256, 512, 1000, 1024, 2047, 2048, 4096, 8192, 12671, 16384)]
    short = [(262144, 128)]
    rows = [(n, 1024) for n in (16, 256, 1024)]
    more = {
        (8192, 8192): {f"{n} warp{'s' * (n > 1)}": partial(rmsnorm, num_warps=n) for n in (1, 4, 32)},
        (262144, 128): {"1 row a program": partial(rmsnorm, BLOCK_M=1)},
    }

    def make(device: str, shape: tuple[int, int], dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.randn(shape, device=device, dtype=dtype), torch.randn(shape[-1], device=device, dtype=dtype)

    cases = [(shape, torch.float32) for shape in fp32] + [(shape, torch.bfloat16) for shape in anchors + widths + short + rows]
    for shape, dtype in cases:
        case = {
            "shape": shape,
            "dtype": dtype,
            "make": partial(make, shape=shape, dtype=dtype),
            "run": {"": rmsnorm} | more.get(shape, {}),
            "baselines": {"torch": lambda x, w: torch.nn.functional.rms_norm(x, (x.shape[-1],), w, 1e-6)},
            "cost": rmsnorm_cost,
        }
        yield case | ({"compile": None} if shape in ((262144, 128), (16384, 4095)) else {})
