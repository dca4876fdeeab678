"""What a compiled kernel takes of a GPU: registers, shared memory, how many programs fit, and its instructions."""

from __future__ import annotations

from typing import Any

from ..compiler.limits import LIMITS, TENSOR_MEMORY
from ..compiler.record import Compilations, Compiled, Failed
from .base import View, plain

__all__ = ["ResourceView", "differing", "labels", "resources", "samples"]

MEASURES = {
    "programs": ("programs per SM", ""),
    "warps": ("warps per SM", ""),
    "registers": ("registers a thread", ""),
    "spilled": ("spilled registers", "B"),
    "shared": ("shared memory", "B"),
    "instructions": ("SASS instructions", ""),
}
"""What a point of a grid can be coloured by: name -> (words, unit)."""
ACROSS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
"""What goes across a grid, where it differs; everything else goes down."""


class ResourceView(View):
    """One kernel's resources, a table that compares several, or a grid of them."""

    module = "resources.js"


def resources(*compiled: Compiled | Failed | Compilations, measure: str = "programs") -> ResourceView:
    """Show the resources of one compiled kernel, or compare those of several.

    ``compiled``: what ``lab.compile`` or ``tritonlab.compiler.variants`` returned, one or more of them. One kernel is shown
    with all that it takes. Several that differ in num_warps, num_stages, num_ctas or maxnreg become a grid: these across,
    tile shape and all else down; others a table, a row each. Points that do not fit are marked, with the reason.
    ``measure``: what the grid shows first, ``"programs"`` (per SM), ``"warps"``, ``"registers"``, ``"spilled"``,
    ``"shared"`` or ``"instructions"``.

    ``TypeError`` for anything else, ``ValueError`` for none at all and for an unknown measure.
    """
    points = _points(compiled)
    if not isinstance(measure, str) or measure not in MEASURES:
        raise ValueError(f"measure is {measure!r}; it can be {', '.join(map(repr, MEASURES))}")
    names = differing(points)
    across = [k for k in ACROSS if k in names]
    down = [k for k in names if k not in across]
    if across and len(points) > 1:
        kind = "grid"
    else:
        kind, across, down = ("table" if len(points) > 1 else "one"), [], names
    rows, columns = labels(points, down), labels(points, across)
    if len(set(zip(rows, columns))) < len(points):  # twice the same: nothing tells them apart but their place
        rows = [f"{row}, {i}".removeprefix(", ") for i, row in enumerate(rows, 1)]
    data = {
        "kind": kind,
        "measure": measure,
        "measures": [[k, words, unit] for k, (words, unit) in MEASURES.items()],
        "down": _heading(down, points),
        "across": " × ".join(across),
        "rows": list(dict.fromkeys(rows)),
        "columns": list(dict.fromkeys(columns)),
        "points": [_point(p) | {"row": rows[i], "column": columns[i]} for i, p in enumerate(points)],
    }
    return ResourceView(data=plain(data), text=_text(points))


def _points(compiled: tuple[Any, ...]) -> list[Compiled | Failed]:
    points: list[Compiled | Failed] = []
    for one in compiled:
        if isinstance(one, (Compiled, Failed)):
            points.append(one)
        elif isinstance(one, (Compilations, list, tuple)) and all(isinstance(c, (Compiled, Failed)) for c in one):
            points += one
        else:
            hint = "; hand it to lab.compile(...) first and show what that returns" if callable(one) else ""
            raise TypeError(f"resources takes what lab.compile returns; got {type(one).__name__}{hint}")
    if not points:
        raise ValueError("there is nothing to show: no compiled kernel was given")
    return points


def _properties(point: Compiled | Failed) -> dict[str, Any]:
    """All that two compiled launches can differ in, by name."""
    return {
        "kernel": point.kernel,
        "target": point.target,
        **point.meta,
        **{k: v for k, v in point.options.items() if k in ACROSS},
        **point.signature,
    }


def differing(points: list[Compiled | Failed]) -> list[str]:
    """The names in which points differ: kernel and target over all, the rest among launches of one kernel."""
    names: dict[str, None] = {}
    for name in ("kernel", "target"):
        if len({getattr(p, name) for p in points}) > 1:
            names[name] = None
    for kernel in dict.fromkeys(p.kernel for p in points):
        every = [_properties(p) for p in points if p.kernel == kernel]
        names |= dict.fromkeys(n for n in every[0] if n not in ("kernel", "target") and len({repr(p.get(n)) for p in every}) > 1)
    return list(names)


