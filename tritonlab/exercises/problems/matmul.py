"""Exercises of chapter 5: the tiled kernel, an epilogue, A @ B.T without a copy, a batch on a third grid axis, split-K."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from ..problem import Case, KnownWrong, Problem, Tolerance, spec
from ..rules import one_launch
from ..run import Outcome

TOLERANCE = {
    "float32": Tolerance(1e-5, 5e-5, "a float32 sum of a hundred products of size 1 rounds by about 1e-5 at most."),
    "float16": Tolerance(1e-3, 1e-4, "float16 keeps 11 bits: storing a float32 sum rounds it by up to 5e-4 of its value."),
    "bfloat16": Tolerance(8e-3, 1e-4, "bfloat16 keeps 8 bits: storing a float32 sum rounds it by up to 4e-3 of its value."),
}
AXES = {"a": ("M", "K"), "b": ("K", "N"), "out": ("M", "N")}


def ones(generator: torch.Generator, shape: tuple[int, ...]) -> torch.Tensor:
    """Nothing but ones."""
    return torch.ones(shape, dtype=torch.float64)


def late(generator: torch.Generator, shape: tuple[int, ...]) -> torch.Tensor:
    """Rows of B that add up to 2048 within the first 16, then 1 every 16 rows: float16 holds no odd number past 2048."""
    b = torch.full(shape, 0.0625, dtype=torch.float64)
    b[:16] = 128.0
    return b


def one_row_each(generator: torch.Generator, shape: tuple[int, ...]) -> torch.Tensor:
    """Random values; row 0 holds a NaN and row 1 an infinity."""
    x = torch.randn(shape, dtype=torch.float64, generator=generator)
    x[0, 0] = float("nan")
    if shape[0] > 1:
        x[1, 0] = float("inf")
    return x


def _pair(M: int, N: int, K: int, *, a: str = "contiguous", b: str = "contiguous", dtype: str = "float32", values: Any = ("random", "random"),
          nt: bool = False, more: tuple[Any, ...] = (), note: str = "") -> Case:
    """A of [M, K] and B of [K, N] ([N, K] if ``nt``), and what else the launcher takes."""
    second = spec(N, K, layout=b, dtype=dtype, values=values[1]) if nt else spec(K, N, layout=b, dtype=dtype, values=values[1])
    return Case((spec(M, K, layout=a, dtype=dtype, values=values[0]), second, *more), note=note)


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.double() @ b.double()


# matmul.fill


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] < K - k), other=0.0)
        b = tl.load(b_ptrs, mask=(offs_k[:, None] < K - k) & (offs_n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, acc, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=16, BLOCK_N=16, BLOCK_K=16,
    )
    return c


FILL = Problem(
    name="matmul.fill",
    prompt=(
        "matmul(a, b) returns a @ b in a's dtype: a is [M, K], b is [K, N], of any strides. Each program makes one tile of the result.\n"
        "Write its indices, the pointers of its first tiles of A and B, the masked loads, the step to the next chunk of K, and the store."
    ),
    stub='''@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    offs_m = ...  # this tile's rows, absolute
    offs_n = ...  # this tile's columns, absolute
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = ...  # BLOCK_M × BLOCK_K pointers
    b_ptrs = ...  # BLOCK_K × BLOCK_N pointers

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = ...  # masked along M and along K
        b = ...  # masked along K and along N
        acc = tl.dot(a, b, acc, input_precision="ieee")
        ...  # on to the next chunk

    ...  # store acc


def matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=16, BLOCK_N=16, BLOCK_K=16,
    )
    return c
''',
    solution=(matmul_kernel, matmul),
    oracle=_product,
    cases=(
        _pair(16, 16, 16),
        _pair(48, 32, 48),
        _pair(1, 1, 1),
        _pair(7, 9, 5),
        _pair(15, 17, 16),
        _pair(17, 15, 33),
        _pair(37, 29, 41),
        _pair(20, 23, 35, dtype="float16"),
        _pair(16, 16, 96, dtype="float16", values=(ones, late), note="2048 in the first 16 terms, then 1 every 16"),
        _pair(19, 8, 40, dtype="bfloat16"),
        _pair(19, 21, 37, a="transposed"),
        _pair(21, 19, 37, b="transposed"),
        _pair(18, 33, 20, a="wide rows", b="wide rows"),
        _pair(33, 18, 20, b="every second"),
        _pair(17, 20, 18, a="expanded"),
        _pair(5, 7, 0, note="K = 0 gives zeros"),
    ),
    hints=(
        "First indices, in rows and columns: tile pid_m begins at row pid_m * BLOCK_M. Then masks, comparing these indices with M, N and K. Strides come last, each index times its own, once.",
        "A's tile has rows offs_m[:, None] and columns offs_k[None, :]; B's has rows offs_k[:, None] and columns offs_n[None, :]. In step k the column offs_k "
        "stands for k + offs_k, so it exists where offs_k < K - k. Both operands are masked along K, with other=0.0.",
        "a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak, and b_ptrs by the same pattern. "
        "a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] < K - k), other=0.0). After the dot: a_ptrs += BLOCK_K * stride_ak and b_ptrs += BLOCK_K * stride_bk.",
        "The store has pointers of its own: c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn, under the mask of both indices.",
    ),
    tolerance=TOLERANCE,
    axes=AXES,
    known_wrong=(
        KnownWrong("It is the last chunk of K alone: each tl.dot must add to acc.", lambda a, b: _chunk(a, b, (max(a.shape[1], 1) - 1) // 16)),
        KnownWrong("It is the first chunk of K alone.", lambda a, b: _chunk(a, b, 0)),
    ),
)


def _chunk(a: torch.Tensor, b: torch.Tensor, which: int) -> torch.Tensor:
    part = slice(16 * which, 16 * (which + 1))
    return a.double()[:, part] @ b.double()[part]


# matmul.epilogue


@triton.jit
def linear_relu_kernel(
    a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_bias, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    mask_m, mask_n = offs_m[:, None] < M, offs_n[None, :] < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=mask_m & (offs_k[None, :] < K - k), other=0.0)
        b = tl.load(b_ptrs, mask=(offs_k[:, None] < K - k) & mask_n, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    bias = tl.load(bias_ptr + offs_n * stride_bias, mask=offs_n < N, other=0.0)
    acc += bias[None, :].to(tl.float32)
    acc = tl.where(acc < 0, 0.0, acc)
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, acc, mask=mask_m & mask_n)


def linear_relu(a, b, bias):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    linear_relu_kernel[grid](
        a, b, bias, c, M, N, K, *a.stride(), *b.stride(), bias.stride(0), *c.stride(),
        BLOCK_M=16, BLOCK_N=16, BLOCK_K=16,
    )
    return c


def _linear(*args: Any, bias: bool = True) -> torch.Tensor:
    a, b, bias_row = args
    return _product(a, b) + (bias_row.double() if bias else 0.0)


def _bias_by_rows(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Each tile's 16 bias values down its rows; those past N are 0."""
    rows, columns = torch.arange(a.shape[0])[:, None] % 16, torch.arange(b.shape[1])[None, :] // 16 * 16
    padded = torch.cat((bias.double(), torch.zeros(16, dtype=torch.float64)))
    return torch.relu(_product(a, b) + padded[rows + columns])


