"""``python -m tritonlab overhead``: what the guard, the trace and the import cost.

A plain interpreted launch (Triton alone, ``TRITON_INTERPRET=1``) is timed in a process of its own, a guarded and a traced
one in this process, in turns, and their medians compared. The work is vector add with 16 programs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

PROGRAMS, BLOCK = 16, 1024
GUARD, TRACE, IMPORT = 1.2, 1.5, 0.1
"""Targets: times a plain launch, and seconds beyond importing torch and Triton."""


def vector_add() -> Callable[[], Any]:
    """The work: one launch, on tensors made once."""
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def vector_add_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
        pid = tl.program_id(axis=0)
        offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        mask = offs < n_elements
        x = tl.load(x_ptr + offs, mask=mask)
        y = tl.load(y_ptr + offs, mask=mask)
        tl.store(out_ptr + offs, x + y, mask=mask)

    n = PROGRAMS * BLOCK - 100
    x, y, out = torch.rand(n), torch.rand(n), torch.zeros(n)

    def launch() -> None:
        vector_add_kernel[(PROGRAMS,)](x, y, out, n, BLOCK_SIZE=BLOCK)

    launch()
    assert torch.equal(out, x + y)
    return launch


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def plain_child() -> None:
    """For each line on stdin, time one launch of Triton's own interpreter."""
    work = vector_add()
    for _ in sys.stdin:
        print(seconds(work), flush=True)


def launches(rounds: int) -> dict[str, list[float]]:
    """Seconds of each launch, by kind."""
    import tritonlab as lab

    work = vector_add()
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    child = subprocess.Popen([sys.executable, "-P", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    assert child.stdin is not None and child.stdout is not None

    def plain() -> float:
        child.stdin.write("again\n")
        child.stdin.flush()
        return float(child.stdout.readline())

    kinds: dict[str, Callable[[], float]] = {"plain": plain, "guarded": lambda: seconds(work), "traced": lambda: seconds(lambda: lab.trace(work))}
    taken: dict[str, list[float]] = {kind: [] for kind in kinds}
    try:
        for i in range(rounds + 3):
            for kind, measure in kinds.items():
                took = measure()
                if i >= 3:  # the first are warm-up
                    taken[kind].append(took)
    finally:
        child.stdin.close()
        child.wait(10)
    return taken


def imports(rounds: int) -> list[float]:
    """Seconds that importing tritonlab takes after torch and Triton."""
    code = "import time, torch, triton; start = time.perf_counter(); import tritonlab; print(time.perf_counter() - start)"
    return [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(rounds)]


def main(argv: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser("python -m tritonlab overhead", description="What guard, trace and import cost, against a plain interpreted launch.")
    parser.add_argument("--rounds", type=int, default=60, help="launches of each kind (default 60)")
    options = parser.parse_args(argv)
    taken = launches(options.rounds)
    middle = {kind: statistics.median(values) for kind, values in taken.items()}
    print(f"vector add, {PROGRAMS} programs of {BLOCK}, median of {options.rounds}, in turns")
    for kind, target in (("plain", None), ("guarded", GUARD), ("traced", TRACE)):
        ratio = middle[kind] / middle["plain"]
        verdict = "" if target is None else f"  target {target}: {'met' if ratio <= target else 'MISSED'}"
        print(f"  {kind:<8} {middle[kind] * 1e3:7.2f} ms  {ratio:5.2f} ×{verdict}")
    took = statistics.median(imports(5))
    print(f"  import   {took * 1e3:7.0f} ms beyond torch and Triton  target {IMPORT * 1e3:.0f} ms: {'met' if took <= IMPORT else 'MISSED'}")
    return 0


if __name__ == "__main__":
    plain_child()
