"""Figures that were seen before, of kernels of the course's kind."""

import pytest
import torch
import triton
from compiler_work import add_work, course_matmul_work, dot_work, matmul_work

import tritonlab as lab
from tritonlab.compiler import CompileError, worker
from tritonlab.compiler.compiling import launches_of
from tritonlab.compiler.request import request
from tritonlab.compiler.sass import resources

KIB = 1024
INSTALLED = triton.__version__ == "3.7.1"


def test_aligned_vector_add_loads_16_bytes_a_thread(add):
    assert add.ptx.loads == {16: 4} and add.ptx.stores == {16: 2}
    assert add.sass.loads == {16: 4} and add.sass.stores == {16: 2}
    assert add.ptx.count("ld.global.v4.b32") == 4
    assert add.shared == add.spilled == add.stack == 0


def test_a_length_that_16_does_not_divide_makes_it_scalar(odd_add):
    assert odd_add.ptx.loads == {4: 16} and odd_add.sass.loads == {4: 16}


@pytest.mark.skipif(not INSTALLED, reason="counted with Triton 3.7.1")
def test_vector_add_has_42_instructions_or_81(add, odd_add):
    assert (add.instructions, odd_add.instructions) == (42, 81)


def test_dividing_by_a_constant_is_a_multiplication_in_machine_code(scaled):
    times, by = scaled
    assert times.ptx.divisions == 0 and times.ptx.count("mul") >= 8
    assert by.sass.count("FMUL") == times.sass.count("FMUL") == 8
    assert by.sass.special == {} and by.sass.divisions == 0
    assert (by.registers, by.instructions) == (times.registers, times.instructions)
    if INSTALLED:
        assert by.ptx.divisions == 8 and (by.registers, by.instructions) == (18, 34)


def test_naming_the_square_changes_nothing(row_sum):
    folded, named = row_sum
    assert (folded.registers, folded.instructions) == (named.registers, named.instructions)


STAGES = {1: (32, 32), 2: (64, 32), 3: (96, 64), 4: (128, 96), 5: (160, 128)}
"""num_stages -> KiB of shared memory on sm_90 and on sm_80, for a 128×128×64 float16 tile."""


def test_stages_of_a_matmul_cost_shared_memory(course90, course80):
    for c90, c80 in zip(course90, course80):
        assert (c90.shared, c80.shared) == tuple(n * KIB for n in STAGES[c90.num_stages])