def _with_bias(M: int, N: int, K: int, *, bias: str = "contiguous", dtype: str = "float32", **how: Any) -> Case:
    return _pair(M, N, K, dtype=dtype, more=(spec(N, layout=bias, dtype=dtype),), **how)


EPILOGUE = Problem(
    name="matmul.epilogue",
    prompt=(
        "linear_relu(a, b, bias) returns relu(a @ b + bias) in one launch: bias has N values, one a column, and the sum never visits memory before it is finished.\n"
        "Work on acc, in float32, before it is stored. NaN stays NaN, as torch.relu keeps it."
    ),
    stub='''@triton.jit
def linear_relu_kernel(
    a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_bias, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    mask_m, mask_n = offs_m[:, None] < M, offs_n[None, :] < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=mask_m & (offs_k[None, :] < K - k), other=0.0)
        b = tl.load(b_ptrs, mask=(offs_k[:, None] < K - k) & mask_n, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    ...  # add the bias of each column, then ReLU
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, acc, mask=mask_m & mask_n)


def linear_relu(a, b, bias):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    linear_relu_kernel[grid](
        a, b, bias, c, M, N, K, *a.stride(), *b.stride(), bias.stride(0), *c.stride(),
        BLOCK_M=16, BLOCK_N=16, BLOCK_K=16,
    )
    return c
''',
    solution=(linear_relu_kernel, linear_relu),
    oracle=lambda a, b, bias: torch.relu(_linear(a, b, bias)),
    cases=(
        _with_bias(16, 16, 16),
        _with_bias(32, 48, 32),
        _with_bias(1, 1, 1),
        _with_bias(7, 9, 5),
        _with_bias(17, 15, 20),
        _with_bias(15, 33, 16),
        _with_bias(20, 23, 35, dtype="float16"),
        _with_bias(16, 16, 96, dtype="float16", values=(ones, late), note="2048 in the first 16 terms, then 1 every 16"),
        _with_bias(18, 20, 21, values=(one_row_each, "random"), note="a row with NaN and one with inf"),
        _with_bias(18, 20, 19, bias="every second"),
        _with_bias(19, 17, 18, a="transposed", bias="column"),
    ),
    hints=(
        "The bias belongs to columns: load the BLOCK_N values at offs_n once, after the loop. Which mask does that load need, and how does a row of BLOCK_N values meet a BLOCK_M × BLOCK_N block?",
        "bias[None, :] is a 1 × BLOCK_N row, and broadcasts over the rows of acc. ReLU replaces what is below 0; a comparison with NaN is false, so ask which of the two sides of tl.where a NaN then takes.",
        "bias = tl.load(bias_ptr + offs_n * stride_bias, mask=offs_n < N, other=0.0), acc += bias[None, :].to(tl.float32), and acc = tl.where(acc < 0, 0.0, acc): "
        "NaN < 0 is false, so NaN stays. (tl.where(acc > 0, acc, 0.0) and tl.maximum(acc, 0.0) make it 0.)",
    ),
    tolerance=TOLERANCE,
    axes={**AXES, "bias": ("N",)},
    extra=(one_launch,),
    known_wrong=(
        KnownWrong(
            "NaN becomes 0, where torch.relu keeps it: tl.where(acc > 0, acc, 0.0) and tl.maximum(acc, 0.0) drop it, tl.where(acc < 0, 0.0, acc) does not.",
            lambda a, b, bias: torch.where(_linear(a, b, bias) > 0, _linear(a, b, bias), 0.0),
        ),
        KnownWrong("ReLU is taken before the bias is added.", lambda a, b, bias: torch.relu(_product(a, b)) + bias.double()),
        KnownWrong("The bias is missing.", lambda a, b, bias: torch.relu(_product(a, b))),
        KnownWrong("ReLU is missing.", _linear),
        KnownWrong("The bias is added along the rows, bias[:, None], but it belongs to the columns: bias[None, :].", _bias_by_rows),
    ),
)


