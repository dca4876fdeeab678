"""An access that would leave its tensor, in words: which lane, where it points, what is valid, and the way out."""

from __future__ import annotations

import numpy as np

from ..errors import OutOfBoundsError
from .memory import Fault, Span


def out_of_bounds(kind: str, fault: Fault, mask: np.ndarray, width: int) -> OutOfBoundsError:
    """The error for an access of ``width`` bytes a lane that the guard refused."""
    lanes, bad = int(mask.size), int(fault.bad.sum())
    error = _lost(kind, fault, lanes, bad) if fault.span is None else _astray(kind, fault, fault.span, mask, width, lanes, bad)
    error.kind, error.lane, error.lanes, error.lanes_bad, error.mask = kind, fault.lane, lanes, bad, mask.copy()
    return error


def _lost(kind: str, fault: Fault, lanes: int, bad: int) -> OutOfBoundsError:
    address = int(fault.rels.ravel()[fault.lane])
    what = "is a null pointer" if address == 0 else "points at no tensor that this kernel was given or that is alive"
    count = f" ({bad} of {lanes} lanes)" if lanes > 1 else ""
    error = OutOfBoundsError(
        f"{_verb(kind)} memory: {_lane(fault.lane, lanes)} {what}{count}",
        "a pointer is an argument plus offsets, x_ptr + offs; a number, or the sum of two pointers, is no address",
    )
    error.offsets = np.zeros(fault.bad.shape, dtype=np.int64)
    return error


def _astray(kind: str, fault: Fault, span: Span, mask: np.ndarray, width: int, lanes: int, bad: int) -> OutOfBoundsError:
    offset, remainder = divmod(fault.rel, span.itemsize)
    offsets = fault.rels // span.itemsize
    allocated, inside = span.in_allocation(fault.rel), 0 <= offset < span.extent
    taken = "" if width == span.itemsize else f" and takes {width} bytes there, while an element of {span.name} ({span.dtype}) has {span.itemsize}"
    part = f" plus {remainder} byte{'s' if remainder > 1 else ''}" if remainder else ""
    message = f"{_verb(kind)} {span.name}: {_lane(fault.lane, lanes)} has offset {offset}{part}{taken}"
    if fault.misaligned:
        message += ", which is not the start of an element" if width == span.itemsize else f", which does not start at a multiple of {width} bytes"
    else:
        message += f", but {_valid(span)}"
    if bad > 1:
        wrong = offsets[fault.bad]
        message += f". {bad} of {lanes} lanes are {'astray' if inside else 'out of range'} (offsets {int(wrong.min())} … {int(wrong.max())})"
    if fault.misaligned:
        hint = "a GPU refuses a misaligned access: move the pointer by whole elements, and cast it only to types of its element's size"
    elif inside and not _steps_over(span, offset):
        hint = f"read {span.name} through a pointer of its own type, {span.dtype}"
    elif inside:
        message += ". It lies between this view's elements"
        hint = f"this view has strides {tuple(span.strides)}: pass them to the kernel and multiply each index with its stride"
    else:
        if allocated:
            message += ". The address lies inside the allocation that this view is a part of, so it is another tensor's memory"
        hint = _way_out(kind, span, offset, mask, offsets, fault.bad)
    error = OutOfBoundsError(message, hint)
    error.arg, error.offset, error.offsets = span.name, offset, offsets
    error.low, error.high, error.inside_allocation = 0, span.extent - 1, allocated
    return error


def _steps_over(span: Span, offset: int) -> bool:
    return not span.reaches(np.array([offset]))[0]


def _verb(kind: str) -> str:
    return {"load": "load from", "store": "store to"}.get(kind, f"{kind} on")


def _lane(lane: int, lanes: int) -> str:
    return f"lane {lane} of {lanes}" if lanes > 1 else "the pointer"


def _valid(span: Span) -> str:
    if not span.extent:
        return f"{span.name} is empty"
    text = f"{span.name} holds offset 0 only" if span.extent == 1 else f"{span.name} holds offsets 0 … {span.extent - 1}"
    if not span.dense:
        steps = " + ".join(f"{s}·i{k}" for k, s in enumerate(span.strides))
        text += f" in steps of its strides ({steps}, shape {tuple(span.shape)})"
    return text


def _way_out(kind: str, span: Span, offset: int, mask: np.ndarray, offsets: np.ndarray, bad: np.ndarray) -> str:
    if span.extent == 0:
        return "launch nothing for an empty tensor, or mask every lane off: mask = offs < n"
    if offset < 0 and span.reaches(np.array([offset + (1 << 32)]))[0]:
        return "the offset ran past 2³¹ and wrapped round in int32: make it 64-bit before multiplying, pid.to(tl.int64) * stride"
    if offset < 0:
        return "an offset before the tensor's start: check the sign, and what is subtracted from the index"
    if mask.size == 1:
        return f"check the index against {span.name}'s size, {span.numel}: is the grid too large, or a stride wrong?"
    if not _reaches_the_end(span, np.broadcast_to(offsets, mask.shape)[mask], offsets[bad]):
        return f"check the index and the strides: the lanes do not come up to {span.name}'s last element, {span.extent - 1}, and then go on past it"
    call = "tl.store(..., mask=mask)" if kind == "store" else "tl.load(..., mask=mask, other=...)" if kind == "load" else f"tl.{kind}(..., mask=mask)"
    given = "" if mask.all() else " (the mask that was given leaves these lanes on)"
    return f"the lanes past the end must be off{given}: mask = offs < n, and {call}"


def _reaches_the_end(span: Span, on: np.ndarray, bad: np.ndarray) -> bool:
    """Whether the lanes that are on run up to the end and over it, so that a mask is what is missing."""
    gaps = np.diff(np.unique(on))
    step = max(int(gaps.min()) if gaps.size else 1, *span.strides, 1)
    good = on[on < span.extent]
    return span.extent <= int(bad.min()) < span.extent + step and (not good.size or int(good.max()) >= span.extent - step)
