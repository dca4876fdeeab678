"""torch.compile, fresh for every case, so that no case pays for another's shapes."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable

import torch

__all__ = ["COMPILE", "fresh_compile"]

COMPILE = {"dynamic": False, "mode": "max-autotune-no-cudagraphs"}
_number = itertools.count()


def fresh_compile(fn: Callable, **options: object) -> Callable:
    """``torch.compile(fn)`` that shares nothing with other calls of this function.

    Dynamo keeps what it compiled with a function's code object, and gives up specializing one that has met many
    shapes; so ``fn`` is called from a function of its own, with its own code object.
    """

    def call(*args):
        return fn(*args)

    code = call.__code__.replace(co_name=f"compiled_{next(_number)}")
    own = types.FunctionType(code, call.__globals__, code.co_name, None, call.__closure__)
    return torch.compile(own, **(options or COMPILE))
