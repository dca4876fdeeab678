"""Launches made by hand, as a tracer would record them: for samples, screenshots and tests.

Each function plays its kernel in NumPy and keeps what a trace keeps, so that the views can be drawn and tested
without torch or Triton.
"""

from __future__ import annotations

import numpy as np

from ..trace.record import Access, Function, Launch, TensorArg

__all__ = ["atomic_histogram", "grid_stride", "matmul", "overlapping", "reversed_copy", "softmax_rows", "strided_copy", "vector_add"]

ADD_SOURCE = '''@triton.jit
def vector_add_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x + y, mask=mask)
'''


def tensor(name: str, index: int, values: np.ndarray, after: np.ndarray | None = None, **more) -> TensorArg:
    """A contiguous argument with these values."""
    strides = tuple(s // values.itemsize for s in values.strides)
    given = {"shape": values.shape, "strides": strides, "storage": index, "storage_size": values.size} | more
    return TensorArg(name, index, values.dtype.name, values.itemsize, before=values, after=values if after is None else after, **given)


def _load(memory: np.ndarray, offsets: np.ndarray, mask: np.ndarray, fill: float = 0.0) -> np.ndarray:
    inside = mask & (offsets >= 0) & (offsets < memory.size)
    return np.where(inside, memory.ravel()[np.where(inside, offsets, 0)], memory.dtype.type(fill))


def vector_add(n: int = 1000, block: int = 64, masked: bool = True) -> Launch:
    """``out = x + y``, one block a program. With ``masked=False`` the last program runs past the end."""
    x = (np.arange(n) / 8).astype(np.float32)
    y = np.sqrt(np.arange(n)).astype(np.float32)
    programs = -(-n // block)
    accesses = []
    for pid in range(programs):
        offsets = pid * block + np.arange(block, dtype=np.int64)
        mask = offsets < n if masked else np.ones(block, bool)
        a, b = _load(x, offsets, mask), _load(y, offsets, mask)
        for kind, arg, line, values in (("load", "x_ptr", 6, a), ("load", "y_ptr", 7, b), ("store", "out_ptr", 8, a + b)):
            accesses.append(Access(kind, arg, (pid, 0, 0), line, offsets, mask, values, function="vector_add_kernel"))
    return Launch(
        "vector_add_kernel", (programs, 1, 1),
        args=(tensor("x_ptr", 0, x), tensor("y_ptr", 1, y), tensor("out_ptr", 2, np.zeros_like(x), x + y)),
        scalars={"n_elements": n}, meta={"BLOCK_SIZE": block},
        functions={"vector_add_kernel": Function("vector_add_kernel", ADD_SOURCE, 1)}, accesses=tuple(accesses),
    )  # fmt: skip


def strided_copy(n: int = 24, stride: int = 3, block: int = 8) -> Launch:
    """A contiguous copy of every ``stride``-th element."""
    base = np.arange(n * stride, dtype=np.float32)
    x = base[::stride]
    source = tensor("x_ptr", 0, x, shape=(n,), strides=(stride,), storage_size=base.size)
    accesses = []
    for pid in range(-(-n // block)):
        lanes = pid * block + np.arange(block, dtype=np.int64)
        mask = lanes < n
        values = _load(base, lanes * stride, mask)
        accesses.append(Access("load", "x_ptr", (pid, 0, 0), 5, lanes * stride, mask, values))
        accesses.append(Access("store", "out_ptr", (pid, 0, 0), 6, lanes, mask, values))
    return Launch("strided_copy_kernel", (-(-n // block), 1, 1), (source, tensor("out_ptr", 1, np.zeros(n, np.float32))), accesses=tuple(accesses))


def reversed_copy(n: int = 50, block: int = 16) -> Launch:
    """``out[i] = x[n - 1 - i]``: the load's offsets fall."""
    x = np.arange(n, dtype=np.int32)
    accesses = []
    for pid in range(-(-n // block)):
        lanes = pid * block + np.arange(block, dtype=np.int64)
        mask = lanes < n
        values = _load(x, n - 1 - lanes, mask, -1)
        accesses.append(Access("load", "x_ptr", (pid, 0, 0), 5, n - 1 - lanes, mask, values, other=True))
        accesses.append(Access("store", "out_ptr", (pid, 0, 0), 6, lanes, mask, values))
    return Launch("reverse_kernel", (-(-n // block), 1, 1), (tensor("x_ptr", 0, x), tensor("out_ptr", 1, np.zeros_like(x))), accesses=tuple(accesses))


def overlapping(n: int = 60, block: int = 16, advance: int = 12) -> Launch:
    """Tiles that advance by less than a block, so that neighbours store the same elements."""
    x = np.arange(n, dtype=np.float32)
    programs = -(-n // advance)
    accesses = []
    for pid in range(programs):
        offsets = pid * advance + np.arange(block, dtype=np.int64)
        mask = offsets < n
        values = _load(x, offsets, mask)
        accesses.append(Access("load", "x_ptr", (pid, 0, 0), 4, offsets, mask, values))
        accesses.append(Access("store", "out_ptr", (pid, 0, 0), 5, offsets, mask, values + pid))
    return Launch("overlap_kernel", (programs, 1, 1), (tensor("x_ptr", 0, x), tensor("out_ptr", 1, np.zeros_like(x))), accesses=tuple(accesses))


def grid_stride(n: int = 4000, block: int = 128, programs: int = 4) -> Launch:
    """A persistent kernel: each program takes every ``programs``-th tile, in place."""
    x = np.linspace(-1, 1, n).astype(np.float32)
    accesses = []
    for pid in range(programs):
        for tile in range(pid, -(-n // block), programs):
            offsets = tile * block + np.arange(block, dtype=np.int64)
            mask = offsets < n
            values = _load(x, offsets, mask)
            accesses.append(Access("load", "x_ptr", (pid, 0, 0), 6, offsets, mask, values))
            accesses.append(Access("store", "x_ptr", (pid, 0, 0), 7, offsets, mask, values * 2))
    return Launch("scale_kernel", (programs, 1, 1), (tensor("x_ptr", 0, x, x * 2),), accesses=tuple(accesses))


def softmax_rows(rows: int = 12, columns: int = 37) -> Launch:
    """One row a program; the block is the next power of two, filled with -inf."""
    x = np.random.default_rng(0).normal(size=(rows, columns)).astype(np.float32)
    block = 1 << (columns - 1).bit_length()
    accesses = []
    for pid in range(rows):
        lanes = np.arange(block, dtype=np.int64)
        mask = lanes < columns
        row = _load(x, pid * columns + lanes, mask, -np.inf)
        e = np.exp(row - row.max())
        accesses.append(Access("load", "x_ptr", (pid, 0, 0), 6, pid * columns + lanes, mask, row, other=True))
        accesses.append(Access("store", "out_ptr", (pid, 0, 0), 10, pid * columns + lanes, mask, e / e.sum()))
    return Launch("softmax_kernel", (rows, 1, 1), (tensor("x_ptr", 0, x), tensor("out_ptr", 1, np.zeros_like(x))), accesses=tuple(accesses))


def matmul(m: int = 40, n: int = 56, k: int = 32, block: int = 16, block_k: int = 16) -> Launch:
    """``c = a @ b``, one tile a program in a 2-D grid, a loop over K."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(m, k)).astype(np.float32), rng.normal(size=(k, n)).astype(np.float32)
    grid = (-(-m // block), -(-n // block), 1)
    accesses = []
    for j in range(grid[1]):
        for i in range(grid[0]):
            rows = i * block + np.arange(block, dtype=np.int64)[:, None]
            columns = j * block + np.arange(block, dtype=np.int64)[None, :]
            acc = np.zeros((block, block), np.float32)
            for start in range(0, k, block_k):
                ks = start + np.arange(block_k, dtype=np.int64)
                at, am = rows * k + ks[None, :], (rows < m) & (ks[None, :] < k)
                bt, bm = ks[:, None] * n + columns, (ks[:, None] < k) & (columns < n)
                ta, tb = _load(a, at, am), _load(b, bt, bm)
                acc += ta @ tb
                accesses.append(Access("load", "a_ptr", (i, j, 0), 12, at, am, ta, other=True))
                accesses.append(Access("load", "b_ptr", (i, j, 0), 13, bt, bm, tb, other=True))
            accesses.append(Access("store", "c_ptr", (i, j, 0), 16, rows * n + columns, (rows < m) & (columns < n), acc))
    args = (tensor("a_ptr", 0, a), tensor("b_ptr", 1, b), tensor("c_ptr", 2, np.zeros((m, n), np.float32), a @ b))
    return Launch("matmul_kernel", grid, args, accesses=tuple(accesses))


def atomic_histogram(n: int = 40, bins: int = 10, block: int = 16) -> Launch:
    """Scattered loads turned into atomic adds on few elements, and one scalar atomic."""
    x = np.random.default_rng(2).integers(0, bins, n).astype(np.int32)
    accesses = []
    for pid in range(-(-n // block)):
        offsets = pid * block + np.arange(block, dtype=np.int64)
        mask = offsets < n
        where = _load(x, offsets, mask)
        accesses.append(Access("load", "x_ptr", (pid, 0, 0), 5, offsets, mask, where))
        accesses.append(Access("atomic_add", "hist_ptr", (pid, 0, 0), 6, where.astype(np.int64), mask, np.zeros(block, np.int32)))
        accesses.append(Access("atomic_add", "done_ptr", (pid, 0, 0), 7, np.array(0, np.int64), np.array(True), np.array(pid, np.int32)))
    args = (tensor("x_ptr", 0, x), tensor("hist_ptr", 1, np.zeros(bins, np.int32)), tensor("done_ptr", 2, np.zeros(1, np.int32)))
    return Launch("histogram_kernel", (-(-n // block), 1, 1), args, accesses=tuple(accesses))
