"""The two backends and the guard. The only room that patches Triton.

Importing it routes ``kernel[grid](...)``: CPU tensors run in Triton's interpreter, guarded; CUDA
tensors are compiled as ever. ``triton.compile`` works at any time.
"""

from __future__ import annotations

import os
import sys

KNOWN = ("3.6", "3.7", "3.8", "3.9")
"""The Triton versions that the runtime is tested with."""


_OFF = ("", "0", "off", "false", "no", "n", "f")


def _prepare() -> None:
    """Import Triton so that it compiles, whatever the environment says, or say what is in the way."""
    loaded = "triton" in sys.modules
    if os.environ.get("TRITON_INTERPRET", "0").lower() not in _OFF:
        if not loaded:
            del os.environ["TRITON_INTERPRET"]
    try:
        import triton
        import triton.language
    except ImportError as e:
        raise ImportError(f"Triton cannot be imported ({e}). Way out: pip install triton==3.7.1 (Linux only; on Windows use WSL2)") from e
    if ".".join(triton.__version__.split(".")[:2]) not in KNOWN and not os.environ.get("TRITONLAB_ANY_TRITON"):
        raise ImportError(
            f"tritonlab knows Triton {KNOWN[0]} to {KNOWN[-1]}, and this is {triton.__version__}. "
            "Way out: pip install triton==3.7.1, or set TRITONLAB_ANY_TRITON=1 to try it all the same."
        )
    if not isinstance(triton.language.sum, triton.runtime.jit.JITFunction):
        raise ImportError(
            "Triton was imported with TRITON_INTERPRET=1 set: then nothing can be compiled in this process. "
            "Way out: unset TRITON_INTERPRET and restart; tritonlab interprets CPU tensors without it."
        )
    triton.knobs.runtime.interpret = False  # also for a TRITON_INTERPRET that is set later


_prepare()

from triton.runtime import interpreter as _interpreter  # noqa: E402

from . import guard, numerics, route  # noqa: E402
from .filling import masked_fill  # noqa: E402
from .launch import Event, InterpretedLaunch  # noqa: E402
from .budget import Limits, limits  # noqa: E402
from .printing import show  # noqa: E402
from .route import Captured, capture, observe  # noqa: E402

numerics.install(_interpreter.interpreter_builder)
guard.install(_interpreter.interpreter_builder)
route.install()

__all__ = ["Captured", "Event", "InterpretedLaunch", "KNOWN", "Limits", "capture", "limits", "masked_fill", "observe", "show"]
