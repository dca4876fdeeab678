"""The variance divides by one less than the length."""
# rejected with: known_wrong
# which says: n_cols - 1
import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, stride_xm, stride_om, n_cols, eps, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < n_cols
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n_cols
    centred = tl.where(mask, x - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / tl.maximum(n_cols - 1, 1) + eps)
    w = tl.load(w_ptr + offs_n, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + offs_n, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * stride_om + offs_n, centred * scale * w + b, mask=mask)


def layer_norm(x, weight, bias):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    BLOCK_N = triton.next_power_of_2(n_cols)
    layer_norm_kernel[(n_rows,)](x, weight, bias, out, x.stride(0), out.stride(0), n_cols, 1e-5, BLOCK_N=BLOCK_N)
    return out
