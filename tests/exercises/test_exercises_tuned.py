"""Answers with a tuned kernel: each run of a case begins untuned, helpers count as part of the answer, sources are those of the cell."""

import pytest
import torch
import triton
import triton.language as tl
from exercise_tools import cell, problem, vectors

from tritonlab.exercises.answer import functions_of, kernels_of, unfinished
from tritonlab.exercises.check import check
from tritonlab.exercises.problem import Problem
from tritonlab.exercises.tuners import tuners_of, untuned


def two_runs(kernel_call, quantiles):
    kernel_call()
    kernel_call()
    return [1.0, 1.0, 1.0]


@triton.autotune(configs=[triton.Config({"BLOCK_SIZE": 16}), triton.Config({"BLOCK_SIZE": 64})], key=["n_elements"], do_bench=two_runs)
@triton.jit
def add_one_kernel(x_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=mask) + 1, mask=mask)


def add_one(x):
    add_one_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK_SIZE"]),)](x, x.numel())
    return x


IN_PLACE = problem(lambda x: x.double() + 1, vectors(20, 33), writes=("x",))


def test_an_in_place_kernel_that_was_tuned_before_is_still_found_out():
    x = torch.zeros(33)
    add_one(x)
    assert x[0] == 5 and len(add_one_kernel.cache) == 1
    for _ in range(2):
        result = check(add_one, IN_PLACE)
        assert result.codes == ("wrong_values",) and result.passed == 0
    assert set(add_one_kernel.cache) == {(33, "torch.float32")}, "what was tuned before the check is still known after it"


def test_tuners_are_found_and_forget_only_within_the_block():
    assert tuners_of(add_one) == (add_one_kernel,)
    assert functions_of(add_one) == (add_one_kernel, add_one_kernel.fn, two_runs) and kernels_of(add_one) == (add_one_kernel.fn,)
    add_one_kernel.cache[(1,)] = "kept"
    with pytest.raises(KeyError), untuned(add_one):
        assert add_one_kernel.cache == {}
        add_one_kernel.cache[(2,)] = "lost"
        raise KeyError
    assert add_one_kernel.cache.pop((1,)) == "kept" and (2,) not in add_one_kernel.cache


def test_a_helper_that_is_still_to_be_written_is_named(tmp_path):
    text = "def block(args):\n    return ...\n\n\n@triton.heuristics({'BLOCK': block})\n@triton.jit\ndef kernel(x_ptr, BLOCK: tl.constexpr):\n    tl.store(x_ptr, BLOCK)\n\n\ndef launch(x):\n    kernel[(1,)](x)\n    return x\n"
    assert unfinished(cell(tmp_path, text).launch) == "block still has a ... in line 7."
    assert unfinished(cell(tmp_path, text.replace("...", "16")).launch) is None


def test_a_solutions_source_comes_with_what_is_wrapped_around_its_kernel():
    made = Problem(
        name="test.tuned", prompt="", stub="", solution=(two_runs, add_one_kernel, add_one), hints=("a", "b"),
        oracle=IN_PLACE.oracle, cases=IN_PLACE.cases, tolerance=IN_PLACE.tolerance,
    )  # fmt: skip
    source = made.solution_source
    assert source.startswith("def two_runs(") and "\n\n\n@triton.autotune(" in source and "do_bench=two_runs)\n@triton.jit\ndef add_one_kernel" in source
