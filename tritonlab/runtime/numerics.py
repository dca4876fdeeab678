"""Arithmetic that Triton's interpreter gets wrong, done as a GPU does it or refused.

The interpreter keeps bfloat16 and float8 as raw integers, adds and multiplies those integers, and truncates
where a GPU rounds to nearest even. Here every bfloat16 operation widens to float32, computes, and
rounds once, which is what the hardware's result equals, and conversions are exact. Sums over a bfloat16 block
are refused: a GPU adds them in bfloat16 in an order of its own, so no answer here would be the right one.
So is arithmetic on float8, which GPUs do not have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter as ti

from ..errors import UnsupportedError

TensorHandle = ti.TensorHandle
_FP8 = ("fp8e4nv", "fp8e4b8", "fp8e4b15", "fp8e5", "fp8e5b16")
_TORCH_FP8 = {"fp8e4nv": torch.float8_e4m3fn, "fp8e4b8": torch.float8_e4m3fnuz, "fp8e5": torch.float8_e5m2, "fp8e5b16": torch.float8_e5m2fnuz}


# bit patterns


def round_bf16(values: np.ndarray) -> np.ndarray:
    """float32 values as bfloat16 bit patterns (uint16), rounded to nearest, ties to even; NaN stays NaN."""
    wide = np.ascontiguousarray(values, dtype=np.float32)
    bits = wide.view(np.uint32)
    rounded = ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)).astype(np.uint16)
    out = np.where(np.isnan(wide), np.uint16(0x7FC0) | (bits >> np.uint32(31)).astype(np.uint16) << np.uint16(15), rounded)
    return out.reshape(np.shape(values)).astype(np.uint16)


def widen(bits: np.ndarray, dtype: Any = tl.bfloat16) -> np.ndarray:
    """bfloat16 (uint16) or float8 (uint8) bit patterns as float32, exactly."""
    scalar = dtype.scalar
    if scalar == tl.bfloat16:
        return (np.asarray(bits).astype(np.uint32) << np.uint32(16)).view(np.float32)
    if scalar.name in _TORCH_FP8:
        data = torch.from_numpy(np.array(bits, dtype=np.uint8)).view(_TORCH_FP8[scalar.name])
        return data.to(torch.float32).numpy()
    return ti._convert_float(bits, scalar, tl.float16, None).view(np.float16).astype(np.float32)


def narrow(values: np.ndarray, dtype: Any) -> np.ndarray:
    """float32 values as bit patterns of bfloat16 or float8, rounded to nearest even; float8 saturates, as NVIDIA GPUs do."""
    scalar = dtype.scalar
    if scalar == tl.bfloat16:
        return round_bf16(values)
    if scalar.name in _TORCH_FP8:
        kind = _TORCH_FP8[scalar.name]
        top = torch.finfo(kind).max
        wide = torch.from_numpy(np.array(values, dtype=np.float32)).clamp(-top, top)
        return wide.to(kind).view(torch.uint8).numpy()
    return ti._convert_float(np.asarray(values, dtype=np.float32), tl.float32, scalar, ti._ir.ROUNDING_MODE.RTNE).view(np.uint8)


def is_bf16_type(dtype: Any) -> bool:
    return bool(dtype.scalar == tl.bfloat16)


def is_fp8_type(dtype: Any) -> bool:
    return dtype.scalar.name in _FP8


def is_small_float(dtype: Any) -> bool:
    """Whether the interpreter keeps this type as raw integers."""
    return is_bf16_type(dtype) or is_fp8_type(dtype)


def is_bf16(handle: Any) -> bool:
    return is_bf16_type(handle.dtype)


def _is_fp8(handle: Any) -> bool:
    return is_fp8_type(handle.dtype) and handle.data.dtype == np.uint8


def visible(data: np.ndarray, dtype: Any) -> np.ndarray:
    """A block's values as NumPy can show them: bfloat16 and float8 as float32, others as they are."""
    if (is_bf16_type(dtype) and data.dtype == np.uint16) or (is_fp8_type(dtype) and data.dtype == np.uint8):
        return widen(data, dtype)
    return data


