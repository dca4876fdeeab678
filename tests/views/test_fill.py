"""The fill picture holds what the runs recorded, and calls a row poisoned exactly when its result differs from the reference."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import tritonlab as lab
from tritonlab.trace.record import Access, Launch, Trace
from tritonlab.views import specimens as s
from tritonlab.views.base import unpack
from tritonlab.views.fill import _played, fill, samples

INF, NAN = math.inf, math.nan


@triton.jit
def softmax_kernel(x_ptr, out_ptr, n_cols, FILL: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + tl.program_id(0) * n_cols + cols, mask=mask, other=FILL)
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + tl.program_id(0) * n_cols + cols, numerator / tl.sum(numerator, axis=0), mask=mask)


def traced(x, other):
    out = torch.empty_like(x)
    return lab.trace(lambda: softmax_kernel[(x.shape[0],)](x, out, x.shape[1], other, BLOCK_SIZE=triton.next_power_of_2(x.shape[1])))


def logits(rows=4, columns=11, level=0.0):
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(0)) + level


def rows_of(view, name, panel):
    """A packed per-row field of a panel, row by row."""
    flat, first = unpack(view.data["panels"][panel][name]), view.data["first"]
    return [flat[a:b] for a, b in zip(first, first[1:])]


def played(values, block=16, **more):
    values = np.asarray(values, np.float32)
    e = np.exp(values.astype(np.float64) - values.max(axis=1, keepdims=True))
    return fill(lambda other: _played(values, other, block), reference=e / e.sum(axis=1, keepdims=True), **more)


VALUES = np.random.default_rng(0).normal(size=(5, 11)).astype(np.float32)


def test_every_lane_has_the_value_that_the_trace_has():
    x = logits()
    runs = {other: traced(x, other) for other in (0.0, -INF, INF)}
    view = fill(runs, reference=torch.softmax(x.double(), -1))
    data = json.loads(json.dumps(view.data, allow_nan=False))
    mask, offsets = unpack(data["loads"][0]["mask"]), unpack(data["loads"][0]["offsets"])
    for panel, run in zip(data["panels"], runs.values()):
        values = unpack(panel["values"][0])
        loads = [a for a in run.launch.accesses if a.kind == "load"]
        for row, access in enumerate(loads):
            assert np.array_equal(values[row], access.values, equal_nan=True)
            assert np.array_equal(mask[row], access.mask) and np.array_equal(offsets[row], access.offsets)
        assert set(values[~mask.astype(bool)].tolist()) == {float(panel["fill"])}


def test_results_are_those_that_were_stored():
    x = logits()
    runs = {other: traced(x, other) for other in (0.0, -INF)}
    view = fill(runs, reference=torch.softmax(x.double(), -1))
    for p, run in enumerate(runs.values()):
        stored = run.launch.arg("out_ptr").after
        assert np.array_equal(np.stack(rows_of(view, "result", p)), stored)
    assert np.allclose(unpack(view.data["expected"]).reshape(x.shape), torch.softmax(x.double(), -1).numpy())
    assert unpack(view.data["places"]).tolist() == list(range(x.numel()))


@pytest.mark.parametrize(("level", "zero"), [(0.0, 4), (12.0, 0), (-20.0, 4)])
def test_a_fill_of_0_poisons_by_the_level_of_the_logits(level, zero):
    x = logits(level=level)
    view = fill(lambda other: traced(x, other), reference=torch.softmax(x.double(), -1))
    assert [sum(p["bad"]) for p in view.data["panels"]] == [zero, 0, 4]


def test_a_row_is_poisoned_exactly_where_its_result_differs():
    reference = np.array([[0.5, 0.5], [0.1, 0.9], [NAN, 1.0], [INF, 0.0]])
    stored = np.array([[0.5, 0.5], [0.1, 0.8], [NAN, 1.0], [2.0, 0.0]], np.float32)

    def run(values):
        accesses = []
        for row in range(4):
            offsets = 2 * row + np.arange(2)
            on = np.ones(2, bool)
            accesses += [Access("load", "x_ptr", (row, 0, 0), 3, offsets, on, values[row]), Access("store", "out_ptr", (row, 0, 0), 4, offsets, on, values[row])]
        args = (s.tensor("x_ptr", 0, values), s.tensor("out_ptr", 1, values))
        return Launch("k", (4, 1, 1), args, accesses=tuple(accesses))

    view = fill({0.0: run(stored)}, reference=reference)
    assert view.data["panels"][0]["bad"] == [False, True, False, True]
    assert unpack(view.data["panels"][0]["wrong"]).tolist() == [0, 0, 0, 1, 0, 0, 1, 0]
    assert fill({0.0: run(stored)}, reference=reference, atol=0.2).data["panels"][0]["bad"] == [False, False, False, True]


def test_the_tolerance_is_one_sum_of_both():
    near = played(VALUES, rtol=0.0, atol=1.0)
    assert [sum(p["bad"]) for p in near.data["panels"]] == [0, 0, 5], "nan is never within a tolerance"
    assert [sum(p["bad"]) for p in played(VALUES).data["panels"]] == [5, 0, 5]


def test_a_block_of_several_rows_gives_a_row_each_and_leaves_out_those_past_the_end():
    values = np.arange(15, dtype=np.float32).reshape(3, 5)

    def run(other):
        accesses = []
        for program in range(2):
            rows = 2 * program + np.arange(2)[:, None]
            cols = np.arange(8)[None, :]
            mask = (rows < 3) & (cols < 5)
            block = np.full((2, 8), other, np.float32)
            block[:, :5] = values[np.minimum(rows[:, 0], 2)]
            accesses.append(Access("load", "x_ptr", (program, 0, 0), 5, rows * 5 + cols, mask, block, other=True))
            accesses.append(Access("store", "out_ptr", (program, 0, 0), 6, rows[:, 0], rows[:, 0] < 3, block.max(axis=1)))
        args = (s.tensor("x_ptr", 0, values), s.tensor("out_ptr", 1, values.max(axis=1)))
        return Launch("row_max_kernel", (2, 1, 1), args, accesses=tuple(accesses))

    view = fill(run, reference=values.max(axis=1))
    assert view.data["programs"] == [0, 0, 1] and view.data["first"] == [0, 1, 2, 3]
    assert repr(view) == "<FillView row_max_kernel 3 rows × 8 lanes: 0.0 poisons none, -inf poisons none, inf poisons all>"
    assert [v.tolist() for v in rows_of(view, "result", 0)] == [[4.0], [9.0], [14.0]]


def test_the_tiles_of_a_loop_stand_one_after_the_other():
    values = np.arange(6, dtype=np.float32).reshape(1, 6)
    accesses = []
    for start in (0, 4):
        offsets = start + np.arange(4)
        accesses.append(Access("load", "x_ptr", (0, 0, 0), 5, offsets, offsets < 6, np.where(offsets < 6, offsets, -1.0), other=True))
    accesses.append(Access("store", "out_ptr", (0, 0, 0), 7, np.zeros(1, np.int64), np.ones(1, bool), np.array([5.0], np.float32)))
    launch = Launch("k", (1, 1, 1), (s.tensor("x_ptr", 0, values), s.tensor("out_ptr", 1, np.zeros(1, np.float32))), accesses=tuple(accesses))
    view = fill({-1.0: launch}, reference=[5.0])
    assert view.data["loads"][0]["lanes"] == 8
    assert unpack(view.data["panels"][0]["values"][0]).tolist() == [[0, 1, 2, 3, 4, 5, -1, -1]]


def test_only_loads_with_masked_lanes_are_offered_unless_none_has_any():
    def run(columns):
        full = _played(VALUES[:, :columns], 0.0, 16 if columns < 16 else 8)
        extra = [Access("load", "w_ptr", a.program, 5, np.arange(4), np.ones(4, bool), np.ones(4, np.float32)) for a in full.accesses if a.kind == "load"]
        return Launch(**{**vars(full), "args": (*full.args, s.tensor("w_ptr", 2, np.ones(4, np.float32))), "accesses": (*extra, *full.accesses)})

    view = fill({0.0: run(11)}, reference=np.zeros((5, 11)))
    assert [load["arg"] for load in view.data["loads"]] == ["x_ptr"]
    nothing = fill({0.0: _played(VALUES[:, :8], 0.0, 8)}, reference=np.zeros((5, 8)))
    assert [load["arg"] for load in nothing.data["loads"]] == ["x_ptr"]


def test_the_repr_counts_poisoned_rows():
    assert repr(played(VALUES)) == "<FillView softmax_kernel 5 rows × 16 lanes: 0.0 poisons all, -inf poisons none, inf poisons all>"
    assert repr(played(np.concatenate([VALUES, VALUES + 30]))) == (
        "<FillView softmax_kernel 10 rows × 16 lanes: 0.0 poisons 5, -inf poisons none, inf poisons all>"
    )


def two_outputs():
    launch = _played(VALUES, 0.0, 16)
    more = Access("store", "lse_ptr", (0, 0, 0), 11, np.zeros(1, np.int64), np.ones(1, bool), np.zeros(1, np.float32))
    args = (*launch.args, s.tensor("lse_ptr", 2, np.zeros(1, np.float32)))
    return Launch(**{**vars(launch), "args": args, "accesses": (*launch.accesses, more)})


def changed(**fields):
    return Launch(**{**vars(_played(VALUES, 0.0, 16)), **fields})


GOOD = np.zeros((5, 11))


@pytest.mark.parametrize(
    ("make", "reference", "error", "words"),
    [
        (3, GOOD, TypeError, "make is a int; it is a function that takes a fill"),
        (lambda other: torch.ones(3), GOOD, TypeError, "the run with 0.0 gave a Tensor; make must return what lab.trace"),
        ({}, GOOD, ValueError, "fills is empty"),
        ({0.0: Trace(())}, GOOD, ValueError, "the trace holds no launch"),
        (lambda other: _played(VALUES, other, 16), np.zeros((5, 12)), ValueError, r"reference has shape \(5, 12\); out_ptr has \(5, 11\)"),
        ({0.0: _played(VALUES, 0.0, 16), 1.0: _played(VALUES[:4], 1.0, 16)}, GOOD, ValueError, "not of one launch: softmax_kernel"),
        ({0.0: _played(VALUES, 0.0, 16), 1.0: _played(VALUES, 1.0, 32)}, GOOD, ValueError, "differ in more than their fill: line 6"),
        ({0.0: changed(error="stopped")}, GOOD, ValueError, "the run with 0.0 ended by an error: stopped"),
        ({0.0: changed(left_out=3)}, GOOD, ValueError, "3 accesses that were not recorded"),
        ({0.0: changed(accesses=())}, GOOD, ValueError, "stores nothing"),
        ({0.0: two_outputs()}, GOOD, ValueError, "stores to out_ptr, lse_ptr: choose one with out="),
        ({0.0: _played(np.zeros((70, 3), np.float32), 0.0, 4)}, np.zeros((70, 3)), ValueError, "70 rows; the fill picture shows at most 64"),
        ({0.0: _played(np.zeros((1, 1500), np.float32), 0.0, 2048)}, np.zeros((1, 1500)), ValueError, "2048 lanes; the fill picture shows at most 1024"),
    ],
)  # fmt: skip
def test_what_cannot_be_shown_says_why(make, reference, error, words):
    with pytest.raises(error, match=words):
        fill(make, reference=reference)


def test_an_output_can_be_chosen():
    launch = two_outputs()
    assert fill({0.0: launch}, reference=GOOD, out="out_ptr").data["out"] == "out_ptr"
    assert fill({0.0: launch}, reference=[0.0], out="lse_ptr").data["panels"][0]["bad"] == [False] * 5
    with pytest.raises(ValueError, match="out is 'x_ptr'; softmax_kernel stores to out_ptr, lse_ptr"):
        fill({0.0: launch}, reference=GOOD, out="x_ptr")


def test_samples_have_names_of_their_own():
    names = [name for name, _ in samples()]
    assert len(set(names)) == len(names) and all(n.startswith("fill-") for n in names)


def test_a_weight_loaded_once_for_a_block_of_rows_is_left_out():
    values = np.arange(10, dtype=np.float32).reshape(2, 5)
    cols, rows = np.arange(8), np.arange(2)[:, None]
    mask = np.broadcast_to(cols < 5, (2, 8))
    block = np.zeros((2, 8), np.float32)
    block[:, :5] = values
    accesses = (
        Access("load", "x_ptr", (0, 0, 0), 5, rows * 5 + cols, mask, block, other=True),
        Access("load", "w_ptr", (0, 0, 0), 6, cols, cols < 5, np.ones(8, np.float32), other=True),
        Access("store", "out_ptr", (0, 0, 0), 7, rows * 5 + cols, mask, block),
    )
    args = (s.tensor("x_ptr", 0, values), s.tensor("w_ptr", 1, np.ones(5, np.float32)), s.tensor("out_ptr", 2, values))
    view = fill({0.0: Launch("k", (1, 1, 1), args, accesses=accesses)}, reference=values)
    assert [load["arg"] for load in view.data["loads"]] == ["x_ptr"] and view.data["first"] == [0, 5, 10]
    one = fill({0.0: Launch("k", (1, 1, 1), args, accesses=(accesses[1], *accesses[::2]))}, reference=values)
    assert [load["arg"] for load in one.data["loads"]] == ["x_ptr"] and one.data["first"] == [0, 5, 10]
