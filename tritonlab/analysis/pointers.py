"""Logical index against flat memory: which element each lane of an access means, and which one it reaches.

A lane's pointer is an offset. What it *reaches* is the element of the tensor at that offset, if there is one. What the
kernel *means* is the index that it multiplies by the tensor's strides: told exactly where the pointer's terms are known
(``pointer_steps``), and otherwise read from how the block's axes run along the tensor's. A lane is

``masked``   off, it touches nothing;
``out``      on, and no element of the tensor is at its offset;
``astray``   on an element, but another one than the kernel means, or than the same lane of another launch reaches;
``on``       on the element that it means.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from ..trace.record import Access, Launch, TensorArg
from .lanes import as_launch
from .pointer_steps import Factor, PointerSteps, Stage, Term, pointer_steps

__all__ = ["ASTRAY", "Factor", "MASKED", "ON", "OUT", "Placed", "PointerSteps", "Stage", "Term", "place", "pointer_steps", "stride_names"]

MASKED, ON, OUT, ASTRAY = range(4)
"""States of a lane in ``Placed.state``."""

MOST = 1 << 22
"""Largest tensor whose elements are looked up one by one."""


@dataclass(frozen=True, eq=False)
class Placed:
    """Where the lanes of one access stand. Arrays are block-shaped, those of an index have the tensor's axes in front.

    ``state``: uint8, MASKED, ON, OUT or ASTRAY. ``reached``: int64 [ndim, *block], the element at each lane's offset, -1
    where there is none. ``meant``: the same for the kernel's own index, which may lie outside of the tensor; None where it
    cannot be told. ``right``: offsets of the elements that a launch compared with reaches, -1 where its lane is off;
    None without one. ``steps``: how the pointers came to be.
    """

    access: Access
    state: np.ndarray
    reached: np.ndarray
    meant: np.ndarray | None
    right: np.ndarray | None
    steps: PointerSteps

    def count(self, state: int) -> int:
        """How many lanes are in a state."""
        return int((self.state == state).sum())

    def __repr__(self) -> str:
        said = [f"{self.count(s)} {name}" for s, name in ((MASKED, "masked"), (OUT, "out of range"), (ASTRAY, "astray")) if self.count(s)]
        lanes = self.state.size
        return f"<Placed {self.access.arg}: {lanes} lane{'s' * (lanes != 1)}{''.join(f', {s}' for s in said)}>"


def place(of: Launch, access: Access, right: Placed | None = None) -> Placed:
    """Where an access's lanes stand. ``right``: the same access of another launch, whose lanes reach the elements that
    these should; it must have the same block shape and a tensor of the same shape (``ValueError``)."""
    launch = as_launch(of)
    arg = launch.arg(access.arg)
    offsets = access.offsets
    mask = np.broadcast_to(access.mask, offsets.shape)
    steps = pointer_steps(launch, access)
    meant = _from_terms(launch, arg, steps, offsets.shape)
    if meant is None:
        meant = _from_axes(arg, offsets)
    reached = _reached(arg, offsets, meant)
    there = (reached[0] >= 0) if arg.shape else (offsets == 0)
    state = np.where(mask, np.where(there, ON, OUT), MASKED).astype(np.uint8)
    if meant is not None:
        wrong = ~_inside(arg, meant) | (_offset(arg, meant) != offsets)
        state[(state == ON) & wrong] = ASTRAY
    should = None
    if right is not None:
        if right.state.shape != offsets.shape or right.reached.shape != reached.shape:
            axes = f"{right.reached.shape[0]} and {reached.shape[0]} axes"
            raise ValueError(f"right has a block of shape {list(right.state.shape)}, this access {list(offsets.shape)}; on tensors of {axes}")
        should = np.where(right.state == ON, right.reached, -1)
        state[(state == ON) & ((should < 0).any(axis=0) | (_offset(arg, should) != offsets))] = ASTRAY
    return Placed(access, state, reached, meant, should, steps)


def stride_names(launch: Launch, arg: TensorArg) -> tuple[str, ...]:
    """What the kernel calls the tensor's strides, one name an axis, ``""`` where it has none (a stride that it takes for 1)."""
    given = {n: v for n, v in (launch.scalars | launch.meta).items() if "stride" in n and isinstance(v, int)}
    order = [n for n in _signature(launch) or list(given) if n in given]
    stems = sorted((a.name.removesuffix("_ptr") for a in launch.args), key=len, reverse=True)
    whose = {n: next((stem for stem in stems if n.startswith(f"stride_{stem}")), None) for n in order}
    own = [n for n in order if whose[n] == arg.name.removesuffix("_ptr")]
    if len(own) == len(arg.strides):
        return tuple(own)
    names = [""] * len(arg.strides)
    for n in own or [n for n in order if whose[n] is None]:
        axis = next((d for d, s in enumerate(arg.strides) if s == given[n] and not names[d]), None)
        if axis is not None:
            names[axis] = n
    return tuple(names)


def _signature(launch: Launch) -> list[str]:
    """Parameter names in the source's order, roughly: enough to sort names that are known."""
    head = launch.source.partition("def ")[2].partition("):")[0].partition("(")[2]
    parts = [p for line in head.splitlines() for p in line.partition("#")[0].split(",")]
    return [p.partition(":")[0].strip() for p in parts if p.strip()]


