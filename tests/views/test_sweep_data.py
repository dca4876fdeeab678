"""What a sweep says, on sweeps small enough to work out by hand."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from tritonlab.bench.measurement import Measurement, Measurements, Origin, Timing
from tritonlab.views.sweep_data import best_set, cases, fastest, listed, lookups, near_ties, ranked, shape_words, tables

ORIGIN = Origin("G", "t", "3.7.1", "2026-11-30T00:00:00Z", "m")
A, B, C = ((("BLOCK", n),) for n in (16, 32, 64))
BIG, SMALL = (8192,) * 3, (1000, 512, 64)


def took(config, shape, us, spread=0.01, dtype="bfloat16", implementation="grouped"):
    seconds = us * 1e-6
    return Measurement("op", implementation, shape, dtype, Timing(seconds, seconds * (1 - spread), seconds * (1 + spread), 9), ORIGIN, flops=10**9, config=config)


SWEEP = Measurements(
    (
        took(A, BIG, 400), took(B, BIG, 200), took(C, BIG, 100), took((), BIG, 90, implementation="torch"),
        took(A, SMALL, 100), took(B, SMALL, 125), took(C, SMALL, 1000),
    )
)  # fmt: skip


def test_cases_are_shapes_and_dtypes_with_a_config():
    assert cases(SWEEP) == [(BIG, "bfloat16"), (SMALL, "bfloat16")]
    with pytest.raises(ValueError, match="none of the measurements has a config"):
        cases(Measurements((took((), BIG, 1),)))


def test_configs_are_ranked_and_torch_is_none_of_them():
    assert [m.config for m in ranked(SWEEP, (BIG, "bfloat16"))] == [C, B, A]
    assert fastest(SWEEP, (SMALL, "bfloat16")).config == A


def test_a_near_tie_is_one_whose_spread_meets_the_fastest():
    close = Measurements((took(A, BIG, 1000, 0.02), took(B, BIG, 1030, 0.02), took(C, BIG, 1050, 0.02)))
    assert [m.config for m in near_ties(close, (BIG, "bfloat16"))] == [B]
    assert near_ties(SWEEP, (BIG, "bfloat16")) == []


def test_a_look_up_table_falls_behind_by_shape():
    found = {one.name: one for one in lookups(SWEEP)}
    assert list(found) == ["one config for all", "best of 8192³", "best of 1000×512×64"]
    assert found["best of 8192³"].shares == (1.0, pytest.approx(0.1)) and found["best of 8192³"].worst == pytest.approx(0.1)
    assert found["best of 1000×512×64"].shares == (pytest.approx(0.25), 1.0)
    one = found["one config for all"]  # geometric means: A 0.5, B √0.4, C √0.1
    assert one.configs == (B, B) and one.shares == (pytest.approx(0.5), pytest.approx(0.8)) and one.ties == (False, False)


def test_shapes_with_the_same_best_share_a_row():
    same = Measurements((took(A, BIG, 1), took(B, BIG, 9), took(A, (64,) * 3, 1), took(B, (64,) * 3, 9)))
    assert [one.name for one in lookups(same)] == ["one config for all", "best of 8192³ and 64³"]


def test_tables_grow_until_they_equal_tuning():
    one, two = tables(SWEEP)
    assert (one.name, one.worst, two.name, two.worst) == ("1 config", pytest.approx(0.5), "2 configs", 1.0)
    assert two.configs == (C, A)


def test_a_config_that_did_not_run_somewhere_serves_no_table_alone():
    part = Measurements((took(A, BIG, 1), took(B, BIG, 2), took(B, SMALL, 1)))
    assert best_set(part, 1) == (B,)
    best = {one.name: one for one in lookups(part)}["best of 8192³"]
    assert best.shares == (1.0, None) and best.worst is None
    nowhere = Measurements((took(A, BIG, 1), took(B, SMALL, 1)))
    assert best_set(nowhere, 1) == () and [t.name for t in tables(nowhere)] == ["2 configs"]
    assert [one.name for one in lookups(nowhere)] == ["best of 8192³", "best of 1000×512×64"]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_best_set_is_the_best_of_all_sets(seed, size):
    rng = random.Random(seed)
    configs, shapes = [(("C", i),) for i in range(7)], [(s,) * 3 for s in (64, 128, 256, 512)]
    times = {(c, s): rng.uniform(1, 9) for c in configs for s in shapes}
    ms = Measurements(tuple(took(c, s, t) for (c, s), t in times.items()))

    def mean(chosen):
        return sum(math.log(min(times[c, s] for c in configs) / min(times[c, s] for c in chosen)) for s in shapes)

    assert mean(best_set(ms, size)) == pytest.approx(max(map(mean, itertools.combinations(configs, size))))


def test_dtypes_are_cases_of_their_own():
    two = Measurements((took(A, BIG, 1), took(B, BIG, 1, dtype="float16")))
    assert [one.name for one in lookups(two)] == ["best of 8192³ bfloat16", "best of 8192³ float16"]


def test_words_of_shapes_and_lists():
    assert [shape_words(s) for s in (BIG, SMALL, (7,), (4, 4))] == ["8192³", "1000×512×64", "7", "4×4"]
    assert [listed(x) for x in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
