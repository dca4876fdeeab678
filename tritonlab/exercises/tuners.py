"""Tuned kernels in an answer: each run of a case begins with nothing tuned, so that it is the same whatever ran before."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .answer import functions_of

__all__ = ["tuners_of", "untuned"]


def tuners_of(function: Any) -> tuple[Any, ...]:
    """The ``@triton.autotune`` objects that a launcher reaches through the names it uses."""
    return tuple(f for f in functions_of(function) if hasattr(f, "configs") and isinstance(getattr(f, "cache", None), dict))


@contextlib.contextmanager
def untuned(function: Any) -> Iterator[None]:
    """Within the block no kernel of an answer has been tuned; afterwards each knows again what it knew."""
    kept = [(tuner, tuner.cache) for tuner in tuners_of(function)]
    for tuner, _ in kept:
        tuner.cache = {}
        tuner.__dict__.pop("_interpreted_keys", None)
    try:
        yield
    finally:
        for tuner, cache in kept:
            tuner.cache = cache
