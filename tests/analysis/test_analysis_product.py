"""The K loop of a matmul counted from the trace: roles of the arguments, bytes, FLOP, reuse."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tritonlab.analysis import element_reuse, find_product, tile_reuse
from tritonlab.trace.record import Access, Function, Launch, TensorArg, Trace
from tritonlab.views.tiles_product_specimens import product


def flop(sizes):
    return 2 * sizes[0] * sizes[1] * sizes[2]


@pytest.mark.parametrize(("tile", "expected", "a", "b"), [((16, 16, 16), 8.0, 6, 4), ((32, 32, 16), 16.0, 3, 2), ((64, 32, 16), 64 / 3, 3, 1), ((32, 32, 32), 16.0, 3, 2)])
def test_an_fp16_tile_does_bm_bn_over_bm_plus_bn_flop_a_byte(tile, expected, a, b):
    found = tile_reuse(product((64, 96, 32), tile, dtype=np.float16))
    assert [t.flop_per_byte for t in found.tiles] == pytest.approx([expected] * len(found.tiles))
    assert found.flop_per_byte == pytest.approx(tile[0] * tile[1] / (tile[0] + tile[1]))
    assert (found.a.loads_per_element, found.b.loads_per_element) == (a, b) == (96 / tile[1], 64 / tile[0])
    assert (found.a.programs, found.b.programs) == (a, b)
    assert {s.programs_a for t in found.tiles for s in t.steps} == {(a, a)}


def test_the_kernel_of_the_course_loads_a_3_times_and_b_twice():
    import torch

    import tritonlab as lab
    from tritonlab.kernels.grouped_matmul import grouped_matmul
    from tritonlab.kernels.matmul import matmul

    a, b = torch.ones(64, 32, dtype=torch.float16), torch.ones(32, 96, dtype=torch.float16)
    for launch in (matmul, grouped_matmul):
        found = tile_reuse(lab.trace(lambda: launch(a, b, BLOCK_M=32, BLOCK_N=32, BLOCK_K=16)))
        assert (found.a.loads_per_element, found.b.loads_per_element, found.flop_per_byte) == (3.0, 2.0, 16.0)
        assert {len(t.steps) for t in found.tiles} == {2} and len(found.tiles) == 6


@pytest.mark.parametrize("sizes", [(1, 1, 1), (15, 17, 16), (16, 16, 16), (40, 56, 50), (37, 29, 41), (1, 40, 20)])
@pytest.mark.parametrize("tile", [(16, 16, 16), (16, 32, 16), (32, 16, 64)])
def test_useful_flop_are_those_of_the_matrices_and_padding_is_the_rest(sizes, tile):
    found = tile_reuse(product(sizes, tile))
    M, N, K = sizes
    tiles_m, tiles_n, steps = -(-M // tile[0]), -(-N // tile[1]), -(-K // tile[2])
    assert sum(t.useful for t in found.tiles) == flop(sizes)
    assert sum(t.flop for t in found.tiles) == tiles_m * tiles_n * steps * flop(tile)
    assert sum(t.padding for t in found.tiles) == sum(t.flop for t in found.tiles) - flop(sizes)
    assert found.a.bytes == M * K * 4 * tiles_n and found.b.bytes == N * K * 4 * tiles_m
    assert sum(t.elements for t in found.tiles) == M * N and {t.block for t in found.tiles} == {tile[:2]}
    assert found.product.sizes == sizes


@pytest.mark.parametrize(
    "more",
    [{"strides": ((1, 40), None)}, {"strides": ((200, 2), (1, 50))}, {"turned": True}, {"turned": True, "strides": (None, (1, 56))}, {"names": ("x", "w", "out")}, {"programs": 4}],
    ids=["A transposed", "A sliced, B transposed", "W [N, K]", "W [N, K] transposed", "other names", "persistent"],
)
def test_layout_names_and_the_grid_change_no_count(more):
    plain, other = tile_reuse(product((40, 56, 50), (16, 32, 16))), tile_reuse(product((40, 56, 50), (16, 32, 16), **more))
    key = lambda t: t.box  # noqa: E731
    for t, u in zip(sorted(plain.tiles, key=key), sorted(other.tiles, key=key), strict=True):
        assert (t.box, t.bytes_a, t.bytes_b, t.flop, t.useful, t.elements) == (u.box, u.bytes_a, u.bytes_b, u.flop, u.useful, u.elements)
    assert other.a.loads_per_element == plain.a.loads_per_element == 2.0


def test_each_step_names_the_accesses_it_is_made_of():
    launch = product((40, 56, 40))
    for tile in tile_reuse(launch).tiles:
        assert len(tile.steps) == 3
        for k, step in enumerate(tile.steps):
            (a,), (b,) = step.a, step.b
            assert launch.accesses[a].arg == "a_ptr" and launch.accesses[b].arg == "b_ptr"
            assert int(launch.accesses[a].offsets[0, 0]) % 40 == 16 * k
            assert step.bytes_a == int(launch.accesses[a].mask.sum()) * 4
        assert launch.accesses[tile.stores[0]].arg == "c_ptr" and tile.bytes == tile.elements * 4


def test_a_persistent_program_has_a_tile_after_the_other():
    found = tile_reuse(product((40, 56, 32), programs=4))
    assert [t.nth for t in found.of(1)] == [0, 1, 2] and [t.box[0] for t in found.of(1)] == [(0, 16), (16, 32), (32, 40)]
    assert all(len(t.steps) == 2 for t in found.tiles) and len(found.tiles) == 12
    assert str(found).splitlines()[3].split()[0] == "0"


def test_programs_that_load_wrong_tiles_are_counted_as_they_are():
    right, wrong = tile_reuse(product((48, 64, 32))), tile_reuse(product((48, 64, 32), bug="rows of another program"))
    assert [t.bytes_a for t in wrong.tiles] == [t.bytes_a for t in right.tiles]
    short = tile_reuse(product((40, 56, 40), bug="one K step too few"))
    assert {len(t.steps) for t in short.tiles} == {2}
    assert sum(t.useful for t in short.tiles) == flop((40, 56, 32)) and short.a.elements == 40 * 32
    wrapped = tile_reuse(product((40, 56, 40), bug="rows wrap around"))
    assert sum(t.useful for t in wrapped.tiles) == flop((40, 56, 40)), "rows that are loaded twice but not stored are padding"
    assert max(s.programs_a[1] for t in wrapped.tiles for s in t.steps) == 8


def test_k_of_0_has_stores_and_no_step():
    found = tile_reuse(product((20, 24, 0)))
    assert [len(t.steps) for t in found.tiles] == [0] * 4 and sum(t.elements for t in found.tiles) == 480
    assert (found.a.loads_per_element, found.flop_per_byte) == (0.0, 0.0)
    assert repr(found) == "<TileReuse matmul_kernel: a_ptr[20, 0] @ b_ptr[0, 24] → c_ptr[20, 24], 4 tiles of 0 K steps, a_ptr 0.00 loads an element, b_ptr 0.00, 0.0 FLOP a byte>"


def test_a_launch_that_ended_early_is_counted_up_to_there_and_says_so():
    launch = product(bug="no mask on K")
    found = tile_reuse(launch)
    last = found.tiles[-1]
    assert last.program == (2, 0, 0) and last.stores == () and last.box is None and len(last.steps) == 3
    assert last.steps[-1].b == () and last.steps[-1].bytes_a == (8 * 16 - 8) * 4, "8 lanes hit no element"
    assert found.note.startswith("partial: the launch ended by an error") and "no dot takes" in found.note
    first = dataclasses.replace(launch, accesses=launch.accesses[:1])
    assert find_product(first).c.arg == "c_ptr", "what was never stored is taken by its shape"


def test_repr_and_table():
    found = tile_reuse(product((64, 96, 32), (32, 32, 16), dtype=np.float16))
    assert repr(found) == "<TileReuse matmul_kernel: a_ptr[64, 32] @ b_ptr[32, 96] → c_ptr[64, 96], 6 tiles of 2 K steps, a_ptr 3.00 loads an element, b_ptr 2.00, 16.0 FLOP a byte>"
    lines = str(found).splitlines()
    assert lines[0] == "matmul_kernel: a_ptr[64, 32] @ b_ptr[32, 96] → c_ptr[64, 96]"
    assert lines[3].split() == ["(0,", "0)", "[0:32,", "0:32]", "2", "2,048", "2,048", "1,024", "65,536", "0", "16.00"]
    assert lines[-3].split() == ["all", "12", "12,288", "12,288", "6,144", "393,216", "0", "16.00"]
    assert lines[-2] == "a_ptr: 2,048 elements loaded, 3.00 times each"


def test_loads_agree_with_the_reuse_of_any_launch():
    launch = product((37, 29, 41))
    found, reuse = tile_reuse(launch), element_reuse(launch)
    for operand in (found.a, found.b):
        row = reuse.arg(operand.arg)
        assert (row.elements, row.loads, row.programs) == (operand.elements, operand.loads, operand.programs)


def test_a_trace_will_do_and_what_is_no_launch_is_refused():
    launch = product((16, 32, 16))
    assert tile_reuse(Trace((launch,))) == tile_reuse(launch)
    with pytest.raises(TypeError, match="got int"):
        tile_reuse(3)


# Roles.


def square(kind, source="", n=16, values=True):
    """A launch of one program on three n×n tensors: loads x and y, stores out."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, n, n)).astype(np.float32)
    out = x @ y if kind == "product" else x + y
    lanes = np.arange(n * n).reshape(n, n)
    args = [TensorArg(name, i, "float32", 4, (n, n), (n, 1), before=v if values else None, after=w if values else None) for i, (name, v, w) in enumerate((("x", x, x), ("y", y, y), ("out", out * 0, out)))]
    accesses = [Access(k, name, (0, 0, 0), 5, lanes, np.ones((n, n), bool)) for k, name in (("load", "x"), ("load", "y"), ("store", "out"))]
    functions = {"k": Function("k", source, 1)} if source else {}
    return Launch("k", (1, 1, 1), tuple(args), functions=functions, accesses=tuple(accesses))


