"""Chapter 4's exercises, beside what all exercises are tested for: their order, their oracles, and the kinds of mistake among the kept ones."""

from __future__ import annotations

import pytest
import torch
from exercise_tools import cell, kept_answers

import tritonlab as lab
from tritonlab.exercises import names
from tritonlab.exercises.inputs import build

CHAPTER = [n for n in names() if n.startswith("rmsnorm.")]


def test_the_chapter_has_five_exercises_from_easy_to_hard():
    assert CHAPTER == [f"rmsnorm.{n}" for n in ("mean_square", "l2_normalize", "residual", "layer_norm", "short_rows")]


def test_a_wrong_fill_a_missing_mask_and_a_wrong_precision_are_among_the_kept_answers_of_each_exercise():
    codes = {(k.exercise, k.code) for k in kept_answers() if k.exercise in CHAPTER}
    for code in ("fill", "out_of_bounds", "precision"):
        assert {n for n, c in codes if c == code} == set(CHAPTER), code


@pytest.mark.parametrize("name", CHAPTER)
def test_every_exercise_has_rows_that_fill_their_tile_and_rows_that_do_not(name):
    widths = {c.tensors[0].shape[-1] for c in lab.exercise(name).problem.all_cases()}
    full = {n for n in widths if n & (n - 1) == 0}
    assert full - {1} and widths - full, "else a wrong fill could not be told from another mistake"


@pytest.mark.parametrize("name", CHAPTER)
def test_the_oracles_agree_with_torch(name):
    problem = lab.exercise(name).problem
    for case in problem.all_cases()[:4]:
        x, *more = (t.double() for t in build(case).pristine())
        n = x.shape[-1:]
        expected = {
            "rmsnorm.mean_square": lambda: x.pow(2).mean(-1),
            "rmsnorm.l2_normalize": lambda: torch.nn.functional.normalize(x, dim=-1),
            "rmsnorm.residual": lambda: torch.nn.functional.rms_norm(x + more[0], n, more[1], 1e-6),
            "rmsnorm.layer_norm": lambda: torch.nn.functional.layer_norm(x, n, *more),
            "rmsnorm.short_rows": lambda: torch.nn.functional.rms_norm(x, n, more[0], 1e-6),
        }[name]()
        given = problem.oracle(*build(case).pristine())
        assert torch.allclose(given[0] if isinstance(given, tuple) else given, expected)


def test_a_norm_that_leaves_the_square_in_float16_is_wrong_for_large_and_for_tiny_rows_only(tmp_path):
    exercise = lab.exercise("rmsnorm.l2_normalize")
    module = cell(tmp_path, exercise.solution().replace("sum(x * x, axis=0)", "sum((x * x).to(tl.float16).to(tl.float32), axis=0)"))
    for case, wrong in ((4, True), (6, True), (0, False)):
        (x,) = exercise.inputs(case)
        off = (module.l2_normalize(x).double() - exercise.problem.oracle(x)).abs().max()
        assert bool(off > 1e-2) == wrong


def test_a_mean_that_is_a_sum_is_called_so(tmp_path):
    exercise = lab.exercise("rmsnorm.mean_square")
    result = exercise.check(cell(tmp_path, exercise.solution().replace(" / n_cols", "")).mean_square)
    assert result.codes == ("known_wrong",) and "sum of the squares, not their mean" in result.reasons[0].text
