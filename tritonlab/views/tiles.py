"""The tile picture: which program touches which elements, and what its lanes do there.

Python lays the launch's accesses out once (``touches``); ``tiles.js`` finds its way from there.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..trace.record import Access, Launch, Program, TensorArg, Trace, short
from .base import View
from .tiles_product import product_data
from .touches import VALUES, arg_data, encode, linear, program_given

__all__ = ["TileView", "samples", "tiles"]

PICTURES = ("memory", "matrix", "product")


class TileView(View):
    """Every program's tile in each tensor argument, and the lanes of the chosen program."""

    module = "tiles.js"
    parts = (
        "tiles_model.js", "tiles_memory.js", "tiles_matrix.js", "tiles_words.js", "tiles_view.js",
        "tiles_product_model.js", "tiles_product_time.js", "tiles_product.js", "tiles_product_words.js", "tiles_product_view.js",
    )  # fmt: skip


def tiles(t: Trace | Launch, program: int | Program | None = None, picture: str | None = None) -> TileView:
    """Show which elements each program of a launch loads and stores.

    ``t``: a trace with one launch, or one of ``t.launches``. ``program``: the program to begin with, a number or its
    ids (default: the first with lanes out of range, else the first with masked lanes, else program 0). ``picture``:
    ``"memory"`` draws strips, low to high offset, ``"matrix"`` draws 2-D tensors as rows and columns, ``"product"``
    a matmul's A, B and C around their corner with the K loop in steps; the view offers those that make sense, and this
    is the one to begin with (default: ``"product"`` where the trace shows one, see ``lab.analysis.find_product``).

    A trace that ended by an access out of range (``lab.trace(..., errors="keep")``) shows that access too.

    ``TypeError`` when ``t`` is neither, and for a program that is no number and no ids; ``ValueError`` when a trace holds no launch or several, for a program
    that the grid does not have, for an unknown picture, and for ``"product"`` of a launch that is none.
    """
    launch = _launch(t)
    if picture not in (None, *PICTURES):
        raise ValueError(f"picture is {picture!r}; it can be 'memory', 'matrix' or 'product'")
    product = product_data(launch, wanted=picture == "product")
    picture = picture or ("product" if product else _picture(launch))
    data = encode(launch, VALUES)
    outside = [_outside(launch, a) for a in launch.accesses]
    if product:
        product["strays"] = sum(outside)
    data |= {
        "kernel": launch.kernel,
        "grid": list(launch.grid),
        "args": [arg_data(a) | _shared(launch, a.name) for a in _args(launch)],
        "lines": _lines(launch),
        "start": _start(launch, program, outside),
        "picture": picture,
        "product": product,
        "left_out": launch.left_out,
        "error": launch.error,
    }
    told = f", {product['text']}" if product and picture == "product" else ""
    return TileView(data=data, text=_text(launch, outside) + told)


def _launch(t: Any) -> Launch:
    if isinstance(t, Launch):
        return t
    if isinstance(t, Trace):
        return _with_what_failed(t.launch, t.error)
    hint = ""
    if callable(t):
        hint = "; hand it to lab.trace(...) first and show what that returns"
    elif isinstance(t, (tuple, list)) and t and all(isinstance(x, Launch) for x in t):
        hint = "; choose one of them, as in tiles(t.launches[0])"
    raise TypeError(f"tiles takes a Trace with one launch, or a Launch; got {type(t).__name__}{hint}")


def _with_what_failed(launch: Launch, error: Any) -> Launch:
    """The launch with the access that ended it, which the trace itself leaves out because nothing was touched."""
    offsets, mask = getattr(error, "offsets", None), getattr(error, "mask", None)
    if offsets is None or mask is None or not getattr(error, "arg", None) or getattr(error, "kernel", "") != launch.kernel:
        return launch
    failed = Access(error.kind, error.arg, tuple(error.program), error.line, np.asarray(offsets), np.asarray(mask), function=error.function)
    return dataclasses.replace(launch, accesses=(*launch.accesses, failed))


