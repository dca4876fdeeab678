import pytest
import torch

from tritonlab import reference
from tritonlab.tolerances import OPS, tolerance

FLOATS = [torch.float32, torch.float16, torch.bfloat16]


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_every_op_has_a_reason_and_room_for_one_rounding_of_the_result_but_not_two_units(op, dtype):
    limit = tolerance(op, dtype)
    eps = torch.finfo(dtype).eps
    assert limit.rtol >= eps / 2 and limit.reason
    assert dtype is torch.float32 or limit.rtol < eps * 0.6


@pytest.mark.parametrize("dtype", FLOATS[1:], ids=str)
def test_a_truncated_result_is_outside_and_a_rounded_one_inside(dtype, agrees):
    generator = torch.Generator().manual_seed(1)
    x, y = (torch.randn(200, generator=generator).to(dtype) for _ in range(2))
    exact = reference.vector_add(x, y)
    rounded = exact.to(dtype)
    agrees("vector_add", rounded, exact)
    towards_zero = torch.where(rounded.double().abs() > exact.abs(), torch.nextafter(rounded, torch.zeros_like(rounded)), rounded)
    with pytest.raises(AssertionError):
        agrees("vector_add", towards_zero, exact)


def test_integers_are_exact_and_unknown_ops_are_named():
    assert (tolerance("vector_add", torch.int32).rtol, tolerance("vector_add", torch.int32).atol) == (0.0, 0.0)
    with pytest.raises(KeyError, match="no tolerance for 'conv'; there is one for vector_add"):
        tolerance("conv", torch.float32)


def test_oracles_are_float64_and_agree_with_torch():
    x, w = torch.randn(3, 50, generator=torch.Generator().manual_seed(2), dtype=torch.float64), torch.linspace(-1, 2, 50).double()
    assert reference.rmsnorm(x.float(), w.float()).dtype == torch.float64
    torch.testing.assert_close(reference.rmsnorm(x, w, 1e-3), torch.nn.functional.rms_norm(x, (50,), w, 1e-3))
    torch.testing.assert_close(reference.softmax(x), torch.softmax(x, -1))
    assert reference.vector_add(torch.tensor([127], dtype=torch.int8), torch.tensor([1], dtype=torch.int8)).item() == -128


def product(K, dtype, seed=4):
    """Random a and b, and their product in float64."""
    generator = torch.Generator().manual_seed(seed)
    a, b = torch.randn(40, K, generator=generator).to(dtype), torch.randn(K, 40, generator=generator).to(dtype)
    return a, b, reference.matmul(a, b)


@pytest.mark.parametrize("K", [1, 16, 100, 1000, 8192])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_sum_in_fp32_one_term_after_another_is_inside_and_a_lost_term_or_a_16_bit_sum_outside(K, dtype, agrees):
    a, b, exact = product(K, dtype)
    acc, half = torch.zeros(40, 40), torch.zeros(40, 40, dtype=torch.float16)
    for k in range(K):
        term = a[:, k, None].float() * b[None, k].float()
        acc += term
        half = (half.float() + term).half()
    limit = {"K": K}
    agrees("matmul", acc.to(dtype), exact, **limit)
    lost = acc - a[:, -1, None].float() * b[None, -1].float()
    for wrong in (lost, half.float()) if K >= 16 else (lost,):
        if dtype is not torch.bfloat16 or wrong is lost:  # in bfloat16 the result is stored more coarsely than fp16 sums
            with pytest.raises(AssertionError):
                agrees("matmul", wrong.to(dtype), exact, **limit)


@pytest.mark.parametrize("K", [1, 100, 4096])
def test_tf32_is_outside_the_tolerance_of_ieee_and_inside_its_own(K, agrees):
    a, b, exact = product(K, torch.float32)
    cut = [(x.view(torch.int32) & -(1 << 13)).view(torch.float32) for x in (a, b)]  # to 11 bits, towards zero
    out = torch.matmul(cut[0].double(), cut[1].double()).float()
    agrees("matmul", out, exact, K=K, input_precision="tf32")
    with pytest.raises(AssertionError):
        agrees("matmul", out, exact, K=K)


def test_the_tolerance_of_a_product_follows_the_size_of_its_terms(agrees):
    a, b, exact = product(100, torch.float32)
    agrees("matmul", (1e6 * a @ b), 1e6 * exact, K=100, scale=1e6)
    with pytest.raises(AssertionError):
        agrees("matmul", 1e6 * (exact.float() + 1e-3), 1e6 * exact, K=100, scale=1e6)
