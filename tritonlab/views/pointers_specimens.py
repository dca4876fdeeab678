"""Launches of one small kernel with each of its pointer bugs, made by hand: for samples, screenshots and tests."""

from __future__ import annotations

import numpy as np

from ..trace.record import Access, Function, Launch, TensorArg, Trace
from .specimens import tensor
from .stepped import Pointer, Recorder, Refusal

__all__ = ["BUGS", "LAYOUTS", "batched", "row_sums"]

BUGS = ("right", "scaled twice", "start not scaled", "chunk added twice", "mask on arange")
LAYOUTS = ("contiguous", "transposed", "sliced", "broadcast")

SOURCE = '''@triton.jit
def row_sums_kernel(a_ptr, out_ptr, M, K, stride_am, stride_ak, BUG: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    pid_m = tl.program_id(axis=0)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    if BUG == "scaled twice":
        offs_m = pid_m * BLOCK_M * stride_am + tl.arange(0, BLOCK_M)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    if BUG == "start not scaled":
        a_ptrs = a_ptr + pid_m * BLOCK_M + tl.arange(0, BLOCK_M)[:, None] * stride_am + offs_k[None, :] * stride_ak
    rows = offs_m
    if BUG == "mask on arange":
        rows = tl.arange(0, BLOCK_M)
    acc = tl.zeros((BLOCK_M,), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (offs_k[None, :] < K - k), other=0.0)
        acc += tl.sum(a, axis=1)
        a_ptrs += BLOCK_K * stride_ak
        if BUG == "chunk added twice":
            a_ptrs += k * stride_ak
    out_rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    tl.store(out_ptr + out_rows, acc, mask=out_rows < M)
'''


def laid_out(layout: str, rows: int = 10, columns: int = 12) -> tuple[np.ndarray, TensorArg]:
    """The memory and a tensor of ``rows`` × ``columns`` in it, laid out as one of ``LAYOUTS``."""
    shape, strides, size = {
        "contiguous": ((rows, columns), (columns, 1), rows * columns),
        "transposed": ((rows, columns), (1, rows), rows * columns),
        "sliced": ((rows, columns), (columns + 6, 1), (rows - 1) * (columns + 6) + columns),
        "broadcast": ((rows, columns), (0, 1), columns),
    }[layout]
    memory = np.arange(size, dtype=np.float32)
    return memory, TensorArg("a_ptr", 0, "float32", 4, shape, strides, 0, 0, size)


