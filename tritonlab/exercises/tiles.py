"""Accesses read as tiles of tensors: which lanes run along which axis, where a block begins, which tile that is.

Only for problems that name the axes of their tensors (``Problem.axes``), such as ("M", "K") of a matrix A. An access counts
when its offsets are base + i·d0 + j·d1; of others, and of tensors with a stride of 0, nothing is said.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..errors import OutOfBoundsError
from ..trace.record import Access, Launch, TensorArg, short
from .problem import Problem
from .run import Outcome

__all__ = ["Block", "blocks_of", "cdiv", "groups", "program_ids"]


def cdiv(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


@dataclass(frozen=True, eq=False)
class Block:
    """One access as a tile.

    ``names`` and ``extents`` belong to the axes of the tensor argument; ``lanes`` counts how many lanes of the block run along
    each (1 where none do) and ``spread`` gives the block's axis that does (None where none does). ``steps`` are the offsets
    from lane to lane along each axis of the block. ``lanes`` and ``spread`` are empty when the steps are not the
    tensor's strides. ``ordinal``: the how-manieth access of its program in that line. ``out``: whether the tensor is the result, whose axes are ``result``.
    """

    outcome: Outcome
    number: int
    launch: Launch
    access: Access
    arg: TensorArg
    names: tuple[str, ...]
    extents: tuple[int, ...]
    steps: tuple[int, ...]
    lanes: tuple[int, ...]
    spread: tuple[int | None, ...]
    ordinal: int
    out: bool
    result: tuple[str, ...]

    @property
    def origin(self) -> int:
        """The offset of the block's first lane."""
        return int(self.access.offsets.reshape(-1)[0])

    @property
    def fits(self) -> bool:
        """Whether the lanes lie apart as the tensor's strides say."""
        return bool(self.lanes)

    @property
    def axes(self) -> range:
        return range(len(self.names))

    def across(self, axis: int) -> bool:
        """Whether an axis of the result runs along the other axis of a block of two than it does in the result: rows along columns."""
        wanted = {name: -i for i, name in enumerate(reversed(self.result), 1)}.get(self.names[axis])
        b = self.spread[axis]
        return wanted in (-1, -2) and b is not None and self.access.offsets.ndim == 2 and 1 not in self.access.offsets.shape and b - 2 != wanted

    def unit(self, axis: int) -> int:
        """The offset from one tile to the next along an axis."""
        return self.lanes[axis] * self.arg.strides[axis]

    def count(self, axis: int) -> int:
        """How many tiles there are along an axis."""
        return cdiv(self.extents[axis], self.lanes[axis])

    def tile(self) -> tuple[int, ...] | None:
        """The numbers of the tile that the block begins, which may lie past the tensor's end; None when it begins at none."""
        rest, found = self.origin, [0] * len(self.names)
        if rest < 0 or not self.fits:
            return None
        for axis in sorted((a for a in self.axes if self.extents[a] > 1), key=lambda a: -self.arg.strides[a]):
            found[axis], rest = divmod(rest, self.unit(axis))
        return tuple(found) if rest == 0 else None

    def inside(self) -> dict[str, int] | None:
        """The tile by axis names when it is one of the tensor's; None otherwise."""
        tile = self.tile()
        if tile is None or any(t >= max(self.count(a), 1) for a, t in enumerate(tile)):
            return None
        return dict(zip(self.names, tile))


def program_ids(block: Block) -> str:
    """A block's program with as many ids as its grid has axes: "(1, 0)", or "3" on a grid of one axis."""
    used = max((axis + 1 for axis, n in enumerate(block.launch.grid) if n > 1), default=1)
    return short(block.access.program) if used == 1 else str(tuple(block.access.program[:used]))


def _extents(outcome: Outcome, problem: Problem) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in zip(problem.parameters, outcome.built.args):
        if isinstance(value, torch.Tensor):
            found.update(zip(problem.axes.get(name, ()), (int(n) for n in value.shape)))
    return found


