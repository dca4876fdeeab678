"""One interpreted launch: its arguments, its programs one after the other, and the guard around each access.

Programs run in the order in which a GPU starts them, axis 0 fastest.
"""

from __future__ import annotations

import gc
import sys
import time
import warnings
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter as ti
from triton.runtime import jit as tjit
from triton.tools.tensor_descriptor import TensorDescriptor

from ..errors import BudgetError, KernelError, KernelInterrupted, LaunchTypeError, OutOfBoundsError, TritonlabError, UnsupportedError
from ..trace.record import short
from . import language, numerics, rewrite
from .hints import hint_for
from .memory import AddressSpace, Fault, Span, Touch

TensorHandle = ti.TensorHandle


@dataclass(frozen=True)
class Limits:
    """How much an interpreted launch may take: programs, seconds, and printed lines."""

    programs: int = 10_000
    seconds: float = 60.0
    lines: int = 100


@dataclass(eq=False)
class Event:
    """An access as an observer sees it, after it happened. ``values`` is what the lanes got or stored."""

    kind: str
    touches: list[Touch]
    ptrs: np.ndarray
    mask: np.ndarray
    values: np.ndarray
    dtype: Any
    other: bool
    source: rewrite.Source | None
    line: int


class Observer(Protocol):
    """What watches launches (the tracer does)."""

    def begin(self, launch: "InterpretedLaunch") -> None: ...
    def program(self, launch: "InterpretedLaunch", program: tuple[int, int, int]) -> Any: ...
    def access(self, launch: "InterpretedLaunch", event: Event) -> None: ...
    def end(self, launch: "InterpretedLaunch", error: BaseException | None) -> None: ...


def where(depth: int = 1) -> tuple[rewrite.Source | None, int]:
    """The innermost learner's line that is running, skipping Triton's own jitted functions."""
    frame = sys._getframe(depth)
    while frame is not None:
        source = rewrite.source_of(frame.f_code)
        if source is not None and not source.library:
            return source, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None, 0


