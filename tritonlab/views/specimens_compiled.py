"""Compiled kernels written by hand, for the samples and tests of views."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..compiler.record import AsmLine, Buffer, Compiled, Counts, Failed, FunctionSource, Pipeline

__all__ = ["matmul", "matmul_grid", "pipelined", "vector_add"]

_ADD = """@triton.jit
def vector_add_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x + y, mask=mask)
"""
_FIRST = 12
_ADD_SASS = """0 LDC R1, c[0x0][0x28]|move
4 S2R R3, SR_TID.X|move
3 S2R R0, SR_CTAID.X|move
4 LOP3.LUT R3, R3, 0x7f, RZ, 0xc0, !PT|integer
4 IMAD R0, R0, 0x200, RZ|integer
4 IMAD R0, R3, 0x4, R0|integer
5 ISETP.GE.AND P0, PT, R0, c[0x0][0x228], PT|compare and select
6 IMAD.WIDE R4, R0, 0x4, c[0x0][0x210]|integer
6 CS2R R8, SRZ|move
6 CS2R R10, SRZ|move
6 @!P0 LDG.E.128 R8, desc[UR4][R4.64]|global load
7 IMAD.WIDE R6, R0, 0x4, c[0x0][0x218]|integer
7 CS2R R12, SRZ|move
7 CS2R R14, SRZ|move
7 @!P0 LDG.E.128 R12, desc[UR4][R6.64]|global load
8 FADD R8, R8, R12|floating point
8 FADD R9, R9, R13|floating point
8 FADD R10, R10, R14|floating point
8 FADD R11, R11, R15|floating point
8 @P0 EXIT|control
8 IMAD.WIDE R2, R0, 0x4, c[0x0][0x220]|integer
8 STG.E.128 desc[UR4][R2.64], R8|global store
8 EXIT|control
0 .L_x_0:|
0 BRA `(.L_x_0)|control"""
_ADD_PTX = """2 ld.param.b64 %rd4, [vector_add_kernel_param_0];|move
3 mov.u32 %r14, %ctaid.x;|move
4 shl.b32 %r15, %r14, 9;|integer
4 mov.u32 %r16, %tid.x;|move
4 shl.b32 %r17, %r16, 2;|integer
4 or.b32 %r19, %r18, %r15;|integer
5 setp.lt.s32 %p1, %r19, %r20;|compare and select
6 mad.wide.s32 %rd1, %r19, 4, %rd4;|integer
6 @%p1 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];|global load
7 mad.wide.s32 %rd2, %r19, 4, %rd5;|integer
7 @%p1 ld.global.v4.b32 { %r5, %r6, %r7, %r8 }, [ %rd2 + 0 ];|global load
8 mad.wide.s32 %rd3, %r19, 4, %rd6;|integer
8 add.f32 %r9, %r1, %r5;|floating point
8 add.f32 %r10, %r2, %r6;|floating point
8 add.f32 %r11, %r3, %r7;|floating point
8 add.f32 %r12, %r4, %r8;|floating point
8 @%p1 st.global.v4.b32 [ %rd3 + 0 ], { %r9, %r10, %r11, %r12 };|global store
8 ret;|control"""


def vector_add() -> Compiled:
    """A vector add for sm_90, 4 warps, 16 bytes a thread and load."""
    lines = {"sass": _lines(_ADD_SASS), "ptx": _lines(_ADD_PTX)}
    asm = {name: "\n".join(line.text for line in read) for name, read in lines.items()}
    return Compiled(
        kernel="vector_add_kernel", target="sm_90", triton_version="3.7.1", grid=(192, 1, 1), meta={"BLOCK_SIZE": 512},
        options={"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None},
        signature={"x_ptr": "*fp32:16", "y_ptr": "*fp32:16", "out_ptr": "*fp32:16", "n_elements": "i32:16"}, registers=18,
        ptx=_counts(lines["ptx"]), sass=_counts(lines["sass"]), asm=asm, lines=lines,
        functions=(FunctionSource("vector_add_kernel", _ADD, _FIRST),),
    )  # fmt: skip


def matmul(
    block: tuple[int, int, int] = (128, 128, 64), num_warps: int = 8, num_stages: int = 3, registers: int = 115, spilled: int = 0
) -> Compiled:
    """A float16 matmul for sm_90 with that tile: shared memory as the compiler takes it, the rest as given."""
    m, n, k = block
    kinds = {
        "global store": 8,
        "async copy": 8 * num_stages,
        "shared load": 36,
        "shared store": 8,
        "tensor core": 4,
        "barrier": 10,
        "integer": 253,
        "move": 97,
    }
    if spilled:
        kinds["local memory"] = spilled // 4
    counts = Counts(total=sum(kinds.values()), copies=8 * num_stages, wgmma=4, kinds=kinds, stores={16: 8}, local=spilled // 4)
    return Compiled(
        kernel="matmul_kernel", target="sm_90", triton_version="3.7.1", grid=(64, 64, 1), meta={"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k},
        options={"num_warps": num_warps, "num_stages": num_stages, "num_ctas": 1, "maxnreg": None},
        signature={"a_ptr": "*fp16:16", "b_ptr": "*fp16:16", "c_ptr": "*fp16:16", "M": "i32:16"}, registers=registers, spilled=spilled, stack=spilled,
        shared=num_stages * (m + n) * k * 2, ptx=counts, sass=counts,
    )  # fmt: skip


def matmul_grid() -> list[Compiled | Failed]:
    """Four tile shapes × warps × stages; one does not compile, some do not fit, one spills."""
    made: list[Compiled | Failed] = []
    for block in ((64, 64, 32), (128, 128, 64), (128, 256, 64), (256, 256, 64)):
        for num_warps in (4, 8):
            for num_stages in (2, 3, 4):
                threads = num_warps * 32
                registers = min(255, 40 + block[0] * block[1] // threads + 2 * num_stages)
                c = matmul(block, num_warps, num_stages, registers, 96 if registers == 255 else 0)
                if block[0] == 64 and num_warps == 8 and num_stages == 4:
                    made.append(
                        Failed(
                            c.kernel,
                            c.target,
                            c.triton_version,
                            c.grid,
                            c.meta,
                            c.options,
                            c.signature,
                            "the compiler had not finished in time",
                            7,
                            "acc = tl.dot(a, b, acc)",
                        )
                    )
                else:
                    made.append(c)
    return made


def pipelined(stages: int = 3, target: str = "sm_90", part: bool = False, odd: bool = False, dot: bool = True) -> Compiled:
    """A matmul of 128×128×64 whose loop has so many stages. ``part``: only B is copied ahead; ``odd``: nothing is; ``dot``: or a sum of x."""
    made = 1 if odd else stages
    ahead, running = made - 1, int(target != "sm_80" and made > 1 and dot and not part)
    slots = max(1, ahead + running) if not part else max(1, ahead + int(target != "sm_80"))
    tiles = {"a": (128, 64), "b": (64, 128)} if dot else {"x": (4096,)}
    buffers = []
    for name, shape in tiles.items():
        own = (1, 0) if part and name == "a" else (slots, ahead)
        buffers.append(Buffer(name, shape, "fp16" if dot else "fp32", own[0], own[0] * 16384, own[1], f"{name}_ptr", "matmul_kernel", 9))
    copied = sum(b.ahead > 0 for b in buffers)
    p = Pipeline(
        stages=made, how="cp.async" if copied else "registers", buffers=tuple(buffers), before=copied * ahead, inside=copied,
        loads=len(buffers) - copied, waits=(copied * (ahead - 1),) if ahead else (), dot=dot, running=running,
        barriers=16 if target == "sm_100" else 0, function="matmul_kernel", line=8,
    )  # fmt: skip
    return replace(matmul(num_stages=stages), target=target, pipeline=p, shared=p.bytes + p.barriers)


def _lines(text: str) -> tuple[AsmLine, ...]:
    made = []
    for number, row in enumerate(text.splitlines(), 1):
        code, kind = row.rsplit("|", 1)
        line, code = code.split(" ", 1)
        opcode = next(w for w in code.split(" ") if not w.startswith("@")).rstrip(";") if kind else ""
        where = _FIRST + int(line) - 1 if int(line) else None
        made.append(
            AsmLine(
                number,
                code,
                opcode,
                kind,
                "vector_add_kernel" if where else "",
                where,
                None,
                16 if kind.startswith("global") else 0,
            )
        )
    return tuple(made)


def _counts(lines: tuple[AsmLine, ...]) -> Counts:
    code = [line for line in lines if line.opcode]
    kinds = Counter(line.kind for line in code)
    return Counts(
        total=len(code), loads={16: kinds["global load"]}, stores={16: kinds["global store"]}, kinds=dict(kinds),
        opcodes=dict(sorted(Counter(line.opcode for line in code).items())),
    )  # fmt: skip
