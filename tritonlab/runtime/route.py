"""Which backend a launch takes, and what is checked before it.

CPU tensors are interpreted, CUDA tensors compiled. While something observes (``lab.trace``,
``check``), every launch is interpreted, CUDA tensors on host copies that are written back.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import sys
import threading
from contextlib import contextmanager
from typing import Any, Iterator

import torch
from triton.runtime import autotuner as ta
from triton.runtime import jit as tjit
from triton.tools.tensor_descriptor import TensorDescriptor

from ..errors import BudgetError, LaunchError, LaunchTypeError
from . import launch as _launch
from . import rewrite
from .launch import Fill, InterpretedLaunch, Limits, state

_lock = threading.RLock()
_limits = [Limits()]
_observers: list[Any] = []
_plain: dict[str, Any] = {}
_told: set[int] = set()
_capturing = threading.local()
_AXIS_LIMITS = (2**31 - 1, 65535, 65535)
_OPTIONS = {
    "num_warps", "num_stages", "num_ctas", "maxnreg", "cluster_dims", "debug", "extern_libs", "enable_fp_fusion", "launch_cooperative_grid",
    "launch_pdl", "sanitize_overflow", "arch", "ptx_version", "ptx_options", "ir_override", "instrumentation_mode", "stream", "device",
    "waves_per_eu", "matrix_instr_nonkdim", "kpack", "allow_flush_denorm", "num_buffers_warp_spec", "num_consumer_groups",
}


@contextmanager
def limits(programs: int | None = None, seconds: float | None = None, lines: int | None = None) -> Iterator[Limits]:
    """Change how much an interpreted launch may take, within a ``with`` block.

    programs: largest number of programs a launch may have (default 10,000); seconds: longest time of one
    launch in the interpreter (60 s); lines: how many printed lines it may show (100).
    """
    for name, value in (("programs", programs), ("seconds", seconds), ("lines", lines)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0):
            raise LaunchTypeError(f"limits({name}=...) takes a number of at least 0, got {value!r}")
    given = {k: v for k, v in (("programs", programs), ("seconds", seconds), ("lines", lines)) if v is not None}
    _limits.append(dataclasses.replace(_limits[-1], **given))
    try:
        yield _limits[-1]
    finally:
        _limits.pop()


@contextmanager
def observe(observer: Any) -> Iterator[None]:
    """Interpret every launch in the block, and let an observer watch."""
    with _lock:
        _observers.append(observer)
        try:
            yield
        finally:
            _observers.remove(observer)


@contextmanager
def masked_fill(value: float, lines: Any = None, unnamed_only: bool = False) -> Iterator[None]:
    """While active, masked lanes of interpreted loads get ``value`` instead of their ``other``.

    value: a number, cast to each load's dtype (integers clip; NaN becomes their largest).
    lines: source lines whose loads are meant (default: all). unnamed_only: only loads without ``other``.
    A correct kernel's result does not depend on it, except where it fills on purpose.
    """
    before = state.fill
    state.fill = Fill(float(value), None if lines is None else frozenset(lines), unnamed_only)
    try:
        yield
    finally:
        state.fill = before


@dataclasses.dataclass(frozen=True, eq=False)
class Captured:
    """A launch that was asked for and not run: the jitted function, its grid, every parameter's value by name, and
    the launch options (num_warps, ...). ``device`` is that of its tensors ("" without any)."""

    jit: Any
    grid: tuple[int, int, int]
    arguments: dict[str, Any]
    options: dict[str, Any]
    device: str = ""


@contextmanager
def capture() -> Iterator[list[Captured]]:
    """Run no launch of this thread in the block, but append each to the list that ``with ... as`` gives.

    Tensors may be on the CPU, on a GPU or on the meta device; what the kernels would have written stays as it was.
    """
    before = getattr(_capturing, "launches", None)
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
    _plain["run"], _plain["call"], _plain["autotune"] = tjit.JITFunction.run, tjit.JITFunction.__call__, ta.Autotuner.run
    tjit.JITFunction.run = _run
    tjit.JITFunction.__call__ = _call
    ta.Autotuner.run = _autotune


def _run(self: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
    tensors = list(_tensors(args, kwargs, self))
    devices = {name: t.device for name, t in tensors}
    kinds = {d.type for d in devices.values()}
    if state.launch is not None and _here():
        raise _launch.refuse_nested()
    captures = _captures()
    possible = ("cpu", "cuda") if captures is None else ("cpu", "cuda", "meta")
    if not kinds <= set(possible):
        name, device = next((n, d) for n, d in devices.items() if d.type not in possible)
        raise LaunchError(f"argument {name} of {self.fn.__name__} is on device {device}, where no kernel can run", "move it to the CPU or a GPU")
    if {"cpu", "cuda"} <= kinds:
        where = ", ".join(f"{n} is on {d}" for n, d in devices.items())
        raise LaunchError(f"{self.fn.__name__} got tensors on the CPU and on a GPU: {where}", "move all of them to one device, x.to(y.device)")
    if captures is not None:
        arguments, options = _bound(self, args, kwargs)
        device = next((str(d) for d in devices.values()), "")
        captures.append(Captured(self, (1, 1, 1) if grid is None else _grid(self, grid, arguments), arguments, options, device))
        return None
    interpreted = bool(_observers) or kinds == {"cpu"} or (not kinds and not torch.cuda.is_available())
    if warmup and interpreted and not _observers:
        raise LaunchError(
            f"{self.fn.__name__}.warmup(...) compiles for the GPU at hand, and there is none",
            "triton.compile(..., target=GPUTarget('cuda', 90, 32)) compiles for a GPU that is not here",
        )
    with _lock:
        if not interpreted:
            return _plain["run"](self, *args, grid=grid, warmup=warmup, **kwargs)
        _interpret(self, args, grid, kwargs)
    return None


def _here() -> bool:
    return state.thread == threading.get_ident()


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    if state.launch is not None and _here():
        return state.launch.function(self)(*args, **kwargs)
    name = self.fn.__name__
    raise LaunchTypeError(
        f"{name}(...) was called without a grid",
        f"launch it with one: {name}[(number_of_programs,)](...); only code inside a kernel calls a jitted function directly",
    )


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


def _bound(jit: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Every parameter's value by name, constexprs unwrapped, and the launch options, both checked."""
    name = jit.fn.__name__
    options = {k: v for k, v in kwargs.items() if k not in jit.arg_names}
    _check_options(jit, options)
    signature = inspect.signature(jit.fn)
    try:
        bound = signature.bind(*args, **{k: v for k, v in kwargs.items() if k in jit.arg_names})
    except TypeError as e:
        raise LaunchTypeError(f"{name}: {e}", f"its parameters are ({', '.join(jit.arg_names)})") from None
    bound.apply_defaults()
    arguments = dict(bound.arguments)
    for p in jit.params:
        value = arguments[p.name]
        if p.is_constexpr and isinstance(value, (torch.Tensor, tjit.TensorWrapper)):
            raise LaunchTypeError(f"{name}: {p.name} is a tl.constexpr, and got a tensor of shape {tuple(value.shape)}", "a constexpr is a plain value known before the launch; drop the annotation for a tensor")
        if hasattr(value, "value") and type(value).__name__ == "constexpr":
            arguments[p.name] = value.value
    return arguments, options