def _named(outcome: Outcome, problem: Problem, launch: Launch) -> dict[str, tuple[tuple[str, ...], tuple[int, ...], bool]]:
    """Names and extents of the axes of a launch's tensors, and whether it is the result, by argument."""
    extents, found = _extents(outcome, problem), {}
    outcome.cache["extents"] = extents
    inputs = {}
    for name, value in zip(problem.parameters, outcome.built.args):
        if isinstance(value, torch.Tensor):
            inputs.setdefault(value.untyped_storage().data_ptr(), []).append((name, value))
    for arg in launch.args:
        for name, value in inputs.get(arg.address, ()):
            names = problem.axes.get(name, ())
            layout = tuple(value.shape), tuple(value.stride())
            if (arg.shape, arg.strides) == layout:
                found[arg.name] = names, arg.shape, False
            elif (arg.shape[::-1], arg.strides[::-1]) == layout:
                found[arg.name] = names[::-1], arg.shape, False
        out = problem.axes.get("out", ())
        if arg.address not in inputs and len(out) == len(arg.shape) and all(extents.get(n, s) == s for n, s in zip(out, arg.shape)):
            found[arg.name] = out, arg.shape, True
    return {k: v for k, v in found.items() if v[0] and len(v[0]) == len(v[1])}


def _affine(offsets: np.ndarray) -> tuple[int, ...] | None:
    """The step along each axis of a block (0 along axes of length 1); None when there is no such."""
    first = offsets[(0,) * offsets.ndim]
    steps, made = [], np.full(offsets.shape, first)
    for axis, n in enumerate(offsets.shape):
        at = [0] * offsets.ndim
        at[axis] = min(1, n - 1)
        step = int(offsets[tuple(at)] - first)
        steps.append(step)
        made = made + (np.arange(n) * step).reshape([-1 if i == axis else 1 for i in range(offsets.ndim)])
    return tuple(steps) if np.array_equal(made, offsets) else None


def _spread(shape: tuple[int, ...], steps: tuple[int, ...], arg: TensorArg) -> tuple[int | None, ...] | None:
    """For each axis of the tensor the axis of the block that runs along it; () when the steps are not its strides, None when that
    can be read in two ways (a matrix with one column, both of whose strides are 1)."""
    moving = [axis for axis, n in enumerate(shape) if n > 1 and steps[axis]]
    ways = itertools.permutations(range(len(arg.shape)), len(moving))
    fitting = [way for way in ways if all(steps[b] == arg.strides[t] for b, t in zip(moving, way))]
    if not fitting:
        return ()
    straight = [way for way in fitting if list(way) == sorted(way)]
    if straight and len(straight) < len(fitting):
        return None
    made: list[int | None] = [None] * len(arg.shape)
    for b, t in zip(moving, max(fitting)):
        made[t] = b
    return tuple(made)


def blocks_of(outcome: Outcome, problem: Problem) -> list[Block]:
    """The accesses of an outcome that can be read as tiles, in order; the one that ended the launch comes last."""
    if "blocks" not in outcome.cache:
        outcome.cache["blocks"] = _blocks(outcome, problem) if problem.axes else []
    return outcome.cache["blocks"]


def _blocks(outcome: Outcome, problem: Problem) -> list[Block]:
    found = []
    for number, launch in enumerate(outcome.trace.launches):
        named = _named(outcome, problem, launch)
        args = {a.name: a for a in launch.args}
        accesses = list(launch.accesses)
        error = outcome.error
        if number == len(outcome.trace.launches) - 1 and isinstance(error, OutOfBoundsError) and error.arg and error.offsets is not None:
            shape, mask = np.shape(error.offsets), np.ones(np.shape(error.offsets), bool) if error.mask is None else error.mask
            mask = np.broadcast_to(mask, shape)
            accesses.append(Access(error.kind, error.arg, error.program, error.line, error.offsets, mask, function=error.function))
        seen: dict[Any, int] = {}
        for access in accesses:
            if access.arg not in named or access.arg not in args:
                continue
            key = (access.program, access.function, access.line, access.arg)
            ordinal = seen[key] = seen.get(key, -1) + 1
            arg = args[access.arg]
            if any(s <= 0 and n > 1 for n, s in zip(arg.shape, arg.strides)) or 0 in arg.shape:
                continue
            steps = _affine(access.offsets)
            if steps is None:
                continue
            spread = _spread(access.offsets.shape, steps, arg)
            if spread is None:
                continue
            lanes = tuple(1 if b is None else access.offsets.shape[b] for b in spread)
            names, extents, out = named[access.arg]
            found.append(Block(outcome, number, launch, access, arg, names, extents, steps, lanes, spread, ordinal, out, problem.axes.get("out", ())))
    return found


def groups(blocks: list[Block], across: bool = False) -> dict[Any, list[Block]]:
    """The blocks by launch (by kernel if ``across`` outcomes), line and argument, in order of appearance."""
    found: dict[Any, list[Block]] = {}
    for block in blocks:
        launch = block.launch.kernel if across else block.number
        found.setdefault((launch, block.access.function, block.access.line, block.arg.name), []).append(block)
    return found