def _args(launch: Launch) -> list[TensorArg]:
    """Arguments that are only loaded, then those that are written, then untouched ones; the kernel's order in each."""
    writes = {a.arg for a in launch.accesses if a.writes}
    reads = {a.arg for a in launch.accesses if a.reads}
    known = {a.name for a in launch.args}
    strange = [TensorArg(name, -1, "unknown", 0, (0,), (1,)) for name in sorted((reads | writes) - known)]
    every = [*launch.args, *strange]
    place = {a.name: 1 if a.name in writes else 0 if a.name in reads else 2 for a in every}
    return sorted(every, key=lambda a: place[a.name])


def _outside(launch: Launch, access: Access) -> int:
    """How many lanes are on and hit no element of the argument."""
    touched = access.touched
    if not touched.size:
        return 0
    try:
        arg = launch.arg(access.arg)
    except KeyError:
        return int(touched.size)
    bad = (touched < 0) | (touched >= arg.extent)
    if not arg_data(arg)["solid"]:
        bad |= ~np.isin(touched, arg.offsets())
    return int(bad.sum())


def _shared(launch: Launch, name: str) -> dict[str, Any]:
    """How many elements several programs load, store or update, how many programs meet on one, how many stay unwritten."""
    ways = {"loads": [], "stores": [], "atomics": []}
    for a in launch.accesses:
        if a.arg == name and a.mask.any():
            way = {"load": "loads", "store": "stores"}.get(a.kind, "atomics")
            ways[way].append((linear(a.program, launch.grid), a.touched.ravel()))
    touched = {way: dict(zip(("shared", "most"), _meetings(found))) for way, found in ways.items()}
    return {"touched": touched, "unwritten": _unwritten(launch, name, [o for _, o in ways["stores"] + ways["atomics"]])}


def _unwritten(launch: Launch, name: str, written: list[np.ndarray]) -> int:
    """How many elements of an argument that the launch writes it leaves as they were; 0 when the record is partial."""
    if not written or launch.error or launch.left_out:
        return 0
    left = np.unique(launch.arg(name).offsets())
    return int(left.size - np.isin(left, np.concatenate(written)).sum())


def _meetings(touched: list[tuple[int, np.ndarray]]) -> tuple[int, int]:
    """Elements that several programs touch, and the most programs on one element."""
    if len({program for program, _ in touched}) < 2:
        return 0, min(len(touched), 1)
    offsets = np.concatenate([o for _, o in touched])
    offsets = offsets - offsets.min()
    dense = int(offsets.max()) < 8 * offsets.size + 65536
    if (np.bincount(offsets).max() if dense else offsets.size - np.unique(offsets).size + 1) == 1:
        return 0, 1
    programs = np.concatenate([np.full(o.size, p, np.int64) for p, o in touched])
    order = np.lexsort((programs, offsets))
    offsets, programs = offsets[order], programs[order]
    new = np.ones(offsets.size, bool)
    new[1:] = (np.diff(offsets) != 0) | (np.diff(programs) != 0)
    _, counts = np.unique(offsets[new], return_counts=True)
    return int((counts > 1).sum()), int(counts.max())


def _lines(launch: Launch) -> dict[str, str]:
    """The source text of every line that touches memory, by ``function:line``."""
    out = {}
    for access in launch.accesses:
        function = launch.functions.get(access.function or launch.kernel)
        if function is not None:
            lines = function.source.splitlines()
            at = access.line - function.first_line
            if 0 <= at < len(lines):
                out[f"{access.function}:{access.line}"] = lines[at].strip()
    return dict(sorted(out.items()))


def _start(launch: Launch, program: int | Program | None, outside: list[int]) -> int | None:
    """The program to begin with; None when none of them stands out."""
    if program is not None:
        return linear(program_given(program, launch), launch.grid)
    for access, bad in zip(launch.accesses, outside):
        if bad:
            return linear(access.program, launch.grid)
    for access in launch.accesses:
        if not np.all(access.mask):
            return linear(access.program, launch.grid)
    return None


