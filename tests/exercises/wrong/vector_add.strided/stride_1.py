"""Neighbours are taken to lie side by side."""
# rejected with: strides
# which says: Right for contiguous tensors
import torch
import triton
import triton.language as tl


@triton.jit
def add_strided_kernel(x_ptr, y_ptr, out_ptr, n_elements, stride_x, stride_y, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x + y, mask=mask)


def add_strided(x, y):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n_elements = x.numel()
    grid = (triton.cdiv(n_elements, 64),)
    add_strided_kernel[grid](x, y, out, n_elements, x.stride(0), y.stride(0), BLOCK_SIZE=64)
    return out
