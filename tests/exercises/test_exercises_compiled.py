"""An answer's source as a module of its own, and its run in a process of its own (on the CPU here)."""

from __future__ import annotations

import math

import pytest
import torch
import triton
import triton.language as tl
from exercise_tools import cell, load, problem, vectors

import tritonlab as lab
from tritonlab.exercises import compiled
from tritonlab.exercises.check import check
from tritonlab.exercises.run import run_case

HALF = tl.constexpr(0.5)
LIMIT = float("inf")
BLOCK = 64


@triton.jit
def halved(x):
    return x * HALF


@triton.jit
def clamp_kernel(x_ptr, out_ptr, n, limit, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, tl.minimum(halved(x), limit), mask=offs < n)


def programs(n):
    return math.ceil(n / BLOCK)


def clamp(x):
    out = torch.empty_like(x)
    clamp_kernel[(programs(x.numel()),)](x, out, x.numel(), LIMIT, BLOCK=BLOCK)
    return out


def clamp_that_looks_where_it_runs(x):
    import __main__

    out = clamp(x)
    if hasattr(__main__, "__spec__") and "compiled" in str(__main__.__spec__):
        out[-1] += 1
    return out


def clamp_that_ends_the_process(x):
    import __main__

    if "compiled" in str(getattr(__main__, "__spec__", "")):
        raise SystemExit("the GPU is gone")
    return clamp(x)


GIVEN = problem(lambda x: x.double() / 2, vectors(64, 65, 197))


def outcomes(fn, given=GIVEN):
    return [run_case(fn, given, case, n) for n, case in enumerate(given.all_cases())]


def test_the_module_holds_all_that_the_launcher_names_and_runs_by_itself(tmp_path):
    source = compiled.module_source(clamp)
    for part in ("HALF = tl.constexpr(0.5)", 'LIMIT = float("inf")', "BLOCK = 64", "def programs(n):", "@triton.jit\ndef halved(x):", "import math"):
        assert part in source
    (tmp_path / "alone.py").write_text(source)
    x = torch.arange(70.0)
    assert torch.equal(load(tmp_path / "alone.py").clamp(x), x / 2)


def test_a_launcher_without_a_source_is_left_alone():
    made = {}
    exec("def answer(x): return x", made)
    assert compiled.module_source(made["answer"]) is None
    assert compiled.differences(made["answer"], GIVEN, outcomes(clamp), device="cpu") == []


def test_a_right_answer_comes_back_right_from_its_own_process():
    assert compiled.differences(clamp, GIVEN, outcomes(clamp), device="cpu") == []


def test_an_answer_that_differs_there_and_one_that_kills_its_process_are_found(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    plain = compiled.differences
    monkeypatch.setattr(compiled, "differences", lambda fn, given, found: plain(fn, given, found, device="cpu"))
    result = check(clamp_that_looks_where_it_runs, GIVEN)
    assert result.codes == ("compiled",)
    assert "1 of 197 values are wrong; [196] is " in result.reasons[0].text
    result = check(clamp_that_ends_the_process, GIVEN)
    assert result.codes == ("compiled",) and result.reasons[0].text.endswith("the GPU is gone")


def test_nothing_is_run_without_a_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(compiled, "module_source", lambda fn: pytest.fail("not without a GPU"))
    assert compiled.differences(clamp, GIVEN, outcomes(clamp)) == []


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["vector_add.mask", "vector_add.axpy", "vector_add.strided", "vector_add.persistent"])
def test_on_a_gpu_a_solution_passes_compiled_too(name):
    exercise = lab.exercise(name)
    assert torch.cuda.is_available()
    assert exercise.check(exercise.problem.launcher).ok


@pytest.mark.parametrize("name", ["matmul.fill", "grouped_matmul.grouped"])
def test_a_right_answer_whose_float32_dots_a_gpu_would_cut_is_told_so(name, tmp_path):
    exercise = lab.exercise(name)
    exact = exercise.check(getattr(cell(tmp_path, exercise.solution(), "exact"), exercise.problem.function))
    source = exercise.solution().replace(', input_precision="ieee"', "")
    cut = exercise.check(getattr(cell(tmp_path, source, "cut"), exercise.problem.function))
    assert exact.ok and not exact.note
    assert cut.ok and "cuts float32 operands to TF32" in cut.note and "input_precision" in str(cut)


def test_a_right_answer_without_dots_has_nothing_to_be_told(tmp_path):
    exercise = lab.exercise("vector_add.mask")
    assert not exercise.check(getattr(cell(tmp_path, exercise.solution()), exercise.problem.function)).note
