"""The order is the device function's own: for all pids at once, right or wrong."""

import itertools

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import tritonlab as lab
from tritonlab.analysis import tile_order
from tritonlab.kernels.grouped_matmul import grouped_matmul, grouped_pid
from tritonlab.kernels.matmul import matmul
from tritonlab.views.pid_map import _played


@triton.jit
def row_pid(pid, num_pid_m, num_pid_n):
    return pid // num_pid_n, pid % num_pid_n


@triton.jit
def unclamped_pid(pid, num_pid_m, num_pid_n, GROUP_M: tl.constexpr):
    in_group = pid % (GROUP_M * num_pid_n)
    return pid // (GROUP_M * num_pid_n) * GROUP_M + in_group % GROUP_M, in_group // GROUP_M


@triton.jit
def min_pid(pid, num_pid_m, num_pid_n, GROUP_M: tl.constexpr):
    first_pid_m = pid // (GROUP_M * num_pid_n) * GROUP_M
    rows = min(num_pid_m - first_pid_m, GROUP_M)
    in_group = pid % (GROUP_M * num_pid_n)
    return first_pid_m + in_group % rows, in_group // rows


@triton.jit
def transposed_pid(pid, num_pid_m, num_pid_n):
    return pid % num_pid_n, pid // num_pid_n


@triton.jit
def first_column_pid(pid, num_pid_m, num_pid_n):
    return pid, 0


@triton.jit
def branching_pid(pid, num_pid_m, num_pid_n):
    row = pid
    if pid > 2:
        row = 0
    return row, 0


@triton.jit
def divided_pid(pid, num_pid_m, num_pid_n):
    return pid / num_pid_n, pid % num_pid_n


@triton.jit
def one_number_pid(pid, num_pid_m, num_pid_n):
    return pid // num_pid_n


@triton.jit
def three_numbers_pid(pid, num_pid_m, num_pid_n):
    return pid // num_pid_n, pid % num_pid_n, pid


@triton.jit
def nothing_pid(pid, num_pid_m, num_pid_n):
    pid // num_pid_n


@triton.jit
def stub_pid(pid, num_pid_m, num_pid_n):
    return pid // num_pid_n, ...


@triton.jit
def true_pid(pid, num_pid_m, num_pid_n):
    return pid > 1, 0


@triton.jit
def spread_pid(pid, num_pid_m, num_pid_n):
    return pid[:, None], 0


@triton.jit
def asking_pid(pid, num_pid_m, num_pid_n):
    pid = tl.program_id(0)
    return pid // num_pid_n, pid % num_pid_n


@triton.jit
def endless_pid(pid, num_pid_m, num_pid_n):
    i = 0
    while i < 1:
        i += 0
    return i, i


@triton.jit
def printing_pid(pid, num_pid_m, num_pid_n):
    print("pid", pid)
    return pid // num_pid_n, pid % num_pid_n


@triton.jit
def default_pid(pid, num_pid_m, num_pid_n, GROUP_M: tl.constexpr = 2):
    return pid // num_pid_n, pid % num_pid_n


def test_every_grouped_order_is_one_to_one_and_the_documented_one():
    for m, n, group in itertools.product(range(1, 13, 2), range(1, 13, 3), (1, 2, 3, 5, 12, 14)):
        order = lab.pid_order(grouped_pid, m, n, group)
        assert order.one_to_one and order == _like(order, _played(m, n, group))


def _like(order, other):
    return type(order)(order.function, other.num_pid_m, other.num_pid_n, other.pid_m, other.pid_n, other.GROUP_M)


def test_a_group_of_one_row_is_row_order_and_one_of_all_rows_column_order():
    rows, columns = lab.pid_order(grouped_pid, 5, 7, 1), lab.pid_order(grouped_pid, 5, 7, 9)
    mine = lab.pid_order(row_pid, 5, 7)
    assert mine.GROUP_M is None and np.array_equal(rows.pid_m, mine.pid_m) and np.array_equal(rows.pid_n, mine.pid_n)
    assert columns.pid_m.tolist() == list(range(5)) * 7


def test_python_min_is_the_same_as_tl_minimum():
    mine = lab.pid_order(min_pid, 7, 5, 3)
    assert mine == _like(mine, lab.pid_order(grouped_pid, 7, 5, 3))


def test_a_wrong_function_is_mapped_as_it_is():
    order = lab.pid_order(unclamped_pid, 7, 5, 3)
    assert order.unvisited == ((6, 2), (6, 3), (6, 4)) and order.outside == (31, 32, 34) and order.repeated == ()
    assert lab.pid_order(unclamped_pid, 6, 5, 3).one_to_one, "it is right where no group is cut short"
    assert len(lab.pid_order(transposed_pid, 2, 3).outside) == 2
    column = lab.pid_order(first_column_pid, 2, 3)
    assert (column.outside, len(column.unvisited)) == ((2, 3, 4, 5), 4)


