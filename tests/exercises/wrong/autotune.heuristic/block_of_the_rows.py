"""The block is chosen by the number of columns times two: half of its lanes are always off."""
# rejected with: rule
# which says: 16 is the smallest power of two
import torch
import triton
import triton.language as tl


def block_size(args):
    return triton.next_power_of_2(2 * args["n_cols"])


def warps(args):
    return min(max(args["BLOCK_SIZE"] // 512, 1), 16)


@triton.heuristics({"BLOCK_SIZE": block_size, "num_warps": warps})
@triton.jit
def row_sum_kernel(x_ptr, out_ptr, stride_xm, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * stride_xm + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    tl.store(out_ptr + row, tl.sum(x, axis=0))


def row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(n_rows,)](x, out, x.stride(0), n_cols)
    return out
