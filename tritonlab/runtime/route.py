"""Which backend a launch takes.

CPU tensors are interpreted, CUDA tensors compiled. While something observes (``lab.trace``,
``check``), every launch is interpreted, CUDA tensors on host copies that are written back.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from triton.compiler.compiler import ASTSource
from triton.runtime import autotuner as ta
from triton.runtime import interpreter as ti
from triton.runtime import jit as tjit
from triton.tools.tensor_descriptor import TensorDescriptor

from ..errors import LaunchError, LaunchTypeError, UnsupportedError
from . import budget, checks, language, tuning
from .launch import InterpretedLaunch
from .state import COMPILES, compiling, forget_stale, interpreting, lock, state

_observers: list[tuple[Any, int]] = []
_capturing = threading.local()
_plain: dict[str, Any] = {}
_HOLDERS = (tuple, TensorDescriptor, tjit.TensorWrapper)


@contextmanager
def observe(observer: Any) -> Iterator[None]:
    """Interpret every launch in the block, and let an observer watch.

    Launches of other threads are watched too (a backward pass may launch from one), unless they observe for themselves.
    """
    mine = (observer, threading.get_ident())
    _observers.append(mine)
    try:
        yield
    finally:
        _observers[:] = [o for o in _observers if o is not mine]


def _watching() -> list[Any]:
    """The observers of a launch that starts now in this thread."""
    own = [o for o, thread in _observers if thread == threading.get_ident()]
    return own or [o for o, _ in _observers]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Captured:
    """A launch that was asked for and not run: the jitted function, its grid, every parameter's value by name, and
    the launch options (num_warps, ...). ``device`` is that of its tensors ("" without any)."""

    jit: Any
    grid: tuple[int, int, int]
    arguments: dict[str, Any]
    options: dict[str, Any]
    device: str = ""

    def __repr__(self) -> str:
        return f"<Captured {self.jit.fn.__name__}[{', '.join(map(str, self.grid))}]>"


@contextmanager
def capture() -> Iterator[list[Captured]]:
    """Run no launch of this thread in the block, but append each to the list that ``with ... as`` gives.

    Tensors may be on the CPU, on a GPU or on the meta device; what the kernels would have written stays as it was.
    """
    before = _captures()
    _capturing.launches = launches = []
    try:
        yield launches
    finally:
        _capturing.launches = before


def _captures() -> list[Captured] | None:
    return getattr(_capturing, "launches", None)


def install() -> None:
    """Route launches. Idempotent."""
    if _plain:
        return
    _plain.update(run=tjit.JITFunction.run, autotune=ta.Autotuner.run)
    tjit.JITFunction.run = _run
    tjit.JITFunction.__call__ = _call
    ta.Autotuner.run = _autotune
    ti.InterpretedFunction.run = _early
    for name in ("hash", "make_ir"):
        setattr(ASTSource, name, _undisturbed(getattr(ASTSource, name)))


def _undisturbed(plain: Any) -> Any:
    """A step of the compiler that no interpreted launch, of this thread or another, gets in the way of."""

    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        compiling.append(threading.get_ident())
        try:
            with lock, language.unpatched():
                return plain(self, *args, **kwargs)
        finally:
            compiling.pop()
            state.compiled = time.monotonic()

    return step


def _run(self: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
    if not _observers and state.launch is None and _captures() is None and _all_on_gpu(args, kwargs):
        return _plain["run"](self, *args, grid=grid, warmup=warmup, **kwargs)
    return _route(self, args, grid, warmup, kwargs)


def _all_on_gpu(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a launch is plainly one for the GPU. Short: every compiled launch pays for it."""
    found = False
    for values in (args, kwargs.values()) if kwargs else (args,):
        for value in values:
            if isinstance(value, torch.Tensor):
                if not value.is_cuda:
                    return False
                found = True
            elif isinstance(value, _HOLDERS):
                return False
    return found