def test_square_tensors_of_an_elementwise_kernel_are_no_product():
    with pytest.raises(ValueError, match="as many elements of x and of y as they store of out, and its source calls no dot"):
        find_product(square("sum"))
    with pytest.raises(ValueError, match="calls no dot"):
        find_product(square("sum", "def k():\n    # no tl.dot( here\n    pass"))
    with pytest.raises(ValueError, match="calls no dot"):
        find_product(square("product", values=False))
    assert find_product(square("product")).a.arg == "x"
    assert find_product(square("product", "def k():\n    acc = tl.dot(x, y)", values=False)).b.arg == "y"


def test_left_and_right_of_square_matrices_are_told_by_what_the_programs_load():
    launch = product((48, 48, 48), names=("second", "first", "out"))
    swapped = dataclasses.replace(launch, args=(launch.args[1], launch.args[0], launch.args[2]))
    assert find_product(launch).a.arg == find_product(swapped).a.arg == "second"


def test_an_operand_that_does_not_say_which_it_is_goes_by_the_order_of_arguments():
    wrong = product((48, 48, 48), bug="rows of another program")
    assert (find_product(wrong).a.arg, find_product(wrong).b.arg) == ("a_ptr", "b_ptr")


def test_a_bias_is_no_part_of_the_product_and_a_residual_is_told_from_the_operands():
    launch = product((48, 48, 48))
    store = launch.accesses[-1]
    extra = [Access("load", "bias_ptr", store.program, 15, np.arange(16), np.ones(16, bool)), Access("load", "r_ptr", store.program, 15, store.offsets, store.mask)]
    args = (TensorArg("r_ptr", 3, "float32", 4, (48, 48), (48, 1)), *launch.args, TensorArg("bias_ptr", 4, "float32", 4, (48,), (1,)))
    more = dataclasses.replace(launch, args=args, accesses=(*launch.accesses[:-1], *extra, store))
    found = find_product(more)
    assert (found.a.arg, found.b.arg, found.c.arg, found.others) == ("a_ptr", "b_ptr", "c_ptr", ("r_ptr", "bias_ptr"))
    assert tile_reuse(more).tiles == tuple(dataclasses.replace(t, stores=tuple(s + 2 * (s == len(launch.accesses) - 1) for s in t.stores)) for t in tile_reuse(launch).tiles)


