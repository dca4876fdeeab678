"""The hooks on the interpreter's builder: every load, store and atomic passes here, and nothing else touches memory.

Outside of a launch of ours they do what Triton's own do.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter as ti

from ..errors import UnsupportedError
from . import filling, numerics, printing
from .memory import Touch
from .state import interpreting

TensorHandle = ti.TensorHandle
_raw = ti._interpreter


def _pointee(ptrs: Any) -> Any:
    """The type that a block of pointers points to (Triton's own look-up goes through pointers to pointers)."""
    return ptrs.dtype.scalar.element_ty


def _checked(kind: str, ptrs: np.ndarray, mask: Any, dtype: Any) -> tuple[Any, np.ndarray, np.ndarray, list[Touch]]:
    """(launch, mask, real addresses, spans touched) of an access that may happen, or an error with nothing touched."""
    on = mask if isinstance(mask, np.ndarray) else mask.data
    if on.dtype != np.bool_:
        raise UnsupportedError(f"the mask of this {kind} is a block of {on.dtype}, and a mask is a block of booleans", "compare: mask = m != 0")
    if on.shape != ptrs.shape:
        on = np.broadcast_to(on, ptrs.shape)
    launch = interpreting()
    if launch is None:
        return None, on, ptrs, []
    real, touches = launch.check(kind, ptrs, on, ti._get_np_dtype(dtype).itemsize)
    return launch, on, real, touches


def _as_stored(value: np.ndarray, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A value with exactly the bytes that an element has, and the pointers' shape: the raw store writes what it is given."""
    value = value.astype(ti._get_np_dtype(dtype), copy=False)
    return value if value.shape == shape else np.broadcast_to(value, shape)


def install(builder: Any) -> None:
    """Put the guard on the interpreter's builder, let ``tl.device_assert`` assert, and spare the checks for integer overflow that come to nothing."""
    builder.options = dataclasses.replace(builder.options, debug=True, sanitize_overflow=False)
    plain_rmw, plain_cas, plain_splat = builder.create_atomic_rmw, builder.create_atomic_cas, builder.create_splat

    def create_masked_load(ptrs: Any, mask: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        dtype = _pointee(ptrs)
        launch, on, real, touches = _checked("load", ptrs.data, mask, dtype)
        np_dtype = ti._get_np_dtype(dtype)
        fill = np.zeros(real.shape, dtype=np_dtype) if other is None else _as_stored(other.data, dtype, real.shape)
        wanted = filling.active()
        if wanted is not None and wanted.applies(other is not None):
            fill = wanted.block(fill, dtype)
        values = _raw.load(real, np.ascontiguousarray(on), fill, np_dtype)
        if launch is not None:
            if dtype.is_ptr():
                values = launch.space.adopt(values)
            if launch.observers:
                launch.emit("load", ptrs.data, on, touches, values, dtype, other is not None)
        return TensorHandle(values, dtype)

    def create_masked_store(ptrs: Any, value: Any, mask: Any, *args: Any, **kwargs: Any) -> Any:
        dtype = _pointee(ptrs)
        launch, on, real, touches = _checked("store", ptrs.data, mask, dtype)
        data = _as_stored(value.data, dtype, real.shape)
        result = _raw.store(real, data, np.ascontiguousarray(on))
        if launch is not None and launch.observers:
            launch.emit("store", ptrs.data, on, touches, data, dtype, False)
        return result

    def create_atomic_rmw(op: Any, ptr: Any, val: Any, mask: Any, *args: Any) -> Any:
        dtype = _pointee(ptr)
        name = str(op).rsplit(".", 1)[-1].lower()
        kind = f"atomic_{ {'fadd': 'add', 'umin': 'min', 'umax': 'max'}.get(name, name) }"
        _refuse_small(kind, dtype)
        launch, on, real, touches = _checked(kind, ptr.data, mask, dtype)
        value = _handle(val, dtype, real)
        if name == "xchg" and value.data.dtype.kind == "f":  # the raw exchange knows integers only
            value = TensorHandle(value.data.view(f"i{value.data.itemsize}"), tl.core.get_int_dtype(8 * value.data.itemsize, signed=True))
        old = plain_rmw(op, TensorHandle(real, ptr.dtype), value, TensorHandle(np.ascontiguousarray(on), tl.int1), *args).data
        return _after(launch, kind, ptr, on, touches, val, old.view(ti._get_np_dtype(dtype)), dtype)

    def create_atomic_cas(ptr: Any, cmp: Any, val: Any, *args: Any) -> Any:
        dtype = _pointee(ptr)
        _refuse_small("atomic_cas", dtype)
        launch, on, real, touches = _checked("atomic_cas", ptr.data, np.ones(ptr.data.shape, dtype=bool), dtype)
        result = plain_cas(TensorHandle(real, ptr.dtype), _handle(cmp, dtype, real), _handle(val, dtype, real), *args)
        return _after(launch, "atomic_cas", ptr, on, touches, val, result.data, dtype)

    def create_float_extreme(kind: str, ptr: Any, val: Any, mask: Any, sem: Any, scope: Any) -> Any:
        """``atomic_max`` or ``atomic_min`` of floats, as a GPU does it: on their bits, which are ordered for each sign."""
        dtype = _pointee(ptr)
        launch, on, real, touches = _checked(kind, ptr.data, mask, dtype)
        data = _handle(val, dtype, real).data
        ops = ti._ir.ATOMIC_OP
        old = np.zeros(real.shape, dtype=data.dtype)
        negative = np.signbit(data)
        positive_op, negative_op = (ops.MAX, ops.UMIN) if kind == "atomic_max" else (ops.MIN, ops.UMAX)
        for lanes, op, bits, tl_bits in ((~negative, positive_op, "i", tl.int32), (negative, negative_op, "u", tl.uint32)):
            if data.itemsize == 8:
                tl_bits = tl.int64 if bits == "i" else tl.uint64
            part = np.ascontiguousarray(on & lanes)
            values = TensorHandle(np.ascontiguousarray(data).view(f"{bits}{data.itemsize}"), tl_bits)
            got = plain_rmw(op, TensorHandle(real, tl.pointer_type(tl_bits)), values, TensorHandle(part, tl.int1), sem, scope)
            old = np.where(part, got.data.view(data.dtype), old)
        return _after(launch, kind, ptr, on, touches, val, old, dtype)

    def create_splat(*args: Any) -> Any:
        """A truth value spread over a block stays one: what a comparison gives carries the type of what was compared."""
        made = plain_splat(*args)
        truth = any(isinstance(a, TensorHandle) and a.data.dtype == np.bool_ for a in args)
        return TensorHandle(made.data.astype(np.bool_), tl.int1) if truth and made.data.dtype != np.bool_ else made

    def create_addptr(ptr: Any, offset: Any) -> Any:
        size = ti._get_np_dtype(_pointee(ptr)).itemsize
        return TensorHandle(ptr.data + np.uint64(size) * offset.data.astype(np.uint64), ptr.dtype)

    def create_int_to_ptr(src: Any, dst_type: Any) -> Any:
        addresses = src.data.astype(np.int64 if src.data.dtype.kind == "i" else np.uint64).view(np.uint64)
        launch = interpreting()
        return TensorHandle(addresses if launch is None else launch.space.adopt(addresses), dst_type.scalar)

    def create_print(prefix: str, hex: bool, values: Any, *args: Any) -> None:
        printing.device_print(prefix, hex, values)

    def create_assert(condition: Any, message: str, *args: Any) -> None:
        ok = np.asarray(condition.data)
        if not ok.all():
            lanes = f" in {int((ok == 0).sum())} of {ok.size} lanes" if ok.size > 1 else ""
            raise AssertionError(f"tl.device_assert failed{lanes}{': ' if message else ''}{message}")

    for name, function in locals().copy().items():
        if name.startswith("create_"):
            setattr(builder, name, function)


def _refuse_small(kind: str, dtype: Any) -> None:
    if numerics.is_small_float(dtype):
        raise UnsupportedError(f"{kind} on {dtype.scalar} is not exact in the interpreter", "accumulate in a float32 tensor")


def _handle(value: Any, dtype: Any, real: np.ndarray) -> Any:
    return TensorHandle(np.ascontiguousarray(_as_stored(value.data, dtype, real.shape)), dtype)


def _after(launch: Any, kind: str, ptr: Any, on: np.ndarray, touches: list[Touch], val: Any, old: np.ndarray, dtype: Any) -> Any:
    """What an atomic gives back, 0 in masked lanes, once it has been told."""
    if launch is not None and launch.observers:
        launch.emit(kind, ptr.data, on, touches, _as_stored(val.data, dtype, ptr.data.shape), dtype, False)
    return TensorHandle(np.where(on, old, np.zeros(1, dtype=old.dtype)), dtype)
