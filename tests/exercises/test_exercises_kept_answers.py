"""Chapter 1's exercises: solutions pass, stubs do not, kept wrong answers are rejected with the right reason."""

from __future__ import annotations

import ast
import re

import pytest
from exercise_tools import cell, kept_answers, load

import tritonlab as lab
from tritonlab.exercises import names

KEPT = kept_answers()
CHAPTER = [n for n in names() if n.startswith("vector_add.")]


def test_the_chapter_has_five_exercises_from_easy_to_hard():
    assert CHAPTER == [f"vector_add.{n}" for n in ("offsets", "mask", "axpy", "strided", "persistent")]


@pytest.mark.parametrize("name", names())
def test_a_solution_passes_its_own_check_from_its_shown_source(name, tmp_path):
    exercise = lab.exercise(name)
    module = cell(tmp_path, exercise.solution())
    result = exercise.check(getattr(module, exercise.problem.function))
    assert result.ok, result
    assert result.passed == len(result.tests) == len(exercise.problem.all_cases())


@pytest.mark.parametrize("kept", KEPT, ids=lambda k: k.id)
def test_a_kept_wrong_answer_is_rejected_with_its_reason_and_a_picture_or_none(kept):
    exercise = lab.exercise(kept.exercise)
    result = exercise.check(getattr(load(kept.path), exercise.problem.function))
    assert not result.ok and result.status == "not right"
    assert result.codes == (kept.code,), result
    assert kept.says in " ".join(result.reasons[0].text.split()), result
    view = lab.views.check(result)  # here, so that the many answers are checked only once
    assert view is None or repr(view).startswith(("<Stepper ", "<TileView "))


@pytest.mark.parametrize("name", names())
def test_every_exercise_has_two_wrong_answers_with_different_reasons(name):
    codes = {k.code for k in KEPT if k.exercise == name}
    assert len(codes) >= 2, codes


@pytest.mark.parametrize("name", names())
def test_every_exercise_has_hints_a_prompt_and_a_reason_for_its_tolerance(name):
    problem = lab.exercise(name).problem
    assert len(problem.hints) >= 2 and len(set(problem.hints)) == len(problem.hints)
    assert problem.prompt.strip()
    tolerances = problem.tolerance.values() if isinstance(problem.tolerance, dict) else [problem.tolerance]
    assert all(t.why.strip() for t in tolerances)


@pytest.mark.parametrize("name", names())
def test_a_stub_has_the_functions_and_parameters_of_the_solution(name):
    exercise = lab.exercise(name)
    stub, solution = ast.parse(exercise.stub), ast.parse(exercise.solution())
    functions = {n.name: n for n in solution.body if isinstance(n, ast.FunctionDef)}
    for node in (n for n in stub.body if isinstance(n, ast.FunctionDef)):
        theirs, ours = [a.arg for a in node.args.args], [a.arg for a in functions[node.name].args.args]
        assert [a for a in ours if a in theirs] == theirs, "a stub may lack parameters, but not name others"
    launcher = functions[exercise.problem.function]
    own = next(n for n in stub.body if isinstance(n, ast.FunctionDef) and n.name == launcher.name)
    assert ast.dump(own.args) == ast.dump(launcher.args)


@pytest.mark.parametrize("name", names())
def test_every_line_of_a_stub_but_its_blanks_is_in_the_solution_or_is_what_has_to_be_mended(name):
    exercise = lab.exercise(name)
    if "..." not in exercise.stub:
        pytest.skip("a stub that runs and has to be mended")
    solution = [line.strip() for line in exercise.solution().splitlines()]
    for line in exercise.stub.splitlines():
        if line.strip() and "..." not in line:
            assert line.strip() in solution, line


@pytest.mark.parametrize("name", names())
def test_a_stub_is_not_right_and_raises_nothing(name, tmp_path):
    exercise = lab.exercise(name)
    result = exercise.check(getattr(cell(tmp_path, exercise.stub), exercise.problem.function))
    assert not result.ok
    assert result.status == ("not yet" if "..." in exercise.stub else "not right")


def test_the_stubs_that_have_to_be_mended_are_rejected_for_what_has_to_be_mended(tmp_path):
    for name, code in (("vector_add.mask", "out_of_bounds"), ("vector_add.strided", "strides")):
        exercise = lab.exercise(name)
        module = cell(tmp_path, exercise.stub, name.replace(".", "_"))
        assert exercise.check(getattr(module, exercise.problem.function)).codes == (code,)


def test_an_answer_with_another_block_size_gets_cases_for_that_size(tmp_path):
    exercise = lab.exercise("vector_add.mask")
    text = re.sub(r"\b64\b", "16", exercise.stub)
    result = exercise.check(cell(tmp_path, text).multiply)
    reason = result.reasons[0]
    assert reason.code == "out_of_bounds" and "block=16" in reason.again and reason.lane == 15
    x, y = exercise.inputs(reason.case, block=16)
    assert x.shape == y.shape == (15,)
    right = exercise.check(cell(tmp_path, re.sub(r"\b64\b", "16", exercise.solution()), "right").multiply)
    assert right.ok and any("x: 17" in t for t in right.tests)


def test_the_last_hint_of_a_mask_is_not_the_first():
    hints = lab.exercise("vector_add.mask").problem.hints
    assert "mask=mask" in hints[-1] and "mask=mask" not in hints[0]
