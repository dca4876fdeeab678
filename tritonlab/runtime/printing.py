"""What a kernel prints: plain values, each line prefixed with its program, and not more lines than the launch may show."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl

from ..errors import UnsupportedError
from . import numerics
from .state import interpreting


def show(value: Any) -> str:
    """A kernel's value as ``print`` shows it: plain values, and for pointers the argument and the offsets."""
    data = getattr(value.handle, "data", None)
    if not isinstance(data, np.ndarray):
        refuse_nothing(value)
        return f"<{type(value).__name__}>"
    scalar = not value.type.is_block() and data.size == 1
    launch = interpreting()
    if value.dtype.is_ptr() and launch is not None:
        name, offsets = launch.space.locate(np.asarray(data, dtype=np.uint64))
        return f"{name or 'no argument'} + {offsets.reshape(-1)[0] if scalar else offsets}"
    values = numerics.visible(data, value.dtype)
    return str(values.reshape(-1)[0] if scalar else values)


def refuse_nothing(value: Any) -> None:
    """Raise when a value is the result of something that gives none, as ``tl.store`` does."""
    if isinstance(value, tl.tensor) and (value.handle is None or value.type == tl.void):
        raise UnsupportedError("the result of tl.store is used, and a store gives no value back", "use the block that you stored, or tl.load it again")


def printed(*values: Any, sep: str = " ", end: str = "\n", file: Any = None, flush: bool = False) -> None:
    """``print`` inside a kernel."""
    text = (" " if sep is None else sep).join(show(v) if isinstance(v, tl.tensor) else str(v) for v in values)
    launch = interpreting()
    if file is not None or launch is None:
        print(text, end=end, file=file, flush=flush)
    else:
        launch.say(text)


def device_print(prefix: str, hex: bool, handles: Any) -> None:
    """``tl.device_print``."""
    shown = [_hex(h.data) if hex else str(numerics.visible(h.data, h.dtype)) for h in handles]
    printed(" ".join([prefix.strip(), *shown]).strip())


def _hex(data: np.ndarray) -> str:
    if data.dtype.kind == "f":
        data = data.view(f"u{data.itemsize}")
    return np.array2string(data, formatter={"all": lambda x: f"0x{int(x):0{2 * data.itemsize}x}"})
