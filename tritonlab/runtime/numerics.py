"""Arithmetic that Triton's interpreter gets wrong, done as a GPU does it or refused.

The interpreter keeps bfloat16 as raw 16-bit integers, adds and multiplies those integers, and truncates
where a GPU rounds to nearest even. Here every bfloat16 operation widens to float32, computes, and
rounds once, which is what the hardware's result equals. Sums over a bfloat16 block are refused: a GPU
adds them in bfloat16 in an order of its own, so no answer here would be the right one.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import triton.language as tl
from triton.runtime import interpreter as ti

from ..errors import UnsupportedError

TensorHandle = ti.TensorHandle
_FP8 = ("fp8e4nv", "fp8e4b8", "fp8e4b15", "fp8e5", "fp8e5b16")


def widen(bits: np.ndarray) -> np.ndarray:
    """bfloat16 bit patterns (uint16) as float32, exactly."""
    return (np.asarray(bits).astype(np.uint32) << np.uint32(16)).view(np.float32)


def round_bf16(values: np.ndarray) -> np.ndarray:
    """float32 values as bfloat16 bit patterns (uint16), rounded to nearest, ties to even; NaN stays NaN."""
    wide = np.ascontiguousarray(values, dtype=np.float32)
    bits = wide.view(np.uint32)
    rounded = ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)).astype(np.uint16)
    out = np.where(np.isnan(wide), np.uint16(0x7FC0) | (bits >> np.uint32(31)).astype(np.uint16) << np.uint16(15), rounded)
    return out.reshape(np.shape(values)).astype(np.uint16)


def is_bf16(handle: Any) -> bool:
    return is_bf16_type(handle.dtype)


def is_bf16_type(dtype: Any) -> bool:
    return bool(dtype.scalar == tl.bfloat16)


def _is_fp8(handle: Any) -> bool:
    return handle.dtype.scalar.name in _FP8


def visible(data: np.ndarray, dtype: Any) -> np.ndarray:
    """A block's values as NumPy can show them: bfloat16 and float8 as float32, others as they are."""
    scalar = dtype.scalar
    if data.dtype == np.uint16 and scalar == tl.bfloat16:
        return widen(data)
    if scalar.name in _FP8 and data.dtype == np.uint8:
        return ti._convert_float(data, scalar, tl.float16, None).view(np.float16).astype(np.float32)
    return data


def _values(handle: Any) -> np.ndarray:
    if is_bf16(handle) and handle.data.dtype == np.uint16:
        return widen(handle.data)
    return handle.data


def _refuse_fp8(*handles: Any) -> None:
    for handle in handles:
        if _is_fp8(handle):
            raise UnsupportedError(
                f"arithmetic on {handle.dtype.scalar} blocks cannot be done exactly in the interpreter",
                "cast first: x.to(tl.float32), compute, and cast the result back",
            )


def refuse_bf16_reduction(what: str) -> None:
    """Raise for a sum or scan over bfloat16."""
    raise UnsupportedError(
        f"{what} over a bfloat16 block: a GPU adds in bfloat16 here, in an order of its own, and loses digits with every addition",
        f"cast first: {what}(x.to(tl.float32), ...), and cast the result back if you must",
    )


def install(builder: Any) -> None:
    """Replace the operations of the interpreter's builder that are wrong for bfloat16."""
    plain_binary, plain_unary, plain_ternary = builder.binary_op, builder.unary_op, builder.ternary_op
    plain_cast, plain_dot, plain_fma, plain_clamp = builder.cast_impl, builder.create_dot, builder.create_fma, builder.create_clampf

    def binary_op(lhs: Any, rhs: Any, op: Callable[..., Any]) -> Any:
        if is_bf16(lhs) and lhs.data.dtype == np.uint16:
            out = op(_values(lhs), _values(rhs))
            return TensorHandle(out if out.dtype == np.bool_ else round_bf16(out), tl.bfloat16)
        if _is_fp8(lhs):
            _refuse_fp8(lhs, rhs)
        return plain_binary(lhs, rhs, op)

    def unary_op(arg: Any, op: Callable[..., Any]) -> Any:
        if is_bf16(arg):
            return TensorHandle(round_bf16(op(_values(arg))), tl.bfloat16)
        _refuse_fp8(arg)
        return plain_unary(arg, op)

    def ternary_op(lhs: Any, rhs: Any, other: Any, op: Callable[..., Any]) -> Any:
        if is_bf16(other) and op is not np.where:
            return TensorHandle(round_bf16(op(_values(lhs), _values(rhs), _values(other))), tl.bfloat16)
        return plain_ternary(lhs, rhs, other, op)

    def create_clampf(arg: Any, lo: Any, hi: Any, propagate_nans: Any) -> Any:
        if is_bf16(arg):
            return TensorHandle(round_bf16(np.clip(_values(arg), _values(lo), _values(hi))), tl.bfloat16)
        return plain_clamp(arg, lo, hi, propagate_nans)

    def create_fma(x: Any, y: Any, z: Any) -> Any:
        if is_bf16(z):
            wide = _values(x).astype(np.float64) * _values(y) + _values(z)
            return TensorHandle(round_bf16(wide.astype(np.float32)), tl.bfloat16)
        return plain_fma(x, y, z)

    def cast_impl(src: Any, dst_type: Any) -> Any:
        source, target = src.dtype.scalar, dst_type.scalar
        if source == tl.bfloat16 and target == tl.bfloat16:
            return src
        if source == tl.bfloat16:
            return TensorHandle(widen(src.data).astype(ti._get_np_dtype(dst_type)), target)
        if target == tl.bfloat16:
            return TensorHandle(round_bf16(src.data.astype(np.float32)), target)
        return plain_cast(src, dst_type)

    def create_dot(a: Any, b: Any, d: Any, *rest: Any) -> Any:
        if is_bf16(a) or is_bf16(b):
            wide = np.matmul(_values(a).astype(np.float32), _values(b).astype(np.float32))
            return TensorHandle((wide + d.data).astype(d.data.dtype), d.dtype.scalar)
        return plain_dot(a, b, d, *rest)

    def get_bf16(value: float) -> Any:
        return TensorHandle(round_bf16(np.array([value], dtype=np.float32)), tl.bfloat16)

    for name, function in locals().copy().items():
        if callable(function) and not name.startswith("plain_") and name != "builder":
            setattr(builder, name, function)
