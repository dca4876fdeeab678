"""The bench on a real GPU. No test here asserts how long anything takes."""

import pytest
import torch

import tritonlab as lab
from tritonlab.bench.ceilings import Ceilings
from tritonlab.bench.errors import MeasureError, WrongResultError
from tritonlab.bench.ops import cases_of
from tritonlab.bench.sweep import Plan, sweep
from tritonlab.bench.timing import GpuTimer
from tritonlab.kernels.vector_add import vector_add, vector_add_cost

pytestmark = pytest.mark.gpu


@pytest.fixture
def xy():
    return tuple(torch.randn(2**16, device="cuda") for _ in range(2))


def test_measuring_a_kernel_gives_times_rates_and_roofs(xy):
    x, y = xy
    ms = lab.measure(
        lambda: vector_add(x, y), baseline=lambda: x + y, cost=vector_add_cost(x, y), oracle=lambda: x.double() + y.double(), op="vector_add"
    )
    assert ms.implementations == ("yours", "torch") and ms.shapes == ((2**16,),)
    assert all(m.timing.samples > 10 and m.gbps > 0 and m.error < 1e-7 for m in ms)
    assert ms[0].gpu == torch.cuda.get_device_name() and ms[0].label.endswith("measured now")
    assert ms.roofs.copy and ms.roofs.matmul and ms.roofs.launch
    assert ms[0].graph is not None  # so small that its launch counts


def test_cpu_tensors_are_refused_here_too():
    x = torch.randn(64)
    with pytest.raises(MeasureError, match="CPU, where kernels are interpreted"):
        lab.measure(lambda: vector_add(x, x))


def test_a_kernel_that_leaves_a_lane_unwritten_is_refused(xy):
    x, y = xy

    def lazy():
        out = torch.empty_like(x)
        vector_add(x[:-1], y[:-1], out=out[:-1])
        return out

    with pytest.raises(WrongResultError, match="element 65535"):
        lab.measure(lazy, oracle=lambda: x.double() + y.double())


@pytest.mark.parametrize("op", sorted({case.op for case in cases_of()}))
def test_the_smallest_case_of_every_op_goes_through_the_sweep(op):
    case = min(cases_of([op]), key=lambda case: torch.Size(case.shape).numel())
    timer = GpuTimer()
    result = sweep([case], timer, Ceilings(timer, copy_bytes=1 << 20, matmul_size=512), Plan(passes=2, milliseconds=5))
    assert result.failures == []
    assert ("torch.compile" in result.measurements.implementations) == (case.compiled is not None)
    assert all(m.error is not None for m in result.measurements)
