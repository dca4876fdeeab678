"""The exercises of chapters 5 and 6, beside what all exercises are tested for: their order, cases and maps, and which mistakes are kept."""

from __future__ import annotations

import pytest
import torch
from exercise_tools import cell, kept_answers

import tritonlab as lab
from tritonlab.exercises import names
from tritonlab.exercises.inputs import build
from tritonlab.exercises.problems import grouped_matmul as maps

PRODUCTS = [n for n in names() if n.startswith("matmul.")] + ["grouped_matmul.grouped"]
ORDERS = [n for n in names() if n.startswith("grouped_matmul.") and n not in PRODUCTS]


def test_each_chapter_has_five_exercises_from_easy_to_hard():
    assert PRODUCTS[:-1] == [f"matmul.{n}" for n in ("fill", "epilogue", "transposed", "batched", "split_k")]
    assert ORDERS == [f"grouped_matmul.{n}" for n in ("row_major", "snake", "grouped_pid", "column_grouped")]


@pytest.mark.parametrize("name", PRODUCTS)
def test_shapes_are_independent_and_reach_past_and_short_of_a_tile(name):
    problem = lab.exercise(name).problem
    shapes = []
    for case in problem.all_cases():
        extents = {}
        for parameter, a in zip(problem.parameters, case.args):
            extents.update(zip(problem.axes.get(parameter, ()), getattr(a, "shape", ())))
        shapes.append((extents["M"], extents["N"], extents["K"]))
    assert any(len(set(s)) == 3 and all(n % 16 for n in s) for s in shapes), "square shapes would hide exchanged bounds"
    for axis in range(3):
        sizes = {s[axis] for s in shapes}
        assert sizes & {16, 32, 48} and any(n < 16 for n in sizes) and any(n > 16 and n % 16 for n in sizes), "or two mistakes could not be told apart"
    layouts = {t.layout for c in problem.all_cases() for t in c.tensors}
    assert len(layouts) >= 3 and any("float16" in c.dtypes for c in problem.all_cases())


@pytest.mark.parametrize("name", ["matmul.fill", "matmul.epilogue", "grouped_matmul.grouped"])
def test_a_case_tells_a_float16_sum_from_a_float32_one(name):
    problem = lab.exercise(name).problem
    case = next(c for c in problem.all_cases() if "2048" in c.note)
    a, b = build(case).pristine()[:2]
    total, tolerance = torch.zeros(16, 16, dtype=torch.float16), problem.tolerance_for("float16")
    for k in range(0, a.shape[1], 16):
        total += (a[:, k : k + 16].float() @ b[k : k + 16].float()).half()
    expected = a.double() @ b.double()
    assert ((total.double() - expected).abs() > tolerance.atol + tolerance.rtol * expected.abs()).all()
    assert ((expected.half().double() - expected).abs() <= tolerance.atol + tolerance.rtol * expected.abs()).all()


def test_the_maps_visit_every_tile_once_and_agree_where_they_must():
    for m in range(1, 7):
        for n in range(1, 7):
            every = set(range(m * n))
            rows, columns, snake = maps._by_rows(m, n), maps._by_columns(m, n), maps._snake(m, n)
            assert all(set(o.reshape(-1).tolist()) == every for o in (rows, columns, snake))
            assert torch.equal(rows, torch.arange(m * n, dtype=torch.int32).view(m, n)) and torch.equal(columns, maps._by_rows(n, m).T)
            steps = [(snake == pid).nonzero()[0] for pid in range(m * n)]
            assert all((a - b).abs().sum() == 1 for a, b in zip(steps, steps[1:])), "a snake goes to a neighbour each time"
            for group in range(1, 8):
                grouped = maps._grouped(m, n, group)
                assert set(grouped.reshape(-1).tolist()) == every
                assert torch.equal(maps._column_grouped(n, m, group), grouped.T)
            assert torch.equal(maps._grouped(m, n, 1), rows) and torch.equal(maps._grouped(m, n, m), columns)


@pytest.mark.parametrize("name", ORDERS)
def test_the_map_of_an_exercise_is_what_its_own_function_says_of_a_block_of_pids(name):
    exercise = lab.exercise(name)
    function = exercise.problem.solution[0]
    for case in exercise.problem.all_cases():
        order = exercise.problem.oracle(*case.args)
        made = lab.pid_order(function, *(case.args if len(case.args) == 3 else case.args[:2]))
        assert made.one_to_one and all(order[m, n] == pid for pid, (m, n) in enumerate(zip(made.pid_m, made.pid_n)))


@pytest.mark.parametrize("name", PRODUCTS + ORDERS)
def test_a_chapters_kinds_of_mistake_are_among_its_kept_answers(name):
    codes = {k.code for k in kept_answers() if k.exercise == name}
    if name in ORDERS:
        assert {"tile_map", "known_wrong"} <= codes
    if name in ("matmul.fill", "grouped_matmul.grouped"):
        assert {"block_start", "chunk_step", "tile_map", "mask", "precision"} <= codes


def test_a_copy_of_b_is_not_how_its_transpose_is_read(tmp_path):
    exercise = lab.exercise("matmul.transposed")
    text = exercise.solution().replace("    (M, K), N = a.shape, b.shape[0]\n", "    (M, K), N = a.shape, b.shape[0]\n    b = b.contiguous()\n")
    assert exercise.check(cell(tmp_path, text).matmul_nt).codes == ("copied_input",)


def test_a_split_that_lets_each_program_take_one_run_of_chunks_is_as_good(tmp_path):
    exercise = lab.exercise("matmul.split_k")
    text = exercise.solution().replace(
        "    for k in range(pid_k * BLOCK_K, K, SPLIT_K * BLOCK_K):\n",
        "    part = tl.cdiv(tl.cdiv(K, BLOCK_K), SPLIT_K) * BLOCK_K\n    for k in range(pid_k * part, tl.minimum(K, (pid_k + 1) * part), BLOCK_K):\n",
    )
    result = exercise.check(cell(tmp_path, text).split_k_matmul)
    assert result.ok, result
