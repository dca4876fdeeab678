"""empty_like keeps the strides of a transposed x, and the kernel stores row by row."""
# rejected with: strides
# which says: strides are not honoured
import torch
import triton
import triton.language as tl


@triton.jit
def gelu(v):
    u = 0.7978845608028654 * (v + 0.044715 * v * v * v)
    return v * tl.sigmoid(2 * u)


@triton.jit
def row_bias_gelu_kernel(x_ptr, bias_ptr, out_ptr, n_elements, n_cols, stride_xm, stride_xn, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    rows, cols = offs // n_cols, offs % n_cols
    x = tl.load(x_ptr + rows * stride_xm + cols * stride_xn, mask=mask)
    bias = tl.load(bias_ptr + rows, mask=mask)
    tl.store(out_ptr + offs, gelu(x + bias), mask=mask)


def row_bias_gelu(x, bias):
    out = torch.empty_like(x)
    n_elements, n_cols = x.numel(), x.shape[1]
    grid = (triton.cdiv(n_elements, 64),)
    row_bias_gelu_kernel[grid](x, bias, out, n_elements, n_cols, x.stride(0), x.stride(1), BLOCK_SIZE=64)
    return out