def test_the_same_holds_for_a_matmul_of_its_own(matmul90, matmul80):
    assert [c.shared // KIB for c in matmul90] == [32, 96, 128] and [c.shared // KIB for c in matmul80] == [32, 64, 96]


def test_a_matmul_copies_asynchronously_from_stage_2_on(course90, course80):
    for c in (*course90, *course80):
        assert c.ptx.copies == c.sass.copies == (0 if c.num_stages == 1 else 8 * c.num_stages)
        assert c.ptx.loads == ({16: 8} if c.num_stages == 1 else {})


def test_a_matmul_uses_the_tensor_cores_of_its_target(course90, course80):
    assert all((c.ptx.wgmma, c.ptx.mma) == (c.sass.wgmma, c.sass.mma) == (4, 0) for c in course90)
    assert all((c.ptx.wgmma, c.ptx.mma) == (c.sass.wgmma, c.sass.mma) == (0, 64) for c in course80)
    c = lab.compile(course_matmul_work(), "sm_100")
    assert c.ptx.tcgen05 >= 4 and (c.ptx.wgmma, c.ptx.mma) == (0, 0) and c.tensor_memory == 128


def test_sizes_that_16_does_not_divide_take_the_wide_copies_away():
    """All of M, N, K odd: no copy is asynchronous, and every load is of one element."""
    odd = lab.compile(course_matmul_work(4095, 4095, 4095))
    assert odd.ptx.copies == 0 and set(odd.ptx.loads) == {2} and odd.pipeline.stages == 1


@pytest.mark.skipif(not INSTALLED, reason="counted with Triton 3.7.1")
def test_a_matmul_of_3_stages_has_583_instructions_and_115_registers(matmul90):
    assert (matmul90[1].instructions, matmul90[1].registers) == (583, 115)


def test_two_warps_cannot_use_a_warp_group():
    c = lab.compile(matmul_work(BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, num_warps=2, num_stages=3), "sm_90")
    assert c.ptx.wgmma == 0 and c.ptx.mma > 0


def test_spilled_registers_are_found_on_the_stack(add):
    """256 loaded values a thread do not fit into 64 registers."""
    c = lab.compile(add_work(), override={"BLOCK_SIZE": 4096, "num_warps": 1, "maxnreg": 64})
    assert c.registers <= 64 and c.options["maxnreg"] == 64
    assert c.spilled == c.stack > 0 and c.sass.local > 0
    assert f", {c.spilled} spilled, " in repr(c)
    assert (add.spilled, add.sass.local) == (0, 0)


@pytest.mark.skipif(not INSTALLED, reason="counted with Triton 3.7.1")
def test_a_256_wide_tile_fills_the_registers_of_sm_80():
    c = lab.compile(matmul_work(BLOCK_M=256, BLOCK_N=128, num_stages=3), "sm_80")
    assert (c.registers, c.spilled) == (255, 32)


def test_a_tile_that_is_too_large_spills_and_cuobjdump_says_so_as_stack_alone():
    work = course_matmul_work(BLOCK_M=256, BLOCK_N=256, BLOCK_K=64, num_stages=2)
    big = lab.compile(work, "sm_80")
    assert big.registers == 255 and big.stack == big.spilled > 0 and big.sass.local > 0
    (answer,) = worker.run_all([request(launches_of(work)[0], "sm_80")])
    dump = resources(answer["resources"], answer["name"])
    assert (dump["STACK"], dump["LOCAL"]) == (big.spilled, 0)


def test_an_odd_k_takes_the_wide_loads_from_a(matmul90):
    odd = lab.compile(matmul_work(k=8191, num_stages=3), "sm_90")
    assert odd.ptx.copies < matmul90[1].ptx.copies
    assert max(odd.ptx.loads) == 2


# What tile shapes, dtypes and ways to write a dot come to.


@pytest.mark.parametrize("dtype, precision, kind", [("float32", "tf32", ".tf32"), ("float32", "ieee", "fma.rn"), ("bfloat16", "ieee", ".bf16")])
def test_a_dot_multiplies_in_the_dtype_it_says(dtype, precision, kind):
    small = dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, num_warps=4)
    c = lab.compile(course_matmul_work(dtype=getattr(torch, dtype), input_precision=precision, **small), "sm_80")
    assert sum(n for code, n in c.ptx.opcodes.items() if kind in code) > 0
    assert (c.ptx.mma == 0) == (precision == "ieee" and dtype == "float32")


def test_adding_a_dot_to_acc_is_the_dot_with_acc_but_not_when_it_is_scaled():
    three, added, scaled = (lab.compile(dot_work(how=how)) for how in ("three arguments", "sum", "scaled"))
    assert (three.instructions, three.registers) == (added.instructions, added.registers)
    assert three.sass.opcodes == added.sass.opcodes and three.sass.count("FADD") == three.sass.count("FFMA") == 0
    assert scaled.sass.count("FFMA") + scaled.sass.count("FFMA2") >= 32 and scaled.registers > three.registers


def test_only_k_of_a_dot_has_a_minimum():
    c = lab.compile(dot_work((1, 1, 16), num_warps=1), "sm_80")
    assert c.ptx.mma == 1 and c.fits
    with pytest.raises(CompileError, match="tl.dot needs K of at least"):
        lab.compile(dot_work((64, 64, 8), num_warps=4), "sm_80")


def test_a_view_that_begins_off_16_bytes_is_as_scalar_as_an_odd_length(odd_add):
    """Stride 1 is free, though: a launch specialises it."""
    shifted = lab.compile(add_work(offset=1))
    assert shifted.ptx.loads == odd_add.ptx.loads == {4: 16}
