"""One remainder a program; lanes past the end of the row are filled with 0 instead of beginning anew."""
# rejected with: fill
# which says: Masked lanes take part in the result
import torch
import triton
import triton.language as tl


@triton.jit
def scale_bias_relu_kernel(x_ptr, scale_ptr, bias_ptr, out_ptr, n_elements, n_cols, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    cols = tl.program_id(0) * BLOCK_SIZE % n_cols + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offs, mask=mask)
    scale = tl.load(scale_ptr + cols, mask=cols < n_cols, other=0.0)
    bias = tl.load(bias_ptr + cols, mask=cols < n_cols, other=0.0)
    tl.store(out_ptr + offs, tl.maximum(x * scale + bias, 0.0), mask=mask)


def scale_bias_relu(x, scale, bias):
    out = torch.empty_like(x)
    n_elements, n_cols = x.numel(), x.shape[-1]
    scale_bias_relu_kernel[(triton.cdiv(n_elements, 64),)](x, scale, bias, out, n_elements, n_cols, BLOCK_SIZE=64)
    return out
