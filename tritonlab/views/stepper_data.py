"""The data of a stepper: a launch's steps laid out once, and read back.

Equal values are stored once and steps point to them, so that a step costs the browser a few look-ups.
``recorded_steps`` reads the data back into the trace's own records; a test compares the two element by element.
"""

from __future__ import annotations

import ast
import json
import textwrap
from collections import Counter
from typing import Any

import numpy as np

from ..trace.record import Access, Launch, Local, Program, Step, trim
from .touches import arg_data, linear
from .values import MAX_LANES, decode, encode
from .words import access_words, shown_program, step_words, value_words

__all__ = ["MAX_BYTES", "MAX_STEPS", "Layout", "recorded_accesses", "recorded_steps"]

MAX_STEPS = 20_000
"""Steps of one view, all its programs together; later ones are left out, and the view says so."""
MAX_BYTES = 8_000_000
"""Encoded values of one view, in characters; past that, values are left out, and the view says so."""


class Layout:
    """Pools of values, locals, accesses and texts, each stored once, and the steps that point to them."""

    def __init__(self, launch: Launch, error: BaseException | None = None) -> None:
        self.launch = launch
        self.error = error if launch.error else None
        self.values: list[dict[str, Any]] = []
        self.locals: list[dict[str, Any]] = []
        self.accesses: list[dict[str, Any]] = []
        self.texts: list[str] = []
        self.functions: list[dict[str, Any]] = []
        self.at: dict[Any, int] = {}
        self.met: dict[int, tuple[int | None, np.ndarray]] = {}  # holds the array too, so that its id stays its own
        self.bytes = 0
        self.left_out = 0

    def _once(self, pool: list, key: Any, make: Any) -> int:
        """Position in ``pool`` of what ``make`` makes, made the first time that ``key`` is met."""
        if (id(pool), key) not in self.at:
            made = make()
            self.at[id(pool), key] = len(pool)
            pool.append(made)
        return self.at[id(pool), key]

    def _value(self, values: Any) -> int | None:
        if isinstance(values, np.ndarray) and values.size > 1:  # most steps share the arrays of the step before
            if id(values) not in self.met:
                self.met[id(values)] = (self._encoded(values), values)
            return self.met[id(values)][0]
        return self._encoded(values)

    def _encoded(self, values: Any) -> int | None:
        packed = encode(values)
        if packed is None:
            return None
        key = json.dumps(packed)
        if (id(self.values), key) not in self.at:
            if self.bytes + len(key) > MAX_BYTES:
                self.left_out += 1
                return None
            self.bytes += len(key)
        return self._once(self.values, key, lambda: packed | _scale(values))

    def _local(self, local: Local) -> int:
        value = self._value(local.values)
        key = (local.name, local.dtype, local.shape, local.arg, value)
        made = {"name": local.name, "dtype": local.dtype, "shape": list(local.shape), "value": value}
        if local.arg is not None:
            made["arg"] = local.arg
        return self._once(self.locals, key, lambda: made | {"say": value_words(local)})

    def _access(self, at: int) -> int:
        return self._once(self.accesses, at, lambda: self._describe(at, self.launch.accesses[at]))

    def _describe(self, at: int | None, access: Access) -> dict[str, Any]:
        return {
            "at": at,
            "kind": access.kind,
            "arg": access.arg,
            "program": list(access.program),
            "line": access.line,
            "function": access.function,
            "step": access.step,
            "other": access.other,
            "offsets": self._value(access.offsets),
            "mask": self._value(access.mask),
            "values": self._value(access.values),
        }

    def _function(self, name: str) -> int:
        return self._once(self.functions, name, lambda: self._source(name))

    def _source(self, name: str) -> dict[str, Any]:
        known = self.launch.functions.get(name)
        if known is None:  # no source in the trace: at least the lines that ran
            ran = {s.line: s.text for steps in self.launch.steps.values() for s in steps if s.function == name}
            first = min(ran, default=1)
            lines = [ran.get(n, "…") for n in range(first, max(ran, default=0) + 1)]
            return {"name": name, "first": first, "lines": lines, "parameters": []}
        lines = known.source.expandtabs(4).splitlines()
        return {"name": name, "first": known.first_line, "lines": lines, "parameters": _parameters(known.source)}

    def _program(self, program: Program, room: int) -> dict[str, Any]:
        all_steps = self.launch.steps[program]
        steps = all_steps[:room]
        times = Counter((s.function, s.line) for s in all_steps)
        seen: Counter = Counter()
        made = []
        for s in steps:
            place = (s.function, s.line)
            seen[place] += 1
            names = [local.name for local in s.locals]
            bound = self._bound(s)
            made.append(
                {
                    "function": self._function(s.function),
                    "depth": s.depth,
                    "line": s.line,
                    "text": self._once(self.texts, s.text, lambda: s.text),
                    "time": seen[place],
                    "times": times[place],
                    "locals": [self._local(local) for local in s.locals],
                    "changed": [names.index(name) if name in names else name for name in s.changed],
                    "bound": [names.index(name) for name in bound],
                    "accesses": [self._access(i) for i in s.accesses],
                    "say": step_words(self.launch, s, seen[place], times[place], bound),
                }
            )
        _mark_callers(made)
        return {
            "program": list(program),
            "name": shown_program(program, self.launch.grid),
            "index": linear(program, self.launch.grid),
            "left_out": len(all_steps) - len(steps),
            "stops": self._stop(program, made),
            "steps": made,
        }

    def _bound(self, step: Step) -> list[str]:
        """Parameters that got their values when the function was entered, not by this line.

        At the first line of a call the trace reports all variables as changed, parameters too.
        """
        if {local.name for local in step.locals} != set(step.changed):
            return []
        parameters = self.functions[self._function(step.function)]["parameters"]
        return [name for name in step.changed if name in parameters]

    def _stop(self, program: Program, steps: list[dict[str, Any]]) -> dict[str, Any] | None:
        """Where and with which message this program ended the launch; None when it did not."""
        if not self.launch.error or not steps:
            return None
        # Without the error itself: the launch ended in the program that ran last.
        last = max([*self.launch.steps, *(a.program for a in self.launch.accesses)], key=lambda p: p[::-1])
        if getattr(self.error, "program", last) != program:
            return None
        line, function = getattr(self.error, "line", steps[-1]["line"]), getattr(self.error, "function", "")
        at = len(steps) - 1
        for i, s in enumerate(steps):
            if s["line"] == line and function in ("", self.functions[s["function"]]["name"]):
                at = i
        hint = getattr(self.error, "hint", "")
        refused = _refused(self.error, at)
        if refused is not None:
            arg = next((a for a in self.launch.args if a.name == refused.arg), None)
            steps[at]["refused"] = [self._once(self.accesses, "refused", lambda: self._describe(None, refused))]
            steps[at]["say"] = f"{steps[at]['say'].partition(': ')[0]}: {access_words(refused, arg)}"
        for s in steps[at + 1 :]:
            s["say"] = f"{s['say'].partition(': ')[0]}: the error ends this call"
        if refused is None:
            steps[at]["say"] = f"{steps[at]['say'].partition(': ')[0]}: the launch ends here with an error"
        return {"message": f"{self.launch.error}\nWay out: {hint}" if hint else self.launch.error, "line": line, "step": at}

    def data(self, programs: list[Program]) -> dict[str, Any]:
        self._function(self.launch.kernel)
        made, room = [], MAX_STEPS
        for program in programs:
            made.append(self._program(program, room))
            room -= len(made[-1]["steps"])
        return {
            "kernel": self.launch.kernel,
            "grid": list(trim(self.launch.grid)),
            "args": [arg_data(a) for a in self.launch.args],
            "functions": self.functions,
            "programs": made,
            "accesses": self.accesses,
            "locals": self.locals,
            "values": self.values,
            "texts": self.texts,
            "limits": {"lanes": MAX_LANES, "values_left_out": self.left_out},
        }