class InterpretedLaunch:
    """A launch being interpreted. ``jit`` is the kernel, ``bound`` its arguments by name (constexprs as they are)."""

    def __init__(self, jit: Any, grid: tuple[int, int, int], bound: dict[str, Any], options: dict[str, Any], limits: Limits, observers: list[Any]) -> None:
        self.jit = jit
        self.kernel: str = jit.fn.__name__
        self.grid = grid
        self.bound = bound
        self.options = options
        self.limits = limits
        self.observers = observers
        self.space = AddressSpace()
        self.space.find_foreign = self._find_foreign
        self.constexprs = {p.name for p in jit.params if p.is_constexpr}
        self.program: tuple[int, int, int] = (0, 0, 0)
        self.tensors: dict[str, Any] = {}
        self.copies: list[tuple[Any, Any]] = []
        self._functions: dict[int, Any] = {}
        self._storages: dict[int, tuple[int, Any]] = {}
        self._printed = 0
        self._deadline = float("inf")
        self.source = rewrite.compiled(jit)[1]

    # arguments

    def _host(self, tensor: torch.Tensor) -> tuple[torch.Tensor, int]:
        """The tensor on the host (itself, or a view of a copy of its storage) and its storage's number."""
        storage = tensor.untyped_storage()
        key = storage.data_ptr() if storage.nbytes() else id(storage)
        if key not in self._storages:
            host = storage
            if tensor.device.type != "cpu":
                host = storage.cpu()
                self.copies.append((storage, host))
            self._storages[key] = (len(self._storages), host)
        number, host = self._storages[key]
        if tensor.device.type == "cpu":
            return tensor, number
        view = torch.empty(0, dtype=tensor.dtype)
        view.set_(host, tensor.storage_offset(), tensor.size(), tensor.stride())
        return view, number

    def _pointer(self, name: str, value: Any) -> Any:
        base = value.base if isinstance(value, tjit.TensorWrapper) else value
        dtype = tl.str_to_ty(tjit.mangle_type(value), None)
        host, storage = self._host(base)
        itemsize = max(1, dtype.element_ty.primitive_bitwidth // 8)
        span = self.space.add(
            name=name, real=host.data_ptr(), itemsize=itemsize, dtype=_dtype_name(dtype.element_ty),
            shape=tuple(host.shape), strides=tuple(host.stride()), storage=storage,
            storage_offset=host.storage_offset(), storage_size=host.untyped_storage().nbytes() // itemsize, owner=host,
        )
        span.device, span.address = str(base.device), base.untyped_storage().data_ptr()
        self.tensors[name] = host
        return tl.tensor(TensorHandle(np.array([span.base], dtype=np.uint64), dtype), dtype)

    def _argument(self, name: str, value: Any) -> Any:
        if value is None or isinstance(value, (torch.dtype, tl.dtype, tl.constexpr)):
            return value.value if isinstance(value, tl.constexpr) else value
        if isinstance(value, (torch.Tensor, tjit.TensorWrapper)):
            return self._pointer(name, value)
        if isinstance(value, bool):
            return tl.tensor(TensorHandle(np.array([value]), tl.int1), tl.int1)
        if isinstance(value, int):
            return _integer(name, value)
        if isinstance(value, float):
            return tl.tensor(TensorHandle(np.array([value], dtype=np.float32), tl.float32), tl.float32)
        if isinstance(value, tuple):
            items = [self._argument(f"{name}[{i}]", v) for i, v in enumerate(value)]
            return type(value)(*items) if hasattr(value, "_fields") else tl.tuple(items) if hasattr(tl, "tuple") else tuple(items)
        if isinstance(value, TensorDescriptor):
            return self._descriptor(name, value)
        raise LaunchTypeError(*_wrong_kind(self.kernel, name, value))

    def _descriptor(self, name: str, value: Any) -> Any:
        strides = [_integer(name, int(s)) for s in value.strides]
        strides[-1] = tl.constexpr(1)
        made = ti.interpreter_semantic.make_tensor_descriptor(
            base=self._pointer(name, value.base), shape=[_integer(name, int(s)) for s in value.shape], strides=strides,
            block_shape=[tl.constexpr(b) for b in value.block_shape], padding_option=value.padding,
        )
        if hasattr(value, "round_f32_to_tf32") and hasattr(made.handle, "round_f32_to_tf32"):
            made.handle.round_f32_to_tf32 = value.round_f32_to_tf32
        return made

    def _find_foreign(self, address: int) -> dict[str, Any] | None:
        """A live CPU tensor whose storage holds a real address, for pointers that a kernel loads from memory."""
        for obj in gc.get_objects():
            if type(obj) in (torch.Tensor, torch.nn.Parameter) and obj.device.type == "cpu" and obj.layout is torch.strided:
                start = obj.untyped_storage().data_ptr()
                if start and start <= address < start + obj.untyped_storage().nbytes() and obj.data_ptr() <= address:
                    if address < obj.data_ptr() + max(obj.numel(), 1) * obj.element_size():
                        size = obj.element_size()
                        return dict(
                            real=obj.data_ptr(), itemsize=size, dtype=str(obj.dtype).removeprefix("torch."), shape=tuple(obj.shape),
                            strides=tuple(obj.stride()), storage=-1, storage_offset=obj.storage_offset(),
                            storage_size=obj.untyped_storage().nbytes() // size, owner=obj,
                        )
        return None

    # running

    def run(self) -> None:
        """Run every program of the grid. Errors name the learner's line; nothing stays patched."""
        for hook in self.jit.pre_run_hooks:
            hook(*self.bound.values())
        error: BaseException | None = None
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                with language.patched(show, printed):
                    arguments = {n: v if n in self.constexprs else self._argument(n, v) for n, v in self.bound.items()}
                    arguments = {n: v.value if isinstance(v, tl.constexpr) else v for n, v in arguments.items()}
                    for observer in self.observers:
                        observer.begin(self)
                    self._deadline = time.perf_counter() + self.limits.seconds
                    self._programs(arguments)
            for device, host in self.copies:
                device.copy_(host)
        except BaseException as e:
            error = e
            raise
        finally:
            for observer in self.observers:
                observer.end(self, error)

    def _programs(self, arguments: dict[str, Any]) -> None:
        builder = ti.interpreter_builder
        nx, ny, nz = self.grid
        builder.set_grid_dim(nx, ny, nz)
        fn = self.function(self.jit)
        try:
            for z in range(nz):
                for y in range(ny):
                    for x in range(nx):
                        self.program = (x, y, z)
                        builder.set_grid_idx(x, y, z)
                        self.tick()
                        watching = [w for w in (o.program(self, self.program) for o in self.observers) if w is not None]
                        if not watching:
                            fn(**arguments)
                        else:
                            _nested(watching, lambda: fn(**arguments))
        except (TritonlabError, KeyboardInterrupt, Exception) as e:
            raise self._located(e) from None

    def function(self, jit: Any) -> Any:
        """The callable of a kernel or device function, built once a launch."""
        built = self._functions.get(id(jit))
        if built is None:
            extra = language.names(printed)
            extra[rewrite.TICK] = self.tick
            built = self._functions[id(jit)] = rewrite.build(jit, extra)
        return built

    def tick(self) -> None:
        """Raise once the launch's time is used up. Called for each program, loop turn and access."""
        if time.perf_counter() > self._deadline and not _debugging():
            error = BudgetError(
                f"the launch ran longer than its {self.limits.seconds:g} s in the interpreter, and was stopped",
                "does the loop end? If it is only slow: launch fewer programs, or raise the limit, `with lab.limits(seconds=...):`",
            )
            error.budget = f"{self.limits.seconds:g} seconds"
            raise error

    def _located(self, e: BaseException) -> BaseException:
        """The exception with kernel, line and program; any other exception as a ``KernelError``."""
        source, line = _line_of(e)
        if isinstance(e, KernelError):
            error: KernelError = e
        elif isinstance(e, KeyboardInterrupt):
            error = KernelInterrupted("the launch was interrupted", original=e)
        elif isinstance(e, TritonlabError):
            return e
        else:
            original: BaseException = e
            while type(original).__name__ == "InterpreterError" and original.__cause__ is not None:
                original = original.__cause__
            message, hint = hint_for(original, source.text(line) if source else "")
            error = KernelError(message, hint, original=original)
        if error.kernel:
            return error
        source = source or self.source
        error.kernel, error.function, error.program, error.grid = self.kernel, source.name, self.program, self.grid
        error.line = line or self.source.first_line
        error.text = source.text(error.line).strip()
        error.excerpt = source.excerpt(error.line)
        return error.with_traceback(None)

    # the guard

    def check(self, kind: str, ptrs: np.ndarray, mask: np.ndarray, width: int) -> tuple[np.ndarray, list[Touch]]:
        """Real addresses of an access, or ``OutOfBoundsError`` with nothing touched."""
        self.tick()
        if ptrs.dtype != np.uint64:
            ptrs = ptrs.astype(np.uint64)
        if mask.shape != ptrs.shape:
            mask = np.broadcast_to(mask, ptrs.shape)
        found = self.space.resolve(ptrs, mask, width)
        if isinstance(found, Fault):
            raise out_of_bounds(kind, found, mask, width)
        return found

    def emit(self, kind: str, ptrs: np.ndarray, mask: np.ndarray, touches: list[Touch], values: np.ndarray, dtype: Any, other: bool) -> None:
        source, line = where(2)
        event = Event(kind, touches, ptrs, np.broadcast_to(mask, ptrs.shape), values, dtype, other, source, line)
        for observer in self.observers:
            observer.access(self, event)

    def say(self, text: str) -> None:
        """Print for the running program, up to the launch's limit of lines."""
        for line in text.split("\n"):
            self._printed += 1
            if self._printed <= self.limits.lines:
                print(f"[program {short(self.program)}] {line}")
            elif self._printed == self.limits.lines + 1:
                print(f"[{self.kernel}] more than {self.limits.lines} printed lines; the rest is left out (lab.limits(lines=...) raises this)")


def _nested(contexts: list[Any], body: Any) -> None:
    if not contexts:
        body()
        return
    with contexts[0]:
        _nested(contexts[1:], body)


def _debugging() -> bool:
    trace = sys.gettrace()
    return trace is not None and getattr(trace, "__self__", None).__class__.__name__ in ("Pdb", "PyDB", "ThreadTracer", "TerminalPdb")


def _line_of(e: BaseException) -> tuple[rewrite.Source | None, int]:
    found: tuple[rewrite.Source | None, int] = (None, 0)
    seen: set[int] = set()
    while e is not None and id(e) not in seen:
        seen.add(id(e))
        tb = e.__traceback__
        while tb is not None:
            source = rewrite.source_of(tb.tb_frame.f_code)
            if source is not None and not source.library:
                found = (source, tb.tb_lineno)
            tb = tb.tb_next
        e = e.__cause__  # type: ignore[assignment]
    return found


def _dtype_name(dtype: Any) -> str:
    names = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "int1": "bool"}
    return names.get(dtype.name, dtype.name)


