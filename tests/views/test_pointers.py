"""The data of the pointer picture is the trace and its analysis, lane by lane; and what cannot be shown says why."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tritonlab.analysis.pointers import ASTRAY, MASKED, ON, OUT
from tritonlab.trace.record import Access, Launch, TensorArg, Trace
from tritonlab.views import pointers_specimens as p
from tritonlab.views import specimens as s
from tritonlab.views import stepped
from tritonlab.views.pointers import pointers, samples
from tritonlab.views.values import decode

BUGS = {bug: p.row_sums(bug) for bug in p.BUGS}


def browser(view):
    """The data as the browser receives it."""
    return json.loads(json.dumps(view.data, allow_nan=False))


def accesses(data, variant=0):
    """Every access of a variant, its arrays unpacked: (program number, access)."""
    values = [decode(v) for v in data["values"]]
    for program in data["variants"][variant]["programs"]:
        for a in program["accesses"]:
            lists = {k: None if a[k] is None else np.array([values[i] for i in a[k]]) for k in ("reached", "meant", "right")}
            stages = [{**st, "values": values[st["values"]]} for st in a["stages"]]
            terms = [(t["times"], [(f["text"], values[f["values"]].reshape(f["shape"])) for f in t["factors"]]) for t in a["terms"]]
            yield program["number"], {**a, **lists, "offsets": values[a["offsets"]], "state": values[a["state"]], "stages": stages, "terms": terms}


@pytest.mark.parametrize("launch", [s.vector_add(100, 16), s.matmul(), s.strided_copy(), s.atomic_histogram(), p.batched(), p.row_sums("chunk added twice").launch], ids=lambda launch: launch.kernel)
def test_every_lane_of_every_access_is_told_as_traced(launch):
    told = list(accesses(browser(pointers(launch))))
    own = sorted(launch.accesses, key=lambda a: a.program[0] + launch.grid[0] * (a.program[1] + launch.grid[1] * a.program[2]))
    assert len(told) == len(own)
    for (number, got), want in zip(told, own):
        assert (got["arg"], got["kind"], got["line"]) == (want.arg, want.kind, want.line)
        assert np.array_equal(got["offsets"].reshape(want.offsets.shape), want.offsets)
        assert np.array_equal(got["state"].reshape(want.mask.shape) == MASKED, ~want.mask)


def test_a_lane_told_wrong_is_noticed():
    launch = s.vector_add(100, 16)
    data = browser(pointers(launch))
    ramp = next(v for v in data["values"] if v.get("as") == "range" and v["data"] == [16, 1])
    ramp["data"][0] += 1
    wrong = [n for n, got in accesses(data) if not np.array_equal(got["offsets"], n * 16 + np.arange(16))]
    assert wrong == [1, 1, 1]


def test_terms_and_stages_come_to_the_offsets():
    for _, got in accesses(browser(pointers(BUGS["chunk added twice"]))):
        total = np.zeros(got["offsets"].shape, np.int64)
        for times, factors in got["terms"]:
            product = np.int64(times)
            for _, values in factors:
                product = product * values
            total = total + product
        assert np.array_equal(total, got["offsets"]) and np.array_equal(got["stages"][-1]["values"], got["offsets"])


def test_the_repr_says_tensor_strides_program_and_lanes():
    assert repr(pointers(BUGS["right"])) == "<PointersView a_ptr 10×12, strides (12, 1), program 2: 48 lanes in 3 accesses, 24 masked>"
    assert repr(pointers(stepped.refused())) == "<PointersView x_ptr 1000, strides (1,), program 15: 64 lanes, 24 out of range>"
    assert repr(pointers(s.matmul(), program=(1, 2), arg="b_ptr")) == "<PointersView b_ptr 32×56, strides (56, 1), program (1, 2): 512 lanes in 2 accesses>"
    assert repr(pointers(BUGS)) == (
        "<PointersView a_ptr 10×12, strides (12, 1) in 5 variants; right: program 2: 48 lanes in 3 accesses, 24 masked; "
        "scaled twice: program 2: 48 lanes in 3 accesses, 48 masked; start not scaled: program 2: 48 lanes in 3 accesses, 24 masked, 24 astray; "
        "chunk added twice: program 2: 48 lanes in 3 accesses, 24 masked, 4 out of range, 4 astray; mask on arange: program 2: 16 lanes, 8 out of range>"
    )


def test_layouts_have_a_tensor_each_and_all_of_their_lanes_are_right():
    view = pointers({layout: p.row_sums(layout=layout) for layout in p.LAYOUTS}, arg="a_ptr", program=1)
    assert repr(view).startswith("<PointersView a_ptr in 4 variants; contiguous: a_ptr 10×12, strides (12, 1), program 1: 48 lanes in 3 accesses; transposed: a_ptr 10×12, strides (1, 10),")
    assert "astray" not in repr(view) and "out of range" not in repr(view)
    for variant in range(4):
        for _, got in accesses(browser(view), variant):
            on = got["state"] == ON
            assert np.array_equal(got["meant"][:, on], got["reached"][:, on])


@pytest.mark.parametrize(("bug", "state", "count"), [("scaled twice", MASKED, 48), ("start not scaled", ASTRAY, 48), ("chunk added twice", ASTRAY, 16), ("mask on arange", OUT, 8)])
def test_each_bug_is_seen_against_the_right_variant(bug, state, count):
    view = pointers({"right": BUGS["right"], bug: BUGS[bug]}, arg="a_ptr")
    variant = browser(view)["variants"][1]
    found = [got for number, got in accesses(browser(view), 1) if number == variant["start"][0]]
    assert sum(int((got["state"] == state).sum()) for got in found) == count
    right = [got for number, got in accesses(browser(view), 0) if number == variant["start"][0]]
    for got, want in zip(found, right):
        assert np.array_equal(got["right"], np.where(want["state"] == ON, want["reached"], -1))


def test_a_variant_on_a_tensor_of_another_shape_or_block_is_not_compared():
    view = pointers({"4": p.row_sums(), "8": p.row_sums(block=8), "1-D": s.vector_add()})
    assert all(got["right"] is None for v in (1, 2) for _, got in accesses(browser(view), v))


def test_it_begins_with_the_first_tensor_of_rows_and_columns_that_is_loaded():
    assert pointers(s.matmul()).data["arg"] == "a_ptr" and pointers(s.vector_add()).data["arg"] == "x_ptr"
    assert pointers(s.matmul(), arg="c_ptr").data["arg"] == "c_ptr"
    assert {got["arg"] for _, got in accesses(browser(pointers(s.matmul(), arg="c_ptr")))} == {"c_ptr"}
    assert {got["line"] for _, got in accesses(browser(pointers(s.matmul(), line=13)))} == {13}


def test_it_begins_where_something_is_to_be_seen():
    start = lambda view, v=0: view.data["variants"][v]["start"]  # noqa: E731
    assert start(pointers(s.vector_add())) == [15, 0]  # masked lanes
    assert start(pointers(stepped.row_sums()))[0] == 0  # the first that was stepped: none has masked lanes of x_ptr
    assert start(pointers(BUGS["mask on arange"])) == [2, 0] and start(pointers(BUGS["chunk added twice"]))[0] == 0
    assert start(pointers(s.matmul(), program=5)) == [5, 0] and start(pointers(s.matmul(), program=(1, 2))) == [7, 0]


def test_the_access_that_ended_a_launch_is_shown_with_its_steps():
    trace = BUGS["mask on arange"]
    view = pointers(trace)
    last = [got for number, got in accesses(browser(view)) if number == 2 and got["arg"] == "a_ptr"]
    assert len(last) == 1 and int((last[0]["state"] == OUT).sum()) == 8 and last[0]["stages"] and last[0]["values"] is None
    assert "offset 120" in view.data["variants"][0]["error"]
    assert pointers(trace.launch).data["variants"][0]["error"]  # the launch alone knows that it ended, not by which access


def test_large_launches_keep_the_program_to_begin_with_and_say_what_is_left_out():
    launch = s.vector_add(1_000_000 - 37, 200)
    data = browser(pointers(launch, arg="x_ptr"))
    variant = data["variants"][0]
    assert variant["start"] == [4999, 0] and variant["left_out"] + len(variant["programs"]) == 5000 and variant["left_out"] > 0
    assert variant["programs"][-1]["number"] == 4999 and len(json.dumps(data)) < 3_000_000


def test_stride_names_are_the_kernels_own():
    names = {a["name"]: a["names"] for a in pointers(BUGS["right"]).data["variants"][0]["args"]}
    assert names == {"a_ptr": ["stride_am", "stride_ak"], "out_ptr": [""]}


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (Trace(()), ValueError, "no launch"),
        (Trace((s.vector_add(), s.matmul())), ValueError, r"2 launches; choose one \(launches\[0\] is vector_add_kernel"),
        ({"right": s.vector_add(), "wrong": Trace((), error=RuntimeError("no such name"))}, ValueError, "'wrong': the trace holds no launch.*ended by RuntimeError: no such name"),
        (np.zeros(3), TypeError, "got ndarray"),
        (lambda: None, TypeError, "lab.trace"),
        ((s.vector_add(),), TypeError, r"pointers\(t.launches\[0\]\)"),
        ({"a": 3}, TypeError, "'a': pointers takes a Trace"),
        ({}, ValueError, "empty dict"),
        ({1: s.vector_add()}, TypeError, "names of variants are str; got 1"),
        (s.vector_add(0, 64), ValueError, "vector_add_kernel loads and stores nothing"),
    ],
)
def test_what_cannot_be_shown_is_refused(given, error, words):
    with pytest.raises(error, match=words):
        pointers(given)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"arg": "z_ptr"}, "arg is 'z_ptr'; matmul_kernel has the tensor arguments a_ptr, b_ptr, c_ptr"),
        ({"program": 12}, r"program is 12; the grid of matmul_kernel has 12 programs \(3×4×1\)"),
        ({"program": (3, 0)}, "program is"),
        ({"program": -1}, "program is -1"),
        ({"line": 3}, "line is 3; matmul_kernel is accessed in line 12, 13, 16"),
        ({"arg": "c_ptr", "line": 12}, "line is 12; c_ptr is accessed in line 16"),
    ],
)
def test_an_argument_program_or_line_that_is_not_there_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        pointers(s.matmul(), **options)


def test_a_program_without_such_an_access_is_refused():
    launch = s.matmul()
    without = Launch(**{**vars(launch), "accesses": tuple(a for a in launch.accesses if a.program != (1, 1, 0))})
    with pytest.raises(ValueError, match=r"program is \(1, 1\), which has no such access; these have: \(0, 0\), \(1, 0\), \(2, 0\), \(0, 1\)"):
        pointers(without, program=(1, 1))


def test_scalars_empty_tensors_and_addresses_of_no_argument():
    one = TensorArg("x_ptr", 0, "float32", 4, (), ())
    access = Access("store", "x_ptr", (0, 0, 0), 3, np.array([0]), np.array([True]))
    assert repr(pointers(Launch("k", (1, 1, 1), (one,), accesses=(access,)))) == "<PointersView x_ptr scalar, strides (), program 0: 1 lane>"
    empty = TensorArg("x_ptr", 0, "float32", 4, (0, 4), (4, 1))
    assert repr(pointers(Launch("k", (1, 1, 1), (empty,), accesses=(access,)))) == "<PointersView x_ptr 0×4, strides (4, 1), program 0: 1 lane, 1 out of range>"
    stray = Access("load", "memory 7", (0, 0, 0), 3, np.array([0]), np.array([True]))
    with pytest.raises(ValueError, match="there is no pointer to show"):
        pointers(Launch("k", (1, 1, 1), (one,), accesses=(stray,)))


def test_samples_have_names_of_their_own():
    names = [name for name, _ in samples()]
    assert len(set(names)) == len(names) and all(n.startswith("pointers-") for n in names)