def _route(self: Any, args: tuple[Any, ...], grid: Any, warmup: bool, kwargs: dict[str, Any]) -> Any:
    if interpreting() is not None:
        forget_stale()
        if interpreting() is not None:
            raise UnsupportedError("a kernel launched another kernel", "call a device function directly, helper(x), without [grid]")
    observers, captures = _watching(), _captures()
    devices = _devices(self, args, kwargs, meta=captures is not None)
    if captures is not None:
        arguments, options = checks.bound(self, args, kwargs)
        device = next((str(d) for d in devices.values()), "")
        captures.append(Captured(self, (1, 1, 1) if grid is None else checks.grid_of(self, grid, arguments), arguments, options, device))
        return None
    on_gpu = any(d.type == "cuda" for d in devices.values()) or (not devices and torch.cuda.is_available())
    if warmup and not on_gpu:
        raise LaunchError(
            f"{self.fn.__name__}.warmup(...) compiles for the GPU at hand, and there is none",
            "triton.compile(..., target=GPUTarget('cuda', 90, 32)) compiles for a GPU that is not here",
        )
    with lock:
        if on_gpu and (warmup or not observers):
            return _plain["run"](self, *args, grid=grid, warmup=warmup, **kwargs)
        _interpret(self, args, grid, kwargs, observers)
    if compiling or time.monotonic() - state.compiled < COMPILES:
        time.sleep(0.001)  # a loop of launches would take the interpreter's lock back before a compiling thread has it
    return None


def _interpret(jit: Any, args: tuple[Any, ...], grid: Any, kwargs: dict[str, Any], observers: list[Any]) -> None:
    arguments, options = checks.bound(jit, args, kwargs)
    shape = checks.grid_of(jit, grid, arguments)
    limit = budget.current()
    checks.check_budget(jit, shape, limit)
    for hook in jit.pre_run_hooks:
        hook(*args, **kwargs)
    running = InterpretedLaunch(jit, shape, arguments, options, limit, observers)
    before = (state.launch, state.thread)
    try:
        state.launch, state.thread = running, threading.get_ident()
        running.run()
    finally:
        state.launch, state.thread = before
        if language.applied():  # an interrupt came just as the launch began to put it back
            language.restore()


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    launch = interpreting()
    if launch is not None:
        return launch.function(self)(*args, **kwargs)
    name = self.fn.__name__
    raise LaunchTypeError(
        f"{name}(...) was called without a grid",
        f"launch it with one: {name}[(number_of_programs,)](...); only code inside a kernel calls a jitted function directly",
    )


def _early(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise LaunchError(
        f"{self.fn.__name__} was defined while TRITON_INTERPRET=1 was set and before tritonlab was imported",
        "import tritonlab first, then run the kernel's definition again; TRITON_INTERPRET is not needed",
    )


def _autotune(self: Any, *args: Any, **kwargs: Any) -> Any:
    captures = _captures()
    if len(self.configs) > 1:
        on_gpu = _all_on_gpu(args, kwargs) or _on_gpu(self, args, kwargs)
        if _observers or captures is not None or not on_gpu:
            return tuning.launch(self, args, kwargs, captures is None, on_gpu, _plain["autotune"])
    return _plain["autotune"](self, *args, **kwargs)


def _on_gpu(tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    jit = tuner.fn
    while not isinstance(jit, tjit.JITFunction):
        jit = jit.fn
    kinds = {t.device.type for _, t in _tensors(args, kwargs, jit)}
    return "cuda" in kinds or (not kinds and torch.cuda.is_available())


# devices


def _devices(jit: Any, args: tuple[Any, ...], kwargs: dict[str, Any], meta: bool) -> dict[str, torch.device]:
    """Each tensor argument's device, by name, when a kernel can run on them."""
    tensors = list(_tensors(args, kwargs, jit))
    devices = {name: t.device for name, t in tensors}
    kinds = {d.type for d in devices.values()}
    name = jit.fn.__name__
    possible = {"cpu", "cuda", "meta"} if meta else {"cpu", "cuda"}
    if not kinds <= possible:
        which, device = next((n, d) for n, d in devices.items() if d.type not in possible)
        raise LaunchError(f"argument {which} of {name} is on device {device}, where no kernel can run", "move it to the CPU or a GPU")
    if {"cpu", "cuda"} <= kinds and not all(t.is_pinned() for _, t in tensors if t.device.type == "cpu"):
        where = ", ".join(f"{n} is on {d}" for n, d in devices.items())
        raise LaunchError(f"{name} got tensors on the CPU and on a GPU: {where}", "move all of them to one device, x.to(y.device)")
    return devices


def _tensors(args: Any, kwargs: dict[str, Any], jit: Any) -> Iterator[tuple[str, torch.Tensor]]:
    names = list(jit.arg_names)
    for i, value in enumerate(args):
        yield from _tensors_in(names[i] if i < len(names) else f"argument {i}", value)
    for name, value in kwargs.items():
        yield from _tensors_in(name, value)


def _tensors_in(name: str, value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, (tjit.TensorWrapper, TensorDescriptor)):
        yield from _tensors_in(name, value.base)
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            yield from _tensors_in(f"{name}[{i}]", item)
