"""Every reason that a check can give, each from a launcher that is wrong in just that way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl
from exercise_tools import problem, rows, vectors

from tritonlab.exercises.check import check
from tritonlab.exercises.problem import Case, KnownWrong, Tolerance, spec
from tritonlab.exercises.reasons import RANK
from tritonlab.exercises.rules import launches_at_most, written_once

def rejected(answer, given, code):
    """The result, which must be rejected with that reason first."""
    result = check(answer, given)
    assert result.codes[:1] == (code,), result
    return result


def accepted(answer, given):
    result = check(answer, given)
    assert result.ok, result
    return result


def double(x):
    return x.double() * 2


DOUBLE = problem(double, vectors(64, 192, 1, 63, 65, 197, 0))


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * 2, mask=offs < n)


def launched(x, out, programs=None):
    double_kernel[(triton.cdiv(x.numel(), 64) if programs is None else programs,)](x, out, x.numel(), BLOCK=64)
    return out


def test_a_right_answer_is_accepted():
    accepted(lambda x: launched(x, torch.empty_like(x)), DOUBLE)


# the call does not come back


def test_an_error_in_the_launcher_names_its_line_and_message():
    def answer(x):
        rows, columns = x.shape
        return launched(x, torch.empty_like(x))

    text = rejected(answer, DOUBLE, "raises").reasons[0].text
    assert "answer raises ValueError in line" in text and "`rows, columns = x.shape`" in text
    assert "not enough values to unpack" in text


@triton.jit
def unknown_name_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + ofs, mask=offs < n) * 2, mask=offs < n)  # noqa: F821


def test_an_error_in_the_kernel_names_the_program_the_line_and_the_way_out():
    def answer(x):
        out = torch.empty_like(x)
        unknown_name_kernel[(1,)](x, out, x.numel(), BLOCK=64)
        return out

    reason = rejected(answer, DOUBLE, "raises").reasons[0]
    assert "unknown_name_kernel raises NameError in program 0" in reason.text and "ofs" in reason.text and "Way out:" in reason.text
    assert "x_ptr + ofs" in reason.source and reason.line


def test_an_error_with_no_message_still_reads_well():
    def answer(x):
        raise RuntimeError

    assert rejected(answer, DOUBLE, "raises").reasons[0].text.endswith(": no message.")


def test_a_launch_that_cannot_be_is_explained():
    def answer(x):
        out = torch.empty_like(x)
        double_kernel[(x.numel() / 64,)](x, out, x.numel(), BLOCK=64)
        return out

    assert "triton.cdiv" in rejected(answer, DOUBLE, "raises").reasons[0].text


def test_a_recursion_or_exit_in_a_launcher_does_not_get_out():
    def forever(x):
        return forever(x)

    def leaves(x):
        raise SystemExit(3)

    assert "RecursionError" in rejected(forever, DOUBLE, "raises").reasons[0].text
    assert "SystemExit" in rejected(leaves, DOUBLE, "raises").reasons[0].text


@triton.jit
def endless_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = 0
    while i < n:
        tl.store(out_ptr, 1.0)


def test_a_kernel_that_does_not_end_is_stopped_and_the_loop_named():
    def answer(x):
        out = torch.empty_like(x)
        endless_kernel[(1,)](x, out, x.numel(), BLOCK=64)
        return out

    result = rejected(answer, DOUBLE, "budget")
    assert result.reasons[0].source == "while i < n:" and len(result.tests) == 1


def test_a_launcher_that_does_not_end_is_stopped():
    def answer(x):
        while True:
            pass

    result = rejected(answer, DOUBLE, "budget")
    assert "the launcher itself ran for more than" in result.reasons[0].text
    accepted(lambda x: launched(x, torch.empty_like(x)), DOUBLE)


def test_a_grid_of_far_too_many_programs_is_stopped():
    result = rejected(lambda x: launched(x, torch.empty_like(x), 100_000), DOUBLE, "budget")
    assert "100,000 programs" in result.reasons[0].text


def test_an_answer_that_is_right_but_runs_out_of_the_checks_time_is_not_called_right(monkeypatch):
    import importlib

    monkeypatch.setattr(importlib.import_module("tritonlab.exercises.check"), "SECONDS", 0.0)
    result = rejected(lambda x: launched(x, torch.empty_like(x)), DOUBLE, "budget")
    assert "only 1 of 7 cases had been run, all of them right" in result.reasons[0].text


def test_an_interrupt_by_the_learner_gets_through():
    def launcher(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check(launcher, DOUBLE)


REFUSES = problem(
    lambda x: x.double() * 2,
    (*vectors(64, 65), Case((spec(64, layout="every second"),), (ValueError,), "x is not contiguous")),
)


REFUSES_TYPES = problem(REFUSES.oracle, (*vectors(64, 65), Case((spec(64, layout="every second"),), (ValueError, TypeError), "x is not contiguous")))


def test_a_call_that_must_be_refused_needs_an_error_of_the_right_kind_with_a_message():
    def refusing(error):
        def answer(x):
            if not x.is_contiguous():
                raise error
            return launched(x, torch.empty_like(x))

        return answer

    accepted(refusing(ValueError("x must be contiguous")), REFUSES)
    for error, says in (
        (ValueError(), "has no message"),
        (AssertionError("contiguous"), "python -O"),
        (KeyError("x"), "KeyError was raised"),
    ):
        assert says in rejected(refusing(error), REFUSES, "no_refusal").reasons[0].text

    for shows in ("x must be contiguous", "got strides (2,)", "got torch.float32", "its shape is torch.Size([64])"):
        accepted(refusing(TypeError(shows)), REFUSES_TYPES)
    for shows in ("x is wrong", "128 is not 640 or float3264"):
        text = rejected(refusing(ValueError(shows)), REFUSES, "no_refusal").reasons[0].text
        assert f"says '{shows}', but not what it got" in text

    def copying(x):
        return launched(x.contiguous(), torch.empty(x.shape))

    assert "a result came back" in rejected(copying, REFUSES, "no_refusal").reasons[0].text
    assert "the kernel ran and failed" in rejected(lambda x: launched(x, torch.empty(x.shape)), REFUSES, "no_refusal").reasons[0].text


def test_a_missing_return_is_told_before_a_missing_refusal():
    def answer(x):
        launched(x, torch.empty(x.shape))

    result = rejected(answer, REFUSES, "returns_none")
    assert result.codes == ("returns_none", "no_refusal")


# the mask and the offsets of a block


@triton.jit
def counted_up_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK
    offs += tl.arange(0, BLOCK)
    mask = offs < n + 1000
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=mask) * 2, mask=mask)


def test_a_mask_of_the_offsets_that_is_too_wide_is_not_called_one_value():
    def answer(x):
        out = torch.empty_like(x)
        counted_up_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
        return out

    assert "true in every lane" in rejected(answer, DOUBLE, "out_of_bounds").reasons[0].text


def test_a_grid_of_no_programs_is_named():
    text = rejected(lambda x: launched(x, torch.empty_like(x), x.numel() // 64), DOUBLE, "never_written").reasons[0].text
    assert "The grid is (0,): no program ran." in text and "triton.cdiv" in text


# the result


def test_no_launch():
    assert "No kernel was launched" in rejected(lambda x: x * 2, DOUBLE, "no_launch").reasons[0].text


def test_a_result_that_torch_made_after_the_launch():
    text = rejected(lambda x: launched(x, torch.empty_like(x)) + 0, DOUBLE, "not_by_launch").reasons[0].text
    assert "torch made it" in text


def test_a_decoy_launch_beside_the_real_work():
    def answer(x):
        launched(x, torch.empty_like(x))
        return x * 2

    rejected(answer, DOUBLE, "not_by_launch")


@triton.jit
def reads_out_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.load(out_ptr + offs, mask=offs < n)


def test_a_result_that_the_kernel_only_reads_and_one_that_is_the_input():
    def answer(x):
        out = x * 2
        reads_out_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
        return out

    assert "The kernel only reads it, as out_ptr" in rejected(answer, DOUBLE, "not_by_launch").reasons[0].text

    def gives_back(x):
        launched(x, torch.empty_like(x))
        return x

    assert "It is the input x itself" in rejected(gives_back, DOUBLE, "not_by_launch").reasons[0].text


def test_a_view_of_what_the_kernel_wrote_is_fine():
    accepted(lambda x: launched(x, torch.empty(x.numel() + 3)[: x.numel()]).view(-1), DOUBLE)


def test_none_and_wrong_types():
    def nothing(x):
        launched(x, torch.empty_like(x))

    assert "that the kernel wrote through out_ptr" in rejected(nothing, DOUBLE, "returns_none").reasons[0].text

    def pair(x):
        return launched(x, torch.empty_like(x)), x

    assert "a tuple of 2; it must return the output tensor" in rejected(pair, DOUBLE, "wrong_type").reasons[0].text
    rejected(lambda x: launched(x, torch.empty_like(x)).numpy(), DOUBLE, "wrong_type")
    rejected(lambda x: launched(x, torch.empty_like(x)).to_sparse(), DOUBLE, "wrong_type")


def test_wrong_shape_dtype_and_device():
    text = rejected(lambda x: launched(x, torch.empty_like(x))[None], DOUBLE, "wrong_shape").reasons[0].text
    assert text == "The result has shape (1, 63), expected (63,)."
    text = rejected(lambda x: launched(x, torch.empty(x.shape, dtype=torch.float64)), DOUBLE, "wrong_dtype").reasons[0].text
    assert text == "The result has dtype float64, expected float32."

    def elsewhere(x):
        launched(x, torch.empty_like(x))
        return torch.empty(x.shape, device="meta")

    assert "device meta" in rejected(elsewhere, DOUBLE, "wrong_device").reasons[0].text


TWO = problem(lambda x: (x.double() * 2, x.double() * 4), vectors(64, 65))


def test_a_wrong_second_output_is_named():
    def right(x):
        first = launched(x, torch.empty_like(x))
        return first, launched(first, torch.empty_like(x))

    accepted(right, TWO)

    def answer(x):
        return launched(x, torch.empty_like(x)), launched(x, torch.empty_like(x))

    assert "[0] of output 1" in rejected(answer, TWO, "wrong_values").reasons[0].text
    assert "a tuple of 2 tensors" in rejected(lambda x: launched(x, torch.empty_like(x)), TWO, "wrong_type").reasons[0].text


def test_a_fault_of_the_check_itself_is_no_traceback_for_the_learner():
    def oracle(x):
        raise ZeroDivisionError("in the oracle")

    text = rejected(lambda x: launched(x, torch.empty_like(x)), problem(oracle, DOUBLE.cases), "unjudged").reasons[0].text
    assert "(ZeroDivisionError: in the oracle). That is a fault of the course" in text


# memory


@triton.jit
def negative_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs - 1, mask=offs < n) * 2, mask=offs < n)


def test_a_negative_offset():
    def answer(x):
        out = torch.empty_like(x)
        negative_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
        return out

    reason = rejected(answer, DOUBLE, "out_of_bounds").reasons[0]
    assert (reason.arg, reason.lane, reason.offset) == ("x_ptr", 0, -1) and "begins at offset 0" in reason.text


def test_out_of_bounds_through_an_output_that_is_too_small():
    def answer(x):
        return launched(x, torch.empty(max(x.numel() - 1, 0)))

    reason = rejected(answer, DOUBLE, "out_of_bounds").reasons[0]
    assert reason.arg == "out_ptr" and reason.text.startswith("Store out of bounds")


def test_an_input_changed_in_place_by_the_kernel_and_by_torch():
    result = rejected(lambda x: launched(x, x), DOUBLE, "input_changed")
    assert "Program 0 writes it through out_ptr in line" in result.reasons[0].text

    def answer(x):
        out = launched(x, torch.empty_like(x))
        x.zero_()
        return out

    assert "changed outside of the kernel" in rejected(answer, DOUBLE, "input_changed").reasons[0].text


def test_what_lies_beside_an_input_may_not_change_either():
    def answer(x):
        out = launched(x, torch.empty_like(x))
        x.as_strided((x.numel() + 1,), (1,), x.storage_offset())[-1] = 0
        return out

    assert "lies beside x in the same allocation" in rejected(answer, DOUBLE, "input_changed").reasons[0].text


def test_an_input_that_the_exercise_lets_change_may_change():
    accepted(lambda x: launched(x, x), problem(double, DOUBLE.cases, writes=("x",)))


def test_a_grid_that_is_too_short_leaves_the_last_tiles():
    reason = rejected(lambda x: launched(x, torch.empty_like(x), x.numel() // 64), DOUBLE, "never_written").reasons[0]
    assert reason.text.startswith("All 63 elements of the result were never written.")
    given = problem(double, vectors(64, 65, 200))
    reason = rejected(lambda x: launched(x, torch.empty_like(x), x.numel() // 64), given, "never_written").reasons[0]
    assert "Element [64] (1 of 65) of the result was never written: the last tile." in reason.text
    assert "1 program with 64 lanes in all cannot reach 65 elements" in reason.text and reason.index == (64,)


def test_unwritten_elements_that_are_right_by_luck_are_no_fault_when_the_output_was_zeroed():
    zero_tail = problem(lambda x: torch.cat([x.double()[:64] * 2, torch.zeros(x.numel() - 64)]), vectors(65, 100))
    accepted(lambda x: launched(x[:64], torch.zeros_like(x)), zero_tail)
    rejected(lambda x: launched(x[:64], torch.empty_like(x)), zero_tail, "never_written")


@triton.jit
def column_block_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    at = tl.program_id(0) * n_cols + offs
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=offs < n_cols) * 2, mask=offs < n_cols)


def test_columns_past_the_first_block_of_each_row():
    def answer(x):
        out = torch.empty_like(x)
        column_block_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=16)
        return out

    reason = rejected(answer, problem(double, rows((4, 16), (3, 10), (2, 40))), "never_written").reasons[0]
    assert reason.text.startswith("Columns 16…39 of every row (48 of 80 elements) of the result were never written")


def test_rows_without_a_program():
    def answer(x):
        out = torch.empty_like(x)
        column_block_kernel[(x.shape[0] - 1,)](x, out, x.shape[1], BLOCK=16)
        return out

    reason = rejected(answer, problem(double, rows((4, 16), (3, 10))), "never_written").reasons[0]
    assert reason.text.startswith("Row 2 (10 of 30 elements)")


@triton.jit
def every_second_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)) * 2
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * 2, mask=offs < n)


def test_every_second_element():
    def answer(x):
        out = torch.empty_like(x)
        every_second_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
        return out

    reason = rejected(answer, DOUBLE, "never_written").reasons[0]
    assert reason.text.startswith("Elements 1, 3, 5, … (31 of 63) of the result were never written")


@triton.jit
def sum_kernel(x_ptr, out_ptr, n, ATOMIC: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x_ptr + offs, mask=offs < n, other=0.0), axis=0)
    if ATOMIC:
        tl.atomic_add(out_ptr, part)
    else:
        tl.store(out_ptr, tl.load(out_ptr) + part)


SUM = problem(lambda x: x.double().sum().view(1), vectors(64, 65, 300))


def summed(out, atomic):
    def answer(x):
        made = out(1)
        sum_kernel[(triton.cdiv(x.numel(), 64),)](x, made, x.numel(), ATOMIC=atomic, BLOCK=64)
        return made

    return answer


def test_an_atomic_sum_into_zeros_is_right_and_into_empty_is_not():
    accepted(summed(torch.zeros, True), SUM)
    reason = rejected(summed(torch.empty, True), SUM, "uninitialised").reasons[0]
    assert "Program 0 reads out_ptr[0] before anything was written there" in reason.text
    assert "adds to what torch.empty left there: begin with torch.zeros" in reason.text


def test_a_sum_by_load_and_store_is_right_here_and_still_a_race():
    reason = rejected(summed(torch.zeros, False), SUM, "race").reasons[0]
    assert "out_ptr[0] is written by program 0" in reason.text and "and by program 1" in reason.text
    assert reason.label == "x: 65", "with one program there is no race"


@triton.jit
def shift_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    right = tl.load(x_ptr + offs + 1, mask=offs + 1 < n, other=0.0)
    tl.store(x_ptr + offs, right, mask=offs < n)


def test_reading_what_another_program_writes_is_a_race():
    def answer(x):
        shift_kernel[(triton.cdiv(x.numel(), 64),)](x, x.numel(), BLOCK=64)
        return x

    shifted = problem(lambda x: torch.cat([x.double()[1:], torch.zeros(1)]), vectors(64, 65), writes=("x",))
    text = rejected(answer, shifted, "race").reasons[0].text
    assert "Program 1 stores to x_ptr[64]" in text and "program 0 reads it in the same launch" in text


@triton.jit
def histogram_kernel(i_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    bins = tl.load(i_ptr + offs, mask=offs < n, other=0)
    tl.store(out_ptr + bins, offs, mask=offs < n)


def test_lanes_of_one_program_that_store_to_one_place_are_a_race():
    def answer(i):
        out = torch.zeros(4, dtype=torch.int32)
        histogram_kernel[(1,)](i, out, i.numel(), BLOCK=8)
        return out

    given = problem(
        lambda i: torch.bincount(i, minlength=4).to(torch.int32),
        (Case((spec(8, dtype="int64", values=lambda g, s: torch.tensor([0, 1, 0, 1, 0, 2, 3, 3])),)),),
        dtype="int32",
    )
    text = rejected(answer, given, "race").reasons[0].text
    assert "Lanes 0 and 2 of program 0 store different values (0 and 2) to out_ptr[0]" in text and "atomic" in text


def test_the_same_value_from_two_programs_is_no_race_but_may_be_against_a_rule():
    @triton.jit
    def twice_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offs = (tl.program_id(0) // 2) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * 2, mask=offs < n)

    def answer(x):
        out = torch.empty_like(x)
        twice_kernel[(2 * triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
        return out

    accepted(answer, DOUBLE)
    reason = rejected(answer, problem(double, DOUBLE.cases, extra=(written_once,)), "rule").reasons[0]
    assert "written more than once: out_ptr[0] by program 0 and program 1" in reason.text


def test_a_rule_on_the_number_of_programs():
    given = problem(
        lambda x, p: x.double() * 2, (Case((spec(64), 1)), Case((spec(192), 2))), extra=(launches_at_most(1, "num_programs"),),
        launcher=lambda_of_two,
    )
    reason = rejected(lambda x, p: launched(x, torch.empty_like(x)), given, "rule").reasons[0]
    assert "launched with 3 programs, grid (3,); num_programs = 2 allows 2" in reason.text


def lambda_of_two(x, num_programs):
    raise AssertionError


def test_a_copy_of_an_input_where_none_is_allowed():
    given = problem(double, (*vectors(64), *vectors(65, layout="every second")), copies=False)
    reason = rejected(lambda x: launched(x.contiguous(), torch.empty(x.shape)), given, "copied_input").reasons[0]
    assert reason.arg == "x" and reason.label.startswith("x: 65 every second")


# values


def test_strides_name_the_element_that_was_meant_and_the_one_that_was_read():
    @triton.jit
    def by_rows_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * 2, mask=offs < n)

    def answer(x):
        out = torch.empty(x.shape)
        by_rows_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
        return out

    given = problem(double, (*rows((4, 16), (3, 10)), *rows((3, 10), layout="transposed"), *rows((3, 10), layout="wide rows")))
    reason = rejected(answer, given, "strides").reasons[0]
    assert "wrong for x transposed" in reason.text
    assert "x[0, 1] lies at offset 0·1 + 1·3 = 3, but lane 1 of program 0 reads x_ptr[1]" in reason.text
    assert reason.index == (0, 1)


@triton.jit
def softmax_kernel(x_ptr, out_ptr, n_cols, FILL: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    at = tl.program_id(0) * n_cols + offs
    x = tl.load(x_ptr + at, mask=offs < n_cols, other=FILL)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + at, e / tl.sum(e, axis=0), mask=offs < n_cols)


def softmax(fill):
    def answer(x):
        out = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x, out, x.shape[1], FILL=fill, BLOCK=triton.next_power_of_2(x.shape[1]))
        return out

    return answer


SOFTMAX = problem(lambda x: torch.softmax(x.double(), 1), (*rows((2, 16), (2, 17), (3, 31)), *rows((2, 5), values="low")))


def test_a_wrong_fill_names_the_line_what_it_holds_and_what_would_be_right():
    accepted(softmax(float("-inf")), SOFTMAX)
    reason = rejected(softmax(0.0), SOFTMAX, "fill").reasons[0]
    assert "fills the masked lanes of x_ptr with 0. With -inf there the result is right." in reason.text
    assert reason.source.startswith("x = tl.load(") and reason.lane == 17 and reason.expected != reason.seen


@triton.jit
def variance_kernel(x_ptr, out_ptr, n_cols, AGAIN: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n_cols + offs, mask=offs < n_cols, other=0.0)
    d = x - tl.sum(x, axis=0) / n_cols
    if AGAIN:
        d = tl.where(offs < n_cols, d, 0.0)
    tl.store(out_ptr + tl.program_id(0), tl.sum(d * d, axis=0) / n_cols)


def variance(again):
    def answer(x):
        out = torch.empty(x.shape[0])
        variance_kernel[(x.shape[0],)](x, out, x.shape[1], AGAIN=again, BLOCK=triton.next_power_of_2(x.shape[1]))
        return out

    return answer


def test_a_fill_that_no_value_can_mend_asks_for_a_second_mask():
    given = problem(lambda x: x.double().var(1, unbiased=False), rows((2, 16), (2, 17), values="positive"))
    accepted(variance(True), given)
    reason = rejected(variance(False), given, "fill").reasons[0]
    assert "no one fill makes it right" in reason.text and "tl.where" in reason.text


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, n_cols, NAMED: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    at = x_ptr + tl.program_id(0) * n_cols + offs
    if NAMED:
        x = tl.load(at, mask=offs < n_cols, other=0.0)
    else:
        x = tl.load(at, mask=offs < n_cols)
    tl.store(out_ptr + tl.program_id(0), tl.sum(x, axis=0))


def row_sum(named):
    def answer(x):
        out = torch.empty(x.shape[0])
        row_sum_kernel[(x.shape[0],)](x, out, x.shape[1], NAMED=named, BLOCK=triton.next_power_of_2(x.shape[1]))
        return out

    return answer


def test_a_fill_that_is_not_named_and_happens_to_be_0_here():
    given = problem(lambda x: x.double().sum(1), rows((2, 16), (2, 17)))
    accepted(row_sum(True), given)
    reason = rejected(row_sum(False), given, "fill").reasons[0]
    assert "names no other: what its masked lanes hold is undefined" in reason.text
    assert reason.source == "x = tl.load(at, mask=offs < n_cols)"


@triton.jit
def scaled_kernel(x_ptr, scale_ptr, out_ptr, n, n_scales, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    scale = tl.load(scale_ptr + offs, mask=offs < n_scales - 2, other=1.0)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * scale, mask=offs < n)


def test_a_lane_that_is_stored_without_its_value_is_named():
    def answer(x, scale):
        out = torch.empty_like(x)
        scaled_kernel[(1,)](x, scale, out, x.numel(), scale.numel(), BLOCK=32)
        return out

    given = problem(
        lambda x, scale: x.double() * scale.double(), (Case((spec(20), spec(20, values="positive"))),), launcher=lambda_of_two
    )
    reason = rejected(answer, given, "fill").reasons[0]
    assert "Masked lanes take part in the result. Lane 18 of program 0 loads nothing from scale_ptr" in reason.text
    assert "fills the masked lanes of scale_ptr with 1" in reason.text and "out_ptr[18]: a lane that is stored needs its value" in reason.text


@triton.jit
def column_sum_kernel(x_ptr, out_ptr, n_rows, n_cols, ACC: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], dtype=ACC)
    for row in range(0, n_rows):
        acc += tl.load(x_ptr + row * n_cols + offs, mask=offs < n_cols, other=0.0).to(ACC)
    tl.store(out_ptr + offs, acc, mask=offs < n_cols)


def column_sum(acc):
    def answer(x):
        out = torch.empty(x.shape[1])
        column_sum_kernel[(1,)](x, out, x.shape[0], x.shape[1], ACC=acc, BLOCK=4)
        return out

    return answer


COLUMN_SUM = problem(
    lambda x: x.double().sum(0),
    rows((2, 4), (100, 3), dtype="float16", values="positive"),
    dtype="float32",
    tolerance=Tolerance(1e-5, 1e-5, "float32 sums of 100 values are exact to about 1e-6."),
)


def test_a_float16_accumulator_is_named():
    accepted(column_sum(tl.float32), COLUMN_SUM)
    reason = rejected(column_sum(tl.float16), COLUMN_SUM, "precision").reasons[0]
    assert "acc is float16 (program 0, line" in reason.text and "accumulate in float32" in reason.text
    assert reason.source.startswith("acc = tl.zeros(")


def test_squares_that_overflow_in_float16_are_a_matter_of_precision():
    @triton.jit
    def square_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offs = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
        squared = x * x
        tl.store(out_ptr, tl.sum(squared.to(tl.float32), axis=0))

    def answer(x):
        out = torch.empty(1)
        square_kernel[(1,)](x, out, x.numel(), BLOCK=64)
        return out

    big = lambda g, s: 300 + torch.rand(s, generator=g, dtype=torch.float64)  # noqa: E731
    given = problem(lambda x: (x.double() ** 2).sum().view(1), vectors(64, 5, dtype="float16", values=big), dtype="float32")
    assert "squared is float16" in rejected(answer, given, "precision").reasons[0].text


@triton.jit
def series_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, 1 + x + x * x / 2 + x * x * x / 6, mask=offs < n)


def test_a_formula_that_is_only_nearly_right_is_not_precise_enough():
    def answer(x):
        out = torch.empty_like(x)
        series_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
        return out

    small = lambda g, s: torch.rand(s, generator=g, dtype=torch.float64)  # noqa: E731
    given = problem(lambda x: x.double().exp(), vectors(64, 65, values=small))
    text = rejected(answer, given, "precision").reasons[0].text
    assert "off by up to" in text and "float32 sums of a few dozen values" in text


def test_a_known_mistake_is_called_by_its_name_even_with_special_values_in_the_cases():
    given = problem(
        lambda x: x.double() * 3,
        (*vectors(64, 65), *vectors(65, values="special")),
        known_wrong=(KnownWrong("It gives 4x.", lambda x: x.double() * 4), KnownWrong("It doubles instead of tripling.", double)),
    )
    reason = rejected(lambda x: launched(x, torch.empty_like(x)), given, "known_wrong").reasons[0]
    assert reason.text.startswith("It doubles instead of tripling. The first is [0]: expected ")


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, tl.where(x > 0, x, 0.0), mask=offs < n)


def test_an_answer_that_is_wrong_for_special_values_only():
    def answer(x):
        out = torch.empty_like(x)
        relu_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
        return out

    given = problem(lambda x: torch.relu(x.double()), (*vectors(64, 65), *vectors(65, values="special")))
    text = rejected(answer, given, "special").reasons[0].text
    assert "wrong for infinities, NaN and very large or small ones" in text and "expected NaN, seen 0" in text


@triton.jit
def tail_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    whole = (tl.program_id(0) + 1) * BLOCK <= n
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, tl.where(whole, x * 2, x), mask=offs < n)


def test_an_answer_that_is_wrong_in_the_last_tile_only():
    def answer(x):
        out = torch.empty_like(x)
        tail_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
        return out

    reason = rejected(answer, DOUBLE, "last_tile").reasons[0]
    assert "Wrong only in the last tile" in reason.text
    assert reason.index == (64,) and reason.program == (1, 0, 0)


@triton.jit
def mean_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n_cols + offs, mask=offs < n_cols, other=0.0)
    tl.store(out_ptr + tl.program_id(0), tl.sum(x, axis=0) / BLOCK)


def test_an_answer_that_is_wrong_only_when_the_tile_is_not_full():
    def answer(x):
        out = torch.empty(x.shape[0])
        mean_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return out

    given = problem(lambda x: x.double().mean(1), rows((3, 16), (3, 5), (2, 17)))
    assert "a mean divides by the true length" in rejected(answer, given, "fill").reasons[0].text


@triton.jit
def max_or_first_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n_cols + offs, mask=offs < n_cols, other=0.0)
    whole = n_cols == BLOCK
    tl.store(out_ptr + tl.program_id(0), tl.where(whole, tl.max(x, axis=0), 7.0))


def test_an_answer_that_is_wrong_only_when_the_tile_is_not_full_whatever_the_fill():
    def answer(x):
        out = torch.empty(x.shape[0])
        max_or_first_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return out

    given = problem(lambda x: x.double().amax(1), rows((3, 16), (3, 5), (2, 17)))
    assert "when the length does not fill the tile" in rejected(answer, given, "last_tile").reasons[0].text


def scaled(factor, shift=0.0):
    @triton.jit
    def scale_kernel(x_ptr, out_ptr, n, factor, shift, BLOCK: tl.constexpr):
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * factor + shift, mask=offs < n)

    def answer(x):
        out = torch.empty_like(x)
        scale_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), factor, shift, BLOCK=64)
        return out

    return answer


def test_wrong_everywhere_says_what_the_values_look_like():
    for answer, says in (
        (scaled(1.0), "The wrong values are those of x."),
        (scaled(-2.0), "The wrong values have the sign reversed."),
        (scaled(0.0), "The wrong values are all 0."),
        (scaled(5.0), "The wrong values are 2.5 times what is expected."),
        (scaled(2.0, 3.0), "The wrong values are all off by 3."),
    ):
        given = problem(double, vectors(64, 65, values="positive"))
        reason = rejected(answer, given, "wrong_values").reasons[0]
        assert says in reason.text, reason
        assert reason.text.startswith("64 of 64 values are wrong. The first is [0]: expected ") and reason.expected != reason.seen


@triton.jit
def unscaled_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    at = tl.program_id(0) * n_cols + offs
    x = tl.load(x_ptr + at, mask=offs < n_cols, other=0.0)
    tl.store(out_ptr + at, x / tl.sum(x, axis=0) * (2 + tl.program_id(0)), mask=offs < n_cols)


def test_rows_that_are_off_by_a_factor_each_are_recognised():
    def answer(x):
        out = torch.empty_like(x)
        unscaled_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=16)
        return out

    given = problem(lambda x: x.double() / x.double().sum(1, keepdim=True), rows((2, 16), values="positive"))
    assert "Each wrong row is one factor times what is expected (2 in the first)." in rejected(answer, given, "wrong_values").reasons[0].text


def test_values_shifted_by_one_place_are_recognised():
    @triton.jit
    def next_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out_ptr + offs, tl.load(x_ptr + (offs + 1) % n, mask=offs < n) * 2, mask=offs < n)

    def answer(x):
        out = torch.empty_like(x)
        next_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
        return out

    assert "what belongs one place later" in rejected(answer, problem(double, vectors(64, 65)), "wrong_values").reasons[0].text


def test_two_independent_faults_are_both_said_and_consequences_are_not():
    def answer(x):
        out = launched(x, torch.empty(x.shape, dtype=torch.float64))
        x.zero_()
        return out

    result = check(answer, DOUBLE)
    assert result.codes == ("wrong_dtype", "input_changed")
    result = check(lambda x: launched(x, torch.empty_like(x), 1), DOUBLE)
    assert result.codes == ("never_written",), "that its values are wrong too goes without saying"


# right here, and refused by a GPU

SCALE = 2.0
SCALE_CONSTANT = tl.constexpr(2.0)


@triton.jit
def global_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * SCALE, mask=offs < n)


@triton.jit
def constant_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * SCALE_CONSTANT, mask=offs < n)


@triton.jit
def break_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0), tl.cdiv(n, BLOCK)):
        offs = tile * BLOCK + tl.arange(0, BLOCK)
        tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * 2, mask=offs < n)
        break


@triton.jit
def integer_start_kernel(x_ptr, out_ptr, n, START: tl.constexpr, BLOCK: tl.constexpr):
    acc = START
    for tile in range(0, tl.cdiv(n, BLOCK)):
        offs = tile * BLOCK + tl.arange(0, BLOCK)
        acc += tl.sum(tl.load(x_ptr + offs, mask=offs < n, other=0.0), axis=0)
    tl.store(out_ptr, acc)


def by(kernel):
    def answer(x):
        out = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
        return out

    return answer


def test_a_python_global_in_a_kernel_is_refused_by_a_gpu():
    accepted(by(constant_kernel), DOUBLE)
    reason = rejected(by(global_kernel), DOUBLE, "gpu_refuses").reasons[0]
    assert "Python variable SCALE" in reason.text and "SCALE = tl.constexpr(" in reason.text and "SCALE" in reason.source


def test_break_in_a_loop_is_refused_by_a_gpu():
    reason = rejected(by(break_kernel), DOUBLE, "gpu_refuses").reasons[0]
    assert "`break` cannot be compiled" in reason.text and reason.source == "break"


def test_a_loop_variable_that_changes_its_type_is_refused_by_a_gpu():
    def starting(value):
        def answer(x):
            out = torch.empty(1)
            integer_start_kernel[(1,)](x, out, x.numel(), START=value, BLOCK=64)
            return out

        return answer

    given = problem(lambda x: x.double().sum().view(1), vectors(64, 65))
    accepted(starting(0.0), given)
    reason = rejected(starting(0), given, "gpu_refuses").reasons[0]
    assert "acc begins as int32" in reason.text and reason.source == "acc = START"


def test_a_grid_axis_past_its_limit_is_refused_by_a_gpu(monkeypatch):
    from tritonlab.exercises import gpu_only

    monkeypatch.setattr(gpu_only, "AXIS_LIMIT", 2)

    @triton.jit
    def second_axis_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offs = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * 2, mask=offs < n)

    def answer(x):
        out = torch.empty_like(x)
        second_axis_kernel[(1, triton.cdiv(x.numel(), 64))](x, out, x.numel(), BLOCK=64)
        return out

    assert "axis 1 of the grid (1, 3)" in rejected(answer, DOUBLE, "gpu_refuses").reasons[0].text


def test_a_compiler_that_cannot_be_run_says_nothing_about_the_answer(monkeypatch):
    import tritonlab.compiler

    def broken(*args, **kwargs):
        raise RuntimeError("no compiler")

    monkeypatch.setattr(tritonlab.compiler, "refusals", broken)
    accepted(by(global_kernel), DOUBLE)


# the process afterwards


def test_a_check_leaves_torch_stdout_and_the_compiler_as_they_were(capsys):
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    state = torch.get_rng_state()
    for answer in (lambda x: launched(x, x), summed(torch.zeros, False), lambda x: 1 / 0):
        check(answer, DOUBLE)
    assert (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()) == before
    assert torch.equal(state, torch.get_rng_state()) and capsys.readouterr() == ("", "")
    assert tl.sum.__module__.startswith("triton")


def test_every_reason_has_a_test_that_wants_it():
    here = Path(__file__).parent
    text = "".join(p.read_text(encoding="utf-8") for p in here.glob("test_exercises_*.py"))
    wanted = set(re.findall(r'rejected\([^\n]*"(\w+)"\)', text)) | set(re.findall(r'codes == \("(\w+)",\)', text))
    assert set(RANK) - wanted == set()