def _values(handle: Any) -> np.ndarray:
    return widen(handle.data) if is_bf16(handle) and handle.data.dtype == np.uint16 else handle.data


def _bf16(values: np.ndarray) -> Any:
    return TensorHandle(round_bf16(values), tl.bfloat16)


# refusals


def refuse_fp8(*handles: Any) -> None:
    """Raise for arithmetic on float8 blocks."""
    for handle in handles:
        if _is_fp8(handle):
            raise UnsupportedError(
                f"arithmetic on a block of {handle.dtype.scalar}: no GPU computes in float8 outside of tl.dot",
                "cast first: x.to(tl.float32), compute, and cast the result back",
            )


def refuse_reduction(what: str, dtype: Any) -> None:
    """Raise for a sum, another reduction or a scan over bfloat16 or float8."""
    if is_fp8_type(dtype):
        raise UnsupportedError(f"{what} over a block of {dtype.scalar}: no GPU computes in float8", f"cast first: {what}(x.to(tl.float32), ...)")
    raise UnsupportedError(
        f"{what} over a bfloat16 block: a GPU computes in bfloat16 here, in an order of its own, and loses digits at every step",
        f"cast first: {what}(x.to(tl.float32), ...), and cast the result back if you must",
    )


# the builder's operations


def install(builder: Any) -> None:
    """Replace the operations of the interpreter's builder that are wrong for small floats, NaN or booleans."""
    plain_binary, plain_unary, plain_ternary = builder.binary_op, builder.unary_op, builder.ternary_op
    plain_dot, plain_fma, plain_convert = builder.create_dot, builder.create_fma, builder.create_fp_to_fp

    def binary_op(lhs: Any, rhs: Any, op: Callable[..., Any]) -> Any:
        if is_bf16(lhs) and lhs.data.dtype == np.uint16:
            out = op(_values(lhs), _values(rhs))
            return TensorHandle(out, tl.bfloat16) if out.dtype == np.bool_ else _bf16(out)
        refuse_fp8(lhs, rhs)
        if lhs.data.dtype == np.bool_ and rhs.data.dtype == np.bool_ and op in _ONE_BIT:
            op = _ONE_BIT[op]
        return plain_binary(lhs, rhs, op)

    def unary_op(arg: Any, op: Callable[..., Any]) -> Any:
        if is_bf16(arg) and arg.data.dtype == np.uint16:
            return _bf16(op(_values(arg)))
        refuse_fp8(arg)
        return plain_unary(arg, op)

    def ternary_op(lhs: Any, rhs: Any, other: Any, op: Callable[..., Any]) -> Any:
        if op is not np.where:
            refuse_fp8(lhs, rhs, other)
            if is_bf16(other):
                return _bf16(op(_values(lhs), _values(rhs), _values(other)))
        return plain_ternary(lhs, rhs, other, op)

    def create_clampf(arg: Any, lo: Any, hi: Any, propagate_nans: Any) -> Any:
        refuse_fp8(arg, lo, hi)
        low, high = (np.fmax, np.fmin) if propagate_nans == ti._ir.PROPAGATE_NAN.NONE else (np.maximum, np.minimum)
        if is_bf16(arg):
            return _bf16(high(low(_values(arg), _values(lo)), _values(hi)))
        return TensorHandle(high(low(arg.data, lo.data), hi.data).astype(arg.data.dtype), arg.dtype.scalar)

    def create_fma(x: Any, y: Any, z: Any) -> Any:
        refuse_fp8(x, y, z)
        if is_bf16(z):
            return _bf16((_values(x).astype(np.float64) * _values(y) + _values(z)).astype(np.float32))
        if z.data.dtype in (np.float32, np.float16) and x.data.dtype == y.data.dtype == z.data.dtype:
            wide = x.data.astype(np.float64) * y.data + z.data  # one rounding, but for rare ties
            return TensorHandle(wide.astype(z.data.dtype), z.dtype.scalar)
        return plain_fma(x, y, z)

    def cast_impl(src: Any, dst_type: Any) -> Any:
        # the handle of a comparison keeps its operands' dtype and holds booleans: only raw integers are widened
        target, data = dst_type.scalar, src.data
        if is_small_float(src.dtype) and data.dtype.kind == "u":
            if src.dtype.scalar == target:
                return src
            data = widen(data, src.dtype)
        if is_small_float(target):
            return TensorHandle(narrow(data.astype(np.float32), target), target)
        return TensorHandle(data.astype(ti._get_np_dtype(dst_type)), target)

    def create_fp_to_fp(src: Any, dst_type: Any, rounding: Any) -> Any:
        toward_zero = rounding is not None and rounding == ti._ir.ROUNDING_MODE.RTZ
        if toward_zero and is_fp8_type(dst_type):
            return plain_convert(src, dst_type, rounding)
        made = cast_impl(src, dst_type)
        if toward_zero:
            made = TensorHandle(_shrink(made.data, visible(made.data, made.dtype), visible(src.data, src.dtype)), made.dtype)
        return made

    def create_dot(a: Any, b: Any, d: Any, *rest: Any) -> Any:
        if is_small_float(a.dtype) or is_small_float(b.dtype):
            wide = np.matmul(visible(a.data, a.dtype).astype(np.float32), visible(b.data, b.dtype).astype(np.float32))
            return TensorHandle((wide + d.data).astype(d.data.dtype), d.dtype.scalar)
        return plain_dot(a, b, d, *rest)

    def get_bf16(value: float) -> Any:
        return _bf16(np.array([value], dtype=np.float32))

    def create_minnumf(lhs: Any, rhs: Any) -> Any:
        return binary_op(lhs, rhs, np.fmin)

    def create_maxnumf(lhs: Any, rhs: Any) -> Any:
        return binary_op(lhs, rhs, np.fmax)

    for name, function in locals().copy().items():
        if callable(function) and not name.startswith("plain_") and name != "builder":
            setattr(builder, name, function)

    ti._get_np_dtype = _quick_np_dtype(ti._get_np_dtype)
    plain_result = ti.ReduceScanOpInterface.to_tensor

    def wrapping(self: Any, ret: Any, dtype: Any) -> Any:
        if not getattr(ret, "shape", ()):  # NumPy refuses to narrow one number, and narrows arrays
            ret = np.array([ret]).astype(ti._get_np_dtype(dtype))
            return tl.core.tensor(TensorHandle(ret, dtype.scalar), dtype)
        return plain_result(self, ret, dtype)

    ti.ReduceScanOpInterface.to_tensor = wrapping


