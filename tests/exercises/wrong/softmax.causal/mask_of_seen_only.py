"""The columns that exist are not asked for: a row shorter than the block reads on."""
# rejected with: out_of_bounds
# which says: out_ptr
import torch
import triton
import triton.language as tl


@triton.jit
def causal_softmax_kernel(scores_ptr, out_ptr, stride_sm, stride_om, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    seen = cols <= row
    scores = tl.load(scores_ptr + row * stride_sm + cols, mask=seen, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(scores - tl.max(scores, axis=0))
    tl.store(out_ptr + row * stride_om + cols, numerator / tl.sum(numerator, axis=0))


def causal_softmax(scores):
    n_rows, n_cols = scores.shape
    out = torch.empty(scores.shape, dtype=scores.dtype, device=scores.device)
    BLOCK_SIZE = triton.next_power_of_2(n_cols)
    causal_softmax_kernel[(n_rows,)](scores, out, scores.stride(0), out.stride(0), n_cols, BLOCK_SIZE=BLOCK_SIZE)
    return out
