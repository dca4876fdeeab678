"""The columns do not move with the loop."""
# rejected with: never_read
# which says: never read
import torch
import triton
import triton.language as tl


@triton.jit
def row_dot_kernel(x_ptr, y_ptr, out_ptr, stride_xm, stride_ym, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_SIZE)
    acc = tl.zeros((BLOCK_SIZE,), tl.float32)
    for start in tl.range(0, n_cols, BLOCK_SIZE, num_stages=4):
        cols = lanes
        mask = cols < n_cols
        x = tl.load(x_ptr + row * stride_xm + cols, mask=mask, other=0.0)
        y = tl.load(y_ptr + row * stride_ym + cols, mask=mask, other=0.0)
        acc += x * y
    tl.store(out_ptr + row, tl.sum(acc, axis=0))


def row_dot(x, y):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_dot_kernel[(n_rows,)](x, y, out, x.stride(0), y.stride(0), n_cols, BLOCK_SIZE=256)
    return out
