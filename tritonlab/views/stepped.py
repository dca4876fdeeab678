"""Launches with steps, made by hand as a tracer would record them: for samples, screenshots and tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..trace.record import Access, Function, Launch, Local, Program, Step, Trace
from .specimens import tensor

__all__ = ["refused", "row_sums", "vector_add"]

ADD = '''@triton.jit
def add(a, b):
    """Adds two blocks, lane by lane."""
    total = a + b
    return total
'''
VECTOR_ADD = '''@triton.jit
def vector_add_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements  # False past the end
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    total = add(x, y)
    tl.store(out_ptr + offs, total, mask=mask)
'''
ROW_SUMS = '''@triton.jit
def row_sums_kernel(x_ptr, out_ptr, n_rows, n_cols, stride_xm, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    pid = tl.program_id(axis=0)
    rows = pid * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N)
    x_ptrs = x_ptr + rows[:, None] * stride_xm + cols[None, :]
    acc = tl.zeros((BLOCK_M,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK_N):
        mask = (rows[:, None] < n_rows) & (start + cols[None, :] < n_cols)
        x = tl.load(x_ptrs, mask=mask, other=0.0)
        acc += tl.sum(x, axis=1)
        x_ptrs += BLOCK_N
    tl.store(out_ptr + rows, acc, mask=rows < n_rows)
'''


class Pointer:
    """Element offsets into an argument, as a local variable."""

    def __init__(self, arg: str, offsets: Any = 0) -> None:
        self.arg, self.offsets = arg, offsets


def _local(name: str, value: Any) -> Local:
    if isinstance(value, Pointer):
        shape = value.offsets.shape if isinstance(value.offsets, np.ndarray) else ()
        return Local(name, "pointer<float32>", shape, value.offsets, value.arg)
    if isinstance(value, np.ndarray):
        return Local(name, "int1" if value.dtype == bool else value.dtype.name, value.shape, value)
    if isinstance(value, np.generic):
        return Local(name, value.dtype.name, (), value.item())
    return Local(name, f"python {type(value).__name__}", (), value)


class Recorder:
    """Writes down the steps of one program while a test plays it in NumPy."""

    def __init__(self, program: Program, functions: dict[str, Function]) -> None:
        self.program, self.functions = program, functions
        self.frames: list[tuple[str, dict[str, Any], dict[str, Local]]] = []
        self.steps: list[Step] = []
        self.accesses: list[Access] = []

    def enter(self, function: str, **parameters: Any) -> None:
        self.frames.append((function, dict(parameters), {}))

    def leave(self) -> None:
        self.frames.pop()

    def line(self, number: int, *touches: tuple, **values: Any) -> None:
        """Line ``number`` of the current function ran, made ``touches`` (kind, arg, offsets, mask, values) and set ``values``."""
        function, names, seen = self.frames[-1]
        names.update(values)
        now = tuple(_local(name, value) for name, value in names.items())
        changed = tuple(v.name for v in now if seen.get(v.name) != v)
        seen.update({v.name: v for v in now})
        source = self.functions[function]
        first = len(self.accesses)
        for kind, arg, offsets, mask, got in touches:
            self.accesses.append(
                Access(kind, arg, self.program, number, np.asarray(offsets, np.int64), mask, got, function=function, step=len(self.steps))
            )
        text = source.source.splitlines()[number - source.first_line]
        depth = len(self.frames) - 1
        self.steps.append(
            Step(self.program, function, depth, number, text, now, changed, tuple(range(first, len(self.accesses))))
        )


def vector_add(n: int = 1000, block: int = 64, pid: int = 15, masked: bool = True) -> Launch:
    """The steps of one program of ``out = x + y`` through a device function. ``masked=False``: it ends at its first load."""
    source = VECTOR_ADD if masked else VECTOR_ADD.replace(", mask=mask", "").replace("    mask = offs < n_elements  # False past the end\n", "")
    functions = {"vector_add_kernel": Function("vector_add_kernel", source, 8), "add": Function("add", ADD, 1)}
    x, y = (np.arange(n) / 8).astype(np.float32), np.sin(np.arange(n)).astype(np.float32)
    run = Recorder((pid, 0, 0), functions)
    offs = (pid * block + np.arange(block)).astype(np.int32)
    mask = offs < n if masked else np.ones(block, bool)
    here = np.minimum(offs, n - 1)
    a, b = (np.where(mask, v[here], np.float32(0)) for v in (x, y))
    run.enter("vector_add_kernel", x_ptr=Pointer("x_ptr"), y_ptr=Pointer("y_ptr"), out_ptr=Pointer("out_ptr"), n_elements=np.int32(n), BLOCK_SIZE=block)
    run.line(10, pid=np.int32(pid))
    run.line(11, offs=offs)
    error = None
    if masked:
        run.line(12, mask=mask)
        run.line(13, ("load", "x_ptr", offs, mask, a), x=a)
        run.line(14, ("load", "y_ptr", offs, mask, b), y=b)
        run.enter("add", a=a, b=b)
        run.line(4, total=a + b)
        run.line(5)
        run.leave()
        run.line(15, total=a + b)
        run.line(16, ("store", "out_ptr", offs, mask, a + b))
    else:
        run.line(12)
        error = f"load from x_ptr: lane {n - pid * block} of {block} has offset {n}, but x_ptr holds offsets 0 … {n - 1}"
    args = (tensor("x_ptr", 0, x), tensor("y_ptr", 1, y), tensor("out_ptr", 2, np.zeros_like(x), x + y))
    return Launch(
        "vector_add_kernel", (-(-n // block), 1, 1), args, {"n_elements": n}, {"BLOCK_SIZE": block}, functions=functions,
        accesses=tuple(run.accesses), steps={run.program: tuple(run.steps)}, error=error,
    )  # fmt: skip


class Refusal(Exception):
    """What the guard says of an access that it refused, as far as a view asks."""

    def __init__(self, message: str, **place: Any) -> None:
        super().__init__(message)
        self.hint = "the lanes past the end must be off: mask = offs < n_elements"
        for name, value in place.items():
            setattr(self, name, value)


def refused(n: int = 1000, block: int = 64, pid: int = 15) -> Trace:
    """A trace that ended when the load of the last program ran past the end."""
    launch = vector_add(n, block, pid, masked=False)
    offsets = pid * block + np.arange(block, dtype=np.int64)
    place = {"kind": "load", "arg": "x_ptr", "program": (pid, 0, 0), "line": 12, "function": launch.kernel}
    error = Refusal(launch.error or "", offsets=offsets, mask=np.ones(block, bool), **place)
    return Trace((launch,), error=error)


def row_sums(rows: int = 10, cols: int = 40, block_m: int = 4, block_n: int = 16, pids: tuple[int, ...] = (0, 2)) -> Launch:
    """Sums of rows, ``block_m`` rows a program, in a loop over column tiles: 2-D blocks, pointers that move."""
    functions = {"row_sums_kernel": Function("row_sums_kernel", ROW_SUMS, 1)}
    x = np.random.default_rng(3).normal(size=(rows, cols)).astype(np.float32)
    steps, accesses = {}, []
    for pid in pids:
        run = Recorder((pid, 0, 0), functions)
        run.accesses = accesses
        r = (pid * block_m + np.arange(block_m)).astype(np.int32)
        c = np.arange(block_n, dtype=np.int32)
        at = r[:, None].astype(np.int64) * cols + c[None, :]
        acc = np.zeros(block_m, np.float32)
        run.enter(
            "row_sums_kernel", x_ptr=Pointer("x_ptr"), out_ptr=Pointer("out_ptr"), n_rows=np.int32(rows), n_cols=np.int32(cols),
            stride_xm=np.int32(cols), BLOCK_M=block_m, BLOCK_N=block_n,
        )  # fmt: skip
        run.line(3, pid=np.int32(pid))
        run.line(4, rows=r)
        run.line(5, cols=c)
        run.line(6, x_ptrs=Pointer("x_ptr", at))
        run.line(7, acc=acc)
        for start in range(0, cols, block_n):
            run.line(8, start=np.int32(start))
            mask = (r[:, None] < rows) & (start + c[None, :] < cols)
            run.line(9, mask=mask)
            got = np.where(mask, x.ravel()[np.where(mask, at, 0)], np.float32(0))
            run.line(10, ("load", "x_ptr", at, mask, got), x=got)
            acc = acc + got.sum(axis=1, dtype=np.float32)
            run.line(11, acc=acc)
            at = at + block_n
            run.line(12, x_ptrs=Pointer("x_ptr", at))
        run.line(8)
        run.line(13, ("store", "out_ptr", r, r < rows, acc))
        steps[run.program] = tuple(run.steps)
    args = (tensor("x_ptr", 0, x), tensor("out_ptr", 1, np.zeros(rows, np.float32), x.sum(axis=1)))
    return Launch(
        "row_sums_kernel", (-(-rows // block_m), 1, 1), args, {"n_rows": rows, "n_cols": cols, "stride_xm": cols},
        {"BLOCK_M": block_m, "BLOCK_N": block_n}, functions=functions, accesses=tuple(accesses), steps=steps,
    )  # fmt: skip