# matmul.transposed


@triton.jit
def matmul_nt_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bn, stride_bk, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] < K - k), other=0.0)
        b = tl.load(b_ptrs, mask=(offs_k[:, None] < K - k) & (offs_n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, acc, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def matmul_nt(a, b):
    (M, K), N = a.shape, b.shape[0]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    matmul_nt_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=16, BLOCK_N=16, BLOCK_K=16,
    )
    return c


def _nt(*shape: int, **how: Any) -> Case:
    return _pair(*shape, nt=True, **how)


TRANSPOSED = Problem(
    name="matmul.transposed",
    prompt=(
        "matmul_nt(a, b) returns a @ b.T, as a linear layer needs it: a is [M, K], b is [N, K], the weights as torch.nn.Linear keeps them.\n"
        "No copy: which index is multiplied by which stride is all that differs from a @ b."
    ),
    stub='''@triton.jit
def matmul_nt_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bn, stride_bk, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = ...  # BLOCK_K × BLOCK_N pointers, as tl.dot wants them
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] < K - k), other=0.0)
        b = ...
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BLOCK_K * stride_ak
        ...
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, acc, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def matmul_nt(a, b):
    (M, K), N = a.shape, b.shape[0]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    ...  # launch it, with the strides in the kernel's order
    return c
''',
    solution=(matmul_nt_kernel, matmul_nt),
    oracle=lambda a, b: a.double() @ b.double().T,
    cases=(
        _nt(16, 16, 16),
        _nt(32, 48, 32),
        _nt(1, 1, 1),
        _nt(7, 9, 5),
        _nt(15, 17, 16),
        _nt(17, 15, 33),
        _nt(37, 29, 41),
        _nt(20, 23, 35, dtype="float16"),
        _nt(16, 32, 32, a="transposed"),
        _nt(19, 21, 37, b="transposed"),
        _nt(18, 33, 20, a="wide rows", b="wide rows"),
        _nt(33, 18, 20, a="every second", b="every second"),
    ),
    hints=(
        "b[n, k] lies at n * stride_bn + k * stride_bk, whatever the layout. tl.dot wants the block as BLOCK_K × BLOCK_N: element (k, n) of the block is b[n, k].",
        "Rows of the block are offs_k[:, None], columns offs_n[None, :]. offs_k goes with stride_bk and offs_n with stride_bn, as in a @ b; only which of the two is larger has changed. "
        "The kernel takes stride_bn first, as b.stride() gives it.",
        "b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn, masked with (offs_k[:, None] < K - k) & (offs_n[None, :] < N), advanced by BLOCK_K * stride_bk; "
        "launch with *a.stride(), *b.stride(), *c.stride() on the grid (triton.cdiv(M, 16), triton.cdiv(N, 16)).",
    ),
    tolerance=TOLERANCE,
    copies=False,
    axes={"a": ("M", "K"), "b": ("N", "K"), "out": ("M", "N")},
    extra=(one_launch,),
)


# matmul.batched


@triton.jit
def batched_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_ab, stride_am, stride_ak, stride_bb, stride_bk, stride_bn, stride_cb, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    pid_m, pid_n, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    mask_m, mask_n = offs_m[:, None] < M, offs_n[None, :] < N
    a_ptrs = a_ptr + batch * stride_ab + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + batch * stride_bb + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=mask_m & (offs_k[None, :] < K - k), other=0.0)
        b = tl.load(b_ptrs, mask=(offs_k[:, None] < K - k) & mask_n, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    c_ptrs = c_ptr + batch * stride_cb + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, acc, mask=mask_m & mask_n)


