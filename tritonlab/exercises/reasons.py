"""Every reason that a check can give: its code, how fundamental it is, and its text."""

from __future__ import annotations

from typing import Any

from .result import Reason

__all__ = ["EXPLAINS", "RANK", "TEMPLATES", "TILES", "VALUES", "reason"]

TEMPLATES: dict[str, str] = {
    # before anything runs
    "wrong_kind": "{what}",
    "wrong_signature": "{own} cannot be called with the {count} arguments that the exercise gives it; it must take {call}.",
    "unjudged": "The check itself failed on this answer ({error}). That is a fault of the course, not yours; please report it.",
    # the call does not come back
    "raises": "{who} raises {error}{where}: {message}",
    "budget": "It does not end, or takes far too long: {what}",
    # nothing a GPU would have done
    "no_launch": "No kernel was launched. The result was made by {maker}; the exercise wants a Triton kernel, launched as kernel[grid](...).",
    "not_by_launch": "The tensor that comes back was not written by a launch. {what}",
    # tiles: where a block begins, how its lanes and steps follow, who works on it, what of it exists
    "lane_step": "Lanes lie apart as no stride says. {detail}",
    "block_start": "A block begins at the wrong address. {detail}",
    "chunk_step": "The loop does not go from chunk to chunk. {detail}",
    "tile_map": "Programs and tiles do not match. {detail}",
    "mask": "A mask is wrong. {detail}",
    # memory
    "out_of_bounds": "{kind} out of bounds: program {program}, lane {lane} {does} {arg}[{offset}], {outside}. {cause}",
    "returns_none": "The launcher returns None. It must return the output tensor{hint}.",
    "wrong_type": "The launcher returns {got}; it must return {wanted}.",
    "no_refusal": "The call must be refused: {because}. Raise {wanted} before launching; {instead}",
    "wrong_shape": "The result has shape {got}, expected {wanted}.",
    "wrong_dtype": "The result has dtype {got}, expected {wanted}.",
    "wrong_device": "The result is on device {got}, the inputs are on {wanted}.",
    "input_changed": "{arg} was changed. An input must be left as it was; write to an output of its own. {detail}",
    "never_written": "{what} of the result {verb} never written{pattern}. {cause}",
    "uninitialised": "Program {program} reads {arg}[{offset}] before anything was written there. {cause}",
    "race": "{what} {cause}",
    # values
    "strides": "Right for contiguous tensors, wrong for {layout}: strides are not honoured everywhere. {detail}",
    "never_read": "{what} of {arg} {verb} never read. {detail}",
    "fill": "Masked lanes take part in the result. {detail}",
    "precision": "Not precise enough: {detail}",
    "known_wrong": "{detail}",
    "special": "Right for ordinary values, wrong for {which}. {detail}",
    "last_tile": "Wrong only {place}; where every lane of the tile is on, all is right. {detail}",
    "wrong_values": "{count} of {total} values are wrong. {detail}",
    # right here, and still not good
    "copied_input": "{arg} was copied before the launch. {detail}",
    "rule": "{detail}",
    "gpu_refuses": "Right in the interpreter, but a GPU refuses it: {detail}",
    "compiled": "Right when interpreted, but not compiled for this GPU: {detail}",
}
"""Text of each reason, most fundamental first; ``{fields}`` are filled in by whoever finds it."""

RANK: dict[str, int] = {code: i for i, code in enumerate(TEMPLATES)}

VALUES = ("strides", "never_read", "fill", "precision", "known_wrong", "special", "last_tile", "wrong_values")

TILES = ("lane_step", "block_start", "chunk_step", "tile_map", "mask")

_ALL = tuple(TEMPLATES)
_AFTER_BOUNDS = ("never_written", "not_by_launch", "uninitialised", "race", "no_refusal", *VALUES)
EXPLAINS: dict[str, tuple[str, ...]] = {
    **{code: _ALL for code in ("wrong_kind", "wrong_signature", "unjudged", "raises", "budget", "no_launch")},
    **{code: tuple(c for c in _ALL if c != "no_refusal") for code in ("returns_none", "wrong_type")},
    **{code: (*TILES, "strides", "out_of_bounds", "input_changed", *_AFTER_BOUNDS) for code in TILES},
    "out_of_bounds": _AFTER_BOUNDS,
    "not_by_launch": ("never_written", "uninitialised", "race", "copied_input", *VALUES),
    "wrong_shape": ("never_written", *VALUES),
    "wrong_dtype": VALUES,
    "wrong_device": VALUES,
    "never_written": ("uninitialised", "rule", *VALUES),
    "uninitialised": ("race", *VALUES),
    "race": VALUES,
    **{code: VALUES for code in VALUES},
}
"""Which other reasons would only be a consequence of one, and are left out beside it."""


def reason(code: str, *, fields: dict[str, Any] | None = None, **words: Any) -> Reason:
    """A reason with its template filled in by ``words``; ``fields`` are the record's own (program, line, lane, ...)."""
    text = " ".join(TEMPLATES[code].format(**words).split(" ")).strip()
    return Reason(code=code, text=text, **(fields or {}))
