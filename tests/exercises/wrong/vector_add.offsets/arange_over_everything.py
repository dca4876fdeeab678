"""The block is as long as the tensor, which is no constexpr."""
# rejected with: raises
# which says: tl.constexpr
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offs = tl.arange(0, n_elements)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x + x, mask=mask)


def double(x):
    out = torch.empty_like(x)
    n_elements = x.numel()
    grid = (triton.cdiv(n_elements, 64),)
    double_kernel[grid](x, out, n_elements, BLOCK_SIZE=64)
    return out
