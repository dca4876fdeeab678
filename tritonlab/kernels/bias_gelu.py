"""Chapter 2: out = gelu(x + bias), fused: x is read once and the sum is never written."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton
import triton.language as tl

from .checks import check_block, check_dtype, check_same_device, check_tensors
from .tensors import as_rows, elements, on_device_of, rows_aligned

__all__ = [
    "DTYPES",
    "bench_cases",
    "bias_gelu",
    "bias_gelu_2d_kernel",
    "bias_gelu_cost",
    "bias_gelu_kernel",
    "gelu_tanh",
]

DTYPES = (torch.float32, torch.float16, torch.bfloat16)

FLOPS = 10
"""Arithmetic operations an element: the bias, and nine in ``gelu_tanh`` (the exponential counts as one)."""


@triton.jit
def gelu_tanh(v):
    """GELU in the tanh form, for a block of fp32 values; finite for every finite v.

    v/2 · (1 + tanh u) = v · sigmoid(2u) = v / (1 + 2^t) with u = √(2/π) · (v + 0.044715 v³) and
    t = -2u · log2(e). There is no ``tl.tanh``, and nothing cancels here where tanh u is near -1.
    """
    t = v * (-2.302208198144325 - 0.10294323960709456 * (v * v))
    return v / (1.0 + tl.exp2(t))


@triton.jit
def bias_gelu_kernel(
    x_ptr,  # [rows, n_cols], contiguous
    bias_ptr,  # [n_cols], contiguous
    out_ptr,  # like x
    n_elements,  # rows · n_cols, less than 2**31
    n_cols,
    BLOCK_SIZE: tl.constexpr,
):
    pid = tl.program_id(axis=0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    bias = tl.load(bias_ptr + offs % n_cols, mask=mask).to(tl.float32)  # the column of a flat offset
    tl.store(out_ptr + offs, gelu_tanh(x + bias), mask=mask)


@triton.jit
def bias_gelu_2d_kernel(
    x_ptr,
    bias_ptr,
    out_ptr,
    n_cols,
    stride_xm,  # elements from one row of x to the next
    stride_xn,  # elements from one column of x to the next
    stride_bias,
    stride_om,
    stride_on,
    BLOCK_SIZE: tl.constexpr,
    ALIGNED: tl.constexpr,  # whether rows can be read 16 bytes at a time
):
    pid_m = tl.program_id(axis=0).to(tl.int64)  # the row; 64 bits: offsets may pass 2**31
    pid_n = tl.program_id(axis=1).to(tl.int64)  # the block of columns
    offs_n = pid_n * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    if not ALIGNED:  # then neighbouring threads read neighbouring elements, of x and of bias
        offs_n = tl.max_contiguous(offs_n, 1)
    mask = offs_n < n_cols
    x = tl.load(x_ptr + pid_m * stride_xm + offs_n * stride_xn, mask=mask).to(tl.float32)
    bias = tl.load(bias_ptr + offs_n * stride_bias, mask=mask).to(tl.float32)
    tl.store(out_ptr + pid_m * stride_om + offs_n * stride_on, gelu_tanh(x + bias), mask=mask)


def bias_gelu(
    x: torch.Tensor,
    bias: torch.Tensor,
    *,
    form: str | None = None,
    BLOCK_SIZE: int | None = None,
    num_warps: int | None = None,
) -> torch.Tensor:
    """GELU, in the tanh form, of x + bias.

    x: [..., n_cols] in float32, float16 or bfloat16 with any row and column strides; bias: [n_cols] in any of these
    dtypes. Computed in fp32, returned in x's dtype and shape, contiguous.
    form: "flat", one program for each BLOCK_SIZE elements wherever rows end (contiguous x and bias, fewer than
    2^31 elements), or "2d", a grid of rows × blocks of columns; if left out, "flat" where rows are aligned.
    BLOCK_SIZE: elements a program, a power of two; num_warps: warps a program; both chosen if left out.

    Agrees with ``torch.nn.functional.gelu(x + bias, approximate="tanh")``. No gradient is recorded. Raises
    ``TypeError`` or ``ValueError`` that names the argument and its shape, strides, dtype or device.
    """
    check_tensors(x=x, bias=bias)
    check_dtype(DTYPES, x=x, bias=bias)
    check_same_device(x=x, bias=bias)
    x_rows = as_rows("x", x)
    n_rows, n_cols = x_rows.shape
    if bias.shape != (n_cols,):
        raise ValueError(f"bias must have shape [{n_cols}], a value for each column of x {list(x.shape)}; got {list(bias.shape)}")
    if form not in (None, "flat", "2d"):
        raise ValueError(f'form must be "flat" or "2d"; got {form!r}')
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if x.numel() == 0:
        return out
    BLOCK_SIZE = 2048 if BLOCK_SIZE is None else BLOCK_SIZE
    check_block("BLOCK_SIZE", BLOCK_SIZE)
    num_warps = max(1, min(4, BLOCK_SIZE // 256)) if num_warps is None else num_warps

    problem = no_flat(x, bias, BLOCK_SIZE)
    aligned = rows_aligned(x_rows, bias)
    form = form or ("2d" if problem or not aligned else "flat")
    with on_device_of(x):
        if form == "flat":
            if problem:
                raise ValueError(problem)
            n_elements = x.numel()
            grid = (triton.cdiv(n_elements, BLOCK_SIZE),)
            bias_gelu_kernel[grid](x, bias, out, n_elements, n_cols, BLOCK_SIZE=BLOCK_SIZE, num_warps=num_warps)
        else:
            out_rows = as_rows("out", out)
            BLOCK_SIZE = min(BLOCK_SIZE, triton.next_power_of_2(n_cols))
            grid = (n_rows, triton.cdiv(n_cols, BLOCK_SIZE))
            bias_gelu_2d_kernel[grid](
                x_rows,
                bias,
                out_rows,
                n_cols,
                *x_rows.stride(),
                bias.stride(0),
                *out_rows.stride(),
                BLOCK_SIZE=BLOCK_SIZE,
                ALIGNED=aligned,
                num_warps=num_warps,
            )
    return out


def no_flat(x: torch.Tensor, bias: torch.Tensor, block: int) -> str:
    """Why the flat kernel cannot do this, or ``""``."""
    for name, tensor in (("x", x), ("bias", bias)):
        if not tensor.is_contiguous():
            return f'form="flat" needs a contiguous {name}; got shape {list(tensor.shape)} with strides {list(tensor.stride())}'
    if x.numel() > 2**31 - block:
        return f'form="flat" counts in 32 bits, up to {2**31 - block:,} elements; got {x.numel():,}'
    return ""


def bias_gelu_cost(x: torch.Tensor, bias: torch.Tensor) -> tuple[int, int]:
    """Bytes that must move (x and bias read once, the output written once) and arithmetic operations of ``bias_gelu``."""
    moved = (elements(x) + x.numel()) * x.element_size() + elements(bias) * bias.element_size()
    return moved, FLOPS * x.numel()


def bench_cases() -> Iterator[dict]:
    """The sizes, dtypes and rivals that ``python -m tritonlab bench bias_gelu`` measures."""
    shapes = [(2**k, 1024) for k in range(0, 17, 2)] + [(8192, 4096), (16384, 8192), (4099, 4097), (8192, 1000)]
    cases = [(shape, torch.bfloat16) for shape in shapes] + [((8192, 4096), torch.float32), ((8192, 4096), torch.float16)]
    for shape, dtype in cases:
        yield {
            "shape": shape,
            "dtype": dtype,
            "make": lambda device, shape=shape, dtype=dtype: (
                torch.randn(shape, device=device, dtype=dtype),
                torch.randn(shape[-1], device=device, dtype=dtype),
            ),
            "run": bias_gelu,
            "baselines": {"torch": lambda x, bias: torch.nn.functional.gelu(x + bias, approximate="tanh")},
            "cost": bias_gelu_cost,
        }
