"""The addresses that an interpreted kernel sees, and which of them are valid.

The kernel never gets a real address. Argument number i lives at a made-up base ``(i + 1) << 40``
plus a half of that range, so every pointer that the kernel computes still says, lane by lane,
which argument it came from, even when its offset is wrong by any int32. Before memory is touched
each lane's address is checked against what the argument's view reaches through its shape and
strides, and only then translated into a real one.

Made-up addresses keep the real ones' position within 256 bytes, so that checks of alignment see
what a GPU would.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

SHIFT = 40
HALF = 1 << (SHIFT - 1)
_BITMAP_LIMIT = 1 << 26
_U64 = (1 << 64) - 1


@dataclass(eq=False)
class Span:
    """One view that a kernel may touch: its made-up base, its real base, and its shape and strides in elements."""

    name: str
    index: int
    base: int
    real: int
    itemsize: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    storage: int
    storage_offset: int
    storage_size: int
    owner: Any = None
    device: str = "cpu"
    address: int = 0
    _bitmap: np.ndarray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.numel = 1
        for n in self.shape:
            self.numel *= n
        self.extent = 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides)) if self.numel else 0
        dims = sorted((s, n) for n, s in zip(self.shape, self.strides) if n > 1 and s != 0)
        reach = 1
        self.nested = True
        for s, n in dims:
            if s < reach:
                self.nested = False
            reach += (n - 1) * s
        self.dense = self.numel > 0 and self.nested and self.extent == int(np.prod([n for _, n in dims], dtype=np.int64))
        self._dims = dims[::-1]
        self.top = self.extent * self.itemsize
        self.delta = (self.real - self.base) & _U64

    def reaches(self, offsets: np.ndarray) -> np.ndarray:
        """Which element offsets (int64) the view's shape and strides reach."""
        ok = (offsets >= 0) & (offsets < self.extent)
        if self.dense or not self.numel:
            return ok
        if self.nested:
            rest = np.where(ok, offsets, 0)
            for stride, n in self._dims:
                q = rest // stride
                ok &= q < n
                rest = rest - q * stride
            return ok & (rest == 0)
        if self._bitmap is None:
            if self.extent > _BITMAP_LIMIT:
                return ok
            self._bitmap = np.zeros(self.extent, dtype=bool)
            np.lib.stride_tricks.as_strided(self._bitmap, self.shape, self.strides)[...] = True
        return ok & self._bitmap[np.where(ok, offsets, 0)]

    def valid(self, rel: np.ndarray, width: int) -> np.ndarray:
        """Which byte positions (int64, from the argument's pointer) may be accessed with ``width`` bytes."""
        if width == self.itemsize:
            return self.reaches(rel // width) & (rel % width == 0)
        first, last = rel // self.itemsize, (rel + (width - 1)) // self.itemsize
        return self.reaches(first) & self.reaches(last)

    def in_allocation(self, rel: np.ndarray) -> np.ndarray:
        """Which byte positions belong to the allocation that the view is a part of."""
        element = rel // self.itemsize + self.storage_offset
        return (element >= 0) & (element < self.storage_size)


@dataclass(eq=False)
class Touch:
    """The lanes of one access that point into one span: ``rel`` are byte positions of all lanes."""

    span: Span
    rel: np.ndarray
    mask: np.ndarray


@dataclass(eq=False)
class Fault:
    """The first lanes that would leave their tensor. ``span`` is None when the pointer belongs to no argument."""

    span: Span | None
    lane: int
    rel: int
    bad: np.ndarray
    rels: np.ndarray
    address: int


class AddressSpace:
    """The spans of one launch, and the check that every access passes."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.foreign: list[Span] = []
        self.find_foreign: Any = None

    def add(self, **kwargs: Any) -> Span:
        """Give a view its made-up address. ``real`` is its data pointer."""
        index = len(self.spans)
        base = ((index + 1) << SHIFT) + HALF + (kwargs["real"] & 0xFF)
        span = Span(index=index, base=base, **kwargs)
        self.spans.append(span)
        return span

    def resolve(self, ptrs: np.ndarray, mask: np.ndarray, width: int) -> tuple[np.ndarray, list[Touch]] | Fault:
        """Check an access of ``width`` bytes a lane; real addresses and the spans touched, or the fault.

        ptrs: uint64, block-shaped; mask: bool, same shape. Lanes that are off may point anywhere.
        """
        on = ptrs[mask]
        if on.size == 0:
            return ptrs, []
        low, high = int(on.min()), int(on.max())
        index = (low >> SHIFT) - 1
        if index == (high >> SHIFT) - 1 and 0 <= index < len(self.spans):
            span = self.spans[index]
            rel = (ptrs - np.uint64(span.base)).view(np.int64)
            if span.dense and width == span.itemsize:
                if span.base <= low and high - span.base <= span.top - width and (
                    width == 1 or not ((on - np.uint64(span.base)) % np.uint64(width)).any()
                ):
                    return ptrs + np.uint64(span.delta), [Touch(span, rel, mask)]
            elif span.valid(rel[mask], width).all():
                return ptrs + np.uint64(span.delta), [Touch(span, rel, mask)]
        return self._resolve_lanes(ptrs, mask, width)

    def _resolve_lanes(self, ptrs: np.ndarray, mask: np.ndarray, width: int) -> tuple[np.ndarray, list[Touch]] | Fault:
        numbers = (ptrs >> np.uint64(SHIFT)).astype(np.int64) - 1
        known = (numbers >= 0) & (numbers < len(self.spans))
        real = ptrs.copy()
        bad = mask & ~known
        touches: list[Touch] = []
        by_lane: dict[int, tuple[Span, np.ndarray]] = {}
        for number in np.unique(numbers[mask & known]):
            span = self.spans[int(number)]
            mine = mask & (numbers == number)
            rel = (ptrs - np.uint64(span.base)).view(np.int64)
            bad |= mine & ~span.valid(rel, width)
            real = np.where(mine, ptrs + np.uint64(span.delta), real)
            touches.append(Touch(span, rel, mine))
            by_lane[int(number)] = (span, rel)
        lost = mask & ~known
        if lost.any() and self.find_foreign is not None:
            for address in np.unique(ptrs[lost]):
                span = self._foreign(int(address))
                if span is None:
                    continue
                rel = (ptrs - np.uint64(span.base)).view(np.int64)
                mine = lost & span.in_allocation(rel)
                good = mine & span.valid(rel, width)
                bad &= ~good
                if good.any() and not any(t.span is span for t in touches):
                    touches.append(Touch(span, rel, good))
        if not bad.any():
            return real, touches
        flat = np.flatnonzero(bad.ravel())
        lane = int(flat[0])
        number = int(numbers.ravel()[lane])
        if number in by_lane:
            span, rel = by_lane[number]
            mine = bad & (numbers == number)
            return Fault(span, lane, int(rel.ravel()[lane]), mine, rel, 0)
        address = int(ptrs.ravel()[lane])
        return Fault(None, lane, 0, bad, ptrs.view(np.int64), address)

    def _foreign(self, address: int) -> Span | None:
        """A live tensor at a real address: one that the kernel read from memory rather than was passed."""
        for span in self.foreign:
            if span.real <= address < span.real + span.top:
                return span
        found = self.find_foreign(address)
        if found is None:
            return None
        span = Span(name=f"memory {len(self.foreign) + 1}", index=len(self.spans) + len(self.foreign), base=found["real"], **found)
        self.foreign.append(span)
        return span

    def locate(self, ptrs: np.ndarray) -> tuple[str | None, np.ndarray]:
        """The argument that a block of pointers belongs to ("a, b" if several) and element offsets, for display."""
        numbers = (ptrs >> np.uint64(SHIFT)).astype(np.int64) - 1
        offsets = np.zeros(ptrs.shape, dtype=np.int64)
        names: list[str] = []
        for number in np.unique(numbers):
            if 0 <= number < len(self.spans):
                span = self.spans[int(number)]
                mine = numbers == number
                rel = (ptrs - np.uint64(span.base)).view(np.int64)
                offsets = np.where(mine, rel // span.itemsize, offsets)
                names.append(span.name)
            else:
                offsets = np.where(numbers == number, ptrs.view(np.int64), offsets)
        return (", ".join(names) or None), offsets
