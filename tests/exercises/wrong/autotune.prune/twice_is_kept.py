"""A tile of exactly twice the matrix is kept."""
# rejected with: rule
# which says: is at least twice the 64
import torch
import triton
import triton.language as tl


def one_run(kernel_call, quantiles):  # stands in for do_bench, which needs a GPU
    kernel_call()
    return [1.0, 1.0, 1.0]


def plausible(configs, named_args, **kwargs):
    kept = []
    for config in configs:
        m, n, k = (config.kwargs[name] for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K"))
        buffers = config.num_stages * (m + n) * k * 2
        if buffers <= 227 * 1024 and m <= 2 * named_args["M"] and n <= 2 * named_args["N"]:
            kept.append(config)
    return kept or configs[:1]


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}, num_stages=s, num_warps=8)
        for m, n, k, s in ((64, 64, 32, 4), (128, 64, 64, 3), (128, 128, 64, 4), (128, 128, 128, 4), (128, 256, 64, 4), (256, 128, 64, 5))
    ],
    key=["M", "N", "K"],
    prune_configs_by={"early_config_prune": plausible},
    do_bench=one_run,
)
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        offs_k = k + tl.arange(0, BLOCK_K)
        a_mask, b_mask = (offs_m[:, None] < M) & (offs_k[None, :] < K), (offs_k[:, None] < K) & (offs_n[None, :] < N)
        a = tl.load(a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak, mask=a_mask, other=0.0)
        b = tl.load(b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn, mask=b_mask, other=0.0)
        acc = tl.dot(a, b, acc)
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, acc, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def tuned_matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))
    matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride())
    return c
