"""The offset is a single number in each program."""
# rejected with: never_written
# which says: offs is one number, not a block of them. Add tl.arange(0, BLOCK_SIZE)
import torch
import triton
import triton.language as tl


@triton.jit
def multiply_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK_SIZE
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
