"""Accesses as compact plain data, and back.

A launch of thousands of programs touches millions of elements, yet what it does is regular:
a program's offsets are its neighbour's, moved. So accesses of one line are kept together as a *site*,
each of its accesses is a base offset plus one of few *patterns* (block of relative offsets and mask),
and every column of numbers is kept as arithmetic runs. Nothing is rounded or dropped: ``decode(encode(launch))``
gives back every lane of every access. Only values may be left out, past ``values`` lanes in all.
"""

from __future__ import annotations

from typing import Any, Iterable, NamedTuple

import numpy as np

from ..trace.record import Access, Launch, Program, TensorArg
from .base import pack, plain, unpack

__all__ = ["Touch", "arg_data", "columns", "decode", "encode", "linear", "program_at", "program_given", "runs", "unruns"]

VALUES = 1 << 17
"""How many lanes' values travel to the browser, unless told otherwise (4 bytes each, most often)."""


class Touch(NamedTuple):
    """One access as the browser knows it."""

    kind: str
    arg: str
    program: Program
    line: int
    function: str
    other: bool
    offsets: np.ndarray
    mask: np.ndarray
    values: np.ndarray | None


def linear(program: Program, grid: Program) -> int:
    """A program's number, axis 0 fastest."""
    return program[0] + grid[0] * (program[1] + grid[1] * program[2])


