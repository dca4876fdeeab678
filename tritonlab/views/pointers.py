"""The pointer picture: the index that each lane means against the place in memory that its pointer reaches.

Python places the lanes and finds how the pointers came to be (``analysis.pointers``); ``pointers.js`` draws and links them.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np

from ..analysis.lanes import line_text
from ..analysis.pointers import ASTRAY, MASKED, OUT, Placed, place, stride_names
from ..trace.record import Access, Launch, Program, TensorArg, Trace
from .base import View, plain
from .touches import arg_data, linear, program_given
from .values import encode
from .words import shown_program

__all__ = ["PointersView", "pointers", "samples"]

LANES = 1 << 17
"""Lanes that travel to the browser, of all programs and variants together, the program to begin with first."""


class PointersView(View):
    """A tensor as rows and columns and as flat memory, one access's lanes in both, and how their pointers came to be."""

    module = "pointers.js"
    parts = ("stepper_pictures.js", "pointers_model.js", "pointers_matrix.js", "pointers_memory.js", "pointers_steps.js")


def pointers(
    t: Trace | Launch | dict[str, Trace | Launch], arg: str | None = None, program: int | Program | None = None, line: int | None = None
) -> PointersView:
    """Show where the pointers of a launch lead: each lane's index (i, j) against its offset in flat memory.

    ``t``: a trace with one launch, or one of ``t.launches``; or several of them by name, between which the view switches::

        a = torch.arange(120.0).reshape(10, 12)
        bugs = ["right", "scaled twice", "start not scaled", "chunk added twice", "mask on arange"]
        lab.views.pointers({bug: lab.trace(lambda: row_sums(a, BUG=bug), step=[0, 1, 2], errors="keep") for bug in bugs})

    where ``row_sums`` launches a kernel with the constexpr ``BUG``. The first is the one that the others are compared with,
    program by program and access by access, as far as block and tensor have the same shape: a lane on another element than
    there stands out. Tensors of other strides (transposed, sliced, expanded) are compared by index, not by offset.

    ``arg``: the tensor argument (default: the first of two or more axes that is loaded, else the first touched; the view offers
    the others). ``program``: the program to begin with, a number or its ids (default: one with lanes out of range or astray, in as many
    variants as possible; else one that was stepped; with masked lanes, if there is one). ``line``: only accesses of that source line.

    With ``lab.trace(..., step=...)`` the view shows for the stepped programs how the pointers were built, expression by expression,
    with shapes; without steps only the offsets. Tensors of three or more axes are shown in slices along the last two.

    ``TypeError`` when ``t`` is none of these, and for a program that is no number and no ids; ``ValueError`` when a trace holds no launch or several, for an argument,
    a program or a line that the launch does not have, and when no access is left to show.
    """
    named = t if isinstance(t, dict) else {"": t}
    if not named:
        raise ValueError("t is an empty dict; give it a trace for each name")
    launches = {_name(n): _launch(v, n) for n, v in named.items()}
    chosen = {n: _accesses(launch, arg, line) for n, launch in launches.items()}
    first = next(iter(launches))
    shown = arg or _first_arg(launches[first], chosen[first])
    placed: dict[str, list[Placed]] = {}
    for n, launch in launches.items():
        own = chosen[n]
        against = {} if n == first else _by_turn(placed[first])
        placed[n] = [_placed(launch, a, turn, against) for a, turn in zip(own, _turns(own))]
    starts = _starts(launches, placed, shown, program)
    pool = _Pool()
    made = [_variant(n, launches[n], placed[n], starts[n], pool, LANES // len(launches)) for n in launches]
    data = {"variants": made, "values": pool.values, "arg": shown, "compared": first if len(made) > 1 else None}
    return PointersView(plain(data), _text(launches, placed, starts, shown))


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"the names of variants are str; got {name!r}")
    return name


def _launch(t: Any, name: str) -> Launch:
    whose = f"{name!r}: " if name else ""
    if isinstance(t, Launch):
        return t
    if isinstance(t, Trace):
        try:
            return _with_what_failed(t.launch, t.error)
        except ValueError as error:
            raise ValueError(f"{whose}{error}{f'; it ended by {type(t.error).__name__}: {t.error}' if t.error else ''}") from None
    hint = ""
    if callable(t):
        hint = "; hand it to lab.trace(...) first and show what that returns"
    elif isinstance(t, (tuple, list)) and t and all(isinstance(x, Launch) for x in t):
        hint = "; choose one of them, as in pointers(t.launches[0])"
    raise TypeError(f"{whose}pointers takes a Trace with one launch, a Launch, or a dict of these by name; got {type(t).__name__}{hint}")


def _with_what_failed(launch: Launch, error: Any) -> Launch:
    """The launch with the access that ended it, which the trace itself leaves out because nothing was touched."""
    offsets, mask, arg = (getattr(error, name, None) for name in ("offsets", "mask", "arg"))
    known = arg in {a.name for a in launch.args} and getattr(error, "kernel", launch.kernel) == launch.kernel
    if offsets is None or mask is None or not known:
        return launch
    program = tuple(error.program)
    function = getattr(error, "function", "")
    fits = [i for i, s in enumerate(launch.steps.get(program, ())) if s.line == error.line and function in ("", s.function)]
    offsets = np.asarray(offsets, np.int64)
    mask = np.broadcast_to(np.asarray(mask, bool), offsets.shape).copy()
    failed = Access(error.kind, arg, program, error.line, offsets, mask, function=function, step=fits[-1] if fits else None)
    return dataclasses.replace(launch, accesses=(*launch.accesses, failed))


def _accesses(launch: Launch, arg: str | None, line: int | None) -> list[Access]:
    known = [a.name for a in launch.args]
    if arg is not None and arg not in known:
        raise ValueError(f"arg is {arg!r}; {launch.kernel} has the tensor arguments {', '.join(known) or '(none)'}")
    touching = [a for a in launch.accesses if a.arg in known and (arg is None or a.arg == arg) and a.offsets.size]
    if line is not None:
        lines = sorted({a.line for a in touching})
        touching = [a for a in touching if a.line == line]
        if not touching and lines:
            raise ValueError(f"line is {line}; {arg or launch.kernel} is accessed in line {', '.join(str(n) for n in lines)}")
    if not touching:
        ended = f"; it ended by an error: {launch.error}" if launch.error else ""
        raise ValueError(f"{launch.kernel} loads and stores nothing{f' of {arg}' if arg else ''}: there is no pointer to show{ended}")
    return touching


def _first_arg(launch: Launch, accesses: list[Access]) -> str:
    loaded = [a for a in accesses if a.kind == "load"]
    wide = [a for a in loaded if len(launch.arg(a.arg).shape) > 1]
    return (wide or loaded or accesses)[0].arg


def _turns(accesses: list[Access]) -> list[tuple[Program, str, str, int]]:
    """For each access: its program, kind, argument and how many such there were before."""
    seen: dict[tuple, int] = {}
    out = []
    for a in accesses:
        key = (a.program, "load" if a.kind == "load" else "write", a.arg)
        seen[key] = seen.get(key, 0) + 1
        out.append((*key, seen[key]))
    return out


def _by_turn(placed: list[Placed]) -> dict[tuple, Placed]:
    return dict(zip(_turns([p.access for p in placed]), placed))


def _placed(launch: Launch, access: Access, turn: tuple, against: dict[tuple, Placed]) -> Placed:
    right = against.get(turn)
    axes = max(len(launch.arg(access.arg).shape), 1)
    same = right is not None and right.state.shape == access.offsets.shape and right.reached.shape[0] == axes
    return place(launch, access, right if same else None)


def _starts(
    launches: dict[str, Launch], placed: dict[str, list[Placed]], arg: str, program: int | Program | None
) -> dict[str, tuple[Program, int]]:
    """For each variant the program to begin with and which of its accesses: the same program for all that ran it."""
    own = {n: [p for p in placed[n] if p.access.arg == arg] for n in launches}
    first = next(iter(launches))
    if program is not None:
        common = _given(launches[first], own[first], program)
    else:
        wrong = [p.access.program for n in launches for p in {q.access.program: q for q in own[n] if _wrong(q)}.values()]
        ran = {p.access.program for p in own[first]}
        most = max(wrong, key=lambda p: (p in ran, wrong.count(p)), default=None)
        common = most if most is not None else _quiet(launches[first], own[first])
    out = {}
    for n in launches:
        here = common if any(p.access.program == common for p in own[n]) else _quiet(launches[n], own[n])
        accesses = [p for p in own[n] if p.access.program == here]
        out[n] = (here, next((i for i, p in enumerate(accesses) if _wrong(p)), 0))
    return out


def _wrong(p: Placed) -> bool:
    return bool(p.count(OUT) or p.count(ASTRAY))


def _quiet(launch: Launch, placed: list[Placed]) -> Program:
    """The program to begin with when no lane goes wrong: a stepped one, if there is any; one with masked lanes, if there is any."""
    stepped = [p for p in placed if launch.steps.get(p.access.program)] or placed
    masked = [p for p in stepped if p.count(MASKED)]
    return (masked or stepped)[0].access.program if stepped else (0, 0, 0)


def _given(launch: Launch, placed: list[Placed], program: int | Program) -> Program:
    ids = program_given(program, launch)
    there = sorted({p.access.program for p in placed}, key=lambda p: linear(p, launch.grid))
    if ids not in there:
        names = ", ".join(shown_program(p, launch.grid) for p in there[:6]) + (", …" if len(there) > 6 else "")
        raise ValueError(f"program is {program}, which has no such access; these have: {names or 'none'}")
    return ids


class _Pool:
    """Arrays for the browser, each once."""

    def __init__(self) -> None:
        self.values: list[dict[str, Any]] = []
        self.at: dict[str, int] = {}

    def put(self, array: np.ndarray | None) -> int | None:
        packed = encode(None if array is None else np.asarray(array))
        if packed is None:
            return None
        key = json.dumps(packed)
        if key not in self.at:
            self.at[key] = len(self.values)
            flat = np.asarray(array)
            low, high = (float(flat.min()), float(flat.max())) if flat.size and flat.dtype.kind in "iu" else (0.0, 0.0)
            self.values.append(packed | {"low": low, "high": high})
        return self.at[key]


def _variant(name: str, launch: Launch, placed: list[Placed], start: tuple[Program, int], pool: _Pool, lanes: int) -> dict[str, Any]:
    """A launch for the browser; the program to begin with and stepped ones first when not all fit."""
    touched = {p.access.arg for p in placed}
    ran = sorted({p.access.program for p in placed}, key=lambda p: (p != start[0], not launch.steps.get(p), linear(p, launch.grid)))
    programs, left = [], 0
    for program in ran:
        own = [p for p in placed if p.access.program == program]
        need = sum(p.state.size for p in own)
        if programs and need > lanes:
            left += 1
            continue
        lanes -= need
        programs.append(
            {
                "number": linear(program, launch.grid),
                "name": shown_program(program, launch.grid),
                "stepped": bool(launch.steps.get(program)),
                "accesses": [_access(launch, p, pool) for p in own],
            }
        )
    return {
        "name": name,
        "kernel": launch.kernel,
        "programs": sorted(programs, key=lambda p: p["number"]),
        "count": launch.programs,
        "left_out": left,
        "start": [linear(start[0], launch.grid), start[1]],
        "args": [arg_data(a) | {"names": list(stride_names(launch, a))} for a in launch.args if a.name in touched],
        "error": launch.error,
    }


def _access(launch: Launch, p: Placed, pool: _Pool) -> dict[str, Any]:
    a = p.access
    return {
        "arg": a.arg,
        "kind": a.kind,
        "line": a.line,
        "text": line_text(launch, a.function, a.line),
        "shape": list(a.offsets.shape),
        "offsets": pool.put(a.offsets),
        "state": pool.put(p.state),
        "reached": [pool.put(r) for r in p.reached],
        "meant": None if p.meant is None else [pool.put(m) for m in p.meant],
        "right": None if p.right is None else [pool.put(r) for r in p.right],
        "values": pool.put(None if a.values is None else np.broadcast_to(np.asarray(a.values), a.offsets.shape)),
        "stages": [
            {
                "text": s.text, "filled": s.filled, "line": s.line, "values": pool.put(s.values), "shape": list(s.shape), "arg": s.arg,
                "axes": list(s.axes), "times": s.times, "wide": None if s.wide is None else list(s.wide),
            }
            for s in p.steps.stages
        ],
        "terms": [
            {"times": t.times, "factors": [{"text": f.text, "shape": list(f.values.shape), "values": pool.put(f.values)} for f in t.factors]}
            for t in p.steps.terms
        ],
        "note": p.steps.note,
    }  # fmt: skip


def _text(launches: dict[str, Launch], placed: dict[str, list[Placed]], starts: dict[str, tuple[Program, int]], arg: str) -> str:
    if len(launches) == 1:
        name, launch = next(iter(launches.items()))
        return f"{_tensor(launch.arg(arg))}, {_program(launch, placed[name], starts[name], arg)}"
    first = next(iter(launches.values()))
    tensors = {_tensor(launch.arg(arg)) for launch in launches.values() if arg in {a.name for a in launch.args}}
    alike = len(tensors) == 1
    said = []
    for name, launch in launches.items():
        own = f"{_tensor(launch.arg(arg))}, " if not alike and arg in {a.name for a in launch.args} else ""
        said.append(f"{name}: {own}{_program(launch, placed[name], starts[name], arg)}")
    return f"{_tensor(first.arg(arg)) if alike else arg} in {len(launches)} variants; {'; '.join(said)}"


def _tensor(arg: TensorArg) -> str:
    strides = f"({arg.strides[0]},)" if len(arg.strides) == 1 else str(tuple(arg.strides))
    return f"{arg.name} {'×'.join(str(n) for n in arg.shape) or 'scalar'}, strides {strides}"


def _program(launch: Launch, placed: list[Placed], start: tuple[Program, int], arg: str) -> str:
    own = [p for p in placed if p.access.arg == arg and p.access.program == start[0]]
    lanes = sum(p.state.size for p in own)
    times = f" in {len(own)} accesses" if len(own) > 1 else ""
    states = ((MASKED, "masked"), (OUT, "out of range"), (ASTRAY, "astray"))
    said = [f"{sum(p.count(s) for p in own)} {name}" for s, name in states if any(p.count(s) for p in own)]
    return f"program {shown_program(start[0], launch.grid)}: {', '.join([f'{lanes} lane' + 's' * (lanes != 1) + times, *said])}"


def samples() -> list[tuple[str, View]]:
    """Pointer pictures of the four bugs and of four layouts, of one axis and three, with steps and without, on records made by hand."""
    from . import pointers_specimens as p
    from . import specimens as s
    from . import stepped

    bugs = {bug: p.row_sums(bug) for bug in p.BUGS}
    layouts = {layout: p.row_sums(layout=layout) for layout in p.LAYOUTS}
    return [
        ("pointers-bugs", pointers(bugs)),
        *((f"pointers-{bug.replace(' ', '-')}", pointers(t)) for bug, t in bugs.items()),
        ("pointers-layouts", pointers(layouts, arg="a_ptr", program=1)),
        *((f"pointers-{layout}", pointers(t, arg="a_ptr", program=1)) for layout, t in layouts.items() if layout != "contiguous"),
        ("pointers-no-steps", pointers(p.row_sums(steps=False), program=1)),
        ("pointers-one-axis", pointers(stepped.vector_add())),
        ("pointers-one-axis-out", pointers(stepped.refused())),
        ("pointers-batched", pointers(p.batched())),
        ("pointers-matmul", pointers(s.matmul(200, 180, 96, 64, 32), program=(1, 2))),
        ("pointers-wide", pointers(stepped.row_sums())),
    ]
