"""The mask asks for the columns only."""
# rejected with: out_of_bounds
# which says: 24 of its 32 lanes
import torch
import triton
import triton.language as tl


@triton.jit
def short_rows_kernel(x_ptr, w_ptr, out_ptr, n_rows, n_cols, eps, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n[None, :] < n_cols
    offs = offs_m[:, None] * n_cols + offs_n[None, :]
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=offs_n < n_cols, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=1) / n_cols + eps)
    tl.store(out_ptr + offs, x * scale[:, None] * w[None, :], mask=mask)


def rmsnorm_short(x, weight):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    BLOCK_M = 4
    grid = (triton.cdiv(n_rows, BLOCK_M),)
    short_rows_kernel[grid](x, weight, out, n_rows, n_cols, 1e-6, BLOCK_M=BLOCK_M, BLOCK_N=triton.next_power_of_2(n_cols))
    return out
