"""A tensor of torch is added to the offset."""
# rejected with: raises
# which says: inside a kernel use tl.arange
import torch
import triton
import triton.language as tl


@triton.jit
def multiply_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK_SIZE + torch.arange(0, 64)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x * y, mask=mask)


def multiply(x, y):
    out = torch.empty_like(x)
    n_elements = x.numel()
    grid = (triton.cdiv(n_elements, 64),)
    multiply_kernel[grid](x, y, out, n_elements, BLOCK_SIZE=64)
    return out
