"""Which program works on which tile of the result, and what is wrong when that is not one to one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod

from ..analysis.lanes import program_number
from ..trace.record import Launch, Program, trim
from .finding import Finding, place
from .tiles import Block, groups, program_ids

__all__ = ["judge_tile_map", "tiles_by_program"]

Tile = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Map:
    """The first store of each program in one outcome; ``counts``: tiles along each axis of the result."""

    launch: Launch
    counts: Tile
    stores: tuple[Block, ...]

    @property
    def whole(self) -> bool:
        return not self.launch.error and not self.launch.left_out

    def follows(self, tile: Callable[[Program, int], Tile]) -> bool:
        """Whether all programs store where a map from (program, pid) to tiles sends them."""
        first = self.stores[0]
        units = [first.unit(a) for a in first.axes]
        for block in self.stores:
            made = tile(block.access.program, program_number(block.access.program, self.launch.grid))
            if sum(t * u for t, u in zip(made, units)) != block.origin:
                return False
        return True


def tiles_by_program(blocks: list[Block]) -> list[tuple[Block, Tile | None]]:
    """(block, tile) of each program's first store to the result, in the order of the trace; no tile where it begins at none."""
    found = {}
    for (number, *_), stores in groups([b for b in blocks if b.out and b.fits and b.access.writes]).items():
        for block in stores:
            found.setdefault((number, block.access.program), (block, block.tile()))
    return list(found.values())


def _map(blocks: list[Block]) -> _Map | None:
    stores = [b for b in blocks if b.out and b.access.writes]
    done = tiles_by_program(blocks)
    if not done or any(b.ordinal for b in stores) or len({b.lanes for b in stores}) > 1:
        return None
    first = done[0][0]
    storing = {a.program for a in first.launch.accesses if a.writes and a.arg == first.arg.name}
    if storing - {b.access.program for b, _ in done if b.number == first.number}:
        return None  # a program whose lanes are no tile, such as rows that are wrapped round: which tile it works on cannot be said
    return _Map(first.launch, tuple(first.count(a) for a in first.axes), tuple(b for b, _ in done))


def judge_tile_map(blocks: list[Block], others: list[list[Block]]) -> Finding | None:
    """A tile that no program works on, or a program whose tile does not exist. ``others``: the blocks of every outcome, to tell causes apart."""
    made = _map(blocks)
    if made is None:
        return None
    done = [(b, b.tile()) for b in made.stores]
    first, launch = made.stores[0], made.launch
    outside = [(b, t) for b, t in done if t is None or any(n >= c for n, c in zip(t, made.counts))]
    owners: dict[Tile, list[Block]] = {}
    for block, tile in done:
        if tile is not None:
            owners.setdefault(tile, []).append(block)
    orphan = next((t for t in itertools.product(*map(range, made.counts)) if t not in owners), None) if made.whole else None
    if orphan is None and not (outside and launch.error):
        return None
    shared = [bs for bs in owners.values() if len(bs) > 1]
    tiles = " × ".join(str(c) for c in made.counts)
    there = f"{first.arg.name} has {tiles} tiles of {' × '.join(str(n) for n in first.lanes)}" if max(first.lanes) > 1 else f"there are {tiles} tiles"
    block = made.stores[-1]
    if outside:
        block, tile = outside[0]
        stores = "works on" if max(first.lanes) > 1 else "stores to the place of"
        what = f"{stores} tile {tile}" if tile is not None else f"stores from {first.arg.name}[{block.origin}] on, where no tile begins"
        text = f"Program {program_ids(block)} {what}, but {there}"
    elif shared:
        a, block = shared[0][:2]
        text = f"Programs {program_ids(a)} and {program_ids(block)} both work on tile {a.tile()}; {there}"
    else:
        text = f"There {'is 1 program' if len(done) == 1 else f'are {len(done)} programs'}, but {there}"
    text += f", and no program works on tile {orphan}." if orphan is not None else "."
    cause = _cause(made, [m for m in map(_map, others) if m is not None]) or _grid_too_small(made, bool(outside or shared))
    return Finding("tile_map", block.outcome, dict(detail=f"{text} {cause}".strip(), cause=cause), place(block.access, launch, 0), block.number)


