"""Every size that the bench measures is one that the launcher accepts, with a cost."""

import pytest
import torch

from tritonlab.bench.ops import cases_of
from tritonlab.runtime import capture
from tritonlab.tolerances import OPS, PRODUCTS, tolerance


@pytest.mark.parametrize("op", OPS)
def test_every_case_launches_and_has_a_cost_and_a_tolerance(op):
    cases = cases_of([op])
    assert cases and len({(case.shape, case.dtype, case.own) for case in cases}) == len(cases)
    for case in cases:
        args = case.make("meta")
        moved, flops = case.cost(*args)
        shape = case.shape[:2] if op in PRODUCTS else case.shape  # a product's shape is (M, N, K)
        for name, run in case.contenders.items():
            with capture() as launches:
                out = run(*args)
            assert out.shape == shape and out.dtype == case.dtype
            assert bool(launches) == (name in case.own)
        assert moved >= sum(t.numel() for t in (*args, out)) * out.element_size() and flops >= out.numel()
        assert 0 < tolerance(op, case.dtype).rtol < 0.01


def test_the_tolerance_of_a_product_is_that_of_its_k_and_precision():
    by_name = {(case.name, case.own): case for case in cases_of(["matmul"])}
    ieee, tf32 = (by_name["matmul 4096×4096×4096 float32", (f"tritonlab {how}",)] for how in ("ieee", "tf32"))
    for case, how in ((ieee, "ieee"), (tf32, "tf32")):
        wanted = tolerance("matmul", torch.float32, K=4096, input_precision=how)
        assert case.tolerance == (wanted.rtol, wanted.atol)
    assert tf32.tolerance[1] > 100 * ieee.tolerance[1]
