"""The data of the tile picture is the trace, lane by lane; and what cannot be shown says why."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tritonlab.errors import OutOfBoundsError
from tritonlab.trace.record import Access, Launch, TensorArg, Trace
from tritonlab.views import specimens as s
from tritonlab.views.tiles import samples, tiles
from tritonlab.views.touches import arg_data, decode, encode, linear, program_at, runs, unruns

LAUNCHES = {
    "vector add": s.vector_add(), "no mask": s.vector_add(masked=False), "strided": s.strided_copy(), "reversed": s.reversed_copy(),
    "overlapping": s.overlapping(), "persistent": s.grid_stride(), "rows": s.softmax_rows(), "matmul": s.matmul(),
    "atomics and scalars": s.atomic_histogram(), "empty": s.vector_add(0, 64), "one element": s.vector_add(1, 64), "prime": s.vector_add(997, 32),
}  # fmt: skip


def browser(data):
    """The data as the browser receives it."""
    return json.loads(json.dumps(data, allow_nan=False))


def differences(launch: Launch, touches) -> list[str]:
    """Every field of every lane that the data tells otherwise than the trace."""
    if len(touches) != len(launch.accesses):
        return [f"{len(touches)} accesses instead of {len(launch.accesses)}"]
    found = []
    for i, (a, t) in enumerate(zip(launch.accesses, touches)):
        for name in ("kind", "arg", "program", "line", "function", "other"):
            if getattr(a, name) != getattr(t, name):
                found.append(f"access {i}: {name}")
        for name in ("offsets", "mask", "values"):
            want, got = getattr(a, name), getattr(t, name)
            if want is None or got is None:
                if want is not got:
                    found.append(f"access {i}: {name}")
            elif np.shape(want) != np.shape(got) or not np.array_equal(want, got, equal_nan=want.dtype.kind == "f"):
                found.append(f"access {i}: {name}")
    return found


@pytest.mark.parametrize("name", LAUNCHES)
def test_the_data_tells_every_lane_of_every_access_as_the_trace_does(name):
    launch = LAUNCHES[name]
    assert differences(launch, decode(browser(tiles(launch).data), launch.grid)) == []


def test_one_lane_told_wrong_is_noticed():
    launch = s.vector_add()
    data = browser(tiles(launch).data)
    data["sites"][0]["base"][0] += 1
    assert len(differences(launch, decode(data, launch.grid))) == 16
    moved = s.vector_add()
    mask = moved.accesses[0].mask.copy()
    mask[3] = False
    wrong = Launch(**{**vars(moved), "accesses": (Access(**{**vars(moved.accesses[0]), "mask": mask}), *moved.accesses[1:])})
    assert differences(wrong, decode(browser(tiles(moved).data), moved.grid)) == ["access 0: mask"]


@pytest.mark.parametrize("seed", range(20))
def test_scattered_offsets_and_any_mask_come_back(seed):
    rng = np.random.default_rng(seed)
    shape = [(7,), (3, 5), (4, 1), (1, 6), (2, 3, 4), (), (1,)][seed % 7]
    accesses = []
    for i in range(6):
        offsets = rng.integers(-50, 50, shape) if i % 2 else (np.arange(int(np.prod(shape))) * rng.integers(-3, 4)).reshape(shape)
        accesses.append(Access("load", "x_ptr", (i % 3, i // 3, 0), 4, np.asarray(offsets, np.int64), np.asarray(rng.random(shape) < 0.6)))
    launch = Launch("k", (3, 2, 1), (s.tensor("x_ptr", 0, np.zeros(40, np.float32)),), accesses=tuple(accesses))
    assert differences(launch, decode(browser(encode(launch)), launch.grid)) == []


@pytest.mark.parametrize("numbers", [[], [5], [1, 2], [3, 2, 1], [0, 0, 0], [0, 5, 6, 7, 1], [1, 2, 3, 10, 20, 30], [4, 4, 9, 9, 9]])
def test_runs_hold_the_numbers(numbers):
    assert unruns(runs(numbers)).tolist() == numbers


def test_thousands_of_programs_and_a_million_elements_stay_small():
    launch = s.vector_add(1_000_000 - 37, 200)
    view = tiles(launch)
    assert launch.programs == 5000 and repr(view) == "<TileView vector_add_kernel 5000 programs × 200 lanes, 37 masked>"
    assert len(json.dumps(view.data)) < 5000
    assert view.data["values_left_out"]
    touches = decode(browser(view.data), launch.grid)
    assert differences(launch, [t._replace(values=a.values) for t, a in zip(touches, launch.accesses)]) == []


def test_programs_are_numbered_axis_0_first():
    grid = (3, 4, 2)
    every = [(i, j, k) for k in range(2) for j in range(4) for i in range(3)]
    assert [linear(p, grid) for p in every] == list(range(24))
    assert [program_at(i, grid) for i in range(24)] == every


@pytest.mark.parametrize(
    ("shape", "strides", "solid"),
    [((5,), (1,), True), ((5,), (2,), False), ((3, 4), (4, 1), True), ((3, 4), (1, 3), True), ((3, 4), (8, 1), False), ((3, 4), (0, 1), True), ((3, 4), (0, 2), False), ((1, 4), (9, 1), True), ((), (), True), ((3, 2), (1, 1), True)],
)
def test_a_view_without_gaps_is_told_from_one_with_gaps(shape, strides, solid):
    arg = TensorArg("x_ptr", 0, "float32", 4, shape, strides)
    assert arg_data(arg)["solid"] is solid
    assert (np.unique(arg.offsets()).size == arg.extent) is solid


def test_the_repr_counts_lanes_out_of_range_also_in_the_gaps_of_a_strided_view():
    assert "72 out of range, first in program 15" in repr(tiles(s.vector_add(masked=False)))
    gap = Access("load", "x_ptr", (0, 0, 0), 3, np.arange(4), np.ones(4, bool))
    launch = Launch("k", (1, 1, 1), (TensorArg("x_ptr", 0, "float32", 4, (8,), (2,)),), accesses=(gap,))
    assert repr(tiles(launch)) == "<TileView k 1 program × 4 lanes, 2 out of range, first in program 0>"


@pytest.mark.parametrize(
    ("launch", "way", "shared", "most"),
    [(s.overlapping(), "stores", 16, 2), (s.vector_add(), "stores", 0, 1), (s.grid_stride(), "stores", 0, 1), (s.matmul(), "loads", 1280, 4), (s.atomic_histogram(), "atomics", 9, 3)],
)
def test_elements_that_several_programs_touch_are_counted(launch, way, shared, most):
    found = [a["touched"][way] for a in tiles(launch).data["args"] if a["touched"][way]["most"]][0]
    assert found == {"shared": shared, "most": most}


def test_elements_that_no_program_stores_are_counted():
    whole = s.vector_add(150, 64)
    part = Launch(**{**vars(whole), "grid": (2, 1, 1), "accesses": whole.accesses[:6]})
    assert [a["unwritten"] for a in tiles(part).data["args"]] == [0, 0, 22]
    assert [a["unwritten"] for a in tiles(whole).data["args"]] == [0, 0, 0]
    assert [a["unwritten"] for a in tiles(Launch(**{**vars(part), "error": "stopped"})).data["args"]] == [0, 0, 0]


def test_the_picture_begins_where_something_is_to_be_seen():
    assert tiles(s.vector_add()).data["start"] == 15
    assert tiles(s.vector_add(1024)).data["start"] is None
    assert tiles(s.vector_add(), program=3).data["start"] == 3
    assert tiles(s.matmul(), program=(1, 2)).data["start"] == linear((1, 2, 0), (3, 4, 1))
    assert tiles(s.matmul()).data["picture"] == "product" and tiles(s.softmax_rows()).data["picture"] == "matrix"
    assert tiles(s.vector_add()).data["picture"] == "memory" and tiles(s.matmul(), picture="memory").data["picture"] == "memory"


def test_a_trace_with_one_launch_is_that_launch():
    launch = s.vector_add()
    assert tiles(Trace((launch,))).data == tiles(launch).data


def test_the_access_that_ended_a_launch_is_shown_though_the_trace_leaves_it_out():
    whole = s.vector_add(masked=False)
    before = Launch(**{**vars(whole), "accesses": whole.accesses[:45], "error": "out of range"})
    failed = whole.accesses[45]
    error = OutOfBoundsError("out of range")
    error.kernel = error.function = "vector_add_kernel"
    error.kind, error.arg, error.program, error.line = failed.kind, failed.arg, failed.program, failed.line
    error.offsets, error.mask = failed.offsets, failed.mask
    view = tiles(Trace((before,), error=error))
    assert repr(view) == "<TileView vector_add_kernel 16 programs × 64 lanes, 24 out of range, first in program 15, ended by an error>"
    last = decode(browser(view.data), whole.grid)[-1]
    assert (last.arg, last.program, last.line) == ("x_ptr", (15, 0, 0), 6) and np.array_equal(last.offsets, failed.offsets) and last.values is None
    assert view.data["start"] == 15 and not view.data["values_left_out"]
    assert tiles(Trace((before,), error=ValueError("another"))).data == tiles(before).data


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (Trace(()), ValueError, "no launch"),
        (Trace((s.vector_add(), s.matmul())), ValueError, r"2 launches; choose one \(launches\[0\] is vector_add_kernel"),
        (np.zeros(3), TypeError, "got ndarray"),
        (lambda: None, TypeError, "lab.trace"),
        ((s.vector_add(),), TypeError, r"tiles\(t.launches\[0\]\)"),
    ],
)
def test_what_is_no_single_launch_is_refused(given, error, words):
    with pytest.raises(error, match=words):
        tiles(given)


@pytest.mark.parametrize("program", [16, -1, (16,), (0, 1)])
def test_a_program_outside_the_grid_is_refused(program):
    with pytest.raises(ValueError, match="the grid of vector_add_kernel has 16 programs"):
        tiles(s.vector_add(), program=program)
    with pytest.raises(ValueError, match="'memory', 'matrix' or 'product'"):
        tiles(s.vector_add(), picture="cube")


def test_what_is_missing_from_the_record_is_said():
    whole = s.vector_add()
    part = Launch(**{**vars(whole), "accesses": whole.accesses[:30], "left_out": 18, "error": "stopped"})
    assert repr(tiles(part)).endswith("18 accesses not recorded, ended by an error>")
    assert repr(tiles(s.vector_add(0, 64))) == "<TileView vector_add_kernel 0 programs, no loads and no stores>"


def test_samples_have_names_of_their_own():
    names = [name for name, _ in samples()]
    assert len(set(names)) == len(names) and all(n.startswith("tiles-") for n in names)
