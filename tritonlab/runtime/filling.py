"""What masked lanes of loads get instead of their ``other``, for checks that a kernel does not depend on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import numerics
from .state import where


@dataclass(frozen=True)
class Fill:
    """A fill for the masked lanes of some loads."""

    value: float
    lines: frozenset[int] | None
    unnamed_only: bool

    def applies(self, named: bool) -> bool:
        if self.unnamed_only and named:
            return False
        return self.lines is None or where(3)[1] in self.lines

    def block(self, like: np.ndarray, dtype: Any) -> np.ndarray:
        """A block of the fill in a load's dtype (integers clip, NaN is their largest)."""
        if numerics.is_small_float(dtype):
            bits = numerics.narrow(np.full(1, self.value, dtype=np.float32), dtype)
            return np.full(like.shape, bits[0], dtype=bits.dtype)
        if like.dtype.kind in "iu":
            info = np.iinfo(like.dtype)
            value = info.max if self.value != self.value else int(min(max(self.value, info.min), info.max))
            return np.full(like.shape, value, dtype=like.dtype)
        with np.errstate(all="ignore"):
            return np.full(like.shape, self.value).astype(like.dtype)


_active: list[Fill] = []


def active() -> Fill | None:
    """The fill in force, or None."""
    return _active[-1] if _active else None


@contextmanager
def masked_fill(value: float, lines: Iterable[int] | None = None, unnamed_only: bool = False) -> Iterator[None]:
    """While active, masked lanes of interpreted loads get ``value`` instead of their ``other``.

    value: a number, cast to each load's dtype (integers clip; NaN becomes their largest).
    lines: source lines whose loads are meant (default: all). unnamed_only: only loads without ``other``.
    A correct kernel's result does not depend on it, except where it fills on purpose.
    """
    _active.append(Fill(float(value), None if lines is None else frozenset(lines), unnamed_only))
    try:
        yield
    finally:
        _active.pop()
