"""An `if` on a block is no choice lane by lane."""
# rejected with: raises
# which says: if
import torch
import triton
import triton.language as tl


@triton.jit
def leaky_relu_kernel(x_ptr, out_ptr, slope, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    if x > 0:
        y = x
    else:
        y = slope * x
    tl.store(out_ptr + offs, y, mask=mask)


def leaky_relu(x, slope):
    out = torch.empty_like(x)
    n_elements = x.numel()
    leaky_relu_kernel[(triton.cdiv(n_elements, 64),)](x, out, slope, n_elements, BLOCK_SIZE=64)
    return out
