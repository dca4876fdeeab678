"""The last program runs over the end of p."""
# rejected with: out_of_bounds
# which says: out of bounds
import torch
import triton
import triton.language as tl


def three_runs(kernel_call, quantiles):  # stands in for do_bench, which needs a GPU
    for _ in range(3):
        kernel_call()
    return [1.0, 1.0, 1.0]


@triton.autotune(
    configs=[triton.Config({"BLOCK_SIZE": 16}), triton.Config({"BLOCK_SIZE": 64})],
    key=["n_elements"],
    restore_value=["p_ptr"],
    reset_to_zero=["moved_ptr"],
    do_bench=three_runs,
)
@triton.jit
def sgd_kernel(p_ptr, g_ptr, moved_ptr, lr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    step = lr * tl.load(g_ptr + offs, mask=mask, other=0.0)
    p = tl.load(p_ptr + offs)
    tl.store(p_ptr + offs, p - step, mask=mask)
    tl.atomic_add(moved_ptr, tl.sum(step * step, axis=0))


def sgd_step(p, g, lr):
    n_elements = p.numel()
    moved = torch.zeros(1, dtype=p.dtype, device=p.device)
    sgd_kernel[lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)](p, g, moved, lr, n_elements)
    return p, moved
