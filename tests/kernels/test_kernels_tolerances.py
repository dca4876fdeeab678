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
    with pytest.raises(KeyError, match="no tolerance for 'matmul'; there is one for vector_add"):
        tolerance("matmul", torch.float32)


def test_oracles_are_float64_and_agree_with_torch():
    x, w = torch.randn(3, 50, generator=torch.Generator().manual_seed(2), dtype=torch.float64), torch.linspace(-1, 2, 50).double()
    assert reference.rmsnorm(x.float(), w.float()).dtype == torch.float64
    torch.testing.assert_close(reference.rmsnorm(x, w, 1e-3), torch.nn.functional.rms_norm(x, (50,), w, 1e-3))
    torch.testing.assert_close(reference.softmax(x), torch.softmax(x, -1))
    assert reference.vector_add(torch.tensor([127], dtype=torch.int8), torch.tensor([1], dtype=torch.int8)).item() == -128
