"""What Python would let pass in an interpreted kernel and a GPU's compiler does not, or takes otherwise: refused, with the way out."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl

from ..errors import UnsupportedError
from . import rewrite
from .memory import AddressSpace


def truth(self: Any) -> bool:
    """``bool(tensor)``: what ``and``, ``or``, ``not``, ``if`` and ``while`` ask."""
    data = self.handle.data
    if data.size == 1:
        return bool(data.reshape(-1)[0])
    frame = sys._getframe(1)
    source = rewrite.source_of(frame.f_code)
    if source is None or source.library:
        return True
    raise _truth_error(source, frame.f_lineno, tuple(data.shape))


def _truth_error(source: rewrite.Source, line: int, shape: tuple[int, ...]) -> UnsupportedError:
    statement = rewrite.statement_at(source, line)
    what, hint = "a block is used as one truth value", "use a mask: tl.where(mask, a, b), or tl.max(mask, axis=0) for a single value"
    if statement is not None:
        parts = list(rewrite.own_expressions(statement))
        operators = [n for n in parts if isinstance(n, ast.BoolOp)]
        if operators:
            word = "and" if isinstance(operators[0].op, ast.And) else "or"
            sign = "&" if word == "and" else "|"
            what = f"`{word}` between blocks: Python asks whether the whole block is true, and keeps only one side"
            hint = f"use `{sign}` with each comparison in parentheses: (a < m) {sign} (b < n)"
        elif any(isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.Not) for n in parts):
            what, hint = "`not` of a block: Python asks whether the whole block is true", "use `~mask`"
        elif any(isinstance(n, ast.Compare) and len(n.ops) > 1 for n in parts):
            what = "a chained comparison of a block (a <= x < b): Python joins its halves with `and`"
            hint = "write (a <= x) & (x < b)"
        elif isinstance(statement, (ast.If, ast.While)) or any(isinstance(n, ast.IfExp) for n in parts):
            word = "while" if isinstance(statement, ast.While) else "if"
            what = f"`{word}` on a block: its lanes may differ, but a program takes one path"
            hint = "compute both sides and choose lane by lane with tl.where(mask, a, b)"
    return UnsupportedError(f"{what} (block of shape {shape})", hint)


def one_integer(self: Any) -> int:
    """``int(tensor)`` and its use as an index or a bound."""
    data = self.handle.data
    if data.size != 1:
        raise UnsupportedError(
            f"a block of shape {tuple(data.shape)} is used where one integer is needed",
            "to convert its lanes: x.to(tl.int32), x.to(tl.float32); to make one value of them: tl.sum(x, axis=0), tl.max(x, axis=0)",
        )
    return int(data.reshape(-1)[0])


def checked_getitem(plain: Callable[..., Any]) -> Callable[..., Any]:
    """``block[...]`` with nothing but ``None`` and ``:``."""

    def getitem(self: Any, slices: Any, *args: Any, **kwargs: Any) -> Any:
        for part in slices if isinstance(slices, (tuple, list)) else [slices]:
            value = part.value if isinstance(part, tl.constexpr) else part
            if value is None or (isinstance(value, slice) and value == slice(None)):
                continue
            shown = "a slice" if isinstance(value, slice) else f"[{value!r}]" if isinstance(value, int) else "a block"
            raise UnsupportedError(
                f"indexing a block with {shown}: a block is spread over threads, so single elements cannot be picked",
                "load that element from memory, or tl.sum(tl.where(offs == i, x, 0), axis=0); only None and : may stand in x[...]",
            )
        return plain(self, slices, *args, **kwargs)

    return getitem


def check_bound(bound: Any) -> None:
    """Raise for a loop bound that is no single integer."""
    if bound.handle.data.size != 1:
        raise UnsupportedError(f"a bound of range is a block of shape {tuple(bound.shape)}", "a loop runs from one integer to another")
    if not bound.dtype.is_int():
        raise UnsupportedError(f"a bound of range is a {bound.dtype.name}, not an integer", "use tl.cdiv(n, BLOCK_SIZE), or // instead of /")


def check_static(bounds: list[Any]) -> None:
    """Raise for a bound of ``tl.static_range`` that is not known when the kernel is compiled."""
    for bound in bounds:
        if isinstance(bound, tl.tensor):
            raise UnsupportedError("a bound of tl.static_range is a value of the running program, and must be a constexpr", "use range(...), or pass the bound as a tl.constexpr")
        if not isinstance(bound, int):
            raise UnsupportedError(f"a bound of tl.static_range is {bound!r}, not an integer")


def static_assert(condition: Any, message: Any = "") -> None:
    """``tl.static_assert``."""
    condition, message = (v.value if isinstance(v, tl.constexpr) else v for v in (condition, message))
    if not condition:
        raise AssertionError(f"tl.static_assert failed{': ' if message else ''}{message}")


def kernel_assert(condition: Any, message: Any = None) -> None:
    """``assert`` in a kernel: of a block, that all its lanes hold."""
    data = condition.handle.data if isinstance(condition, tl.tensor) else np.asarray(bool(condition))
    if not data.all():
        lanes = f" in {int((data == 0).sum())} of {data.size} lanes" if data.size > 1 else ""
        raise AssertionError(f"assert failed{lanes}{': ' if message else ''}{message or ''}")


def refuse_try() -> None:
    """``try`` in a kernel, which could hide that it was stopped."""
    raise UnsupportedError("`try` in a kernel: no GPU catches exceptions, and Triton's compiler refuses it", "leave the try out; lanes that could go wrong are masked off, or chosen away with tl.where")


def check_seed(space: AddressSpace, seed: Any) -> None:
    """Raise when the seed of ``tl.rand`` and its kin is an address, or no integer."""
    if not isinstance(seed, tl.tensor):
        seed = seed.value if isinstance(seed, tl.constexpr) else seed
        if not isinstance(seed, int):
            raise UnsupportedError(f"the seed of tl.rand is {seed!r}, not an integer", "pass an int, or load it: seed = tl.load(seed_ptr)")
        return
    if seed.dtype.is_ptr() or space.holds(seed.handle.data):
        raise UnsupportedError("the seed of tl.rand is the address of a tensor, not the value that lies there", "load it: seed = tl.load(seed_ptr)")
    if not seed.dtype.is_int():
        raise UnsupportedError(f"the seed of tl.rand is a {seed.dtype.name}, not an integer", "pass an int, or load it: seed = tl.load(seed_ptr)")