def test_a_tensor_the_other_way_round_is_turned_only_where_nothing_else_fits():
    found = find_product(product((40, 56, 24), turned=True))
    assert (found.b.turned, found.b.shape, found.b.strides, str(found.b)) == (True, (24, 56), (1, 24), "b_ptr[56, 24].T")
    assert not find_product(product((24, 24, 24), turned=True)).b.turned, "a square one is drawn as it is"


def test_split_k_adds_to_c_atomically():
    launch = product((40, 56, 32))
    atomic = tuple(dataclasses.replace(a, kind="atomic_add") if a.writes else a for a in launch.accesses)
    assert tile_reuse(dataclasses.replace(launch, accesses=atomic)).product.c.arg == "c_ptr"


@pytest.mark.parametrize("name", ["vector_add", "softmax_rows", "atomic_histogram", "overlapping"])
def test_other_launches_are_no_product_and_the_error_names_what_they_touch(name):
    from tritonlab.views import specimens

    launch = getattr(specimens, name)()
    with pytest.raises(ValueError, match=rf"{launch.kernel} is no product: .*; it loads x_ptr\[.*\] and stores") as error:
        tile_reuse(launch)
    assert "A [M, K] and B [K, N]" in str(error.value)


def test_a_batched_product_is_none():
    launch = product((40, 56, 32))
    args = tuple(dataclasses.replace(a, shape=(1, *a.shape), strides=(a.numel, *a.strides)) for a in launch.args)
    with pytest.raises(ValueError, match=r"it loads a_ptr\[1, 40, 32\], b_ptr\[1, 32, 56\] and stores c_ptr"):
        find_product(dataclasses.replace(launch, args=args))


