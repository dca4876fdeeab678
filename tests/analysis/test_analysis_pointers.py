"""Pointers taken apart: stages and terms come to the recorded offsets, and lanes stand where their index and their offset say."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import tritonlab as lab
from tritonlab.analysis.pointers import ASTRAY, MASKED, ON, OUT, place, pointer_steps, stride_names
from tritonlab.kernels.bias_gelu import bias_gelu
from tritonlab.kernels.matmul import matmul
from tritonlab.trace.record import Launch


@triton.jit
def sums_kernel(a_ptr, out_ptr, M, K, stride_am, stride_ak, BUG: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    pid_m = tl.program_id(axis=0)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    if BUG == "scaled twice":
        offs_m = pid_m * BLOCK_M * stride_am + tl.arange(0, BLOCK_M)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    if BUG == "start not scaled":
        a_ptrs = a_ptr + pid_m * BLOCK_M + tl.arange(0, BLOCK_M)[:, None] * stride_am + offs_k[None, :] * stride_ak
    if BUG == "strides swapped":
        a_ptrs = a_ptr + offs_m[:, None] * stride_ak + offs_k[None, :] * stride_am
    acc = tl.zeros((BLOCK_M,), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        mask = (offs_m[:, None] < M) & (offs_k[None, :] < K - k)
        if BUG == "mask on arange":
            mask = (tl.arange(0, BLOCK_M)[:, None] < M) & (offs_k[None, :] < K - k)
        if BUG == "no mask on k":
            mask = (offs_m[:, None] < M) & (offs_k[None, :] >= 0)
        a = tl.load(a_ptrs, mask=mask, other=0.0)
        acc += tl.sum(a, axis=1)
        a_ptrs += BLOCK_K * stride_ak
        if BUG == "chunk added twice":
            a_ptrs += k * stride_ak
    tl.store(out_ptr + pid_m * BLOCK_M + tl.arange(0, BLOCK_M), acc, mask=pid_m * BLOCK_M + tl.arange(0, BLOCK_M) < M)


def sums(a, bug="right", block_m=4, block_k=8):
    out = torch.empty(a.shape[0])
    sums_kernel[(triton.cdiv(a.shape[0], block_m),)](a, out, *a.shape, *a.stride(), BUG=bug, BLOCK_M=block_m, BLOCK_K=block_k)
    return out


def traced(a, bug="right", program=1, **blocks):
    return lab.trace(lambda: sums(a, bug, **blocks), step=program, errors="keep").launch


def loads(launch, program=1):
    return [x for x in launch.accesses if x.arg == "a_ptr" and x.program == (program, 0, 0)]


LAYOUTS = {
    "contiguous": torch.arange(11 * 19.0).reshape(11, 19),
    "transposed": torch.arange(11 * 19.0).reshape(19, 11).t(),
    "sliced": torch.arange(40 * 40.0).reshape(40, 40)[3:14, 5:24],
    "every second column": torch.arange(11 * 38.0).reshape(11, 38)[:, ::2],
    "rows expanded": torch.arange(19.0).expand(11, 19),
    "columns expanded": torch.arange(11.0)[:, None].expand(11, 19),
    "one column": torch.arange(11.0).reshape(11, 1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("stepped", [True, False])
def test_lanes_stand_at_the_index_of_the_block_in_every_layout(layout, stepped):
    a = LAYOUTS[layout]
    launch = traced(a, program=1 if stepped else 0)
    for turn, access in enumerate(loads(launch)):
        placed = place(launch, access)
        i, j = np.meshgrid(4 + np.arange(4), 8 * turn + np.arange(8), indexing="ij")
        inside = (i < a.shape[0]) & (j < a.shape[1])
        assert np.array_equal(placed.state, np.where(inside, ON, MASKED))
        assert np.array_equal(np.broadcast_to(access.mask, inside.shape), inside)
        flat = launch.arg("a_ptr").offsets()
        assert np.array_equal(flat[placed.reached[0][inside], placed.reached[1][inside]], access.offsets[inside])
        if stepped:  # without steps, an axis of stride 0 or of one element leaves no mark in the offsets
            assert np.array_equal(placed.meant, [i, j])
            assert np.array_equal(placed.reached[:, inside], [i[inside], j[inside]])
        elif min(a.stride()) > 0 and min(a.shape) > 1:
            assert np.array_equal(placed.meant, [i, j])


def test_stages_tell_the_broadcast_with_shapes_values_and_lines():
    launch = traced(LAYOUTS["contiguous"])
    steps = pointer_steps(launch, loads(launch)[2])
    told = [(s.text, s.shape, s.wide, s.axes, s.times) for s in steps.stages]
    assert told == [
        ("offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)", (4,), None, (0,), 1),
        ("offs_m[:, None]", (4, 1), None, (0, 1), 1),
        ("offs_m[:, None] * stride_am", (4, 1), None, (0, 1), 1),
        ("a_ptr + offs_m[:, None] * stride_am", (4, 1), (4, 8), (0, 1), 1),
        ("offs_k = tl.arange(0, BLOCK_K)", (8,), None, (1,), 1),
        ("offs_k[None, :]", (1, 8), None, (0, 1), 1),
        ("offs_k[None, :] * stride_ak", (1, 8), (4, 8), (0, 1), 1),
        ("a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak", (4, 8), None, (0, 1), 1),
        ("a_ptrs += BLOCK_K * stride_ak", (4, 8), None, (0, 1), 2),
    ]
    first, last = steps.stages[0], steps.stages[-1]
    assert first.filled == "1 * 4 + tl.arange(0, 4)" and first.values.tolist() == [4, 5, 6, 7] and first.arg is None
    assert np.array_equal(last.values, loads(launch)[2].offsets) and last.arg == "a_ptr"
    source = launch.source.splitlines()
    function = launch.functions["sums_kernel"]
    for s in steps.stages:
        assert s.text.partition(" = ")[0].partition(" += ")[0] in source[s.line - function.first_line]


@pytest.mark.parametrize(
    ("bug", "terms"),
    [
        ("right", ["1 × offs_m[:, None] · stride_am", "1 × offs_k[None, :] · stride_ak", "2 × BLOCK_K · stride_ak"]),
        ("start not scaled", ["1 × pid_m · BLOCK_M", "1 × tl.arange(0, BLOCK_M)[:, None] · stride_am", "1 × offs_k[None, :] · stride_ak", "2 × BLOCK_K · stride_ak"]),
        ("chunk added twice", ["1 × offs_m[:, None] · stride_am", "1 × offs_k[None, :] · stride_ak", *["1 × BLOCK_K · stride_ak", "1 × k · stride_ak"] * 2]),
    ],
)
def test_terms_are_what_the_kernel_adds_to_the_pointer(bug, terms):
    launch = traced(LAYOUTS["contiguous"], bug)
    access = loads(launch)[2]
    steps = pointer_steps(launch, access)
    assert [repr(t)[1:-1] for t in steps.terms] == terms
    assert np.array_equal(sum(t.values for t in steps.terms), access.offsets)


def test_each_bug_moves_lanes_off_the_elements_that_the_right_kernel_reaches():
    a = LAYOUTS["contiguous"]
    right = [place(traced(a), x) for x in loads(traced(a))]

    def states(bug, a=a):
        launch = traced(a, bug)
        return [place(launch, x, r) for x, r in zip(loads(launch), right)]

    assert [p.count(ASTRAY) for p in states("right")] == [0, 0, 0]
    twice = states("scaled twice")
    assert [p.count(MASKED) for p in twice] == [32, 32, 32] and twice[0].meant[0, :, 0].tolist() == [76, 77, 78, 79]
    unscaled = states("start not scaled")
    assert unscaled[0].count(ASTRAY) == 32 and unscaled[0].reached[:, 1, 2].tolist() == [1, 6] and unscaled[0].right[:, 1, 2].tolist() == [5, 2]
    chunk = states("chunk added twice")
    assert [p.count(ASTRAY) for p in chunk] == [0, 0, 12] and chunk[2].reached[:, 0, 0].tolist() == [5, 5]
    assert chunk[2].meant[:, 0, 0].tolist() == [4, 24]
    assert [p.count(ASTRAY) for p in states("right", LAYOUTS["transposed"])] == [0, 0, 0]  # compared by index, not by offset


def test_without_another_launch_an_index_outside_of_the_tensor_or_a_wrong_stride_is_astray():
    launch = traced(LAYOUTS["contiguous"], "no mask on k", program=0)
    wrapped = place(launch, loads(launch, 0)[2])
    assert wrapped.count(ASTRAY) == 4 * 5 and wrapped.meant[:, 0, 3].tolist() == [0, 19] and wrapped.reached[:, 0, 3].tolist() == [1, 0]
    launch = traced(LAYOUTS["contiguous"], "strides swapped", program=0)
    swapped = place(launch, loads(launch, 0)[0])
    # Index (i, j) by the strides' names is (offs_k, offs_m): right for those names, though not what a reader expects.
    assert swapped.meant[:, 1, 2].tolist() == [2, 1] and swapped.count(ASTRAY) == 0
    against = place(launch, loads(launch, 0)[0], place(traced(LAYOUTS["contiguous"], program=0), loads(traced(LAYOUTS["contiguous"], program=0), 0)[0]))
    assert against.count(ASTRAY) == 32 - 4  # the diagonal is where it should be


def test_a_flat_offset_may_run_over_the_end_of_a_row():
    launch = lab.trace(lambda: bias_gelu(torch.randn(5, 20), torch.randn(20)), step=0).launch
    for access in launch.accesses:
        placed = place(launch, access)
        assert placed.count(ASTRAY) == placed.count(OUT) == 0 and placed.steps.stages
    assert placed.reached[:, 45].tolist() == [2, 5]


def test_lanes_between_the_elements_of_a_view_are_out():
    launch = traced(LAYOUTS["sliced"])
    access = loads(launch)[0]
    gap = dataclasses.replace(access, offsets=access.offsets + 25, step=None)
    assert place(launch, gap).count(OUT) == int((~np.isin(gap.offsets, launch.arg("a_ptr").offsets()) & gap.mask).sum()) > 0
    past = dataclasses.replace(access, offsets=access.offsets + 10_000, step=None)
    assert place(launch, past).count(OUT) == 32 and (place(launch, past).reached == -1).all()


def test_the_courses_matmul_is_understood_through_its_device_function():
    a, b = torch.randn(9, 7), torch.randn(7, 10)
    launch = lab.trace(lambda: matmul(a, b.t().contiguous().t(), BLOCK_M=4, BLOCK_N=4, BLOCK_K=4), step=(1, 2)).launch
    for access in launch.accesses:
        if access.program != (1, 2, 0):
            continue
        steps = pointer_steps(launch, access)
        assert steps.stages and steps.terms and not steps.note
        assert np.array_equal(steps.stages[-1].values, access.offsets)
        placed = place(launch, access)
        assert placed.count(OUT) == placed.count(ASTRAY) == 0
    second = [x for x in launch.accesses if x.arg == "b_ptr" and x.program == (1, 2, 0)][1]
    assert place(launch, second).meant[:, 1, 2].tolist() == [5, 10]
    assert stride_names(launch, launch.arg("b_ptr")) == ("stride_bk", "stride_bn")


@triton.jit
def unusual_kernel(x_ptr, idx_ptr, out_ptr, n_cols, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    start = x_ptr + row * stride
    cols = tl.max_contiguous(tl.multiple_of(tl.arange(0, BLOCK), BLOCK), BLOCK)
    cols = tl.expand_dims(cols, 0)
    first, second = start + cols, row * BLOCK
    x = tl.load(first, mask=cols < n_cols, other=0.0) - tl.load(
        start + (n_cols - 1 - cols) % n_cols, mask=cols < n_cols
    )
    which = tl.load(idx_ptr + tl.arange(0, BLOCK), mask=tl.arange(0, BLOCK) < n_cols)
    tl.store(out_ptr + second + which[None, :], x, mask=cols < n_cols)


def test_pointers_in_parts_hints_tuples_remainders_and_loaded_indices():
    x, idx, out = torch.arange(30.0).reshape(5, 6), torch.arange(6).flip(0).to(torch.int32), torch.zeros(40)
    launch = lab.trace(lambda: unusual_kernel[(5,)](x, idx, out, 6, x.stride(0), BLOCK=8), step=3).launch
    own = [a for a in launch.accesses if a.program == (3, 0, 0)]
    assert [a.arg for a in own] == ["x_ptr", "x_ptr", "idx_ptr", "out_ptr"]
    for access in own:
        steps = pointer_steps(launch, access)
        assert steps.stages, steps.note
        assert np.array_equal(np.broadcast_to(steps.stages[-1].values, access.offsets.shape), access.offsets)
        assert np.array_equal(np.broadcast_to(sum(t.values for t in steps.terms), access.offsets.shape), access.offsets)
    texts = [s.text for s in pointer_steps(launch, own[3]).stages]
    assert any("which" in t for t in texts)
    placed = place(launch, own[0])
    assert placed.meant[:, 0, 5].tolist() == [3, 5] and placed.count(ASTRAY) == 0
    assert place(launch, own[1]).reached[:, 0, 0].tolist() == [3, 5]


def test_what_differs_from_the_record_or_is_not_understood_is_not_shown():
    launch = traced(LAYOUTS["contiguous"])
    access = loads(launch)[1]
    moved = dataclasses.replace(access, offsets=access.offsets + 1)
    assert pointer_steps(launch, moved).note.endswith("differs from the recorded offsets") and not pointer_steps(launch, moved).stages
    unstepped = loads(launch, 0)[0]
    assert "not stepped" in pointer_steps(launch, unstepped).note
    bare = Launch(**{**vars(launch), "functions": {}})
    assert "no source" in pointer_steps(bare, access).note
    other = {**launch.functions}
    other["sums_kernel"] = dataclasses.replace(other["sums_kernel"], source=launch.source.replace("tl.load(a_ptrs", "tl.load(weird(a_ptrs)"))
    assert "weird(a_ptrs) is not understood" in pointer_steps(Launch(**{**vars(launch), "functions": other}), access).note


def test_int32_offsets_wrap_as_in_the_kernel():
    launch = traced(LAYOUTS["contiguous"])
    access = loads(launch)[0]
    big = []
    for step in launch.steps[(1, 0, 0)]:
        held = tuple(dataclasses.replace(v, values=np.int32(2_000_000_000).item()) if v.name == "stride_am" else v for v in step.locals)
        big.append(dataclasses.replace(step, locals=held))
    wrapped = (np.arange(4, 8, dtype=np.int32) * np.int32(2_000_000_000)).astype(np.int64)
    far = wrapped[:, None] + np.arange(8)[None, :]
    steps = [dataclasses.replace(s, locals=tuple(dataclasses.replace(v, values=far) if v.name == "a_ptrs" else v for v in s.locals)) for s in big]
    changed = Launch(**{**vars(launch), "steps": {(1, 0, 0): tuple(steps)}})
    told = pointer_steps(changed, dataclasses.replace(access, offsets=far))
    assert told.stages[2].values.reshape(-1).tolist() == wrapped.tolist() and (wrapped < 0).any()


def test_another_block_shape_cannot_be_compared_with():
    launch = traced(LAYOUTS["contiguous"])
    narrow = traced(LAYOUTS["contiguous"], block_k=4)
    with pytest.raises(ValueError, match=r"right has a block of shape \[4, 4\], this access \[4, 8\]"):
        place(launch, loads(launch)[0], place(narrow, loads(narrow)[0]))


@pytest.mark.parametrize("shape", [(1,), (7,), (2, 3, 5), ()])
def test_tensors_of_any_number_of_axes_have_their_elements_found(shape):
    from tritonlab.trace.record import Access, TensorArg

    strides = tuple(int(np.prod(shape[d + 1 :])) for d in range(len(shape)))
    arg = TensorArg("x_ptr", 0, "float32", 4, shape, strides)
    n = max(arg.numel, 1)
    launch = Launch("k", (1, 1, 1), (arg,))
    placed = place(launch, Access("load", "x_ptr", (0, 0, 0), 1, np.arange(n + 2), np.arange(n + 2) != 1))
    assert placed.count(OUT) == 2 - (n == 1) and placed.count(MASKED) == 1
    if shape:
        found = np.unravel_index(np.arange(n), shape)
        assert np.array_equal(placed.reached[:, :n], found)
