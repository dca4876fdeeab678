"""Nothing is masked."""
# rejected with: out_of_bounds
# which says: has no mask
import torch
import triton
import triton.language as tl


@triton.jit
def dropout_kernel(x_ptr, out_ptr, p, seed, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offs)
    keep = tl.rand(seed, offs) >= p
    tl.store(out_ptr + offs, tl.where(keep, x / (1 - p), 0.0))


def dropout(x, p, seed):
    out = torch.empty_like(x)
    n_elements = x.numel()
    dropout_kernel[(triton.cdiv(n_elements, 64),)](x, out, p, seed, n_elements, BLOCK_SIZE=64)
    return out
