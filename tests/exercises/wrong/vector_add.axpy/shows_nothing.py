"""The refusal does not show what was given."""
# rejected with: no_refusal
# which says: but not what it got
import torch
import triton
import triton.language as tl


@triton.jit
def axpy_kernel(x_ptr, y_ptr, out_ptr, a, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, a * x + y, mask=mask)


def axpy(a, x, y):
    if x.shape != y.shape or x.dtype != y.dtype or not x.is_contiguous() or not y.is_contiguous():
        raise ValueError("shapes differ")
    out = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), 64),)
    axpy_kernel[grid](x, y, out, a, x.numel(), BLOCK_SIZE=64)
    return out