def _grid_too_small(made: _Map, other: bool) -> str:
    first, programs = made.stores[0], made.launch.programs
    if other or programs >= prod(made.counts):
        return ""
    floors = [first.extents[a] // first.lanes[a] for a in first.axes]
    for axis in first.axes:
        down = [max(f, 1) if a != axis else f for a, f in enumerate(floors)]
        if floors[axis] < made.counts[axis] and (floors[axis] in made.launch.grid or prod(max(f, 1) for f in down) == programs):
            e, n = first.extents[axis], first.lanes[axis]
            return f"The grid is {trim(made.launch.grid)}: {e} // {n} = {floors[axis]} rounds down, triton.cdiv({e}, {n}) = {made.counts[axis]} rounds up."
    return f"The grid is {trim(made.launch.grid)}, and one program a tile would be {prod(made.counts)}."


def _cause(made: _Map, every: list[_Map]) -> str:
    """What map the programs follow instead, where one of the known ones fits every outcome."""
    grid, counts = made.launch.grid, made.counts
    flat = all(m.launch.grid[1] == 1 for m in (made, *every))
    for axis in range(3):
        same: dict[Program, set[int]] = {}
        for block in made.stores:
            p = block.access.program
            same.setdefault((*p[:axis], 0, *p[axis + 1 :]), set()).add(block.origin)
        if grid[axis] > 1 and made.whole and all(len(s) == 1 for s in same.values()):
            return f"The grid is {trim(grid)}, but the tile does not depend on tl.program_id({axis})."
    if len(counts) != 2:
        return ""
    if not flat:
        m, n = counts
        turned = any(b.access.program[0] != b.access.program[1] for b in made.stores) and made.follows(lambda p, _: (p[1], p[0]))
        if turned or (grid[:2] == (n, m) and m != n):
            return f"The grid is {trim(grid)} for {m} × {n} tiles: the kernel takes one of its axes for the other."
        return ""
    for text, rule in _known_maps(made):
        if all(m.follows(rule(m)) for m in every) and made.follows(rule(made)):
            return text
    return ""


def _known_maps(made: _Map) -> Iterator[tuple[str, Callable[[_Map], Callable[[Program, int], Tile]]]]:
    """(text, map for an outcome) of maps that look right and are not."""
    names = [k for k, v in {**made.launch.meta, **made.launch.scalars}.items() if "GROUP" in k.upper() and isinstance(v, int) and v > 0]
    for name in names:
        G = _value(made, name)
        for axis, letter, lines in ((0, "m", "row"), (1, "n", "column")):
            last = made.counts[axis] % G
            has = f"The last group has only {last} {lines}{'s' if last > 1 else ''} of tiles ({made.counts[axis]} in groups of {name} = {G})"
            clamp = f"min(num_pid_{letter} - first_pid_{letter}, {name})"
            for rest, quotient, text in (
                ("all", "all", f"{has}: the clamp must be against the rows that are left, {clamp}, not against all of them."),
                (False, False, f"{has}, but is walked as if it had {G}: divide, and take the rest, by {clamp}."),
                (True, False, f"{has}; the rest is taken by {clamp}, but the division is still by {name}: both need it."),
                (False, True, f"{has}; the division is by {clamp}, but the rest is still taken by {name}: both need it."),
            ):
                if last:
                    yield text, lambda m, a=axis, r=rest, q=quotient, n=name: lambda _, pid: _unclamped(pid, m.counts, _value(m, n), a, r, q)  # type: ignore[misc]
    yield "pid itself is taken for one of the tile's two numbers: split it, pid // num_pid_n and pid % num_pid_n.", lambda m: lambda _, pid: (pid, 0)
    yield (
        "The tile is (pid // num_pid_m, pid % num_pid_m), but a row of tiles has num_pid_n programs: divide by num_pid_n, and take the rest by it.",
        lambda m: lambda _, pid: divmod(pid, m.counts[0]),
    )
    yield (
        "The tile is (pid % num_pid_n, pid // num_pid_n), but the quotient by num_pid_n counts full rows: it is pid_m, and the rest pid_n. "
        "(To go down the columns, take both by num_pid_m.)",
        lambda m: lambda _, pid: divmod(pid, m.counts[1])[::-1],
    )


def _value(made: _Map, name: str) -> int:
    return int({**made.launch.meta, **made.launch.scalars}.get(name, 1))


def _unclamped(pid: int, counts: Tile, G: int, axis: int, by_rest: bool | str, by_quotient: bool | str) -> Tile:
    """A grouped map in which the remainder, the quotient or both forget how few rows (columns, axis 1) the last group has ("all": are
    clamped to how many there are in all)."""
    along, over = counts[axis], counts[1 - axis]
    group, inner = divmod(pid, G * over)
    rows = max(min(along - group * G, G), 1)
    by = {True: rows, False: G, "all": min(along, G)}
    found = group * G + inner % by[by_rest], inner // by[by_quotient]
    return found if axis == 0 else found[::-1]