def _quick_np_dtype(plain: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Triton's look-up of a type's NumPy dtype, without building its table at every call (a tenth of a launch's time)."""
    scalars = [t for t in vars(tl).values() if isinstance(t, tl.dtype) and not isinstance(t, (tl.pointer_type, tl.block_type))]
    known: dict[str, Any] = {}
    for scalar in scalars:
        try:
            known[scalar.name] = plain(scalar)
        except KeyError:  # void, and types that the interpreter does not have
            continue
    address = np.dtype(np.uint64)

    def get_np_dtype(dtype: Any) -> Any:
        if isinstance(dtype, tl.block_type):
            dtype = dtype.element_ty
        if isinstance(dtype, tl.pointer_type):
            return address
        return known[dtype.name] if dtype.name in known else plain(dtype)

    return get_np_dtype


_ONE_BIT = {np.add: np.logical_xor, np.subtract: np.logical_xor, np.multiply: np.logical_and}
"""int1 wraps round as any integer does."""


def _shrink(bits: np.ndarray, rounded: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Bit patterns that rounding moved away from zero, one step back toward it. Also for floats of NumPy's own."""
    away = np.abs(rounded.astype(np.float64)) > np.abs(exact.astype(np.float64))
    raw = bits.view(f"u{bits.itemsize}")
    return np.where(away, raw - 1, raw).astype(raw.dtype).view(bits.dtype)