def _tile(point: Compiled | Failed, names: list[str]) -> list[str]:
    """The BLOCK_… parameters, when they make a tile of several axes of which one is among ``names``."""
    blocks = [k for k in point.meta if k.startswith("BLOCK_") and isinstance(point.meta[k], int)]
    return blocks if len(blocks) > 1 and set(blocks) & set(names) else []


def labels(points: list[Compiled | Failed], names: list[str]) -> list[str]:
    """What tells each point from the others, among ``names``; several BLOCK_… parameters as one tile, 128×64×32."""
    return [", ".join(_parts(p, names)) for p in points]


def _parts(point: Compiled | Failed, names: list[str]) -> list[str]:
    has, tile = _properties(point), _tile(point, names)
    parts = [str(has[n]) for n in names if n in ("kernel", "target")]
    if tile:
        parts.append("×".join(str(point.meta[k]) for k in tile))
    for name in names:
        if name in tile or name in ("kernel", "target") or name not in has:
            continue
        value = has[name]
        noun = {"num_warps": "warp", "num_stages": "stage"}.get(name)
        if noun:
            parts.append(f"{value} {noun}{'' if value == 1 else 's'}")
        else:
            parts.append(f"{name} {value}" if name in point.signature else f"{name}={value}")
    return parts


def _heading(names: list[str], points: list[Compiled | Failed]) -> str:
    tile = next((t for p in points if (t := _tile(p, names))), [])
    first = [n for n in names if n in ("kernel", "target")]
    rest = [n for n in names if n not in tile and n not in first]
    return ", ".join(first + ([" × ".join(tile)] if tile else []) + rest)


def _point(point: Compiled | Failed) -> dict[str, Any]:
    made = {
        "kernel": point.kernel,
        "target": point.target,
        "num_warps": point.options.get("num_warps", 4),
        "num_stages": point.options.get("num_stages", 3),
        "problems": list(point.problems),
    }
    if isinstance(point, Failed):
        return made | {"compiled": False, "line": point.line}
    has, found = LIMITS[point.target], point.occupancy
    return made | {
        "compiled": True,
        "registers": point.registers,
        "spilled": point.spilled,
        "shared": point.shared,
        "instructions": point.instructions,
        "programs": found.programs,
        "warps": found.warps,
        "limiter": found.limiter,
        "by": [[name, n] for name, n in found.by.items() if n is not None],
        "most": {
            "warps": has.warps,
            "programs": has.programs,
            "registers": has.registers_thread,
            "shared": has.shared_program,
            "shared_sm": has.shared,
            "registers_sm": has.registers,
            "gpus": has.gpus,
            "tensor_memory": TENSOR_MEMORY,
        },
        "tensor_memory": point.tensor_memory,
        "mix": {"sass": _mix(point.sass), "ptx": _mix(point.ptx)},
    }


def _mix(counts: Any) -> list[list[Any]]:
    """[kind, how many, of which widths] in the order of kinds; widths for loads and stores of global memory."""
    wide = {"global load": counts.loads, "global store": counts.stores}
    return [[kind, n, [[b, c] for b, c in wide.get(kind, {}).items()]] for kind, n in counts.kinds.items()]


def _text(points: list[Compiled | Failed]) -> str:
    if len(points) > 1:
        kernels = " and ".join(dict.fromkeys(p.kernel for p in points))
        targets = " and ".join(dict.fromkeys(p.target for p in points))
        bad = sum(not p.fits for p in points)
        spill = sum(p.fits and p.spilled > 0 for p in points)
        parts = [f"{kernels} {targets}: {len(points)} compiled"]
        if bad:
            parts.append(f"{bad} of which {'does' if bad == 1 else 'do'} not fit")
        if spill:
            parts.append(f"{spill} {'spills' if spill == 1 else 'spill'}")
        return ", ".join(parts)
    (one,) = points
    if isinstance(one, Failed):
        return f"{one.kernel} {one.target}: {one.message}"
    if one.problems:
        return f"{one.kernel} {one.target}: {one.problems[0]}"
    found = one.occupancy
    return (
        f"{one.kernel} {one.target}: {one.registers} registers, {one.spilled} spilled, {one.shared} B shared, "
        f"{one.instructions} instructions, {found.programs} per SM, limited by {found.limiter}"
    )


def samples() -> list[tuple[str, ResourceView]]:
    """One kernel, one that does not fit, a grid and a table."""
    from .specimens_compiled import matmul, matmul_grid, vector_add

    return [
        ("resources-one", resources(matmul())),
        ("resources-too-much", resources(matmul((256, 256, 64), 8, 4, 255, 96))),
        ("resources-grid", resources(matmul_grid())),
        ("resources-table", resources(vector_add(), matmul(), matmul((64, 64, 32), 8, 3, 58))),
    ]
