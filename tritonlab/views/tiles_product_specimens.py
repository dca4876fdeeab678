"""Matmul launches made by hand, right and wrong, for samples, screenshots and tests of the matmul picture."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..trace.record import Access, Launch, TensorArg

__all__ = ["BUGS", "product"]

BUGS = ("rows of another program", "no mask on K", "rows wrap around", "one K step too few")


def product(
    sizes: tuple[int, int, int] = (40, 56, 40),
    tile: tuple[int, int, int] = (16, 16, 16),
    *,
    dtype: type = np.float32,
    names: tuple[str, str, str] = ("a_ptr", "b_ptr", "c_ptr"),
    strides: tuple[tuple[int, int] | None, tuple[int, int] | None] = (None, None),
    turned: bool = False,
    programs: int | None = None,
    bug: str | None = None,
) -> Launch:
    """``c = a @ b`` of ``sizes`` M, N, K in a loop over K, one tile of ``tile`` a program on a 2-D grid.

    ``strides`` of A and B in elements (None: contiguous). ``turned``: B is an [N, K] tensor, whose block the kernel loads
    as it lies and transposes. ``programs``: a persistent kernel of so many programs on a 1-D grid. ``bug``: one of
    ``BUGS``; the launch ends at the first lane out of range as a guarded one does, except that the access is kept.
    """
    M, N, K = sizes
    BM, BN, BK = tile
    rng = np.random.default_rng(3)
    shapes = ((M, K), (N, K) if turned else (K, N), (M, N))
    args, memory = [], []
    for i, (name, shape) in enumerate(zip(names, shapes)):
        given = strides[i] if i < 2 and strides[i] else (shape[1], 1)
        size = 1 + sum((n - 1) * s for n, s in zip(shape, given)) if min(shape) else 0
        flat = rng.integers(-4, 5, max(size, 1)).astype(dtype) if i < 2 else np.zeros(max(size, 1), dtype)
        view = np.lib.stride_tricks.as_strided(flat, shape, tuple(s * flat.itemsize for s in given)).copy() if min(shape) else np.zeros(shape, dtype)
        memory.append(flat)
        args.append(TensorArg(name, i, np.dtype(dtype).name, flat.itemsize, shape, given, i, 0, size, before=view))
    down, across = -(-M // BM), -(-N // BN)
    grid = (programs, 1, 1) if programs else (down, across, 1)
    accesses: list[Access] = []
    error, result = None, np.zeros((M, N), dtype)
    for pid in np.ndindex(*grid[::-1]):
        pid = pid[::-1]
        for i, j in [divmod(t, across) for t in range(pid[0], down * across, programs)] if programs else [pid[:2]]:
            rows, columns = i * BM + np.arange(BM, dtype=np.int64)[:, None], j * BN + np.arange(BN, dtype=np.int64)[None, :]
            from_rows = ((i + 1) % down - i) * BM + rows if bug == "rows of another program" else rows % max(M, 1) if bug == "rows wrap around" else rows
            acc = np.zeros((BM, BN), np.float32)
            for start in range(0, K - BK if bug == "one K step too few" else K, BK):
                k = start + np.arange(BK, dtype=np.int64)
                at = from_rows * args[0].strides[0] + k[None, :] * args[0].strides[1]
                on = (from_rows < M) & ((k[None, :] < K) | (bug == "no mask on K"))
                bt = k[:, None] * args[1].strides[turned] + columns * args[1].strides[not turned]
                bn = (k[:, None] < K) & (columns < N)
                bad = bool((at[on] >= args[0].extent).any())
                a, b = _load(memory[0], at, on), _load(memory[1], bt, bn)
                acc += a.astype(np.float32) @ b.astype(np.float32)
                accesses.append(Access("load", names[0], pid, 12, at, on, None if bad else a, other=True))
                if bad:
                    error = f"load from {names[0]}: {int((at[on] >= args[0].extent).sum())} lanes are out of range"
                    break
                turn = np.transpose if turned else np.asarray
                accesses.append(Access("load", names[1], pid, 13, turn(bt), turn(bn), turn(b), other=True))
            if error:
                break
            accesses.append(Access("store", names[2], pid, 16, rows * N + columns, (rows < M) & (columns < N), acc.astype(dtype)))
            whole = result[i * BM : (i + 1) * BM, j * BN : (j + 1) * BN]
            whole[:] = acc[: whole.shape[0], : whole.shape[1]]
        if error:
            break
    args[2] = dataclasses.replace(args[2], after=result)
    return Launch("matmul_kernel", grid, tuple(args), accesses=tuple(accesses), error=error)


def _load(memory: np.ndarray, offsets: np.ndarray, mask: np.ndarray) -> np.ndarray:
    inside = mask & (offsets >= 0) & (offsets < memory.size)
    return np.where(inside, memory[np.where(inside, offsets, 0)], memory.dtype.type(0))
