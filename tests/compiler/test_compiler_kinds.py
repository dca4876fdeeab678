import pytest

from tritonlab.compiler.kinds import KINDS, count, ptx_kind, sass_kind, width
from tritonlab.compiler.record import AsmLine


@pytest.mark.parametrize(
    "opcode, kind",
    [
        ("ld.global.v4.b32", "global load"), ("ld.global.L1::evict_last.v4.b32", "global load"), ("st.global.b16", "global store"), ("ld.param.b64", "move"),
        ("ld.shared.v4.b32", "shared load"), ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "shared load"), ("st.shared.b32", "shared store"),
        ("ld.local.b32", "local memory"), ("cp.async.cg.shared.global", "async copy"), ("cp.async.commit_group", "control"), ("cp.async.wait_group", "control"),
        ("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes", "TMA"), ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "tensor core"),
        ("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", "tensor core"), ("wgmma.fence.sync.aligned", "control"), ("tcgen05.mma.cta_group::1.kind::f16", "tensor core"),
        ("tcgen05.ld.sync.aligned.32x32b.x16.b32", "tensor memory"), ("bar.sync", "barrier"), ("mbarrier.init.shared::cta.b64", "barrier"), ("shfl.sync.bfly.b32", "shuffle"),
        ("ex2.approx.ftz.f32", "special function"), ("div.full.f32", "division"), ("rem.s32", "division"), ("fma.rn.f32", "floating point"), ("add.f16x2", "floating point"),
        ("add.s32", "integer"), ("mul.wide.s32", "integer"), ("setp.lt.s32", "compare and select"), ("cvt.rn.f16.f32", "conversion"), ("mov.u32", "move"),
        ("atom.global.gpu.acq_rel.add.f32", "atomic"), ("red.global.add.f32", "atomic"), ("ret", "control"), ("nonsense.b32", "other"),
    ],
)  # fmt: skip
def test_kind_of_ptx(opcode, kind):
    assert ptx_kind(opcode) == kind and kind in KINDS


@pytest.mark.parametrize(
    "opcode, kind",
    [
        ("LDG.E.128", "global load"), ("STG.E.U16", "global store"), ("LDGSTS.E.BYPASS.128", "async copy"), ("LDS.128", "shared load"), ("LDSM.16.MT88.4", "shared load"),
        ("STS", "shared store"), ("LDL.LU", "local memory"), ("STL.64", "local memory"), ("HMMA.16816.F32", "tensor core"), ("HGMMA.64x128x16.F32", "tensor core"),
        ("UTMALDG.2D", "TMA"), ("BAR.SYNC.DEFER_BLOCKING", "barrier"), ("SHFL.BFLY", "shuffle"), ("MUFU.EX2", "special function"), ("FADD.FTZ", "floating point"),
        ("FFMA2", "floating point"), ("HFMA2.MMA", "floating point"), ("IMAD.MOV.U32", "move"), ("IMAD.WIDE", "integer"), ("ULEA", "integer"), ("LOP3.LUT", "integer"),
        ("ISETP.GE.AND", "compare and select"), ("FSEL", "compare and select"), ("F2FP.BF16.F32.PACK_AB", "conversion"), ("S2R", "move"), ("EXIT", "control"),
        ("RED.E.ADD.F32.FTZ.RN.STRONG.GPU", "atomic"), ("NONSENSE", "other"),
    ],
)  # fmt: skip
def test_kind_of_sass(opcode, kind):
    assert sass_kind(opcode) == kind and kind in KINDS


@pytest.mark.parametrize(
    "opcode, bytes_",
    [
        ("ld.global.v4.b32", 16), ("ld.global.b16", 2), ("ld.global.v2.b64", 16), ("ld.global.b8", 1), ("st.global.v2.b16", 4), ("ld.global.v8.b32", 32),
        ("LDG.E", 4), ("LDG.E.64", 8), ("LDG.E.128", 16), ("LDG.E.U16", 2), ("LDG.E.U8", 1), ("STG.E.ENL2.256", 32), ("LDG.E.EF.128.CONSTANT", 16),
    ],
)  # fmt: skip
def test_bytes_of_an_access(opcode, bytes_):
    assert width(opcode) == bytes_


def lines(*opcodes, kind=ptx_kind):
    return [AsmLine(i, code, code, kind(code), bytes=width(code)) for i, code in enumerate(opcodes)]


def test_counting_ptx():
    made = count(
        lines(
            "ld.global.v4.b32",
            "ld.global.v4.b32",
            "ld.global.b32",
            "ex2.approx.f32",
            "div.full.f32",
            "bar.sync",
            "shfl.sync.bfly.b32",
            "mma.sync.x",
        )
    )
    assert made.loads == {16: 2, 4: 1} and made.stores == {}
    assert (made.total, made.special, made.divisions, made.barriers, made.shuffles, made.mma) == (8, {"ex2": 1}, 1, 1, 1, 1)
    assert made.count("ld") == 3 and made.count("ld.global.v4") == 2 and made.count("ld.glob") == 0
    assert list(made.kinds)[:2] == ["global load", "tensor core"]


def test_counting_sass_leaves_out_nop_and_lines_without_code():
    made = count(
        [*lines("LDG.E.128", "NOP", "MUFU.RSQ", "MUFU.RCP", "STL", "HGMMA.64x128x16.F32", kind=sass_kind), AsmLine(9, ".L_x_0:")]
    )
    assert made.total == 5 and made.special == {"rcp": 1, "rsqrt": 1} and made.local == 1 and made.wgmma == 1 and made.mma == 0
