"""What an instruction does, read off its opcode, and instruction counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from .record import AsmLine, Counts

__all__ = ["KINDS", "count", "ptx_kind", "sass_kind", "width"]

KINDS = (
    "global load", "global store", "async copy", "TMA", "shared load", "shared store", "local memory", "atomic", "tensor core",
    "tensor memory", "barrier", "shuffle", "special function", "division", "floating point", "integer", "compare and select",
    "conversion", "move", "control", "other",
)  # fmt: skip
"""The kinds, in the order in which they are shown."""

SPECIAL = ("ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh")
_MUFU = {"RSQ": "rsqrt", "RCP64H": "rcp", "RSQ64H": "rsqrt"}

_PTX = {
    "shared load": ("ldmatrix",), "shared store": ("stmatrix",), "atomic": ("atom", "red"), "shuffle": ("shfl", "redux", "vote", "match"),
    "barrier": ("bar", "barrier", "mbarrier"), "division": ("div", "rem"), "compare and select": ("setp", "set", "selp", "slct"),
    "conversion": ("cvt",), "move": ("mov", "cvta", "mapa", "isspacep"),
    "control": (
        "bra", "brx", "ret", "call", "exit", "trap", "fence", "membar", "elect", "griddepcontrol", "nanosleep", "setmaxnreg", "activemask",
        "createpolicy", "discard", "prefetch", "pmevent", "tensormap",
    ),
}  # fmt: skip
_PTX_FIRST = {first: kind for kind, firsts in _PTX.items() for first in firsts}
_ARITHMETIC = (
    "add",
    "sub",
    "mul",
    "mad",
    "fma",
    "min",
    "max",
    "neg",
    "abs",
    "copysign",
    "testp",
    "addc",
    "subc",
    "madc",
    "mul24",
    "mad24",
    "sad",
)
_BITS = (
    "and",
    "or",
    "xor",
    "not",
    "cnot",
    "shl",
    "shr",
    "shf",
    "bfe",
    "bfi",
    "bfind",
    "fns",
    "brev",
    "clz",
    "popc",
    "prmt",
    "lop3",
    "bmsk",
    "szext",
    "dp4a",
    "dp2a",
)

_SASS = {
    "global load": ("LDG", "LD"), "global store": ("STG", "ST"), "async copy": ("LDGSTS",), "TMA": ("UTMALDG", "UTMASTG", "UTMAREDG", "UBLKCP", "UBLKRED", "UTMAPF"),
    "shared load": ("LDS", "LDSM"), "shared store": ("STS", "STSM", "STAS"), "local memory": ("LDL", "STL"),
    "atomic": ("ATOM", "ATOMG", "ATOMS", "RED", "REDG", "REDAS"),
    "tensor core": ("HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA", "HGMMA", "IGMMA", "QGMMA", "BGMMA", "UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA"),
    "tensor memory": ("LDTM", "STTM", "UTCCP", "UTCATOMSWS", "UTCBAR", "LDT", "STT"),
    "barrier": ("BAR", "SYNCS", "UCGABAR_ARV", "UCGABAR_WAIT"), "shuffle": ("SHFL", "REDUX", "CREDUX", "VOTE", "VOTEU", "MATCH"), "special function": ("MUFU",),
    "compare and select": ("ISETP", "FSETP", "DSETP", "HSETP2", "SEL", "FSEL", "PLOP3", "PSETP", "P2R", "R2P", "UISETP", "USEL", "UPLOP3", "UP2UR", "FSET", "ISET", "HSET2", "FCHK"),
    "conversion": ("F2F", "F2I", "I2F", "F2FP", "I2FP", "FRND", "I2I", "F2IP", "UF2FP", "F2FE"),
    "move": ("MOV", "UMOV", "S2R", "S2UR", "CS2R", "LDC", "ULDC", "LDCU", "R2UR", "MOVM", "UR2R", "SGXTMOV"),
    "control": (
        "BRA", "BRX", "EXIT", "RET", "CALL", "BSSY", "BSYNC", "BREAK", "WARPSYNC", "YIELD", "NOP", "NANOSLEEP", "ERRBAR", "MEMBAR", "FENCE",
        "DEPBAR", "LDGDEPBAR", "CCTL", "CCTLL", "KILL", "BPT", "JMP", "WARPGROUP", "ELECT", "USETMAXREG", "ACQBULK", "UTMACMDFLUSH", "UTMACCTL",
        "PREEXIT", "UVIADD_WAIT", "ACQSHMINIT", "WARPGROUPSET", "RPCMOV", "LEPC", "BMOV", "UVIRTCOUNT",
    ),
}  # fmt: skip
_SASS_FIRST = {first: kind for kind, firsts in _SASS.items() for first in firsts}
_SASS_FLOAT = re.compile(r"^U?[FDH](ADD|MUL|FMA|MNMX|SWZADD)|^HFMA2|^FFMA2|^FMNMX3?|^H(ADD|MUL)2|^FADD2|^FMUL2")
_SASS_INTEGER = re.compile(
    r"^U?(IADD|IMAD|LEA|LOP|LOP3|SHF|SHL|SHR|VIADD|VIADDMNMX|VIMNMX|IMNMX|IABS|PRMT|BREV|FLO|POPC|BMSK|SGXT|IDP|ISCADD|VABSDIFF)"
)


def ptx_kind(opcode: str) -> str:
    """The kind of a PTX opcode such as ``ld.global.v4.b32``."""
    first, *rest = opcode.split(".")
    if first in ("ld", "st", "ldu"):
        space = next((s for s in rest if s.startswith(("global", "shared", "local", "param", "const"))), "")
        if space.startswith("shared"):
            return "shared load" if first != "st" else "shared store"
        if space in ("local", "param", "const"):
            return "local memory" if space == "local" else "move"
        return "global load" if first != "st" else "global store"
    if first == "cp":
        if {"commit_group", "wait_group", "wait_all", "mbarrier"} & set(rest):
            return "barrier" if "mbarrier" in rest else "control"
        return "TMA" if "bulk" in rest or "reduce" in rest else "async copy"
    if first == "mma" or (first in ("wgmma", "tcgen05") and rest[:1] in (["mma_async"], ["mma"])):
        return "tensor core"
    if first in ("wgmma", "tcgen05"):
        return "control" if first == "wgmma" else "tensor memory"
    if first in SPECIAL:
        return "special function"
    if first in _ARITHMETIC:
        return "floating point" if any(re.fullmatch(r"b?f(16|32|64|16x2|32x2)", r) for r in rest) else "integer"
    if first in _BITS:
        return "integer"
    return _PTX_FIRST.get(first, "other")


def sass_kind(opcode: str) -> str:
    """The kind of a SASS opcode such as ``LDG.E.128``."""
    first = opcode.split(".")[0]
    if first in _SASS_FIRST:
        return _SASS_FIRST[first]
    if opcode.startswith("IMAD.MOV"):
        return "move"
    if _SASS_FLOAT.match(first):
        return "floating point"
    return "integer" if _SASS_INTEGER.match(first) else "other"


def width(opcode: str) -> int:
    """Bytes that a load or store moves for each thread, from its PTX or SASS opcode."""
    parts = opcode.split(".")
    if opcode.isupper() or parts[0].isupper():
        sizes = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}
        return next((sizes[p] for p in parts[1:] if p in sizes), 4)
    vector = next((int(p[1:]) for p in parts if re.fullmatch(r"v\d", p)), 1)
    bits = next((int(m[1]) for p in reversed(parts) if (m := re.fullmatch(r"[busf](\d+)", p))), 32)
    return vector * bits // 8


def count(lines: Iterable[AsmLine]) -> Counts:
    """Count the instructions of PTX or SASS lines."""
    lines = list(lines)
    codes = [(line.opcode, line.kind) for line in lines if line.opcode and line.opcode != "NOP"]
    kinds, opcodes = Counter(kind for _, kind in codes), Counter(code for code, _ in codes)

    def of(*firsts: str) -> int:
        return sum(n for code, n in opcodes.items() if code.split(".")[0] in firsts)

    def widths(kind: str) -> dict[int, int]:
        found = Counter(line.bytes for line in lines if line.kind == kind)
        return dict(sorted(found.items(), reverse=True))

    special = Counter(_special(code) for code, kind in codes if kind == "special function")
    return Counts(
        total=len(codes),
        loads=widths("global load"),
        stores=widths("global store"),
        shared_loads=kinds["shared load"],
        shared_stores=kinds["shared store"],
        copies=kinds["async copy"],
        tma=kinds["TMA"],
        local=kinds["local memory"],
        atomics=kinds["atomic"],
        mma=of("mma", "HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA"),
        wgmma=of("HGMMA", "IGMMA", "QGMMA", "BGMMA") + sum(n for c, n in opcodes.items() if c.startswith("wgmma.mma_async")),
        tcgen05=of("UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA")
        + sum(n for c, n in opcodes.items() if c.startswith("tcgen05.mma")),
        barriers=of("bar", "barrier", "BAR"),
        shuffles=of("shfl", "redux", "SHFL", "REDUX", "CREDUX"),
        special=dict(sorted(special.items())),
        divisions=kinds["division"],
        kinds={kind: kinds[kind] for kind in KINDS if kinds[kind]},
        opcodes=dict(sorted(opcodes.items())),
    )


def _special(opcode: str) -> str:
    first, *rest = opcode.split(".")
    if first != "MUFU":
        return first
    return _MUFU.get(rest[0], rest[0].lower()) if rest else "mufu"