def _picture(launch: Launch) -> str:
    """Rows and columns where a block or a program is about rows and columns, strips otherwise."""
    flat = {a.name for a in launch.args if len(a.shape) == 2 and min(a.shape) > 1}
    seen = [a for a in launch.accesses if a.arg in flat]
    if not seen:
        return "memory"
    if any(sum(n > 1 for n in np.shape(a.offsets)) == 2 for a in seen):
        return "matrix"
    for access in seen:
        arg = launch.arg(access.arg)
        big, small = sorted((0, 1), key=lambda axis: -arg.strides[axis])
        outer, inner = np.divmod(access.touched, max(arg.strides[big], 1))
        if outer.size and np.ptp(outer) and np.ptp(inner // max(arg.strides[small], 1)):
            return "memory"  # a flat block that runs over the end of a row
    return "matrix"


def _text(launch: Launch, outside: list[int]) -> str:
    programs = f"{launch.programs} program{'s' * (launch.programs != 1)}"
    if not launch.accesses:
        return f"{launch.kernel} {programs}, no loads and no stores"
    shapes = {a.offsets.shape: a.offsets.size for a in launch.accesses}
    widest = max(shapes, key=lambda s: shapes[s])
    lanes = f"{'×'.join(str(n) for n in widest)} lanes" if shapes[widest] > 1 else "1 lane"
    masked: dict[tuple, int] = {}
    for a in launch.accesses:
        key = (a.function, a.line, a.kind, a.arg)
        masked[key] = masked.get(key, 0) + int(a.mask.size - a.mask.sum())
    most = max(masked.values())
    parts = [f"{launch.kernel} {programs} × {lanes}"]
    if most:
        parts.append(f"{most} masked" if len(set(masked.values())) == 1 else f"up to {most} masked on a line")
    if sum(outside):
        first = launch.accesses[next(i for i, n in enumerate(outside) if n)]
        parts.append(f"{sum(outside)} out of range, first in program {short(first.program)}")
    if launch.left_out:
        parts.append(f"{launch.left_out} accesses not recorded")
    if launch.error:
        parts.append("ended by an error")
    return ", ".join(parts)


def samples() -> list[tuple[str, View]]:
    """Tile pictures of every kind of launch, on records made by hand."""
    from . import specimens as s

    made = {
        "vector-add": s.vector_add(),
        "no-mask": s.vector_add(masked=False),
        "small": s.vector_add(10, 4),
        "many-programs": s.vector_add(1_000_000 - 37, 200),
        "strided": s.strided_copy(),
        "reversed": s.reversed_copy(),
        "overlapping": s.overlapping(),
        "persistent": s.grid_stride(),
        "softmax-rows": s.softmax_rows(),
        "softmax-large": s.softmax_rows(100, 781),
        "matmul": s.matmul(),
        "atomics": s.atomic_histogram(),
        "empty": s.vector_add(0, 64),
    }
    views: list[tuple[str, View]] = [(f"tiles-{name}", tiles(launch)) for name, launch in made.items()]
    for name, launch in _products().items():
        views.append((f"tiles-product-{name}", tiles(launch, picture="product")))
    for picture in ("matrix", "memory"):
        views.append((f"tiles-matmul-{picture}", tiles(s.matmul(), program=(1, 2), picture=picture)))
    return views


def _products() -> dict[str, Launch]:
    from .tiles_product_specimens import BUGS, product

    made = {
        "half": product((64, 96, 32), (32, 32, 16), dtype=np.float16),
        "edges": product((40, 56, 50), (16, 32, 16), dtype=np.float16),
        "strided": product((40, 56, 50), (16, 32, 16), strides=((1, 40), (120, 2))),
        "turned": product((40, 56, 40), names=("x_ptr", "w_ptr", "y_ptr"), turned=True),
        "broadcast": product((40, 24, 50), strides=((0, 1), (1, 0))),
        "one-program": product((16, 16, 16)),
        "no-k": product((20, 24, 0)),
        "one-row": product((1, 40, 200), (16, 16, 64)),
        "long-k": product((32, 32, 1000), (16, 16, 32)),
        "wide": product((16, 400, 32), (16, 64, 16)),
        "persistent": product((40, 56, 32), programs=4),
        "many-programs": product((160, 160, 8), (4, 4, 4)),
    }
    return made | {bug.replace(" ", "-"): product(bug=bug) for bug in BUGS}
