"""Offsets begin at 1: element 0 is left out."""
# rejected with: never_written
# which says: of the result
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE) + 1
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x + x, mask=mask)


def double(x):
    out = torch.empty_like(x)
    n_elements = x.numel()
    grid = (triton.cdiv(n_elements, 64),)
    double_kernel[grid](x, out, n_elements, BLOCK_SIZE=64)
    return out
