"""Exercises of chapter 7: heuristics, tuning in place, the key, pruning, a look-up table, a pipelined loop."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from ..problem import Case, KnownWrong, Problem, Tolerance, spec
from ..run import Outcome

SUM = {
    "float32": Tolerance(1e-5, 1e-4, "a sum of a few thousand terms around 1 rounds by about 1e-5 in float32."),
    "float16": Tolerance(2e-3, 2e-2, "float16 keeps 11 bits: storing a sum rounds it by up to 5e-4 of its value."),
}


def runs_of(outcome: Outcome, position: int) -> list[Any]:
    """The launches that got the argument at that position, tuning runs and the last one, in order."""
    address = outcome.built.args[position].untyped_storage().data_ptr()
    return [launch for launch in outcome.trace.launches if any(a.address == address for a in launch.args)]


def one_run(kernel_call, quantiles):  # stands in for do_bench, which needs a GPU
    kernel_call()
    return [1.0, 1.0, 1.0]


def three_runs(kernel_call, quantiles):  # stands in for do_bench, which needs a GPU
    for _ in range(3):
        kernel_call()
    return [1.0, 1.0, 1.0]


# autotune.heuristic


def block_size(args):
    return triton.next_power_of_2(args["n_cols"])


def warps(args):
    return min(max(args["BLOCK_SIZE"] // 512, 1), 16)


@triton.heuristics({"BLOCK_SIZE": block_size, "num_warps": warps})
@triton.jit
def row_sum_kernel(x_ptr, out_ptr, stride_xm, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * stride_xm + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    tl.store(out_ptr + row, tl.sum(x, axis=0))


def row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(n_rows,)](x, out, x.stride(0), n_cols)
    return out


def _by_width(outcome: Outcome) -> tuple[str, str] | None:
    """The smallest block that holds the row, and 16 elements a thread."""
    n_cols = outcome.case.args[0].shape[-1]
    block = triton.next_power_of_2(n_cols)
    for launch in outcome.trace.launches:
        got, num_warps = launch.meta.get("BLOCK_SIZE"), launch.options.get("num_warps", 4)
        if got != block:
            return "rule", f"The sums are right, but rows of {n_cols} columns ran with BLOCK_SIZE {got}: {block} is the smallest power of two that holds them."
        wanted = min(max(block // 512, 1), 16)
        if num_warps != wanted:
            return "rule", (
                f"The sums are right, but a block of {block} ran with {num_warps} warps, {num_warps * 32} threads: "
                f"{block / (num_warps * 32):g} elements a thread. With 16 a thread it takes {wanted} (at least 1, at most 16)."
            )
    return None


HEURISTIC = Problem(
    name="autotune.heuristic",
    prompt=(
        "row_sum(x) needs no tuning: two rules choose for it. BLOCK_SIZE is the smallest power of two that holds a row, and num_warps gives\n"
        "each thread 16 elements: BLOCK_SIZE / (32 · 16), at least 1, at most 16. Write both. A rule gets every argument by name; the second sees what the first chose."
    ),
    stub='''def block_size(args):
    return ...  # args["n_cols"] is the width of a row


def warps(args):
    return ...  # args["BLOCK_SIZE"] is known by now


@triton.heuristics({"BLOCK_SIZE": block_size, "num_warps": warps})
@triton.jit
def row_sum_kernel(x_ptr, out_ptr, stride_xm, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * stride_xm + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    tl.store(out_ptr + row, tl.sum(x, axis=0))


def row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(n_rows,)](x, out, x.stride(0), n_cols)
    return out
''',
    solution=(block_size, warps, row_sum_kernel, row_sum),
    oracle=lambda x: x.double().sum(dim=-1),
    cases=(
        Case((spec(3, 16),)),
        Case((spec(1, 1),)),
        Case((spec(4, 17),)),
        Case((spec(40, 100),)),
        Case((spec(2, 1000, layout="wide rows"),)),
        Case((spec(2, 1100, dtype="float16"),)),
        Case((spec(2, 5000),)),
        Case((spec(1, 9000),)),
    ),
    hints=(
        "triton.next_power_of_2(n) is the smallest power of two that is at least n.",
        "A warp has 32 threads, so num_warps · 32 · 16 = BLOCK_SIZE: divide with //, then keep the result between 1 and 16.",
        'return triton.next_power_of_2(args["n_cols"]), and return min(max(args["BLOCK_SIZE"] // 512, 1), 16).',
    ),
    tolerance=SUM,
    extra=(_by_width,),
)


# autotune.in_place


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
    p = tl.load(p_ptr + offs, mask=mask)
    tl.store(p_ptr + offs, p - step, mask=mask)
    tl.atomic_add(moved_ptr, tl.sum(step * step, axis=0))


def sgd_step(p, g, lr):
    n_elements = p.numel()
    moved = torch.zeros(1, dtype=p.dtype, device=p.device)
    sgd_kernel[lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)](p, g, moved, lr, n_elements)
    return p, moved


def _stepped(p: Any, g: Any, lr: float, steps: int = 1, sums: int = 1, begin: float = 1.0) -> tuple[Any, Any]:
    step = lr * g.double()
    return begin * p.double() - steps * step, sums * (step * step).sum().reshape(1)


def _still_tuned_in_place(outcome: Outcome) -> tuple[str, str] | None:
    """p itself was updated, by a kernel that was tuned."""
    p = outcome.built.args[0]
    if outcome.results[0].data_ptr() != p.data_ptr():
        return "rule", "The values are right, but p was not updated: another tensor came back. The optimizer holds on to p, so the kernel must change p itself."
    if len(outcome.trace.launches) < 2:
        return "rule", "The values are right, but nothing was tuned: the kernel was launched once. Keep both configs, and tell the tuner what each run changes."
    return None


IN_PLACE = Problem(
    name="autotune.in_place",
    prompt=(
        "sgd_step(p, g, lr) changes p in place, p = p - lr · g, and returns p and a tensor with the sum of the squared steps. The first call for each\n"
        "length is wrong: tuning runs the kernel too. Tell the tuner which argument to put back after each run, and which begins at 0."
    ),
    stub='''def three_runs(kernel_call, quantiles):  # stands in for do_bench, which needs a GPU
    for _ in range(3):
        kernel_call()
    return [1.0, 1.0, 1.0]


@triton.autotune(
    configs=[triton.Config({"BLOCK_SIZE": 16}), triton.Config({"BLOCK_SIZE": 64})],
    key=["n_elements"],
    do_bench=three_runs,
)
@triton.jit
def sgd_kernel(p_ptr, g_ptr, moved_ptr, lr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    step = lr * tl.load(g_ptr + offs, mask=mask, other=0.0)
    p = tl.load(p_ptr + offs, mask=mask)
    tl.store(p_ptr + offs, p - step, mask=mask)
    tl.atomic_add(moved_ptr, tl.sum(step * step, axis=0))


def sgd_step(p, g, lr):
    n_elements = p.numel()
    moved = torch.zeros(1, dtype=p.dtype, device=p.device)
    sgd_kernel[lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)](p, g, moved, lr, n_elements)
    return p, moved
''',
    solution=(three_runs, sgd_kernel, sgd_step),
    oracle=_stepped,
    cases=(
        Case((spec(64), spec(64), 0.5)),
        Case((spec(1), spec(1), 0.5)),
        Case((spec(63), spec(63), 0.25)),
        Case((spec(65), spec(65), 0.25)),
        Case((spec(200), spec(200), 0.125)),
    ),
    hints=(
        "Two configs, three runs each, and the launch itself: the kernel ran 7 times on the same p. Which of its tensors does the kernel read and write?",
        "restore_value=[...] copies an argument before each run and puts it back afterwards; reset_to_zero=[...] sets one to 0 before each run. Both take parameter names.",
        'restore_value=["p_ptr"], reset_to_zero=["moved_ptr"] in @triton.autotune. Never both on one tensor: it would be zeroed before it is copied.',
    ),
    tolerance=Tolerance(1e-5, 1e-4, "a sum of 200 squares rounds by about 1e-5 in float32."),
    dtype="float32",
    known_wrong=(
        KnownWrong("p was changed 7 times and the squares summed 7 times: 2 configs × 3 tuning runs, and the launch.", lambda p, g, lr: _stepped(p, g, lr, 7, 7)),
        KnownWrong("p was changed 7 times: 2 configs × 3 tuning runs, and the launch.", lambda p, g, lr: _stepped(p, g, lr, 7, 1)),
        KnownWrong("p is right now, but the squares of all 7 runs were added up.", lambda p, g, lr: _stepped(p, g, lr, 1, 7)),
        KnownWrong("p was set to 0 before it was used: it holds what the kernel needs, so it must be put back, not reset.", lambda p, g, lr: _stepped(p, g, lr, 1, 1, 0.0)),
    ),
    writes=("p",),
    extra=(_still_tuned_in_place,),
)


# autotune.key


def wide_enough(configs, named_args, **kwargs):
    return [config for config in configs if config.kwargs["BLOCK_SIZE"] >= named_args["n_cols"]]


@triton.autotune(
    configs=[triton.Config({"BLOCK_SIZE": n}) for n in (16, 64, 256, 1024)],
    key=["n_cols"],
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


_BLOCKS = (16, 64, 256, 1024)


def _tuned_when_it_must(outcome: Outcome) -> tuple[str, str] | None:
    """The second tensor is tuned for exactly when the width of its rows is new."""
    (x, y), runs = outcome.case.args, runs_of(outcome, 1)
    if x.dtype != y.dtype or not runs:
        return None
    block, fits = runs[-1].meta["BLOCK_SIZE"], min(n for n in _BLOCKS if n >= y.shape[1])
    if x.shape[1] == y.shape[1] and len(runs) > 1:
        return "rule", f"The values are right, but y, with rows as wide as those of x, was tuned for again: {len(runs) - 1} runs. Something in key changes that does not matter to the choice."
    if block > fits:
        why = f"chosen for the {x.shape[1]} columns of x. They were not tuned for." if x.shape[1] != y.shape[1] else f"and a config with {fits} holds them too. Keep all four."
        return "rule", f"The values are right, but rows of {y.shape[1]} columns ran with BLOCK_SIZE {block}, {why}"
    return None


KEY = Problem(
    name="autotune.key",
    prompt=(
        "shares(x, y) divides each row of x, and then each row of y, by its sum. One program holds a whole row, so BLOCK_SIZE depends on its width;\n"
        "pruning leaves only configs that hold it. But what was chosen for x is used for y. Give the tuner its key: tune again when the width is new, and only then."
    ),
    stub='''def one_run(kernel_call, quantiles):  # stands in for do_bench, which needs a GPU
    kernel_call()
    return [1.0, 1.0, 1.0]


def wide_enough(configs, named_args, **kwargs):
    return [config for config in configs if config.kwargs["BLOCK_SIZE"] >= named_args["n_cols"]]


@triton.autotune(
    configs=[triton.Config({"BLOCK_SIZE": n}) for n in (16, 64, 256, 1024)],
    key=[],  # names of parameters
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
''',
    solution=(one_run, wide_enough, shares_kernel, shares),
    oracle=lambda x, y: tuple(t.double() / t.double().sum(-1, keepdim=True) for t in (x, y)),
    cases=(
        Case((spec(3, 16, values="positive"), spec(2, 16, values="positive"))),
        Case((spec(2, 10, values="positive"), spec(2, 40, values="positive"))),
        Case((spec(2, 40, values="positive"), spec(2, 10, values="positive"))),
        Case((spec(2, 300, values="positive"), spec(2, 5, values="positive"))),
        Case((spec(2, 10, values="positive"), spec(4, 10, values="positive"))),
        Case((spec(2, 14, values="positive", layout="wide rows"), spec(2, 17, values="positive"))),
        Case((spec(2, 20, values="positive", layout="wide rows"), spec(3, 20, values="positive"))),
    ),
    hints=(
        "The tuner looks a call up by the values of the arguments named in key (and the dtypes of its tensors). With key=[] every float32 call is the same to it.",
        "stride_xm is often the width, but not for a view of wider rows; and the number of rows changes the grid, not which block holds a row.",
        'key=["n_cols"].',
    ),
    tolerance=Tolerance(1e-5, 1e-7, "a sum of a few hundred positive terms and one division round by about 1e-6 of the value in float32."),
    extra=(_tuned_when_it_must,),
)


# autotune.prune


def plausible(configs, named_args, **kwargs):
    kept = []
    for config in configs:
        m, n, k = (config.kwargs[name] for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K"))
        buffers = config.num_stages * (m + n) * k * 2
        if buffers <= 227 * 1024 and m < 2 * named_args["M"] and n < 2 * named_args["N"]:
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


_TILES = ((64, 64, 32, 4), (128, 64, 64, 3), (128, 128, 64, 4), (128, 128, 128, 4), (128, 256, 64, 4), (256, 128, 64, 5))


def _against(tile: tuple[int, int, int, int], M: int, N: int) -> str:
    """Why a config is to be pruned, "" if it is to be kept."""
    m, n, k, stages = tile
    buffers = stages * (m + n) * k * 2
    if buffers > 227 * 1024:
        return f"its buffers take {buffers // 1024} KiB, and a program on an H200 gets 227 KiB"
    for name, block, length in (("BLOCK_M", m, M), ("BLOCK_N", n, N)):
        if block >= 2 * length:
            return f"{name} {block} is at least twice the {length} of the matrix"
    return ""


def _pruned(outcome: Outcome) -> tuple[str, str] | None:
    """What was run are the configs that fit, and all of these."""
    M, N = outcome.case.args[0].shape[0], outcome.case.args[1].shape[1]
    found = {(*(launch.meta[name] for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K")), launch.options.get("num_stages")) for launch in outcome.trace.launches}
    reasons = {tile: _against(tile, M, N) for tile in _TILES}
    wanted = {tile for tile, why in reasons.items() if not why} or {_TILES[0]}
    words = "The product is right, but the config of {0} × {1} × {2} with {3} stages was {4}, for a product of {5} × {6}: {7}."
    for tile in _TILES:
        if tile in found and tile not in wanted:
            return "rule", words.format(*tile, "not pruned", M, N, reasons[tile])
        if tile in wanted and tile not in found:
            why = "when nothing else is left, configs[:1] is kept" if reasons[tile] else f"its buffers take {tile[3] * (tile[0] + tile[1]) * tile[2] * 2 // 1024} KiB, and its tile is less than twice the matrix"
            return "rule", words.format(*tile, "pruned", M, N, why)
    return None


PRUNE = Problem(
    name="autotune.prune",
    prompt=(
        "tuned_matmul(a, b) multiplies 16-bit matrices with six candidates, each of which costs about a second to compile. Write plausible(): it keeps the configs\n"
        "whose buffers fit an H200, num_stages · (BLOCK_M + BLOCK_N) · BLOCK_K · 2 bytes ≤ 227 · 1024, and whose BLOCK_M is below 2 · M and BLOCK_N below 2 · N.\n"
        "If none is left, it keeps configs[:1]."
    ),
    stub='''def one_run(kernel_call, quantiles):  # stands in for do_bench, which needs a GPU
    kernel_call()
    return [1.0, 1.0, 1.0]


def plausible(configs, named_args, **kwargs):
    kept = []
    for config in configs:
        ...  # config.kwargs["BLOCK_M"], config.num_stages, named_args["M"]
    return ...


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
''',
    solution=(one_run, plausible, matmul_kernel, tuned_matmul),
    oracle=lambda a, b: a.double() @ b.double(),
    cases=(
        Case((spec(128, 64, dtype="float16"), spec(64, 130, dtype="float16"))),
        Case((spec(40, 20, dtype="float16"), spec(20, 70, dtype="float16"))),
        Case((spec(70, 33, dtype="float16"), spec(33, 40, dtype="float16"))),
        Case((spec(20, 16, dtype="float16"), spec(16, 20, dtype="float16")), note="smaller than every tile"),
        Case((spec(130, 40, dtype="float16"), spec(40, 129, dtype="float16"))),
        Case((spec(64, 16, dtype="float16"), spec(16, 129, dtype="float16")), note="BLOCK_M 128 is 2 · M"),
        Case((spec(129, 16, dtype="float16"), spec(16, 64, dtype="float16")), note="BLOCK_N 128 is 2 · N"),
    ),
    hints=(
        "A stage holds one tile of A, BLOCK_M × BLOCK_K, and one of B, BLOCK_K × BLOCK_N, of 2 bytes each element. config.kwargs holds the tile, config.num_stages the stages.",
        'named_args holds the arguments of this call: named_args["M"], named_args["N"]. Append a config to kept when all three conditions hold.',
        "return kept or configs[:1]: an empty list is false, so the first config takes its place. With nothing left, autotune raises an error.",
    ),
    tolerance=Tolerance(2e-3, 2e-2, "float16 keeps 11 bits: storing the product rounds it by up to 5e-4 of its value."),
    extra=(_pruned,),
)


# autotune.table


def config_for(M, N, K):
    if triton.cdiv(M, 128) * triton.cdiv(N, 256) >= 132:
        return {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "num_warps": 8, "num_stages": 3}
    return {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 64, "num_warps": 4, "num_stages": 4}


@triton.jit
def product_kernel(
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


def looked_up_matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    config = config_for(M, N, K)
    grid = (triton.cdiv(M, config["BLOCK_M"]), triton.cdiv(N, config["BLOCK_N"]))
    product_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), **config)
    return c


SHAPES = ((4096, 4096, 4096), (8192, 8192, 8192), (16384, 512, 8192), (1000, 1000, 1000))
RECORDED = {
    (128, 256, 64, 8, 3): (689, 650, 649, 103),
    (128, 128, 64, 8, 3): (601, 623, 603, 129),
    (128, 64, 64, 4, 4): (446, 417, 447, 143),
    (64, 64, 128, 4, 3): (364, 346, 366, 117),
    (32, 32, 64, 2, 5): (152, 153, 151, 53),
}
"""TFLOP/s of BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages (GROUP_M 8, bfloat16) at ``SHAPES``, of the recorded H200 sweep."""

BETWEEN = ((16384, 64, 4096), (2048, 1024, 8192), (512, 16384, 512), (3000, 3000, 3000), (20000, 256, 1000), (1536, 2816, 4096), (1500, 3000, 2000))
"""Shapes that the table has no column for."""


def _table() -> str:
    head = [f"{'×'.join(map(str, shape))}" for shape in SHAPES]
    lines = ["| BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages | " + " | ".join(head) + " |", "|---|" + "--:|" * len(head)]
    return "\n".join(lines + [f"| {', '.join(map(str, config))} | " + " | ".join(map(str, row)) + " |" for config, row in RECORDED.items()])


def _chosen(answer: Any, shape: tuple[int, int, int]) -> Any:
    """The config that an answer launches for a shape, with nothing run: tensors without memory, and the launch only captured."""
    from ...runtime import capture

    M, N, K = shape
    a, b = (torch.empty(size, dtype=torch.bfloat16, device="meta") for size in ((M, K), (K, N)))
    with capture() as launches:
        try:
            answer(a, b)
        except Exception as error:
            return f"it raises {type(error).__name__}: {error}"
    if len(launches) != 1:
        return f"it launches {len(launches)} kernels"
    given = {**launches[0].arguments, "num_warps": 4, "num_stages": 3, **launches[0].options}
    return tuple(given.get(name) for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages"))


def _by_the_table(outcome: Outcome) -> tuple[str, str] | None:
    """At the recorded shapes the best of the table, between them the best large or small config by the number of tiles."""
    if outcome.number:
        return None
    for column, shape in enumerate(SHAPES):
        found, size = _chosen(outcome.cache["answer"], shape), "×".join(map(str, shape))
        best = max(RECORDED, key=lambda config: RECORDED[config][column])
        if isinstance(found, str):
            return "rule", f"The small products are right, but for {size} {found}."
        if found not in RECORDED:
            return "rule", f"The small products are right, but {found}, chosen for {size}, is not one of the five lines of this exercise's table."
        if RECORDED[found][column] < RECORDED[best][column]:
            return "rule", f"The small products are right, but {found}, chosen for {size}, reached {RECORDED[found][column]} TFLOP/s there, and {best} reached {RECORDED[best][column]}."
    large, small = (max(RECORDED, key=lambda config: RECORDED[config][column]) for column in (1, 3))
    for shape in BETWEEN:
        found, size = _chosen(outcome.cache["answer"], shape), "×".join(map(str, shape))
        tiles = triton.cdiv(shape[0], large[0]) * triton.cdiv(shape[1], large[1])
        wanted = large if tiles >= 132 else small
        if found != wanted:
            return "rule", f"The table's own shapes are right, but for {size}, which has {tiles} tiles of {large[0]} × {large[1]}, {found} was chosen and not {wanted}."
    return None


TABLE = Problem(
    name="autotune.table",
    prompt=(
        "looked_up_matmul(a, b) tunes nothing: config_for(M, N, K) looks up what an H200 measured, in TFLOP/s (M×N×K, bfloat16,\n"
        "GROUP_M 8; Triton 3.6.0, 2026-11-30):\n\n"
        + _table()
        + "\n\nReturn the best line for each of these shapes, as a dict of the three blocks, num_warps and num_stages. For shapes in between: the line that is best for\n"
        "large products, if its tiles are at least 132, one for each SM, and otherwise the one that is best at 1000×1000×1000."
    ),
    stub='''def config_for(M, N, K):
    return ...  # {"BLOCK_M": ..., "BLOCK_N": ..., "BLOCK_K": ..., "num_warps": ..., "num_stages": ...}


@triton.jit
def product_kernel(
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


def looked_up_matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    config = config_for(M, N, K)
    grid = (triton.cdiv(M, config["BLOCK_M"]), triton.cdiv(N, config["BLOCK_N"]))
    product_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), **config)
    return c
''',
    solution=(config_for, product_kernel, looked_up_matmul),
    oracle=lambda a, b: a.double() @ b.double(),
    cases=(
        Case((spec(64, 64, dtype="float16"), spec(64, 64, dtype="float16"))),
        Case((spec(40, 20, dtype="float16"), spec(20, 70, dtype="float16"))),
        Case((spec(1, 130, dtype="float16"), spec(130, 1, dtype="float16"))),
        Case((spec(65, 33, dtype="float16"), spec(33, 64, dtype="float16"))),
    ),
    hints=(
        "Read the table down, column by column: which line has the largest number? Three of the four columns agree.",
        "The large line has tiles of 128 × 256. How many of them does a product of M × N have? Rounded up in each direction, multiplied.",
        "if triton.cdiv(M, 128) * triton.cdiv(N, 256) >= 132: return the first line as a dict, otherwise the line with tiles of 128 × 64.",
    ),
    tolerance=Tolerance(2e-3, 2e-2, "float16 keeps 11 bits: storing the product rounds it by up to 5e-4 of its value."),
    extra=(_by_the_table,),
)


# autotune.pipeline


@triton.jit
def row_dot_kernel(x_ptr, y_ptr, out_ptr, stride_xm, stride_ym, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_SIZE)
    acc = tl.zeros((BLOCK_SIZE,), tl.float32)
    for start in tl.range(0, n_cols, BLOCK_SIZE, num_stages=4):
        cols = start + lanes
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


def _pipelined(outcome: Outcome) -> tuple[str, str] | None:
    """Compiled for an H200, the loop copies ahead: three tiles of each input are under way."""
    from ...compiler import CompileError
    from ...compiler.compiling import answers
    from ...compiler.request import request
    from ..gpu_only import launches_of

    if outcome.case.args[0].shape[-1] < 1024:
        return None
    taken = launches_of(outcome.cache["answer"], PIPELINE, outcome)
    made = [c for c in answers([request(launch, "sm_90", None) for launch in taken]) if not isinstance(c, CompileError)]
    if not made:
        return None
    lanes = {a.mask.size for launch in outcome.trace.launches for a in launch.accesses if a.kind == "load"}
    ahead = 3 * 2 * min(lanes) * 4
    if made[0].sass.copies == 0:
        return "rule", "The values are right, but the compiled loop is not pipelined: it has no asynchronous copy (cp.async), and every tile is waited for. A loop without tl.dot is pipelined only on request."
    if made[0].shared < ahead or made[0].shared >= ahead + 2 * min(lanes) * 4:
        return "rule", (
            f"The values are right and the loop is pipelined, but its buffers take {made[0].shared:,} B of shared memory. 4 stages keep 3 tiles of x "
            f"and 3 of y under way: {ahead:,} B."
        )
    return None


PIPELINE = Problem(
    name="autotune.pipeline",
    prompt=(
        "row_dot(x, y) is the sum of x · y over each row, float32, with tiles of 256. Write the loop so that the compiler pipelines it with 4 stages: while a tile\n"
        "is multiplied, the next three of x and of y are on their way. The check compiles your kernel for an H200 and counts the copies and the buffers."
    ),
    stub='''@triton.jit
def row_dot_kernel(x_ptr, y_ptr, out_ptr, stride_xm, stride_ym, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_SIZE)
    acc = tl.zeros((BLOCK_SIZE,), tl.float32)
    ...  # the loop
    tl.store(out_ptr + row, tl.sum(acc, axis=0))


def row_dot(x, y):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_dot_kernel[(n_rows,)](x, y, out, x.stride(0), y.stride(0), n_cols, BLOCK_SIZE=256)
    return out
''',
    solution=(row_dot_kernel, row_dot),
    oracle=lambda x, y: (x.double() * y.double()).sum(dim=-1),
    cases=(
        Case((spec(3, 256), spec(3, 256))),
        Case((spec(2, 1), spec(2, 1))),
        Case((spec(2, 255), spec(2, 255))),
        Case((spec(2, 257), spec(2, 257))),
        Case((spec(2, 1024), spec(2, 1024))),
        Case((spec(2, 700, layout="wide rows"), spec(2, 700))),
    ),
    hints=(
        "num_stages at the launch pipelines loops that contain a tl.dot. This one has none: the loop itself must ask.",
        "tl.range(start, end, step, num_stages=4) is range with wishes to the compiler. Inside: cols = start + lanes, the mask, both loads, and the product added to acc.",
        "for start in tl.range(0, n_cols, BLOCK_SIZE, num_stages=4): with other=0.0 in both loads, and acc += x * y. The sum over lanes comes after the loop.",
    ),
    tolerance=SUM,
    extra=(_pipelined,),
)

PROBLEMS = (HEURISTIC, IN_PLACE, KEY, PRUNE, TABLE, PIPELINE)