def batched_matmul(a, b):
    (batches, M, K), N = a.shape, b.shape[2]
    c = torch.empty((batches, M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16), batches)
    batched_matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=16, BLOCK_N=16, BLOCK_K=16,
    )
    return c


def _batch(batches: int, M: int, N: int, K: int, *, a: str = "contiguous", b: str = "contiguous", dtype: str = "float32", note: str = "") -> Case:
    return Case((spec(batches, M, K, layout=a, dtype=dtype), spec(batches, K, N, layout=b, dtype=dtype)), note=note)


BATCHED = Problem(
    name="matmul.batched",
    prompt=(
        "batched_matmul(a, b) multiplies many pairs of matrices in one launch: a is [batches, M, K], b is [batches, K, N], of any strides.\n"
        "The grid has three axes, the last one for the batch. A batch that shares one b comes as an expanded view, with a stride of 0."
    ),
    stub='''@triton.jit
def batched_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_ab, stride_am, stride_ak, stride_bb, stride_bk, stride_bn, stride_cb, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    pid_m, pid_n, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    mask_m, mask_n = offs_m[:, None] < M, offs_n[None, :] < N
    ...


def batched_matmul(a, b):
    (batches, M, K), N = a.shape, b.shape[2]
    c = torch.empty((batches, M, N), dtype=a.dtype, device=a.device)
    grid = ...
    batched_matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=16, BLOCK_N=16, BLOCK_K=16,
    )
    return c
''',
    solution=(batched_matmul_kernel, batched_matmul),
    oracle=_product,
    cases=(
        _batch(1, 16, 16, 16),
        _batch(3, 16, 16, 16),
        _batch(2, 32, 16, 32),
        _batch(1, 1, 1, 1),
        _batch(2, 7, 9, 5),
        _batch(3, 15, 17, 20),
        _batch(2, 17, 15, 33),
        _batch(2, 20, 23, 35, dtype="float16"),
        _batch(3, 18, 19, 20, a="wide rows"),
        _batch(2, 19, 18, 20, b="every second"),
        _batch(3, 17, 16, 18, b="expanded", note="all share one b"),
        _batch(2, 16, 17, 18, a="expanded", note="all share one a"),
    ),
    hints=(
        "A batch is one more index with one more stride: its matrices begin at a_ptr + batch * stride_ab, b_ptr + batch * stride_bb, c_ptr + batch * stride_cb. The rest is the kernel that you know.",
        "batch is a single number, not a block, and counts matrices: add batch * stride_ab to the pointers before the loop. Nothing of it needs a mask, since the grid has exactly as many programs along axis 2 as there are batches.",
        "a_ptrs = a_ptr + batch * stride_ab + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak, the loop over K as before, and grid = (triton.cdiv(M, 16), triton.cdiv(N, 16), batches).",
    ),
    tolerance=TOLERANCE,
    copies=False,
    axes={"a": ("batch", "M", "K"), "b": ("batch", "K", "N"), "out": ("batch", "M", "N")},
    extra=(one_launch,),
    known_wrong=(
        KnownWrong("Every batch takes the first matrix of a: batch * stride_ab is missing.", lambda a, b: a.double()[:1] @ b.double()),
        KnownWrong("Every batch takes the first matrix of b: batch * stride_bb is missing.", lambda a, b: a.double() @ b.double()[:1]),
        KnownWrong(
            "Every batch is the product of the first pair: the batch moves neither a's pointers nor b's.",
            lambda a, b: (a.double()[:1] @ b.double()[:1]).expand(a.shape[0], a.shape[1], b.shape[2]),
        ),
    ),
)


