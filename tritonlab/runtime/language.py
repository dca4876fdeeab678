"""``triton.language`` while a kernel is interpreted: applied for the length of a launch, then taken back.

Triton's own patch is computed once and kept as a list of attributes, so that applying it costs
little and restoring it is certain. On top of it come the things that the interpreter lets pass or
reports in riddles: the truth of a block, an element of a block, loops whose variable has no type.
"""

from __future__ import annotations

import ast
import sys
import types
from typing import Any, Callable, Iterator

import numpy as np
import triton.language as tl
from triton.runtime import interpreter as ti

from ..errors import UnsupportedError
from . import numerics, rewrite

_MISSING = object()
_changes: list[tuple[Any, str, Any, Any]] = []


def size_of(value: Any) -> int:
    return int(value.handle.data.size)


def _asked(frame: types.FrameType | None) -> rewrite.Source | None:
    return rewrite.source_of(frame.f_code) if frame is not None else None


def _truth(self: Any) -> bool:
    data = self.handle.data
    if data.size == 1:
        return bool(data.reshape(-1)[0])
    frame = sys._getframe(1)
    source = _asked(frame)
    if source is None or source.library:
        return True
    raise _truth_error(source, frame.f_lineno, tuple(data.shape))


def _truth_error(source: rewrite.Source, line: int, shape: tuple[int, ...]) -> UnsupportedError:
    statement = rewrite.statement_at(source, line)
    what, hint = "a block is used as one truth value", "use a mask: tl.where(mask, a, b), or tl.max(mask, axis=0) for a single value"
    if statement is not None:
        parts = [n for n in ast.walk(statement) if not (isinstance(n, ast.stmt) and n is not statement)]
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


def _index(self: Any) -> int:
    data = self.handle.data
    if data.size != 1:
        raise UnsupportedError(f"a block of shape {tuple(data.shape)} is used where one integer is needed")
    return int(data.reshape(-1)[0])


def _checked_getitem(plain: Callable[..., Any]) -> Callable[..., Any]:
    def getitem(self: Any, slices: Any, *args: Any, **kwargs: Any) -> Any:
        parts = slices if isinstance(slices, (tuple, list)) else [slices]
        for part in parts:
            value = getattr(part, "value", part)
            whole = isinstance(value, slice) and value == slice(None)
            if value is not None and not whole:
                shown = "a slice" if isinstance(value, slice) else f"[{value!r}]" if isinstance(value, int) else "a block"
                raise UnsupportedError(
                    f"indexing a block with {shown}: a block is spread over threads, so single elements cannot be picked",
                    "load that element from memory, or tl.sum(tl.where(offs == i, x, 0), axis=0); only None and : may stand in x[...]",
                )
        return plain(self, slices, *args, **kwargs)

    return getitem


def _tensor_range(*args: Any, **kwargs: Any) -> Iterator[Any]:
    """``range`` whose variable is a tensor, as in a compiled kernel (int64 if a bound is)."""
    bounds = [a for a in (*args, *(kwargs.get(k) for k in ("arg1", "arg2", "step"))) if a is not None]
    wide = any(isinstance(b, tl.tensor) and b.dtype in (tl.int64, tl.uint64) for b in bounds)
    numbers = [int(b.value if isinstance(b, tl.constexpr) else _index(b) if isinstance(b, tl.tensor) else b) for b in bounds]
    wide = wide or any(not -(2**31) <= n < 2**31 for n in numbers)
    np_type, tl_type = (np.int64, tl.int64) if wide else (np.int32, tl.int32)
    for i in range(*numbers):
        yield tl.tensor(ti.TensorHandle(np.array([i], dtype=np_type), tl_type), tl_type)


def _two_sided(name: str, builtin: Callable[..., Any]) -> Callable[..., Any]:
    function = "minimum" if name == "min" else "maximum"

    def pick(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 2 and any(isinstance(a, tl.tensor) for a in args):
            return getattr(tl, function)(*args)
        return builtin(*args, **kwargs)

    return pick


def _refusing_bf16(plain: Callable[..., Any], what: str) -> Callable[..., Any]:
    def reduce(input: Any, axis: Any, combine_fn: Any, *args: Any, **kwargs: Any) -> Any:
        blocks = input if isinstance(input, tuple) else (input,)
        if any(isinstance(b, tl.tensor) and b.dtype == tl.bfloat16 for b in blocks):
            name = getattr(getattr(combine_fn, "fn", combine_fn), "__name__", "")
            numerics.refuse_bf16_reduction({"_sum_combine": "tl.sum" if what == "tl.reduce" else "tl.cumsum"}.get(name, what))
        return plain(input, axis, combine_fn, *args, **kwargs)

    return reduce


def _collect(shown: Callable[[Any], str], printed: Callable[..., None]) -> None:
    def anchor() -> None: ...

    probe = types.FunctionType(anchor.__code__, {"tl": tl, "core": tl.core})
    before: dict[int, dict[str, Any]] = {}
    for obj in (tl, tl.core, tl.math, tl.tensor, tl.dtype, tl.core.tensor_descriptor_base):
        before[id(obj)] = dict(vars(obj))
    scope = ti._patch_lang(probe)
    seen: set[tuple[int, str]] = set()
    for obj, name, _ in scope._changes:
        if (id(obj), name) not in seen:
            seen.add((id(obj), name))
            _changes.append((obj, name, before[id(obj)].get(name, _MISSING), vars(obj)[name]))
    scope.restore()

    def override(obj: Any, name: str, make: Callable[[Any], Any]) -> None:
        for i, (o, n, original, new) in enumerate(_changes):
            if o is obj and n == name:
                _changes[i] = (o, n, original, make(new))
                return
        _changes.append((obj, name, before[id(obj)].get(name, _MISSING), make(getattr(obj, name, None))))

    _restore()
    override(tl.tensor, "__bool__", lambda _: _truth)
    override(tl.tensor, "__index__", lambda _: _index)
    override(tl.tensor, "__int__", lambda _: _index)
    override(tl.tensor, "__getitem__", _checked_getitem)
    override(tl.tensor, "__repr__", lambda _: shown)
    override(tl.tensor, "__str__", lambda _: shown)
    for module in (tl, tl.core):
        override(module, "range", lambda _: _tensor_range)
        override(module, "reduce", lambda plain: _refusing_bf16(plain, "tl.reduce"))
        override(module, "associative_scan", lambda plain: _refusing_bf16(plain, "tl.associative_scan"))
        override(module, "static_print", lambda _: printed)


def _restore() -> None:
    for obj, name, original, _ in reversed(_changes):
        if original is not _MISSING:
            setattr(obj, name, original)
        elif name in vars(obj):
            delattr(obj, name)


class patched:
    """``with patched(...)``: triton.language runs on the interpreter; afterwards every attribute is as before."""

    def __init__(self, shown: Callable[[Any], str], printed: Callable[..., None]) -> None:
        if not _changes:
            _collect(shown, printed)

    def __enter__(self) -> None:
        for obj, name, _, new in _changes:
            setattr(obj, name, new)

    def __exit__(self, *exc: Any) -> None:
        _restore()


def names(printed: Callable[..., None]) -> dict[str, Any]:
    """What a rewritten kernel sees beside its module's own names."""
    return {
        "print": printed,
        "range": _tensor_range,
        "min": _two_sided("min", min),
        "max": _two_sided("max", max),
        rewrite.TO_TENSOR: lambda value: ti.interpreter_semantic.to_tensor(value, False),
    }
