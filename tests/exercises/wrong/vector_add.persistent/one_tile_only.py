"""A program ends after its first tile."""
# rejected with: never_written
# which says: cannot reach
import torch
import triton
import triton.language as tl


@triton.jit
def add_persistent_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    n_tiles = tl.cdiv(n_elements, BLOCK_SIZE)
    for tile in range(tl.program_id(0), tl.program_id(0) + 1):
        offs = tile * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        mask = offs < n_elements
        x = tl.load(x_ptr + offs, mask=mask)
        y = tl.load(y_ptr + offs, mask=mask)
        tl.store(out_ptr + offs, x + y, mask=mask)


def add_persistent(x, y, num_programs):
    out = torch.empty_like(x)
    n_elements = x.numel()
    grid = (min(num_programs, triton.cdiv(n_elements, 64)),)
    add_persistent_kernel[grid](x, y, out, n_elements, BLOCK_SIZE=64)
    return out
