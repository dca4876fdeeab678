"""Chapter 5: C = A @ B, a tile of C a program, K in steps; the tile itself is also chapter 6's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
import triton
import triton.language as tl

from .checks import check_block, check_dtype, check_same_device, check_tensors
from .matmul_shapes import launch_shape, row_multiple
from .tensors import blocks, elements, on_device_of

__all__ = ["DTYPES", "PRECISIONS", "bench_cases", "launch_shape", "matmul", "matmul_cost", "matmul_kernel", "matmul_tile"]

DTYPES = (torch.float32, torch.float16, torch.bfloat16)

PRECISIONS = ("ieee", "tf32", "tf32x3")
"""What ``tl.dot`` may do to float32: multiply as it is, round it to 11 bits first, or make three such products."""


@triton.jit
def matmul_tile(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,  # elements from one row of A to the next
    stride_ak,  # elements from one column of A to the next
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    pid_m,  # which row of tiles, and
    pid_n,  # which column of tiles, of C
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    INPUT_PRECISION: tl.constexpr,
    MULTIPLE: tl.constexpr,  # divides K, N and the row strides; 1 where Triton sees by itself what there is to see
):
    """One tile of C: the sum over K of a tile of A times a tile of B."""
    if MULTIPLE > 1:  # changes no number, but now the compiler sees that 16 bytes can be moved at a time
        K, N = K // MULTIPLE * MULTIPLE, N // MULTIPLE * MULTIPLE
        stride_am, stride_bk = stride_am // MULTIPLE * MULTIPLE, stride_bk // MULTIPLE * MULTIPLE
        stride_cm = stride_cm // MULTIPLE * MULTIPLE
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)  # 64 bits: offsets may pass 2**31
    offs_n = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :].to(tl.int64) * stride_ak
    b_ptrs = b_ptr + offs_k[:, None].to(tl.int64) * stride_bk + offs_n[None, :] * stride_bn
    mask_m, mask_n = offs_m[:, None] < M, offs_n[None, :] < N

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=mask_m & (offs_k[None, :] < K - k), other=0.0)  # 0 adds nothing to a dot
        b = tl.load(b_ptrs, mask=(offs_k[:, None] < K - k) & mask_n, other=0.0)
        acc = tl.dot(a, b, acc, input_precision=INPUT_PRECISION)
        a_ptrs += tl.cast(BLOCK_K, tl.int64) * stride_ak
        b_ptrs += tl.cast(BLOCK_K, tl.int64) * stride_bk

    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, acc, mask=mask_m & mask_n)  # the store rounds to the dtype of C


@triton.jit
def matmul_kernel(
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
    BLOCK_M: tl.constexpr,  # rows of C a program, a power of two
    BLOCK_N: tl.constexpr,  # columns of C a program
    BLOCK_K: tl.constexpr,  # of K a step
    INPUT_PRECISION: tl.constexpr,
    MULTIPLE: tl.constexpr = 1,
):
    pid_m, pid_n = tl.program_id(axis=0), tl.program_id(axis=1)
    matmul_tile(
        a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
        pid_m, pid_n, BLOCK_M, BLOCK_N, BLOCK_K, INPUT_PRECISION, MULTIPLE,
    )  # fmt: skip


def matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    out_dtype: torch.dtype | None = None,
    input_precision: str = "ieee",
    BLOCK_M: int | None = None,
    BLOCK_N: int | None = None,
    BLOCK_K: int | None = None,
    num_warps: int | None = None,
    num_stages: int | None = None,
) -> torch.Tensor:
    """a @ b, accumulated in float32; one program a tile of the result, tiles on a 2-D grid (axis 0: rows of tiles).

    a: [M, K], b: [K, N], of one dtype (float16, bfloat16, float32) on one device, with any strides: transposed,
    sliced and expanded views are read where they are. K = 0 gives zeros.
    out_dtype: dtype of the result, one of these three; that of a if left out.
    input_precision: what may be done to float32 operands: "ieee" nothing (no tensor core), "tf32" rounds them to
    11 bits, "tf32x3" makes up for most of that with three products. 16-bit operands are exact in all. A tensor core
    takes float32 only along K: with "tf32" a b whose columns are contiguous (``weight.t()``) is multiplied two to three
    times as fast on an H200 as one whose rows are, which is copied 4 bytes at a time.
    BLOCK_M, BLOCK_N, BLOCK_K: the tile, powers of two (a GPU takes BLOCK_K from 16 on); num_warps, num_stages:
    launch options. What is left out is chosen by shape and dtype.

    Returns a contiguous [M, N] tensor. No gradient is recorded. Raises ``TypeError`` or ``ValueError`` that names the
    argument and its shape, dtype or device.
    """
    check_operands(a, b, out_dtype, input_precision)
    c, tile, options = prepare(a, b, out_dtype, input_precision, BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages)
    (M, K), N = a.shape, b.shape[1]
    if c.numel() == 0:
        return c
    grid = (blocks(M, tile["BLOCK_M"]), blocks(N, tile["BLOCK_N"]))
    if grid[1] > MOST_COLUMNS:
        raise ValueError(
            f"BLOCK_N must be larger: {tile['BLOCK_N']} makes {grid[1]:,} columns of tiles of N = {N:,}, and axis 1 of a grid "
            f"holds {MOST_COLUMNS:,}; grouped_matmul has no such limit"
        )
    constants = {"INPUT_PRECISION": input_precision, "MULTIPLE": row_multiple(a, b)}
    with on_device_of(a):
        matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), **tile, **constants, **options)
    return c


MOST_COLUMNS = 65535
"""Programs that CUDA allows on axis 1 of a grid."""

MOST = 2**31 - 1
"""The largest number of 32 bits, and the number of programs that CUDA allows on axis 0 of a grid."""


def prepare(
    a: object,
    b: object,
    out_dtype: torch.dtype | None,
    input_precision: str,
    BLOCK_M: int | None,
    BLOCK_N: int | None,
    BLOCK_K: int | None,
    num_warps: int | None,
    num_stages: int | None,
    padded: bool = False,
) -> tuple[torch.Tensor, dict[str, int], dict[str, int]]:
    """The result's tensor, the tile and the launch options of ``a @ b``; tile and sizes are checked, operands are already."""
    (M, K), N = a.shape, b.shape[1]
    chosen = launch_shape(M, N, K, a.element_size(), input_precision, padded)
    given = {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "BLOCK_K": BLOCK_K}
    tile = {name: chosen[name] if value is None else value for name, value in given.items()}
    for (name, value), (axis, size) in zip(tile.items(), (("M", M), ("N", N), ("K", K))):
        check_block(name, value)
        check_size(axis, size, value)
    options = {
        "num_warps": chosen["num_warps"] if num_warps is None else num_warps,
        "num_stages": chosen["num_stages"] if num_stages is None else num_stages,
    }
    return a.new_empty((M, N), dtype=out_dtype or a.dtype), tile, options


