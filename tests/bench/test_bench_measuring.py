"""``lab.measure``: refusals, and the flow around a clock that needs no GPU."""

import pytest
import torch

import tritonlab as lab
from tritonlab.bench.errors import MeasureError, WrongResultError

X = torch.randn(64)


def test_without_a_gpu_measuring_is_refused_with_the_reason_and_the_way_out(monkeypatch):
    ran = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(MeasureError, match="no GPU that torch can see, and the interpreter .* says nothing of how fast the kernel is") as caught:
        lab.measure(lambda: ran.append(1), op="softmax")
    assert 'lab.recorded("softmax")' in caught.value.hint
    assert ran == []


def test_cpu_tensors_on_a_gpu_machine_are_refused_after_one_run(monkeypatch):
    from tritonlab.bench import measuring

    class Clock:
        device = "cuda"

    ran = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(measuring, "GpuTimer", Clock)
    with pytest.raises(MeasureError, match="gave a tensor on the CPU, where kernels are interpreted") as caught:
        lab.measure(lambda: ran.append(1) or X + X)
    assert 'device="cuda"' in caught.value.hint and "lab.recorded" in caught.value.hint
    assert len(ran) == 1


def test_the_contenders_come_back_as_measurements(make_timer):
    mine, theirs = (lambda: X + X), (lambda: 2 * X)
    timer = make_timer(lambda fn: 3e-6 if fn is mine else 6e-6)
    ms = lab.measure(mine, baseline=theirs, cost=(768, 64), oracle=lambda: X.double() * 2, op="vector_add", timer=timer)
    assert [(m.implementation, m.seconds) for m in ms] == [("yours", pytest.approx(3e-6)), ("torch", pytest.approx(6e-6))]
    assert (ms[0].op, ms[0].shape, ms[0].dtype, ms[0].bytes, ms[0].flops) == ("vector_add", (64,), "float32", 768, 64)
    assert ms[0].error == 0.0 and ms[0].label.endswith("measured now")
    assert "do_bench" in ms[0].method


def test_baselines_names_and_shapes_can_be_given(make_timer):
    ms = lab.measure(lambda: X + X, baseline={"a": lambda: X + X, "b": lambda: X * 2}, name="mine", shape=(8, 8), timer=make_timer())
    assert ms.implementations == ("mine", "a", "b") and ms.shapes == ((8, 8),)
    assert ms[0].bytes is None and ms[0].error is None and ms[0].op == "measured code"


def test_the_name_of_a_function_names_the_op(make_timer):
    def doubled():
        return X + X

    assert lab.measure(doubled, timer=make_timer()).ops == ("doubled",)


def test_a_wrong_result_is_not_timed(make_timer):
    timer = make_timer()
    with pytest.raises(WrongResultError, match="yours is wrong in 64 of 64 elements") as caught:
        lab.measure(lambda: X + X + 1, oracle=X.double() * 2, timer=timer)
    assert caught.value.hint == "make it right first, then measure" and timer.called == []
    with pytest.raises(WrongResultError, match="torch is wrong"):
        lab.measure(lambda: X + X, baseline=lambda: X + 1, oracle=X.double() * 2, timer=timer)


def test_the_tolerance_can_be_given(make_timer):
    lab.measure(lambda: X + X + 1e-3, oracle=X.double() * 2, tolerance=(0.0, 1e-2), timer=make_timer())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: lab.measure(X, timer=t), TypeError, "measure takes a callable"),
        (lambda t: lab.measure(lambda: X, baseline=X, timer=t), TypeError, "baseline 'torch' must be a callable"),
        (lambda t: lab.measure(lambda: X, baseline={"yours": lambda: X}, timer=t), ValueError, "a baseline is called 'yours'"),
        (lambda t: lab.measure(lambda: X, cost=768, timer=t), MeasureError, r"cost must be \(bytes, flops\), got 768"),
        (lambda t: lab.measure(lambda: 3, timer=t), MeasureError, "returned int"),
    ],
)
def test_wrong_arguments_are_named(make_timer, call, error, message):
    with pytest.raises(error, match=message):
        call(make_timer())
