"""Figures that were seen before, of kernels of the course's kind."""

import pytest
import triton
from conftest import add_work, matmul_work

import tritonlab as lab

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


@pytest.mark.parametrize("stage, shared90, shared80", [(0, 32, 32), (1, 96, 64), (2, 128, 96)])
def test_stages_of_a_matmul_cost_shared_memory(matmul90, matmul80, stage, shared90, shared80):
    assert (matmul90[stage].shared, matmul80[stage].shared) == (shared90 * KIB, shared80 * KIB)


def test_a_pipelined_matmul_copies_asynchronously(matmul90, matmul80):
    assert [c.ptx.copies for c in matmul90] == [c.ptx.copies for c in matmul80] == [0, 24, 32]
    assert [c.sass.copies for c in matmul80] == [0, 24, 32]


def test_a_matmul_uses_the_tensor_cores_of_its_target(matmul90, matmul80):
    assert all((c.ptx.wgmma, c.ptx.mma) == (4, 0) for c in matmul90)
    assert all((c.ptx.wgmma, c.ptx.mma) == (0, 64) for c in matmul80)
    assert all(c.sass.mma == 64 for c in matmul80) and all(c.sass.wgmma == 4 for c in matmul90)


@pytest.mark.skipif(not INSTALLED, reason="counted with Triton 3.7.1")
def test_the_matmul_of_3_stages_has_583_instructions_and_115_registers(matmul90):
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


def test_an_odd_k_takes_the_wide_loads_from_a(matmul90):
    odd = lab.compile(matmul_work(k=8191, num_stages=3), "sm_90")
    assert odd.ptx.copies < matmul90[1].ptx.copies
    assert max(odd.ptx.loads) == 2
