"""What the tile picture of a matmul needs besides the accesses: the roles A, B, C, the K steps and their counts.

Programs that do alike share a *plan*: for each of their accesses, in order, the tile of C that it belongs to and the
K step (``STORE`` for what is written to C, ``OTHER`` for arguments outside the product); and each tile's counts.
"""

from __future__ import annotations

from typing import Any

from ..analysis import OutputTile, Role, TileReuse, program_number, tile_reuse
from ..trace.record import Launch
from .base import plain
from .touches import runs

__all__ = ["OTHER", "STORE", "product_data", "product_text"]

STORE, OTHER = -1, -2


def product_data(launch: Launch, wanted: bool = False) -> dict[str, Any] | None:
    """A launch's product as ``tiles_product_model.js`` takes it; None when it is none, or ``ValueError`` if ``wanted``."""
    try:
        reuse = tile_reuse(launch)
    except ValueError:
        if wanted:
            raise
        return None
    plans: dict[str, int] = {}
    kept: list[dict[str, Any]] = []
    plan_of = [-1] * launch.programs
    places: dict[tuple, list[int]] = {}
    tiles: dict[tuple, list[OutputTile]] = {}
    for place, access in enumerate(launch.accesses):
        places.setdefault(access.program, []).append(place)
    for tile in reuse.tiles:
        tiles.setdefault(tile.program, []).append(tile)
    for program, accesses in places.items():
        number = program_number(program, launch.grid)
        if not 0 <= number < launch.programs:
            continue
        plan = _plan(accesses, tiles.get(program, []))
        plan_of[number] = plans.setdefault(repr(plan), len(kept))
        if plan_of[number] == len(kept):
            kept.append(plan)
    p = reuse.product
    return plain(
        {
            "a": _role(p.a) | _loads(reuse, "a"), "b": _role(p.b) | _loads(reuse, "b"), "c": _role(p.c),
            "others": p.others, "plans": kept, "plan": runs(plan_of), "text": product_text(reuse),
        }
    )  # fmt: skip


def _role(role: Role) -> dict[str, Any]:
    return {"arg": role.arg, "shape": role.shape, "strides": role.strides, "turned": role.turned}


def _loads(reuse: TileReuse, which: str) -> dict[str, Any]:
    operand = getattr(reuse, which)
    return {"elements": operand.elements, "loads": operand.loads}


def _plan(accesses: list[int], tiles: list[OutputTile]) -> dict[str, Any]:
    belongs = {p: (t.nth, k) for t in tiles for k, step in enumerate(t.steps) for p in (*step.a, *step.b)}
    belongs |= {p: (t.nth, STORE) for t in tiles for p in t.stores}
    return {
        "touches": [list(belongs.get(p, (0, OTHER))) for p in accesses],
        "tiles": [
            {
                "block": list(t.block),
                "elements": t.elements,
                "bytes": t.bytes,
                "steps": [[s.bytes_a, s.bytes_b, s.flop, s.useful, *s.programs_a, *s.programs_b] for s in t.steps],
            }
            for t in tiles
        ],
    }


def product_text(reuse: TileReuse) -> str:
    """ "a_ptr[64, 32] @ b_ptr[32, 96] in 2 K steps": what the view's repr says of a product."""
    lengths = sorted({len(t.steps) for t in reuse.tiles}) or [0]
    steps = f"{lengths[0]} K step{'s' * (lengths[0] != 1)}" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]} K steps"
    return f"{reuse.product.a} @ {reuse.product.b} in {steps}"
