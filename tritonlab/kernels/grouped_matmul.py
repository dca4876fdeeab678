"""Chapter 6: C = A @ B, its tiles visited in groups of rows, so that what neighbours load is still in L2."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
import triton
import triton.language as tl

from .checks import check_positive
from .matmul import MOST, check_operands, check_size, matmul, matmul_cost, matmul_tile, operands, prepare, torch_with
from .matmul_shapes import CONFIGS, fitting_configs, row_multiple
from .padding import fill_up, pays_to_pad
from .tensors import blocks, on_device_of

__all__ = ["autotuned_matmul", "bench_cases", "grouped_matmul", "grouped_matmul_cost", "grouped_matmul_kernel", "grouped_pid", "whole_tiles_kernel"]


@triton.jit
def grouped_pid(pid, num_pid_m, num_pid_n, GROUP_M):
    """The tile (pid_m, pid_n) that program ``pid`` computes; ``pid`` may be one program or a block of them.

    The rows of tiles are cut into groups of GROUP_M. Within a group, programs go down its rows, then one column to
    the right; the last group may have fewer rows. GROUP_M = 1 is row-major; GROUP_M ≥ num_pid_m is column-major.
    Numbers are of 32 bits: GROUP_M · num_pid_n must stay below 2**31.
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
    MULTIPLE: tl.constexpr = 1,
):
    pid_m, pid_n = grouped_pid(tl.program_id(axis=0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    matmul_tile(
        a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
        pid_m, pid_n, BLOCK_M, BLOCK_N, BLOCK_K, INPUT_PRECISION, MULTIPLE,
    )  # fmt: skip


@triton.jit
def whole_tiles_kernel(
    a_ptr,  # filled up to whole tiles,
    b_ptr,  # and so is B,
    c_ptr,
    M,  # but C is not: these are its rows
    N,  # and columns
    K,  # that of A and B, a multiple of BLOCK_K
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    INPUT_PRECISION: tl.constexpr,
):
    """``grouped_matmul_kernel`` with no mask in the K loop."""
    pid_m, pid_n = grouped_pid(tl.program_id(axis=0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K).to(tl.int64)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), acc, input_precision=INPUT_PRECISION)
        a_ptrs += tl.cast(BLOCK_K, tl.int64) * stride_ak
        b_ptrs += tl.cast(BLOCK_K, tl.int64) * stride_bk
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, acc, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


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
    pad: bool | None = None,
) -> torch.Tensor:
    """a @ b as ``tritonlab.kernels.matmul.matmul``, with the tiles of the result visited in groups of GROUP_M rows.

    Only the order in which programs take the tiles differs, so the result is the same to the bit. The grid has one
    axis. GROUP_M: rows of tiles in a group, at least 1 (row-major); the other arguments and the errors are
    ``matmul``'s.
    pad: whether to copy a and b first, filled up with zeros to whole tiles whose rows begin on 16 bytes; if left out,
    for large 16-bit products whose a or b cannot be read 16 bytes at a time. The copies take as much memory again.
    """
    check_positive("GROUP_M", GROUP_M)
    check_operands(a, b, out_dtype, input_precision)
    pad = a.shape[1] > 0 and (pays_to_pad(a, b) if pad is None else pad)
    c, tile, options = prepare(a, b, out_dtype, input_precision, BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages, pad)
    (M, K), N = a.shape, b.shape[1]
    if c.numel() == 0:
        return c
    kernel, rows, cols = grouped_matmul_kernel, blocks(M, tile["BLOCK_M"]), blocks(N, tile["BLOCK_N"])
    if rows * cols > MOST:
        raise ValueError(
            f"BLOCK_M and BLOCK_N must be larger: {tile['BLOCK_M']} × {tile['BLOCK_N']} makes {rows * cols:,} tiles of "
            f"{M:,} × {N:,}, and axis 0 of a grid holds {MOST:,}"
        )
    if GROUP_M * cols > MOST:
        GROUP_M = rows  # whole columns already
    constants = {"GROUP_M": GROUP_M, "INPUT_PRECISION": input_precision, "MULTIPLE": row_multiple(a, b)}
    if pad:
        del constants["MULTIPLE"]
        kernel, K = whole_tiles_kernel, blocks(K, tile["BLOCK_K"]) * tile["BLOCK_K"]
        a, b = fill_up(a, rows * tile["BLOCK_M"], K), fill_up(b, K, cols * tile["BLOCK_N"])
    with on_device_of(a):
        kernel[(rows * cols,)](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), **tile, **constants, **options)
    return c


