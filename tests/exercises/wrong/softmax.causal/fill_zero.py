"""Hidden and padding columns hold 0."""
# rejected with: fill
# which says: With -inf there the result is right
import torch
import triton
import triton.language as tl


@triton.jit
def causal_softmax_kernel(scores_ptr, out_ptr, stride_sm, stride_om, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    seen = cols <= row
    scores = tl.load(scores_ptr + row * stride_sm + cols, mask=mask & seen, other=0.0).to(tl.float32)
    numerator = tl.exp(scores - tl.max(scores, axis=0))
    tl.store(out_ptr + row * stride_om + cols, numerator / tl.sum(numerator, axis=0), mask=mask)


def causal_softmax(scores):
    n_rows, n_cols = scores.shape
    out = torch.empty(scores.shape, dtype=scores.dtype, device=scores.device)
    BLOCK_SIZE = triton.next_power_of_2(n_cols)
    causal_softmax_kernel[(n_rows,)](scores, out, scores.stride(0), out.stride(0), n_cols, BLOCK_SIZE=BLOCK_SIZE)
    return out
