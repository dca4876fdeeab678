"""What counting a matmul's K loop gives: the tiles of each program, step by step."""

from __future__ import annotations

from dataclasses import dataclass

from ..trace.record import Program, _Record
from .product_roles import Product
from .text import count, table

__all__ = ["KStep", "Operand", "OutputTile", "TileReuse"]


@dataclass(frozen=True)
class Operand:
    """Loads of A or B over the whole launch. ``elements``: distinct elements loaded; ``loads``: lanes that loaded
    them; ``programs``: the most programs that load one element; ``bytes``: ``loads`` × bytes an element."""

    arg: str
    shape: tuple[int, int]
    elements: int
    loads: int
    programs: int
    bytes: int

    @property
    def loads_per_element(self) -> float:
        """N / BLOCK_N for A and M / BLOCK_M for B in a plain tiled matmul; 0 when nothing was loaded."""
        return self.loads / self.elements if self.elements else 0.0


@dataclass(frozen=True)
class KStep:
    """One step of a program's K loop: one tile of A and one of B.

    ``a``, ``b``: places of the loads in ``Launch.accesses``. Bytes count lanes that are on. ``flop``: 2 for each
    multiplication of the dot of the two blocks, masked lanes included; ``useful``: for those whose lanes were
    loaded in both blocks and whose result is stored. ``programs_a``, ``programs_b``: the fewest and the most
    programs of the launch that load an element of this tile.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    bytes_a: int
    bytes_b: int
    flop: int
    useful: int
    programs_a: tuple[int, int]
    programs_b: tuple[int, int]


@dataclass(frozen=True)
class OutputTile:
    """One tile of C and the K steps that lead to it. A persistent program has several: ``nth`` counts them.

    ``stores``: places in ``Launch.accesses``; none when the program never came to store. ``block``: rows and
    columns of the stored block, masked lanes included (the accumulator). ``elements``, ``bytes``: what was stored.
    ``box``: rows and columns of C that hold what was stored, half-open, or None.
    """

    program: Program
    nth: int
    stores: tuple[int, ...]
    block: tuple[int, int]
    elements: int
    bytes: int
    box: tuple[tuple[int, int], tuple[int, int]] | None
    steps: tuple[KStep, ...]

    @property
    def bytes_a(self) -> int:
        return sum(s.bytes_a for s in self.steps)

    @property
    def bytes_b(self) -> int:
        return sum(s.bytes_b for s in self.steps)

    @property
    def flop(self) -> int:
        return sum(s.flop for s in self.steps)

    @property
    def useful(self) -> int:
        return sum(s.useful for s in self.steps)

    @property
    def padding(self) -> int:
        """FLOP spent on masked lanes, or on results that are not stored."""
        return self.flop - self.useful

    @property
    def flop_per_byte(self) -> float:
        """Useful FLOP over bytes of A and B loaded; 0 when none were."""
        return _ratio(self.useful, self.bytes_a + self.bytes_b)


@dataclass(frozen=True, eq=False, repr=False)
class TileReuse(_Record):
    """A matmul's tiles: what each streams over its K steps, and how often the elements of A and B are loaded."""

    kernel: str
    grid: Program
    product: Product
    a: Operand
    b: Operand
    tiles: tuple[OutputTile, ...]
    note: str = ""

    def of(self, program: int | Program) -> tuple[OutputTile, ...]:
        """The tiles of one program, a number or its ids."""
        ids = (program,) if isinstance(program, int) else tuple(program)
        return tuple(t for t in self.tiles if t.program == (*ids, 0, 0)[:3])

    @property
    def flop_per_byte(self) -> float:
        """Useful FLOP of all programs over bytes of A and B that they load."""
        return _ratio(sum(t.useful for t in self.tiles), self.a.bytes + self.b.bytes)

    def __repr__(self) -> str:
        parts = [
            f"{count(len(self.tiles), 'tile')} of {_steps(self.tiles)}",
            f"{self.a.arg} {self.a.loads_per_element:.2f} loads an element",
            f"{self.b.arg} {self.b.loads_per_element:.2f}",
            f"{self.flop_per_byte:.1f} FLOP a byte",
        ]
        return f"<TileReuse {self.kernel}: {_formula(self)}, {', '.join(parts + [self.note] * bool(self.note))}>"

    def __str__(self) -> str:
        rows = [
            (_name(t.program, self.grid), _slices(t), len(t.steps), t.bytes_a, t.bytes_b, t.elements, t.useful, t.padding, t.flop_per_byte)
            for t in self.tiles
        ]
        whole = [sum(r[i] for r in rows) for i in range(2, 8)]
        headers = ("program", f"stores {self.product.c.arg}", "K steps", "bytes of A", "bytes of B", "outputs", "useful FLOP", "padding FLOP", "FLOP / byte")
        notes = [f"{o.arg}: {count(o.elements, 'element')} loaded, {o.loads_per_element:.2f} times each" for o in (self.a, self.b)]
        title = f"{self.kernel}: {_formula(self)}"
        return table(title, headers, rows, "\n".join(notes + [self.note] * bool(self.note)), ("all", "", *whole, self.flop_per_byte), "tile")


def _steps(tiles: tuple[OutputTile, ...]) -> str:
    lengths = sorted({len(t.steps) for t in tiles}) or [0]
    return f"{lengths[0]} to {lengths[-1]} K steps" if len(lengths) > 1 else count(lengths[0], "K step")


def _formula(r: TileReuse) -> str:
    return f"{r.product.a} @ {r.product.b} → {r.product.c}"


def _slices(tile: OutputTile) -> str:
    return "nothing" if tile.box is None else "[" + ", ".join(f"{lo}:{hi}" for lo, hi in tile.box) + "]"


def _name(program: Program, grid: Program) -> str:
    axes = 3 if grid[2] > 1 else 2 if grid[1] > 1 else 1
    return str(program[0]) if axes == 1 else str(tuple(program[:axes]))


def _ratio(flop: int, loaded: int) -> float:
    return flop / loaded if loaded else 0.0
