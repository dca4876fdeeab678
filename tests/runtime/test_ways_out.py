"""The way out that an error offers fits what is at fault: a mask, or the index."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from tritonlab.errors import KernelError, OutOfBoundsError


@triton.jit
def read_kernel(x_ptr, out_ptr, start, step, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + start + offs * step)
    tl.store(out_ptr + offs, x)


def way_out(n, start, step):
    with pytest.raises(OutOfBoundsError) as caught:
        read_kernel[(1,)](torch.zeros(n), torch.zeros(64), start, step, BLOCK=64)
    return caught.value.hint


@pytest.mark.parametrize(("n", "start", "step"), [(63, 0, 1), (100, 64, 1), (64, 64, 1), (100, 0, 2)])
def test_a_mask_is_offered_where_the_lanes_run_over_the_end(n, start, step):
    assert "mask = offs < n" in way_out(n, start, step)


@pytest.mark.parametrize(("n", "start", "step"), [(64, 1000, 1), (64, 65, 1)])
def test_no_mask_is_offered_where_all_lanes_lie_far_past_the_end(n, start, step):
    hint = way_out(n, start, step)
    assert "mask" not in hint and hint.startswith("check the index and the strides")


@triton.jit
def rows_kernel(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    offs_m, offs_n = tl.arange(0, 8), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs_m[:, None] * stride + offs_n[None, :], mask=offs_n[None, :] < n)
    tl.store(out_ptr, tl.sum(tl.sum(x, axis=1), axis=0))


@pytest.mark.parametrize("rows", [1, 3, 7])
def test_a_mask_is_offered_where_the_rows_of_a_wider_matrix_run_over_the_end(rows):
    with pytest.raises(OutOfBoundsError) as caught:
        rows_kernel[(1,)](torch.zeros(rows, 20)[:, :13], torch.zeros(1), 20, 13, BLOCK=16)
    assert "mask = offs < n" in caught.value.hint


@triton.jit
def two_places_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    far = tl.where(offs < 8, offs, offs + 1000)
    tl.store(out_ptr + offs, tl.load(x_ptr + far))


def test_no_mask_is_offered_where_lanes_jump_past_the_end():
    with pytest.raises(OutOfBoundsError) as caught:
        two_places_kernel[(1,)](torch.zeros(64), torch.zeros(64), BLOCK=64)
    assert caught.value.hint.startswith("check the index and the strides")


@triton.jit
def one_truth_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    on = tl.program_id(0) < n
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=on, other=5.0), mask=n > -1)


@pytest.mark.parametrize("n", [0, 1])
def test_a_mask_of_one_truth_value_holds_for_the_whole_block(n):
    x, out = torch.arange(64.0), torch.zeros(64)
    one_truth_kernel[(1,)](x, out, n, BLOCK=64)
    assert torch.equal(out, x if n else torch.full((64,), 5.0))


@triton.jit
def arange_kernel(out_ptr, n, AT: tl.constexpr):
    if AT:
        offs = tl.arange(tl.program_id(0) * 64, 64)
    else:
        offs = tl.arange(0, n)
    tl.store(out_ptr + offs, 1.0)


@pytest.mark.parametrize(("at", "says"), [(True, "move what differs between programs outside"), (False, "annotate the parameter")])
def test_the_ends_of_arange_are_told_apart(at, says):
    with pytest.raises(KernelError) as caught:
        arange_kernel[(1,)](torch.zeros(64), 64, AT=at)
    assert says in caught.value.hint


@triton.jit
def host_range_kernel(out_ptr, KIND: tl.constexpr):
    if KIND == 0:
        offs = tl.program_id(0) + torch.arange(0, 64)
    elif KIND == 1:
        offs = tl.program_id(0) + range(0, 64)
    else:
        offs = torch.arange(0, 64)
    tl.store(out_ptr + offs, 1.0)


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_ranges_of_the_host_are_named(kind):
    with pytest.raises(KernelError) as caught:
        host_range_kernel[(1,)](torch.zeros(64), KIND=kind)
    assert "use tl.arange" in caught.value.hint


@triton.jit
def sometimes_set_kernel(x_ptr, n):
    if n > 5:
        y = 1.0
    tl.store(x_ptr, y)


def test_a_variable_set_only_on_another_path_is_named():
    with pytest.raises(KernelError) as caught:
        sometimes_set_kernel[(1,)](torch.zeros(1), 3)
    assert "y gets a value only on a path" in caught.value.hint