# matmul.split_k


@triton.jit
def split_k_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    SPLIT_K: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    pid_m, pid_n, pid_k = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_m, mask_n = offs_m[:, None] < M, offs_n[None, :] < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(pid_k * BLOCK_K, K, SPLIT_K * BLOCK_K):
        offs_k = k + tl.arange(0, BLOCK_K)
        a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
        b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
        a = tl.load(a_ptrs, mask=mask_m & (offs_k[None, :] < K), other=0.0)
        b = tl.load(b_ptrs, mask=(offs_k[:, None] < K) & mask_n, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    tl.atomic_add(c_ptrs, acc, mask=mask_m & mask_n)


def split_k_matmul(a, b, SPLIT_K):
    (M, K), N = a.shape, b.shape[1]
    c = torch.zeros((M, N), dtype=torch.float32, device=a.device)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16), SPLIT_K)
    split_k_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        SPLIT_K=SPLIT_K, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16,
    )
    return c


def _shared_work(outcome: Outcome) -> tuple[str, str] | None:
    """On every tile of the result work as many programs as SPLIT_K says, or as it takes when each gets the same number of chunks, rounded up;
    none of them loads what another one has loaded for the same tile."""
    a, _, split = outcome.case.args
    chunks = -(-a.shape[1] // 16)
    address = outcome.built.args[0].untyped_storage().data_ptr()
    owners: dict[Any, Any] = {}
    for launch in outcome.trace.launches:
        named = {arg.name for arg in launch.args if arg.address == address}
        for x in launch.accesses:
            if x.kind != "load" or x.arg not in named:
                continue
            for offset in x.touched.reshape(-1).tolist():
                first = owners.setdefault((x.program[:2], offset), x.program)
                if first != x.program:
                    return "rule", (
                        f"The values are right, but K is not shared out: programs {first} and {x.program} work on the same tile, and both "
                        f"load {x.arg}[{offset}]. Each chunk of K belongs to one of the {split} programs of a tile."
                    )
    busy = set(owners.values())
    tiles = {p[:2] for p in busy}
    wanted = len(tiles) * -(-chunks // -(-chunks // split)) if chunks else 0
    if len(busy) < wanted:
        return "rule", (
            f"The values are right, but only {len(busy)} of {wanted} programs load anything: "
            f"the {chunks} chunks of K are to be shared out among {split} programs a tile, along axis 2 of the grid."
        )
    return None


def _split(M: int, N: int, K: int, SPLIT_K: int, **how: Any) -> Case:
    return _pair(M, N, K, more=(SPLIT_K,), **how)


SPLIT = Problem(
    name="matmul.split_k",
    prompt=(
        "split_k_matmul(a, b, SPLIT_K) returns a @ b in float32. When M and N are small and K is long, few tiles keep few processors busy, so K is shared out:\n"
        "SPLIT_K programs work on each tile, along axis 2 of the grid, each on its part of the chunks of 16, and add their partial sums into the result with tl.atomic_add."
    ),
    stub='''@triton.jit
def split_k_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    SPLIT_K: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    pid_m, pid_n, pid_k = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_m, mask_n = offs_m[:, None] < M, offs_n[None, :] < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    ...  # this program's chunks of K
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    ...  # add acc to what the other programs have added


def split_k_matmul(a, b, SPLIT_K):
    (M, K), N = a.shape, b.shape[1]
    c = ...
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16), SPLIT_K)
    split_k_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        SPLIT_K=SPLIT_K, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16,
    )
    return c
''',
    solution=(split_k_kernel, split_k_matmul),
    oracle=lambda a, b, SPLIT_K: _product(a, b),
    cases=(
        _split(16, 16, 32, 2),
        _split(16, 32, 64, 2),
        _split(16, 16, 16, 1),
        _split(1, 1, 1, 2),
        _split(7, 9, 5, 2),
        _split(17, 15, 50, 3),
        _split(15, 17, 97, 4),
        _split(16, 16, 20, 4, note="more programs than chunks"),
        _split(20, 23, 70, 2, dtype="float16"),
        _split(18, 19, 40, 2, a="transposed", b="transposed"),
        _split(19, 18, 40, 3, a="wide rows", b="wide rows"),
    ),
    hints=(
        "Two things change. Each program walks only some chunks of K: which first one, and how far to the next, so that SPLIT_K programs share them without a gap? And a tile of the result now has several writers.",
        "Program pid_k begins at chunk pid_k and goes on in steps of SPLIT_K chunks: for k in range(pid_k * BLOCK_K, K, SPLIT_K * BLOCK_K). With offs_k = k + tl.arange(0, BLOCK_K) the pointers are made anew in each "
        "step from absolute indices, and the mask along K is offs_k < K.",
        "tl.atomic_add(c_ptrs, acc, mask=mask_m & mask_n) takes pointers, values and a mask as tl.store does, but adds to what memory holds, one addition at a time, whoever comes first; so the memory must hold 0 before the launch: torch.zeros((M, N), dtype=torch.float32, device=a.device).",
    ),
    tolerance={"float32": Tolerance(1e-5, 5e-5, "a float32 sum of a hundred products rounds by about 1e-5 at most, whatever the order of the partial sums.")},
    dtype="float32",
    axes=AXES,
    extra=(_shared_work,),
    known_wrong=(
        KnownWrong("Every program adds the whole product: K is not shared out.", lambda a, b, SPLIT_K: _product(a, b) * SPLIT_K),
    ),
)

PROBLEMS = (FILL, EPILOGUE, TRANSPOSED, BATCHED, SPLIT)
