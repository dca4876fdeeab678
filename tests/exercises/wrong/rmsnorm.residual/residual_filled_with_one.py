"""Masked lanes of the residual count in the sum."""
# rejected with: fill
# which says: With 0 there the result is right
import torch
import triton
import triton.language as tl


@triton.jit
def add_rmsnorm_kernel(x_ptr, residual_ptr, w_ptr, out_ptr, sum_ptr, stride_xm, stride_rm, n_cols, eps, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < n_cols
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=0.0).to(tl.float32)
    x += tl.load(residual_ptr + row * stride_rm + offs_n, mask=mask, other=1.0).to(tl.float32)
    tl.store(sum_ptr + row * n_cols + offs_n, x, mask=mask)
    w = tl.load(w_ptr + offs_n, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    tl.store(out_ptr + row * n_cols + offs_n, x * scale * w, mask=mask)


def add_rmsnorm(x, residual, weight):
    n_rows, n_cols = x.shape
    out, summed = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for _ in range(2))
    add_rmsnorm_kernel[(n_rows,)](
        x, residual, weight, out, summed, x.stride(0), residual.stride(0), n_cols, 1e-6, BLOCK_N=triton.next_power_of_2(n_cols)
    )
    return out, summed
