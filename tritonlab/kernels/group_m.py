"""Chapter 6's sweep: GROUP_M × tile × size, beside the two orders of a 2-D grid."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch

from .matmul import matmul_cost, operands
from .matmul_sweeps import WHOLE_COLUMN, Launch

__all__ = ["ONLY_BY_NAME", "bench_cases"]

ONLY_BY_NAME = True
"""The bench takes minutes for this, so it does not when no op is named."""

SIZES = (4096, 8192, 16384)
GROUPS = (1, 2, 4, 8, 16, 32, WHOLE_COLUMN)
TILES = (
    {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "num_warps": 8, "num_stages": 3},
    {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "num_warps": 4, "num_stages": 3},
    {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "num_warps": 4, "num_stages": 3},
)


def launches() -> list[Launch]:
    """Every tile with every GROUP_M, and on a 2-D grid both ways."""
    made = []
    for tile in TILES:
        shape, options = dict(list(tile.items())[:3]), dict(list(tile.items())[3:])
        made += [Launch("grouped", {**shape, "GROUP_M": group, **options}) for group in GROUPS]
        made += [Launch(name, tile) for name in ("2-D grid", "2-D grid, axes swapped")]
    return made


def bench_cases() -> Iterator[dict]:
    """What ``python -m tritonlab bench group_m`` measures."""
    for size in SIZES:
        yield {
            "shape": (size, size, size),
            "dtype": torch.bfloat16,
            "make": partial(operands, M=size, N=size, K=size, dtype=torch.bfloat16),
            "run": launches(),
            "baselines": {"torch": torch.matmul},
            "cost": matmul_cost,
            "like": "matmul",
            "accuracy": {"K": size},
            "compile": None,
        }