def _integer(name: str, value: int) -> Any:
    if not -(2**63) <= value < 2**64:
        raise LaunchTypeError(f"argument {name} = {value} does not fit into 64 bits", "a kernel's integers are int32 or int64")
    dtype = tl.str_to_ty(tjit.mangle_type(value), None)
    np_type = np.int32 if -(2**31) <= value < 2**31 else np.int64 if value < 2**63 else np.uint64
    if np_type is np.int64 and dtype.primitive_bitwidth < 64:
        dtype = tl.int64
    return tl.tensor(TensorHandle(np.array([value], dtype=np_type), dtype), dtype)


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


# what a kernel prints


def show(value: Any) -> str:
    """A kernel's value as ``print`` shows it: plain values, and for pointers the argument and the offsets."""
    data = value.handle.data if hasattr(value.handle, "data") else None
    if data is None:
        return f"<{type(value).__name__}>"
    launch = state.launch
    scalar = not value.type.is_block() and data.size == 1
    if value.dtype.is_ptr() and launch is not None:
        name, offsets = launch.space.locate(np.asarray(data, dtype=np.uint64))
        return f"{name or 'no argument'} + {offsets.reshape(-1)[0] if scalar else offsets}"
    values = numerics.visible(data, value.dtype)
    return str(values.reshape(-1)[0] if scalar else values)