def _mark_callers(steps: list[dict[str, Any]]) -> None:
    """Give each step inside a device function its callers, nearest first, as [function, line].

    A call's line completes after the lines of the function that it calls, so the caller is the next
    step one level up.
    """
    later: dict[int, dict[str, Any]] = {}
    for step in reversed(steps):
        depth = step["depth"]
        later[depth] = step
        step["callers"] = [[later[d]["function"], later[d]["line"]] for d in range(depth - 1, -1, -1) if d in later]


def _scale(values: Any) -> dict[str, Any]:
    """Smallest and largest finite lane of a block, for its picture."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
        return {}
    finite = values[np.isfinite(values)]
    return {"low": float(finite.min()), "high": float(finite.max())} if finite.size else {}


def _parameters(source: str) -> list[str]:
    """Names of a function's parameters, in order; none when the source cannot be read."""
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:
        return []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            return [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return []


def _refused(error: BaseException | None, step: int) -> Access | None:
    """The access that the guard refused, from its error; the trace does not hold it, because it never happened."""
    found = [getattr(error, name, None) for name in ("kind", "arg", "program", "line", "offsets", "mask")]
    if any(value is None for value in found):
        return None
    kind, arg, program, line, offsets, mask = found
    offsets = np.asarray(offsets, dtype=np.int64)
    mask = np.broadcast_to(np.asarray(mask, dtype=bool), offsets.shape).copy()
    return Access(kind, arg, program, line, offsets, mask, function=getattr(error, "function", ""), step=step)


def recorded_accesses(data: dict[str, Any]) -> dict[int, Access]:
    """The accesses in a stepper's data as the trace's records, by position in ``Launch.accesses``."""
    values = [decode(v) for v in data["values"]]
    out = {}
    for a in data["accesses"]:
        if a["at"] is None:  # refused by the guard: it is in the view, but never happened
            continue
        got = {k: None if a[k] is None else values[a[k]] for k in ("offsets", "mask", "values")}
        plain = {k: a[k] for k in ("kind", "arg", "line", "other", "function", "step")}
        out[a["at"]] = Access(program=tuple(a["program"]), **plain, **got)
    return out


def recorded_steps(data: dict[str, Any]) -> dict[Program, tuple[Step, ...]]:
    """The steps in a stepper's data as the trace's own records: exactly what was traced, unless something was left out."""
    values = [decode(v) for v in data["values"]]
    known = [
        Local(v["name"], v["dtype"], tuple(v["shape"]), None if v["value"] is None else values[v["value"]], v.get("arg"))
        for v in data["locals"]
    ]
    out = {}
    for p in data["programs"]:
        program = tuple(p["program"])
        steps = []
        for s in p["steps"]:
            here = tuple(known[i] for i in s["locals"])
            steps.append(
                Step(
                    program=program,
                    function=data["functions"][s["function"]]["name"],
                    depth=s["depth"],
                    line=s["line"],
                    text=data["texts"][s["text"]],
                    locals=here,
                    changed=tuple(c if isinstance(c, str) else here[c].name for c in s["changed"]),
                    accesses=tuple(data["accesses"][i]["at"] for i in s["accesses"]),
                )
            )
        out[program] = tuple(steps)
    return out
