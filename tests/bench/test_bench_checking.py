"""A wrong result is caught before its time is believed."""

import pytest
import torch

from tritonlab.bench import checking
from tritonlab.bench.checking import compare, default_tolerance, poisoned
from tritonlab.bench.errors import MeasureError, WrongResultError

EXACT = (0.0, 0.0)


def test_a_right_result_has_a_small_relative_error():
    expected = torch.randn(1000, dtype=torch.float64)
    error = compare(expected.float(), expected, default_tolerance(torch.float32), "mine")
    assert 0 < error < 6e-8


def test_a_wrong_element_is_named_with_what_was_expected():
    expected = torch.arange(10, dtype=torch.float64)
    out = expected.float()
    out[7] = 8.5
    with pytest.raises(WrongResultError, match=r"mine is wrong in 1 of 10 elements \(element 7 is 8.5, expected 7\)") as caught:
        compare(out, expected, (1e-6, 1e-6), "mine")
    assert caught.value.relative > 0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_value_that_is_not_finite_is_wrong_unless_expected(value):
    expected = torch.ones(4, dtype=torch.float64)
    out = expected.float()
    out[2] = value
    with pytest.raises(WrongResultError, match="1 of 4"):
        compare(out, expected, (10.0, 10.0), "mine")
    expected[2] = value
    assert compare(out, expected, EXACT, "mine") == 0


def test_the_other_infinity_is_wrong():
    with pytest.raises(WrongResultError):
        compare(torch.tensor([float("inf")]), torch.tensor([-float("inf")]).double(), (1.0, 1.0), "mine")


def test_what_is_too_large_for_the_dtype_may_be_infinite():
    expected = torch.tensor([7e4, -7e4, 1.0], dtype=torch.float64)
    assert compare(expected.half(), expected, EXACT, "mine") == 0
    with pytest.raises(WrongResultError):
        compare(expected.half().abs(), expected, EXACT, "mine")


def test_wrong_elements_are_counted_over_chunks(monkeypatch):
    monkeypatch.setattr(checking, "_CHUNK", 4)
    expected = torch.zeros(10, dtype=torch.float64)
    out = torch.zeros(10)
    out[[1, 5, 6, 9]] = 1
    with pytest.raises(WrongResultError, match="4 of 10") as caught:
        compare(out, expected, EXACT, "mine")
    assert "element 5 is 1" in caught.value.message and "element 9" not in caught.value.message


def test_shapes_must_agree():
    with pytest.raises(WrongResultError, match=r"shape \[3\] where the oracle has \[4\]"):
        compare(torch.ones(3), torch.ones(4), EXACT, "mine")


def test_integers_must_be_equal():
    assert compare(torch.tensor([1, 2]), torch.tensor([1, 2]), default_tolerance(torch.int64), "mine") == 0
    with pytest.raises(WrongResultError):
        compare(torch.tensor([1, 2]), torch.tensor([1, 3]), default_tolerance(torch.int64), "mine")


def test_an_empty_result_is_right():
    assert compare(torch.ones(0), torch.ones(0).double(), EXACT, "mine") == 0


def test_the_second_run_finds_its_memory_poisoned():
    buffer = torch.zeros(8)
    seen = []

    def lazy():  # writes its output once and then never again
        seen.append(buffer.clone())
        return buffer

    poisoned(lazy)
    assert len(seen) == 2


def test_results_other_than_a_tensor_are_refused():
    with pytest.raises(MeasureError, match="returned tuple"):
        poisoned(lambda: (torch.ones(1), 2))


def test_a_refused_result_is_not_run_twice():
    runs = []

    def refuse(out):
        raise MeasureError("no")

    with pytest.raises(MeasureError):
        poisoned(lambda: runs.append(1) or torch.ones(1), refuse)
    assert len(runs) == 1
