import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tritonlab.analysis import output_coverage


def test_a_right_kernel_writes_each_element_once(by_hand):
    found = output_coverage(by_hand.vector_add(1000, 64))
    assert found.arg == "out_ptr"
    assert found.complete
    assert (found.never, found.once, found.more) == (0, 1000, 0)
    assert repr(found) == "<Coverage k out_ptr: 1,000 elements, each written once>"


def test_a_missing_program_leaves_elements_unwritten(by_hand):
    out = by_hand.arg("out_ptr", (10,))
    found = output_coverage(by_hand.launch([out], [by_hand.access("store", "out_ptr", 0, range(8))]))
    assert found.times.tolist() == [1] * 8 + [0, 0]
    assert not found.complete
    assert repr(found) == "<Coverage k out_ptr: 8 of 10 elements written once, 2 never>"


def test_writes_outside_the_view_are_told_apart(by_hand):
    found = output_coverage(by_hand.vector_add(10, 4, drop_mask=True))
    assert (found.once, found.outside, found.complete) == (10, 2, False)


def test_two_programs_that_disagree_are_named_with_their_values(by_hand):
    out = by_hand.arg("out_ptr", (2, 3))
    stores = [
        by_hand.access("store", "out_ptr", 0, [3, 4], values=[1.0, 2.0], line=7),
        by_hand.access("store", "out_ptr", (1, 2), [4, 5], values=[2.5, 3.0], line=8),
    ]
    found = output_coverage(by_hand.launch([out], stores))
    assert found.times.tolist() == [[0, 0, 0], [1, 2, 1]]
    assert (found.more, found.differing, found.unknown) == (1, 1, 0)
    (conflict,) = found.conflicts
    assert conflict.index == (1, 1)
    assert [(w.program, w.line, w.value) for w in conflict.writes] == [((0, 0, 0), 7, 2.0), ((1, 2, 0), 8, 2.5)]
    assert str(found).splitlines()[-1] == "out_ptr[1, 1]: 2 by program 0 line 7, then 2.5 by program (1, 2) line 8"


@pytest.mark.parametrize("again", [2.0, float("nan")])
def test_the_same_value_twice_is_no_conflict(by_hand, again):
    out = by_hand.arg("out_ptr", (1,))
    stores = [by_hand.access("store", "out_ptr", p, [0], values=[again]) for p in (0, 1)]
    found = output_coverage(by_hand.launch([out], stores))
    assert (found.more, found.differing) == (1, 0)


def test_two_lanes_of_one_store_can_disagree(by_hand):
    out = by_hand.arg("out_ptr", (2,))
    found = output_coverage(by_hand.launch([out], [by_hand.access("store", "out_ptr", 0, [0, 0], values=[1, 2])]))
    assert (found.never, found.more, found.differing) == (1, 1, 1)
    assert [w.value for w in found.conflicts[0].writes] == [1, 2]


def test_values_that_were_not_kept_are_unknown_not_equal(by_hand):
    out = by_hand.arg("out_ptr", (3,))
    stores = [
        by_hand.access("store", "out_ptr", 0, [0, 1], values=[1.0, 5.0]),
        by_hand.access("store", "out_ptr", 1, [1, 2]),
        by_hand.access("store", "out_ptr", 2, [0], values=[2.0]),
    ]
    found = output_coverage(by_hand.launch([out], stores))
    assert (found.more, found.differing, found.unknown) == (2, 1, 1)
    assert [w.value for w in found.conflicts[0].writes] == [1.0, 2.0]


def test_a_masked_lane_stores_nothing_even_when_its_value_differs(by_hand):
    out = by_hand.arg("out_ptr", (2,))
    stores = [
        by_hand.access("store", "out_ptr", 0, [0, 1], [True, False], values=[1.0, 9.0]),
        by_hand.access("store", "out_ptr", 1, [0, 1], [False, True], values=[9.0, 2.0]),
    ]
    assert output_coverage(by_hand.launch([out], stores)).complete


def test_atomics_count_as_writes_and_never_conflict(by_hand):
    out = by_hand.arg("out_ptr", (1,))
    adds = [by_hand.access("atomic_add", "out_ptr", p, [0], values=[float(p)]) for p in range(4)]
    found = output_coverage(by_hand.launch([out], adds))
    assert found.times.tolist() == [4]
    assert (found.more, found.differing) == (1, 0)


def test_only_the_first_conflicts_are_spelled_out(by_hand):
    out = by_hand.arg("out_ptr", (40,))
    stores = [by_hand.access("store", "out_ptr", p, range(40), values=np.full(40, p)) for p in (0, 1)]
    found = output_coverage(by_hand.launch([out], stores))
    assert (found.differing, len(found.conflicts)) == (40, 16)
    assert "… 24 more elements with different values" in str(found)


def test_an_expanded_output_is_one_element_in_memory(by_hand):
    out = by_hand.arg("out_ptr", (4,), (0,))
    found = output_coverage(by_hand.launch([out], [by_hand.access("store", "out_ptr", 0, [0], values=[1.0])]))
    assert found.times.tolist() == [1, 1, 1, 1]
    assert (found.once, found.complete) == (1, True)


def test_the_output_must_be_clear(by_hand):
    x, out = by_hand.arg("x_ptr", (1,)), by_hand.arg("out_ptr", (1,))
    both = by_hand.launch([x, out], [by_hand.access("store", n, 0, [0]) for n in ("x_ptr", "out_ptr")])
    with pytest.raises(ValueError, match="k writes x_ptr, out_ptr; choose one with arg="):
        output_coverage(both)
    assert output_coverage(both, "x_ptr").complete
    none = by_hand.launch([x, out], [])
    with pytest.raises(ValueError, match="k writes no argument"):
        output_coverage(none)
    assert output_coverage(none, "out_ptr").never == 1


def test_empty_outputs_are_complete_and_partial_traces_are_not(by_hand):
    empty = by_hand.launch([by_hand.arg("out_ptr", (0,))], [])
    assert output_coverage(empty, "out_ptr").complete
    partial = by_hand.launch([by_hand.arg("out_ptr", (0,))], [], left_out=2)
    assert not output_coverage(partial, "out_ptr").complete


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(1, 60), st.sampled_from([1, 2, 4, 8, 16]))
def test_any_size_and_block_is_covered_once(by_hand, n, block):
    found = output_coverage(by_hand.vector_add(n, block))
    assert found.complete and found.times.sum() == n


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.lists(st.lists(st.integers(0, 11), max_size=6), max_size=5))
def test_counts_agree_with_counting_one_by_one(by_hand, writes):
    out = by_hand.arg("out_ptr", (3, 4))
    stores = [by_hand.access("store", "out_ptr", p, w, values=[float(p)] * len(w)) for p, w in enumerate(writes)]
    found = output_coverage(by_hand.launch([out], stores, (max(1, len(writes)), 1, 1)), "out_ptr")
    flat = [sum(w.count(i) for w in writes) for i in range(12)]
    assert found.times.reshape(-1).tolist() == flat
    assert found.never + found.once + found.more == 12
    assert found.differing == sum(sum(i in w for w in writes) > 1 for i in range(12))
