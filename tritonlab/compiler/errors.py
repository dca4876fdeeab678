"""What the compiler refuses, at the learner's line and with the way out."""

from __future__ import annotations

import ast
import re
import textwrap
from typing import Any

from ..errors import KernelError
from .hints import HINTS, NODES
from .request import Request

__all__ = ["CompileError", "explain"]

_CLANG = re.compile(r'(?:loc\()?"?([\w.]+)"?:(\d+):\d+\)?: error: (.*)')
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class CompileError(KernelError):
    """A kernel that Triton's compiler refuses for ``target``, and a GPU would refuse at its first launch.

    ``line`` and ``text`` are the learner's, ``function`` the function that they are in; ``original`` is None: the
    compiler ran in another process. ``raw`` is the compiler's own message.
    """

    target: str = ""
    raw: str = ""

    def where(self) -> str:
        """In which kernel and line, and for which target, in words."""
        inside = self.kernel if self.function in ("", self.kernel) else f"{self.function} (called by {self.kernel})"
        line = f", line {self.line}" if self.line else ""
        return f"{inside}{line}, compiled for {self.target}"


def explain(wanted: Request, error: dict[str, Any]) -> CompileError:
    """The error for an answer of the worker that is none."""
    functions = {name: _Function(name, f) for name, f in wanted.functions.items()}
    raw, function, line = _found(error, functions, wanted.kernel)
    message, hint, line = _told(raw, function, line, wanted)
    made = CompileError(message, hint)
    made.kernel, made.target, made.grid, made.raw = wanted.kernel, wanted.target, wanted.grid, raw
    if function is not None:
        made.function, made.line = function.name, line
        made.text, made.excerpt = function.text(line).strip(), function.excerpt(line)
    return made


class _Function:
    """A learner's function as far as errors look at it: its text and where it stands."""

    def __init__(self, name: str, jit: Any) -> None:
        self.name, self.jit = name, jit
        self.first, self.lines = jit.starting_line_number, [line.rstrip("\n") for line in jit.raw_src]
        self.definition = self.first + next((i for i, t in enumerate(self.lines) if t.lstrip().startswith("def ")), 0)

    def text(self, line: int) -> str:
        i = line - self.first
        return self.lines[i] if 0 <= i < len(self.lines) else ""

    def excerpt(self, line: int, around: int = 2) -> tuple[tuple[int, str], ...]:
        first, last = max(self.first, line - around), min(self.first + len(self.lines) - 1, line + around)
        texts = textwrap.dedent("\n".join(self.text(n) for n in range(first, last + 1))).split("\n")
        return tuple(zip(range(first, last + 1), texts))

    def tree(self) -> ast.AST:
        """The function, its nodes numbered as in the learner's file."""
        return ast.increment_lineno(ast.parse(textwrap.dedent("\n".join(self.lines))), self.first - 1)


def _found(error: dict[str, Any], functions: dict[str, _Function], kernel: str) -> tuple[str, _Function | None, int]:
    """The compiler's message, and the learner's function and line that it is about."""
    own = functions.get(kernel)
    if "ended" in error:
        return _ending(error), own, own.definition if own else 0
    chain = error["chain"]
    messages = [c["message"] for c in chain if c["message"]]
    message = messages[-1] if messages else chain[-1]["type"]
    if chain[-1]["type"] == "KeyError" and len(messages) > 1:
        message = f"KeyError: {message}"
    place = None
    for link in chain:
        function = next((f for f in functions.values() if link["src"] is not None and f.jit.src == link["src"]), None)
        if function is not None and link["line"] is not None:
            place = (function, function.definition + link["line"] - 1)
    if place is None:
        placed = next((m for m in _CLANG.finditer(error.get("printed", "")) if m[1] in functions), None)
        if placed:
            return placed[3], functions[placed[1]], int(placed[2])
    if place is None:
        return message, own, own.definition if own else 0
    return message, place[0], place[1]


def _ending(error: dict[str, Any]) -> str:
    if error["ended"] == "timeout":
        return f"the compiler had not finished after {error['seconds']:.0f} s"
    said = re.findall(r"(?:LLVM ERROR|error|Assertion).*", error.get("printed", ""))
    return f"the compiler crashed ({error['ended']})" + (f": {said[-1].strip()[:300]}" if said else "")


def _told(raw: str, function: _Function | None, line: int, wanted: Request) -> tuple[str, str, int]:
    """Message, hint and line in a learner's words."""
    raw = _ADDRESS.sub("", raw)
    for pattern, message, hint in HINTS:
        found = re.search(pattern, raw)
        if found:
            words = {f"g{i}": _type(g) for i, g in enumerate(found.groups(), 1)} | {"target": wanted.target}
            if "g1" in words and pattern.startswith("unsupported AST node"):
                node = words["g1"]
                words["what"], words["instead"] = NODES.get(node, (f"a Python {node.lower()}", "write it with tl functions"))
            line = _better_line(raw, found, function, line, wanted)
            return message.format(**words), hint.format(**words), line
    return raw.removeprefix("AssertionError: "), "", line


def _type(text: str) -> str:
    """A block's type in words: <['16', '4'], fp32> → a block [16, 4] of fp32."""
    return re.sub(r"<\[([^\]]*)\], (\w+)>", lambda m: f"a block [{m[1].replace(chr(39), '')}] of {m[2]}", text)


def _better_line(raw: str, found: re.Match[str], function: _Function | None, line: int, wanted: Request) -> int:
    """Where to look, when that is not the line the compiler stopped at."""
    if function is None:
        return line
    if raw.startswith("Loop-carried"):
        before = [
            n.lineno
            for n in ast.walk(function.tree())
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id == found[1] and n.lineno < line
        ]
        return max(before, default=line)
    if "SCF" in raw:
        inside = [n.lineno for n in ast.walk(function.tree()) if isinstance(n, ast.Return) and n.lineno > line]
        return min(inside, default=line)
    if raw.startswith("Unsupported function"):
        return _calling(function, found[1]) or line
    return line


def _calling(function: _Function, shown: str) -> int | None:
    """The line on which a function calls something whose repr is ``shown``."""
    scope = {**function.jit.fn.__globals__}
    for node in ast.walk(function.tree()):
        if isinstance(node, ast.Call):
            value: Any = None
            try:
                first, *rest = ast.unparse(node.func).split(".")
                value = scope.get(first)
                for name in rest:
                    value = getattr(value, name, None)
            except Exception:
                continue
            if value is not None and _ADDRESS.sub("", repr(value)) == shown:
                return node.lineno
    return None
