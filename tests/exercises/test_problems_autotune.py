"""Chapter 7's exercises, beside what all exercises are tested for: their order, what the rules allow, and what they see."""

from __future__ import annotations

import pytest
import torch
from exercise_tools import cell

import tritonlab as lab
from tritonlab.exercises import names
from tritonlab.exercises.problems import autotune

CHAPTER = [n for n in names() if n.startswith("autotune.")]


def checked(tmp_path, name, *changes, module="answer"):
    exercise = lab.exercise(name)
    text = str(exercise.solution())
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return exercise.check(getattr(cell(tmp_path, text, module), exercise.problem.function))


def test_the_chapter_goes_from_easy_to_hard():
    assert CHAPTER == [f"autotune.{n}" for n in ("heuristic", "in_place", "key", "prune", "table", "pipeline")]


def test_the_stubs_that_run_are_rejected_for_what_has_to_be_mended(tmp_path):
    for name, code in (("autotune.in_place", "known_wrong"), ("autotune.key", "never_written")):
        exercise = lab.exercise(name)
        module = cell(tmp_path, exercise.stub, name.replace(".", "_"))
        for _ in range(2):  # the second time as well, though everything has been tuned by then
            assert exercise.check(getattr(module, exercise.problem.function)).codes == (code,)


def test_the_accumulator_may_be_restored_as_well(tmp_path):
    assert checked(tmp_path, "autotune.in_place", ('restore_value=["p_ptr"],\n    reset_to_zero=["moved_ptr"]', 'restore_value=["p_ptr", "moved_ptr"]')).ok


def test_a_key_of_the_row_stride_is_told_both_ways_in_which_it_is_wrong(tmp_path):
    result = checked(tmp_path, "autotune.key", ('key=["n_cols"]', 'key=["stride_xm"]'))
    assert result.codes == ("strides", "rule") and "was tuned for again" in result.reasons[1].text


def test_the_exercise_s_copy_of_the_list_of_tiles_is_the_kernels(tmp_path):
    kernel = autotune.matmul_kernel
    assert tuple((*c.kwargs.values(), c.num_stages) for c in kernel.configs) == autotune._TILES
    assert [c.kwargs["BLOCK_SIZE"] for c in autotune.shares_kernel.configs] == list(autotune._BLOCKS)


@pytest.mark.parametrize("tile", autotune._TILES)
def test_the_formula_of_the_buffers_is_what_the_compiler_says(tile):
    a = torch.empty(4096, 4096, dtype=torch.float16, device="meta")
    m, n, k, stages = tile
    override = dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, num_stages=stages)
    compiled = lab.compile(lambda: autotune.tuned_matmul(a, a), target="sm_90", override=override)
    assert compiled.shared == stages * (m + n) * k * 2
    assert compiled.fits == (not autotune._against(tile, 4096, 4096))


def test_another_tile_of_the_pipelined_loop_is_measured_by_its_own_size(tmp_path):
    assert checked(tmp_path, "autotune.pipeline", ("BLOCK_SIZE=256", "BLOCK_SIZE=512")).ok
    result = checked(tmp_path, "autotune.pipeline", ("BLOCK_SIZE=256", "BLOCK_SIZE=512"), ("num_stages=4", "num_stages=3"), module="three")
    assert result.codes == ("rule",) and "8,192 B of shared memory" in result.reasons[0].text and "12,288 B" in result.reasons[0].text


def test_the_tables_figures_are_those_of_the_record():
    try:
        record = lab.recorded("matmul_configs").where(implementation="grouped")
    except lab.bench.errors.RecordError:
        pytest.skip("there is no record of matmul_configs")
    timed = {}
    for config, row in autotune.RECORDED.items():
        wanted = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages"), config)) | {"GROUP_M": 8}
        for shape, tflops in zip(autotune.SHAPES, row):
            timed[config, shape] = record.where(shape=shape, config=wanted)[0].tflops
            assert timed[config, shape] == pytest.approx(tflops, rel=0.15), (config, shape)
    for column, shape in enumerate(autotune.SHAPES):
        best = max(autotune.RECORDED, key=lambda config: autotune.RECORDED[config][column])
        assert best == max(autotune.RECORDED, key=lambda config: timed[config, shape]), "the same line is best in the record as it is now"


def test_between_the_tables_shapes_there_are_large_products_and_small_ones():
    tiles = [-(-M // 128) * -(-N // 256) for M, N, K in autotune.BETWEEN]
    assert {n >= 132 for n in tiles} == {True, False}
    assert autotune._by_the_table.__doc__ and all(shape not in autotune.SHAPES for shape in autotune.BETWEEN)


def test_what_a_table_says_by_raising_is_shown(tmp_path):
    result = checked(tmp_path, "autotune.table", ("    if triton.cdiv(M, 128)", "    if M > 5000:\n        raise KeyError(M)\n    if triton.cdiv(M, 128)"))
    assert result.codes == ("rule",) and "for 8192×8192×8192 it raises KeyError: 8192" in result.reasons[0].text


def test_a_misspelt_key_is_named_at_the_launch_or_before(tmp_path):
    try:
        result = checked(tmp_path, "autotune.key", ('key=["n_cols"]', 'key=["n_col"]'))
    except ValueError as error:  # Triton 3.9: when the decorator runs
        assert "n_col" in str(error)
    else:
        assert result.codes == ("raises",) and "names n_col, which is no parameter" in " ".join(result.reasons[0].text.split())
