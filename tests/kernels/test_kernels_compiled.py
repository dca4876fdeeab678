"""What the compiler makes of each kernel, with no GPU: it must accept it, spill nothing and load widely where rows are aligned."""

from functools import partial

import pytest
import torch

from tritonlab.compiler import compile
from tritonlab.kernels.bias_gelu import bias_gelu
from tritonlab.kernels.grouped_matmul import grouped_matmul
from tritonlab.kernels.matmul import matmul
from tritonlab.kernels.rmsnorm import rmsnorm, rmsnorm_wide_kernel
from tritonlab.kernels.softmax import softmax
from tritonlab.kernels.vector_add import vector_add

BF16, FP32 = torch.bfloat16, torch.float32


def on_paper(*shape, dtype=BF16):
    """A tensor with a shape and no memory: enough to compile for."""
    return torch.empty(*shape, dtype=dtype, device="meta")


ALIGNED = {
    "vector_add": lambda: vector_add(on_paper(2**26), on_paper(2**26)),
    "bias_gelu flat": lambda: bias_gelu(on_paper(8192, 4096), on_paper(4096)),
    "bias_gelu 2d": lambda: bias_gelu(on_paper(8192, 4096), on_paper(4096), form="2d"),
    "softmax": lambda: softmax(on_paper(16384, 4096)),
    "softmax wide": lambda: softmax(on_paper(2048, 131072)),
    "rmsnorm": lambda: rmsnorm(on_paper(32768, 1024), on_paper(1024)),
    "rmsnorm wide": lambda: rmsnorm(on_paper(2048, 131072), on_paper(131072)),
}

ODD = {
    "vector_add": lambda: vector_add(on_paper(2**26 + 1), on_paper(2**26 + 1)),
    "bias_gelu flat": lambda: bias_gelu(on_paper(4099, 4097), on_paper(4097), form="flat"),
    "bias_gelu 2d": lambda: bias_gelu(on_paper(4099, 4097), on_paper(4097), form="2d"),
    "softmax": lambda: softmax(on_paper(4096, 12671, dtype=FP32)),
    "softmax wide": lambda: softmax(on_paper(2048, 131071)),
    "rmsnorm": lambda: rmsnorm(on_paper(4096, 12671, dtype=FP32), on_paper(12671, dtype=FP32)),
    "rmsnorm wide": lambda: rmsnorm(on_paper(2048, 131071), on_paper(131071)),
}


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
@pytest.mark.parametrize("work", ALIGNED.values(), ids=ALIGNED)
def test_aligned_rows_move_16_bytes_at_a_time_and_nothing_spills(work, target):
    made = compile(work, target)
    assert made.fits and made.spilled == 0 and made.sass.local == 0
    assert set(made.sass.loads) == set(made.sass.stores) == {16}


@pytest.mark.parametrize("work", ODD.values(), ids=ODD)
def test_odd_widths_compile_and_nothing_spills(work):
    made = compile(work, "sm_90")
    assert made.fits and made.spilled == 0 and made.sass.local == 0
    assert 16 not in made.sass.loads


def test_the_wrapped_form_moves_16_bytes_of_x_at_a_time_whatever_the_width():
    made = compile(lambda: bias_gelu(on_paper(4112, 4097), on_paper(4097)), "sm_90")
    assert made.kernel == "bias_gelu_wrapped_kernel"
    assert set(made.sass.stores) == {16} and set(made.sass.loads) == {16, 2}


def test_exponentials_and_one_reciprocal_a_row():
    row, wide = (compile(ALIGNED[name], "sm_90") for name in ("softmax", "softmax wide"))
    assert row.sass.special["ex2"] == 4096 // (row.num_warps * 32) and row.sass.special["rcp"] == 1
    a_step, lanes = 65536 // (32 * 32), 65536 // 8 // (32 * 32)  # elements and lanes of a thread
    assert wide.sass.special["ex2"] == 2 * a_step + 2 * lanes  # in each loop; a lane's sum moves to a new maximum, and to the row's


