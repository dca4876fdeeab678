"""Chapter 6: C = A @ B, its tiles visited in groups of rows, so that what neighbours load is still in L2."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .checks import check_positive
from .matmul import matmul_cost, matmul_tile, prepare
from .tensors import blocks, on_device_of

__all__ = ["grouped_matmul", "grouped_matmul_cost", "grouped_matmul_kernel", "grouped_pid"]


@triton.jit
def grouped_pid(pid, num_pid_m, num_pid_n, GROUP_M):
    """The tile (pid_m, pid_n) that program ``pid`` computes; ``pid`` may be one program or a block of them.

    The rows of tiles are cut into groups of GROUP_M. Within a group, programs go down its rows, then one column to
    the right; the last group may have fewer rows. GROUP_M = 1 is row-major; GROUP_M ≥ num_pid_m is column-major.
    """
    programs_in_group = GROUP_M * num_pid_n
    first_pid_m = (pid // programs_in_group) * GROUP_M
    rows = tl.minimum(num_pid_m - first_pid_m, GROUP_M)
    in_group = pid % programs_in_group
    return first_pid_m + in_group % rows, in_group // rows


@triton.jit
def grouped_matmul_kernel(
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
    GROUP_M: tl.constexpr,  # rows of tiles in a group
    INPUT_PRECISION: tl.constexpr,
):
    pid_m, pid_n = grouped_pid(tl.program_id(axis=0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    matmul_tile(
        a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
        pid_m, pid_n, BLOCK_M, BLOCK_N, BLOCK_K, INPUT_PRECISION,
    )  # fmt: skip


def grouped_matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    out_dtype: torch.dtype | None = None,
    input_precision: str = "ieee",
    BLOCK_M: int | None = None,
    BLOCK_N: int | None = None,
    BLOCK_K: int | None = None,
    GROUP_M: int = 8,
    num_warps: int | None = None,
    num_stages: int | None = None,
) -> torch.Tensor:
    """a @ b as ``tritonlab.kernels.matmul.matmul``, with the tiles of the result visited in groups of GROUP_M rows.

    Only the order in which programs take the tiles differs, so the result is the same to the bit. The grid has one
    axis. GROUP_M: rows of tiles in a group, at least 1 (row-major); the other arguments and the errors are
    ``matmul``'s.
    """
    check_positive("GROUP_M", GROUP_M)
    c, tile, options = prepare(a, b, out_dtype, input_precision, BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages)
    (M, K), N = a.shape, b.shape[1]
    if c.numel() == 0:
        return c
    grid = (blocks(M, tile["BLOCK_M"]) * blocks(N, tile["BLOCK_N"]),)
    with on_device_of(a):
        grouped_matmul_kernel[grid](
            a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
            **tile, GROUP_M=GROUP_M, INPUT_PRECISION=input_precision, **options,
        )  # fmt: skip
    return c


def grouped_matmul_cost(a: torch.Tensor, b: torch.Tensor) -> tuple[int, int]:
    """Bytes that must move and operations: those of ``matmul_cost``, whatever the order."""
    return matmul_cost(a, b)
