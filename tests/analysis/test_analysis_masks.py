from tritonlab.analysis import masked_lanes


def test_lanes_past_the_end_are_counted_per_access_and_in_total(by_hand):
    found = masked_lanes(by_hand.vector_add(1000, 64))
    assert [c.masked for c in found.of((15, 0, 0))] == [24, 24, 24]
    assert [c.masked for c in found.of((14, 0, 0))] == [0, 0, 0]
    assert (found.lanes, found.on, found.masked) == (3 * 1024, 3000, 72)
    assert found.share == 72 / 3072
    assert found.programs() == ((15, 0, 0),)
    assert repr(found) == "<MaskedLanes k: 72 of 3,072 lanes masked in 48 accesses>"


def test_without_a_mask_nothing_is_masked(by_hand):
    assert masked_lanes(by_hand.vector_add(1000, 64, drop_mask=True)).masked == 0


def test_the_table_has_a_row_for_each_line(by_hand):
    assert str(masked_lanes(by_hand.vector_add(10, 4))) == (
        "k: lanes masked off, by line\n"
        "line  kind   argument  lanes  masked  in programs\n"
        "────  ─────  ────────  ─────  ──────  ───────────\n"
        "5     load   x_ptr        12       2  2\n"
        "6     load   y_ptr        12       2  2\n"
        "7     store  out_ptr      12       2  2\n"
        "────  ─────  ────────  ─────  ──────  ───────────\n"
        "all                       36       6  2"
    )


def test_the_source_line_is_kept(by_hand):
    found = masked_lanes(by_hand.vector_add(4, 4))
    assert [c.text for c in found.counts] == ["x = tl.load(x_ptrs)", "y = tl.load(y_ptrs)", "tl.store(out_ptrs)"]
    assert masked_lanes(by_hand.launch([], [by_hand.access("load", "x_ptr", 0, [0])])).counts[0].text == ""


def test_many_programs_are_abbreviated(by_hand):
    x = by_hand.arg("x_ptr", (4,))
    made = by_hand.launch([x], [by_hand.access("load", "x_ptr", p, [0, 1], [True, False]) for p in range(9)], (9, 1, 1))
    assert "0, 1, 2, 3, … (9 programs)" in str(masked_lanes(made))


def test_no_accesses_and_scalars(by_hand):
    empty = masked_lanes(by_hand.launch([], []))
    assert (empty.lanes, empty.masked, empty.share) == (0, 0, 0.0)
    scalar = masked_lanes(by_hand.launch([by_hand.arg("x_ptr", ())], [by_hand.access("load", "x_ptr", 0, 0, False)]))
    assert (scalar.lanes, scalar.masked) == (1, 1)


def test_partial_traces_say_so(by_hand):
    found = masked_lanes(by_hand.launch([], [], left_out=1))
    assert repr(found).endswith("partial: 1 more access was not recorded>")
    assert str(found).endswith("partial: 1 more access was not recorded")
