"""A name that the kernel does not have."""
# rejected with: raises
# which says: n_col
import torch
import triton
import triton.language as tl


def one_run(kernel_call, quantiles):  # stands in for do_bench, which needs a GPU
    kernel_call()
    return [1.0, 1.0, 1.0]


def wide_enough(configs, named_args, **kwargs):
    return [config for config in configs if config.kwargs["BLOCK_SIZE"] >= named_args["n_cols"]]


@triton.autotune(
    configs=[triton.Config({"BLOCK_SIZE": n}) for n in (16, 64, 256, 1024)],
    key=["n_col"],
    prune_configs_by={"early_config_prune": wide_enough},
    do_bench=one_run,
)
@triton.jit
def shares_kernel(x_ptr, out_ptr, stride_xm, stride_om, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * stride_xm + cols, mask=mask, other=0.0)
    tl.store(out_ptr + row * stride_om + cols, x / tl.sum(x, axis=0), mask=mask)


def shares(x, y):
    out = [torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in (x, y)]
    for t, o in zip((x, y), out):
        shares_kernel[(t.shape[0],)](t, o, t.stride(0), o.stride(0), t.shape[1])
    return out[0], out[1]
