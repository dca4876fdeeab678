"""Launches made by hand: the analyses need neither torch nor Triton."""

import numpy as np
import pytest

from tritonlab.trace.record import Access, Function, Launch, TensorArg


def three(program):
    program = (program,) if isinstance(program, int) else tuple(program)
    return program + (0,) * (3 - len(program))


def arg(name, shape, strides=None, dtype="float32", itemsize=4, **more):
    if strides is None:
        strides, step = [], 1
        for n in reversed(shape):
            strides.insert(0, step)
            step *= n
    return TensorArg(name, 0, dtype, itemsize, tuple(shape), tuple(strides), **more)


def access(kind, arg, program, offsets, mask=None, values=None, line=10, **more):
    offsets = np.asarray(offsets, dtype=np.int64)
    mask = np.ones(offsets.shape, dtype=bool) if mask is None else np.broadcast_to(np.asarray(mask, bool), offsets.shape).copy()
    values = None if values is None else np.asarray(values)
    return Access(kind, arg, three(program), line, offsets, mask, values, **more)


def launch(args, accesses, grid=(4, 1, 1), **more):
    return Launch("k", grid, tuple(args), accesses=tuple(accesses), **more)


def vector_add(n, block, drop_mask=False):
    """Two loads and a store for each of ceil(n / block) programs, as vector add makes them."""
    programs = -(-n // block)
    accesses = []
    for p in range(programs):
        offs = p * block + np.arange(block)
        mask = np.ones(block, bool) if drop_mask else offs < n
        accesses.append(access("load", "x_ptr", p, offs, mask, line=5))
        accesses.append(access("load", "y_ptr", p, offs, mask, line=6))
        accesses.append(access("store", "out_ptr", p, offs, mask, offs * 2.0, line=7))
    source = "@triton.jit\ndef k(x_ptr):\n    # offsets\n    x = tl.load(x_ptrs)\n    y = tl.load(y_ptrs)\n    tl.store(out_ptrs)\n"
    functions = {"k": Function("k", source, 2)}
    return launch([arg("x_ptr", (n,)), arg("y_ptr", (n,)), arg("out_ptr", (n,))], accesses, (programs, 1, 1), functions=functions)


class Handmade:
    arg = staticmethod(arg)
    access = staticmethod(access)
    launch = staticmethod(launch)
    vector_add = staticmethod(vector_add)


@pytest.fixture(scope="session")
def by_hand():
    return Handmade
