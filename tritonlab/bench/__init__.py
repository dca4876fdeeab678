"""Times on a real GPU: measured (``measure``), recorded (``recorded``), and from the command line.

``measurement`` says what a measurement is and imports no torch, so views and tests can be
written on measurements made by hand.
"""

from __future__ import annotations

from typing import Any

__all__ = ["measure", "recorded"]


def __getattr__(name: str) -> Any:
    if name == "measure":
        from .measuring import measure

        return measure
    if name == "recorded":
        from .library import recorded

        return recorded
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