def _interpret(jit: Any, args: tuple[Any, ...], grid: Any, kwargs: dict[str, Any]) -> None:
    name = jit.fn.__name__
    arguments, options = _bound(jit, args, kwargs)
    shape = _grid(jit, grid, arguments)
    limit = _limits[-1]
    programs = shape[0] * shape[1] * shape[2]
    if programs > limit.programs:
        error = BudgetError(
            f"the grid {tuple(shape)} has {programs:,} programs, and the interpreter runs at most {limit.programs:,}",
            "use a smaller input or a larger block here, or raise the limit: with lab.limits(programs=...):",
        )
        source = rewrite.compiled(jit)[1]
        error.kernel, error.function, error.grid = name, name, shape
        error.line = source.first_line + next((i for i, t in enumerate(source.lines) if t.strip().startswith("def ")), 0)
        error.text, error.excerpt, error.budget = source.text(error.line).strip(), source.excerpt(error.line, 0), f"{limit.programs} programs"
        raise error
    running = InterpretedLaunch(jit, shape, arguments, options, limit, list(_observers))
    before = (state.launch, state.thread)
    state.launch, state.thread = running, threading.get_ident()
    try:
        running.run()
    finally:
        state.launch, state.thread = before


def _check_options(jit: Any, options: dict[str, Any]) -> None:
    name = jit.fn.__name__
    known = _OPTIONS | _backend_options()
    for key in options:
        if key not in known:
            close = difflib.get_close_matches(key, [*jit.arg_names, *sorted(known)], n=1, cutoff=0.6)
            meant = f"did you mean {close[0]}? " if close else ""
            raise LaunchTypeError(f"{name} has no parameter {key!r} (got {key}={options[key]!r})", f"{meant}its parameters are ({', '.join(jit.arg_names)})")
    warps = options.get("num_warps", 4)
    if isinstance(warps, bool) or not isinstance(warps, int) or warps < 1 or warps & (warps - 1) or warps > 32:
        raise LaunchError(f"num_warps={warps!r}: a program has 1, 2, 4, 8, 16 or 32 warps of 32 threads", "take one of these")
    stages = options.get("num_stages", 1)
    if isinstance(stages, bool) or not isinstance(stages, int) or stages < 0:
        raise LaunchError(f"num_stages={stages!r} is not a number of pipeline stages", "take 1 to 8")