def test_the_order_of_a_launch_is_that_of_its_device_function_and_a_two_axis_grid_goes_down_the_columns():
    a, b = torch.ones(70, 16), torch.ones(16, 50)
    grouped = tile_order(lab.trace(lambda: grouped_matmul(a, b, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, GROUP_M=2)))
    asked = lab.pid_order(grouped_pid, 5, 4, 2)
    assert np.array_equal(grouped.pid_m, asked.pid_m) and np.array_equal(grouped.pid_n, asked.pid_n)
    plain = tile_order(lab.trace(lambda: matmul(a, b, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16)))
    down = lab.pid_order(grouped_pid, 5, 4, 5)
    assert np.array_equal(plain.pid_m, down.pid_m) and np.array_equal(plain.pid_n, down.pid_n)


def test_a_million_programs_are_asked_in_one_launch_and_no_more():
    order = lab.pid_order(grouped_pid, 1024, 1024, 8)
    assert order.programs == 2**20 and order.one_to_one
    with pytest.raises(ValueError, match="num_pid_m × num_pid_n must be at most 1,048,576; got 1,025 × 1,024 = 1,049,600"):
        lab.pid_order(grouped_pid, 1025, 1024, 8)


@pytest.mark.parametrize(
    ("args", "error", "words"),
    [
        ((len, 2, 2, 1), TypeError, "fn is len, a plain function; pid_order takes a @triton.jit function"),
        ((3, 2, 2, 1), TypeError, "fn is 3; pid_order takes"),
        ((grouped_pid, 0, 2, 1), ValueError, "num_pid_m must be at least 1; got 0"),
        ((grouped_pid, 2, 2, 0), ValueError, "GROUP_M must be at least 1; got 0"),
        ((grouped_pid, 2, 2.5, 1), TypeError, "num_pid_n must be a whole number; got 2.5"),
        ((grouped_pid, 2, 2), TypeError, "grouped_pid takes pid, num_pid_m, num_pid_n, GROUP_M; it is called with pid, num_pid_m, num_pid_n$"),
        ((grouped_pid, 2, 2, -1), ValueError, "GROUP_M must be at least 1; got -1"),
        ((grouped_pid, 2, 2, 2**31), ValueError, "GROUP_M must be at most 2,147,483,647; got 2,147,483,648"),
        ((grouped_pid, 2, None, 1), TypeError, "num_pid_n must be a whole number; got None"),
        ((divided_pid, 2, 2), TypeError, "divided_pid returned a block of fp32 for pid_m; it must be a whole number; / gives fractions, // whole numbers"),
        ((one_number_pid, 2, 2), TypeError, "one_number_pid returned a block of int32; it must return two whole numbers, pid_m and pid_n"),
        ((three_numbers_pid, 2, 2), TypeError, "three_numbers_pid returned 3 values; it must return two"),
        ((nothing_pid, 2, 2), TypeError, "nothing_pid returned nothing; it must return two"),
        ((stub_pid, 2, 2), TypeError, r"stub_pid returned \.\.\. for pid_n; it must be a whole number$"),
        ((true_pid, 2, 2), TypeError, "true_pid returned a block of int1 for pid_m; it must be a whole number$"),
        ((spread_pid, 2, 2), TypeError, r"spread_pid returned a block of shape \(4, 1\) for pid_m; it must have one number for each pid"),
        ((asking_pid, 2, 2), ValueError, "asking_pid asks tl.program_id itself; pid_order hands it all pids at once"),
        ((row_pid, 2, 2, 4), TypeError, "row_pid takes pid, num_pid_m, num_pid_n; it is called with pid, num_pid_m, num_pid_n, GROUP_M"),
    ],
)
def test_what_cannot_be_asked_says_why(args, error, words):
    with pytest.raises(error, match=words):
        lab.pid_order(*args)


def test_an_if_on_the_block_of_pids_is_refused_with_the_line():
    with pytest.raises(Exception, match="`if` on a block"):
        lab.pid_order(branching_pid, 3, 1)


def test_an_endless_loop_is_stopped():
    with lab.limits(seconds=0.2), pytest.raises(lab.errors.BudgetError, match="endless_pid .* was stopped"):
        lab.pid_order(endless_pid, 2, 2)
    assert lab.pid_order(row_pid, 2, 2).one_to_one


def test_a_function_may_print_and_may_have_defaults(capsys):
    assert lab.pid_order(printing_pid, 2, 2).one_to_one and "pid" in capsys.readouterr().out
    assert lab.pid_order(default_pid, 2, 2).one_to_one and lab.pid_order(default_pid, 2, 2, 3).GROUP_M == 3


def test_sizes_of_numpy_and_torch_are_whole_numbers_too():
    order = lab.pid_order(grouped_pid, np.int64(5), torch.tensor(4), np.int32(2))
    assert order == lab.pid_order(grouped_pid, 5, 4, 2) and type(order.num_pid_m) is int
