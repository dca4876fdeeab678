"""Read off Triton's GPU dialect how a loop was pipelined.

Nothing here imports torch or Triton: the text that the compiler left is all that is needed. Seen with Triton 3.6 to 3.9.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod

from .pipeline import Buffer, Pipeline

__all__ = ["pipeline", "pipelines"]

_OP = re.compile(r"^(?:(%[\w$.-]+)(?::\d+)? = )?\"?([a-z_]+\.[\w.]+)\"?")
_VALUE = re.compile(r"%[\w$.-]+")
_MEMDESC = re.compile(r"memdesc<((?:\d+x)*)([a-zA-Z]\w*)")
_LOC = re.compile(r" loc\((#loc\d*)\)$")
_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_COPIES = ("ttg.async_copy_global_to_local", "ttng.async_tma_copy_global_to_local", "ttng.async_tma_gather")
_DOTS = ("tt.dot", "tt.dot_scaled", "ttng.warp_group_dot", "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled")
_LOADS = ("tt.load", "tt.descriptor_load", "tt.descriptor_gather")
_DTYPES = {
    "f16": ("fp16", 2), "bf16": ("bf16", 2), "f32": ("fp32", 4), "f64": ("fp64", 8), "i1": ("int1", 1), "i8": ("int8", 1), "i16": ("int16", 2),
    "i32": ("int32", 4), "i64": ("int64", 8), "f8E5M2": ("fp8e5", 1), "f8E4M3FN": ("fp8e4nv", 1), "f8E4M3B11FNUZ": ("fp8e4b15", 1),
}  # fmt: skip


def pipeline(ttgir: str) -> Pipeline | None:
    """The loop of a kernel that is pipelined most, the first of equals; None when no loop loads a tile."""
    found = pipelines(ttgir)
    return max(found, key=lambda p: (p.stages, p.dot), default=None)


def pipelines(ttgir: str) -> tuple[Pipeline, ...]:
    """Every loop of a kernel that loads tiles, as the compiler left it, in the order of the text.

    () also for warp-specialised kernels, whose copies and dots run in loops of different warps.
    """
    if "ttg.warp_specialize" in ttgir:
        return ()
    ops = _read(ttgir)
    text = _Text(ops, _locations(ttgir))
    return tuple(p for i, op in enumerate(ops) if op.name == "scf.for" and (p := text.loop(i)) is not None)


@dataclass(frozen=True)
class _Op:
    """One operation: what it makes, its operands in order, the line's text, how deep it stands and the loop that it ends with."""

    made: str
    name: str
    used: tuple[str, ...]
    text: str
    depth: int
    loc: str
    end: int = 0  # of a loop: one past the index of its last operation


def _read(ttgir: str) -> list[_Op]:
    ops: list[_Op] = []
    open_: list[int] = []  # indices of the operations whose regions are open
    for line in ttgir.splitlines():
        code = line.strip()
        if code.startswith("#"):
            continue
        while code.startswith("}"):
            if open_:
                i = open_.pop()
                loc = _LOC.search(code)
                ops[i] = replace(ops[i], end=len(ops), loc=loc[1] if loc else "")
            code = code[1:].lstrip() if code.startswith("} else {") else ""
        opens = code.endswith("{")
        found = _OP.match(code)
        if found:
            loc = _LOC.search(code)
            rest = code[found.end() :]
            ops.append(_Op(found[1] or "", found[2], tuple(_VALUE.findall(rest)), code, len(open_), loc[1] if loc else ""))
            if opens:
                open_.append(len(ops) - 1)
        elif opens:
            ops.append(_Op("", "", (), code, len(open_), ""))
            open_.append(len(ops) - 1)
    return ops


def _locations(ttgir: str) -> dict[str, str]:
    return {m[1]: m[2] for line in ttgir.splitlines() if line.startswith("#loc") and (m := _ALIAS.match(line))}


