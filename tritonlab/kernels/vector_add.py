"""Chapter 1: out = x + y."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton
import triton.language as tl

from .checks import check_block, check_dtype, check_no_overlap, check_same_device, check_tensors
from .tensors import blocks, elements, empty_like, on_device_of

__all__ = ["DTYPES", "bench_cases", "vector_add", "vector_add_cost", "vector_add_kernel"]

DTYPES = (
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float64,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint8,
)

VECTOR = 16
"""A length that is a multiple of this lets the compiler load 16 bytes a thread under the mask."""


@triton.jit
def vector_add_kernel(
    x_ptr,  # first input
    y_ptr,  # second input
    out_ptr,  # output
    n_elements,  # length of all three
    stride_x,  # elements from one x to the next
    stride_y,
    stride_out,
    BLOCK_SIZE: tl.constexpr,  # elements that one program adds, a power of two
):
    pid = tl.program_id(axis=0).to(tl.int64)  # 64 bits: offsets may pass 2**31
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs * stride_x, mask=mask)
    y = tl.load(y_ptr + offs * stride_y, mask=mask)
    tl.store(out_ptr + offs * stride_out, x + y, mask=mask)


def vector_add(
    x: torch.Tensor,
    y: torch.Tensor,
    out: torch.Tensor | None = None,
    *,
    BLOCK_SIZE: int | None = None,
    num_warps: int | None = None,
) -> torch.Tensor:
    """Add two vectors element by element.

    x, y: 1-D tensors of one length, dtype and device, with any strides (``x[::2]``, ``b.expand(n)``).
    dtypes: float16, bfloat16, float32, float64, uint8, int8 to int64; integers wrap as in torch.
    out: where the sum goes, of the same length, dtype and device; may be x or y itself, but not
    overlap them otherwise; a new tensor if left out.
    BLOCK_SIZE: elements a program, a power of two; num_warps: warps a program; both chosen if left out.

    Returns ``out``. No gradient is recorded. Raises ``TypeError`` or ``ValueError`` that names the argument
    and its shape, dtype or device. Tensors of more dimensions are refused: pass ``x.reshape(-1)``.
    """
    usual = (  # told apart first: the checks below take as long as the launch itself
        out is None
        and isinstance(x, torch.Tensor)
        and isinstance(y, torch.Tensor)
        and x.ndim == 1
        and x.dtype is y.dtype
        and x.dtype in DTYPES
        and x.shape == y.shape
        and x.device == y.device
        and x.layout is y.layout is torch.strided
    )
    if not usual:
        check_arguments(x, y, out)
    if out is None:
        out = empty_like(x)
    n_elements = x.numel()
    if n_elements == 0:
        return out
    strides = x.stride(0), y.stride(0), out.stride(0)
    chosen_block, chosen_warps = launch_shape(n_elements, x.element_size())
    BLOCK_SIZE = chosen_block if BLOCK_SIZE is None else BLOCK_SIZE
    num_warps = chosen_warps if num_warps is None else num_warps
    check_block("BLOCK_SIZE", BLOCK_SIZE)

    body = n_elements
    if x.is_cuda and pays_to_split(n_elements, x.element_size(), strides):
        body -= n_elements % VECTOR
    grid = (blocks(body, BLOCK_SIZE),)
    with on_device_of(x):
        vector_add_kernel[grid](x, y, out, body, *strides, BLOCK_SIZE=BLOCK_SIZE, num_warps=num_warps)
        if body < n_elements:
            vector_add_kernel[(1,)](x[body:], y[body:], out[body:], n_elements - body, *strides, BLOCK_SIZE=VECTOR, num_warps=1)
    return out


def check_arguments(x: object, y: object, out: object) -> None:
    """Raise for what ``vector_add`` cannot add, naming the argument and what it is."""
    given = {"x": x, "y": y} | ({} if out is None else {"out": out})
    check_tensors(**given)
    for name, tensor in given.items():
        if tensor.ndim != 1:
            raise ValueError(f"{name} must have 1 dimension; got shape {list(tensor.shape)} (flatten it with .reshape(-1))")
        if tensor.shape != x.shape:
            raise ValueError(
                f"{name} must have the shape of x, {list(x.shape)}; got {list(tensor.shape)} (repeat one element with .expand(n))"
            )
        if tensor.dtype != x.dtype:
            raise TypeError(f"{name} must have the dtype of x, {x.dtype}; got {tensor.dtype}")
    check_dtype(DTYPES, x=x)
    check_same_device(**given)
    if out is not None:
        check_no_overlap(out=out)


def launch_shape(n_elements: int, itemsize: int) -> tuple[int, int]:
    """BLOCK_SIZE and num_warps: 8 warps whose threads load 16 bytes of each input, and twice that below 2 million elements."""
    block = 8 * 32 * VECTOR // itemsize
    return (block if n_elements >= 2**21 else 2 * block), 8


def pays_to_split(n_elements: int, itemsize: int, strides: tuple[int, ...]) -> bool:
    """Whether to add a multiple of 16 elements first and the last few in a launch of their own.

    A mask ``offs < n_elements`` lets the compiler load 16 bytes at a time only if ``n_elements`` is a multiple of 16.
    On an H200 a second launch pays from 4 MiB on, above all in 16-bit dtypes: one load for eight elements, not
    eight (4,204 against 1,520 GB/s for 2^27 - 1 elements of bfloat16).
    """
    return n_elements % VECTOR != 0 and n_elements * itemsize >= 2**22 and strides == (1, 1, 1)


def vector_add_cost(x: torch.Tensor, y: torch.Tensor) -> tuple[int, int]:
    """Bytes that must move (each input read once, the output written once) and additions, of ``vector_add(x, y)``."""
    return (elements(x) + elements(y) + x.numel()) * x.element_size(), x.numel()


def bench_cases() -> Iterator[dict]:
    """The sizes, dtypes and rivals that ``python -m tritonlab bench vector_add`` measures."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for power in range(12, 29):
            n = 2**power
            yield {
                "shape": (n,),
                "dtype": dtype,
                "make": lambda device, n=n, dtype=dtype: tuple(torch.randn(n, device=device, dtype=dtype) for _ in range(2)),
                "run": vector_add,
                "baselines": {"torch": torch.add},
                "cost": vector_add_cost,
            }
