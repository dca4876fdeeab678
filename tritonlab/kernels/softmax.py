"""Chapter 3: softmax over the last dimension, a row a program; and a form for rows wider than one tile."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import torch
import triton
import triton.language as tl

from .checks import check_block, check_dtype, check_tensors
from .tensors import as_rows, elements, empty_like, on_device_of, rows_aligned

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
    DEPTH: tl.constexpr,  # of these, how many each lane takes
    ALIGNED: tl.constexpr,  # whether rows can be read 16 bytes at a time
):
    # keep what will be read again, and let go of what will not; where rows share cache lines, leave it to the cache
    KEEP: tl.constexpr = "evict_last" if ALIGNED else ""
    DROP: tl.constexpr = "evict_first" if ALIGNED else ""
    row = tl.program_id(axis=0).to(tl.int64)
    x_row = x_ptr + row * stride_xm
    out_row = out_ptr + row * stride_om
    LANES: tl.constexpr = BLOCK_SIZE // DEPTH
    tile = tl.arange(0, DEPTH)[:, None] * LANES + tl.arange(0, LANES)[None, :]
    # each lane keeps the maximum m of what it saw, and total, its sum of exp(x - m)
    m = tl.full((LANES,), -3.4028234663852886e38, tl.float32)  # the lowest finite: -inf - (-inf) is NaN
    total = tl.zeros((LANES,), tl.float32)
    for start in range(0, n_cols, BLOCK_SIZE):
        cols = (start + tile).to(tl.int64)
        x_ptrs = x_row + cols * stride_xn
        x = tl.load(x_ptrs, mask=cols < n_cols, other=-float("inf"), eviction_policy=KEEP).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, axis=0))
        total = total * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new[None, :]), axis=0)
        m = m_new
    row_max = tl.max(m, axis=0)
    scale = 1.0 / tl.sum(total * tl.exp(m - row_max), axis=0)
    for start in range(0, n_cols, BLOCK_SIZE):  # the second reading finds the row in cache
        cols = (start + tile).to(tl.int64)
        mask = cols < n_cols
        x_ptrs = x_row + cols * stride_xn
        x = tl.load(x_ptrs, mask=mask, other=-float("inf"), eviction_policy=DROP).to(tl.float32)
        tl.store(out_row + cols * stride_on, tl.exp(x - row_max) * scale, mask=mask, eviction_policy=DROP)


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
    BLOCK_SIZE: a power of two, at least n_cols for "row" and at least 8 for "wide"; num_warps: warps a program; both
    chosen if left out.

    No gradient is recorded. Raises ``TypeError`` or ``ValueError`` that names the argument and its shape, strides,
    dtype or device.
    """
    usual = (
        isinstance(x, torch.Tensor)
        and x.ndim == 2
        and x.dtype in DTYPES
        and x.layout is torch.strided
        and (form is None or form in FORMS)
    )
    if not usual:
        check_arguments(x, form)
    if BLOCK_SIZE is not None:
        check_block("BLOCK_SIZE", BLOCK_SIZE)
    out = empty_like(x)
    if x.numel() == 0:
        return out
    rows = x if x.ndim == 2 else as_rows("x", x)
    n_rows, n_cols = rows.shape
    form, chosen_block, options = launch_shape(n_cols, x.element_size(), rows_aligned(rows), form, BLOCK_SIZE, num_warps)
    check_block("BLOCK_SIZE", chosen_block, at_least=n_cols if form == "row" else options["DEPTH"])
    kernel = softmax_kernel if form == "row" else softmax_wide_kernel
    with on_device_of(x):
        kernel[(n_rows,)](rows, out, n_cols, *rows.stride(), n_cols, 1, BLOCK_SIZE=chosen_block, **options)
    return out


FORMS = ("row", "wide")


@lru_cache(maxsize=256)
def launch_shape(
    n_cols: int, itemsize: int, aligned: bool, form: str | None, block: int | None, num_warps: int | None
) -> tuple[str, int, dict[str, int]]:
    """Form, BLOCK_SIZE and launch options, as far as the caller left them open; found by a sweep on an H200.

    A row in one tile: 32 bytes a thread, from 1 to 16 warps, and 32 warps past 16,384 elements. Where that comes to
    32 elements a thread or rows are not aligned, registers are capped at 64: an SM then holds several programs, of
    which one loads while another computes.
    A row in steps: two steps, in which each lane takes 8 elements (rows not aligned: four steps, 4 elements), 16
    bytes a load, so that few rows are under way at a time and they are still in cache for their second reading.
    """
    form = form or ("row" if n_cols <= WIDEST_TILE else "wide")
    if form == "row":
        block = triton.next_power_of_2(n_cols) if block is None else block
        warps = 32 if block > 16384 else max(1, min(16, block * itemsize // 1024))
        options = {"num_warps": warps if num_warps is None else num_warps}
        if num_warps is None and (block == 16384 or (block == 8192 and not aligned)):
            options = {"num_warps": block // 1024, "maxnreg": 64}
        return form, block, options
    depth = 8 if aligned else 4
    most = 2**17 // itemsize if aligned else 2**14
    if block is None:
        block = max(depth, min(most, triton.next_power_of_2(n_cols // (2 if aligned else 4))))
    warps = max(1, min(32, block * itemsize // (512 * depth)))
    num_warps = warps if num_warps is None else num_warps
    return form, block, {"DEPTH": depth, "ALIGNED": aligned, "num_warps": num_warps}


def check_arguments(x: object, form: object) -> None:
    """Raise for what ``softmax`` cannot do, naming the argument and what it is."""
    check_tensors(x=x)
    check_dtype(DTYPES, x=x)
    as_rows("x", x)
    if form is not None and form not in FORMS:
        raise ValueError(f'form must be "row" or "wide"; got {form!r}')


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
