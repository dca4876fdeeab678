"""Small floats, integers and booleans: what an interpreted kernel computes is what a GPU computes, or refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from hypothesis import given, settings
from hypothesis import strategies as st

from tritonlab.errors import KernelError, UnsupportedError
from tritonlab.runtime import numerics

BITS = st.lists(st.integers(0, 0xFFFF), min_size=16, max_size=16)
quick = settings(max_examples=25, deadline=None)


def bf16(bits):
    return torch.tensor(bits, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)


def same(a, b):
    """Equal as values, NaN with NaN, zeros with their signs."""
    a, b = a.double(), b.double()
    assert torch.equal(torch.nan_to_num(a, nan=12345.0), torch.nan_to_num(b, nan=12345.0)), (a, b)
    assert torch.equal(torch.signbit(a) & (a == 0), torch.signbit(b) & (b == 0)), (a, b)


# bfloat16


@triton.jit
def store_as_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs).to(out_ptr.dtype.element_ty))


@triton.jit
def plain_store_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs))


@quick
@given(st.lists(st.integers(0, 0xFFFFFFFF), min_size=16, max_size=16))
def test_float32_becomes_bf16_to_nearest_even(bits):
    x = torch.tensor(bits).to(torch.int32).view(torch.float32)
    for kernel in (store_as_kernel, plain_store_kernel):
        out = torch.zeros(16, dtype=torch.bfloat16)
        kernel[(1,)](x, out, BLOCK=16)
        same(out, x.to(torch.bfloat16))


def test_a_known_rounding():
    x, out = torch.tensor([3.09, 1.00390625, 1.01171875, -0.0]), torch.zeros(4, dtype=torch.bfloat16)
    store_as_kernel[(1,)](x, out, BLOCK=4)
    assert out.tolist() == [3.09375, 1.0, 1.015625, -0.0]


@quick
@given(BITS)
def test_bf16_widens_exactly(bits):
    x = bf16(bits)
    for dtype in (torch.float32, torch.float64):
        out = torch.zeros(16, dtype=dtype)
        store_as_kernel[(1,)](x, out, BLOCK=16)
        same(out, x.to(dtype))


@triton.jit
def arithmetic_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + offs), tl.load(y_ptr + offs)
    tl.store(out_ptr + offs, x + y)
    tl.store(out_ptr + BLOCK + offs, x - y)
    tl.store(out_ptr + 2 * BLOCK + offs, x * y)
    tl.store(out_ptr + 3 * BLOCK + offs, tl.where(x < y, x, y))
    tl.store(out_ptr + 4 * BLOCK + offs, tl.abs(x))
    tl.store(out_ptr + 5 * BLOCK + offs, x * 3 + 0.5)
    tl.store(out_ptr + 6 * BLOCK + offs, (x == y).to(out_ptr.dtype.element_ty))


@quick
@given(BITS, BITS)
def test_bf16_arithmetic_is_that_of_torch(x_bits, y_bits):
    x, y = bf16(x_bits), bf16(y_bits)
    out = torch.zeros(7, 16, dtype=torch.bfloat16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arithmetic_kernel[(1,)](x, y, out, BLOCK=16)
    for got, expected in zip(out, (x + y, x - y, x * y, torch.where(x < y, x, y), x.abs(), (x * 3) + 0.5, (x == y).to(torch.bfloat16))):
        same(got, expected)


@triton.jit
def division_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + offs), tl.load(y_ptr + offs)
    tl.store(out_ptr + offs, x / y)
    tl.store(out_ptr + BLOCK + offs, tl.maximum(x, y))
    tl.store(out_ptr + 2 * BLOCK + offs, tl.minimum(x, y))
    tl.store(out_ptr + 3 * BLOCK + offs, -x)


def either(op, x, y):
    """The extreme of two, or the one that is a number (torch.fmax makes NaN of a signalling NaN, a GPU does not)."""
    return torch.where(x.isnan(), y, torch.where(y.isnan(), x, op(x, y)))


@quick
@given(BITS, BITS)
def test_bf16_division_and_extremes(x_bits, y_bits):
    x, y = bf16(x_bits), bf16(y_bits)
    out = torch.zeros(4, 16, dtype=torch.bfloat16)
    division_kernel[(1,)](x, y, out, BLOCK=16)
    quotient = x.float() / y.float()
    assert torch.equal(torch.nan_to_num(out[0].float(), nan=1.0), torch.nan_to_num(quotient.to(torch.bfloat16).float(), nan=1.0))
    equal_zeros = (x == 0) & (y == 0)
    for got, expected in ((out[1], either(torch.maximum, x, y)), (out[2], either(torch.minimum, x, y))):
        assert torch.equal(torch.nan_to_num(got.float(), nan=9.0)[~equal_zeros], torch.nan_to_num(expected.float(), nan=9.0)[~equal_zeros])
    known = ~x.isnan()
    assert torch.equal(out[3][known].float(), -x[known].float())


@triton.jit
def dot_kernel(a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    acc = tl.full((M, N), 1.0, tl.float32)
    tl.store(out_ptr + m[:, None] * N + n[None, :], tl.dot(a, b, acc))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fn, torch.float8_e5m2])
def test_dot(dtype):
    torch.manual_seed(0)
    a, b = torch.randn(16, 32).to(dtype), torch.randn(32, 8).to(dtype)
    out = torch.zeros(16, 8)
    dot_kernel[(1,)](a, b, out, M=16, N=8, K=32)
    expected = a.double() @ b.double() + 1
    torch.testing.assert_close(out.double(), expected, rtol=1e-5, atol=1e-5)


@triton.jit
def reduce_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr, HOW: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    if HOW == "sum":
        y = tl.sum(x, axis=0)
    elif HOW == "cast":
        y = tl.sum(x.to(tl.float32), axis=0)
    elif HOW == "sum_dtype":
        y = tl.sum(x, axis=0, dtype=tl.float32)
    elif HOW == "max":
        y = tl.max(x, axis=0)
    elif HOW == "min":
        y = tl.min(x, axis=0)
    elif HOW == "argmax":
        y = tl.argmax(x, axis=0)
    elif HOW == "cumsum":
        y = tl.sum(tl.cumsum(x, axis=0), axis=0)
    elif HOW == "prod":
        y = tl.reduce(x, 0, multiply)
    tl.store(out_ptr, y)


@triton.jit
def multiply(a, b):
    return a * b


def reduce(x, how):
    out = torch.zeros(1, dtype=torch.int64 if how == "argmax" else torch.float32)
    reduce_kernel[(1,)](x, out, BLOCK=x.numel(), HOW=how)
    return out.item()


@pytest.mark.parametrize("how, what", [("sum", "tl.sum"), ("prod", "tl.reduce")])
def test_reductions_in_bf16_are_refused_with_the_way_out(how, what):
    x = torch.ones(8, dtype=torch.bfloat16)
    with pytest.raises(UnsupportedError) as caught:
        reduce(x, how)
    assert f"{what} over a bfloat16 block" in str(caught.value) and f"{what}(x.to(tl.float32)" in caught.value.hint
    assert "x" in caught.value.text and caught.value.function == "reduce_kernel"


def test_sums_of_bf16_in_float32():
    x = torch.tensor([1.0, -3.0, 2.5, 0.1, -2.0, 0.0, 2.5, 1.0], dtype=torch.bfloat16)
    total = pytest.approx(x.float().sum().item(), rel=1e-6)
    assert reduce(x, "cast") == total and reduce(x, "sum_dtype") == total


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e5m2, torch.float16, torch.float32])
def test_choosing_one_lane_is_exact_in_any_type(dtype):
    x = torch.tensor([1.0, -3.0, 2.5, 0.125, -2.0, 0.0, 2.5, 1.0]).to(dtype)
    assert reduce(x, "max") == 2.5 and reduce(x, "min") == -3.0 and reduce(x, "argmax") == 2


def test_a_running_sum_of_bf16_is_right_or_refused():
    x = torch.tensor([1.0, -3.0, 2.5, 0.125], dtype=torch.bfloat16)
    try:
        assert reduce(x, "cumsum") == x.float().cumsum(0).sum().item()  # most Tritons widen it first
    except UnsupportedError as refused:
        assert "tl.cumsum over a bfloat16 block" in str(refused)


def test_a_custom_reduction_of_float32():
    assert reduce(torch.tensor([1.0, 2.0, 3.0, 4.0]), "prod") == 24.0


@triton.jit
def sort_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.sort(tl.load(x_ptr + offs)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32])
def test_sort(dtype):
    x = torch.tensor([3, -1, 7, 2, -8, 0, 5, 4]).to(dtype)
    out = torch.zeros_like(x)
    sort_kernel[(1,)](x, out, BLOCK=8)
    assert torch.equal(out, x.sort().values)


@triton.jit
def rounding_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr, HOW: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs).to(out_ptr.dtype.element_ty, fp_downcast_rounding=HOW))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@quick
@given(bits=st.lists(st.integers(0, 0xFFFFFFFF), min_size=16, max_size=16))
def test_named_rounding_modes(dtype, bits):
    x = torch.tensor(bits).to(torch.int32).view(torch.float32)
    nearest, zero = torch.zeros(16, dtype=dtype), torch.zeros(16, dtype=dtype)
    rounding_kernel[(1,)](x, nearest, BLOCK=16, HOW="rtne")
    rounding_kernel[(1,)](x, zero, BLOCK=16, HOW="rtz")
    same(nearest, x.to(dtype))
    known = ~x.isnan()
    assert (zero[known].double().abs() <= x[known].double().abs()).all()
    step = torch.where(nearest.double().abs() > x.double().abs(), 1, 0).to(torch.int16)
    same(zero[known], (nearest.view(torch.int16) - step).view(dtype)[known])


# float8

FP8 = [torch.float8_e4m3fn, torch.float8_e5m2]


@pytest.mark.parametrize("dtype", FP8)
def test_every_float8_widens_exactly(dtype):
    x = torch.arange(256, dtype=torch.uint8).view(dtype)
    out = torch.zeros(256)
    store_as_kernel[(1,)](x, out, BLOCK=256)
    same(out, x.float())


@pytest.mark.parametrize("dtype", FP8)
@quick
@given(values=st.lists(st.floats(-500, 500, width=32), min_size=16, max_size=16))
def test_float32_becomes_float8_to_nearest_even_and_saturates(dtype, values):
    x, out = torch.tensor(values), torch.zeros(16).to(dtype)
    top = torch.finfo(dtype).max
    store_as_kernel[(1,)](x, out, BLOCK=16)
    same(out.float(), x.clamp(-top, top).to(dtype).float())


@pytest.mark.parametrize("dtype", FP8)
def test_float8_saturates(dtype):
    x = torch.tensor([1e9, -1e9, float("inf"), float("nan")])
    out = torch.zeros(4).to(dtype)
    store_as_kernel[(1,)](x, out, BLOCK=4)
    top = torch.finfo(dtype).max
    assert out.float()[:3].tolist() == [top, -top, top] and out.float()[3].isnan()


def test_arithmetic_on_float8_is_refused():
    x = torch.ones(16).to(torch.float8_e4m3fn)
    with pytest.raises(UnsupportedError, match="no GPU computes in float8") as caught:
        arithmetic_kernel[(1,)](x, x, torch.zeros(7, 16).to(torch.float8_e4m3fn), BLOCK=16)
    assert "x.to(tl.float32)" in caught.value.hint
    with pytest.raises(UnsupportedError, match="tl.sum over a block of fp8e4nv"):
        reduce(x, "sum")


def test_atomics_on_bf16_are_refused():
    x = torch.zeros(4, dtype=torch.bfloat16)
    with pytest.raises(UnsupportedError, match="atomic_add on bf16"):
        atomic_add_kernel[(1,)](x, BLOCK=4)
    half = torch.zeros(4, dtype=torch.float16)
    atomic_add_kernel[(1,)](half, BLOCK=4)
    assert half.tolist() == [1.0] * 4


@triton.jit
def atomic_add_kernel(x_ptr, BLOCK: tl.constexpr):
    tl.atomic_add(x_ptr + tl.arange(0, BLOCK), 1.0)


# other floats


@triton.jit
def extremes_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + offs), tl.load(y_ptr + offs)
    tl.store(out_ptr + offs, tl.maximum(x, y))
    tl.store(out_ptr + BLOCK + offs, tl.minimum(x, y))
    tl.store(out_ptr + 2 * BLOCK + offs, tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out_ptr + 3 * BLOCK + offs, tl.clamp(x, -1.0, 1.0))
    tl.store(out_ptr + 4 * BLOCK + offs, tl.fma(x, y, 1.0))


def test_extremes_and_nan():
    nan = float("nan")
    x, y = torch.tensor([1.0, nan, 3.0, nan]), torch.tensor([2.0, 5.0, nan, nan])
    out = torch.zeros(5, 4)
    extremes_kernel[(1,)](x, y, out, BLOCK=4)
    same(out[0], torch.tensor([2.0, 5.0, 3.0, nan]))
    same(out[1], torch.tensor([1.0, 5.0, 3.0, nan]))
    same(out[2], torch.tensor([2.0, nan, nan, nan]))
    same(out[3], torch.tensor([1.0, -1.0, 1.0, -1.0]))
    assert out[4][0] == 3.0


def test_fma_rounds_once():
    x = torch.tensor([1 + 2.0**-12] * 4)
    y = torch.tensor([1 + 2.0**-12] * 4)
    out = torch.zeros(5, 4)
    extremes_kernel[(1,)](x, y, out, BLOCK=4)
    assert out[4][0].item() == float(np.float32((1 + 2.0**-12) ** 2 + 1.0))


# integers and booleans


@triton.jit
def integers_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + offs), tl.load(y_ptr + offs)
    tl.store(out_ptr + offs, x // y)
    tl.store(out_ptr + BLOCK + offs, x % y)
    tl.store(out_ptr + 2 * BLOCK + offs, x >> 1)
    tl.store(out_ptr + 3 * BLOCK + offs, min(x, y))
    tl.store(out_ptr + 4 * BLOCK + offs, max(x, y, 3))


def test_integers_divide_towards_zero():
    x, y = torch.tensor([7, -7, 7, -7], dtype=torch.int32), torch.tensor([2, 2, -2, -2], dtype=torch.int32)
    out = torch.zeros(5, 4, dtype=torch.int32)
    integers_kernel[(1,)](x, y, out, BLOCK=4)
    assert out.tolist() == [[3, -3, -3, 3], [1, -1, 1, -1], [3, -4, 3, -4], [2, -7, -2, -7], [7, 3, 7, 3]]


@triton.jit
def one_bit_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    a = tl.load(x_ptr + offs) > 0
    b = offs < 2
    tl.store(out_ptr + offs, (a + b).to(tl.int32))
    tl.store(out_ptr + BLOCK + offs, (a * b).to(tl.int32))
    tl.store(out_ptr + 2 * BLOCK + offs, (a & b).to(tl.int32) + tl.sum(a, axis=0))


def test_one_bit_wraps_round():
    out = torch.zeros(3, 4, dtype=torch.int32)
    one_bit_kernel[(1,)](torch.tensor([1.0, -1.0, 1.0, -1.0]), out, BLOCK=4)
    assert out.tolist() == [[0, 1, 1, 0], [1, 0, 0, 0], [3, 2, 2, 2]]


@triton.jit
def bool_copy_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs))


def test_bool_tensors():
    x, out = torch.tensor([True, False, True, True]), torch.zeros(4, dtype=torch.bool)
    bool_copy_kernel[(1,)](x, out, BLOCK=4)
    assert torch.equal(out, x)


@triton.jit
def total_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    tl.store(out_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, BLOCK))))


def test_an_int32_sum_wraps_as_on_a_gpu():
    out = torch.zeros(1, dtype=torch.int64)
    total_kernel[(1,)](torch.full((4,), 2**30, dtype=torch.int32), out, BLOCK=4)
    assert out.item() == 0
    total_kernel[(1,)](torch.full((4,), 100, dtype=torch.int8), out, BLOCK=4)
    assert out.item() == 400


@triton.jit
def histogram_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr, BINS: tl.constexpr):
    counts = tl.histogram(tl.load(x_ptr + tl.arange(0, BLOCK)), BINS)
    tl.store(out_ptr + tl.arange(0, BINS), counts)


def test_a_histogram_stores_its_own_width():
    guarded = torch.full((8,), -1, dtype=torch.int32)
    histogram_kernel[(1,)](torch.tensor([0, 1, 1, 3], dtype=torch.int32), guarded[:4], BLOCK=4, BINS=4)
    assert guarded.tolist() == [1, 2, 0, 1, -1, -1, -1, -1]


@triton.jit
def out_of_the_blue_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, tl.log(x) / 0.0 + tl.exp(x * 1e30) + tl.max(x / x, axis=0))


def test_no_numpy_warning_escapes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out_of_the_blue_kernel[(1,)](torch.tensor([0.0, -1.0, 1.0, 2.0]), torch.zeros(4), BLOCK=4)
        reduce(torch.full((4,), float("nan")), "max")
    before = np.geterr()
    with pytest.raises(KernelError):
        total_kernel[(1,)](torch.zeros(4), torch.zeros(0), BLOCK=4)
    assert np.geterr() == before


@quick
@given(BITS)
def test_shown_values_of_bf16_are_exact(bits):
    x = bf16(bits)
    same(torch.from_numpy(numerics.visible(x.view(torch.int16).numpy().view(np.uint16), tl.bfloat16).copy()), x.float())
