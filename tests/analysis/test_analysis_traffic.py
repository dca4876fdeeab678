import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tritonlab.analysis import bytes_moved


def test_vector_add_moves_the_ideal(by_hand):
    found = bytes_moved(by_hand.vector_add(1000, 64))
    assert (found.loaded, found.stored, found.unique, found.ideal) == (8000, 4000, 12000, 12000)
    assert found.redundancy == 1.0
    assert repr(found) == "<Traffic k: 8,000 bytes loaded, 4,000 stored, ideal 12,000 (1.00 × the ideal)>"


def test_the_table_adds_up(by_hand):
    assert str(bytes_moved(by_hand.vector_add(1000, 64))) == (
        "k: bytes moved\n"
        "argument  dtype    loaded  stored   ideal  moved / ideal\n"
        "────────  ───────  ──────  ──────  ──────  ─────────────\n"
        "x_ptr     float32   4,000       0   4,000           1.00\n"
        "y_ptr     float32   4,000       0   4,000           1.00\n"
        "out_ptr   float32       0   4,000   4,000           1.00\n"
        "────────  ───────  ──────  ──────  ──────  ─────────────\n"
        "all                 8,000   4,000  12,000           1.00"
    )


def test_a_weight_that_every_program_loads_is_redundant(by_hand):
    w = by_hand.arg("w_ptr", (8,), dtype="bfloat16", itemsize=2)
    found = bytes_moved(by_hand.launch([w], [by_hand.access("load", "w_ptr", p, range(8)) for p in range(4)]))
    assert (found.loaded, found.unique, found.ideal, found.redundancy) == (64, 16, 16, 4.0)
    assert found.arg("w_ptr").unique_loaded == 16


def test_what_is_not_loaded_shows_below_the_ideal(by_hand):
    x = by_hand.arg("x_ptr", (8,))
    found = bytes_moved(by_hand.launch([x], [by_hand.access("load", "x_ptr", 0, [0, 1])]))
    assert (found.unique, found.ideal, found.redundancy) == (8, 32, 0.25)


def test_an_expanded_input_is_ideally_read_once(by_hand):
    x = by_hand.arg("x_ptr", (100,), (0,))
    found = bytes_moved(by_hand.launch([x], [by_hand.access("load", "x_ptr", 0, np.zeros(100))]))
    assert (found.loaded, found.ideal, found.redundancy) == (400, 4, 100.0)


def test_in_place_work_reads_and_writes_its_argument(by_hand):
    x = by_hand.arg("x_ptr", (4,))
    accesses = [by_hand.access(k, "x_ptr", 0, range(4)) for k in ("load", "store")]
    found = bytes_moved(by_hand.launch([x], accesses))
    assert (found.loaded, found.stored, found.ideal) == (16, 16, 32)


def test_an_atomic_loads_and_stores_but_makes_no_input(by_hand):
    out = by_hand.arg("out_ptr", (1,))
    found = bytes_moved(by_hand.launch([out], [by_hand.access("atomic_add", "out_ptr", p, [0]) for p in range(3)]))
    assert (found.loaded, found.stored, found.ideal) == (12, 12, 4)
    assert found.redundancy == 6.0


def test_one_tensor_under_two_names_counts_once_in_the_total(by_hand):
    shared = dict(storage=1, storage_size=4)
    args = [by_hand.arg(n, (4,), **shared) for n in ("x_ptr", "y_ptr")]
    found = bytes_moved(by_hand.launch(args, [by_hand.access("load", n, 0, range(4)) for n in ("x_ptr", "y_ptr")]))
    assert (found.loaded, found.unique, found.ideal, found.redundancy) == (32, 16, 16, 2.0)
    assert "overlap in memory" in str(found)


def test_neighbours_in_one_allocation_do_not_overlap(by_hand):
    args = [by_hand.arg("x_ptr", (4,), storage=1, storage_size=8), by_hand.arg("y_ptr", (4,), storage=1, storage_size=8, storage_offset=4)]
    found = bytes_moved(by_hand.launch(args, [by_hand.access("load", n, 0, range(4)) for n in ("x_ptr", "y_ptr")]))
    assert (found.unique, found.ideal) == (32, 32)


def test_views_of_two_item_sizes_overlap_byte_by_byte(by_hand):
    args = [
        by_hand.arg("x_ptr", (4,), storage=1, storage_size=4),
        by_hand.arg("y_ptr", (4,), dtype="float16", itemsize=2, storage=1, storage_size=8, storage_offset=6),
    ]
    found = bytes_moved(by_hand.launch(args, [by_hand.access("load", n, 0, range(4)) for n in ("x_ptr", "y_ptr")]))
    assert found.unique == 16 + 8 - 4


def test_nothing_moved_and_nothing_to_move(by_hand):
    found = bytes_moved(by_hand.launch([by_hand.arg("x_ptr", (0,))], []))
    assert (found.moved, found.ideal, found.redundancy) == (0, 0, 1.0)
    untouched = bytes_moved(by_hand.launch([by_hand.arg("x_ptr", (5,))], []))
    assert untouched.ideal == 0
    stray = bytes_moved(by_hand.launch([by_hand.arg("x_ptr", (0,))], [by_hand.access("load", "x_ptr", 0, [0])]))
    assert stray.redundancy == float("inf")


def test_rows_are_found_by_name_and_partial_traces_say_so(by_hand):
    made = by_hand.launch([by_hand.arg("x_ptr", (1,))], [], left_out=3)
    with pytest.raises(KeyError, match="it has x_ptr"):
        bytes_moved(made).arg("y_ptr")
    assert "partial: 3 more accesses were not recorded" in str(bytes_moved(made))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.lists(st.integers(0, 15), max_size=8), max_size=5))
def test_unique_bytes_lie_between_nothing_and_what_is_moved(by_hand, loads):
    x = by_hand.arg("x_ptr", (16,))
    found = bytes_moved(by_hand.launch([x], [by_hand.access("load", "x_ptr", 0, o) for o in loads]))
    assert found.loaded == 4 * sum(map(len, loads))
    assert found.unique == 4 * len(set().union(*loads)) <= found.loaded
    assert found.ideal in (0, 64) and found.unique <= found.ideal
