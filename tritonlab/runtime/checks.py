"""What is checked before a launch is interpreted: its arguments' names, its options, and its grid."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import operator
from typing import Any

import torch
from triton.runtime import jit as tjit

from ..errors import BudgetError, LaunchError, LaunchTypeError
from . import rewrite
from .launch import place
from .budget import Limits

_AXIS_LIMITS = (2**31 - 1, 65535, 65535)
_OPTIONS = {
    "num_warps", "num_stages", "num_ctas", "maxnreg", "cluster_dims", "debug", "extern_libs", "enable_fp_fusion", "launch_cooperative_grid",
    "launch_pdl", "sanitize_overflow", "arch", "ptx_version", "ptx_options", "ir_override", "instrumentation_mode", "stream", "device",
    "waves_per_eu", "matrix_instr_nonkdim", "kpack", "allow_flush_denorm", "num_buffers_warp_spec", "num_consumer_groups",
}


def bound(jit: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Every parameter's value by name, constexprs unwrapped, and the launch options, both checked."""
    name = jit.fn.__name__
    options = {k: v for k, v in kwargs.items() if k not in jit.arg_names}
    check_options(jit, options)
    try:
        matched = jit.signature.bind(*args, **{k: v for k, v in kwargs.items() if k in jit.arg_names})
    except TypeError as e:
        raise LaunchTypeError(f"{name}: {e}", f"its parameters are ({', '.join(jit.arg_names)})") from None
    matched.apply_defaults()
    arguments = dict(matched.arguments)
    for p in jit.params:
        value = arguments[p.name]
        if p.is_constexpr and isinstance(value, (torch.Tensor, tjit.TensorWrapper)):
            raise LaunchTypeError(f"{name}: {p.name} is a tl.constexpr, and got a tensor of shape {tuple(value.shape)}", "a constexpr is a plain value known before the launch; drop the annotation for a tensor")
        if hasattr(value, "value") and type(value).__name__ == "constexpr":
            arguments[p.name] = value.value
    return arguments, options


def check_options(jit: Any, options: dict[str, Any]) -> None:
    name = jit.fn.__name__
    for key in options:
        if key not in _OPTIONS and key not in _backend_options():
            close = difflib.get_close_matches(key, [*jit.arg_names, *sorted(_OPTIONS)], n=1, cutoff=0.6)
            meant = f"did you mean {close[0]}? " if close else ""
            raise LaunchTypeError(f"{name} has no parameter {key!r} (got {key}={options[key]!r})", f"{meant}its parameters are ({', '.join(jit.arg_names)})")
    warps = options.get("num_warps", 4)
    if isinstance(warps, bool) or not isinstance(warps, int) or warps < 1 or warps & (warps - 1) or warps > 32:
        raise LaunchError(f"num_warps={warps!r}: a program has 1, 2, 4, 8, 16 or 32 warps of 32 threads", "take one of these")
    stages = options.get("num_stages", 1)
    if isinstance(stages, bool) or not isinstance(stages, int) or stages < 0:
        raise LaunchError(f"num_stages={stages!r} is not a number of pipeline stages", "take 1 to 8")


@functools.cache
def _backend_options() -> frozenset[str]:
    try:
        from triton.backends.nvidia.compiler import CUDAOptions

        return frozenset(f.name for f in dataclasses.fields(CUDAOptions))
    except Exception:  # the backend moved: the fixed list is enough
        return frozenset()


def grid_of(jit: Any, grid: Any, arguments: dict[str, Any]) -> tuple[int, int, int]:
    """The grid as three numbers of programs."""
    name = jit.fn.__name__
    if callable(grid):
        grid = grid(dict(arguments))
    if isinstance(grid, (torch.Size, list)):
        grid = tuple(grid)
    if not isinstance(grid, tuple):
        raise LaunchTypeError(f"the grid of {name} is {grid!r}, not a tuple", f"write {name}[(n,)](...): a tuple of one to three numbers of programs")
    if not 1 <= len(grid) <= 3:
        raise LaunchError(f"the grid of {name} has {len(grid)} axes: {grid!r}", "a grid has one, two or three axes; fold the others into one of them")
    return (*(_axis(name, axis, n) for axis, n in enumerate(grid)), *(1,) * (3 - len(grid)))  # type: ignore[return-value]


def _axis(name: str, axis: int, n: Any) -> int:
    try:
        count = None if isinstance(n, bool) else operator.index(n)
    except TypeError:
        count = None
    if count is None:
        hint = "use triton.cdiv(n, BLOCK_SIZE): it divides, rounds up, and gives an int" if isinstance(n, float) else "each axis is an int"
        raise LaunchTypeError(f"grid[{axis}] of {name} is {n!r}, a {type(n).__name__}", hint)
    if count < 0:
        raise LaunchError(f"grid[{axis}] of {name} is {count}", "a number of programs cannot be negative")
    if count > _AXIS_LIMITS[axis]:
        raise LaunchError(f"grid[{axis}] of {name} is {count:,}: a GPU takes at most {_AXIS_LIMITS[axis]:,} programs on axis {axis}", "put the long axis first, or fold both axes into one")
    return count


def check_budget(jit: Any, grid: tuple[int, int, int], limit: Limits) -> None:
    """Raise for more programs than the interpreter may run."""
    programs = grid[0] * grid[1] * grid[2]
    if programs <= limit.programs:
        return
    error = BudgetError(
        f"the grid has {programs:,} programs, and the interpreter runs at most {limit.programs:,}",
        "use a smaller input or a larger block here, or raise the limit: with lab.limits(programs=...):",
    )
    source = rewrite.compiled(jit)[1]
    place(error, jit, source, source.def_line, (0, 0, 0), grid)
    error.budget, error.started = f"{limit.programs} programs", False
    error.excerpt = source.excerpt(error.line, 0)
    raise error
