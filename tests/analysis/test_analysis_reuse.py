import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tritonlab.analysis import element_reuse, lru_fetches


def test_elements_loaded_once_have_no_reuse(by_hand):
    found = element_reuse(by_hand.vector_add(100, 16))
    assert [(a.arg, a.elements, a.average, a.most, a.by_several) for a in found.args] == [
        ("x_ptr", 100, 1.0, 1, 0),
        ("y_ptr", 100, 1.0, 1, 0),
    ]


def test_matmul_operands_are_loaded_once_for_each_tile_across(by_hand):
    a, b = by_hand.arg("a_ptr", (2, 3)), by_hand.arg("b_ptr", (3, 3))
    loads = [
        acc
        for m in range(2)
        for n in range(3)
        for acc in (
            by_hand.access("load", "a_ptr", (m, n), [m * 3 + k for k in range(3)]),
            by_hand.access("load", "b_ptr", (m, n), [k * 3 + n for k in range(3)]),
        )
    ]
    found = element_reuse(by_hand.launch([a, b], loads, (2, 3, 1)))
    assert (found.arg("a_ptr").average, found.arg("a_ptr").programs) == (3.0, 3)
    assert (found.arg("b_ptr").average, found.arg("b_ptr").programs) == (2.0, 2)
    assert repr(found) == "<Reuse k: a_ptr 3.00 loads an element, b_ptr 2.00 loads an element>"
    assert str(found).splitlines()[3].split() == ["a_ptr", "6", "18", "3.00", "3", "6", "3"]


def test_one_program_that_loads_twice_is_reuse_within_it(by_hand):
    x = by_hand.arg("x_ptr", (2,))
    (row,) = element_reuse(by_hand.launch([x], [by_hand.access("load", "x_ptr", 0, [0, 1]) for _ in range(2)])).args
    assert (row.average, row.programs, row.by_several) == (2.0, 1, 0)


def test_stores_and_atomics_are_no_loads(by_hand):
    x = by_hand.arg("x_ptr", (2,))
    found = element_reuse(by_hand.launch([x], [by_hand.access(k, "x_ptr", 0, [0]) for k in ("store", "atomic_add")], left_out=1))
    assert found.args == ()
    assert repr(found) == "<Reuse k: no loads, partial: 1 more access was not recorded>"
    with pytest.raises(KeyError, match="loads no argument 'x_ptr'"):
        found.arg("x_ptr")


def test_lru_keeps_what_was_used_last():
    assert lru_fetches("abab", 2) == 2
    assert lru_fetches("abcabc", 2) == 6
    assert lru_fetches("abacab", 2) == 4
    assert lru_fetches("aab", 0) == 3
    assert lru_fetches([], 4) == 0
    with pytest.raises(ValueError, match="got -1"):
        lru_fetches("a", -1)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 6), max_size=40), st.integers(0, 8))
def test_a_larger_cache_never_fetches_more(keys, capacity):
    fetched = lru_fetches(keys, capacity)
    assert len(set(keys)) <= fetched <= len(keys)
    assert lru_fetches(keys, capacity + 1) <= fetched
    assert lru_fetches(keys, 7) == len(set(keys))