def printed(*values: Any, sep: str = " ", end: str = "\n", file: Any = None, flush: bool = False) -> None:
    """``print`` inside a kernel: prefixed with the program, and capped."""
    text = sep.join(show(v) if isinstance(v, tl.tensor) else str(v) for v in values)
    launch = state.launch
    if file is not None or launch is None:
        print(text, end=end, file=file, flush=flush)
    else:
        launch.say(text)


@dataclass(frozen=True)
class Fill:
    """What masked lanes of loads get instead of their ``other``, while ``masked_fill`` is active."""

    value: float
    lines: frozenset[int] | None
    unnamed_only: bool

    def applies(self, named: bool) -> bool:
        if self.unnamed_only and named:
            return False
        return self.lines is None or where(3)[1] in self.lines

    def block(self, like: np.ndarray, dtype: Any) -> np.ndarray:
        """A block of the fill in a load's dtype (integers clip, NaN is their largest)."""
        if numerics.is_bf16_type(dtype):
            return np.full(like.shape, numerics.round_bf16(np.float32([self.value]))[0], dtype=np.uint16)
        if like.dtype.kind in "iu":
            info = np.iinfo(like.dtype)
            value = info.max if self.value != self.value else int(min(max(self.value, info.min), info.max))
            return np.full(like.shape, value, dtype=like.dtype)
        return np.full(like.shape, self.value, dtype=like.dtype)


