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


class Machine:
    """A host and a GPU that works off a queue: ``fn`` costs the host ``launch`` seconds and the GPU ``kernel``."""

    def __init__(self, launch, kernel, clearing):
        self.now = self.busy_until = 0.0
        self.launch, self.kernel, self.clearing = launch, kernel, clearing
        self.cleared = self.called = 0

    def queue(self, host, gpu):
        self.now += host
        self.busy_until = max(self.busy_until, self.now) + gpu

    def clear(self):
        self.cleared += 1
        self.queue(2e-6, self.clearing)

    def fn(self):
        self.called += 1
        self.queue(self.launch, self.kernel)

    def timer(self):
        machine = self

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self):
                machine.queue(1e-6, 0.0)
                self.at = machine.busy_until

            def elapsed_time(self, other):
                return (other.at - self.at) * 1e3

        class Cuda:
            is_available = staticmethod(lambda: True)
            synchronize = staticmethod(lambda: setattr(machine, "now", max(machine.now, machine.busy_until)))
            empty_cache = staticmethod(lambda: None)

        Cuda.Event = Event
        return GpuTimer(cuda=Cuda, clock=lambda: machine.now, clear=self.clear)


def test_a_kernel_is_timed_by_the_gpus_clock_with_l2_cleared_before_each_call():
    machine = Machine(launch=5e-6, kernel=50e-6, clearing=70e-6)
    times = machine.timer().calls(machine.fn, 40)
    assert times == pytest.approx([50e-6] * len(times))
    assert 320 < len(times) <= 40e-3 / 120e-6 and machine.cleared == machine.called


def test_a_slow_launcher_does_not_count_as_the_kernels_time():
    slow = Machine(launch=100e-6, kernel=4e-6, clearing=70e-6)
    times = slow.timer().calls(slow.fn, 40)
    assert times[len(times) // 2] == pytest.approx(4e-6)
    # with one clearing a call, as do_bench has it, the GPU would wait for the host in every round
    naive = Machine(launch=100e-6, kernel=4e-6, clearing=70e-6)
    times, _, _ = naive.timer()._rounds(naive.fn, 50, 1)
    assert times[25] > 30e-6


def test_a_long_kernel_is_still_called_once():
    machine = Machine(launch=5e-6, kernel=1.0, clearing=70e-6)
    assert machine.timer().calls(machine.fn, 40) == pytest.approx([1.0])


def test_the_number_of_clearings_is_bounded():
    machine = Machine(launch=1.0, kernel=1e-6, clearing=1e-6)
    machine.timer().calls(machine.fn, 1)
    assert machine.cleared < 1 + 11 + 5 + 10 * machine.called


def test_what_cannot_be_captured_in_a_graph_has_no_graph_time(monkeypatch):
    import triton.testing

    def refuse(fn, rep, return_mode):
        raise RuntimeError("operation not permitted when stream is capturing")

    timer = Machine(1, 1, 1).timer()
    monkeypatch.setattr(triton.testing, "do_bench_cudagraph", refuse)
    assert timer.graph(lambda: None, 10) is None
    asked = {}
    monkeypatch.setattr(triton.testing, "do_bench_cudagraph", lambda fn, **options: asked.update(options) or [0.5])
    assert timer.graph(lambda: None, 10) == [5e-4]
    assert asked == {"rep": 10, "return_mode": "all"}


def test_the_gpu_is_kept_at_work_for_as_long_as_was_asked_and_waited_for():
    machine = Machine(launch=5e-6, kernel=1e-3, clearing=70e-6)
    machine.timer().warm(machine.fn, 50)
    assert 50e-3 <= machine.now == machine.busy_until < 60e-3 and machine.cleared == 0