def program_at(number: int, grid: Program) -> Program:
    """The program ids of a number that ``linear`` gave."""
    return (number % grid[0], number // grid[0] % grid[1], number // (grid[0] * grid[1]))


def program_given(program: Any, launch: Launch) -> Program:
    """The ids of a program that a caller named, by its number or by one to three ids; ``TypeError`` and ``ValueError`` say what is wrong with it."""
    one = isinstance(program, (int, np.integer)) and not isinstance(program, bool)
    ids = [program] if one else list(program) if isinstance(program, (tuple, list)) else []
    if not 1 <= len(ids) <= 3 or not all(isinstance(p, (int, np.integer)) and not isinstance(p, bool) for p in ids):
        raise TypeError(f"program must be a number or a program's ids, such as 5 or (1, 0); got {program!r}")
    made = program_at(int(program), launch.grid) if one else tuple(int(p) for p in (*ids, 0, 0)[:3])
    if one and not 0 <= program < max(launch.programs, 1) or any(not 0 <= p < max(n, 1) for p, n in zip(made, launch.grid)):
        grid = "×".join(str(n) for n in launch.grid)
        raise ValueError(f"program is {program}; the grid of {launch.kernel} has {launch.programs} programs ({grid})")
    return made  # type: ignore[return-value]


def arg_data(arg: TensorArg) -> dict[str, Any]:
    """A tensor argument as ``strip.js`` takes it.

    ``solid``: the view has no gaps. ``storage``: the allocation's first offset and one past its last.
    """
    size = max(arg.storage_size, arg.storage_offset + arg.extent)
    return plain(
        {
            "name": arg.name,
            "dtype": arg.dtype,
            "itemsize": arg.itemsize,
            "shape": arg.shape,
            "strides": arg.strides,
            "numel": arg.numel,
            "extent": arg.extent,
            "solid": _solid(arg),
            "storage": [-arg.storage_offset, size - arg.storage_offset],
        }
    )


def _solid(arg: TensorArg) -> bool:
    apart = sorted((s, n) for n, s in zip(arg.shape, arg.strides) if n > 1 and s)
    reach = 1
    for stride, n in apart:
        if stride > reach:
            return False
        reach += (n - 1) * stride
    # The axes reach everywhere without a gap if each begins within what the smaller ones cover.
    return True


def runs(numbers: Iterable[int]) -> list[int]:
    """Numbers as arithmetic runs ``[first, step, count, first, step, count, ...]``."""
    array = np.asarray(numbers if isinstance(numbers, np.ndarray) else list(numbers), dtype=np.int64).ravel()
    out: list[int] = []
    at, n = 0, array.size
    if n > 1:
        steps = np.diff(array)
        breaks = np.flatnonzero(np.diff(steps)) + 1  # steps[b] differs from steps[b - 1]
        breaks = np.append(breaks, n - 1)
    while at < n:
        if at == n - 1:
            out += [int(array[at]), 0, 1]
            break
        end = int(breaks[np.searchsorted(breaks, at, side="right")])  # the run's last element
        if end - at == 1 and at + 2 < n:  # two numbers fit any step; leave the second to what follows
            out += [int(array[at]), 0, 1]
            at += 1
            continue
        out += [int(array[at]), int(steps[at]), end - at + 1]
        at = end + 1
    return out


def unruns(flat: list[int]) -> np.ndarray:
    """The numbers that ``runs`` was given, int64."""
    parts = [f + s * np.arange(c, dtype=np.int64) for f, s, c in zip(flat[0::3], flat[1::3], flat[2::3])]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def encode(launch: Launch, values: int = VALUES) -> dict[str, Any]:
    """All accesses of a launch as ``{"sites": [...], "values_left_out": bool}`` (see the module's text)."""
    sites: dict[tuple, dict[str, Any]] = {}
    for position, access in enumerate(launch.accesses):
        offsets = np.asarray(access.offsets, dtype=np.int64)
        mask = np.broadcast_to(np.asarray(access.mask, dtype=bool), offsets.shape)
        dtype = None if access.values is None else np.asarray(access.values).dtype.name
        key = (access.kind, access.arg, access.line, access.function, access.other, offsets.shape, dtype)
        site = sites.setdefault(key, {"at": [], "program": [], "base": [], "pattern": [], "seen": {}, "patterns": [], "values": []})
        base = int(offsets.flat[0]) if offsets.size else 0
        relative = offsets - base
        seen = (relative.tobytes(), mask.tobytes())
        if seen not in site["seen"]:
            site["seen"][seen] = len(site["patterns"])
            site["patterns"].append({"offsets": _offsets(relative), "mask": _mask(mask)})
        site["at"].append(position)
        site["program"].append(linear(access.program, launch.grid))
        site["base"].append(base)
        site["pattern"].append(site["seen"][seen])
        site["values"].append(access.values)
    out, left_out = [], False
    for (kind, arg, line, function, other, shape, dtype), site in sites.items():
        lanes = len(site["at"]) * int(np.prod(shape, dtype=np.int64))
        kept = None
        if dtype is not None:
            if lanes <= values:
                values -= lanes
                kept = pack(np.stack([np.broadcast_to(np.asarray(v), shape) for v in site["values"]]))
            else:
                left_out = True
        out.append(
            {
                "kind": kind,
                "arg": arg,
                "line": line,
                "function": function,
                "other": other,
                "shape": list(shape),
                "patterns": site["patterns"],
                **{name: runs(site[name]) for name in ("at", "program", "base", "pattern")},
                "values": kept,
            }
        )
    return plain({"sites": out, "values_left_out": left_out or any(_lost(a, launch) for a in launch.accesses)})


def _lost(access: Access, launch: Launch) -> bool:
    """Whether an access had values that are not here; one out of range was not carried out and has none."""
    if access.values is not None:
        return False
    known = {a.name: a for a in launch.args}
    return access.arg in known and bool(np.isin(access.touched, known[access.arg].offsets()).all())


def decode(data: dict[str, Any], grid: Program) -> list[Touch]:
    """Every access, in the order in which they happened, from what ``encode`` gave."""
    found: list[tuple[int, Touch]] = []
    for site in data["sites"]:
        shape = tuple(site["shape"])
        values = None if site["values"] is None else unpack(site["values"])
        patterns = [(_offsets_of(p["offsets"], shape), _mask_of(p["mask"], shape)) for p in site["patterns"]]
        at, program, base, pattern = columns(site)
        for i in range(len(at)):
            relative, mask = patterns[pattern[i]]
            found.append(
                (
                    int(at[i]),
                    Touch(
                        site["kind"], site["arg"], program_at(int(program[i]), grid), site["line"], site["function"],
                        site["other"], relative + base[i], mask, None if values is None else values[i],
                    ),
                )
            )  # fmt: skip
    return [touch for _, touch in sorted(found, key=lambda pair: pair[0])]


def columns(site: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A site's accesses: position in the launch, program number, base offset, pattern."""
    at, program, base, pattern = (unruns(site[name]) for name in ("at", "program", "base", "pattern"))
    return at, program, base, pattern


def _offsets(relative: np.ndarray) -> dict[str, Any]:
    """A block of offsets, the first of them 0: one stride per axis if that gives it exactly, else runs in lane order."""
    strides = []
    straight = np.zeros(relative.shape, np.int64)
    for axis, n in enumerate(relative.shape):
        first = [0] * relative.ndim
        if n > 1:
            first[axis] = 1
            strides.append(int(relative[tuple(first)]))
        else:
            strides.append(0)
        shape = [1] * relative.ndim
        shape[axis] = n
        straight = straight + (np.arange(n, dtype=np.int64) * strides[-1]).reshape(shape)
    if np.array_equal(straight, relative):
        return {"strides": strides}
    return {"runs": runs(relative)}


def _offsets_of(kept: dict[str, Any], shape: tuple[int, ...]) -> np.ndarray:
    if "runs" in kept:
        return unruns(kept["runs"]).reshape(shape)
    grid = np.zeros(shape, np.int64)
    for axis, (n, stride) in enumerate(zip(shape, kept["strides"])):
        along = [1] * len(shape)
        along[axis] = n
        grid = grid + (np.arange(n, dtype=np.int64) * stride).reshape(along)
    return grid


def _mask(mask: np.ndarray) -> dict[str, Any] | None:
    """None: all on. ``{"box": [per axis: lengths off, on, off, ...]}`` if it is a product over axes, else ``{"lanes": lengths}``.

    Lengths alternate, beginning with lanes that are on.
    """
    if mask.all():
        return None
    if mask.ndim > 1:
        sides = [mask.any(axis=tuple(a for a in range(mask.ndim) if a != axis)) for axis in range(mask.ndim)]
        product = np.ones(mask.shape, bool)
        for axis, side in enumerate(sides):
            along = [1] * mask.ndim
            along[axis] = side.size
            product &= side.reshape(along)
        if np.array_equal(product, mask):
            return {"box": [_lengths(side) for side in sides]}
    return {"lanes": _lengths(mask.ravel())}


def _mask_of(kept: dict[str, Any] | None, shape: tuple[int, ...]) -> np.ndarray:
    if kept is None:
        return np.ones(shape, bool)
    if "lanes" in kept:
        return _unlengths(kept["lanes"]).reshape(shape)
    mask = np.ones(shape, bool)
    for axis, lengths in enumerate(kept["box"]):
        along = [1] * len(shape)
        along[axis] = shape[axis]
        mask &= _unlengths(lengths).reshape(along)
    return mask


def _lengths(flags: np.ndarray) -> list[int]:
    edges = np.flatnonzero(np.diff(flags.astype(np.int8))) + 1
    lengths = np.diff(np.concatenate([[0], edges, [flags.size]])).tolist()
    return lengths if flags.size and flags[0] else [0, *lengths]


def _unlengths(lengths: list[int]) -> np.ndarray:
    return np.repeat(np.arange(len(lengths)) % 2 == 0, lengths)
