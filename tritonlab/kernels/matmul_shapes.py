"""Which tile, how many warps and stages: a table by shape, and the candidates that autotuning times instead."""

from __future__ import annotations

from typing import Any

import torch
import triton

from .tensors import blocks

__all__ = ["CONFIGS", "fitting_configs", "launch_shape", "row_multiple"]

SMS = 132
"""Multiprocessors of the GPU for which the table was made, an H200."""

SHARED_BYTES = 227 * 1024
"""Shared memory that a program may have where no GPU can be asked: that of sm_90."""


RATES = {
    (128, 256, 64, 8, 3): 1.0,
    (128, 128, 64, 8, 3): 0.92,
    (64, 128, 64, 4, 3): 0.8,
    (64, 64, 64, 4, 4): 0.5,
}
"""What 16-bit tiles (BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages) reach in a large product, beside the fastest."""

FEW = {(64, 128, 128, 4, 3): 0.85, (64, 64, 128, 4, 4): 0.55}
"""The same, of tiles that take K in longer steps and are fast where no SM gets more than one of them."""

TF32_RATES = {(256, 128, 32, 8, 3): 1.0, (128, 64, 32, 4, 4): 0.65}


def launch_shape(M: int, N: int, K: int, itemsize: int, input_precision: str = "ieee", padded: bool = False) -> dict[str, int]:
    """Tile and launch options by shape, as measured on an H200; ``padded``: for copies filled up to whole tiles.

    A large tile multiplies faster, a small one leaves fewer SMs idle: taken is the tile with the least time by area of
    a tile, its rate, and how many tiles an SM gets. Where the rows of neither operand begin on 16 bytes, scalar loads
    need so many registers that only a small tile has enough.
    """
    names = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages")
    odd = not padded and N * itemsize % 16 != 0 and K * itemsize % 16 != 0
    if itemsize == 4 and (odd or input_precision != "tf32"):
        return dict(zip(names, (64, 64, 32, 4, 3)))
    if odd:
        return dict(zip(names, (64, 64, 64, 4, 4)))

    def turns(tile: tuple[int, ...]) -> int:
        return blocks(blocks(M, tile[0]) * blocks(N, tile[1]), SMS)

    rates = TF32_RATES if itemsize == 4 else RATES | {tile: rate for tile, rate in FEW.items() if turns(tile) <= 1}
    if padded:  # seen to be slower there than its rate says
        rates = {tile: rate for tile, rate in rates.items() if tile[:2] != (128, 128)}
    return dict(zip(names, min(rates, key=lambda tile: turns(tile) * tile[0] * tile[1] / rates[tile])))


def row_multiple(a: torch.Tensor, b: torch.Tensor) -> int:
    """How many elements make 16 bytes, if that divides every row of a, b and a @ b, and 16 elements do not; otherwise 1.

    Triton looks whether 16 divides a number. Rows of 1000 16-bit elements begin on 16 bytes too; a kernel told that
    8 divides the number moves them 16 bytes at a time.
    """
    step = 16 // a.element_size()
    numbers = (a.shape[1], b.shape[1], a.stride(0), b.stride(0))
    if a.stride(1) != 1 or b.stride(1) != 1 or any(n % step for n in numbers) or all(n % 16 == 0 for n in numbers):
        return 1
    return step


def config(BLOCK_M: int, BLOCK_N: int, BLOCK_K: int, GROUP_M: int, num_warps: int, num_stages: int) -> triton.Config:
    meta = {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "BLOCK_K": BLOCK_K, "GROUP_M": GROUP_M}
    return triton.Config(meta, num_warps=num_warps, num_stages=num_stages)


CONFIGS = [
    config(128, 256, 64, 8, 8, 3),
    config(128, 256, 64, 16, 8, 3),
    config(128, 256, 64, 8, 8, 4),
    config(256, 128, 64, 8, 8, 3),
    config(128, 128, 64, 8, 8, 3),
    config(128, 128, 64, 8, 4, 3),
    config(256, 128, 32, 8, 8, 3),
    config(128, 128, 32, 8, 4, 3),
    config(64, 256, 64, 8, 8, 4),
    config(128, 64, 64, 8, 4, 4),
    config(64, 128, 64, 8, 4, 3),
    config(64, 128, 64, 8, 4, 4),
    config(64, 128, 128, 8, 4, 3),
    config(128, 64, 32, 8, 4, 4),
    config(64, 64, 128, 8, 4, 3),
    config(64, 64, 128, 8, 4, 4),
    config(64, 64, 64, 8, 4, 4),
    config(64, 64, 32, 8, 4, 3),
    config(64, 32, 128, 8, 4, 4),
    config(32, 64, 64, 8, 4, 5),
    config(32, 32, 64, 8, 2, 5),
    config(16, 16, 32, 8, 1, 4),
]
"""What ``autotuned_matmul`` may time: large tiles for large products, small ones where large tiles leave SMs idle."""


def fitting_configs(configs: list[triton.Config], named: dict[str, Any], **kwargs: Any) -> list[triton.Config]:
    """The candidates that fit a launch: ``early_config_prune`` of ``autotuned_matmul``.

    Left out are tiles wider than twice what the shape fills, buffers that do not fit the shared memory, tiles so large
    that SMs stay idle, tiles so small that larger ones keep every SM busy twice over, and float32 tiles without tensor
    cores that no register file holds. The smallest candidate is taken where none is left.
    """
    M, N, K, a = named["M"], named["N"], named["K"], named["a_ptr"]
    ieee = a.dtype == torch.float32 and kwargs.get("INPUT_PRECISION", named.get("INPUT_PRECISION")) == "ieee"
    sms, shared = SMS, SHARED_BYTES
    if a.is_cuda:
        gpu = torch.cuda.get_device_properties(a.device)
        sms, shared = gpu.multi_processor_count, getattr(gpu, "shared_memory_per_block_optin", SHARED_BYTES)

    def fits(meta: dict[str, int], stages: int) -> bool:
        rows, cols, step = meta["BLOCK_M"], meta["BLOCK_N"], meta["BLOCK_K"]
        wide = any(block > max(16, triton.next_power_of_2(size)) for block, size in ((rows, M), (cols, N), (step, K)))
        return not wide and (rows + cols) * step * a.element_size() * stages <= shared and not (ieee and rows * cols > 64 * 64)

    def programs(c: triton.Config) -> int:
        return blocks(M, c.kwargs["BLOCK_M"]) * blocks(N, c.kwargs["BLOCK_N"])

    left = [c for c in configs if fits(c.kwargs, c.num_stages)] or configs[-1:]
    busy = [c for c in left if 2 * programs(c) >= sms]
    if not busy:  # a small product: the candidates with most programs
        most = max(programs(c) for c in left)
        return [c for c in left if 4 * programs(c) >= most]
    fewest = min(programs(c) for c in busy)
    return [c for c in busy if programs(c) <= max(8 * fewest, 2 * sms)]
