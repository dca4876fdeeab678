"""Ask a device function which tile each program computes: the function itself runs, for all programs at once."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import torch
import triton
import triton.language as tl

from .analysis.pids import PidOrder, whole
from .errors import KernelError
from .runtime import budget

__all__ = ["MOST", "pid_order"]

MOST = 1_048_576
"""Programs that one block can hold: ``tl.arange`` goes no further."""
SECONDS = 10.0
"""How long the function may take, unless ``lab.limits`` says otherwise; a million programs take about one."""


class _Returned(Exception):
    """What the function returned is no pair of whole numbers."""


class _Checked:
    """Called inside the asking kernels with what the function returned; hands on two whole numbers, or blocks of them."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, found: Any) -> tuple[Any, Any]:
        if not isinstance(found, (tuple, list, tl.tuple)) or len(found) != 2:
            what = f"{len(found)} values" if isinstance(found, (tuple, list, tl.tuple)) else _kind(found)
            raise _Returned(f"{self.name} returned {what}; it must return two whole numbers, pid_m and pid_n")
        for part, value in zip(("pid_m", "pid_n"), found):
            value = getattr(value, "value", value) if isinstance(value, tl.constexpr) else value
            integer = value.dtype.is_int() and not value.dtype.is_int1() if isinstance(value, tl.tensor) else type(value) is int
            if not integer:
                hint = "; / gives fractions, // whole numbers" if isinstance(value, tl.tensor) and value.dtype.is_floating() else ""
                raise _Returned(f"{self.name} returned {_kind(value)} for {part}; it must be a whole number{hint}")
            if isinstance(value, tl.tensor) and len(value.shape) > 1:
                raise _Returned(f"{self.name} returned a block of shape {_shape(value)} for {part}; it must have one number for each pid")
        return found[0], found[1]


def _kind(value: Any) -> str:
    """What a value is, in words for the learner."""
    if value is None or value is Ellipsis:
        return "nothing" if value is None else "..."
    if isinstance(value, tl.tensor):
        return f"one {value.dtype.scalar}" if not value.shape else f"a block of {value.dtype.scalar}"
    return repr(value)


def _shape(value: tl.tensor) -> tuple[int, ...]:
    return tuple(int(getattr(n, "value", n)) for n in value.shape)


@triton.jit
def _ask_kernel(m_ptr, n_ptr, num_pid_m, num_pid_n, FN: tl.constexpr, CHECKED: tl.constexpr, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.arange(0, BLOCK)
    pid_m, pid_n = CHECKED(FN(pid, num_pid_m, num_pid_n))
    tl.store(m_ptr + pid, pid_m, mask=pid < PROGRAMS)
    tl.store(n_ptr + pid, pid_n, mask=pid < PROGRAMS)


@triton.jit
def _ask_grouped_kernel(
    m_ptr, n_ptr, num_pid_m, num_pid_n, GROUP_M: tl.constexpr, FN: tl.constexpr, CHECKED: tl.constexpr, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    pid = tl.arange(0, BLOCK)
    pid_m, pid_n = CHECKED(FN(pid, num_pid_m, num_pid_n, GROUP_M))
    tl.store(m_ptr + pid, pid_m, mask=pid < PROGRAMS)
    tl.store(n_ptr + pid, pid_n, mask=pid < PROGRAMS)


def pid_order(fn: Any, num_pid_m: int, num_pid_n: int, GROUP_M: int | None = None) -> PidOrder:
    """The tile of each of num_pid_m × num_pid_n programs, computed by ``fn`` itself, interpreted, in one launch.

    fn: a ``@triton.jit`` function, ``fn(pid, num_pid_m, num_pid_n, GROUP_M) -> (pid_m, pid_n)``, such as
    ``tritonlab.kernels.grouped_matmul.grouped_pid``; it is given a block of all pids in place of one. GROUP_M is left
    out of the call when it is None.

    Returns a frozen ``PidOrder``, whatever the function does: tiles may be left out, taken twice, or lie outside.
    ``TypeError`` for what is no such function, takes other arguments, or returns no two whole numbers; ``ValueError`` for a
    function that asks ``tl.program_id`` itself, sizes below 1, and above 1,048,576 programs. An endless loop is
    stopped after 10 s.
    """
    if not isinstance(fn, triton.runtime.JITFunction):
        raise TypeError(f"fn is {_what(fn)}; pid_order takes a @triton.jit function (pid, num_pid_m, num_pid_n, GROUP_M) -> (pid_m, pid_n)")
    num_pid_m, num_pid_n = whole("num_pid_m", num_pid_m, 1), whole("num_pid_n", num_pid_n, 1)
    GROUP_M = None if GROUP_M is None else whole("GROUP_M", GROUP_M, 1, 2**31 - 1)
    given = ["pid", "num_pid_m", "num_pid_n"] + ([] if GROUP_M is None else ["GROUP_M"])
    try:
        inspect.signature(fn.fn).bind(*given)
    except TypeError:
        raise TypeError(f"{fn.__name__} takes {', '.join(fn.arg_names) or 'nothing'}; it is called with {', '.join(given)}") from None
    if any(isinstance(node, ast.Attribute) and node.attr == "program_id" for node in ast.walk(fn.parse())):
        raise ValueError(f"{fn.__name__} asks tl.program_id itself; pid_order hands it all pids at once, as its first argument")
    programs = num_pid_m * num_pid_n
    if programs > MOST:
        raise ValueError(f"num_pid_m × num_pid_n must be at most {MOST:,}; got {num_pid_m:,} × {num_pid_n:,} = {programs:,}")
    found = torch.zeros((2, programs), dtype=torch.int64)
    more = {"FN": fn, "CHECKED": _Checked(fn.__name__), "PROGRAMS": programs, "BLOCK": triton.next_power_of_2(programs)}
    try:
        set_by_hand = budget.current().seconds != budget.Limits().seconds
        with budget.limits(seconds=budget.current().seconds if set_by_hand else SECONDS):
            if GROUP_M is None:
                _ask_kernel[(1,)](*found, num_pid_m, num_pid_n, **more)
            else:
                _ask_grouped_kernel[(1,)](*found, num_pid_m, num_pid_n, GROUP_M=GROUP_M, **more)
    except KernelError as error:
        if isinstance(error.original, _Returned):
            raise TypeError(str(error.original)) from None
        raise
    return PidOrder(fn.__name__, num_pid_m, num_pid_n, *found.clamp(-(2**31), 2**31 - 1).numpy(), GROUP_M=GROUP_M)


def _what(fn: Any) -> str:
    return f"{fn.__name__}, a plain function" if callable(fn) and hasattr(fn, "__name__") else repr(fn)
