"""Right, but what stands between goes through memory."""
# rejected with: rule
# which says: 2 launches
import torch
import triton
import triton.language as tl


@triton.jit
def scale_bias_kernel(x_ptr, scale_ptr, bias_ptr, t_ptr, n_elements, n_cols, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    scale = tl.load(scale_ptr + offs % n_cols, mask=mask)
    bias = tl.load(bias_ptr + offs % n_cols, mask=mask)
    tl.store(t_ptr + offs, x * scale + bias, mask=mask)


@triton.jit
def relu_kernel(t_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    tl.store(out_ptr + offs, tl.maximum(tl.load(t_ptr + offs, mask=mask), 0.0), mask=mask)


def scale_bias_relu(x, scale, bias):
    t, out = torch.empty_like(x), torch.empty_like(x)
    n_elements, n_cols = x.numel(), x.shape[-1]
    grid = (triton.cdiv(n_elements, 64),)
    scale_bias_kernel[grid](x, scale, bias, t, n_elements, n_cols, BLOCK_SIZE=64)
    relu_kernel[grid](t, out, n_elements, BLOCK_SIZE=64)
    return out
