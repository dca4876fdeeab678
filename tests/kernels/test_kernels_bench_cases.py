"""Every size that the bench measures is one that the launcher accepts, with a cost."""

import pytest

from tritonlab.bench.ops import cases_of
from tritonlab.runtime import capture
from tritonlab.tolerances import OPS, tolerance


@pytest.mark.parametrize("op", OPS)
def test_every_case_launches_and_has_a_cost_and_a_tolerance(op):
    cases = cases_of([op])
    assert cases and len({(case.shape, case.dtype, case.own) for case in cases}) == len(cases)
    for case in cases:
        args = case.make("meta")
        moved, flops = case.cost(*args)
        for name, run in case.contenders.items():
            with capture() as launches:
                out = run(*args)
            assert out.shape == case.shape and out.dtype == case.dtype
            assert bool(launches) == (name in case.own)
        assert moved >= 2 * out.numel() * out.element_size() and flops >= out.numel()
        assert 0 < tolerance(op, case.dtype).rtol < 0.01
