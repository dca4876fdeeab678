"""What a trace holds: the exact accesses and steps of small kernels, within its bounds, and frozen."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import tritonlab as lab
from tritonlab.errors import KernelError, KernelInterrupted, OutOfBoundsError
from tritonlab.trace import stepper, tracer
from tritonlab.trace.record import Access, Launch, Step, TensorArg, Trace

A = np.array


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask, other=-1.0)
    tl.store(out_ptr + offs, x + y, mask=mask)


ADD = add_kernel.starting_line_number
X, Y = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), torch.tensor([10.0, 20.0, 30.0, 40.0, 50.0, 60.0])


def add(x=X, y=Y):
    out = torch.zeros(6)
    add_kernel[(2,)](x, y, out, 6, BLOCK=4)
    return out


# accesses


def test_the_accesses_of_vector_add_one_by_one():
    t = lab.trace(add)
    assert torch.equal(t.result, X + Y) and t.error is None and t.triton_version == triton.__version__
    common = dict(function="add_kernel")
    first = dict(program=(0, 0, 0), offsets=A([0, 1, 2, 3]), mask=A([True] * 4), **common)
    last = dict(program=(1, 0, 0), offsets=A([4, 5, 6, 7]), mask=A([True, True, False, False]), **common)
    f = np.float32
    assert t.launch.accesses == (
        Access("load", "x_ptr", line=ADD + 5, values=A([1, 2, 3, 4], f), **first),
        Access("load", "y_ptr", line=ADD + 6, values=A([10, 20, 30, 40], f), other=True, **first),
        Access("store", "out_ptr", line=ADD + 7, values=A([11, 22, 33, 44], f), **first),
        Access("load", "x_ptr", line=ADD + 5, values=A([5, 6, 0, 0], f), **last),
        Access("load", "y_ptr", line=ADD + 6, values=A([50, 60, -1, -1], f), other=True, **last),
        Access("store", "out_ptr", line=ADD + 7, values=A([55, 66, -1, -1], f), **last),
    )


def test_the_launch_itself():
    launch = lab.trace(add).launch
    assert (launch.kernel, launch.grid, launch.scalars, launch.meta, launch.options, launch.left_out, launch.error) == (
        "add_kernel", (2, 1, 1), {"n": 6}, {"BLOCK": 4}, {}, 0, None,
    )
    assert [a.name for a in launch.args] == ["x_ptr", "y_ptr", "out_ptr"]
    out = launch.arg("out_ptr")
    assert (out.index, out.dtype, out.itemsize, out.shape, out.strides, out.device) == (2, "float32", 4, (6,), (1,), "cpu")
    assert out.before.tolist() == [0.0] * 6 and out.after.tolist() == (X + Y).tolist()
    assert launch.functions["add_kernel"].first_line == ADD and launch.source.startswith("@triton.jit\ndef add_kernel(")
    assert launch.steps == {}


def test_arguments_say_which_memory_they_are():
    base = torch.zeros(16)
    x, y, out = base[:6], base[6:12], torch.zeros(6)
    launch = lab.trace(lambda: add_kernel[(2,)](x, y, out, 6, BLOCK=4)).launch
    a, b, c = launch.args
    assert a.storage == b.storage != c.storage and (b.storage_offset, b.storage_size) == (6, 16)
    assert a.address == b.address == base.untyped_storage().data_ptr() and c.address == out.data_ptr()


def test_work_done_twice_gives_equal_traces_and_other_work_does_not():
    t = lab.trace(add, step=[0, 1])
    assert t == lab.trace(add, step=[0, 1])
    assert t != lab.trace(add, step=[0]) and t != lab.trace(add)
    assert t != lab.trace(lambda: add(X + 1), step=[0, 1])


@triton.jit
def views_kernel(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs * stride, tl.load(x_ptr + offs))


def test_views_and_bf16():
    x = torch.tensor([1.5, -2.25, 3.09, 0.0]).to(torch.bfloat16)
    out = torch.zeros(4, 2, dtype=torch.bfloat16)
    launch = lab.trace(lambda: views_kernel[(1,)](x, out[:, 1], 2, BLOCK=4), step=0).launch
    load, store = launch.accesses
    assert load.values.dtype == np.float32 and load.values.tolist() == x.float().tolist() == store.values.tolist()
    assert store.offsets.tolist() == [0, 2, 4, 6]
    arg = launch.arg("out_ptr")
    assert (arg.shape, arg.strides, arg.storage_offset, arg.storage_size, arg.itemsize) == ((4,), (2,), 1, 8, 2)
    assert arg.dtype == "bfloat16" and arg.after.tolist() == x.float().tolist() and arg.after.dtype == np.float32
    assert launch.steps[0, 0, 0][0].locals[-1].dtype == "int32"


@triton.jit
def two_tensors_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    p = tl.where(offs < n, x_ptr + offs, y_ptr + offs - n)
    tl.store(out_ptr + offs, tl.load(p, mask=offs < 3), mask=offs < 0)


def test_lanes_of_two_tensors_are_told_apart():
    x, y, out = torch.arange(4.0), torch.arange(4.0) + 10, torch.zeros(4)
    launch = lab.trace(lambda: two_tensors_kernel[(1,)](x, y, out, 2, BLOCK=4), step=0).launch
    a, b, stored = launch.accesses
    assert (a.arg, a.mask.tolist(), a.offsets[:2].tolist()) == ("x_ptr", [True, True, False, False], [0, 1])
    assert (b.arg, b.mask.tolist(), b.offsets[2].item()) == ("y_ptr", [False, False, True, False], 0)
    assert a.values.tolist() == b.values.tolist() == [0.0, 1.0, 10.0, 0.0]
    assert (stored.arg, stored.mask.any(), stored.offsets.tolist()) == ("out_ptr", np.False_, [0, 1, 2, 3])
    p = next(v for s in launch.steps[0, 0, 0] for v in s.locals if v.name == "p")
    assert (p.dtype, p.arg, p.values.tolist()) == ("pointer<float32>", "x_ptr, y_ptr", [0, 1, 0, 1])


@triton.jit
def scalar_kernel(x_ptr, out_ptr):
    tl.store(out_ptr + tl.program_id(1), tl.load(x_ptr))


def test_scalar_pointers_have_one_lane():
    launch = lab.trace(lambda: scalar_kernel[(1, 2)](torch.ones(1), torch.zeros(2))).launch
    assert [(a.kind, a.program, a.offsets.tolist(), a.mask.tolist()) for a in launch.accesses] == [
        ("load", (0, 0, 0), [0], [True]), ("store", (0, 0, 0), [0], [True]), ("load", (0, 1, 0), [0], [True]), ("store", (0, 1, 0), [1], [True]),
    ]


@triton.jit
def atomics_kernel(x_ptr, BLOCK: tl.constexpr, OP: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    p = x_ptr + offs
    v = (offs - 1).to(x_ptr.dtype.element_ty)
    mask = offs < 3
    if OP == "add":
        old = tl.atomic_add(p, v, mask=mask)
    elif OP == "max":
        old = tl.atomic_max(p, v, mask=mask)
    elif OP == "min":
        old = tl.atomic_min(p, v, mask=mask)
    elif OP == "xchg":
        old = tl.atomic_xchg(p, v, mask=mask)
    elif OP == "and":
        old = tl.atomic_and(p, v, mask=mask)
    elif OP == "or":
        old = tl.atomic_or(p, v, mask=mask)
    elif OP == "xor":
        old = tl.atomic_xor(p, v, mask=mask)
    elif OP == "cas":
        old = tl.atomic_cas(p, v, v)


@pytest.mark.parametrize("dtype", [torch.int32, torch.float32, torch.uint32, torch.int64, torch.float64])
@pytest.mark.parametrize("op", ["add", "max", "min", "xchg", "and", "or", "xor", "cas"])
def test_atomics_go_by_their_own_names(op, dtype):
    if dtype.is_floating_point and op in ("and", "or", "xor"):
        pytest.skip("bits of integers only")
    launch = lab.trace(lambda: atomics_kernel[(1,)](torch.ones(4).to(dtype), BLOCK=4, OP=op), step=0).launch
    (access,) = launch.accesses
    assert (access.kind, access.arg, access.offsets.tolist()) == (f"atomic_{op}", "x_ptr", [0, 1, 2, 3])
    assert access.mask.tolist() == [True, True, True, op == "cas"]
    assert access.values.tolist() == torch.tensor([-1, 0, 1, 2]).to(dtype).tolist()
    assert access.reads and access.writes
    old = launch.steps[0, 0, 0][-1].locals[-1]
    assert old.name == "old" and old.values.tolist() == [1, 1, 1, 1 if op == "cas" else 0]


def test_traces_of_atomics_are_equal():
    def work():
        for op in ("add", "max", "cas"):
            atomics_kernel[(2,)](torch.ones(4), BLOCK=4, OP=op)

    assert lab.trace(work, step=[0, 1]) == lab.trace(work, step=[0, 1])


@triton.jit
def table_kernel(table_ptr, out_ptr, BLOCK: tl.constexpr):
    p = tl.load(table_ptr + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(p + offs))


def test_memory_reached_through_loaded_pointers_is_an_argument_too():
    x, out = torch.arange(4.0), torch.zeros(4)
    table = torch.tensor([x.data_ptr()])
    t = lab.trace(lambda: table_kernel[(1,)](table, out, BLOCK=4), step=0)
    assert [a.arg for a in t.launch.accesses] == ["table_ptr", "memory 1", "out_ptr"]
    arg = t.launch.arg("memory 1")
    assert (arg.shape, arg.dtype, arg.address) == ((4,), "float32", x.data_ptr()) and arg.after.tolist() == x.tolist()
    p = t.launch.steps[0, 0, 0][0].locals[-1]
    assert (p.name, p.dtype, p.arg, p.values) == ("p", "pointer<float32>", "memory 1", 0)


# steps


@triton.jit
def halved(v, FLAG: tl.constexpr):
    if FLAG:
        return v * 0.5
    w = v + 1
    return w


@triton.jit
def stepping_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """A docstring is no step."""
    total = 0.0
    for i in range(n):
        if i == 1:
            x = tl.load(
                x_ptr
                + i,
            )
        else:
            x = halved(total + i, True)
        total += x
    total = halved(total, FLAG=False)
    tl.store(out_ptr, total)


STEP = stepping_kernel.starting_line_number
HALF = halved.starting_line_number


def stepped(n=2, step=0):
    out = torch.zeros(1)
    t = lab.trace(lambda: stepping_kernel[(1,)](X, out, n, BLOCK=1), step=step)
    return t.launch.steps[0, 0, 0], t.launch, out


def test_every_executed_line_is_a_step():
    steps, launch, out = stepped()
    lines = [(s.function, s.depth, s.line) for s in steps]
    k, h = "stepping_kernel", "halved"
    assert lines == [
        (k, 0, STEP + 3),  # total = 0.0
        (k, 0, STEP + 4),  # for, i = 0
        (k, 0, STEP + 5),  # if
        (h, 1, HALF + 2), (h, 1, HALF + 3),
        (k, 0, STEP + 11),  # x = halved(...)
        (k, 0, STEP + 12),  # total += x
        (k, 0, STEP + 4),  # for, i = 1
        (k, 0, STEP + 5),
        (k, 0, STEP + 6),  # x = tl.load( over four lines
        (k, 0, STEP + 12),
        (k, 0, STEP + 4),  # the loop ends
        (h, 1, HALF + 2), (h, 1, HALF + 4), (h, 1, HALF + 5),
        (k, 0, STEP + 13),
        (k, 0, STEP + 14),
    ]
    assert out.item() == 3.0
    assert all(s.program == (0, 0, 0) and s.text == launch.functions[s.function].source.splitlines()[s.line - launch.functions[s.function].first_line] for s in steps)


def test_steps_hold_every_variable_with_its_value():
    steps, launch, _ = stepped()
    first = {v.name: (v.dtype, v.shape, v.values, v.arg) for v in steps[0].locals}
    assert first == {
        "x_ptr": ("pointer<float32>", (), 0, "x_ptr"), "out_ptr": ("pointer<float32>", (), 0, "out_ptr"), "n": ("int32", (), 2, None),
        "BLOCK": ("python int", (), 1, None), "total": ("float32", (), 0.0, None),
    }
    assert steps[0].changed == ("x_ptr", "out_ptr", "n", "BLOCK", "total")
    assert [s.changed for s in steps[1:7]] == [("i",), (), ("v", "FLAG"), (), ("x",), ()]
    assert steps[3].locals[0].values == 0.0 and steps[3].locals[1].dtype == "python bool"
    loaded = steps[9]
    assert loaded.changed == ("x",) and loaded.accesses == (0,) and launch.accesses[0].step == 9
    assert next(v for v in loaded.locals if v.name == "x").values == 2.0
    assert steps[-1].accesses == (1,) and launch.accesses[1].step == len(steps) - 1


def test_blocks_are_kept_as_they_were_at_each_step():
    t = lab.trace(add, step=1)
    steps = t.launch.steps[1, 0, 0]
    assert [(s.line - ADD, s.changed, s.accesses) for s in steps] == [
        (2, ("x_ptr", "y_ptr", "out_ptr", "n", "BLOCK", "pid"), ()), (3, ("offs",), ()), (4, ("mask",), ()), (5, ("x",), (3,)), (6, ("y",), (4,)), (7, (), (5,)),
    ]
    last = {v.name: v for v in steps[-1].locals}
    assert (last["mask"].dtype, last["mask"].shape, last["mask"].values.tolist()) == ("int1", (4,), [True, True, False, False])
    assert (last["y"].dtype, last["y"].values.dtype, last["y"].values.tolist()) == ("float32", np.float32, [50.0, 60.0, -1.0, -1.0])
    assert last["pid"].values == 1 and isinstance(last["pid"].values, int)


@triton.jit
def recursive_by_hand_kernel(x_ptr, out_ptr):
    a = outer(tl.load(x_ptr))
    tl.store(out_ptr, a)


@triton.jit
def outer(v):
    return inner(v) + inner(v + 1)


@triton.jit
def inner(v):
    return v * 2


def test_nested_device_functions_have_their_depth():
    t = lab.trace(lambda: recursive_by_hand_kernel[(1,)](X, torch.zeros(1)), step=0)
    assert [(s.function, s.depth) for s in t.launch.steps[0, 0, 0]] == [("inner", 2), ("inner", 2), ("outer", 1), ("recursive_by_hand_kernel", 0), ("recursive_by_hand_kernel", 0)]
    assert set(t.launch.functions) == {"recursive_by_hand_kernel", "outer", "inner"}


@triton.jit
def early_return_kernel(x_ptr, out_ptr):
    pid = tl.program_id(0)
    if pid == 1:
        return
    tl.store(out_ptr + pid, tl.load(x_ptr))


def test_an_early_return():
    t = lab.trace(lambda: early_return_kernel[(3,)](X, torch.zeros(3)), step=[0, 1])
    first = early_return_kernel.starting_line_number
    assert [s.line - first for s in t.launch.steps[1, 0, 0]] == [2, 3, 4]
    assert [s.line - first for s in t.launch.steps[0, 0, 0]] == [2, 3, 5]


def test_library_functions_are_not_stepped_into_but_their_lines_are():
    t = lab.trace(lambda: softmax_kernel[(1,)](X, torch.zeros(4), BLOCK=4), step=0)
    assert [s.depth for s in t.launch.steps[0, 0, 0]] == [0, 0, 0, 0] and set(t.launch.functions) == {"softmax_kernel"}


@triton.jit
def softmax_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    y = tl.softmax(x)
    tl.store(out_ptr + offs, y)


@pytest.mark.parametrize("step, expected", [(1, [(1, 0, 0)]), ((1,), [(1, 0, 0)]), ((1, 0), [(1, 0, 0)]), ([0, (1,)], [(0, 0, 0), (1, 0, 0)]), (np.int64(1), [(1, 0, 0)]), (range(2), [(0, 0, 0), (1, 0, 0)]), ([], []), (7, [(7, 0, 0)])])
def test_programs_to_step(step, expected):
    steps = lab.trace(add, step=step).launch.steps
    assert sorted(steps) == expected
    assert all(bool(s) == (p != (7, 0, 0)) for p, s in steps.items())


@pytest.mark.parametrize("step", [-1, (0, -1), 1.5, "0", True, (), (0, 0, 0, 0), [[0]], (0, "1"), {}])
def test_what_is_no_program(step):
    with pytest.raises(ValueError, match="step names a program by its pid"):
        lab.trace(add, step=step)


# errors


@triton.jit
def out_of_range_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, failing(x))


@triton.jit
def failing(x):
    y = x + 1
    return y + missing  # noqa: F821


def test_an_error_carries_the_trace_up_to_it():
    def work():
        add()
        add_kernel[(3,)](X, Y, torch.zeros(6), 100, BLOCK=4)

    with pytest.raises(OutOfBoundsError) as caught:
        lab.trace(work, step=1)
    t = caught.value.trace
    assert [launch.error is None for launch in t.launches] == [True, False] and "offset 6" in t.launches[1].error
    broken = t.launches[1]
    assert [(a.kind, a.program) for a in broken.accesses] == [("load", (0, 0, 0)), ("load", (0, 0, 0)), ("store", (0, 0, 0))]
    assert broken.steps[1, 0, 0][-1].line == ADD + 5 and broken.steps[1, 0, 0][-1].accesses == ()
    assert t.error is caught.value and t.result is None
    kept = lab.trace(work, step=1, errors="keep")
    assert kept == t and isinstance(kept.error, OutOfBoundsError)


def test_an_error_inside_a_device_function_closes_every_open_line():
    t = lab.trace(lambda: out_of_range_kernel[(1,)](X, torch.zeros(4), BLOCK=4), step=0, errors="keep")
    assert isinstance(t.error, KernelError) and t.error.function == "failing"
    assert [(s.function, s.depth) for s in t.launch.steps[0, 0, 0]] == [
        ("out_of_range_kernel", 0), ("out_of_range_kernel", 0), ("failing", 1), ("failing", 1), ("out_of_range_kernel", 0),
    ]


def test_an_error_of_the_learners_own_code():
    def work():
        add()
        raise RuntimeError("not a kernel's fault")

    t = lab.trace(work, errors="keep")
    assert len(t.launches) == 1 and str(t.error) == "not a kernel's fault"
    with pytest.raises(RuntimeError) as caught:
        lab.trace(work)
    assert caught.value.trace == t


def test_an_interrupt_is_never_kept():
    def work():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lab.trace(work, errors="keep")

    def stops():
        raise KernelInterrupted("stopped")

    with pytest.raises(KernelInterrupted):
        lab.trace(stops, errors="keep")


@pytest.mark.parametrize("work", [X, None, 5, add_kernel[(1,)]])
def test_what_cannot_be_traced(work):
    if callable(work):
        with pytest.raises(TypeError):  # the launch that it is lacks its arguments
            lab.trace(work)
    else:
        with pytest.raises(TypeError, match="trace takes a callable"):
            lab.trace(work)
    with pytest.raises(ValueError, match='errors is "raise" or "keep"'):
        lab.trace(add, errors="ignore")


def test_no_launch_and_several():
    none = lab.trace(lambda: 5)
    assert none.launches == () and none.result == 5
    with pytest.raises(ValueError, match="no launch"):
        none.launch
    both = lab.trace(lambda: (add(), add()))
    assert len(both.launches) == 2
    with pytest.raises(ValueError, match=r"2 launches; choose one \(launches\[0\] is add_kernel"):
        both.launch
    assert repr(both) == "<Trace of 2 launches: add_kernel, add_kernel>"


def test_traces_inside_a_trace():
    inner = []
    outer_trace = lab.trace(lambda: (add(), inner.append(lab.trace(add)), add()))
    assert len(outer_trace.launches) == 3 and len(inner[0].launches) == 1


# bounds


def test_past_its_bounds_a_trace_counts_on(monkeypatch):
    monkeypatch.setattr(tracer, "MAX_ACCESSES", 7)
    t = lab.trace(lambda: (add(), add()))
    first, second = t.launches
    assert (len(first.accesses), first.left_out, len(second.accesses), second.left_out) == (6, 0, 1, 5)
    assert "5 more accesses not recorded" in repr(second)
    monkeypatch.setattr(tracer, "MAX_ACCESSES", 100)
    monkeypatch.setattr(tracer, "MAX_LANES", 10)
    t = lab.trace(add)
    assert (len(t.launch.accesses), t.launch.left_out) == (2, 4)


def test_large_blocks_and_tensors_keep_no_values(monkeypatch):
    for module in (tracer, stepper):
        monkeypatch.setattr(module, "MAX_VALUES", 3)
    t = lab.trace(add, step=0)
    assert all(a.values is None for a in t.launch.accesses) and all(a.before is None and a.after is None for a in t.launch.args)
    assert next(v for v in t.launch.steps[0, 0, 0][-1].locals if v.name == "x").values is None


def test_long_programs_keep_their_first_steps(monkeypatch):
    monkeypatch.setattr(stepper, "MAX_STEPS", 3)
    assert [s.line - ADD for s in lab.trace(add, step=0).launch.steps[0, 0, 0]] == [2, 3, 4]
    monkeypatch.setattr(stepper, "MAX_STEPS", 100)
    monkeypatch.setattr(stepper, "MAX_KEPT", 12)
    kept = {v.name: v.values for v in lab.trace(add, step=0).launch.steps[0, 0, 0][-1].locals}
    assert kept["offs"] is not None and kept["y"] is None and set(kept) >= {"x", "y", "mask"}


def test_unchanged_variables_are_kept_once():
    steps = lab.trace(add, step=0).launch.steps[0, 0, 0]
    offs = [next(v for v in s.locals if v.name == "offs") for s in steps[1:]]
    assert all(v is offs[0] for v in offs)


# frozen


def test_records_cannot_be_changed():
    t = lab.trace(add, step=0)
    launch, access, step, arg = t.launch, t.launch.accesses[0], t.launch.steps[0, 0, 0][3], t.launch.args[0]
    for record, name in ((t, "result"), (launch, "grid"), (access, "line"), (step, "line"), (arg, "shape"), (step.locals[0], "values"), (launch.functions["add_kernel"], "source")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(record, name, None)
    for array in (access.offsets, access.mask, access.values, arg.before, arg.after, next(v for v in step.locals if v.name == "offs").values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    for fixed in (launch.scalars, launch.meta, launch.options, launch.functions, launch.steps):
        with pytest.raises(TypeError, match="cannot be changed"):
            fixed["x"] = 1
        with pytest.raises(TypeError, match="cannot be changed"):
            fixed.clear()
    for record, kind in ((t, Trace), (launch, Launch), (access, Access), (step, Step), (arg, TensorArg)):
        assert isinstance(record, kind)
        with pytest.raises(TypeError, match="unhashable"):
            hash(record)


def test_records_can_be_copied_and_stored():
    launch = lab.trace(add, step=0).launch
    assert pickle.loads(pickle.dumps(launch)) == launch
    assert dataclasses.replace(launch, grid=(5, 1, 1)).grid == (5, 1, 1)


def test_tracing_leaves_results_and_tensors_alone():
    x = X.clone()
    before = sys.gettrace()
    lab.trace(lambda: add(x), step=0)
    assert torch.equal(x, X) and sys.gettrace() is before


# debuggers

DEBUGGED = """
import torch, triton, triton.language as tl
import tritonlab as lab

@triton.jit
def stops_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    breakpoint()
    y = x + 1
    tl.store(out_ptr + offs, y)

out = torch.zeros(4)
with lab.limits(seconds=0.3):
    {launch}
print("after", out.tolist())
"""


@pytest.mark.parametrize("launch", ["stops_kernel[(1,)](torch.arange(4.0), out, BLOCK=4)", "lab.trace(lambda: stops_kernel[(1,)](torch.arange(4.0), out, BLOCK=4), step=0)"])
def test_a_breakpoint_in_a_kernel(tmp_path, launch):
    script = tmp_path / "learner.py"
    script.write_text(DEBUGGED.format(launch=launch))
    commands = "p x\nw\nimport time; time.sleep(0.8)\nn\nn\np y\np offs + 1\nc\n"
    environment = {"PYTHONPATH": ":".join(p for p in sys.path if p), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, str(script)], input=commands, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    assert "[0. 1. 2. 3.]" in done.stdout and "[1. 2. 3. 4.]" in done.stdout and "[1 2 3 4]" in done.stdout
    assert "stops_kernel()" in done.stdout and "-> y = x + 1" in done.stdout  # newer Pythons stop one line earlier
    assert "after [1.0, 2.0, 3.0, 4.0]" in done.stdout
