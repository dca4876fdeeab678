"""The row is loaded without a mask."""
# rejected with: out_of_bounds
# which says: mask
import torch
import triton
import triton.language as tl


@triton.jit
def l2_normalize_kernel(x_ptr, out_ptr, stride_xm, stride_om, n_cols, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < n_cols
    x = tl.load(x_ptr + row * stride_xm + offs_n).to(tl.float32)
    norm = tl.sqrt(tl.sum(x * x, axis=0))
    tl.store(out_ptr + row * stride_om + offs_n, x / tl.maximum(norm, 1e-12), mask=mask)


def l2_normalize(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    l2_normalize_kernel[(n_rows,)](x, out, x.stride(0), out.stride(0), n_cols, BLOCK_N=triton.next_power_of_2(n_cols))
    return out
