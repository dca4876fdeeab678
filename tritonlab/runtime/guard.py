"""The hooks on the interpreter's builder: every load, store and atomic passes here, and nothing else touches memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter as ti

from ..errors import UnsupportedError
from . import numerics
from .launch import printed, show, state

TensorHandle = ti.TensorHandle
_raw = ti._interpreter


def _array(mask: Any) -> np.ndarray:
    return mask if isinstance(mask, np.ndarray) else mask.data


def _width(dtype: Any) -> int:
    return max(1, dtype.primitive_bitwidth // 8)


def install(builder: Any) -> None:
    """Put the guard on the interpreter's builder."""

    def create_masked_load(ptrs: Any, mask: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        dtype = ptrs.get_element_ty()
        np_dtype = ti._get_np_dtype(dtype)
        on = _array(mask)
        data = ptrs.data
        real, touches = state.launch.check("load", data, on, _width(dtype))
        fill = np.zeros_like(data, dtype=np_dtype) if other is None else other.data
        if state.fill is not None and state.fill.applies(other is not None):
            fill = state.fill.block(fill, dtype)
        values = _raw.load(real, np.ascontiguousarray(on), fill, np_dtype)
        if state.launch.observers:
            state.launch.emit("load", data, on, touches, values, dtype, other is not None)
        return TensorHandle(values, dtype)

    def create_masked_store(ptrs: Any, value: Any, mask: Any, *args: Any, **kwargs: Any) -> Any:
        dtype = ptrs.get_element_ty()
        on = _array(mask)
        real, touches = state.launch.check("store", ptrs.data, on, _width(dtype))
        result = _raw.store(real, value.data, np.ascontiguousarray(on))
        if state.launch.observers:
            state.launch.emit("store", ptrs.data, on, touches, value.data, dtype, False)
        return result

    plain_rmw, plain_cas = builder.create_atomic_rmw, builder.create_atomic_cas

    def create_atomic_rmw(op: Any, ptr: Any, val: Any, mask: Any, *args: Any) -> Any:
        dtype = ptr.get_element_ty()
        if numerics.is_bf16(val) or dtype == tl.bfloat16:
            raise UnsupportedError("an atomic on bfloat16 is not exact in the interpreter", "accumulate in a float32 tensor")
        kind = f"atomic_{str(op).rsplit('.', 1)[-1].lower()}".replace("fadd", "add").replace("umin", "min").replace("umax", "max")
        on = _array(mask)
        real, touches = state.launch.check(kind, ptr.data, on, _width(dtype))
        result = plain_rmw(op, TensorHandle(real, ptr.dtype), val, mask, *args)
        if state.launch.observers:
            state.launch.emit(kind, ptr.data, on, touches, val.data, dtype, False)
        return result

    def create_atomic_cas(ptr: Any, cmp: Any, val: Any, *args: Any) -> Any:
        dtype = ptr.get_element_ty()
        on = np.ones(ptr.data.shape, dtype=bool)
        real, touches = state.launch.check("atomic_cas", ptr.data, on, _width(dtype))
        result = plain_cas(TensorHandle(real, ptr.dtype), cmp, val, *args)
        if state.launch.observers:
            state.launch.emit("atomic_cas", ptr.data, on, touches, val.data, dtype, False)
        return result

    def create_print(prefix: str, hex: bool, values: Any, *args: Any) -> None:
        shown = [_hex(v.data) if hex else str(numerics.visible(v.data, v.dtype)) for v in values]
        printed(" ".join([prefix.strip(), *shown]).strip())

    def create_assert(condition: Any, message: str, *args: Any) -> None:
        ok = np.asarray(condition.data)
        if not ok.all():
            raise AssertionError(f"tl.device_assert failed in {int((~ok).sum())} of {ok.size} lanes: {message}")

    builder.create_masked_load = create_masked_load
    builder.create_masked_store = create_masked_store
    builder.create_atomic_rmw = create_atomic_rmw
    builder.create_atomic_cas = create_atomic_cas
    builder.create_print = create_print
    builder.create_assert = create_assert


def _hex(data: np.ndarray) -> str:
    return np.array2string(data, formatter={"all": lambda x: f"0x{int(x):02x}"})


__all__ = ["install", "show"]
