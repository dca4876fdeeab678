"""Ask Triton's own compiler what it makes of a launch, for a GPU that need not be here.

Names resolve lazily, so that the records can be used without loading Triton.
"""

from __future__ import annotations

import importlib
from typing import Any

_WHERE = {
    "AsmLine": "record",
    "Buffer": "pipeline",
    "Compilations": "record",
    "CompileError": "errors",
    "Compiled": "record",
    "Counts": "record",
    "Failed": "record",
    "Figure": "record",
    "Figures": "record",
    "LIMITS": "limits",
    "Limits": "limits",
    "Occupancy": "limits",
    "Pipeline": "pipeline",
    "Refusal": "refusing",
    "TARGETS": "limits",
    "compile": "compiling",
    "figure": "record",
    "figures": "sweeps",
    "occupancy": "limits",
    "refusals": "refusing",
    "variants": "compiling",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"tritonlab.compiler has no {name!r}; it has {', '.join(__all__)}")
    value = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
