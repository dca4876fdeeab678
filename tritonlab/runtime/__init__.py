"""The two backends and the guard. The only room that patches Triton.

Importing it routes ``kernel[grid](...)``: CPU tensors run in Triton's interpreter, guarded; CUDA
tensors are compiled as ever. ``triton.compile`` works at any time.
"""

from __future__ import annotations

import os
import sys

KNOWN = ("3.6", "3.7", "3.8", "3.9")
"""The Triton versions that the runtime is tested with."""


def _prepare() -> None:
    if os.environ.get("TRITON_INTERPRET", "0").lower() not in ("", "0", "off", "false", "no"):
        if "triton" in sys.modules:
            raise ImportError(
                "TRITON_INTERPRET=1 is set, and Triton was imported with it: then nothing can be compiled in this process. "
                "Way out: unset TRITON_INTERPRET and restart; tritonlab interprets CPU tensors without it."
            )
        del os.environ["TRITON_INTERPRET"]
    try:
        import triton
    except ImportError as e:
        raise ImportError(f"Triton cannot be imported ({e}). Way out: pip install triton==3.7.1 (Linux only; on Windows use WSL2)") from e
    if ".".join(triton.__version__.split(".")[:2]) not in KNOWN and not os.environ.get("TRITONLAB_ANY_TRITON"):
        raise ImportError(
            f"tritonlab knows Triton {KNOWN[0]} to {KNOWN[-1]}, and this is {triton.__version__}. "
            "Way out: pip install triton==3.7.1, or set TRITONLAB_ANY_TRITON=1 to try it all the same."
        )


_prepare()

from triton.runtime import interpreter as _interpreter  # noqa: E402

from . import guard, numerics, route  # noqa: E402
from .launch import Event, InterpretedLaunch, Limits, show  # noqa: E402
from .route import Captured, capture, limits, masked_fill, observe  # noqa: E402

numerics.install(_interpreter.interpreter_builder)
guard.install(_interpreter.interpreter_builder)
route.install()

__all__ = ["Captured", "Event", "InterpretedLaunch", "KNOWN", "Limits", "capture", "limits", "masked_fill", "observe", "show"]
