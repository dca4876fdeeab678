import numpy as np
import pytest

from tritonlab.analysis import PidOrder, tile_order
from tritonlab.views.pid_map import _played


def pairs(*tiles, m=2, n=2, **more):
    return PidOrder("f", m, n, *np.array(tiles, dtype=np.int64).reshape(-1, 2).T, **more)


def test_an_order_with_a_program_for_each_tile_has_no_faults():
    order = pairs((0, 0), (1, 0), (0, 1), (1, 1))
    assert order.one_to_one and order.faults == () and order.visits.tolist() == [[1, 1], [1, 1]]
    assert repr(order) == "<PidOrder f: 2×2 tiles, each visited once>"


def test_tiles_left_out_taken_twice_and_outside_are_told_apart():
    order = pairs((0, 0), (0, 0), (2, 1), (-1, 0), (1, 1), GROUP_M=2)
    assert (order.unvisited, order.repeated, order.outside) == (((0, 1), (1, 0)), ((0, 0),), (2, 3))
    assert repr(order) == "<PidOrder f, GROUP_M = 2: 2×2 tiles, 2 tiles never visited, 1 tile visited more than once, 2 programs outside>"
    text = str(order)
    assert "0+1" in text and "·" in text and text.endswith("2 programs outside: 2 → (2, 1), 3 → (-1, 0)")


def test_too_few_programs_leave_tiles_out():
    assert pairs((0, 0)).unvisited == ((0, 1), (1, 0), (1, 1))
    assert not pairs((0, 0)).one_to_one


def test_nine_programs_need_90_tiles_row_by_row_and_54_in_groups_of_three():
    rows, grouped = _played(9, 9, 1), _played(9, 9, 3)
    assert rows.tile_loads(0, 9, 9) == 90 and grouped.tile_loads(0, 9, 9) == 54
    assert [len(p) for p in rows.panels(0, 9)] == [1, 9] and [len(p) for p in grouped.panels(0, 9)] == [3, 3]
    assert rows.tile_loads(0, None, 9) == grouped.tile_loads(0, None, 9) == 162


def test_programs_outside_load_no_panels():
    assert [p.tolist() for p in pairs((0, 0), (5, 1)).panels()] == [[0], [0]]


def test_arrays_are_copied_frozen_and_of_one_length():
    given = np.array([0, 1])
    order = PidOrder("f", 2, 1, given, np.zeros(2))
    given[0] = 7
    assert order.pid_m.tolist() == [0, 1]
    with pytest.raises(ValueError):
        order.pid_m[0] = 3
    with pytest.raises(ValueError, match="pid_m and pid_n must be of one length; got 2 and 3"):
        PidOrder("f", 2, 1, given, np.zeros(3))
    with pytest.raises(ValueError, match="num_pid_n must be at least 1; got 0"):
        PidOrder("f", 2, 0, given, given)
    with pytest.raises(TypeError, match="num_pid_m must be a whole number; got 2.5"):
        PidOrder("f", 2.5, 1, given, given)
    for wrong in (0.5, float("nan"), 2**40):
        with pytest.raises(ValueError, match="pid_n must hold whole numbers of 32 bits; got"):
            PidOrder("f", 2, 1, given, [0, wrong])
    for wrong, error in ((-1, ValueError), (1.5, TypeError)):
        with pytest.raises(error, match="k_tiles must be"):
            order.tile_loads(0, 2, wrong)


def stored(by_hand, tiles, shape=(5, 7), block=(2, 4), strides=None, grid=None):
    arg = by_hand.arg("c_ptr", shape, strides)
    accesses = []
    for program, (m, n) in enumerate(tiles):
        r, c = m * block[0] + np.arange(block[0])[:, None], n * block[1] + np.arange(block[1])[None, :]
        accesses.append(by_hand.access("store", "c_ptr", program, r * arg.strides[0] + c * arg.strides[1], (r < shape[0]) & (c < shape[1])))
    return by_hand.launch([arg], accesses, grid or (len(tiles), 1, 1))


@pytest.mark.parametrize("strides", [(7, 1), (16, 1), (1, 5), (1, 9)])
def test_the_order_of_a_trace_is_that_of_its_stores(by_hand, strides):
    tiles = [(2, 1), (0, 0), (1, 0), (0, 1), (2, 0), (1, 1)]
    order = tile_order(stored(by_hand, tiles, strides=strides))
    assert (order.num_pid_m, order.num_pid_n) == (3, 2) and order.one_to_one
    assert list(zip(order.pid_m.tolist(), order.pid_n.tolist())) == tiles


def test_a_program_that_stores_nothing_lies_outside(by_hand):
    order = tile_order(stored(by_hand, [(0, 0), (3, 0), (1, 1)], grid=(4, 1, 1)))
    assert order.outside == (1, 3) and order.programs == 4


def test_what_has_no_order_says_why(by_hand):
    with pytest.raises(ValueError, match="k stores no 2-D block to a 2-D tensor"):
        tile_order(by_hand.vector_add(64, 16))
    with pytest.raises(ValueError, match="no 2-D block to d_ptr"):
        tile_order(stored(by_hand, [(0, 0)]), arg="d_ptr")
    launch = stored(by_hand, [(0, 0)])
    shifted = by_hand.access("store", "c_ptr", 1, launch.accesses[0].offsets + 8)
    with pytest.raises(ValueError, match=r"program \(1, 0, 0\) stores a tile that begins at \(1, 1\), no multiple of \(2, 4\)"):
        tile_order(by_hand.launch(launch.args, [shifted]))
    other = by_hand.access("store", "c_ptr", 1, np.zeros((4, 4), int))
    with pytest.raises(ValueError, match=r"tiles of \(2, 4\) and \(4, 4\) to c_ptr"):
        tile_order(by_hand.launch(launch.args, [*launch.accesses, other]))
