"""Chapter 7's sweep: tile, warps, stages and GROUP_M of the grouped matmul, for four shapes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch

from .matmul import matmul_cost, operands
from .matmul_sweeps import Launch

__all__ = ["ONLY_BY_NAME", "bench_cases"]

ONLY_BY_NAME = True
"""The bench takes minutes for this, so it does not when no op is named."""

SHAPES = ((4096, 4096, 4096), (8192, 8192, 8192), (16384, 512, 8192), (1000, 1000, 1000))

TILES = {
    (128, 256): "64,8,1 64,8,2 64,8,3 64,8,4 64,8,5 32,8,3 32,8,5 128,8,2 64,4,3 64,16,3",
    (256, 128): "64,8,2 64,8,3 64,8,4 32,8,4 64,4,3 64,16,3",
    (128, 128): "64,8,1 64,8,2 64,8,3 64,8,4 64,8,5 64,4,2 64,4,3 64,4,4 32,4,3 32,4,4 32,4,5 32,8,4 128,8,2 128,8,3 128,4,3",
    (128, 64): "64,4,3 64,4,4 32,4,4 128,4,3 64,8,4",
    (64, 128): "64,4,3 64,4,4 32,4,4 128,4,3 64,8,4",
    (64, 256): "64,4,3 64,8,4 32,4,4",
    (256, 64): "64,4,3 64,8,4",
    (64, 64): "32,2,5 32,4,2 32,4,3 32,4,4 64,4,2 64,4,3 64,4,4 64,4,6 128,4,3 128,4,4 64,2,4 64,8,4",
    (64, 32): "64,4,5 64,2,4",
    (32, 64): "64,4,5 32,2,5",
    (32, 32): "32,1,4 32,2,4 32,4,3 64,2,5",
    (256, 256): "32,8,3 64,8,3 64,16,3",
    (16, 16): "32,1,4",
}
"""For each BLOCK_M, BLOCK_N: BLOCK_K, num_warps, num_stages. Some do not fit, on purpose."""

OTHER_GROUPS = {(128, 256, "64,8,3"): (1, 4, 16), (128, 128, "64,8,4"): (1,), (64, 64, "64,4,4"): (1,)}


def launches() -> list[Launch]:
    """Every config."""
    made = []
    for (rows, cols), rest in TILES.items():
        for item in rest.split():
            step, warps, stages = (int(n) for n in item.split(","))
            for group in (8, *OTHER_GROUPS.get((rows, cols, item), ())):
                tile = {"BLOCK_M": rows, "BLOCK_N": cols, "BLOCK_K": step, "GROUP_M": group}
                made.append(Launch("grouped", {**tile, "num_warps": warps, "num_stages": stages}))
    return made


def bench_cases() -> Iterator[dict]:
    """What ``python -m tritonlab bench matmul_configs`` measures."""
    for M, N, K in SHAPES:
        yield {
            "shape": (M, N, K),
            "dtype": torch.bfloat16,
            "make": partial(operands, M=M, N=N, K=K, dtype=torch.bfloat16),
            "run": launches(),
            "baselines": {"torch": torch.matmul},
            "cost": matmul_cost,
            "like": "matmul",
            "accuracy": {"K": K},
            "compile": None,
        }