def row_sums(bug: str = "right", layout: str = "contiguous", block: int = 4, steps: bool = True) -> Trace:
    """Sums of the rows of a tensor, ``block`` rows a program, ``block`` columns a step of its loop, with one of ``BUGS``.

    Like a trace with ``errors="keep"``, it ends at the first access out of range.
    """
    memory, a = laid_out(layout)
    (m, k_end), (sm, sk) = a.shape, a.strides
    functions = {"row_sums_kernel": Function("row_sums_kernel", SOURCE, 1)}
    every, accesses, error = {}, [], None
    lanes = np.arange(block, dtype=np.int32)
    valid = np.unique(a.offsets())
    for pid in range(-(-m // block)):
        run = Recorder((pid, 0, 0), functions)
        run.accesses = accesses
        run.enter(
            "row_sums_kernel", a_ptr=Pointer("a_ptr"), out_ptr=Pointer("out_ptr"), M=np.int32(m), K=np.int32(k_end),
            stride_am=np.int32(sm), stride_ak=np.int32(sk), BUG=bug, BLOCK_M=block, BLOCK_K=block,
        )  # fmt: skip
        run.line(3, pid_m=np.int32(pid))
        offs_m = (pid * block + lanes).astype(np.int32)
        run.line(4, offs_m=offs_m)
        run.line(5)
        if bug == "scaled twice":
            offs_m = (pid * block * sm + lanes).astype(np.int32)
            run.line(6, offs_m=offs_m)
        run.line(7, offs_k=lanes)
        at = offs_m[:, None].astype(np.int64) * sm + lanes[None, :] * sk
        run.line(8, a_ptrs=Pointer("a_ptr", at))
        run.line(9)
        if bug == "start not scaled":
            at = pid * block + lanes[:, None].astype(np.int64) * sm + lanes[None, :] * sk
            run.line(10, a_ptrs=Pointer("a_ptr", at))
        rows = offs_m
        run.line(11, rows=rows)
        run.line(12)
        if bug == "mask on arange":
            rows = lanes
            run.line(13, rows=rows)
        acc = np.zeros(block, np.float32)
        run.line(14, acc=acc)
        for k in range(0, k_end, block):
            run.line(15, k=np.int32(k))
            mask = (rows[:, None] < m) & (lanes[None, :] < k_end - k)
            bad = mask & ~np.isin(at, valid)
            if bad.any():
                run.line(16)
                error = _refusal(pid, at, mask, bad, a)
                break
            got = np.where(mask, memory[np.where(mask, at, 0)], np.float32(0))
            run.line(16, ("load", "a_ptr", at, mask, got), a=got)
            acc = acc + got.sum(axis=1, dtype=np.float32)
            run.line(17, acc=acc)
            at = at + block * sk
            run.line(18, a_ptrs=Pointer("a_ptr", at))
            run.line(19)
            if bug == "chunk added twice":
                at = at + k * sk
                run.line(20, a_ptrs=Pointer("a_ptr", at))
        every[run.program] = tuple(run.steps)
        if error is not None:
            break
        run.line(15)
        out_rows = (pid * block + lanes).astype(np.int32)
        run.line(21, out_rows=out_rows)
        run.line(22, ("store", "out_ptr", out_rows, out_rows < m, acc))
        every[run.program] = tuple(run.steps)
    launch = Launch(
        "row_sums_kernel", (-(-m // block), 1, 1), (a, tensor("out_ptr", 1, np.zeros(m, np.float32))),
        {"M": m, "K": k_end, "stride_am": sm, "stride_ak": sk}, {"BUG": bug, "BLOCK_M": block, "BLOCK_K": block}, functions=functions,
        accesses=tuple(accesses), steps=every if steps else {}, error=None if error is None else str(error),
    )  # fmt: skip
    return Trace((launch,), error=error)


def _refusal(pid: int, at: np.ndarray, mask: np.ndarray, bad: np.ndarray, a: TensorArg) -> Refusal:
    lane = int(np.flatnonzero(bad)[0])
    said = f"load from a_ptr: lane {lane} of {bad.size} has offset {int(at.flat[lane])}, but a_ptr holds offsets 0 … {a.extent - 1}"
    place = {"kind": "load", "arg": "a_ptr", "program": (pid, 0, 0), "line": 16, "function": "row_sums_kernel", "kernel": "row_sums_kernel"}
    return Refusal(said, offsets=at, mask=mask, **place)


def batched(batches: int = 3, rows: int = 6, columns: int = 8, block: int = 4) -> Launch:
    """A copy of a stack of matrices, one block of rows of one matrix a program, without steps."""
    x = np.arange(batches * rows * columns, dtype=np.float32).reshape(batches, rows, columns)
    accesses = []
    for b in range(batches):
        for i in range(-(-rows // block)):
            r = i * block + np.arange(block, dtype=np.int64)[:, None]
            at = b * rows * columns + r * columns + np.arange(columns)[None, :]
            mask = np.broadcast_to(r < rows, at.shape).copy()
            values = np.where(mask, x.ravel()[np.where(mask, at, 0)], np.float32(0))
            for kind, arg, line in (("load", "x_ptr", 5), ("store", "out_ptr", 6)):
                accesses.append(Access(kind, arg, (i, b, 0), line, at, mask, values))
    grid = (-(-rows // block), batches, 1)
    return Launch("copy_kernel", grid, (tensor("x_ptr", 0, x), tensor("out_ptr", 1, np.zeros_like(x), x)), accesses=tuple(accesses))