def _from_terms(launch: Launch, arg: TensorArg, steps: PointerSteps, shape: tuple[int, ...]) -> np.ndarray | None:
    """The index that the kernel multiplies by each stride, told apart by the stride's name, else by its value. A term
    without one counts along the axis of stride 1, if the kernel has no name for that stride; None where a term fits no axis."""
    if not steps.terms or not arg.shape:
        return None
    names = stride_names(launch, arg)
    if sum(n > 1 for n in arg.shape) > 1 and not any(_scale(launch, arg, names, t) for t in steps.terms):
        return None  # a flat offset: it may run over the end of a row
    index = np.zeros((len(arg.shape), *shape), np.int64)
    bare = next((d for d in reversed(range(len(names))) if not names[d] and arg.strides[d] == 1), None)
    for term in steps.terms:
        scale = _scale(launch, arg, names, term)
        axis = bare if scale is None else scale[1]
        if axis is None:
            return None
        rest = [f for f in term.factors if scale is None or f is not scale[0]]
        value = np.array(term.times, np.int64)
        for f in rest:
            value = value * f.values.astype(np.int64)
        index[axis] += value
    return index


def _scale(launch: Launch, arg: TensorArg, names: tuple[str, ...], term: Term) -> tuple[Factor, int] | None:
    """The factor of a term that is a stride, and of which axis."""
    for f in term.factors:
        if f.text in names:
            return f, names.index(f.text)
    for f in term.factors:
        value = int(f.values) if not f.values.ndim and f.text.isidentifier() and f.text not in launch.meta else 1
        if value != 1 and value in arg.strides:
            return f, arg.strides.index(value)
    return None


def _from_axes(arg: TensorArg, offsets: np.ndarray) -> np.ndarray | None:
    """The index as the block's axes run along the tensor's: from the element of the first lane on, each block axis moves
    along the tensor axis whose stride divides its own. None when the block is not straight or an axis fits none."""
    if not arg.shape or not offsets.size or any(s < 0 for s in arg.strides):
        return None
    first = int(offsets.flat[0])
    index = np.empty((len(arg.shape), *offsets.shape), np.int64)
    by_size = sorted((d for d in range(len(arg.shape)) if arg.strides[d] > 0 and arg.shape[d] > 1), key=lambda d: -arg.strides[d])
    left, base = first, [0] * len(arg.shape)
    for d in by_size:
        base[d], left = divmod(left, arg.strides[d])
        if d != by_size[0] and base[d] >= arg.shape[d]:
            return None
    if left:
        return None
    for d in range(len(arg.shape)):
        index[d] = base[d]
    straight = np.full(offsets.shape, first, np.int64)
    for axis, n in enumerate(offsets.shape):
        if n == 1:
            continue
        along = np.arange(n).reshape([n if a == axis else 1 for a in range(offsets.ndim)])
        step = int(offsets[tuple(1 if a == axis else 0 for a in range(offsets.ndim))]) - first
        straight = straight + along * step
        if step == 0:
            continue
        d = next((d for d in by_size if step % arg.strides[d] == 0), None)
        if d is None:
            return None
        index[d] += along * (step // arg.strides[d])
    if not np.array_equal(straight, offsets):
        return None
    inside = _inside(arg, index)
    # A flat block that runs on into the next row means those elements; one with a row axis of its own does not.
    flat = sum(n > 1 for n in offsets.shape) < 2 and sum(n > 1 for n in arg.shape) > 1
    return None if flat and not inside.all() else index


def _reached(arg: TensorArg, offsets: np.ndarray, meant: np.ndarray | None) -> np.ndarray:
    """The index of the element at each offset, -1 where there is none. Of several at one place: the one meant, else the first."""
    reached = np.full((max(len(arg.shape), 1), *offsets.shape), -1, np.int64)
    if not arg.shape:
        reached[0][offsets == 0] = 0
        return reached
    if not arg.numel:
        return reached
    if _apart(arg):
        left = offsets
        for d in sorted((d for d in range(len(arg.shape)) if arg.strides[d] and arg.shape[d] > 1), key=lambda d: -arg.strides[d]):
            reached[d] = np.clip(left // arg.strides[d], 0, arg.shape[d] - 1)
            left = left - reached[d] * arg.strides[d]
        for d in range(len(arg.shape)):
            if not arg.strides[d] or arg.shape[d] == 1:
                reached[d] = 0
        reached = np.where(left == 0, reached, -1)
    elif arg.numel <= MOST:
        places, first = _places(arg.shape, arg.strides)
        at = np.minimum(np.searchsorted(places, offsets), places.size - 1)
        found = np.stack(np.unravel_index(first[at], arg.shape)).astype(np.int64)
        reached = np.where(places[at] == offsets, found, -1)
    if meant is not None:
        agree = _inside(arg, meant) & (_offset(arg, meant) == offsets)
        reached = np.where(agree, meant, reached)
    return reached


def _apart(arg: TensorArg) -> bool:
    """Whether no two elements share a place, but for axes of stride 0: each stride is past all that smaller ones reach."""
    reach = 1
    for stride, n in sorted((s, n) for s, n in zip(arg.strides, arg.shape) if n > 1 and s):
        if stride < reach:
            return False
        reach += (n - 1) * stride
    return True


@functools.lru_cache(maxsize=16)
def _places(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The distinct offsets of a tensor, sorted, and the first element (row-major) at each."""
    return np.unique(TensorArg("", 0, "", 0, shape, strides).offsets(), return_index=True)


def _inside(arg: TensorArg, index: np.ndarray) -> np.ndarray:
    inside = np.ones(index.shape[1:], bool)
    for d, n in enumerate(arg.shape):
        inside &= (index[d] >= 0) & (index[d] < n)
    return inside


def _offset(arg: TensorArg, index: np.ndarray) -> np.ndarray:
    total = np.zeros(index.shape[1:], np.int64)
    for d, s in enumerate(arg.strides):
        total = total + index[d] * s
    return total
