"""Chapter 3's exercises, beside what all exercises are tested for: their order, and that each kind of mistake is among the kept ones."""

from __future__ import annotations

import pytest
import torch
from exercise_tools import cell, kept_answers

import tritonlab as lab
from tritonlab.exercises import names
from tritonlab.exercises.inputs import build

CHAPTER = [n for n in names() if n.startswith("softmax.")]


def test_the_chapter_has_five_exercises_from_easy_to_hard():
    assert CHAPTER == [f"softmax.{n}" for n in ("row_max", "log_softmax", "causal", "wide", "backward")]


def test_a_wrong_fill_a_missing_mask_and_a_wrong_precision_are_among_the_kept_answers():
    codes = {(k.exercise, k.code) for k in kept_answers() if k.exercise in CHAPTER}
    for code in ("fill", "out_of_bounds"):
        assert {n for n, c in codes if c == code} == set(CHAPTER)
    assert {n for n, c in codes if c == "precision"} == {"softmax.log_softmax", "softmax.wide", "softmax.backward"}


@pytest.mark.parametrize("name", CHAPTER)
def test_every_exercise_has_rows_that_fill_their_tile_and_rows_that_do_not(name):
    widths = {c.tensors[0].shape[-1] for c in lab.exercise(name).problem.all_cases()}
    full = {n for n in widths if n & (n - 1) == 0}
    assert full - {1} and widths - full, "else a wrong fill could not be told from another mistake"


@pytest.mark.parametrize("name", CHAPTER)
def test_the_oracles_agree_with_autograd_and_torch(name):
    problem = lab.exercise(name).problem
    case = problem.all_cases()[0]
    if name == "softmax.backward":
        x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
        dy = torch.randn(3, 5, dtype=torch.float64)
        y = torch.softmax(x, -1)
        y.backward(dy)
        assert torch.allclose(problem.oracle(y.detach(), dy), x.grad)
    elif name == "softmax.causal":
        out = problem.oracle(torch.zeros(4, 4))
        assert torch.allclose(out, torch.ones(4, 4, dtype=torch.float64).tril() / torch.arange(1, 5)[:, None])
    else:
        x = build(case).pristine()[0]
        made = {"softmax.row_max": x.double().max(-1).values, "softmax.wide": x.double().exp() / x.double().exp().sum(-1, keepdim=True)}
        made["softmax.log_softmax"] = (x.double().exp() / x.double().exp().sum(-1, keepdim=True)).log()
        assert torch.allclose(problem.oracle(x), made[name])


def test_a_kernel_that_keeps_the_whole_row_in_its_tile_is_told_the_rule_of_the_wide_exercise(tmp_path):
    exercise = lab.exercise("softmax.wide")
    module = cell(tmp_path, exercise.solution().replace("BLOCK_SIZE=32", "BLOCK_SIZE=64"))
    result = exercise.check(module.softmax_wide)
    assert result.codes == ("rule",) and "takes a tile of 64 lanes; 32 are allowed" in result.reasons[0].text