def grouped_matmul_cost(a: torch.Tensor, b: torch.Tensor) -> tuple[int, int]:
    """Bytes that must move and operations: those of ``matmul_cost``, whatever the order."""
    return matmul_cost(a, b)


def tuned(**options: object) -> triton.runtime.autotuner.Autotuner:
    """``grouped_matmul_kernel`` with its candidates."""
    return triton.autotune(
        configs=CONFIGS,
        # whatever makes another kernel of it: the shape, which axis is contiguous, whether rows are aligned, the precision
        key=["M", "N", "K", "stride_am", "stride_ak", "stride_bk", "stride_bn", "INPUT_PRECISION"],
        prune_configs_by={"early_config_prune": fitting_configs},
        **options,
    )(grouped_matmul_kernel)


def in_a_graph(fn: Callable[[], object], quantiles: tuple[float, ...]) -> list[float]:
    """How candidates are timed: in a CUDA graph, so that a small product's time is not that of its launch."""
    return triton.testing.do_bench_cudagraph(fn, rep=4, quantiles=quantiles)


tuned_matmul_kernel = tuned(do_bench=in_a_graph)
first_config_kernel = tuned()  # where nothing can be timed: the first candidate that fits


def autotuned_matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    out_dtype: torch.dtype | None = None,
    input_precision: str = "ieee",
) -> torch.Tensor:
    """a @ b as ``grouped_matmul``, its tile, GROUP_M, warps and stages the fastest of a few candidates, found by timing them.

    The first call for a shape, layout, dtype and precision compiles and times every candidate that fits (seconds); later
    calls in this process take the winner. Where nothing can be timed (the interpreter, ``lab.compile``) the
    first candidate that fits is taken. Arguments, result and errors are ``matmul``'s.
    """
    check_operands(a, b, out_dtype, input_precision)
    (M, K), N = a.shape, b.shape[1]
    for axis, size in (("M", M), ("N", N), ("K", K)):
        check_size(axis, size, 256)
    c = a.new_empty((M, N), dtype=out_dtype or a.dtype)
    if c.numel() == 0:
        return c

    def grid(meta: dict[str, int]) -> tuple[int]:
        return (blocks(M, meta["BLOCK_M"]) * blocks(N, meta["BLOCK_N"]),)

    constants = {"INPUT_PRECISION": input_precision, "MULTIPLE": row_multiple(a, b)}
    kernel = tuned_matmul_kernel if a.is_cuda else first_config_kernel
    with on_device_of(a):
        kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), **constants)
    return c


def torch_padded(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a @ b by torch on copies filled up with zeros to multiples of 16, and the part that was asked for of their product."""
    (M, K), N = a.shape, b.shape[1]
    to_m, to_k, to_n = (-size % 16 for size in (M, K, N))
    pad = torch.nn.functional.pad
    return torch.matmul(pad(a, (0, to_k, 0, to_m)), pad(b, (0, to_n, 0, to_k)))[:M, :N]


def bench_cases() -> Iterator[dict]:
    """The sizes, dtypes and rivals that ``python -m tritonlab bench grouped_matmul`` measures."""
    even = [(n, n, n) for n in (512, 1024, 2048, 4096, 8192, 16384)]
    even += [(16384, 512, 8192), (512, 16384, 8192), (16384, 16384, 1024)]
    odd = [(8191, 4097, 2049), (1000, 1000, 1000), (1001, 1001, 1001), (2047, 2047, 2047), (4095, 4095, 4095), (4097, 4097, 4097), (4096, 4096, 4097)]
    odd += [(2040, 2040, 2040), (4104, 4104, 4104), (4112, 4112, 4112)]  # multiples of 8, and of 16, that are no cache lines
    cases = [(size, torch.bfloat16) for size in even + odd] + [(size, torch.float16) for size in (*even[1:5], odd[0])]
    plain = {"tiled": matmul, "grouped": partial(grouped_matmul, pad=False), "autotuned": autotuned_matmul}
    for size, dtype in cases:
        yield {
            "shape": size,
            "dtype": dtype,
            "make": partial(operands, M=size[0], N=size[1], K=size[2], dtype=dtype),
            "run": plain if size in even else plain | {"padded": partial(grouped_matmul, pad=True)},
            "baselines": {"torch": partial(torch_with, "highest")} | ({} if size in even else {"torch padded": torch_padded}),
            "cost": matmul_cost,
            "accuracy": {"K": size[2]},
            "compile": None,  # torch.compile takes its time, and gives cuBLAS
        }
