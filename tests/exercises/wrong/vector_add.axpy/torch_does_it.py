"""The arithmetic is torch's; the kernel never runs."""
# rejected with: no_launch
# which says: No kernel was launched
import torch
import triton
import triton.language as tl


@triton.jit
def axpy_kernel(x_ptr, y_ptr, out_ptr, a, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    tl.store(out_ptr + offs, a * tl.load(x_ptr + offs) + tl.load(y_ptr + offs))


def axpy(a, x, y):
    if x.shape != y.shape or x.dtype != y.dtype or not (x.is_contiguous() and y.is_contiguous()):
        raise ValueError(f"x is {tuple(x.shape)} {x.dtype}, y is {tuple(y.shape)} {y.dtype}")
    return a * x + y