def _backend_options() -> set[str]:
    try:
        from triton.backends.nvidia.compiler import CUDAOptions

        return {f.name for f in dataclasses.fields(CUDAOptions)}
    except Exception:  # the backend moved: the fixed list is enough
        return set()


def _grid(jit: Any, grid: Any, arguments: dict[str, Any]) -> tuple[int, int, int]:
    name = jit.fn.__name__
    if callable(grid):
        grid = grid(dict(arguments))
    if isinstance(grid, (torch.Size, list)):
        grid = tuple(grid)
    if not isinstance(grid, tuple):
        raise LaunchTypeError(f"the grid of {name} is {grid!r}, not a tuple", f"write {name}[(n,)](...): a tuple of one to three numbers of programs")
    if not 1 <= len(grid) <= 3:
        raise LaunchError(f"the grid of {name} has {len(grid)} axes: {grid!r}", "a grid has one, two or three axes; fold the others into one of them")
    for axis, n in enumerate(grid):
        if isinstance(n, bool) or not isinstance(n, int):
            hint = "use triton.cdiv(n, BLOCK_SIZE): it divides, rounds up, and gives an int" if isinstance(n, float) else "each axis is an int"
            raise LaunchTypeError(f"grid[{axis}] of {name} is {n!r}, a {type(n).__name__}", hint)
        if n < 0:
            raise LaunchError(f"grid[{axis}] of {name} is {n}", "a number of programs cannot be negative")
        if n > _AXIS_LIMITS[axis]:
            raise LaunchError(f"grid[{axis}] of {name} is {n:,}: a GPU takes at most {_AXIS_LIMITS[axis]:,} programs on axis {axis}", "put the long axis first, or fold both axes into one")
    return (*grid, *(1,) * (3 - len(grid)))  # type: ignore[return-value]


def _autotune(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Without a GPU nothing can be timed: the first config that pruning leaves is taken, and said so once."""
    if len(self.configs) == 1 or _compiled_devices(self, args, kwargs):
        return _plain["autotune"](self, *args, **kwargs)
    self.nargs = dict(zip(self.arg_names, args))
    try:
        configs = self.configs
        if self.early_config_prune:
            configs = self.early_config_prune(self.configs, self.nargs, **kwargs)
        config = next((c for c in configs if _usable(c)), None)
        if config is None:
            raise LaunchError(f"no config of {self.base_fn.__name__} is left to take: {len(self.configs)} given, {len(configs)} after pruning", "give at least one with a power-of-two num_warps")
        twice = kwargs.keys() & config.kwargs.keys()
        if twice:
            raise LaunchError(f"{', '.join(sorted(twice))} of {self.base_fn.__name__} comes from @triton.autotune and was passed at the launch too", "leave it out of the launch")
        if id(self) not in _told and _captures() is None:
            _told.add(id(self))
            print(f"[{self.base_fn.__name__}] not tuned: nothing can be timed in the interpreter, so the first config is taken ({config})", file=sys.stderr)
        self.best_config = config
        full = {**self.nargs, **kwargs, **config.all_kwargs()}
        if config.pre_hook is not None:
            config.pre_hook(full)
        if self.user_defined_pre_hook:
            self.pre_hook(full)
        elif _captures() is None:
            self.pre_hook(full, reset_only=True)
        return self.fn.run(*args, **kwargs, **config.all_kwargs())
    finally:
        self.nargs = None


def _usable(config: Any) -> bool:
    warps = getattr(config, "num_warps", 4)
    return isinstance(warps, int) and 1 <= warps <= 32 and not warps & (warps - 1)


def _compiled_devices(tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if _observers or _captures() is not None:
        return False
    jit = tuner.fn
    while not isinstance(jit, tjit.JITFunction):
        jit = jit.fn
    kinds = {t.device.type for _, t in _tensors(args, kwargs, jit)}
    return kinds == {"cuda"} or (not kinds and torch.cuda.is_available())
