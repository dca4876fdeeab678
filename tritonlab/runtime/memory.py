"""The addresses that an interpreted kernel sees, and which of them are valid.

The kernel never gets a real address. Argument number i lives in the middle of a made-up range of its own,
``FIRST + (i << 48)``, so every pointer that the kernel computes still says, lane by lane, which argument
it came from, however wrong its offset is. Before memory is touched each lane's address is checked against
what the argument's view reaches through its shape and strides, and only then translated into a real one.

Real addresses that a kernel reads from memory (tables of pointers) are adopted: looked up once, where they become
pointers, and given a made-up range too. Made-up addresses keep the real ones' position within 256 bytes,
so that checks of alignment see what a GPU would. No real address is as large as ``FIRST``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

FIRST = 1 << 62
SHIFT = 48
HALF = 1 << (SHIFT - 1)
_BITMAP_LIMIT = 1 << 26
_U64 = (1 << 64) - 1


@dataclass(eq=False)
class Span:
    """One view that a kernel may touch: its made-up base, its real base, and its shape and strides in elements.

    ``origin`` is the address that the tensor says it has; ``real`` differs from it when the tensor was copied to the host.
    """

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
    origin: int = 0
    owner: Any = None
    device: str = "cpu"
    address: int = 0
    _bitmap: np.ndarray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.origin = self.origin or self.real
        self.numel = 1
        for n in self.shape:
            self.numel *= n
        self.extent = 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides)) if self.numel else 0
        dims = sorted((s, n) for n, s in zip(self.shape, self.strides) if n > 1 and s != 0)
        reach = distinct = 1
        self.nested = True
        for s, n in dims:
            if s < reach:
                self.nested = False
            reach += (n - 1) * s
            distinct *= n
        self.dense = self.numel > 0 and self.nested and self.extent == distinct
        self._dims = dims[::-1]
        self.top = self.extent * self.itemsize
        self.delta = (self.real - self.base) & _U64

    def reaches(self, offsets: np.ndarray) -> np.ndarray:
        """Which element offsets (int64) the view's shape and strides reach.

        Exact, except for views that overlap themselves and stretch over more than 64 million elements: there
        everything between their first and their last element counts.
        """
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

    def inside(self, rel: np.ndarray, width: int) -> np.ndarray:
        """Whether each access of ``width`` bytes at byte position ``rel`` (int64, from the pointer) stays on the view's elements."""
        first, last = rel // self.itemsize, (rel + (width - 1)) // self.itemsize
        ok = self.reaches(first)
        for step in range(1, (width - 1) // self.itemsize + 2):
            ok = ok & self.reaches(np.minimum(first + step, last))
        return ok

    def aligned(self, rel: np.ndarray, width: int) -> np.ndarray:
        """Whether an access starts where one of its width may: at an element, or (other widths) at a multiple of the width."""
        return rel % width == 0 if width == self.itemsize else (rel + self.base % width) % width == 0

    def valid(self, rel: np.ndarray, width: int) -> np.ndarray:
        """Which byte positions may be accessed with ``width`` bytes."""
        if width == self.itemsize:
            return self.reaches(rel // width) & self.aligned(rel, width)
        return self.inside(rel, width) & self.aligned(rel, width)

    def in_allocation(self, rel: int) -> bool:
        """Whether a byte position belongs to the allocation that the view is a part of."""
        return 0 <= rel // self.itemsize + self.storage_offset < self.storage_size


@dataclass(eq=False)
class Touch:
    """The lanes (``mask``) of one access that point into one span."""

    span: Span
    ptrs: np.ndarray
    mask: np.ndarray

    @cached_property
    def rel(self) -> np.ndarray:
        """Byte positions of all lanes from the span's pointer, int64."""
        return (self.ptrs - np.uint64(self.span.base)).view(np.int64)

    @property
    def offsets(self) -> np.ndarray:
        """Element offsets of all lanes, int64."""
        return self.rel // self.span.itemsize


@dataclass(eq=False)
class Fault:
    """The lanes that would leave their tensor (``bad``, of those that point into ``span``), and the first of them.

    ``span`` is None when the pointer belongs to no tensor; ``rels`` are then addresses.
    """

    span: Span | None
    lane: int
    rel: int
    bad: np.ndarray
    rels: np.ndarray
    misaligned: bool = False


class AddressSpace:
    """The spans of one launch, and the check that every access passes.

    ``find`` is asked for live tensors when a kernel takes addresses from memory: given real addresses (uint64, sorted), it
    returns a list of ``Span`` fields (without ``index`` and ``base``), one for each tensor that holds one of them.
    """

    def __init__(self, find: Callable[[np.ndarray], list[dict[str, Any]]] | None = None) -> None:
        self.spans: list[Span] = []
        self.adopted: list[Span] = []
        self.find = find

    def add(self, **fields: Any) -> Span:
        """Give a view its made-up range. ``real`` is its data pointer."""
        self.spans.append(self._span(**fields))
        return self.spans[-1]

    def _span(self, **fields: Any) -> Span:
        index = len(self.spans) + len(self.adopted)
        place = fields.get("origin") or fields["real"]
        return Span(index=index, base=FIRST + (index << SHIFT) + HALF + (place & 0xFF), **fields)

    def adopt(self, addresses: np.ndarray) -> np.ndarray:
        """Addresses that a kernel read from memory (uint64) as made-up ones, where a live tensor holds them."""
        lost = (addresses < np.uint64(FIRST)) & (addresses != 0)
        if not lost.any():
            return addresses
        out = addresses.copy()
        for span in (*self.spans, *self.adopted):
            lost = self._adopt_into(span, out, lost)
        if lost.any() and self.find is not None:
            for fields in self.find(np.unique(out[lost])):
                span = self._span(name=f"memory {len(self.adopted) + 1}", **fields)
                self.adopted.append(span)
                lost = self._adopt_into(span, out, lost)
        return out

    @staticmethod
    def _adopt_into(span: Span, out: np.ndarray, lost: np.ndarray) -> np.ndarray:
        mine = lost & (out >= np.uint64(span.origin)) & (out < np.uint64(span.origin + span.top))
        out[mine] += np.uint64((span.base - span.origin) & _U64)
        return lost & ~mine

    def _at(self, index: int) -> Span | None:
        n = len(self.spans)
        if 0 <= index < n and self.spans[index].index == index:
            return self.spans[index]
        return next((s for s in (*self.adopted, *self.spans) if s.index == index), None)

    def resolve(self, ptrs: np.ndarray, mask: np.ndarray, width: int) -> tuple[np.ndarray, list[Touch]] | Fault:
        """Check an access of ``width`` bytes a lane; real addresses and the spans touched, or the fault.

        ptrs: uint64, block-shaped; mask: bool, same shape. Lanes that are off may point anywhere.
        """
        on = ptrs if mask.all() else ptrs[mask]
        if on.size == 0:
            return ptrs, []
        low, high = int(on.min()), int(on.max())
        index = (low - FIRST) >> SHIFT
        span = self._at(index) if low >= FIRST and index == (high - FIRST) >> SHIFT else None
        if span is not None:
            if span.dense and width == span.itemsize and not span.base % width:
                ok = span.base <= low and high <= span.base + span.top - width and (
                    width == 1 or not int(np.bitwise_or.reduce(on, axis=None)) % width
                )
            else:
                ok = bool(span.valid((on - np.uint64(span.base)).view(np.int64), width).all())
            if ok:
                return ptrs + np.uint64(span.delta), [Touch(span, ptrs, mask)]
        return self._resolve_lanes(ptrs, mask, width)

    def _resolve_lanes(self, ptrs: np.ndarray, mask: np.ndarray, width: int) -> tuple[np.ndarray, list[Touch]] | Fault:
        numbers = self._numbers(ptrs)
        real = ptrs.copy()
        bad = mask.copy()
        touches: list[Touch] = []
        for number in np.unique(numbers[mask]):
            span = self._at(int(number))
            if span is None:
                continue
            mine = mask & (numbers == number)
            touch = Touch(span, ptrs, mine)
            bad &= ~(mine & span.valid(touch.rel, width))
            real = np.where(mine, ptrs + np.uint64(span.delta), real)
            touches.append(touch)
        if not bad.any():
            return real, touches
        lane = int(np.flatnonzero(bad.ravel())[0])
        for touch in touches:
            if touch.mask.ravel()[lane]:
                rel = int(touch.rel.ravel()[lane])
                misaligned = bool(touch.span.inside(np.array([rel]), width)[0])
                return Fault(touch.span, lane, rel, bad & touch.mask, touch.rel, misaligned)
        return Fault(None, lane, 0, bad & ~np.isin(numbers, [t.span.index for t in touches]), ptrs.view(np.int64))

    @staticmethod
    def _numbers(ptrs: np.ndarray) -> np.ndarray:
        """Which range each address lies in; -1 for real ones."""
        return np.where(ptrs >= np.uint64(FIRST), ((ptrs - np.uint64(FIRST)) >> np.uint64(SHIFT)).astype(np.int64), -1)

    def locate(self, ptrs: np.ndarray) -> tuple[str | None, np.ndarray]:
        """The tensors that a block of pointers belongs to ("a, b" if several) and element offsets, for display."""
        numbers = self._numbers(ptrs)
        offsets = np.zeros(ptrs.shape, dtype=np.int64)
        names: list[str] = []
        for number in np.unique(numbers):
            mine = numbers == number
            span = self._at(int(number))
            if span is None:
                offsets = np.where(mine, ptrs.view(np.int64), offsets)
            else:
                offsets = np.where(mine, Touch(span, ptrs, mine).offsets, offsets)
                names.append(span.name)
        return (", ".join(names) or None), offsets

    def holds(self, values: np.ndarray) -> bool:
        """Whether integers look like made-up addresses of one of the spans."""
        wide = values.astype(np.int64).view(np.uint64) if values.dtype.kind in "iu" else np.zeros(1, np.uint64)
        return bool((wide >= np.uint64(FIRST)).any()) and self.locate(wide)[0] is not None
