"""Views: each draws a trace or a result computed from one, in the browser.

Names resolve lazily, so that importing this package loads no widget library.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

_WHERE = {
    "View": "base",
    "tiles": "tiles",
    "stepper": "stepper",
    "predict": "predict",
    "live": "live",
    "bandwidth": "bandwidth",
    "curves": "curves",
    "roofline": "roofline",
    "check": "check",
    "fill": "fill",
    "pointers": "pointers",
    "pid_map": "pid_map",
    "pipeline": "pipeline",
    "resources": "resources",
    "sweep": "sweep",
    "assembly": "assembly",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"tritonlab.views has no {name!r}; it has {', '.join(__all__)}")
    value = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


class _Views(types.ModuleType):
    """Importing ``tritonlab.views.tiles`` binds the submodule here; the name shall stay the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _WHERE and isinstance(value, types.ModuleType):
            value = getattr(value, name, value)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Views


def __dir__() -> list[str]:
    return __all__
