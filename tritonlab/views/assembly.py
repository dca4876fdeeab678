"""What the compiler made of each source line: the kernel beside its PTX or SASS."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from ..compiler.record import AsmLine, Compiled
from .base import View

__all__ = ["AssemblyView", "assembly", "samples"]

STAGES = ("sass", "ptx")
_COMMENT = re.compile(r"\s*//.*$")


class AssemblyView(View):
    """Source beside PTX or SASS; a line on one side lights up its partners on the other."""

    module = "assembly.js"


def assembly(c: Compiled, stage: str = "sass", line: int | None = None) -> AssemblyView:
    """Show a compiled kernel's instructions beside the source lines that they came from.

    ``c``: what ``lab.compile`` returned for one launch. ``stage``: ``"sass"`` (the GPU's own code) or ``"ptx"`` to begin
    with; the view offers both. ``line``: the source line to begin at (default: the first that loads from global memory).

    ``TypeError`` when ``c`` is not one ``Compiled``; ``ValueError`` for an unknown stage and for a line that made nothing.
    """
    one(c, "assembly")
    if stage not in STAGES:
        raise ValueError(f"stage is {stage!r}; it can be 'sass' or 'ptx'")
    made = {line.function for lines in c.lines.values() for line in lines if line.line}
    functions = [f for f in c.functions if f.name == c.kernel or f.name in made]
    names = [f.name for f in functions]
    stages = {name: _stage(c.lines.get(name, ()), names) for name in STAGES}
    data = {
        "kernel": c.kernel,
        "target": c.target,
        "functions": [
            {"name": f.name, "first": f.first_line, "lines": textwrap.dedent(f.source).rstrip("\n").split("\n")}
            for f in functions
        ],
        "stages": stages,
        "start": {"stage": stage, "place": _start(c, stage, line, names)},
    }
    text = f"{c.kernel} {c.target}: {c.sass.total} SASS and {c.ptx.total} PTX instructions of {_count(_places(c), 'source line')}"
    return AssemblyView(data=data, text=text)


def one(c: Any, what: str) -> None:
    """``TypeError`` unless ``c`` is a ``Compiled``, with the way out."""
    if isinstance(c, Compiled):
        return
    hint = ""
    if callable(c):
        hint = "; hand it to lab.compile(...) first and show what that returns"
    elif isinstance(c, (list, tuple)) or hasattr(c, "items"):
        hint = f"; choose one of them, as in {what}(c[0])"
    raise TypeError(f"{what} takes what lab.compile returns for one launch; got {type(c).__name__}{hint}")


def _stage(lines: tuple[AsmLine, ...], names: list[str]) -> dict[str, Any]:
    """Instructions and labels as [text, kind ("" for a label), function, line (0: none), bytes a thread (0: moves none)]."""
    rows = []
    for line in lines:
        text = re.sub(r"\s+", " ", _COMMENT.sub("", line.text)).strip().removesuffix(";").rstrip()
        if line.opcode:
            f = names.index(line.function) if line.function in names else 0
            rows.append([text, line.kind, f, line.line or 0, line.bytes])
        elif re.fullmatch(r"[.$\w]+:", text) and not re.match(r"\$L__(tmp|func)", text):
            rows.append([text, "", 0, 0, 0])
    return {"rows": rows, "total": sum(bool(r[1]) for r in rows)}


def _places(c: Compiled) -> int:
    return len({(line.function, line.line) for stage in STAGES for line in c.lines.get(stage, ()) if line.opcode and line.line})


def _start(c: Compiled, stage: str, wanted: int | None, names: list[str]) -> list[int] | None:
    """[function, line] to begin at."""
    code = [line for line in c.lines.get(stage, ()) if line.opcode and line.line and line.function in names]
    if wanted is not None:
        for line in code:
            if line.line == wanted:
                return [names.index(line.function), wanted]
        made = ", ".join(str(n) for n in sorted({line.line for line in code if line.line}))
        raise ValueError(f"line is {wanted!r}, and no {stage.upper()} came from there; it came from line {made}")
    for kinds in (("global load", "async copy", "TMA"), ("global store",), None):
        found = [line for line in code if kinds is None or line.kind in kinds]
        if found:
            first = min(found, key=lambda line: line.line or 0)
            return [names.index(first.function), first.line or 0]
    return None


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def samples() -> list[tuple[str, AssemblyView]]:
    """A vector add, in SASS and in PTX."""
    from .specimens_compiled import vector_add

    c = vector_add()
    return [("assembly-sass", assembly(c)), ("assembly-ptx", assembly(c, "ptx", line=c.functions[0].first_line + 6))]
