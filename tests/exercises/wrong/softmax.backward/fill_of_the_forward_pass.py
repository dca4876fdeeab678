"""The fill of the forward pass, -inf, in a sum of products."""
# rejected with: fill
# which says: With 0 there the result is right
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_backward_kernel(y_ptr, dy_ptr, dx_ptr, stride_ym, stride_dym, stride_dxm, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    y = tl.load(y_ptr + row * stride_ym + cols, mask=mask, other=-float("inf")).to(tl.float32)
    dy = tl.load(dy_ptr + row * stride_dym + cols, mask=mask, other=-float("inf")).to(tl.float32)
    dx = y * (dy - tl.sum(y * dy, axis=0))
    tl.store(dx_ptr + row * stride_dxm + cols, dx, mask=mask)


def softmax_backward(y, dy):
    n_rows, n_cols = y.shape
    dx = torch.empty(y.shape, dtype=y.dtype, device=y.device)
    softmax_backward_kernel[(n_rows,)](
        y, dy, dx, y.stride(0), dy.stride(0), dx.stride(0), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols)
    )
    return dx
