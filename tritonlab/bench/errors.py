"""What can go wrong in the bench."""

from __future__ import annotations

from ..errors import TritonlabError

__all__ = ["MeasureError", "RecordError", "WrongResultError"]


class MeasureError(TritonlabError, RuntimeError):
    """There is nothing here that could be timed, or what was timed means nothing."""


class WrongResultError(MeasureError):
    """What was to be timed computes something else than its oracle, so its time means nothing."""

    relative: float | None = None


class RecordError(TritonlabError, ValueError):
    """A record that cannot be read, found or written; the message names the file and the field."""
