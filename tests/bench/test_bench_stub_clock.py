"""Triton's do_bench over a clock whose times are known: what it calls, clears and returns."""

import pytest
import triton
from triton.testing import do_bench

from tritonlab.bench.stub_clock import stub_clock

WARM = [10.0] * 8  # the first call, five to estimate, two to warm up: 25 ms of 10 ms calls
TIMES = WARM + [1.0] * 9 + [11.0]


def test_the_default_is_the_mean_and_the_median_has_to_be_asked_for():
    found = {}
    for options in ({}, {"return_mode": "median"}, {"return_mode": "min"}, {"quantiles": [0.5, 0.2, 0.8]}, {"return_mode": "max", "quantiles": [0.5]}):
        with stub_clock(TIMES) as clock:
            found[str(options)] = do_bench(clock.call, **options)
    assert list(found.values()) == [2.0, 1.0, 1.0, [1.0, 1.0, 1.0], 1.0]


def test_warm_up_and_repetitions_are_milliseconds_and_l2_is_cleared_before_each_timed_call():
    with stub_clock(10) as clock:
        assert do_bench(clock.call) == 10
    assert clock.calls == 1 + 5 + 2 + 10 and clock.timed == 10 and clock.cleared == 5 + 10
    assert repr(clock) == "<StubClock 18 calls, 10 timed, L2 cleared 15 times>"
    assert clock.events[-4:] == ["clear", "record", "call", "record"]


def test_the_driver_is_as_before_also_after_an_error():
    before = triton.runtime.driver._active
    with pytest.raises(KeyError), stub_clock(1, 2):
        raise KeyError
    assert triton.runtime.driver._active is before


@pytest.mark.parametrize("times", [(), (0,), (-1,), ("1",), ([1, 0],), (True,)])
def test_times_that_are_none(times):
    with pytest.raises(ValueError, match="positive numbers; got"), stub_clock(*times):
        pass