class _State:
    launch: InterpretedLaunch | None = None
    thread: int = 0
    fill: Fill | None = None


state = _State()


# out of bounds, in words


def out_of_bounds(kind: str, fault: Fault, mask: np.ndarray, width: int) -> OutOfBoundsError:
    """The error for an access that would leave its tensor."""
    span = fault.span
    lanes, bad = int(mask.size), int(fault.bad.sum())
    verb = {"load": "load from", "store": "store to"}.get(kind, f"{kind} on")
    lane_word = f"lane {fault.lane} of {lanes}"
    if span is None:
        error = OutOfBoundsError(
            f"{kind}: {lane_word} points at no tensor that this kernel was given ({bad} of {lanes} lanes)",
            "a pointer is an argument plus offsets, x_ptr + offs; numbers and sums of two pointers are not addresses",
        )
        offset, error.low, error.high = 0, 0, -1
        offsets = np.zeros(mask.shape, dtype=np.int64)
    else:
        offset, remainder = divmod(fault.rel, span.itemsize)
        offsets = fault.rels // span.itemsize
        valid = f"{span.name} holds offsets 0 … {span.extent - 1}" if span.extent else f"{span.name} is empty"
        if span.extent and not span.dense:
            steps = " + ".join(f"{s}·i{k}" for k, s in enumerate(span.strides)) or "0"
            valid += f" in steps of its strides ({steps}, shape {tuple(span.shape)})"
        worst = offsets[fault.bad]
        message = f"{verb} {span.name}: {lane_word} has offset {offset}"
        if remainder and bad:
            message += f" and {remainder} bytes, which is not the start of an element"
        message += f", but {valid}"
        if bad > 1:
            message += f". {bad} of {lanes} lanes are out of range (offsets {int(worst.min())} … {int(worst.max())})"
        inside = bool(span.in_allocation(np.array([fault.rel]))[0])
        if inside:
            message += ". The address lies inside the allocation that this view is a part of, so it is another tensor's memory"
        error = OutOfBoundsError(message, _way_out(kind, span, offset, offsets, mask, fault.bad, inside))
        error.inside_allocation = inside
        error.low, error.high = 0, span.extent - 1
        error.arg = span.name
    error.kind, error.lane, error.offset = kind, fault.lane, int(offset)
    error.lanes, error.lanes_bad = lanes, bad
    error.offsets, error.mask = offsets, mask.copy()
    return error


def _way_out(kind: str, span: Span, offset: int, offsets: np.ndarray, mask: np.ndarray, bad: np.ndarray, inside: bool) -> str:
    if span.extent == 0:
        return "launch nothing for an empty tensor, or mask every lane off: mask = offs < n"
    if offset < 0 and span.reaches(np.array([offset + (1 << 32)])).all():
        return "the offset ran past 2³¹ and wrapped round in int32: make it 64-bit before multiplying, pid.to(tl.int64) * stride"
    if offset < 0:
        return "an offset before the tensor's start: check the sign, and what is subtracted from the index"
    if 0 <= offset < span.extent:
        return f"this view has strides {tuple(span.strides)}: pass them to the kernel and multiply each index with its stride"
    masked = "" if mask.all() else " (the mask that was given leaves these lanes on)"
    function = "tl.store(..., mask=mask)" if kind == "store" else "tl.load(..., mask=mask, other=...)" if kind == "load" else f"tl.{kind}(..., mask=mask)"
    return f"the lanes past the end must be off{masked}: mask = offs < n, and {function}"


def refuse_nested() -> KernelError:
    return UnsupportedError("a kernel launched another kernel", "call a device function directly, helper(x), without [grid]")
