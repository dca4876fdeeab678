"""Kernels that would read or corrupt memory that is not theirs: each gives its named error, and no other byte changes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import tritonlab as lab
from tritonlab.errors import BudgetError, LaunchError, OutOfBoundsError

HAS_BLOCK_POINTERS = int(triton.__version__.split(".")[1]) < 8


# addresses that belong to nobody


@triton.jit
def number_as_address_kernel(out_ptr, ADDRESS: tl.constexpr):
    p = tl.full((4,), ADDRESS, tl.int64).to(tl.pointer_type(tl.float32))
    tl.store(p, 1.0)
    tl.store(out_ptr, 1.0)


@pytest.mark.parametrize("address", [0, 1, 8, 0xDEAD0000, 1 << 40, (1 << 62) - 1, (1 << 63) - 8, -8])
def test_a_number_is_no_address(arena, refused, address):
    out = arena.take(4)
    error = refused(OutOfBoundsError, lambda: number_as_address_kernel[(1,)](out, ADDRESS=address))
    assert (error.kernel, error.text, error.arg, error.kind) == ("number_as_address_kernel", "tl.store(p, 1.0)", None, "store")
    assert (error.lanes_bad, error.lanes, error.lane) == (4, 4, 0)
    assert ("null pointer" in str(error)) == (address == 0)


@triton.jit
def wild_kernel(x_ptr, out_ptr, jump):
    tl.store(out_ptr + jump, tl.load(x_ptr))


@pytest.mark.parametrize("jump", [1 << 20, 1 << 31, 1 << 40, -(1 << 33), (1 << 45) + 3])
def test_a_wild_offset_still_names_its_argument(arena, refused, jump):
    x, out = arena.take(4), arena.take(4)
    error = refused(OutOfBoundsError, lambda: wild_kernel[(1,)](x, out, jump))
    if abs(jump) < 1 << 45:
        assert (error.arg, error.offset) == ("out_ptr", jump)
    assert error.kind == "store" and error.program == (0, 0, 0)


@triton.jit
def sum_of_pointers_kernel(x_ptr, y_ptr):
    p = (x_ptr.to(tl.int64) + y_ptr.to(tl.int64)).to(tl.pointer_type(tl.float32))
    tl.store(p, 1.0)


def test_the_sum_of_two_pointers_is_no_address(arena, refused):
    x, y = arena.take(4), arena.take(4)
    error = refused(OutOfBoundsError, lambda: sum_of_pointers_kernel[(1,)](x, y))
    assert error.arg is None


# offsets that leave the tensor


@triton.jit
def no_mask_load_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x, mask=offs < n)


def test_missing_mask_on_a_load(arena, refused):
    x, out = arena.take(100), arena.take(100)
    arena.freeze()
    with pytest.raises(OutOfBoundsError) as caught:
        no_mask_load_kernel[(2,)](x, out, 100, BLOCK=64)
    error = caught.value
    first = x[:64].clone()
    arena.check((out[:64], first))  # program 0 was right and ran
    assert (error.kind, error.arg, error.program, error.grid) == ("load", "x_ptr", (1, 0, 0), (2, 1, 1))
    assert (error.lane, error.offset, error.lanes_bad, error.lanes) == (36, 100, 28, 64)
    assert (error.low, error.high, error.inside_allocation) == (0, 99, True)
    assert error.text == "x = tl.load(x_ptr + offs)"
    assert error.line == no_mask_load_kernel.starting_line_number + 3
    assert error.offsets.tolist() == list(range(64, 128)) and error.mask.all()
    assert "tl.load(..., mask=mask, other=...)" in error.hint


@triton.jit
def no_mask_store_kernel(out_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, 1.0)


def test_missing_mask_on_a_store(arena, refused):
    out = arena.take(5)
    error = refused(OutOfBoundsError, lambda: no_mask_store_kernel[(1,)](out, BLOCK=8))
    assert (error.kind, error.arg, error.lane, error.offset, error.lanes_bad) == ("store", "out_ptr", 5, 5, 3)
    assert "another tensor's memory" in str(error)


def test_missing_mask_beyond_a_whole_allocation():
    out = torch.zeros(5)
    with pytest.raises(OutOfBoundsError) as caught:
        no_mask_store_kernel[(1,)](out, BLOCK=8)
    assert not caught.value.inside_allocation and "allocation" not in str(caught.value)
    assert torch.equal(out, torch.zeros(5))


@triton.jit
def masked_in_part_kernel(out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, 1.0, mask=offs < n + 1)


def test_a_mask_that_is_one_too_wide(arena, refused):
    out = arena.take(5)
    error = refused(OutOfBoundsError, lambda: masked_in_part_kernel[(1,)](out, 5, BLOCK=8))
    assert (error.lane, error.offset, error.lanes_bad, error.lanes) == (5, 5, 1, 8)
    assert error.mask.tolist() == [True] * 6 + [False] * 2
    assert "the mask that was given leaves these lanes on" in error.hint


@triton.jit
def negative_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs - 1))


def test_negative_offset(arena, refused):
    x, out = arena.take(8), arena.take(8)
    error = refused(OutOfBoundsError, lambda: negative_kernel[(1,)](x, out, BLOCK=8))
    assert (error.arg, error.lane, error.offset, error.lanes_bad) == ("x_ptr", 0, -1, 1)
    assert "before the tensor's start" in error.hint


@triton.jit
def row_kernel(x_ptr, y_ptr, stride):
    row = tl.program_id(0)
    tl.store(y_ptr + row, tl.load(x_ptr + row * stride))


@triton.jit
def row64_kernel(x_ptr, y_ptr, stride: tl.int64):
    row = tl.program_id(0)
    tl.store(y_ptr + row, tl.load(x_ptr + row * stride))


def test_int32_overflow_of_an_offset_is_named():
    x = torch.empty(2**31 + 64, dtype=torch.int8)  # address space only: three pages are touched
    x[0], x[2**30], x[2**31] = 10, 20, 42
    y = torch.zeros(3, dtype=torch.int8)
    with pytest.raises(OutOfBoundsError) as caught:
        row_kernel[(3,)](x, y, 2**30)
    assert (caught.value.arg, caught.value.offset, caught.value.program) == ("x_ptr", -(2**31), (2, 0, 0))
    assert "tl.int64" in caught.value.hint
    assert y.tolist() == [10, 20, 0]
    row64_kernel[(3,)](x, y, 2**30)  # an annotated scalar has the type that it names
    assert y.tolist() == [10, 20, 42]


@triton.jit
def neighbour_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs) + 1.0)


def test_neighbour_in_the_same_allocation():
    heap_x, heap_out = torch.zeros(256), torch.full((256,), -7.0)
    before = heap_out.clone()
    with pytest.raises(OutOfBoundsError) as caught:
        neighbour_kernel[(1,)](heap_x[:100], heap_out[:100], BLOCK=128)
    assert (caught.value.arg, caught.value.lane, caught.value.offset) == ("x_ptr", 100, 100)
    assert caught.value.inside_allocation and "another tensor's memory" in str(caught.value)
    assert torch.equal(heap_out, before)


# views


@triton.jit
def copy_at_kernel(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs * stride, tl.load(x_ptr + offs))


def test_a_store_into_the_gaps_of_a_strided_view(arena, refused):
    x, base = arena.take(8), arena.take(16)
    error = refused(OutOfBoundsError, lambda: copy_at_kernel[(1,)](x, base[::2], 1, BLOCK=8))
    assert (error.arg, error.offset, error.lane, error.lanes_bad) == ("out_ptr", 1, 1, 4)
    assert "between this view's elements" in str(error) and "strides (2,)" in error.hint
    arena.freeze()
    copy_at_kernel[(1,)](x, base[::2], 2, BLOCK=8)
    arena.check((base[::2], x.clone()))


@triton.jit
def rows_and_columns_kernel(x_ptr, out_ptr, stride_m, stride_n, M: tl.constexpr, N: tl.constexpr):
    offs_m, offs_n = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(out_ptr + offs_m * N + offs_n, tl.load(x_ptr + offs_m * stride_m + offs_n * stride_n))


def test_a_transposed_view_is_read_by_its_strides(arena):
    x, out = arena.take(4, 8), arena.take(8, 4)
    arena.freeze()
    rows_and_columns_kernel[(1,)](x.T, out, *x.T.stride(), M=8, N=4)
    arena.check((out, x.T.clone()))


def test_an_expanded_view_has_one_row_only(arena, refused):
    row, out = arena.take(1, 8), arena.take(4, 8)
    wide = row.expand(4, 8)
    error = refused(OutOfBoundsError, lambda: rows_and_columns_kernel[(1,)](wide, out, 8, 1, M=4, N=8))
    assert (error.arg, error.offset, error.lane, error.lanes_bad, error.high) == ("x_ptr", 8, 8, 24, 7)
    arena.freeze()
    rows_and_columns_kernel[(1,)](wide, out, *wide.stride(), M=4, N=8)
    arena.check((out, wide.clone()))


def test_windows_that_overlap(arena, refused):
    x, out = arena.take(32), arena.take(4, 4)
    windows = x.as_strided((4, 4), (3, 2))  # reaches 0 … 15, but not 1, 14 and others
    arena.freeze()
    rows_and_columns_kernel[(1,)](windows, out, 3, 2, M=4, N=4)
    arena.check((out, windows.clone()))
    error = refused(OutOfBoundsError, lambda: rows_and_columns_kernel[(1,)](windows, out, 3, 1, M=4, N=4))
    assert error.offset == 1 and "between this view's elements" in str(error)


def test_unfolded_rows(arena):
    x, out = arena.take(11), arena.take(8, 4)
    windows = x.unfold(0, 4, 1)
    arena.freeze()
    rows_and_columns_kernel[(1,)](windows, out, *windows.stride(), M=8, N=4)
    arena.check((out, windows.clone()))


@triton.jit
def one_kernel(x_ptr, out_ptr, at):
    tl.store(out_ptr, tl.load(x_ptr + at))


def test_a_tensor_without_dimensions(arena, refused):
    x, out = arena.take(), arena.take()
    arena.freeze()
    one_kernel[(1,)](x, out, 0)
    arena.check((out, x.item()))
    error = refused(OutOfBoundsError, lambda: one_kernel[(1,)](x, out, 1))
    assert (error.offset, error.low, error.high) == (1, 0, 0) and "holds offset 0 only" in str(error)


def test_an_empty_tensor_cannot_be_touched(arena, refused):
    x, out = arena.take(0), arena.take(4)
    error = refused(OutOfBoundsError, lambda: one_kernel[(1,)](x, out, 0))
    assert error.arg == "x_ptr" and "is empty" in str(error) and error.high == -1
    empty = torch.empty(0)
    with pytest.raises(OutOfBoundsError, match="is empty"):
        one_kernel[(1,)](empty, out, 0)
    masked_in_part_kernel[(1,)](empty, -1, BLOCK=4)  # all lanes off: nothing happens


# lanes that point to different tensors


@triton.jit
def choose_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    p = tl.where(offs < n, x_ptr + offs, y_ptr + offs - n)
    tl.store(out_ptr + offs, tl.load(p))


def test_lanes_may_point_to_two_tensors(arena):
    x, y, out = arena.take(8), arena.take(8), arena.take(8)
    arena.freeze()
    choose_kernel[(1,)](x, y, out, 5, BLOCK=8)
    arena.check((out, torch.cat([x[:5], y[:3]])))


def test_lanes_that_point_past_one_of_two_tensors(arena, refused):
    x, y, out = arena.take(8), arena.take(2), arena.take(8)
    error = refused(OutOfBoundsError, lambda: choose_kernel[(1,)](x, y, out, 5, BLOCK=8))
    assert (error.arg, error.lane, error.offset, error.lanes_bad) == ("y_ptr", 7, 2, 1)


@triton.jit
def store_both_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    p = tl.where(offs % 2 == 0, x_ptr + offs, y_ptr + offs)
    tl.store(p, -1.0)


def test_a_mixed_store_writes_nothing_when_one_lane_is_wrong(arena, refused):
    x, y = arena.take(8), arena.take(4)
    error = refused(OutOfBoundsError, lambda: store_both_kernel[(1,)](x, y, BLOCK=8))
    assert (error.arg, error.lane, error.lanes_bad) == ("y_ptr", 5, 2)


# pointers that a kernel reads from memory


@triton.jit
def table_kernel(table_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    p = tl.load(table_ptr + pid).to(tl.pointer_type(tl.float32))
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + pid * n + offs, tl.load(p + offs, mask=offs < n), mask=offs < n)


def test_a_table_of_pointers_reaches_live_tensors(arena):
    parts = [torch.randn(6), torch.randn(6), arena.take(6, values=range(6))]
    table = torch.tensor([p.data_ptr() for p in parts])
    out = arena.take(3, 6)
    arena.freeze()
    table_kernel[(3,)](table, out, 6, BLOCK=8)
    arena.check((out, torch.stack(parts)))


def test_a_pointer_from_a_table_keeps_to_its_tensor(arena, refused):
    memory = np.arange(10, dtype=np.float32)
    parts = [torch.from_numpy(memory[:5]), torch.from_numpy(memory[5:])]  # side by side, and no tensor holds both
    table = torch.tensor([p.data_ptr() for p in parts])
    out = arena.take(2, 6)
    error = refused(OutOfBoundsError, lambda: table_kernel[(1,)](table, out, 6, BLOCK=8))
    assert (error.arg, error.offset, error.high) == ("memory 1", 5, 4)
    assert memory.tolist() == list(range(10)) and len(parts) == 2


def test_a_dangling_pointer_is_refused(arena, refused):
    address = (1 << 46) + 64
    out = arena.take(6)
    error = refused(OutOfBoundsError, lambda: table_kernel[(1,)](torch.tensor([address]), out, 6, BLOCK=8))
    assert error.arg is None and "alive" in str(error) and error.text.startswith("tl.store(out_ptr + pid * n + offs, tl.load(p")


@triton.jit
def pointer_to_pointer_kernel(table_ptr, out_ptr, BLOCK: tl.constexpr):
    rows = table_ptr.to(tl.pointer_type(tl.pointer_type(tl.float32)))
    p = tl.load(rows + tl.program_id(0))
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + tl.program_id(0) * BLOCK + offs, tl.load(p + offs))


def test_a_pointer_to_pointers(arena):
    parts = [torch.randn(4), torch.randn(4)]
    out = arena.take(2, 4)
    arena.freeze()
    pointer_to_pointer_kernel[(2,)](torch.tensor([p.data_ptr() for p in parts]), out, BLOCK=4)
    arena.check((out, torch.stack(parts)))


# other widths, other alignment


@triton.jit
def reinterpret_kernel(x_ptr, out_ptr, at, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    p = (x_ptr + at).to(tl.pointer_type(tl.int64))
    tl.store(out_ptr + offs, tl.load(p + offs))


def test_a_pointer_read_as_another_width(arena, refused):
    x, out = arena.take(8, dtype=torch.int32), arena.take(4, dtype=torch.int64)
    arena.freeze()
    reinterpret_kernel[(1,)](x, out, 0, BLOCK=4)
    arena.check((out, x.view(torch.int64).clone()))
    error = refused(OutOfBoundsError, lambda: reinterpret_kernel[(1,)](x, out, 2, BLOCK=4))
    assert (error.arg, error.lane, error.offset) == ("x_ptr", 3, 8) and "takes 8 bytes" in str(error)
    error = refused(OutOfBoundsError, lambda: reinterpret_kernel[(1,)](x, out, 1, BLOCK=2))
    assert "multiple of 8 bytes" in str(error) and "misaligned" in error.hint


def test_a_wide_access_may_not_bridge_gaps(arena, refused):
    x, out = arena.take(16, dtype=torch.int16), arena.take(4, dtype=torch.int64)
    first_and_last = x.as_strided((4, 2), (4, 3))  # of each 8 bytes, only the outer elements belong to the view
    refused(OutOfBoundsError, lambda: reinterpret_kernel[(1,)](first_and_last, out, 0, BLOCK=4))
    arena.freeze()
    reinterpret_kernel[(1,)](x, out, 0, BLOCK=4)
    arena.check((out, x.view(torch.int64).clone()))


@triton.jit
def misaligned_kernel(x_ptr, out_ptr):
    p = (x_ptr.to(tl.pointer_type(tl.int8)) + 2).to(tl.pointer_type(tl.float32))
    tl.store(out_ptr, tl.load(p))


def test_a_misaligned_pointer(arena, refused):
    x, out = arena.take(8), arena.take(1)
    error = refused(OutOfBoundsError, lambda: misaligned_kernel[(1,)](x, out))
    assert "offset 0 plus 2 bytes, which is not the start of an element" in str(error) and "misaligned" in error.hint


# descriptors and block pointers


@triton.jit
def host_descriptor_kernel(x_desc, out_ptr, at_m, at_n, M: tl.constexpr, N: tl.constexpr):
    offs_m, offs_n = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(out_ptr + offs_m * N + offs_n, x_desc.load([at_m, at_n]))


def test_a_host_descriptor_pads_and_keeps_to_its_tensor(arena):
    x, out = arena.take(6, 8), arena.take(4, 8)
    arena.freeze()
    host_descriptor_kernel[(1,)](TensorDescriptor(x, [6, 8], [8, 1], [4, 8]), out, 4, 0, M=4, N=8)
    arena.check((out, torch.cat([x[4:], torch.zeros(2, 8)])))


def test_a_host_descriptor_that_claims_too_much(arena, refused):
    x, out = arena.take(6, 8), arena.take(4, 8)
    descriptor = TensorDescriptor(x, [8, 8], [8, 1], [4, 8])  # the tensor has 6 rows
    error = refused(OutOfBoundsError, lambda: host_descriptor_kernel[(1,)](descriptor, out, 4, 0, M=4, N=8))
    assert (error.arg, error.kind, error.offset, error.lanes_bad) == ("x_desc", "load", 48, 16)


@triton.jit
def device_descriptor_kernel(x_ptr, out_ptr, m, n, stride, at, M: tl.constexpr, N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[m, n], strides=[stride, 1], block_shape=[M, N])
    out = tl.make_tensor_descriptor(out_ptr, shape=[m, n], strides=[stride, 1], block_shape=[M, N])
    out.store([at, 0], x.load([at, 0]) * 2)


def test_a_device_descriptor_stores_within_its_shape(arena, refused):
    x, out = arena.take(6, 8, values=range(48)), arena.take(6, 8)
    arena.freeze()
    device_descriptor_kernel[(1,)](x, out, 6, 8, 8, 4, M=4, N=8)
    arena.check((out[4:], x[4:] * 2))
    error = refused(OutOfBoundsError, lambda: device_descriptor_kernel[(1,)](x, out, 9, 8, 8, 4, M=4, N=8))
    assert (error.arg, error.kind, error.program) == ("x_ptr", "load", (0, 0, 0))


def test_a_misaligned_descriptor_is_a_clear_error(arena, refused):
    x, out = arena.take(64), arena.take(4, 8)
    descriptor = TensorDescriptor(x[:48].view(6, 8), [6, 8], [8, 1], [4, 8])
    object.__setattr__(descriptor, "base", x[1:49].view(6, 8))
    error = refused(LaunchError, lambda: host_descriptor_kernel[(1,)](descriptor, out, 0, 0, M=4, N=8))
    assert "x_desc" in str(error) and "16" in error.hint


if HAS_BLOCK_POINTERS:

    @triton.jit
    def block_pointer_kernel(x_ptr, out_ptr, m, n, at, M: tl.constexpr, N: tl.constexpr, CHECK: tl.constexpr):
        p = tl.make_block_ptr(x_ptr, shape=(m, n), strides=(n, 1), offsets=(at, 0), block_shape=(M, N), order=(1, 0))
        if CHECK:
            x = tl.load(p, boundary_check=(0, 1), padding_option="zero")
        else:
            x = tl.load(p)
        offs_m, offs_n = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
        tl.store(out_ptr + offs_m * N + offs_n, x)

    @pytest.mark.filterwarnings("ignore:tl.make_block_ptr is deprecated")
    def test_block_pointers(arena, refused):
        x, out = arena.take(6, 8), arena.take(4, 8)
        arena.freeze()
        block_pointer_kernel[(1,)](x, out, 6, 8, 4, M=4, N=8, CHECK=True)
        arena.check((out, torch.cat([x[4:], torch.zeros(2, 8)])))
        error = refused(OutOfBoundsError, lambda: block_pointer_kernel[(1,)](x, out, 6, 8, 4, M=4, N=8, CHECK=False))
        assert (error.arg, error.offset, error.lanes_bad) == ("x_ptr", 48, 16)


# atomics


@triton.jit
def atomic_kernel(x_ptr, old_ptr, at, value, n, BLOCK: tl.constexpr, OP: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    v = tl.zeros((BLOCK,), x_ptr.dtype.element_ty) + value
    if OP == "add":
        old = tl.atomic_add(x_ptr + at + offs, v, mask=mask)
    elif OP == "max":
        old = tl.atomic_max(x_ptr + at + offs, v, mask=mask)
    elif OP == "min":
        old = tl.atomic_min(x_ptr + at + offs, v, mask=mask)
    elif OP == "xchg":
        old = tl.atomic_xchg(x_ptr + at + offs, v, mask=mask)
    elif OP == "and":
        old = tl.atomic_and(x_ptr + at + offs, v, mask=mask)
    elif OP == "or":
        old = tl.atomic_or(x_ptr + at + offs, v, mask=mask)
    elif OP == "xor":
        old = tl.atomic_xor(x_ptr + at + offs, v, mask=mask)
    tl.store(old_ptr + offs, old, mask=mask)


ATOMICS = {
    "add": lambda x, v: x + v, "max": lambda x, v: x.clamp(min=v), "min": lambda x, v: x.clamp(max=v), "xchg": lambda x, v: torch.full_like(x, v),
    "and": lambda x, v: x & v, "or": lambda x, v: x | v, "xor": lambda x, v: x ^ v,
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64, torch.uint32])
@pytest.mark.parametrize("op", ATOMICS)
def test_atomics_in_and_out_of_range(arena, refused, op, dtype):
    if op in ("and", "or", "xor") and dtype.is_floating_point:
        pytest.skip("bits of integers only")
    start = [3, 0, 7, 2, 9] if dtype == torch.uint32 else [-3, 0, 7, -2, 9]
    for value in (2, -1) if dtype != torch.uint32 else (2,):
        x, old = arena.take(5, dtype=dtype, values=start), arena.take(5, dtype=dtype)
        wide = torch.tensor(start, dtype=torch.float64 if dtype.is_floating_point else torch.int64)
        arena.freeze()
        atomic_kernel[(1,)](x, old, 0, float(value) if dtype.is_floating_point else value, 5, BLOCK=8, OP=op)
        arena.check((x, ATOMICS[op](wide, value)), (old, wide))
    x = arena.take(5, dtype=dtype, values=start)
    value = 2.0 if dtype.is_floating_point else 2
    error = refused(OutOfBoundsError, lambda: atomic_kernel[(1,)](x, old, 1, value, 5, BLOCK=8, OP=op))
    assert (error.kind, error.arg, error.lane, error.offset, error.lanes_bad) == (f"atomic_{op}", "x_ptr", 4, 5, 1)
    assert f"tl.atomic_{op}" in error.text


@triton.jit
def cas_kernel(lock_ptr, old_ptr, at):
    old = tl.atomic_cas(lock_ptr + at, 0, 1)
    tl.store(old_ptr, old)


def test_compare_and_swap_in_and_out_of_range(arena, refused):
    lock, old = arena.take(2, dtype=torch.int32, values=[0, 5]), arena.take(1, dtype=torch.int32)
    arena.freeze()
    cas_kernel[(1,)](lock, old, 0)
    arena.check((lock, [1, 5]), (old, [0]))
    error = refused(OutOfBoundsError, lambda: cas_kernel[(1,)](lock, old, 2))
    assert (error.kind, error.arg, error.offset) == ("atomic_cas", "lock_ptr", 2)


@triton.jit
def spin_kernel(lock_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass


def test_waiting_for_a_lock_that_nobody_frees_ends(arena):
    lock = arena.take(1, dtype=torch.int32, values=[1])
    arena.freeze()
    with lab.limits(seconds=0.1), pytest.raises(BudgetError) as caught:
        spin_kernel[(1,)](lock)
    arena.check()
    assert caught.value.kernel == "spin_kernel" and caught.value.budget == "0.1 seconds"
