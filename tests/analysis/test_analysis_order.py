from tritonlab.analysis import program_order


def test_one_axis_runs_in_order(by_hand):
    found = program_order(by_hand.vector_add(10, 4))
    assert found.traced == found.gpu == ((0, 0, 0), (1, 0, 0), (2, 0, 0))
    assert found.agrees and found.silent == ()
    assert repr(found) == "<Order k[3]: 3 programs of 3 touched memory>"


def test_a_trace_with_the_last_axis_fastest_is_not_in_the_order_of_a_gpu(by_hand):
    x = by_hand.arg("x_ptr", (1,))
    seen = [(i, j) for i in range(2) for j in range(3)]
    found = program_order(by_hand.launch([x], [by_hand.access("load", "x_ptr", p, [0]) for p in seen], (2, 3, 1)))
    assert found.traced[:3] == ((0, 0, 0), (0, 1, 0), (0, 2, 0))
    assert found.gpu[:3] == ((0, 0, 0), (1, 0, 0), (0, 1, 0))
    assert not found.agrees
    assert "in another order than a GPU's" in repr(found)


def test_programs_without_an_access_are_silent(by_hand):
    x = by_hand.arg("x_ptr", (1,))
    found = program_order(by_hand.launch([x], [by_hand.access("load", "x_ptr", 2, [0])], (4, 1, 1)))
    assert found.silent == ((0, 0, 0), (1, 0, 0), (3, 0, 0))
    assert found.agrees
    assert str(found).splitlines()[1:] == ["traced  2", "GPU     0 1 2 3", "silent  0 1 3"]


def test_long_orders_are_cut_and_empty_ones_said(by_hand):
    text = str(program_order(by_hand.launch([], [], (20, 1, 1), left_out=1)))
    assert "traced  none" in text
    assert "GPU     0 1 2 3 4 5 6 7 8 9 10 11 … (20 in all)" in text
    assert text.endswith("partial: 1 more access was not recorded")
