"""What one executed line does, in one sentence: the caption of a step.

Pure functions of a launch's records; ``stepper`` calls them once a step, so that the browser
has nothing to work out and tests can read what a learner will read.
"""

from __future__ import annotations

from typing import Sequence

import numpy as np

from ..trace.record import Access, Launch, Local, Step, TensorArg, short
from .values import number, span

__all__ = ["access_words", "outside", "shown_program", "step_words", "value_words"]


def ordinal(n: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th, 21st ..."""
    suffix = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{suffix}"


def shown_program(program: tuple[int, int, int], grid: tuple[int, int, int]) -> str:
    """A program as the kernel names it: "15" in a grid of one axis, "(1, 0)" in one of two."""
    axes = 3 if grid[2] > 1 else 2 if grid[1] > 1 else 1
    return short(program) if axes == 1 else str(tuple(program[:axes]))


def outside(access: Access, arg: TensorArg) -> np.ndarray:
    """Which lanes are on and point to no element of ``arg``: bool, block-shaped."""
    offsets = access.offsets
    bad = (offsets < 0) | (offsets >= arg.extent)
    if arg.numel < arg.extent:  # a strided view: the gaps between its elements are outside too
        bad = bad | ~np.isin(offsets, arg.offsets())
    return bad & access.mask


def _place(name: str, touched: np.ndarray) -> str:
    """``x_ptr[960…999]`` for offsets without a gap, and what the gaps are otherwise."""
    found = np.unique(touched)
    low, high = int(found[0]), int(found[-1])
    if found.size == 1:
        return f"{name}[{number(low)}]"
    where = f"{name}[{number(low)}…{number(high)}]"
    gaps = np.diff(found)
    if (gaps == 1).all():
        return where
    if (gaps == gaps[0]).all():
        return f"every {ordinal(int(gaps[0]))} element of {where}"
    pieces = 1 + int((gaps > 1).sum())
    if 2 * pieces <= found.size:
        return f"{found.size} elements of {where} in {pieces} pieces"
    return f"{found.size} elements of {where}"


def access_words(access: Access, arg: TensorArg | None) -> str:
    """"tl.load reads x_ptr[960…999], 24 of 64 lanes masked"."""
    verb = {"load": "tl.load reads", "store": "tl.store writes"}.get(access.kind, f"tl.{access.kind} updates")
    lanes, on = access.mask.size, int(access.mask.sum())
    if not on:
        every = "its lane is masked" if lanes == 1 else f"all {lanes} lanes are masked"
        return f"{verb} nothing of {access.arg}: {every}"
    bad = outside(access, arg) if arg is not None else np.zeros_like(access.mask)
    inside = access.offsets[access.mask & ~bad]
    n_bad = int(bad.sum())
    if n_bad:
        beyond = _place(access.arg, access.offsets[bad])
        reach = f"its offsets are 0…{number(arg.extent - 1)}" if arg.extent else "it has no elements"
        who = "its lane points" if lanes == 1 else f"{n_bad} of {lanes} lanes point"
        call, astray = verb.rsplit(" ", 1)[0], access.offsets[bad]
        if arg.numel and ((astray >= 0) & (astray < arg.extent)).all():
            text = f"{call} goes astray: {who} to {beyond}, between the elements of {access.arg} (its strides are {tuple(arg.strides)})"
        else:
            text = f"{call} goes out of range: {who} to {beyond}, outside {access.arg} ({reach})"
    else:
        text = f"{verb} {_place(access.arg, inside)}"
        repeated = inside.size - np.unique(inside).size
        if repeated:
            text += f", {inside.size} lanes on {inside.size - repeated} element{'s' * (inside.size - repeated > 1)}"
    return f"{text}, {lanes - on} of {lanes} lanes masked" if on < lanes else text


def value_words(local: Local) -> str:
    """The value of a local in a few characters: "15", "960…1023", "40 of 64 on", "x_ptr[960…1023]"."""
    values = local.values
    if values is None:
        return "no value kept"
    if not isinstance(values, (np.ndarray, np.generic)):
        return number(values) if isinstance(values, (int, float)) else str(values)
    values = np.asarray(values)
    if local.dtype.startswith("pointer"):
        return f"{local.arg or '?'}[{span(values)}]"
    if local.dtype == "int1":
        values = values.astype(bool)
        return str(bool(values)) if values.ndim == 0 else span(values)
    return number(values[()]) if values.ndim == 0 else span(values)


def _becomes(local: Local) -> str:
    if local.shape:
        lanes = "×".join(str(n) for n in local.shape)
        what = f"{lanes} lanes, {value_words(local)}"
        return f"{local.name} points to {what}" if local.dtype.startswith("pointer") else f"{local.name} becomes {what}"
    verb = "points to" if local.dtype.startswith("pointer") else "becomes"
    return f"{local.name} {verb} {value_words(local)}"


def step_words(launch: Launch, step: Step, time: int = 1, times: int = 1, bound: Sequence[str] = ()) -> str:
    """The sentence of a step: where it is, then what it touches, or else what it sets.

    ``time`` of ``times``: this is the how-manieth time that the program executes the line. ``bound``: changed
    names that are not this line's doing (the parameters of a function that was just entered).
    """
    again = f" ({ordinal(time)} time of {times})" if times > 1 else ""
    inside = f" in {step.function}" if step.depth else ""
    where = f"Line {step.line}{again}{inside}, program {shown_program(step.program, launch.grid)}"
    args = {a.name: a for a in launch.args}
    said = [access_words(launch.accesses[i], args.get(launch.accesses[i].arg)) for i in step.accesses]
    if not said:
        now = {local.name: local for local in step.locals}
        said = [_becomes(now[name]) for name in step.changed if name in now and name not in bound]
    if not said:
        head = step.text.strip()
        said = ["returns to its caller" if step.depth and head.startswith("return") else "no variable changes"]
    return f"{where}: {'; '.join(said)}"