def test_capped_registers_let_an_sm_hold_two_programs_with_rows_of_16384():
    made = compile(ODD["softmax"], "sm_90")
    assert (made.registers, made.occupancy.programs) == (64, 2)


def test_the_hint_for_unaligned_rows_spares_the_exchange_through_shared_memory():
    x, w, out = on_paper(4096, 12671), on_paper(12671), on_paper(4096, 12671)

    def launch(aligned):
        n = x.shape[1]
        rmsnorm_wide_kernel[(4096,)](x, w, out, n, n, 1, 1, n, 1, 1e-6, BLOCK_N=2048, ALIGNED=aligned, num_warps=8)

    with_hint, without = compile(lambda: launch(False), "sm_90"), compile(lambda: launch(True), "sm_90")
    assert with_hint.shared < 100 < 2048 <= without.shared


def product(M, N, K, dtype=BF16):
    return on_paper(M, K, dtype=dtype), on_paper(K, N, dtype=dtype)


@pytest.mark.parametrize("target, tensor_core", [("sm_80", "mma"), ("sm_90", "wgmma")])
@pytest.mark.parametrize("size", [(512, 512, 512), (4096, 4096, 4096), (16384, 512, 8192)], ids=str)
def test_aligned_products_are_copied_ahead_multiplied_by_tensor_cores_and_spill_nothing(size, target, tensor_core):
    for launcher in (matmul, grouped_matmul):
        made = compile(lambda: launcher(*product(*size)), target)
        assert made.fits and made.spilled == 0
        assert made.sass.copies > 0 and getattr(made.sass, tensor_core) > 0 and set(made.sass.stores) == {16} and not made.sass.loads


@pytest.mark.parametrize("size", [(1000, 1000, 1000), (33, 1000, 1008), (4096, 4104, 4096)], ids=str)
def test_rows_of_a_multiple_of_8_elements_move_16_bytes_at_a_time_though_16_does_not_divide_them(size):
    for launcher in (matmul, partial(grouped_matmul, pad=False)):
        made = compile(lambda: launcher(*product(*size)), "sm_90")
        assert made.sass.copies > 0 and set(made.sass.stores) == {16} and not made.sass.loads and made.spilled == 0


def test_transposed_operands_are_copied_ahead_too():
    a, b = product(4096, 4096, 4096)
    assert compile(lambda: matmul(a.t(), b.t()), "sm_90").sass.copies > 0


def test_odd_products_load_scalar_by_scalar_and_their_padded_copies_do_not():
    a, b = product(4097, 4097, 4097)
    plain = compile(lambda: grouped_matmul(a, b, pad=False), "sm_90")
    *fills, padded = compile(lambda: grouped_matmul(a, b), "sm_90")
    assert plain.sass.copies == 0 and set(plain.sass.loads) == {2} and plain.spilled == 0
    assert padded.kernel == "whole_tiles_kernel" and padded.sass.copies > 0 and not padded.sass.loads
    assert [one.kernel for one in fills] == ["fill_up_kernel"] * 2 and all(set(one.sass.stores) == {16} for one in fills)


@pytest.mark.parametrize("size", [(511, 511, 511), (1001, 1001, 1001), (4097, 4097, 4097), (512, 512, 511), (512, 511, 512)], ids=str)
def test_odd_products_spill_nothing_either(size):
    assert compile(lambda: matmul(*product(*size)), "sm_90").spilled == 0


def test_float32_takes_tensor_cores_only_where_it_may_be_rounded():
    a, b = product(4096, 4096, 4096, FP32)
    ieee, tf32 = (compile(lambda: matmul(a, b, input_precision=how), "sm_90") for how in ("ieee", "tf32"))
    assert (ieee.sass.wgmma, ieee.sass.mma) == (0, 0) and tf32.sass.wgmma > 0 and ieee.spilled == tf32.spilled == 0