def check_size(axis: str, size: int, block: int) -> None:
    """A size, rounded up to whole blocks, is a number of 32 bits; ``ValueError`` names it."""
    if size > MOST - block:
        raise ValueError(f"{axis} must be at most {MOST - block:,} with blocks of {block}, as the kernel counts in 32 bits; got {size:,}")


def check_operands(a: object, b: object, out_dtype: object, input_precision: object) -> None:
    """Raise for what cannot be multiplied, naming the argument and what it is."""
    check_tensors(a=a, b=b)
    for name, tensor in (("a", a), ("b", b)):
        if tensor.ndim != 2:
            raise ValueError(f"{name} must have 2 dimensions; got shape {list(tensor.shape)}")
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"a @ b needs as many columns of a as rows of b; got shapes {list(a.shape)} and {list(b.shape)}")
    if a.dtype != b.dtype:
        raise TypeError(f"b must have the dtype of a, {a.dtype}; got {b.dtype}")
    check_dtype(DTYPES, a=a)
    check_same_device(a=a, b=b)
    if out_dtype is not None and out_dtype not in DTYPES:
        names = ", ".join(str(d).removeprefix("torch.") for d in DTYPES)
        raise TypeError(f"out_dtype must be one of {names}; got {out_dtype!r}")
    if input_precision not in PRECISIONS:
        raise ValueError(f"input_precision must be one of {', '.join(PRECISIONS)}; got {input_precision!r}")


def matmul_cost(a: torch.Tensor, b: torch.Tensor) -> tuple[int, int]:
    """Bytes that must move (a and b read once, the result written once in a's dtype) and 2·M·N·K operations."""
    (M, K), N = a.shape, b.shape[1]
    return (elements(a) + elements(b) + M * N) * a.element_size(), 2 * M * N * K


def operands(device: str, M: int, N: int, K: int, dtype: torch.dtype, transposed: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Random a and b, as the bench takes them; ``transposed``: b's columns lie in rows, as a layer's weight.t() has them."""
    b = torch.randn((N, K) if transposed else (K, N), device=device, dtype=dtype)
    return torch.randn((M, K), device=device, dtype=dtype), b.t() if transposed else b


def torch_with(precision: str, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a @ b by torch, float32 operands at ``precision``: "highest" (as they are) or "high" (TF32)."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        return torch.matmul(a, b)
    finally:
        torch.set_float32_matmul_precision(before)


def bench_cases() -> Iterator[dict]:
    """The sizes, dtypes and rivals that ``python -m tritonlab bench matmul`` measures."""
    sizes = [(n, n, n) for n in (512, 1024, 2048, 4096, 8192, 16384)]
    cases = [(size, torch.bfloat16, "", False) for size in sizes] + [(sizes[3], torch.float16, "", False)]
    cases += [(size, torch.float32, how, False) for size in sizes[1:4] for how in ("ieee", "tf32")]
    cases += [(sizes[3], torch.float32, "tf32", True)]
    for size, dtype, how, transposed in cases:
        turned = ", b transposed" if transposed else ""
        rival = "high" if how == "tf32" else "highest"
        yield {
            "shape": size,
            "dtype": dtype,
            "make": partial(operands, M=size[0], N=size[1], K=size[2], dtype=dtype, transposed=transposed),
            "run": {f"{how}{turned}": partial(matmul, input_precision=how)} if how else matmul,
            "baselines": {f"torch tf32{turned}" if how == "tf32" else "torch": partial(torch_with, rival)},
            "cost": matmul_cost,
            "accuracy": {"K": size[2], "input_precision": how or "ieee"},
            "compile": None,  # torch.compile takes its time, and gives cuBLAS
        }
