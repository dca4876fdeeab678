"""Ask a device function which tile each program computes: the function itself runs, for all programs at once."""

from __future__ import annotations

import operator
from typing import Any

import torch
import triton
import triton.language as tl

from .analysis.pids import PidOrder

__all__ = ["MOST", "pid_order"]

MOST = 1_048_576
"""Programs that one block can hold: ``tl.arange`` goes no further."""


@triton.jit
def _ask_kernel(m_ptr, n_ptr, num_pid_m, num_pid_n, FN: tl.constexpr, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.arange(0, BLOCK)
    pid_m, pid_n = FN(pid, num_pid_m, num_pid_n)
    tl.store(m_ptr + pid, pid_m, mask=pid < PROGRAMS)
    tl.store(n_ptr + pid, pid_n, mask=pid < PROGRAMS)


@triton.jit
def _ask_grouped_kernel(
    m_ptr, n_ptr, num_pid_m, num_pid_n, GROUP_M: tl.constexpr, FN: tl.constexpr, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    pid = tl.arange(0, BLOCK)
    pid_m, pid_n = FN(pid, num_pid_m, num_pid_n, GROUP_M)
    tl.store(m_ptr + pid, pid_m, mask=pid < PROGRAMS)
    tl.store(n_ptr + pid, pid_n, mask=pid < PROGRAMS)


def pid_order(fn: Any, num_pid_m: int, num_pid_n: int, GROUP_M: int | None = None) -> PidOrder:
    """The tile of each of num_pid_m × num_pid_n programs, computed by ``fn`` itself, interpreted, in one launch.

    fn: a ``@triton.jit`` function, ``fn(pid, num_pid_m, num_pid_n, GROUP_M) -> (pid_m, pid_n)``, such as
    ``tritonlab.kernels.grouped_matmul.grouped_pid``; it is given a block of all pids in place of one. GROUP_M is left
    out of the call when it is None.

    Returns a frozen ``PidOrder``, whatever the function does: tiles may be left out, taken twice, or lie outside.
    ``TypeError`` for what is no such function, ``ValueError`` for sizes below 1 and above 1,048,576 programs.
    """
    if not isinstance(fn, triton.runtime.JITFunction):
        raise TypeError(f"fn is {_what(fn)}; pid_order takes a @triton.jit function (pid, num_pid_m, num_pid_n, GROUP_M) -> (pid_m, pid_n)")
    sizes = {"num_pid_m": num_pid_m, "num_pid_n": num_pid_n} | ({} if GROUP_M is None else {"GROUP_M": GROUP_M})
    for name, value in sizes.items():
        if _whole(name, value) < 1:
            raise ValueError(f"{name} must be at least 1; got {value}")
    taken, given = len(fn.arg_names), 3 if GROUP_M is None else 4
    if taken != given:
        raise TypeError(f"{fn.__name__} takes {', '.join(fn.arg_names) or 'nothing'}; it is called with pid, {', '.join(['num_pid_m', 'num_pid_n', 'GROUP_M'][: given - 1])}")
    programs = num_pid_m * num_pid_n
    if programs > MOST:
        raise ValueError(f"num_pid_m × num_pid_n must be at most {MOST:,}; got {num_pid_m:,} × {num_pid_n:,} = {programs:,}")
    found = torch.zeros((2, programs), dtype=torch.int64)
    more = {"FN": fn, "PROGRAMS": programs, "BLOCK": triton.next_power_of_2(programs)}
    if GROUP_M is None:
        _ask_kernel[(1,)](*found, num_pid_m, num_pid_n, **more)
    else:
        _ask_grouped_kernel[(1,)](*found, num_pid_m, num_pid_n, GROUP_M=GROUP_M, **more)
    return PidOrder(fn.__name__, num_pid_m, num_pid_n, *found.clamp(-(2**31), 2**31 - 1).numpy(), GROUP_M=GROUP_M)


def _whole(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number; got {value!r}") from None


def _what(fn: Any) -> str:
    return f"{fn.__name__}, a plain function" if callable(fn) and hasattr(fn, "__name__") else repr(fn)
