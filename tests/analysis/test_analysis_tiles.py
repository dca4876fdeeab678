import numpy as np
import pytest

from tritonlab.analysis import owners, program_number
from tritonlab.trace.record import Trace


def test_each_program_owns_its_block(by_hand):
    found = owners(by_hand.vector_add(10, 4), "out_ptr", "store")
    assert found.first.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
    assert found.count.tolist() == [1] * 10
    assert found.touched[(2, 0, 0)].tolist() == [8, 9]
    assert found.slices((2, 0, 0)) == "[8:10]"
    assert (found.shared, found.untouched, found.outside) == (0, 0, 0)
    assert repr(found) == "<Owners k out_ptr: 3 programs store 10 elements>"


def test_the_table_names_each_program_and_its_box(by_hand):
    text = str(owners(by_hand.vector_add(10, 4), "x_ptr"))
    assert text.splitlines()[0] == "k: what each program touches of x_ptr"
    assert text.splitlines()[-1].split() == ["2", "2", "x_ptr[8:10]"]


def test_two_dimensional_boxes_with_rows_unlike_columns(by_hand):
    x = by_hand.arg("x_ptr", (3, 5))
    rows, cols = np.arange(1, 3), np.arange(2, 5)
    tile = rows[:, None] * 5 + cols[None, :]
    found = owners(by_hand.launch([x], [by_hand.access("load", "x_ptr", (1, 2), tile)], (2, 3, 1)), "x_ptr", "load")
    assert found.boxes == {(1, 2, 0): ((1, 2), (3, 5))}
    assert found.slices((1, 2, 0)) == "[1:3, 2:5]"
    assert found.first.shape == (3, 5)
    assert found.first[1, 2] == program_number((1, 2, 0), (2, 3, 1)) == 5
    assert found.untouched == 9


def test_a_strided_view_maps_offsets_to_its_own_indices(by_hand):
    x = by_hand.arg("x_ptr", (4,), (3,))
    found = owners(by_hand.launch([x], [by_hand.access("load", "x_ptr", 0, [0, 3])]), "x_ptr")
    assert found.first.tolist() == [0, 0, -1, -1]
    wrong = owners(by_hand.launch([x], [by_hand.access("load", "x_ptr", 0, [0, 1])]), "x_ptr")
    assert wrong.first.tolist() == [0, -1, -1, -1]
    assert wrong.outside == 1


def test_an_expanded_view_shows_a_touch_at_every_index(by_hand):
    x = by_hand.arg("x_ptr", (2, 3), (0, 1))
    found = owners(by_hand.launch([x], [by_hand.access("load", "x_ptr", 1, [1])]), "x_ptr")
    assert found.first.tolist() == [[-1, 1, -1], [-1, 1, -1]]
    assert found.boxes[(1, 0, 0)] == ((0, 1), (2, 2))


def test_a_scalar_access_of_a_zero_dimensional_view(by_hand):
    x = by_hand.arg("x_ptr", ())
    found = owners(by_hand.launch([x], [by_hand.access("load", "x_ptr", 0, 0)]), "x_ptr")
    assert found.first.shape == () and int(found.first) == 0
    assert found.slices((0, 0, 0)) == "[]"


def test_elements_of_two_programs_are_counted_and_the_first_kept(by_hand):
    x = by_hand.arg("x_ptr", (4,))
    found = owners(by_hand.launch([x], [by_hand.access("load", "x_ptr", p, [0, p]) for p in (2, 1)]), "x_ptr")
    assert found.first.tolist() == [2, 1, 2, -1]
    assert found.count.tolist() == [2, 1, 1, 0]
    assert repr(found) == "<Owners k x_ptr: 2 programs touch 4 elements, 1 by more than one program, 1 by none>"


def test_kinds_are_told_apart(by_hand):
    x = by_hand.arg("x_ptr", (3,))
    accesses = [by_hand.access(k, "x_ptr", 0, [i]) for i, k in enumerate(("load", "store", "atomic_add"))]
    made = by_hand.launch([x], accesses)
    assert [owners(made, "x_ptr", k).count.tolist() for k in ("load", "store", "atomic", "any")] == [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
        [1, 1, 1],
    ]
    with pytest.raises(ValueError, match="got 'write'"):
        owners(made, "x_ptr", "write")


def test_nothing_touched_and_empty_views(by_hand):
    made = by_hand.launch([by_hand.arg("x_ptr", (0, 4))], [by_hand.access("load", "x_ptr", 0, [0], [False])])
    found = owners(made, "x_ptr")
    assert found.first.shape == (0, 4)
    assert found.touched == {} and found.boxes == {}
    assert repr(found) == "<Owners k x_ptr: 0 programs touch 0 elements>"


def test_a_view_as_wide_as_memory_costs_only_its_elements(by_hand):
    x = by_hand.arg("x_ptr", (2, 2), (2**40, 1))
    found = owners(by_hand.launch([x], [by_hand.access("load", "x_ptr", 0, [2**40])]), "x_ptr")
    assert found.first.tolist() == [[-1, -1], [0, -1]]


def test_partial_traces_say_so(by_hand):
    made = by_hand.launch([by_hand.arg("x_ptr", (1,))], [], left_out=7, error="boom")
    assert owners(made, "x_ptr").note == "partial: 7 more accesses were not recorded and the launch ended by an error"


def test_a_trace_with_one_launch_will_do_and_others_are_refused(by_hand):
    made = by_hand.vector_add(4, 4)
    assert owners(Trace((made,)), "x_ptr") == owners(made, "x_ptr")
    assert owners(made, "x_ptr") != owners(made, "y_ptr")
    with pytest.raises(ValueError, match="choose one"):
        owners(Trace((made, made)), "x_ptr")
    with pytest.raises(TypeError, match="got int"):
        owners(3, "x_ptr")
    with pytest.raises(KeyError, match="it has x_ptr, y_ptr, out_ptr"):
        owners(made, "z_ptr")


def test_results_cannot_be_changed(by_hand):
    with pytest.raises(ValueError):
        owners(by_hand.vector_add(4, 4), "x_ptr").first[0] = 5
