"""``libdevice`` in interpreted kernels: the functions that torch has too, computed in float64 and rounded once.

Triton's own are names without a body outside of its compiler, and calling one gives None.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter as ti

from ..errors import UnsupportedError

_UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    **{
        name: getattr(torch, name)
        for name in (
            "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "erfc", "erfinv", "exp", "exp2", "expm1",
            "floor", "lgamma", "log", "log10", "log1p", "log2", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
        )
    },
    "cbrt": lambda x: x.sign() * x.abs() ** (1 / 3),
    "exp10": lambda x: 10.0**x,
    "fabs": torch.abs,
    "fast_cosf": torch.cos, "fast_exp10f": lambda x: 10.0**x, "fast_expf": torch.exp, "fast_log10f": torch.log10, "fast_log2f": torch.log2,
    "fast_logf": torch.log, "fast_sinf": torch.sin, "fast_tanf": torch.tan, "fast_tanhf": torch.tanh,
    "nearbyint": torch.round, "rint": torch.round,
    "rcp_rn": torch.reciprocal,
    "round": lambda x: torch.where(x.frac().abs() == 0.5, x.trunc() + x.sign(), x.round()),
    "sqrt_rn": torch.sqrt,
}
_BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "atan2": torch.atan2, "copysign": torch.copysign, "div_rn": torch.div, "fast_dividef": torch.div, "fast_powf": torch.pow, "fmax": torch.fmax,
    "fmin": torch.fmin, "fmod": torch.fmod, "hypot": torch.hypot, "max": torch.fmax, "min": torch.fmin, "pow": torch.pow,
}
_ASKING: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "finitef": torch.isfinite, "isfinited": torch.isfinite, "isinf": torch.isinf, "isnan": torch.isnan, "signbit": torch.signbit,
}


class _Stand:
    """Stands in for the module ``libdevice`` while a kernel is interpreted."""

    def __getattr__(self, name: str) -> Any:
        return function(name)


STAND_IN = _Stand()


def is_libdevice(value: Any) -> bool:
    """Whether something that a kernel knows by name is ``libdevice``, under any of its paths."""
    return isinstance(value, types.ModuleType) and value.__name__.startswith("triton.") and value.__name__.endswith(".libdevice")


def is_function(value: Any) -> bool:
    """Whether something that a kernel knows by name is one of its functions."""
    place = getattr(value, "__module__", None) or ""
    return callable(value) and place.startswith("triton.") and place.endswith(".libdevice")


def function(name: str) -> Callable[..., Any]:
    """The interpreted function of that name. One that there is not raises when it is called."""
    if name.startswith("__"):
        raise AttributeError(name)

    def call(*args: Any) -> Any:
        for table in (_UNARY, _BINARY, _ASKING):
            if name in table and len(args) == (2 if table is _BINARY else 1):
                return _compute(name, table[name], args, asking=table is _ASKING)
        raise UnsupportedError(
            f"libdevice.{name} of {len(args)} argument{'s' if len(args) != 1 else ''} is not there in the interpreter, only on a GPU",
            "build it from tl.exp, tl.log, tl.sqrt, tl.erf, tl.sigmoid and their kin, which work in both",
        )

    return call


def _compute(name: str, op: Callable[..., torch.Tensor], args: tuple[Any, ...], asking: bool) -> Any:
    semantic = ti.interpreter_semantic
    blocks = [semantic.to_tensor(a) for a in args]
    if len(blocks) == 2:
        blocks = list(semantic.binary_op_type_checking_impl(*blocks))
    kind = blocks[0].dtype
    if kind not in (tl.float32, tl.float64):
        raise UnsupportedError(f"libdevice.{name} takes float32 or float64, and got {kind.name}", "cast first: x.to(tl.float32)")
    wide = [torch.from_numpy(np.array(b.handle.data, dtype=np.float64)) for b in blocks]
    data = op(*wide).numpy()
    dtype = tl.int1 if asking else kind
    handle = ti.TensorHandle(data.astype(ti._get_np_dtype(dtype)), dtype)
    return tl.tensor(handle, blocks[0].type.with_element_ty(dtype) if blocks[0].type.is_block() else dtype)
