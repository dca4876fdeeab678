"""One launch of a matmul kernel with every meta-parameter given: what the sweeps of chapters 6 and 7 time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import triton
import triton.language as tl

from .grouped_matmul import grouped_matmul_kernel
from .matmul import matmul_kernel, matmul_tile
from .matmul_shapes import row_multiple
from .tensors import blocks

__all__ = ["WHOLE_COLUMN", "Launch", "swapped_axes_kernel"]

WHOLE_COLUMN = "whole column"
"""GROUP_M as large as there are rows of tiles: the order goes down whole columns."""


@triton.jit
def swapped_axes_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    INPUT_PRECISION: tl.constexpr,
    MULTIPLE: tl.constexpr = 1,
):
    """``matmul_kernel`` with the axes of its grid the other way round: axis 0, which a GPU runs fastest, goes along a row of tiles."""
    pid_m, pid_n = tl.program_id(axis=1), tl.program_id(axis=0)
    matmul_tile(
        a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
        pid_m, pid_n, BLOCK_M, BLOCK_N, BLOCK_K, INPUT_PRECISION, MULTIPLE,
    )  # fmt: skip


KERNELS = {"grouped": grouped_matmul_kernel, "2-D grid": matmul_kernel, "2-D grid, axes swapped": swapped_axes_kernel}


class Launch:
    """``a @ b`` by one kernel in one config; called with a and b, contiguous, it gives c.

    implementation: "grouped", "2-D grid" (axis 0 goes down a column of tiles) or "2-D grid, axes swapped". config:
    BLOCK_M, BLOCK_N, BLOCK_K, for "grouped" GROUP_M (a number, or "whole column"), num_warps, num_stages. After a
    call on a GPU, ``loaded`` is the kernel as Triton loaded it there.
    """

    def __init__(self, implementation: str, config: Mapping[str, int | str], input_precision: str = "ieee") -> None:
        self.implementation, self.config, self.input_precision = implementation, dict(config), input_precision
        self.loaded: Any = None

    @property
    def kernel(self) -> Any:
        return KERNELS[self.implementation]

    def grid(self, M: int, N: int) -> tuple[int, ...]:
        rows, cols = blocks(M, self.config["BLOCK_M"]), blocks(N, self.config["BLOCK_N"])
        return {"grouped": (rows * cols,), "2-D grid": (rows, cols)}.get(self.implementation, (cols, rows))

    def constants(self, M: int, multiple: int) -> dict[str, int | str]:
        """Meta-parameters and options, as the launch takes them."""
        given = dict(self.config)
        if given.get("GROUP_M") == WHOLE_COLUMN:
            given["GROUP_M"] = blocks(M, given["BLOCK_M"])
        return {**given, "INPUT_PRECISION": self.input_precision, "MULTIPLE": multiple}

    def __call__(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        (M, K), N = a.shape, b.shape[1]
        c = a.new_empty((M, N))
        self.loaded = self.kernel[self.grid(M, N)](a, b, c, M, N, K, K, 1, N, 1, N, 1, **self.constants(M, row_multiple(a, b)))
        return c

    def compile(self, M: int, N: int, K: int, dtype: torch.dtype) -> None:
        """Compile what a call would launch, for the GPU at hand, and launch nothing."""
        a, b = torch.empty(M, K, dtype=dtype, device="meta"), torch.empty(K, N, dtype=dtype, device="meta")
        x = torch.empty(16, dtype=dtype, device="cuda")
        constants = self.constants(M, row_multiple(a, b))
        self.kernel.warmup(x, x, x, M, N, K, K, 1, N, 1, N, 1, grid=self.grid(M, N), **constants)