def test_results_are_frozen():
    found = tile_reuse(product((16, 32, 16)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.tiles[0].nth = 3


# Kernels of other kinds, really traced.


@pytest.mark.parametrize(
    ("name", "sizes", "grid", "steps", "loads"),
    [("one_element_kernel", (3, 4, 33), (3, 4), 3, (4, 3)), ("outer_products_kernel", (20, 24, 3), (2, 2), 3, (2, 2)), ("split_k_kernel", (20, 24, 64), (2, 2, 2), 2, (2, 2)), ("prefetching_kernel", (20, 24, 40), (2, 2), 3, (2, 2))],
)
def test_any_kernel_that_multiplies_is_counted(name, sizes, grid, steps, loads):
    import product_kernels
    import torch

    import tritonlab as lab

    M, N, K = sizes
    x, w, out = torch.randn(M, K), torch.randn(K, N), torch.zeros(M, N)
    t = lab.trace(lambda: getattr(product_kernels, name)[grid](x, w, out, M, N, K, B=16))
    assert torch.allclose(out, x @ w, atol=1e-4)
    found = tile_reuse(t)
    assert {len(t.steps) for t in found.tiles} == {steps} and (found.a.loads_per_element, found.b.loads_per_element) == loads
    assert sum(t.useful for t in found.tiles) == flop(sizes) and found.note == ""
    assert all(len(s.a) == len(s.b) == 1 for t in found.tiles for s in t.steps)


def test_an_outer_sum_is_no_product_of_one_step():
    import product_kernels
    import torch

    import tritonlab as lab

    x, w, out = torch.randn(20, 1), torch.randn(1, 24), torch.zeros(20, 24)
    t = lab.trace(lambda: product_kernels.outer_sum_kernel[(2, 2)](x, w, out, 20, 24, B=16))
    with pytest.raises(ValueError, match="calls no dot"):
        tile_reuse(t)
