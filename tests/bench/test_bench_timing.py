"""From samples to a timing, by hand-made clocks only."""

import pytest

from tritonlab.bench.errors import MeasureError
from tritonlab.bench.measurement import Timing
from tritonlab.bench.timing import GpuTimer, launch_counts, summarize


def test_the_middle_is_the_median_not_the_mean():
    one = summarize([[1e-5] * 9 + [1.0]])
    assert one.seconds == pytest.approx(1e-5) and one.samples == 10


def test_the_spread_runs_from_the_tenth_to_the_ninetieth_percentile():
    one = summarize([[k * 1e-6 for k in range(1, 12)]])
    assert (one.low, one.seconds, one.high) == pytest.approx((2e-6, 6e-6, 10e-6))


def test_a_pass_whose_median_lies_outside_widens_the_spread():
    steady, slow = [1e-5] * 95, [2e-5] * 5
    assert summarize([steady + slow]).high == pytest.approx(1e-5)
    assert summarize([steady, slow]).high == pytest.approx(2e-5)


def test_times_of_zero_do_not_count_and_nothing_else_is_an_error():
    assert summarize([[0.0, 1e-6]]).samples == 1
    with pytest.raises(MeasureError, match="no time above zero"):
        summarize([[0.0], []])


def test_a_timing_survives_its_record(tmp_path):
    one = summarize([[1.23456789123e-5 / 3, 1e-5]])
    assert one.seconds == round(one.seconds, 11)


def test_the_launch_counts_when_it_is_a_fifth_of_the_time():
    launch = Timing(4e-6, 4e-6, 4e-6, 1)
    assert launch_counts(19e-6, launch) and not launch_counts(21e-6, launch)
    assert not launch_counts(1e-6, None)


def test_without_a_gpu_there_is_no_stopwatch(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(MeasureError, match="no GPU"):
        GpuTimer()


def test_every_single_time_is_asked_for(monkeypatch):
    """do_bench's default is the mean; the stopwatch asks for all times, in seconds."""
    import torch
    import triton.testing

    asked = {}

    def do_bench(fn, warmup, rep, return_mode):
        asked.update(warmup=warmup, rep=rep, return_mode=return_mode)
        return [1.0, 3.0]

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(triton.testing, "do_bench", do_bench)
    assert GpuTimer().calls(lambda: None, 40) == [1e-3, 3e-3]
    assert asked == {"warmup": 10, "rep": 40, "return_mode": "all"}


def test_what_cannot_be_captured_in_a_graph_has_no_graph_time(monkeypatch):
    import torch
    import triton.testing

    def refuse(fn, rep, return_mode):
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(triton.testing, "do_bench_cudagraph", refuse)
    assert GpuTimer().graph(lambda: None, 10) is None
    monkeypatch.setattr(triton.testing, "do_bench_cudagraph", lambda fn, rep, return_mode: [0.5])
    assert GpuTimer().graph(lambda: None, 10) == [5e-4]
