"""Which addresses a view reaches, against brute force: every shape, stride and offset, and lanes of several tensors."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tritonlab.runtime.memory import FIRST, HALF, AddressSpace, Fault

quick = settings(max_examples=80, deadline=None)
DIMS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 12)), min_size=0, max_size=4)
ITEMSIZES = st.sampled_from([1, 2, 4, 8])


def make_space():
    return AddressSpace()


def add(space, shape, strides, itemsize=4, real=1 << 30, offset=0, size=None, name=None):
    return space.add(
        name=name or f"t{len(space.spans)}", real=real, itemsize=itemsize, dtype="float32", shape=tuple(shape), strides=tuple(strides),
        storage=0, storage_offset=offset, storage_size=10_000 if size is None else size,
    )


def reached(shape, strides):
    """The offsets of a view, one by one."""
    return {sum(i * s for i, s in zip(index, strides)) for index in np.ndindex(*shape)}


@quick
@given(DIMS)
def test_reaches_is_the_set_of_a_views_offsets(dims):
    shape, strides = [n for n, _ in dims], [s for _, s in dims]
    span = add(make_space(), shape, strides)
    wanted = reached(shape, strides)
    offsets = np.arange(-20, 400)
    assert set(offsets[span.reaches(offsets)].tolist()) == wanted
    assert span.extent == (max(wanted) + 1 if wanted else 0)
    assert span.dense == (bool(wanted) and wanted == set(range(span.extent)) and span.nested)


@quick
@given(DIMS, ITEMSIZES, ITEMSIZES, st.integers(0, 3))
def test_valid_positions_of_any_width(dims, itemsize, width, shift):
    shape, strides = [n for n, _ in dims], [s for _, s in dims]
    real = (1 << 30) + shift * itemsize
    span = add(make_space(), shape, strides, itemsize=itemsize, real=real)
    bytes_of_view = {o * itemsize + b for o in reached(shape, strides) for b in range(itemsize)}
    positions = np.arange(-16, 300)
    for rel, ok in zip(positions.tolist(), span.valid(positions, width).tolist()):
        starts_well = rel % itemsize == 0 if width == itemsize else (real + rel) % width == 0
        assert ok == (starts_well and all(rel + b in bytes_of_view for b in range(width))), rel


@quick
@given(st.data())
def test_views_of_real_tensors(data):
    x = torch.arange(2 * 3 * 4 * 5).view(2, 3, 4, 5)
    for _ in range(data.draw(st.integers(0, 4))):
        how = data.draw(st.sampled_from(["transpose", "slice", "select", "expand", "unfold", "flip back"]))
        if how == "transpose" and x.ndim > 1:
            x = x.transpose(0, x.ndim - 1)
        elif how == "slice" and x.ndim:
            x = x[:: data.draw(st.integers(1, 3))]
        elif how == "select" and x.ndim and x.shape[-1]:
            x = x.select(-1, data.draw(st.integers(0, x.shape[-1] - 1)))
        elif how == "expand" and x.ndim < 5:
            x = x.unsqueeze(0).expand(3, *x.shape)
        elif how == "unfold" and x.ndim and x.ndim < 5 and x.shape[0] >= 2:
            x = x.unfold(0, 2, 1)
    span = add(make_space(), x.shape, x.stride(), itemsize=8)
    first = x.storage_offset()
    wanted = {v - first for v in x.flatten().tolist()}
    offsets = np.arange(-130, 400)
    assert set(offsets[span.reaches(offsets)].tolist()) == wanted


def brute(spans, ptrs, mask, width):
    """Lane by lane: whether it may be touched, and its real address."""
    good, real = [], []
    for p, on in zip(ptrs.tolist(), mask.tolist()):
        owner = next((s for s in spans if s.base - HALF <= p < s.base + HALF), None)
        rel = None if owner is None else p - owner.base
        ok = owner is not None and bool(owner.valid(np.array([rel]), width)[0])
        good.append(ok or not on)
        real.append(None if owner is None else owner.real + rel)
    return good, real


@quick
@given(st.data())
def test_resolving_is_checking_every_lane(data):
    space = make_space()
    spans = [
        add(space, shape, strides, real=(1 << 30) + 4096 * i)
        for i, (shape, strides) in enumerate([((16,), (1,)), ((4,), (2,)), ((0,), (1,)), ((2, 3), (1, 2)), ((3, 3), (2, 1)), ((2, 2), (0, 1))])
    ]
    chosen = data.draw(st.lists(st.tuples(st.integers(0, 6), st.integers(-3, 18), st.booleans()), min_size=1, max_size=12))
    one_only = data.draw(st.booleans())
    ptrs = np.array(
        [(data.draw(st.integers(0, FIRST - 1)) if i == 6 else spans[0 if one_only else i].base + 4 * o) % (1 << 64) for i, o, _ in chosen], dtype=np.uint64
    )
    mask = np.array([on for *_, on in chosen])
    good, real = brute(spans, ptrs, mask, 4)
    found = space.resolve(ptrs, mask, 4)
    if all(good):
        addresses, touches = found
        assert [a for a, on in zip(addresses.tolist(), mask) if on] == [r for r, on in zip(real, mask) if on]
        covered = np.zeros(len(ptrs), dtype=int)
        for touch in touches:
            covered += touch.mask
            assert (ptrs[touch.mask] == np.uint64(touch.span.base) + 4 * touch.offsets[touch.mask].astype(np.uint64)).all()
        assert covered.tolist() == mask.astype(int).tolist()
    else:
        assert isinstance(found, Fault)
        assert found.lane == good.index(False) and found.bad[found.lane]
        assert not (found.bad & np.array(good)).any()


def test_blocks_of_any_shape_and_order():
    space = make_space()
    span = add(space, (64,), (1,))
    ptrs = (np.uint64(span.base) + 4 * np.arange(32, dtype=np.uint64)).reshape(4, 8)
    for block in (ptrs, ptrs.T, ptrs[::2, ::2], np.broadcast_to(ptrs[:1], (4, 8)), ptrs[:1, :1].reshape(())):
        mask = np.ones(block.shape, dtype=bool)
        real, touches = space.resolve(block, mask, 4)
        assert (real - np.uint64(span.real) == block - np.uint64(span.base)).all() and touches[0].span is span


def test_pointers_say_where_they_belong():
    space = make_space()
    x, y = add(space, (4,), (1,), name="x"), add(space, (4,), (1,), name="y")
    ptrs = np.array([x.base, y.base + 8, x.base - 4], dtype=np.uint64)
    name, offsets = space.locate(ptrs)
    assert name == "x, y" and offsets.tolist() == [0, 2, -1]
    assert space.locate(np.array([5], dtype=np.uint64))[0] is None


def test_provenance_survives_any_int32_offset_of_any_element():
    space = make_space()
    spans = [add(space, (4,), (1,), itemsize=8) for _ in range(5)]
    for span in spans:
        for offset in (-(2**31), 2**31 - 1, 2**40, -(2**40)):
            name, offsets = space.locate(np.array([(span.base + 8 * offset) % (1 << 64)], dtype=np.uint64))
            assert name == span.name and offsets.tolist() == [offset]


def test_addresses_from_memory_are_adopted_once():
    asked = []

    def find(addresses):
        asked.append(addresses.tolist())
        return [dict(dtype="float32", real=5000, itemsize=4, shape=(4,), strides=(1,), storage=1, storage_offset=0, storage_size=4)] if 5004 in addresses else []

    space = AddressSpace(find)
    x = add(space, (4,), (1,), real=1000)
    made = space.adopt(np.array([1000, 1012, 1016, 5004, 0, x.base], dtype=np.uint64))
    assert asked == [[1016, 5004]]
    adopted = space.adopted[0]
    assert made.tolist() == [x.base, x.base + 12, 1016, adopted.base + 4, 0, x.base]
    assert adopted.name == "memory 1"
    space.adopt(np.array([5008], dtype=np.uint64))
    assert len(asked) == 1 and len(space.adopted) == 1
    real, _ = space.resolve(made[[0, 3]], np.ones(2, dtype=bool), 4)
    assert real.tolist() == [1000, 5004]


def test_a_large_view_that_overlaps_itself_is_checked_by_its_bounds():
    span = add(make_space(), (2, 1 << 27), (3, 2))
    assert span.reaches(np.array([-1, 0, 1, span.extent - 1, span.extent])).tolist() == [False, True, True, True, False]
