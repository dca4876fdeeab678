"""From a captured launch to what Triton's compiler takes: signature, constants, attributes, options.

Triton's own code specialises the arguments (divisible by 16, equal to 1), so that the kernel is the one a launch
would compile. Only a pointer is stood in for: what counts is where a view begins in its allocation, as a GPU's
allocations are aligned and the CPU's may not be.
"""

from __future__ import annotations

import difflib
import hashlib
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
import triton
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton.runtime import jit as tjit
from triton.tools.tensor_descriptor import TensorDescriptor

from ..errors import LaunchError, LaunchTypeError
from ..runtime.checks import check_options
from ..runtime.route import Captured
from .limits import TARGETS
from .record import FunctionSource

__all__ = ["OPTIONS", "Request", "check_target", "functions_of", "key_of", "request", "sources"]

OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
"""The options that ``Compiled.options`` shows."""

_FORMAT = 1
"""Raised when what the cache holds for a request changes."""


@dataclass(frozen=True, eq=False)
class Request:
    """One kernel to compile. ``functions`` are the learner's, by the label under which the compiler knows their file."""

    jit: Any
    target: str
    grid: tuple[int, int, int]
    meta: dict[str, Any]
    options: dict[str, Any]
    signature: dict[str, str]
    source: Any
    parsed: Any
    functions: dict[str, Any]

    @property
    def kernel(self) -> str:
        return self.jit.fn.__name__


class _Pointer:
    """A tensor as far as specialisation looks at it: its dtype, and how far from a 16-byte boundary it begins."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.dtype = tensor.dtype
        self.offset = tensor.data_ptr() if tensor.is_cuda else tensor.storage_offset() * tensor.element_size()

    def data_ptr(self) -> int:
        return self.offset


def check_target(target: Any) -> int:
    """The architecture number of a target's name, 90 for "sm_90"; ``ValueError`` names those there are."""
    if not isinstance(target, str) or target not in TARGETS:
        close = difflib.get_close_matches(str(target), TARGETS, n=1, cutoff=0.5)
        raise ValueError(f"target is {target!r}; it can be {', '.join(TARGETS)}{f' (did you mean {close[0]}?)' if close else ''}")
    return int(target.removeprefix("sm_"))


def overridden(launch: Captured, override: dict[str, Any] | None) -> Captured:
    """The launch with some parameters or options changed. Errors name a key that the kernel does not have."""
    if not override:
        return launch
    name, params = launch.jit.fn.__name__, set(launch.jit.arg_names)
    arguments, options = dict(launch.arguments), dict(launch.options)
    for key, value in override.items():
        if key not in params:
            options[key] = value
        elif isinstance(arguments[key], (torch.Tensor, TensorDescriptor, tjit.TensorWrapper)):
            raise LaunchTypeError(
                f"override cannot change {key} of {name}: it is a tensor", "hand the kernel another tensor in the callable"
            )
        else:
            arguments[key] = value
    check_options(launch.jit, {k: v for k, v in options.items() if k not in launch.options or launch.options[k] is not v})
    return replace(launch, arguments=arguments, options=options)


def request(launch: Captured, target: str, override: dict[str, Any] | None = None) -> Request:
    """Specialise a launch for a target, as a launch there would."""
    arch = check_target(target)
    launch = overridden(launch, override)
    jit = launch.jit
    if jit.is_gluon():
        raise LaunchTypeError(f"{jit.fn.__name__} is a Gluon kernel, and only Triton kernels are compiled here")
    gpu = GPUTarget("cuda", arch, 32)
    backend = make_backend(gpu)
    binder = tjit.create_function_from_signature(jit.signature, jit.params, backend)
    extra = {"debug": bool(launch.options.get("debug", jit.debug)) or knobs.runtime.debug, "instrumentation_mode": ""}
    if hasattr(knobs.compilation, "fpsan_homomorphic_casts"):
        extra["fpsan_homomorphic_casts"] = knobs.compilation.fpsan_homomorphic_casts
    options = {**launch.options, **extra}
    arguments = {name: _plain(value) for name, value in launch.arguments.items()}
    bound, specialization, _ = binder(**arguments, **options)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")  # Triton 3.9 tells of a default of 3.10
            parsed, signature, constants, attributes = jit._pack_args(backend, dict(options), bound, specialization, options)
    except (ValueError, AssertionError, KeyError) as e:
        raise LaunchError(f"{jit.fn.__name__} cannot be launched on {target}: {str(e).strip(chr(39) + chr(34))}") from None
    refresh(jit)
    source = ASTSource(jit, signature, constants, attributes)
    functions = functions_of(jit, [v for v in launch.arguments.values() if isinstance(v, tjit.JITFunction)])
    constexprs = {p.name for p in jit.params if p.is_constexpr}
    shown = {}
    for name, (kind, attribute) in zip(jit.arg_names, specialization):
        if name not in constexprs:
            shown[name] = _shown(kind, attribute)
    return Request(
        jit=jit,
        target=target,
        grid=launch.grid,
        meta={name: _constant(launch.arguments[name]) for name in jit.arg_names if name in constexprs},
        options={name: getattr(parsed, name, None) for name in OPTIONS},
        signature=shown,
        source=source,
        parsed=parsed,
        functions=functions,
    )


