"""Which block size and how many warps? GB/s of every candidate, for the sizes that the course quotes.

Run on a GPU, from the repository's root: ``python tests/gpu/tune_rows.py [add gelu softmax rmsnorm]``. It prints a line
for each size, with the copy bandwidth of this GPU, then the candidates from fast to slow; what the launcher
chooses by itself is ``default``. Takes under four minutes, and stops by itself after ``--seconds`` (230).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
import sys

import torch
import triton
import triton.language as tl

sys.path.insert(0, str(Path(__file__).parents[2]))

import tritonlab  # noqa: E402, F401
from tritonlab.kernels.bias_gelu import bias_gelu, bias_gelu_2d_kernel, bias_gelu_cost, gelu_tanh  # noqa: E402
from tritonlab.kernels.rmsnorm import rmsnorm, rmsnorm_cost, rmsnorm_kernel, rmsnorm_wide_kernel  # noqa: E402
from tritonlab.kernels.softmax import softmax, softmax_cost  # noqa: E402
from tritonlab.kernels.vector_add import vector_add, vector_add_cost, vector_add_kernel  # noqa: E402

Candidates = dict[str, Callable[[], object]]
Row = tuple[str, int, Candidates]


def milliseconds(fn: Callable[[], object]) -> float:
    return triton.testing.do_bench(fn, warmup=10, rep=40, return_mode="median")


def random(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(shape, device="cuda", dtype=torch.float32).to(dtype)


def add_rows() -> Iterator[Row]:
    sizes = [(2**k, torch.float32) for k in (20, 22, 24, 26, 28)] + [(2**27, torch.bfloat16), (2**27 - 1, torch.bfloat16), (2**26 - 1, torch.float32)]
    for n, dtype in sizes:
        x, y = random(n, dtype=dtype), random(n, dtype=dtype)
        found: Candidates = {"torch": lambda: torch.add(x, y), "default": lambda: vector_add(x, y)}
        for block in (1024, 2048, 4096):
            for warps in (4, 8):
                found[f"BLOCK {block} warps {warps}"] = lambda b=block, w=warps: vector_add(x, y, BLOCK_SIZE=b, num_warps=w)
        if n % 16:
            out = torch.empty_like(x)
            found["one launch"] = lambda: vector_add_kernel[(triton.cdiv(n, 2048),)](x, y, out, n, 1, 1, 1, BLOCK_SIZE=2048, num_warps=8)
        yield f"add 2^{n.bit_length() - (n & (n - 1) == 0)}{'' if n & (n - 1) == 0 else ' - 1'} {dtype}", vector_add_cost(x, y)[0], found


@triton.jit
def wrapped_kernel(x_ptr, bias_ptr, out_ptr, n_elements, n_cols, BLOCK_SIZE: tl.constexpr):
    """The flat kernel with one remainder a program; right while BLOCK_SIZE is at most n_cols."""
    start = tl.program_id(axis=0) * BLOCK_SIZE
    lanes = tl.arange(0, BLOCK_SIZE)
    offs = start + lanes
    mask = offs < n_elements
    cols = start % n_cols + lanes
    cols = tl.where(cols < n_cols, cols, cols - n_cols)
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    bias = tl.load(bias_ptr + cols, mask=mask).to(tl.float32)
    tl.store(out_ptr + offs, gelu_tanh(x + bias), mask=mask)


def gelu_rows() -> Iterator[Row]:
    for shape in ((8192, 4096), (16384, 8192), (4099, 4097)):
        x, bias = random(*shape, dtype=torch.bfloat16), random(shape[1], dtype=torch.bfloat16)
        out, (m, n) = torch.empty_like(x), shape
        found: Candidates = {"default": lambda: bias_gelu(x, bias)}
        for block in (1024, 2048, 4096):
            for warps in (4, 8):
                for form in ("flat", "2d"):
                    found[f"{form} BLOCK {block} warps {warps}"] = lambda f=form, b=block, w=warps: bias_gelu(
                        x, bias, form=f, BLOCK_SIZE=b, num_warps=w
                    )
                if n % 16:
                    found[f"2d without the hint BLOCK {block} warps {warps}"] = lambda b=block, w=warps: bias_gelu_2d_kernel[
                        (m, triton.cdiv(n, b))
                    ](x, bias, out, n, n, 1, 1, n, 1, BLOCK_SIZE=b, ALIGNED=True, num_warps=w)
                body = m * n // 16 * 16
                found[f"wrapped, body only BLOCK {block} warps {warps}"] = lambda b=block, w=warps: wrapped_kernel[
                    (triton.cdiv(body, b),)
                ](x, bias, out, body, n, BLOCK_SIZE=b, num_warps=w)
        yield f"bias_gelu {list(shape)} bf16", bias_gelu_cost(x, bias)[0], found


SHAPES = [
    ((4096, 1024), torch.float32),
    ((32768, 1024), torch.bfloat16),
    ((16384, 4096), torch.bfloat16),
    ((8192, 8192), torch.bfloat16),
    ((4096, 32768), torch.bfloat16),
    ((4096, 12671), torch.float32),
    ((2048, 131072), torch.bfloat16),
]


def wide_candidates(n: int) -> list[tuple[int, int]]:
    return [(b, w) for b in (2048, 4096, 8192, 16384) for w in (8, 16, 32) if 64 * w <= b <= 1024 * w] if n >= 8192 else []


def softmax_rows() -> Iterator[Row]:
    for (m, n), dtype in SHAPES:
        x = random(m, n, dtype=dtype)
        found: Candidates = {"default": lambda: softmax(x)}
        for warps in (2, 4, 8, 16, 32):
            if n <= 32768 and triton.next_power_of_2(n) <= warps * 32 * 64:
                found[f"row warps {warps}"] = lambda w=warps: softmax(x, form="row", num_warps=w)
        for block, warps in wide_candidates(n):
            found[f"wide BLOCK {block} warps {warps}"] = lambda b=block, w=warps: softmax(x, form="wide", BLOCK_SIZE=b, num_warps=w)
        yield f"softmax [{m}, {n}] {dtype}", softmax_cost(x)[0], found


def rmsnorm_rows() -> Iterator[Row]:
    for (m, n), dtype in SHAPES:
        x, w = random(m, n, dtype=dtype), random(n, dtype=dtype)
        out = torch.empty_like(x)
        found: Candidates = {"default": lambda: rmsnorm(x, w)}
        hints = (False, True) if n % 16 else (True,)
        for aligned in hints:
            meta = {"ALIGNED": aligned}
            name = "" if aligned == (n % 16 == 0) else " without the hint"
            block_n = triton.next_power_of_2(n)
            for block_m in (1, 2, 4, 8):
                for warps in (2, 4, 8, 16, 32):
                    share = block_m * block_n // (32 * warps)
                    if n <= 32768 and block_m * block_n <= max(8192, block_n) and 8 <= share <= 64:
                        found[f"row{name} BLOCK_M {block_m} warps {warps}"] = lambda bm=block_m, k=warps, meta=meta, bn=block_n: rmsnorm_kernel[
                            (triton.cdiv(m, bm),)
                        ](x, w, out, m, n, n, 1, 1, n, 1, 1e-6, BLOCK_M=bm, BLOCK_N=bn, num_warps=k, **meta)
            for block, warps in wide_candidates(n):
                found[f"wide{name} BLOCK_N {block} warps {warps}"] = lambda b=block, k=warps, meta=meta: rmsnorm_wide_kernel[(m,)](
                    x, w, out, n, n, 1, 1, n, 1, 1e-6, BLOCK_N=b, num_warps=k, **meta
                )
        yield f"rmsnorm [{m}, {n}] {dtype}", rmsnorm_cost(x, w)[0], found


OPS = {"add": add_rows, "gelu": gelu_rows, "softmax": softmax_rows, "rmsnorm": rmsnorm_rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ops", nargs="*", choices=[*OPS, []], help="which ops; all if left out")
    parser.add_argument("--seconds", type=float, default=230.0)
    args = parser.parse_args()
    start = time.monotonic()
    big = torch.empty(2**29, device="cuda", dtype=torch.float32)
    other = torch.empty_like(big)
    copy = 2 * big.numel() * 4 / milliseconds(lambda: other.copy_(big)) / 1e6
    del big, other
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
            measured.sort(reverse=True)
            best = measured[0][0]
            print(f"\n{title}: best {best:,.0f} GB/s, {best / copy:.2f} of copy   [{time.monotonic() - start:.0f} s]")
            print("   " + " | ".join(f"{name} {rate:,.0f}" for rate, name in measured), flush=True)


if __name__ == "__main__":
    main()
