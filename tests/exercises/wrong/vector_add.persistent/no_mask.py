"""The last tile is not masked."""
# rejected with: out_of_bounds
# which says: has no mask
import torch
import triton
import triton.language as tl


@triton.jit
def add_persistent_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    n_tiles = tl.cdiv(n_elements, BLOCK_SIZE)
    for tile in range(tl.program_id(0), n_tiles, tl.num_programs(0)):
        offs = tile * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + offs)
        y = tl.load(y_ptr + offs)
        tl.store(out_ptr + offs, x + y)


def add_persistent(x, y, num_programs):
    out = torch.empty_like(x)
    n_elements = x.numel()
    grid = (min(num_programs, triton.cdiv(n_elements, 64)),)
    add_persistent_kernel[grid](x, y, out, n_elements, BLOCK_SIZE=64)
    return out
