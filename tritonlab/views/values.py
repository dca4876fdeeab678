"""Values as compact JSON, exact both ways: what a view sends to the browser.

A block becomes a dict with its NumPy dtype, shape and base64 of little-endian elements in lane
order; evenly spaced integers become two numbers, a block of one value one element, booleans
bits. Plain Python values keep their type and text. ``decode`` gives back what ``encode`` was
given, element for element; the browser's half is ``values`` in stepper.js.
"""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

__all__ = ["MAX_LANES", "decode", "encode", "number", "span"]

MAX_LANES = 65_536
"""Lanes of one block that are kept; the rest of a larger block is cut, and ``kept`` says so."""

_FLOATS = {2: "f4", 4: "f4", 8: "f8"}
_SAFE = 2**53


def _base64(array: np.ndarray) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")


def _stored(flat: np.ndarray) -> str:
    """The narrowest of the browser's typed arrays that holds these elements exactly."""
    kind, size = flat.dtype.kind, flat.dtype.itemsize
    if kind == "f" and size in _FLOATS:
        return _FLOATS[size]
    if kind in "iu":
        low, high = int(flat.min()), int(flat.max())
        if 0 <= low and high < 2**8:
            return "u1"
        if -(2**31) <= low and high < 2**31:
            return "i4"
        if -_SAFE <= low and high <= _SAFE:
            return "f8"
        return "text"
    raise TypeError(f"values of dtype {flat.dtype} cannot be shown in a view")


def encode(values: Any, limit: int = MAX_LANES) -> dict[str, Any] | None:
    """Plain JSON data for ``values``: an array of bool, int or float, a Python scalar, or None.

    At most ``limit`` lanes are kept, in lane order; ``kept`` holds their number when lanes were cut.
    ``TypeError`` for arrays of any other kind.
    """
    if values is None:
        return None
    if not isinstance(values, (np.ndarray, np.generic)):
        return {"py": type(values).__name__, "text": values if isinstance(values, str) else repr(values)}
    array = np.asarray(values)
    flat = array.reshape(-1)
    out: dict[str, Any] = {"np": array.dtype.name, "shape": list(array.shape)}
    if isinstance(values, np.generic):
        out["scalar"] = True
    if flat.size > limit:
        flat = flat[:limit]
        out["kept"] = limit
    if flat.size == 0:
        return out | {"as": "u1", "data": ""}
    if flat.dtype.kind == "b":
        return out | {"as": "bits", "data": _base64(np.packbits(flat, bitorder="little"))}
    if flat.dtype.kind in "iu" and flat.size > 2:
        first, step = int(flat[0]), int(flat[1]) - int(flat[0])
        last = first + step * (flat.size - 1)
        if max(abs(first), abs(last)) <= _SAFE and abs(step) <= _SAFE:
            ramp = first + step * np.arange(flat.size, dtype=np.int64)
            if np.array_equal(flat.astype(np.int64), ramp):
                return out | {"as": "range", "data": [first, step]}
    form = _stored(flat)
    one = flat[:1].tobytes()
    if flat.size > 1 and flat.tobytes() == one * flat.size:
        flat = flat[:1]
        out["repeat"] = True
    if form == "text":
        return out | {"as": form, "data": [str(int(v)) for v in flat]}
    return out | {"as": form, "data": _base64(np.ascontiguousarray(flat.astype("<" + form)))}


_PYTHON = {
    "bool": lambda text: text == "True",
    "int": int,
    "float": float,
    "str": str,
    "NoneType": lambda text: None,
}


def decode(packed: dict[str, Any] | None) -> Any:
    """What ``encode`` was given: exactly, except that a cut block comes back flat, as long as it was kept."""
    if packed is None:
        return None
    if "py" in packed:
        if packed["py"] not in _PYTHON:
            raise ValueError(f"a {packed['py']} is kept as text only: {packed['text']}")
        return _PYTHON[packed["py"]](packed["text"])
    dtype, shape = np.dtype(packed["np"]), tuple(packed["shape"])
    size = packed.get("kept", math.prod(shape))
    form, data = packed["as"], packed["data"]
    if form == "range":
        flat = (data[0] + data[1] * np.arange(size, dtype=np.int64)).astype(dtype)
    elif form == "text":
        flat = np.array([int(v) for v in data], dtype=dtype)
    elif form == "bits":
        bits = np.frombuffer(base64.b64decode(data), dtype=np.uint8)
        flat = np.unpackbits(bits, bitorder="little")[:size].astype(dtype)
    else:
        flat = np.frombuffer(base64.b64decode(data), dtype="<" + form).astype(dtype)
    if packed.get("repeat"):
        flat = np.repeat(flat, size)
    if "kept" in packed:
        return flat
    return flat[0] if packed.get("scalar") else flat.reshape(shape)


def number(value: Any) -> str:
    """A number as a reader wants it: integers whole, floats to four digits."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return f"{float(value):.4g}"


def span(values: np.ndarray) -> str:
    """Smallest to largest of a block, "960…1023"; how many lanes are nan or infinite is said apart."""
    flat = np.asarray(values).reshape(-1)
    if flat.size == 0:
        return "no lanes"
    if flat.dtype.kind == "b":
        return f"{int(flat.sum())} of {flat.size} on"
    apart = []
    if flat.dtype.kind == "f":
        for name, odd in (("nan", np.isnan(flat)), ("inf", np.isposinf(flat)), ("-inf", np.isneginf(flat))):
            if n := int(odd.sum()):
                apart.append(f"all {name}" if n == flat.size else f"{n} {name}")
        flat = flat[np.isfinite(flat)]
    parts = []
    if flat.size:
        low, high = flat.min(), flat.max()
        parts.append(number(low) if low == high else f"{number(low)}…{number(high)}")
    return ", ".join(parts + apart)
