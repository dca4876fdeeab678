"""What chapter 6 says in prose of its record and its cache model holds for the record that is shipped."""

from __future__ import annotations

import pytest
import triton

import tritonlab as lab
from tritonlab.analysis import GPUS, l2_traffic
from tritonlab.kernels.grouped_matmul import grouped_pid

GROUPS = (1, 2, 4, 8, 16, 32, "whole column")
LARGE, MIDDLE, SMALL = (128, 256, 64), (64, 64, 32), (32, 32, 32)
PER_SM = {LARGE: 1, MIDDLE: 8, SMALL: 10}
READ = "dram__bytes_read.sum"


@pytest.fixture(scope="module")
def record():
    return lab.recorded("group_m", gpu="H200")


@pytest.fixture(scope="module")
def one(record):
    def find(tile, size, GROUP_M, implementation="grouped"):
        config = {"BLOCK_M": tile[0], "BLOCK_N": tile[1]} | ({} if GROUP_M is None else {"GROUP_M": GROUP_M})
        (found,) = record.where(implementation=implementation, shape=(size, size, size), config=config)
        return found

    return find


def model(tile, size, GROUP_M, schedule, part=1):
    m, n = triton.cdiv(size, tile[0]), triton.cdiv(size, tile[1])
    order = lab.pid_order(grouped_pid, m, n, m if GROUP_M == "whole column" else GROUP_M)
    l2 = GPUS["H200"].l2_bytes // part
    return l2_traffic(order, tile, size, programs_per_sm=PER_SM[tile], schedule=schedule, l2_bytes=l2).memory_bytes


def test_the_gpu_of_the_model_is_that_of_the_record(record):
    details = dict(record[0].origin.details)
    assert (details["multiprocessors"], details["l2_bytes"]) == (GPUS["H200"].sms, GPUS["H200"].l2_bytes)


def test_grouping_pays_least_at_4096_and_most_for_small_tiles_at_16384(one):
    gain = {(t, n): one(t, n, 8).tflops / one(t, n, 1).tflops for t in PER_SM for n in (4096, 8192, 16384)}
    assert all(gain[t, 4096] < 1.1 for t in PER_SM) and gain[LARGE, 8192] < 1.1
    assert max(gain, key=gain.get) == (SMALL, 16384) and gain[SMALL, 16384] > 1.3
    assert min(gain[MIDDLE, 8192], gain[SMALL, 8192], gain[LARGE, 16384]) > 1.1


def test_the_whole_column_throws_the_small_tiles_back_to_about_a_row(one):
    for tile in (MIDDLE, SMALL):
        for size in (8192, 16384):
            whole, row, eight = (one(tile, size, g).tflops for g in ("whole column", 1, 8))
            assert whole < 1.2 * row and whole < 0.85 * eight
            assert tile == SMALL or whole < 0.95 * row


def test_one_after_another_ranks_the_orders_and_in_step_does_not_for_small_tiles(one):
    for tile, size in ((LARGE, 16384), (MIDDLE, 8192), (SMALL, 8192)):
        read = {g: one(tile, size, g).counted[READ] for g in (1, 8, "whole column")}
        said = {g: model(tile, size, g, "one after another") for g in read}
        assert min(said, key=said.get) == min(read, key=read.get) == 8
        assert all((said[g] > 1.5 * said[8]) == (read[g] > 1.5 * read[8]) for g in (1, "whole column"))
    for tile in (MIDDLE, SMALL):
        assert one(tile, 8192, 1).counted[READ] > 3 * one(tile, 8192, 8).counted[READ]
        assert model(tile, 8192, 1, "in step") <= 1.5 * model(tile, 8192, 8, "in step")


def test_the_model_is_least_at_32_rows_for_the_middle_tile_and_at_16_for_the_large_one():
    for tile, best in ((MIDDLE, 32), (LARGE, 16)):
        for schedule in ("in step", "one after another"):
            said = {g: model(tile, 8192, g, schedule) for g in GROUPS}
            assert min(said, key=said.get) == best
    assert model(LARGE, 8192, 32, "one after another") > 5 * model(LARGE, 8192, 16, "one after another")
    assert all(model(tile, 4096, g, s) < 0.11e9 for tile in PER_SM for g in GROUPS for s in ("in step", "one after another"))


def test_the_large_tile_runs_in_step_where_the_chapter_says_so(one):
    for size, groups, part in ((4096, (1, 8), 2), (8192, (1, 8, "whole column"), 1)):
        for g in groups:
            assert one(LARGE, size, g).counted[READ] == pytest.approx(model(LARGE, size, g, "in step", part), rel=0.1)
    assert one(LARGE, 16384, 1).counted[READ] > 1.5 * model(LARGE, 16384, 1, "in step")


def test_small_tiles_come_near_one_after_another_row_by_row(one):
    for tile in (MIDDLE, SMALL):
        read, (step, alone) = one(tile, 8192, 1).counted[READ], (model(tile, 8192, 1, s) for s in ("in step", "one after another"))
        assert step < read < alone and alone - read < read - step


def test_the_counter_is_above_both_schedules_for_middling_groups_and_turns_upwards_at_32(one):
    read = {g: one(MIDDLE, 8192, g).counted[READ] for g in GROUPS}
    for g in (4, 8, 16):
        assert read[g] > max(model(MIDDLE, 8192, g, s, part) for s in ("in step", "one after another") for part in (1, 2))
    assert read[1] > read[2] > read[4] > read[8] > read[16] < read[32] < read["whole column"]
    assert model(MIDDLE, 8192, 32, "one after another") < read[32] < model(MIDDLE, 8192, 32, "one after another", 2)


def test_the_two_axes_grid_reads_like_the_whole_column_and_swapped_like_a_row(one):
    for name, like, other in (("2-D grid", "whole column", 1), ("2-D grid, axes swapped", 1, "whole column")):
        read = one(LARGE, 16384, None, name).counted[READ]
        assert read == pytest.approx(one(LARGE, 16384, like).counted[READ], rel=0.1)
        assert read != pytest.approx(one(LARGE, 16384, other).counted[READ], rel=0.3)


def test_memory_is_at_its_limit_for_the_large_tile_only_row_by_row_at_16384(one, record):
    copy = (record.roofs or lab.recorded("vector_add").roofs).copy.rate
    busy = {(n, g): one(LARGE, n, g).counted[READ] / one(LARGE, n, g).seconds / copy for n in (8192, 16384) for g in (1, 8)}
    assert busy[16384, 1] > 0.85 and max(busy[8192, 1], busy[8192, 8], busy[16384, 8]) < 0.5


def test_most_counts_lie_between_the_schedules(record):
    outside = 0
    counted = [m for m in record if m.implementation == "grouped" and READ in m.counted]
    for m in counted:
        tile = tuple(m.meta[b] for b in ("BLOCK_M", "BLOCK_N", "BLOCK_K"))
        said = [model(tile, m.shape[0], m.meta["GROUP_M"], s, part) for s in ("in step", "one after another") for part in (1, 2)]
        outside += not 0.95 * min(said) <= m.counted[READ] <= 1.05 * max(said)
    assert len(counted) >= 15 and outside <= 4
