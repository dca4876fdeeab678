"""Every instruction is led back to the learner's line that it came from."""

import pytest
from compiler_kernels import add_kernel, row_sum_kernel, squared

from tritonlab.compiler.ptx import read_ptx, trimmed
from tritonlab.compiler.sass import read_sass, resources


def line_of(jit, text):
    """The number of the first line of a function's source that holds a text."""
    return jit.starting_line_number + next(i for i, t in enumerate(jit.raw_src) if text in t)


@pytest.mark.parametrize("stage", ["ptx", "sass"])
def test_loads_and_stores_belong_to_their_lines(add, stage):
    by_line = {}
    for line in add.lines[stage]:
        if line.kind in ("global load", "global store", "floating point"):
            by_line.setdefault(line.line, []).append(line.kind)
    assert by_line == {
        line_of(add_kernel, "x = tl.load"): ["global load"] * 2,
        line_of(add_kernel, "y = tl.load"): ["global load"] * 2,
        line_of(add_kernel, "tl.store"): by_line[line_of(add_kernel, "tl.store")],
    }
    assert sorted(by_line[line_of(add_kernel, "tl.store")]) == ["floating point"] * 8 + ["global store"] * 2


@pytest.mark.parametrize("stage", ["ptx", "sass"])
def test_what_a_library_function_made_belongs_to_the_line_that_called_it(row_sum, stage):
    folded = row_sum[0]
    shuffles = {(line.function, line.line) for line in folded.lines[stage] if line.kind == "shuffle"}
    assert shuffles == {("row_sum_kernel", line_of(row_sum_kernel, "tl.sum(x * x"))}


def test_a_device_function_has_lines_of_its_own(row_sum):
    named = row_sum[1]
    assert [f.name for f in named.functions] == ["row_sum_kernel", "squared"]
    assert named.functions[1].first_line == squared.starting_line_number
    places = {(line.function, line.line) for line in named.lines["ptx"] if line.opcode.startswith(("mul.f32", "mul.rn", "fma"))}
    assert places <= {
        ("squared", line_of(squared, "x * x")),
        ("row_sum_kernel", line_of(row_sum_kernel, "squared(x)")),
        ("row_sum_kernel", line_of(row_sum_kernel, "tl.sum(xsq")),
    }
    assert places


@pytest.mark.parametrize("stage", ["ptx", "sass"])
def test_lines_are_those_of_the_text(add, row_sum, matmul90, stage):
    for c in (add, row_sum[0], matmul90[1]):
        assert [line.text for line in c.lines[stage]] == c.asm[stage].splitlines()
        assert [line.number for line in c.lines[stage]] == list(range(1, len(c.lines[stage]) + 1))
        counts = getattr(c, stage)
        assert counts.total == sum(counts.kinds.values()) == sum(counts.opcodes.values())
        assert counts.kinds.get("other", 0) == 0, [line.opcode for line in c.lines[stage] if line.kind == "other"]


def test_all_but_what_serves_several_lines_has_a_line(matmul90, matmul80, row_sum):
    for c in (matmul90[1], matmul80[1], row_sum[0]):
        for stage in ("ptx", "sass"):
            code = [line for line in c.lines[stage] if line.opcode]
            assert sum(line.line is None for line in code) <= 0.05 * len(code) + 1


def test_sass_knows_the_ptx_behind_it(add):
    ptx = {line.number: line for line in add.lines["ptx"]}
    for line in add.lines["sass"]:
        if line.kind == "global load":
            assert ptx[line.ptx].kind == "global load"


PTX = """.version 8.7
.extern .shared .align 16 .b8 global_smem[];
.visible .entry k(
	.param .u64 k_param_0
)
.reqntid 128
{
	.reg .b32 	%r<9>;
	.loc	1 3 0
	.loc	1 4 8                          // mine:4:8
	// begin inline asm
	.loc	1 5 8                          // mine:5:8
	@!%p1 ld.global.v2.b16 { %rs1, %rs2 }, [ %rd1 + 0 ];
	// end inline asm
	.loc	2 9 1                          // standard.py:9:1 @[ standard.py:20:2 @[ mine:6:3 ] ]
	shfl.sync.bfly.b32 	%r1, %r2, 16, 31, -1;
	{
	.reg .b32 a;
	mov.b32 a, %r1;
	}
$L1:
	.loc	2 20 2, function_name $L__info_string0, inlined_at 1 7 5 // standard.py:20:2
	add.f32 	%f1, %f2, %f3;
	.loc	2 9 1, function_name $L__info_string0, inlined_at 2 20 2 // standard.py:9:1
	ex2.approx.f32 	%f1, %f1;
	.loc	2 0 0
	bra $L1;
	ret;
}
	.file	1 "/home/me/mine"
	.file	2 "/x/triton/language/standard.py"
	.section	.debug_abbrev
	{
.b8 1
	}
"""


def test_ptx_is_read_with_both_ways_of_telling_inlined_lines():
    lines = read_ptx(PTX, {"mine"})
    found = [(line.opcode, line.kind, line.line) for line in lines if line.opcode]
    assert found == [
        ("ld.global.v2.b16", "global load", 4),
        ("shfl.sync.bfly.b32", "shuffle", 6),
        ("mov.b32", "move", 6),
        ("add.f32", "floating point", 7),
        ("ex2.approx.f32", "special function", 7),
        ("bra", "control", None),
        ("ret", "control", None),
    ]
    assert trimmed(PTX).endswith("\n}\n")
    assert all(line.line is None for line in read_ptx(PTX, {"another"}))


SASS = """	.headerflags	@"EF_CUDA_SM90"
//--------------------- .text.k          --------------------------
k:
.text.k:
	//## File "/home/me/mine", line 4
	//## File ".nv_debug_ptx_txt", line 13
        /*0000*/              @!P0 LDG.E.128 R12, desc[UR6][R6.64] ;
        /*0010*/                   MUFU.EX2 R5, R5 ;
	//## File ".nv_debug_ptx_txt", line 16
        /*0020*/                   SHFL.BFLY PT, R2, R3, 0x10, 0x1f ;
.L_x_0:
        /*0030*/                   BRA `(.L_x_0);
        /*0040*/                   NOP;
        /*0050*/                   NOP;
.L_x_1:
//--------------------- SYMBOLS --------------------------
	.type		k,@object
"""


def test_sass_is_read_with_predicates_labels_and_no_padding():
    lines = read_sass(SASS, "k", read_ptx(PTX, {"mine"}))
    assert [(line.opcode, line.line, line.ptx) for line in lines] == [
        ("LDG.E.128", 4, 13), ("MUFU.EX2", 4, 13), ("SHFL.BFLY", 6, 16), ("", None, None), ("BRA", 6, 16),
    ]  # fmt: skip
    assert lines[3].text == ".L_x_0:"


def test_resources_are_those_of_the_kernel():
    dump = "Resource usage:\n Common:\n  GLOBAL:0\n Function f:\n  REG:9 STACK:8\n Function k:\n  REG:31 STACK:32 SHARED:1024 CONSTANT[0]:576\n"
    assert resources(dump, "k") == {"REG": 31, "STACK": 32, "SHARED": 1024, "CONSTANT": 576}
    with pytest.raises(ValueError, match="nothing of other"):
        resources(dump, "other")
