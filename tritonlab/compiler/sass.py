"""Read what nvdisasm prints: SASS instructions, and the source and PTX line of each."""

from __future__ import annotations

import re

from .kinds import sass_kind, width
from .record import AsmLine

__all__ = ["read_sass", "resources"]

_FUNCTION = re.compile(r"^\.text\.(.+):$")
_NOTE = re.compile(r'^\s*//## File "([^"]*)", line (\d+)(.*)$')
_CODE = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(.*?)\s*;?\s*$")
_LABEL = re.compile(r"^\s*(\.?[$\w.]+):\s*$")
_PTX = ".nv_debug_ptx_txt"
_RESOURCE = re.compile(r"Function (\S+):\s*\n\s*(.*)")


def read_sass(dump: str, kernel: str, ptx: tuple[AsmLine, ...]) -> tuple[AsmLine, ...]:
    """The instructions and labels of a kernel, from ``nvdisasm -c -g -gp``; NOPs that pad its end are left out.

    Where an instruction came from is taken from the PTX line behind it (which knows about inlining in every version).
    """
    by_number = {line.number: line for line in ptx}
    made: list[AsmLine] = []
    inside, behind = False, None
    for text in dump.splitlines():
        name = _FUNCTION.match(text.strip())
        if name:
            inside, behind = True, None
            if name[1] != kernel:
                made.append(AsmLine(len(made) + 1, f"{name[1]}:"))
        elif text.startswith("//----"):
            inside = False
        if not inside:
            continue
        note = _NOTE.match(text)
        if note:
            if note[1] == _PTX:
                behind = int(note[2])
            continue
        code = _CODE.match(text)
        if code:
            instruction = code[1].strip()
            opcode = re.sub(r"^@!?U?P\w+\s+", "", instruction).split(" ")[0].rstrip(";")
            kind = sass_kind(opcode)
            source = by_number.get(behind) if behind is not None else None
            made.append(
                AsmLine(
                    len(made) + 1, f"    {instruction}", opcode, kind, source.function if source else "",
                    source.line if source else None, behind, width(opcode) if kind in ("global load", "global store") else 0,
                )
            )  # fmt: skip
        elif (label := _LABEL.match(text)) and not label[1].startswith(".text") and label[1] != kernel:
            made.append(AsmLine(len(made) + 1, f"{label[1]}:"))
    while made and (made[-1].opcode == "NOP" or not made[-1].opcode):
        made.pop()
    return tuple(made)


def resources(dump: str, kernel: str) -> dict[str, int]:
    """REG, STACK, SHARED, ... of a kernel, from ``cuobjdump --dump-resource-usage``."""
    for name, values in _RESOURCE.findall(dump):
        if name == kernel:
            return {key: int(n) for key, n in re.findall(r"(\w+)(?:\[\d+\])?:(\d+)", values)}
    raise ValueError(f"cuobjdump reports nothing of {kernel}")
