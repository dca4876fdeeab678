"""What reaches the browser is exactly what was traced, and a wrong call says what to do."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from tritonlab.trace.record import Function, Launch, Local, Step, Trace
from tritonlab.views import stepped, stepper_data
from tritonlab.views.stepper import recorded_accesses, recorded_steps, samples, stepper


@pytest.mark.parametrize("launch", [stepped.vector_add(), stepped.row_sums(), stepped.vector_add(n=13, block=4, pid=3)], ids=repr)
def test_the_data_reads_back_to_the_record_element_by_element(launch):
    data = json.loads(json.dumps(stepper(launch).data))
    assert recorded_steps(data) == launch.steps
    assert recorded_accesses(data) == dict(enumerate(launch.accesses))


def test_one_changed_element_is_noticed_by_that_comparison():
    launch = stepped.vector_add()
    data = stepper(launch).data
    other = stepped.vector_add(n=999)
    assert recorded_steps(data) != other.steps
    assert recorded_accesses(data) != dict(enumerate(other.accesses))


def test_equal_values_travel_once():
    launch = stepped.row_sums()
    data = stepper(launch).data
    shown = sum(len(s.locals) for steps in launch.steps.values() for s in steps)
    assert len(data["locals"]) < shown / 4
    assert len({json.dumps(v) for v in data["values"]}) == len(data["values"])


def test_a_traced_launch_reads_back_exactly():
    pytest.importorskip("triton")
    import torch

    import tritonlab as lab
    from tritonlab.kernels.vector_add import vector_add

    x, y = torch.linspace(-1, 1, 100), torch.linspace(3, 9, 100)
    trace = lab.trace(lambda: vector_add(x, y), step=[0, 1])
    for t in (trace, trace.launch):
        data = stepper(t).data
        steps = {p: s for p, s in trace.launch.steps.items() if s}
        assert steps and recorded_steps(data) == steps
        got = recorded_accesses(data)
        assert got and all(access == trace.launch.accesses[i] for i, access in got.items())


def test_every_kind_of_value_reads_back():
    blocks = {
        "f16": np.array([0.1, -0.0, np.nan, np.inf], np.float16),
        "f32": np.array([[1.1, np.nan], [-np.inf, 3]], np.float32),
        "f64": np.array([0.1, 1e300, -0.0]),
        "i8": np.array([-128, 127, 0], np.int8),
        "u8": np.array([0, 255, 3], np.uint8),
        "i64": np.array([2**62, -(2**63), 5]),
        "u64": np.array([2**64 - 1, 0, 1], np.uint64),
        "ramp": np.arange(7, 1000, 3, dtype=np.int32),
        "falling": np.arange(50, -1, -1, dtype=np.int64),
        "wrapping": np.array([120, 121, 122], np.int8),
        "same": np.full((4, 8), 2.5, np.float32),
        "flags": np.array([[True, False, True]] * 3),
        "none_on": np.zeros(9, bool),
        "one": np.array(3, np.int32),
        "empty": np.zeros((0, 4), np.float32),
    }
    plain = {"i": 3, "f": 0.1, "inf": float("inf"), "yes": True, "no": False, "text": "ieee", "nothing": None, "big": 2**70}
    here = tuple(Local(k, v.dtype.name, v.shape, v) for k, v in blocks.items())
    here += tuple(Local(k, f"python {type(v).__name__}", (), v) for k, v in plain.items())
    here += (Local("item", "float32", (), np.float32(0.3)), Local("lost", "float32", (10**6,), None))
    step = Step((0, 0, 0), "k", 0, 2, "    pass", here, ("i8", "gone"))
    launch = Launch("k", (1, 1, 1), functions={"k": Function("k", "def k():\n    pass\n", 1)}, steps={(0, 0, 0): (step,)})
    data = json.loads(json.dumps(stepper(launch).data))
    assert recorded_steps(data) == launch.steps


def test_a_trace_without_steps_says_how_to_get_them():
    launch = dataclasses.replace(stepped.vector_add(), steps={})
    with pytest.raises(ValueError, match=r"vector_add_kernel holds no steps; trace it with step="):
        stepper(Trace((launch,)))
    with pytest.raises(ValueError, match="no steps"):
        stepper(dataclasses.replace(launch, steps={(99, 0, 0): ()}))


def test_a_program_that_was_not_stepped_is_refused_with_those_that_were():
    with pytest.raises(ValueError, match=r"program 1 was not stepped; this launch holds the steps of program 0, 2"):
        stepper(stepped.row_sums(), program=1)
    with pytest.raises(TypeError, match="t is a list; stepper takes a Trace or a Launch"):
        stepper([stepped.row_sums()])
    with pytest.raises(ValueError, match="holds no launch"):
        stepper(Trace(()))


def test_a_program_is_chosen_by_int_or_tuple():
    assert repr(stepper(stepped.row_sums(), program=2)) == repr(stepper(stepped.row_sums(), program=(2,)))
    assert [p["name"] for p in stepper(stepped.row_sums(), program=2).data["programs"]] == ["2"]
    assert [p["name"] for p in stepper(stepped.row_sums()).data["programs"]] == ["0", "2"]


def test_it_opens_at_the_step_asked_for_or_at_the_error_or_at_the_first_access():
    assert stepper(stepped.vector_add()).data["start"] == [0, 3]
    assert stepper(stepped.vector_add(), at=1).data["start"] == [0, 1]
    assert stepper(stepped.vector_add(), at=-1).data["start"] == [0, 8]
    assert stepper(stepped.vector_add(masked=False)).data["start"] == [0, 2]
    assert stepper(stepped.vector_add(masked=False), at=0).data["start"] == [0, 0]
    for wrong in (9, -10):
        with pytest.raises(ValueError, match=f"at is {wrong}; program 15 has steps 0 to 8"):
            stepper(stepped.vector_add(), at=wrong)


def test_the_repr_says_what_is_shown():
    assert repr(stepper(Trace((stepped.vector_add(),)))) == "<Stepper vector_add_kernel program 15: 9 steps>"
    assert repr(stepper(stepped.row_sums())) == "<Stepper row_sums_kernel programs 0, 2: 44 steps>"
    assert repr(stepper(stepped.vector_add(masked=False))) == "<Stepper vector_add_kernel program 15: 3 steps, ended by an error>"


def says(launch, program=None):
    data = stepper(launch).data["programs"]
    return [s["say"] for s in data[0]["steps"]]


def test_each_line_is_told_in_one_sentence():
    assert says(stepped.vector_add()) == [
        "Line 10, program 15: pid becomes 15",
        "Line 11, program 15: offs becomes 64 lanes, 960…1023",
        "Line 12, program 15: mask becomes 64 lanes, 40 of 64 on",
        "Line 13, program 15: tl.load reads x_ptr[960…999], 24 of 64 lanes masked",
        "Line 14, program 15: tl.load reads y_ptr[960…999], 24 of 64 lanes masked",
        "Line 4 in add, program 15: total becomes 64 lanes, 0…125.2",
        "Line 5 in add, program 15: returns to its caller",
        "Line 15, program 15: total becomes 64 lanes, 0…125.2",
        "Line 16, program 15: tl.store writes out_ptr[960…999], 24 of 64 lanes masked",
    ]


def test_a_line_in_a_loop_says_which_time_it_runs():
    told = says(stepped.row_sums())
    assert "Line 10 (2nd time of 3), program 0: tl.load reads 64 elements of x_ptr[16…151] in 4 pieces" in told
    assert told[5] == "Line 8 (1st time of 4), program 0: start becomes 0"
    assert told[-2] == "Line 8 (4th time of 4), program 0: no variable changes"


def test_a_device_functions_steps_know_the_line_that_called():
    data = stepper(stepped.vector_add()).data
    names = [f["name"] for f in data["functions"]]
    steps = data["programs"][0]["steps"]
    kernel = names.index("vector_add_kernel")
    assert [s["callers"] for s in steps[5:8]] == [[[kernel, 15]], [[kernel, 15]], []]


def test_parameters_are_not_counted_as_set_by_the_first_line():
    first = stepper(stepped.vector_add()).data["programs"][0]["steps"][0]
    data = stepper(stepped.vector_add()).data
    bound = [data["locals"][first["locals"][i]]["name"] for i in first["bound"]]
    assert bound == ["x_ptr", "y_ptr", "out_ptr", "n_elements", "BLOCK_SIZE"]


def test_an_error_stands_at_the_line_that_made_it():
    stops = stepper(stepped.vector_add(masked=False)).data["programs"][0]["stops"]
    assert stops == {"message": "load from x_ptr: lane 40 of 64 has offset 1000, but x_ptr holds offsets 0 … 999", "line": 12, "step": 2}
    assert stepper(stepped.vector_add()).data["programs"][0]["stops"] is None


def test_a_refused_access_is_shown_with_the_lanes_that_were_out_of_range():
    pytest.importorskip("triton")
    import torch
    import triton
    import triton.language as tl

    import tritonlab as lab

    @triton.jit
    def copy_kernel(x_ptr, out_ptr, BLOCK_SIZE: tl.constexpr):
        offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + offs)
        tl.store(out_ptr + offs, x)

    x, out = torch.ones(10), torch.zeros(10)
    trace = lab.trace(lambda: copy_kernel[(3,)](x, out, 4), step=[0, 2], errors="keep")
    data = stepper(trace).data
    fine, ended = data["programs"]
    assert fine["stops"] is None and "10 … " not in fine["steps"][-1]["say"]
    assert "lane 2 of 4 has offset 10" in ended["stops"]["message"]
    last = ended["steps"][-1]
    assert "tl.load goes out of range: 2 of 4 lanes point to x_ptr[10…11], outside x_ptr (its offsets are 0…9)" in last["say"]
    refused = data["accesses"][last["refused"][0]]
    assert refused["at"] is None and refused["arg"] == "x_ptr"
    assert recorded_steps(data) == {p: s for p, s in trace.launch.steps.items() if s}


def test_a_refused_access_takes_no_part_in_the_record():
    trace = stepped.refused(n=10, block=4, pid=2)
    data = stepper(trace).data
    assert [a["at"] for a in data["accesses"]] == [None]
    assert recorded_accesses(data) == {} and recorded_steps(data) == trace.launch.steps
    stops = data["programs"][0]["stops"]
    assert stops["message"].endswith("\nWay out: the lanes past the end must be off: mask = offs < n_elements")
    assert "2 of 4 lanes point to x_ptr[10…11]" in data["programs"][0]["steps"][-1]["say"]


def test_lanes_between_the_elements_of_a_view_are_not_called_out_of_range():
    from tritonlab.trace.record import Access
    from tritonlab.views.words import access_words

    arg = dataclasses.replace(stepped.vector_add().args[0], shape=(8,), strides=(2,))
    lanes = np.arange(4)
    inside = Access("load", arg.name, (0, 0, 0), 5, lanes, np.ones(4, bool))
    beyond = dataclasses.replace(inside, offsets=lanes + 14)
    assert "goes astray: 2 of 4 lanes point to every 2nd element of x_ptr[1…3], between the elements of x_ptr (its strides are (2,))" in access_words(inside, arg)
    assert "goes out of range: 3 of 4 lanes" in access_words(beyond, arg)


def test_what_is_too_large_is_cut_and_said(monkeypatch):
    block = np.arange(70_000, dtype=np.float32) ** 2
    step = Step((0, 0, 0), "k", 0, 2, "    pass", (Local("x", "float32", block.shape, block),), ("x",))
    launch = Launch("k", (1, 1, 1), functions={"k": Function("k", "def k():\n    pass\n", 1)}, steps={(0, 0, 0): (step,) * 5})
    data = stepper(launch).data
    assert data["values"][0]["kept"] == stepper_data.MAX_LANES == 65_536
    (kept,) = recorded_steps(data)[(0, 0, 0)][0].locals
    assert np.array_equal(kept.values, block[:65_536])
    monkeypatch.setattr(stepper_data, "MAX_BYTES", 1000)
    data = stepper(launch).data
    assert data["limits"]["values_left_out"] == 1 and data["locals"][0]["value"] is None
    monkeypatch.setattr(stepper_data, "MAX_STEPS", 2)
    assert stepper(launch).data["programs"][0]["left_out"] == 3


def test_a_function_without_source_shows_the_lines_that_ran():
    launch = dataclasses.replace(stepped.vector_add(), functions={})
    data = stepper(launch).data
    kernel = data["functions"][0]
    assert kernel["first"] == 10 and kernel["lines"][0].strip() == "pid = tl.program_id(axis=0)"


def test_samples_have_names_of_their_own():
    names = [name for name, _ in samples()]
    assert len(set(names)) == len(names) >= 3
