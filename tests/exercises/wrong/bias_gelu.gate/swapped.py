"""The gate is the left half."""
# rejected with: known_wrong
# which says: swapped
import torch
import triton
import triton.language as tl


@triton.jit
def silu_gate_kernel(x_ptr, out_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x_row = x_ptr + row * 2 * n_cols
    gate = tl.load(x_row + n_cols + cols, mask=mask).to(tl.float32)
    value = tl.load(x_row + cols, mask=mask).to(tl.float32)
    tl.store(out_ptr + row * n_cols + cols, gate * tl.sigmoid(gate) * value, mask=mask)


def silu_gate(x):
    n_rows, n_cols = x.shape[0], x.shape[1] // 2
    out = torch.empty((n_rows, n_cols), dtype=x.dtype, device=x.device)
    grid = (n_rows, triton.cdiv(n_cols, 64))
    silu_gate_kernel[grid](x, out, n_cols, BLOCK_SIZE=64)
    return out
