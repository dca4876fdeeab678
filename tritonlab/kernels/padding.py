"""Matrices filled up with zeros to whole, aligned tiles, for shapes that cannot be read 16 bytes at a time."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .matmul_shapes import row_multiple
from .tensors import blocks, on_device_of, rows_aligned

__all__ = ["fill_up", "fill_up_kernel", "pays_to_pad", "reads_wide"]


@triton.jit
def fill_up_kernel(
    x_ptr,
    out_ptr,
    n_rows,
    n_cols,
    out_rows,
    out_cols,  # a multiple of 16: so the mask lets 16 bytes through at a time
    stride_xm,
    stride_xn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """out = x with zeros to its right and below."""
    rows = tl.program_id(axis=0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    cols = tl.program_id(axis=1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    x = tl.load(x_ptr + rows * stride_xm + cols * stride_xn, mask=(rows < n_rows) & (cols < n_cols), other=0.0)
    tl.store(out_ptr + rows * out_cols + cols, x, mask=(rows < out_rows) & (cols < out_cols))


def fill_up(x: torch.Tensor, n_rows: int, n_cols: int) -> torch.Tensor:
    """x, [rows, columns], with zeros up to [n_rows, n_cols]; x itself if it has that shape and can be read 16 bytes at a time.

    n_rows and n_cols are multiples of 16. A transposed x stays so: neighbours in its memory are neighbours in the copy.
    """
    if x.shape == (n_rows, n_cols) and reads_wide(x):
        return x
    if x.stride(0) == 1 and x.stride(1) != 1:
        return fill_up(x.t(), n_cols, n_rows).t()
    out = x.new_empty((n_rows, n_cols))
    grid = (blocks(n_rows, TILE["BLOCK_M"]), blocks(n_cols, TILE["BLOCK_N"]))
    with on_device_of(x):
        fill_up_kernel[grid](x, out, *x.shape, n_rows, n_cols, *x.stride(), **TILE)
    return out


TILE = {"BLOCK_M": 8, "BLOCK_N": 256}


def reads_wide(x: torch.Tensor) -> bool:
    """Whether a matrix, or its transpose, can be read 16 bytes at a time."""
    return rows_aligned(x) or rows_aligned(x.t())


def pays_to_pad(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether copies of a and b, made first, are worth their time.

    They are where 16-bit operands cannot be read 16 bytes at a time and each element is used often enough: a copy
    moves an element at about 1 TB/s, a scalar load in the K loop costs several times what the dot does. Rows that
    begin on 16 bytes but not on whole cache lines halve the rate of the K loop: copies pay too, from about 2600³ on.
    """
    (M, K), N = a.shape, b.shape[1]
    if a.element_size() != 2 or min(M, N) < 256 or M * N * K < 2**29:
        return False
    if row_multiple(a, b) > 1:
        return M * N * K >= 2**34
    return not (reads_wide(a) and reads_wide(b))
