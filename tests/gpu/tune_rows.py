"""Which block size and how many warps? GB/s of every candidate, for the sizes that the course quotes.

Run on a GPU, from the repository's root: ``python tests/gpu/tune_rows.py [add gelu softmax rmsnorm]``. For each size it
prints the candidates from fast to slow; ``default`` is what the launcher chooses by itself. Takes about a minute, and
stops by itself after ``--seconds`` (230).

Times are medians with L2 cleared, as in ``do_bench``, and with a pause on the GPU before each call, so that the time
that the host needs for a launch does not count.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import triton

sys.path.insert(0, str(Path(__file__).parents[2]))

import tritonlab  # noqa: E402, F401
from tritonlab.kernels.bias_gelu import bias_gelu, bias_gelu_cost  # noqa: E402
from tritonlab.kernels.rmsnorm import rmsnorm, rmsnorm_cost, rmsnorm_kernel, rmsnorm_wide_kernel  # noqa: E402
from tritonlab.kernels.softmax import softmax, softmax_cost, softmax_kernel, softmax_wide_kernel  # noqa: E402
from tritonlab.kernels.vector_add import vector_add, vector_add_cost, vector_add_kernel  # noqa: E402

BF16, FP32 = torch.bfloat16, torch.float32

Row = tuple[str, int, dict[str, Callable[[], object]]]


def milliseconds(fn: Callable[[], object], calls: int = 31, cache: list[torch.Tensor] = []) -> float:
    if not cache:
        cache.append(torch.empty(2**26, dtype=torch.int32, device="cuda"))
    fn()
    fn()
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(calls)]
    for before, after in events:
        cache[0].zero_()
        torch.cuda._sleep(150_000)
        before.record()
        fn()
        after.record()
    torch.cuda.synchronize()
    return statistics.median(before.elapsed_time(after) for before, after in events)


def random(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(shape, device="cuda").to(dtype)


def add_rows() -> Iterator[Row]:
    for n, dtype in [(2**k, FP32) for k in (20, 22, 24, 26, 28)] + [(2**20, BF16), (2**27, BF16), (2**27 - 1, BF16), (2**26 - 1, FP32)]:
        x, y = random(n, dtype=dtype), random(n, dtype=dtype)
        out = torch.empty_like(x)
        found = {"default": lambda: vector_add(x, y), "torch": lambda: torch.add(x, y)}
        for block in (1024, 2048, 4096):
            for warps in (4, 8):
                found[f"B{block} w{warps}"] = lambda b=block, w=warps: vector_add(x, y, BLOCK_SIZE=b, num_warps=w)
        if n % 16:
            found["one launch"] = lambda: vector_add_kernel[(triton.cdiv(n, 2048),)](x, y, out, n, 1, 1, 1, BLOCK_SIZE=2048, num_warps=8)
        yield f"add {n:,} {dtype}", vector_add_cost(x, y)[0], found


def gelu_rows() -> Iterator[Row]:
    for shape in ((8192, 4096), (16384, 8192), (4099, 4097), (8192, 1000), (65536, 100)):
        x, bias = random(*shape, dtype=BF16), random(shape[1], dtype=BF16)
        found = {"default": lambda: bias_gelu(x, bias)}
        for form in ("flat", "wrapped", "2d"):
            for block in (64, 512, 1024, 2048, 4096):
                for warps in (1, 2, 4, 8):
                    if 128 <= block // warps <= 1024 and (form != "wrapped" or block <= shape[1]) or (block == 64 and warps == 1):
                        found[f"{form} B{block} w{warps}"] = lambda f=form, b=block, w=warps: bias_gelu(
                            x, bias, form=f, BLOCK_SIZE=b, num_warps=w
                        )
        yield f"bias_gelu {list(shape)} bf16", bias_gelu_cost(x, bias)[0], found


SHAPES = [
    ((4096, 1024), FP32),
    ((32768, 1024), BF16),
    ((16384, 4096), BF16),
    ((8192, 8192), BF16),
    ((8192, 16384), BF16),
    ((4096, 32768), BF16),
    ((2048, 131072), BF16),
    ((4096, 32768), FP32),
    ((4096, 12671), FP32),
    ((8192, 12671), BF16),
    ((16384, 4097), BF16),
    ((16384, 1000), BF16),
    ((4096, 32769), BF16),
]


def softmax_rows() -> Iterator[Row]:
    for (m, n), dtype in SHAPES:
        x = random(m, n, dtype=dtype)
        out, tile, size, aligned = torch.empty_like(x), triton.next_power_of_2(n), x.element_size(), n % 16 == 0
        found = {"default": lambda: softmax(x)}
        for warps in (1, 2, 4, 8, 16, 32):
            for most in (None, 64) if warps >= 8 and n > 4096 else (None,):
                if n <= 32768 and 8 <= tile // (32 * warps) <= 64:
                    found[f"row w{warps}{' max 64' if most else ''}"] = lambda w=warps, most=most: softmax_kernel[(m,)](
                        x, out, n, n, 1, n, 1, BLOCK_SIZE=tile, num_warps=w, maxnreg=most
                    )
            for depth in (2, 4, 8):
                block = warps * 32 * 16 // size * depth
                if n >= 8192 and 4096 <= block <= n:
                    found[f"wide B{block} depth {depth} w{warps}"] = lambda b=block, d=depth, w=warps: softmax_wide_kernel[(m,)](
                        x, out, n, n, 1, n, 1, BLOCK_SIZE=b, DEPTH=d, ALIGNED=aligned, num_warps=w
                    )
        yield f"softmax [{m}, {n}] {dtype}", softmax_cost(x)[0], found


def rmsnorm_rows() -> Iterator[Row]:
    for (m, n), dtype in SHAPES:
        x, weight = random(m, n, dtype=dtype), random(n, dtype=dtype)
        out, tile, aligned = torch.empty_like(x), triton.next_power_of_2(n), n % 16 == 0
        found = {"default": lambda: rmsnorm(x, weight)}
        for warps in (1, 2, 4, 8, 16, 32):
            for rows in (1, 2, 4):
                if n <= 32768 and rows * tile <= max(4096, tile) and 8 <= rows * tile // (32 * warps) <= 64:
                    found[f"row M{rows} w{warps}"] = lambda r=rows, w=warps: rmsnorm_kernel[(triton.cdiv(m, r),)](
                        x, weight, out, m, n, n, 1, 1, n, 1, 1e-6, BLOCK_M=r, BLOCK_N=tile, ALIGNED=aligned, num_warps=w
                    )
            for block in (2048, 4096, 8192, 16384, 32768):
                if n >= 8192 and warps >= 8 and block <= n and 4 <= block // (32 * warps) <= 32:
                    found[f"wide B{block} w{warps}"] = lambda b=block, w=warps: rmsnorm_wide_kernel[(m,)](
                        x, weight, out, n, n, 1, 1, n, 1, 1e-6, BLOCK_N=b, ALIGNED=aligned, num_warps=w
                    )
        yield f"rmsnorm [{m}, {n}] {dtype}", rmsnorm_cost(x, weight)[0], found


OPS = {"add": add_rows, "gelu": gelu_rows, "softmax": softmax_rows, "rmsnorm": rmsnorm_rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ops", nargs="*", help=f"which of {', '.join(OPS)}; all if left out")
    parser.add_argument("--seconds", type=float, default=230.0)
    args = parser.parse_args()
    if unknown := set(args.ops) - set(OPS):
        parser.error(f"no op {', '.join(sorted(unknown))}; there are {', '.join(OPS)}")
    start = time.monotonic()
    source = torch.empty(2**29, device="cuda")
    target = torch.empty_like(source)
    copy = 2 * source.numel() * 4 / milliseconds(lambda: target.copy_(source)) / 1e6
    del source, target
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__}; copy {copy:,.0f} GB/s", flush=True)
    for op in args.ops or OPS:
        for title, moved, candidates in OPS[op]():
            measured: list[tuple[float, str]] = []
            for name, run in candidates.items():
                if time.monotonic() - start > args.seconds:
                    print(f"stopped after {args.seconds:.0f} s, before {title}, {name}")
                    return
                try:
                    measured.append((moved / milliseconds(run) / 1e6, name))
                except Exception as error:  # out of registers or shared memory: not a candidate here
                    measured.append((0.0, f"{name}: {type(error).__name__} {str(error)[:80]}"))
            default = moved / milliseconds(candidates["default"]) / 1e6  # again, now that the GPU is warm
            measured.sort(reverse=True)
            print(f"\n{title}: default {default:,.0f} GB/s, best {measured[0][0]:,.0f}, copy {copy:,.0f}   [{time.monotonic() - start:.0f} s]")
            print("   " + " | ".join(f"{name} {rate:,.0f}" for rate, name in measured), flush=True)


if __name__ == "__main__":
    main()
