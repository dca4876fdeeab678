"""What a launch was given, as the interpreted kernel sees it: made-up pointers for tensors, typed scalars, descriptors, tuples.

A CUDA tensor is replaced by a view of a copy of its whole storage on the host, so that views which share
memory still share it; ``write_back`` copies it back.
"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter as ti
from triton.runtime import jit as tjit
from triton.tools.tensor_descriptor import TensorDescriptor

from ..errors import LaunchError, LaunchTypeError
from .memory import AddressSpace
from .numerics import round_bf16

TensorHandle = ti.TensorHandle


class Arguments:
    """The arguments of one launch. ``space`` holds the views that it may touch, ``tensors`` them by name (on the host)."""

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.space = AddressSpace(self._live)
        self.tensors: dict[str, torch.Tensor] = {}
        self._storages: dict[int, tuple[int, Any]] = {}
        self._copies: list[tuple[Any, Any]] = []
        self._alive: list[tuple[int, int, torch.Tensor]] | None = None

    def values(self, bound: dict[str, Any], params: list[Any]) -> dict[str, Any]:
        """Every parameter's value as the kernel gets it. Constexprs stay plain Python values."""
        made = {}
        for p in params:
            value = bound[p.name]
            made[p.name] = value if p.is_constexpr else self._value(p.name, value, p.annotation_type, p.is_const)
        return made

    def write_back(self) -> None:
        """Copy what the kernel wrote to the tensors that are not on the host."""
        for device, host in self._copies:
            device.copy_(host)

    def _value(self, name: str, value: Any, annotated: str = "", const: bool = False) -> Any:
        if value is None or isinstance(value, (torch.dtype, tl.dtype)):
            return value
        if isinstance(value, tl.constexpr):
            return value.value
        if isinstance(value, (torch.Tensor, tjit.TensorWrapper)):
            return self._pointer(name, value, annotated, const)
        if isinstance(value, (bool, int, float)):
            return self._number(name, value, annotated)
        if isinstance(value, tuple):
            items = [self._value(f"{name}[{i}]", v) for i, v in enumerate(value)]
            return type(value)(*items) if hasattr(value, "_fields") else tl.tuple(items)
        if isinstance(value, TensorDescriptor):
            return self._descriptor(name, value)
        if isinstance(value, tjit.JITFunction):
            return value
        raise LaunchTypeError(*_wrong_kind(self.kernel, name, value))

    # numbers

    def _number(self, name: str, value: bool | int | float, annotated: str) -> Any:
        if annotated.startswith("*") and isinstance(value, int):
            dtype = tl.str_to_ty(annotated, None)
            return tl.tensor(TensorHandle(self.space.adopt(np.array([value], dtype=np.uint64)), dtype), dtype)
        if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
            raise LaunchTypeError(f"argument {name} = {value} does not fit into 64 bits", "a kernel's integers are int32 or int64")
        dtype = tl.str_to_ty(annotated or tjit.mangle_type(value), None)
        np_type = ti._get_np_dtype(dtype)
        if dtype.is_int():
            if isinstance(value, float):
                raise LaunchTypeError(f"argument {name} = {value!r} is a float, and {self.kernel} declares it {dtype.name}", f"pass an int, or annotate {name} with a floating-point type")
            if not dtype.is_bool():
                low, high = np.iinfo(np_type).min, np.iinfo(np_type).max
                if not low <= value <= high:
                    raise LaunchTypeError(f"argument {name} = {value} does not fit into {dtype.name}, as which {self.kernel} declares it", f"annotate {name} with a wider type")
        data = round_bf16(np.float32([value])) if dtype == tl.bfloat16 else np.array([value]).astype(np_type)
        return tl.tensor(TensorHandle(data, dtype), dtype)

    def _integer(self, name: str, value: Any) -> Any:
        return self._number(name, int(value), "")

    # tensors

    def _pointer(self, name: str, value: Any, annotated: str = "", const: bool = False) -> Any:
        base = value.base if isinstance(value, tjit.TensorWrapper) else value
        try:
            text = annotated if annotated.startswith("*") else tjit.mangle_type(value)
        except KeyError:
            raise LaunchTypeError(f"argument {name} of {self.kernel} has dtype {value.dtype}, which Triton does not know", _cast_advice(name, base)) from None
        if const and not text.startswith("*k"):
            text = "*k" + text[1:]
        dtype = tl.str_to_ty(text, None)
        host, fields = self._view(name, base)
        span = self.space.add(name=name, dtype=_dtype_name(dtype.element_ty), **fields)
        self.tensors[name] = host
        return tl.tensor(TensorHandle(np.array([span.base], dtype=np.uint64), dtype), dtype)

    def _view(self, name: str, tensor: torch.Tensor) -> tuple[torch.Tensor, dict[str, Any]]:
        """The tensor on the host, and what a ``Span`` needs to know of it."""
        if tensor.layout is not torch.strided:
            raise LaunchError(f"argument {name} of {self.kernel} is a {tensor.layout} tensor, whose values do not lie at strides", f"pass {name}.to_dense(), or its parts")
        try:
            host, number = self._host(tensor)
        except (NotImplementedError, RuntimeError) as e:
            raise LaunchError(f"argument {name} of {self.kernel}, a {type(tensor).__name__}, has no memory that a kernel could read: {str(e).splitlines()[0]}", "pass an ordinary torch.Tensor") from None
        size = host.element_size()
        return host, dict(
            real=host.data_ptr(), origin=tensor.data_ptr(), itemsize=size, shape=tuple(host.shape), strides=tuple(host.stride()), storage=number,
            storage_offset=host.storage_offset(), storage_size=host.untyped_storage().nbytes() // size, owner=host,
            device=str(tensor.device), address=tensor.untyped_storage().data_ptr(),
        )

    def _host(self, tensor: torch.Tensor) -> tuple[torch.Tensor, int]:
        """The tensor itself, or a view of its storage's copy on the host, and the number of its storage."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        on_host = tensor.device.type == "cpu"
        if key not in self._storages:
            host = storage if on_host else storage.cpu()
            if not on_host:
                self._copies.append((storage, host))
            self._storages[key] = (len(self._storages), host)
        number, host = self._storages[key]
        if on_host:
            return tensor, number
        view = torch.empty(0, dtype=tensor.dtype)
        view.set_(host, tensor.storage_offset(), tensor.size(), tensor.stride())
        return view, number

    def _descriptor(self, name: str, value: TensorDescriptor) -> Any:
        strides: list[Any] = [self._integer(name, s) for s in value.strides]
        strides[-1] = tl.constexpr(1)
        try:
            made = ti.interpreter_semantic.make_tensor_descriptor(
                base=self._pointer(name, value.base), shape=[self._integer(name, s) for s in value.shape], strides=strides,
                block_shape=[tl.constexpr(b) for b in value.block_shape], padding_option=value.padding,
            )
        except (AssertionError, ValueError) as e:
            raise LaunchError(f"argument {name} of {self.kernel}: {e or 'a tensor descriptor that cannot be'}", "a descriptor's base and rows start at multiples of 16 bytes, and its last stride is 1") from None
        if hasattr(value, "round_f32_to_tf32") and hasattr(made.handle, "round_f32_to_tf32"):
            made.handle.round_f32_to_tf32 = value.round_f32_to_tf32
        return made

    # tensors that are not arguments

    def _live(self, addresses: np.ndarray) -> list[dict[str, Any]]:
        """Live tensors that hold real addresses: for each, one that starts there or else the one that reaches furthest."""
        if self._alive is None:
            self._alive = _tensors_alive()
        chosen: dict[int, torch.Tensor] = {}
        for address in map(int, addresses):
            holders = [(start == address, end, tensor) for start, end, tensor in self._alive if start <= address < end]
            if holders:
                tensor = max(holders, key=lambda h: h[:2])[2]
                chosen[id(tensor)] = tensor
        return [dict(dtype=str(t.dtype).removeprefix("torch."), **self._view("memory", t)[1]) for t in chosen.values()]


def _tensors_alive() -> list[tuple[int, int, torch.Tensor]]:
    """(first address, end, tensor) of every strided tensor that Python holds."""
    kinds, todo = {torch.Tensor}, [torch.Tensor]
    while todo:
        more = set(type.__subclasses__(todo.pop())) - kinds
        kinds |= more
        todo += more
    alive = []
    for tensor in [o for o in gc.get_objects() if type(o) in kinds]:
        try:
            if tensor.layout is torch.strided and tensor.device.type in ("cpu", "cuda") and tensor.numel():
                start = tensor.data_ptr()
                reach = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
                alive.append((start, start + reach * tensor.element_size(), tensor))
        except (RuntimeError, NotImplementedError, ReferenceError):  # a tensor without memory
            continue
    return alive


def _dtype_name(dtype: Any) -> str:
    names = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "int1": "bool"}
    return names.get(dtype.name, dtype.name)


def _cast_advice(name: str, tensor: torch.Tensor) -> str:
    return f"pass torch.view_as_real({name}), pairs of real and imaginary parts" if tensor.dtype.is_complex else f"convert it first: {name}.to(torch.float32)"


def _wrong_kind(kernel: str, name: str, value: Any) -> tuple[str, str]:
    kind = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
    message = f"argument {name} of {kernel} is a {kind}, which a kernel cannot take"
    if kind == "numpy.ndarray":
        return message, f"pass a tensor: torch.from_numpy({name})"
    if isinstance(value, np.generic):
        return message, f"pass a Python number: {name}.item()"
    if isinstance(value, list):
        return message, "pass a tuple, or a tensor made of the list: torch.tensor([...])"
    if isinstance(value, str):
        return message, f"only a constexpr can be a string: annotate the parameter, `{name}: tl.constexpr`"
    return message, "a kernel takes tensors, int, float, bool and None, and any constant for a parameter annotated tl.constexpr"
