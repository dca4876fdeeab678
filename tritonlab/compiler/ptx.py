"""Read PTX: its instructions, and the source line of each."""

from __future__ import annotations

import re
from dataclasses import replace

from .kinds import ptx_kind, width
from .record import AsmLine

__all__ = ["Place", "read_ptx", "trimmed"]

Place = tuple[str, int]
"""A source line: the file's label and the line number."""

_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*?inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
_FILE = re.compile(r"^\s*\.file\s+(\d+)\s+((?:\"[^\"]*\"\s*)+)", re.M)
_SECTION = re.compile(r"^\s*\.(file|section)\s", re.M)
_AT = re.compile(r"([^\s\[\]@]+):(\d+):(\d+)")
_LABEL = re.compile(r"^[$\w]+:\s*")
_PREDICATE = re.compile(r"^@!?%?\w+\s+")


def trimmed(ptx: str) -> str:
    """PTX without the debug sections that follow the code."""
    ends = _SECTION.search(ptx)
    return (ptx[: ends.start()] if ends else ptx).rstrip() + "\n"


def files(ptx: str) -> dict[str, str]:
    """The file table: number → name without directory, "triton/..." for Triton's own files."""
    table = {}
    for number, names in _FILE.findall(ptx):
        name = "/".join(re.findall(r'"([^"]*)"', names))
        table[number] = "triton/" + name.rsplit("/", 1)[-1] if "/triton/" in name else name.rsplit("/", 1)[-1]
    return table


def read_ptx(ptx: str, known: set[str]) -> tuple[AsmLine, ...]:
    """The lines of PTX. Each gets the innermost source line whose file's label is one of ``known`` (as ``function``)."""
    table = files(ptx)
    chains: dict[tuple[str, str, str], list[Place]] = {}
    place: Place | None = None
    made: list[AsmLine] = []
    depth, pending, inline = 0, "", False
    for number, text in enumerate(trimmed(ptx).splitlines(), 1):
        code, _, comment = text.partition("//")
        code = code.strip()
        if comment.strip().endswith(" inline asm"):
            inline = comment.strip().startswith("begin")
        loc = _LOC.match(code)
        if loc and inline:  # LLVM numbers the lines of inline assembly from its source line on (Triton 3.8)
            made.append(AsmLine(number, text))
            continue
        if loc:
            place = _place(_chain(loc, comment, table, chains), known)
            made.append(AsmLine(number, text))
            continue
        line = AsmLine(number, text, function=place[0] if place else "", line=place[1] if place else None)
        opcode, depth, pending = _opcode(code, depth, pending)
        if opcode:
            kind = ptx_kind(opcode)
            line = replace(line, opcode=opcode, kind=kind, bytes=width(opcode) if kind in ("global load", "global store") else 0)
        elif depth == 0:
            place = None if code == "}" else place
            line = AsmLine(number, text)
        made.append(line)
    return tuple(made)


def _chain(
    loc: re.Match[str], comment: str, table: dict[str, str], chains: dict[tuple[str, str, str], list[Place]]
) -> list[Place]:
    """From the innermost line outwards, through the functions that were inlined."""
    file, line, column, *at = loc.groups()
    here = (table.get(file, ""), int(line))
    if at[0] is not None:
        chain = [here, *chains.get((at[0], at[1], at[2]), [(table.get(at[0], ""), int(at[1]))])]
    else:
        chain = [here, *((name, int(n)) for name, n, _ in _AT.findall(comment)[1:])]
    chains[(file, line, column)] = chain
    return chain


def _place(chain: list[Place], known: set[str]) -> Place | None:
    return next(((file, line) for file, line in chain if file in known and line > 0), None)


def _opcode(code: str, depth: int, pending: str) -> tuple[str, int, str]:
    """The first instruction that begins on a line of code, the depth of braces after it, and a statement left open."""
    found = ""
    if depth == 0:
        opens = code == "{" or code.endswith(" {")
        return "", int(opens), ""
    while code:
        if not pending:
            code = _LABEL.sub("", code)
            if code.startswith(("{", "}")):
                depth += 1 if code[0] == "{" else -1
                code = code[1:].lstrip()
                continue
            if not code:
                break
        statement, end, code = code.partition(";")
        code = code.strip()
        if not pending:
            pending = statement
            bare = _PREDICATE.sub("", statement.strip())
            if bare and not bare.startswith(".") and not found:
                found = re.split(r"[\s{(]", bare, maxsplit=1)[0]
        if end:
            pending = ""
    return found, depth, pending
