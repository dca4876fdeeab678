import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tritonlab.analysis import find_races


def test_a_right_kernel_has_none(by_hand):
    found = find_races(by_hand.vector_add(100, 16))
    assert not found
    assert repr(found) == "<Races k: no candidates>"
    assert str(found).splitlines()[-1] == "none"


def test_accumulating_by_load_and_store_is_found(by_hand):
    out = by_hand.arg("out_ptr", (1,))
    accesses = [by_hand.access(k, "out_ptr", p, [0], line=4 + (k == "store")) for p in (0, 1) for k in ("load", "store")]
    found = find_races(by_hand.launch([out], accesses))
    assert (found.written_twice, found.read_and_written) == (1, 0)
    assert str(found.candidates[0]) == "out_ptr[0]: stored by program 0 line 5, stored by program 1 line 5"


def test_one_program_may_read_what_it_wrote(by_hand):
    out = by_hand.arg("out_ptr", (1,))
    accesses = [by_hand.access(k, "out_ptr", 0, [0]) for k in ("load", "store", "load", "store")]
    assert not find_races(by_hand.launch([out], accesses))


def test_many_may_read(by_hand):
    x = by_hand.arg("x_ptr", (1,))
    assert not find_races(by_hand.launch([x], [by_hand.access("load", "x_ptr", p, [0]) for p in range(4)]))


def test_atomics_among_themselves_do_not_race(by_hand):
    out = by_hand.arg("out_ptr", (1,))
    assert not find_races(by_hand.launch([out], [by_hand.access("atomic_add", "out_ptr", p, [0]) for p in range(4)]))


@pytest.mark.parametrize("kind, twice, mixed", [("load", 0, 1), ("store", 1, 0)])
def test_an_atomic_races_with_a_plain_access_of_another_program(by_hand, kind, twice, mixed):
    out = by_hand.arg("out_ptr", (1,))
    accesses = [by_hand.access(kind, "out_ptr", 0, [0]), by_hand.access("atomic_add", "out_ptr", 1, [0])]
    found = find_races(by_hand.launch([out], accesses))
    assert (found.written_twice, found.read_and_written) == (twice, mixed)


def test_a_read_of_what_another_program_writes_through_a_second_name(by_hand):
    args = [
        by_hand.arg("x_ptr", (4,), storage=3, storage_size=5),
        by_hand.arg("out_ptr", (4,), storage=3, storage_size=5, storage_offset=1),
    ]
    accesses = [a for p in range(4) for a in (by_hand.access("load", "x_ptr", p, [p]), by_hand.access("store", "out_ptr", p, [p]))]
    found = find_races(by_hand.launch(args, accesses))
    assert found.read_and_written == 3
    assert str(found.candidates[0]) == "out_ptr[0]: stored by program 0 line 10, loaded by program 1 line 10 through x_ptr"
    apart = [by_hand.arg("x_ptr", (4,), storage=3, storage_size=4), by_hand.arg("out_ptr", (4,), storage=4, storage_size=4)]
    assert not find_races(by_hand.launch(apart, accesses))


def test_masked_lanes_do_not_race(by_hand):
    out = by_hand.arg("out_ptr", (2,))
    accesses = [by_hand.access("store", "out_ptr", p, [0, 1], [p == 0, p == 1]) for p in (0, 1)]
    assert not find_races(by_hand.launch([out], accesses))


def test_a_lock_makes_them_candidates_only(by_hand):
    args = [by_hand.arg("lock_ptr", (1,)), by_hand.arg("out_ptr", (1,))]
    accesses = [
        a
        for p in (0, 1)
        for a in (by_hand.access("atomic_cas", "lock_ptr", p, [0]), by_hand.access("store", "out_ptr", p, [0]))
    ]
    found = find_races(by_hand.launch(args, accesses))
    assert found.written_twice == 1
    assert found.note == "the kernel uses atomic_cas, which may order them"


def test_only_the_first_are_spelled_out(by_hand):
    out = by_hand.arg("out_ptr", (50,))
    found = find_races(by_hand.launch([out], [by_hand.access("store", "out_ptr", p, range(50)) for p in (0, 1)]))
    assert (found.elements, len(found.candidates)) == (50, 16)
    assert "… 34 more elements" in str(found)


def test_grids_of_two_axes_keep_programs_apart(by_hand):
    out = by_hand.arg("out_ptr", (1,))
    accesses = [by_hand.access("store", "out_ptr", p, [0]) for p in ((0, 1), (1, 0))]
    (race,) = find_races(by_hand.launch([out], accesses, (2, 2, 1))).candidates
    assert (race.writer, race.other) == ((0, 1, 0), (1, 0, 0))


def test_no_accesses_and_partial_traces(by_hand):
    assert repr(find_races(by_hand.launch([], [], left_out=1))) == (
        "<Races k: no candidates, partial: 1 more access was not recorded>"
    )


kinds = st.sampled_from(["load", "store", "atomic_add"])


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.tuples(kinds, st.integers(0, 2), st.lists(st.integers(0, 3), max_size=3)), max_size=7))
def test_the_same_elements_as_comparing_every_pair(by_hand, made):
    out = by_hand.arg("out_ptr", (4,))
    found = find_races(by_hand.launch([out], [by_hand.access(k, "out_ptr", p, o) for k, p, o in made]))
    twice, mixed = set(), set()
    for (k1, p1, o1), (k2, p2, o2) in itertools.combinations(made, 2):
        if p1 == p2 or k1 == k2 == "load" or (k1 == k2 == "atomic_add"):
            continue
        (mixed if "load" in (k1, k2) else twice).update(set(o1) & set(o2))
    assert found.written_twice == len(twice)
    assert found.read_and_written == len(mixed - twice)
    assert {c.offset for c in found.candidates} == twice | mixed
    assert all(c.writer != c.other and c.writer_kind != "loaded" for c in found.candidates)
