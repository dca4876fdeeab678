"""tritonlab: learn to write fast, correct Triton kernels, with or without a GPU.

Importing it routes ``kernel[grid](...)`` on CPU tensors to a guarded interpreter; CUDA tensors are
compiled as ever. Everything else is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import Any

from . import runtime as _runtime
from .errors import expect_error
from .runtime import limits
from .trace.tracer import trace

__version__ = "0.1.0"

_LAZY = {
    "compile": ("compiler", "compile"),
    "exercise": ("exercises", "exercise"),
    "measure": ("bench", "measure"),
    "pid_order": ("orders", "pid_order"),
    "recorded": ("bench", "recorded"),
}
_ROOMS = ("analysis", "bench", "compiler", "errors", "exercises", "kernels", "reference", "runtime", "tolerances", "views")

__all__ = ["compile", "exercise", "expect_error", "limits", "measure", "pid_order", "recorded", "trace", "views"]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        module, attribute = _LAZY[name]
        value = getattr(importlib.import_module(f".{module}", __name__), attribute)
        if name == "exercise":
            importlib.import_module(".exercises.result", __name__).show = _picture
        globals()[name] = value
        return value
    if name in _ROOMS:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'tritonlab' has no attribute {name!r}; it has {', '.join(__all__)}")


def _picture(result: Any) -> Any:
    """The view of a ``CheckResult``. Wired here, so that the exercises import no view."""
    from .views.check import check

    return check(result)


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS})