def key_of(wanted: Request) -> str:
    """What decides the compiled code: source, arguments, options, target, Triton and its environment variables."""
    from triton._C.libtriton import get_cache_invalidating_env_vars

    environment = str(sorted(get_cache_invalidating_env_vars().items()))
    whole = "\n".join(
        (
            str(_FORMAT),
            triton.__version__,
            wanted.target,
            wanted.source.hash(),
            wanted.parsed.hash(),
            environment,
            *wanted.functions,
        )
    )
    return hashlib.sha256(whole.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """An argument with its tensors stood in for."""
    if isinstance(value, torch.Tensor):
        return _Pointer(value)
    if isinstance(value, tuple):
        items = [_plain(v) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def _shown(kind: Any, attribute: Any) -> str:
    if kind == "constexpr":
        return f"={attribute!r}"
    if isinstance(kind, (tuple, list)):
        return "(" + ", ".join(_shown(k, a) for k, a in zip(kind, attribute)) + ")"
    return f"{kind}:16" if isinstance(attribute, str) and "D" in attribute else str(kind)


def _constant(value: Any) -> Any:
    if isinstance(value, tjit.JITFunction):
        return value.fn.__name__
    return value if isinstance(value, (int, float, bool, str, type(None))) else str(value)


def functions_of(jit: Any, others: list[Any] = []) -> dict[str, Any]:
    """The kernel and the jitted functions of the learner that it can reach, by a name of their own each."""
    found: dict[str, Any] = {}
    waiting = [jit, *others]
    while waiting:
        function = waiting.pop(0)
        if function in found.values() or (function.fn.__module__ or "").split(".")[0] == "triton":
            continue
        name, n = function.fn.__name__, 2
        while name in found:
            name, n = f"{function.fn.__name__}_{n}", n + 1
        found[name] = function
        waiting += _called(function.fn)
    return found


def _called(fn: types.FunctionType) -> Iterator[Any]:
    """Jitted functions among the names that a function's code uses."""
    names = _names(fn.__code__)
    scope = dict(fn.__globals__)
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
        try:
            scope[name] = cell.cell_contents
        except ValueError:
            pass
    for name in (*names, *fn.__code__.co_freevars):
        value = scope.get(name)
        if isinstance(value, tjit.JITFunction):
            yield value
        elif isinstance(value, types.ModuleType) and not value.__name__.startswith(("triton", "torch")):
            yield from (v for n in names if isinstance(v := getattr(value, n, None), tjit.JITFunction))


def _names(code: types.CodeType) -> tuple[str, ...]:
    inner = [n for c in code.co_consts if isinstance(c, types.CodeType) for n in _names(c)]
    return (*code.co_names, *inner)


def refresh(jit: Any) -> None:
    """Forget the hash of a kernel whose global constants have changed since it was taken."""
    functions = functions_of(jit).values()
    for function in functions:
        used = getattr(function, "used_global_vals", {})
        if any(scope.get(name, _MISSING) != value for (name, _), (value, scope) in used.items()):
            for stale in functions:
                stale.hash = None
            return


_MISSING = object()


def sources(functions: dict[str, Any]) -> tuple[FunctionSource, ...]:
    """The text of functions, as in the learner's file or cell."""
    return tuple(FunctionSource(name, "".join(f.raw_src), f.starting_line_number) for name, f in functions.items())
