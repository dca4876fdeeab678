"""Chapter 2: out = gelu(x + bias), fused: x is read once and the sum is never written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
import triton
import triton.language as tl

from .checks import check_block, check_dtype, check_same_device, check_tensors
from .tensors import as_rows, blocks, elements, empty_like, on_device_of, rows_aligned

__all__ = [
    "DTYPES",
    "add_bias",
    "add_bias_kernel",
    "bench_cases",
    "bias_gelu",
    "bias_gelu_2d_kernel",
    "bias_gelu_cost",
    "bias_gelu_kernel",
    "bias_gelu_op_by_op",
    "bias_gelu_wrapped_kernel",
    "gelu_kernel",
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


@triton.jit
def bias_gelu_wrapped_kernel(
    x_ptr,  # [rows, n_cols], contiguous
    bias_ptr,  # [n_cols], contiguous
    out_ptr,  # like x
    first,  # offset of the first element to do
    n_elements,  # offset past the last one, less than 2**31
    n_cols,
    BLOCK_SIZE: tl.constexpr,  # at most n_cols: a block meets the end of a row once
):
    start = first + tl.program_id(axis=0) * BLOCK_SIZE
    lanes = tl.arange(0, BLOCK_SIZE)
    offs = start + lanes
    mask = offs < n_elements
    cols = start % n_cols + lanes  # one remainder a program, not one an element
    cols = tl.where(cols < n_cols, cols, cols - n_cols)
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    bias = tl.load(bias_ptr + cols, mask=mask).to(tl.float32)
    tl.store(out_ptr + offs, gelu_tanh(x + bias), mask=mask)


@triton.jit
def add_bias_kernel(x_ptr, bias_ptr, out_ptr, n_elements, n_cols, BLOCK_SIZE: tl.constexpr):
    """The first half of the op-by-op version: the sum goes to memory, in x's dtype."""
    pid = tl.program_id(axis=0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    bias = tl.load(bias_ptr + offs % n_cols, mask=mask).to(tl.float32)
    tl.store(out_ptr + offs, x + bias, mask=mask)


@triton.jit
def gelu_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """The second half: the sum comes back from memory."""
    pid = tl.program_id(axis=0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    tl.store(out_ptr + offs, gelu_tanh(x), mask=mask)


FORMS = ("flat", "wrapped", "2d")


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
    form: "flat", one program for each BLOCK_SIZE elements wherever rows end; "wrapped", the same with the column
    counted on from one remainder (both for contiguous x and bias of fewer than 2^31 elements); or "2d", a grid of rows
    × blocks of columns. If left out: "2d" where the others cannot, "wrapped" for rows of 512 columns or more that are not aligned, else "flat".
    BLOCK_SIZE: elements a program, a power of two, for "wrapped" at most n_cols; num_warps: warps a program; both chosen
    if left out.

    Agrees with ``torch.nn.functional.gelu(x + bias, approximate="tanh")``. No gradient is recorded. Raises
    ``TypeError`` or ``ValueError`` that names the argument and its shape, strides, dtype or device.
    """
    usual = (
        isinstance(x, torch.Tensor)
        and isinstance(bias, torch.Tensor)
        and x.ndim == 2
        and x.dtype in DTYPES
        and bias.dtype in DTYPES
        and bias.shape == x.shape[1:]
        and x.device == bias.device
        and x.layout is bias.layout is torch.strided
        and (form is None or form in FORMS)
    )
    if not usual:
        check_arguments(x, bias, form)
    out = empty_like(x)
    if x.numel() == 0:
        return out
    rows = x if x.ndim == 2 else as_rows("x", x)
    aligned = rows_aligned(rows, bias)
    problem = no_flat(x, bias)
    form = form or choose_form(problem, aligned, rows.shape[1])
    if form != "2d":
        if problem:
            raise ValueError(f"form={form!r} {problem}")
        return _flat(form, x, bias, out, BLOCK_SIZE, num_warps)
    n_rows, n_cols = rows.shape
    BLOCK_SIZE = min(1024, 1 << (n_cols - 1).bit_length()) if BLOCK_SIZE is None else BLOCK_SIZE
    check_block("BLOCK_SIZE", BLOCK_SIZE)
    with on_device_of(x):
        bias_gelu_2d_kernel[(n_rows, blocks(n_cols, BLOCK_SIZE))](
            rows,
            bias,
            out,
            n_cols,
            *rows.stride(),
            bias.stride(0),
            n_cols,
            1,
            BLOCK_SIZE=BLOCK_SIZE,
            ALIGNED=aligned,
            num_warps=warps_for(BLOCK_SIZE) if num_warps is None else num_warps,
        )
    return out


def _flat(form: str, x: torch.Tensor, bias: torch.Tensor, out: torch.Tensor, block: int | None, num_warps: int | None) -> torch.Tensor:
    n_elements, n_cols = x.numel(), bias.shape[0]
    if block is None:
        block = 2048 if form == "flat" else min(2048, 1 << (n_cols.bit_length() - 1))
    check_block("BLOCK_SIZE", block)
    num_warps = warps_for(block) if num_warps is None else num_warps
    with on_device_of(x):
        if form == "flat":
            grid = (blocks(n_elements, block),)
            bias_gelu_kernel[grid](x, bias, out, n_elements, n_cols, BLOCK_SIZE=block, num_warps=num_warps)
            return out
        if block > n_cols:
            raise ValueError(f'BLOCK_SIZE must be at most the {n_cols} columns of x with form="wrapped"; got {block}')
        body = n_elements
        if x.is_cuda and n_elements % 16 and n_elements >= 2**20:
            body -= n_elements % 16  # then the compiler loads 16 bytes at a time; the last few get a launch of their own
        grid = (blocks(body, block),)
        bias_gelu_wrapped_kernel[grid](x, bias, out, 0, body, n_cols, BLOCK_SIZE=block, num_warps=num_warps)
        if body < n_elements:
            bias_gelu_wrapped_kernel[(1,)](x, bias, out, body, n_elements, n_cols, BLOCK_SIZE=16, num_warps=1)
    return out


def check_arguments(x: object, bias: object, form: object) -> None:
    """Raise for what ``bias_gelu`` cannot do, naming the argument and what it is."""
    check_tensors(x=x, bias=bias)
    check_dtype(DTYPES, x=x, bias=bias)
    check_same_device(x=x, bias=bias)
    n_cols = as_rows("x", x).shape[1]
    if bias.shape != (n_cols,):
        raise ValueError(f"bias must have shape [{n_cols}], a value for each column of x {list(x.shape)}; got {list(bias.shape)}")
    if form is not None and form not in FORMS:
        raise ValueError(f'form must be "flat", "wrapped" or "2d"; got {form!r}')


def no_flat(x: torch.Tensor, bias: torch.Tensor) -> str:
    """Why the kernels that take x as one long vector cannot do this, or ``""``."""
    for name, tensor in (("x", x), ("bias", bias)):
        if not tensor.is_contiguous():
            return f"needs a contiguous {name}; got shape {list(tensor.shape)} with strides {list(tensor.stride())}"
    if x.numel() > MOST:
        return f"counts in 32 bits, up to {MOST:,} elements; got {x.numel():,}"
    return ""


MOST = 2**31 - 2**20
"""Elements up to which no offset passes 2^31, whatever the block (at most 2^20)."""


def choose_form(problem: str, aligned: bool, n_cols: int) -> str:
    """Bias is loaded 16 bytes at a time by the flat kernel where rows are aligned; x by the wrapped one in any case."""
    if problem:
        return "2d"
    return "wrapped" if not aligned and n_cols >= 512 else "flat"


def warps_for(block: int) -> int:
    """16 elements a thread, at most 4 warps."""
    return max(1, min(4, block // 256))


def add_bias(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x + bias, rounded to x's dtype, in a launch of its own; contiguous x and bias, as in ``bias_gelu``'s "flat"."""
    check_arguments(x, bias, "flat")
    if problem := no_flat(x, bias):
        raise ValueError(f"add_bias {problem}")
    out = empty_like(x)
    if x.numel():
        with on_device_of(x):
            add_bias_kernel[(blocks(x.numel(), 2048),)](x, bias, out, x.numel(), bias.shape[0], BLOCK_SIZE=2048, num_warps=4)
    return out


def bias_gelu_op_by_op(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """What ``bias_gelu`` fuses, as two launches with the sum written to memory and read again between them.

    Contiguous x and bias. The sum is rounded to x's dtype on its way, so 16-bit results are a little less exact.
    """
    total = add_bias(x, bias)
    out = empty_like(total)
    if total.numel():
        with on_device_of(total):
            gelu_kernel[(blocks(total.numel(), 2048),)](total, out, total.numel(), BLOCK_SIZE=2048, num_warps=4)
    return out


def bias_gelu_cost(x: torch.Tensor, bias: torch.Tensor) -> tuple[int, int]:
    """Bytes that must move (x and bias read once, the output written once) and arithmetic operations of ``bias_gelu``."""
    moved = (elements(x) + x.numel()) * x.element_size() + elements(bias) * bias.element_size()
    return moved, FLOPS * x.numel()


def flat_with(block: int, warps: int) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """``bias_gelu`` in the flat form with a fixed block size and number of warps."""
    return partial(bias_gelu, form="flat", BLOCK_SIZE=block, num_warps=warps)


def bench_cases() -> Iterator[dict]:
    """The sizes, dtypes and rivals that ``python -m tritonlab bench bias_gelu`` measures."""
    both = {"": bias_gelu, "op by op": bias_gelu_op_by_op}
    forms = {
        "flat 1024": flat_with(1024, 4),
        "flat 2048": flat_with(2048, 4),
        "flat 2048, 8 warps": flat_with(2048, 8),
        "2-D grid": partial(bias_gelu, form="2d"),
    }
    odd = {"flat 2048": flat_with(2048, 4), "2-D grid": partial(bias_gelu, form="2d")}
    cases = [((2**k, 1024), torch.bfloat16, both) for k in range(0, 17, 2)]
    cases += [(shape, torch.bfloat16, both | forms) for shape in ((8192, 4096), (16384, 8192))]
    cases += [((4099, 4097), torch.bfloat16, both | odd), ((8192, 1000), torch.bfloat16, both)]
    cases += [((8192, 4096), dtype, both) for dtype in (torch.float32, torch.float16)]

    def make(device: str, shape: tuple[int, int], dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.randn(shape, device=device, dtype=dtype), torch.randn(shape[-1], device=device, dtype=dtype)

    for shape, dtype, run in cases:
        yield {
            "shape": shape,
            "dtype": dtype,
            "make": partial(make, shape=shape, dtype=dtype),
            "run": run,
            "baselines": {"torch": lambda x, bias: torch.nn.functional.gelu(x + bias, approximate="tanh")},
            "cost": bias_gelu_cost,
            "tolerance": (8 * torch.finfo(dtype).eps, 8 * torch.finfo(dtype).eps),  # "op by op" rounds its sum too
        }
    yield {
        "shape": (16384, 8192),
        "dtype": torch.bfloat16,
        "make": partial(make, shape=(16384, 8192), dtype=torch.bfloat16),
        "run": {"bias add alone": add_bias},
        "cost": lambda x, bias: (bias_gelu_cost(x, bias)[0], x.numel()),
        "oracle": lambda x, bias: x.double() + bias.double(),
        "compile": None,
    }