@dataclass
class _Text:
    ops: list[_Op]
    locations: dict[str, str]
    made: dict[str, int] = field(default_factory=dict)
    arguments: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.made = {op.made: i for i, op in enumerate(self.ops) if op.made}
        self.arguments = {value for op in self.ops if op.name == "tt.func" for value in op.used}

    def loop(self, at: int) -> Pipeline | None:
        """What became of the loop at an index, None when it loads no tile itself."""
        head = self.ops[at]
        body = list(self.within(at))
        copies, loads = [op for op in body if op.name in _COPIES], [op for op in body if op.name in _LOADS and "tensor<" in op.text]
        if not copies and not loads:
            return None
        carried = dict(re.findall(r"(%[\w$.-]+) = (%[\w$.-]+)", head.text.partition("iter_args(")[2].partition(") ->")[0]))
        first = list(self.leading(at))
        dots_first = sum(op.name in _DOTS for op in first)
        ahead: dict[str, int] = {}
        for op in first:
            if op.name in _COPIES and (into := self.allocation(op, carried)):
                ahead[into] = ahead.get(into, 0) + 1
        buffers = []
        for op in copies:
            into = self.allocation(op, carried)
            if into and not any(b for b, _ in buffers if b == into):
                buffers.append((into, self.buffer(self.ops[self.made[into]], op, carried, max(0, ahead.get(into, 0) - dots_first))))
        for op in body:  # tiles that go through registers: an allocation with what was loaded
            if op.name == "ttg.local_alloc" and op.used and (load := self.loaded(op.used[0], at)):
                buffers.append((op.made, self.buffer(op, load, carried, 0)))
        kept = tuple(sorted((b for _, b in buffers), key=lambda b: b.line))
        function, line = self.place(head.loc)
        return Pipeline(
            stages=1 + max((b.ahead for b in kept), default=0),
            how="registers" if not copies else "TMA" if "tma" in copies[0].name else "cp.async",
            buffers=kept,
            before=sum(op.name in _COPIES for op in first),
            inside=len(copies),
            loads=len(loads),
            waits=tuple(int(m[1]) for op in body if op.name == "ttg.async_wait" and (m := re.search(r"num = (\d+)", op.text))),
            dot=any(op.name in _DOTS for op in body),
            running=self.running(body, carried),
            barriers=self.barriers(),
            function=function,
            line=line,
        )

    def within(self, at: int) -> Iterator[_Op]:
        """The operations of a loop's body, without those of loops inside it."""
        i, end = at + 1, self.ops[at].end
        while i < end:
            op = self.ops[i]
            if op.name == "scf.for":
                i = max(op.end, i + 1)
                continue
            yield op
            i += 1

    def leading(self, at: int) -> Iterator[_Op]:
        """The operations before a loop in its block, back to the loop before it."""
        depth, i = self.ops[at].depth, at - 1
        found = []
        while i >= 0 and self.ops[i].depth >= depth:
            op = self.ops[i]
            outer = next((j for j in range(i, -1, -1) if self.ops[j].depth == depth), 0)
            if self.ops[outer].name == "scf.for":
                break
            found.append(op)
            i -= 1
        return reversed(found)

    def allocation(self, copy: _Op, carried: dict[str, str]) -> str:
        """The allocation that a copy writes to, "" if none is found."""
        for value in copy.used:
            seen: set[str] = set()
            while value not in seen:
                seen.add(value)
                value = carried.get(value, value)
                i = self.made.get(value)
                if i is None:
                    break
                op = self.ops[i]
                if op.name == "ttg.local_alloc":
                    if "xi64" not in op.text:
                        return value
                    break
                if "memdesc" not in op.name or not op.used:
                    break
                value = op.used[0]
        return ""

    def loaded(self, value: str, at: int) -> _Op | None:
        """The load of the loop at an index that a value comes from."""
        for _ in range(50):
            i = self.made.get(value)
            if i is None or not at < i < self.ops[at].end:
                return None
            op = self.ops[i]
            if op.name in _LOADS:
                return op
            if not op.used:
                return None
            value = op.used[0]
        return None

    def buffer(self, allocated: _Op, load: _Op, carried: dict[str, str], ahead: int) -> Buffer:
        found = _MEMDESC.search(allocated.text)
        sizes = [int(n) for n in found[1].split("x") if n] if found else []
        dtype, width = _DTYPES.get(found[2], (found[2], 0)) if found else ("", 0)
        several = allocated.text.count("local_alloc :") or not allocated.used  # without a value: the first axis counts slots
        slots, shape = (sizes[0], sizes[1:]) if several and len(sizes) > 1 else (1, sizes)
        function, line = self.place(load.loc)
        name = self.name(load.loc) or re.sub(r"_\d+$", "", (load.made or allocated.made).lstrip("%"))
        return Buffer(name, tuple(shape), dtype, slots, prod(shape) * width * slots, ahead, self.argument(load.used[0], carried), function, line)

    def argument(self, value: str, carried: dict[str, str]) -> str:
        """The kernel's argument that a pointer comes from."""
        for _ in range(200):
            value = carried.get(value, value)
            if value in self.arguments:
                return value.lstrip("%")
            i = self.made.get(value)
            if i is None or not self.ops[i].used:
                return ""
            value = self.ops[i].used[0]
        return ""

    def running(self, body: list[_Op], carried: dict[str, str]) -> int:
        """Dots that the body's copies do not wait for."""
        waits = [int(m[1]) for op in body if op.name == "ttng.warp_group_dot_wait" and (m := re.search(r"pendings = (\d+)", op.text))]
        if waits:
            return min(waits)
        if any(op.name.startswith("ttng.tc_gen5_mma") for op in body):
            return int(any(op.name == "ttng.wait_barrier" and op.used and op.used[0] in carried and " deps " in op.text for op in body))
        return 0

    def barriers(self) -> int:
        """Bytes of all barriers in shared memory: allocations of 64-bit integers."""
        found = (_MEMDESC.search(op.text) for op in self.ops if op.name == "ttg.local_alloc" and "xi64" in op.text)
        return sum(8 * prod(int(n) for n in m[1].split("x") if n) for m in found if m)

    def name(self, loc: str) -> str:
        """The variable that a location is named for."""
        for _ in range(20):
            inner = self.locations.get(loc, "")
            found = re.match(r'"([A-Za-z_]\w*)"\(', inner)
            if found:
                return found[1]
            near = re.match(r"callsite\((#loc\d*)", inner)
            if not near:
                return ""
            loc = near[1]
        return ""

    def place(self, loc: str) -> tuple[str, int]:
        """The function and line of a location."""
        for _ in range(20):
            inner = self.locations.get(loc, "")
            found = re.match(r'"([^"]*)":(\d+):\d+', inner)
            if found:
                return found[1], int(found[2])
            near = re.search(r"(#loc\d+)", inner)
            if not near:
                return "", 0
            loc = near[1]
        return "", 0
