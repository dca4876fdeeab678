"""The picture after a failed check opens at the place that the reason names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import tritonlab as lab
from tritonlab.exercises.result import CheckResult, Reason
from tritonlab.views.check import check as picture

sys.path.insert(0, str(Path(__file__).parents[1] / "exercises"))
from exercise_tools import WRONG, load  # noqa: E402


def verdict(exercise: str, answer: str):
    chosen = lab.exercise(exercise)
    return chosen.check(getattr(load(WRONG / exercise / f"{answer}.py"), chosen.problem.function))


def test_out_of_bounds_opens_the_stepper_at_the_line_that_fails():
    result = verdict("vector_add.mask", "no_mask")
    view = picture(result)
    assert type(view).__name__ == "StepperView" and "program 0" in repr(view) and "ended by an error" in repr(view)
    program, step = view.data["start"]
    assert (program, step) == (0, result.where.step)


def test_never_written_opens_the_tiles_at_the_program_whose_mask_is_off():
    result = verdict("vector_add.mask", "block_as_bound")
    view = picture(result)
    assert type(view).__name__ == "TileView" and view.data["start"] == 1 == result.reasons[0].program[0]


def test_wrong_values_open_the_stepper_at_the_store():
    result = verdict("vector_add.axpy", "a_times_y")
    view = picture(result)
    assert type(view).__name__ == "StepperView" and view.data["start"] == [0, result.where.step]


@pytest.mark.parametrize(
    "exercise, answer",
    [("vector_add.axpy", "torch_does_it"), ("vector_add.axpy", "asserts")],
)
def test_a_reason_without_a_launch_has_no_picture(exercise, answer):
    assert picture(verdict(exercise, answer)) is None


def test_right_and_unfinished_answers_have_no_picture():
    chosen = lab.exercise("vector_add.mask")
    assert picture(chosen.check(chosen.problem.launcher)) is None
    assert picture(CheckResult("a.b", "not yet")) is None
    assert picture(CheckResult("a.b", "not right", (Reason("wrong_kind", "No."),))) is None


def test_what_is_no_check_result_is_refused():
    with pytest.raises(TypeError, match="check takes what ex.check.* returns; got NoneType"):
        picture(None)
