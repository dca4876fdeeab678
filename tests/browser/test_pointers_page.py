"""The pointer picture in a real Chromium: lanes stand where the record says, in both pictures, and are found by hand and by key."""

from __future__ import annotations

import numpy as np
import pytest

from tritonlab.analysis.pointers import place
from tritonlab.views import pointers_specimens as p
from tritonlab.views import specimens as s
from tritonlab.views import stepped
from tritonlab.views.pointers import pointers
from tritonlab.views.screenshots import SERIOUS, axe_source, faults_of

BUGS = {bug: p.row_sums(bug) for bug in p.BUGS}

SAYS = {
    "right": "8 lanes on elements, 8 masked off.", "scaled twice": "all 16 lanes masked off.", "start not scaled": "8 lanes on another element, 8 masked off.",
    "chunk added twice": "", "mask on arange": "8 lanes where “right” has them, 8 on no element.",
}  # fmt: skip

DRAWN = """() => {
  // The state of every cell of the matrix, from the shapes drawn there, and the number written in it.
  const g = document.querySelector('.tl-matrix'), { view: [r0, r1, c0, c1], x, y, cw, ch } = g.tlMatrix;
  const point = g.ownerSVGElement.createSVGPoint(), at = {};
  for (let r = r0; r < r1; r++) for (let c = c0; c < c1; c++) {
    point.x = x(c) + cw / 2;
    point.y = y(r) + ch / 2;
    for (const path of g.querySelectorAll('path[data-state]')) if (path.isPointInFill(point)) at[`${r},${c}`] = (at[`${r},${c}`] || '') + path.dataset.state;
  }
  return { at, view: [r0, r1, c0, c1] };
}"""
STRIP = """() => {
  const g = document.querySelector('.tl-strip'), { window: [lo, hi], x, cell, rows, rowHeight } = g.tlStrip;
  const point = g.ownerSVGElement.createSVGPoint(), at = {};
  for (let o = lo; o < hi; o++) {
    point.x = x(o) + cell / 2;
    point.y = rows[0].y + rowHeight / 2;
    for (const path of g.querySelectorAll('.tl-lanes path[data-state]')) if (path.isPointInFill(point)) at[o] = path.dataset.state;
  }
  return at;
}"""


def settle(tab):
    tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def says(tab):
    settle(tab)
    return tab.locator(".tl-says").inner_text()


def state(tab, name):
    settle(tab)
    return tab.evaluate(f"document.querySelector('.tl-pointers').tlPointers.{name}")


def slide(tab, label, value):
    tab.locator("label", has_text=label).locator("input[type=range]").evaluate("(el, v) => { el.value = v; el.dispatchEvent(new Event('input')); }", value)
    settle(tab)


def spot(tab, where, key):
    """The middle of a cell of the matrix, or of an offset's lane in the strip, in the page."""
    script = {
        "matrix": "([r, c]) => { const g = document.querySelector('.tl-matrix'), m = g.getScreenCTM(), t = g.tlMatrix; return [m.e + t.x(c) + t.cw / 2, m.f + t.y(r) + t.ch / 2]; }",
        "strip": "(o) => { const g = document.querySelector('.tl-strip'), m = g.getScreenCTM(), t = g.tlStrip; return [m.e + t.x(o) + t.cell / 2, m.f + t.rows[0].y + 9]; }",
    }
    return tab.evaluate(script[where], key)


def expected(trace, arg, program, turn, right=None):
    """States by cell and by offset, as the analysis has them."""
    launch = trace.launch
    access = [a for a in launch.accesses if a.arg == arg and a.program == (program, 0, 0)][turn]
    placed = place(launch, access, right)
    names = np.array(["masked", "on", "bad", "astray"])[placed.state]
    cells, offsets = {}, {}
    for lane in np.ndindex(*access.offsets.shape):
        index = placed.reached if names[lane] in ("on", "astray") else placed.meant
        cells[",".join(str(i) for i in index[(slice(None), *lane)])] = names[lane]
        offsets[str(access.offsets[lane])] = "on" if names[lane] == "astray" else names[lane]
    return placed, cells, offsets


@pytest.mark.parametrize("layout", p.LAYOUTS)
def test_lanes_stand_at_their_elements_in_both_pictures(show, layout):
    trace = p.row_sums(layout=layout)
    tab = show(pointers(trace, arg="a_ptr", program=2))
    for turn in range(3):
        _, cells, offsets = expected(trace, "a_ptr", 2, turn)
        settle(tab)
        drawn = tab.evaluate(DRAWN)
        assert {k: v for k, v in drawn["at"].items()} == cells
        strip = tab.evaluate(STRIP)
        if layout != "broadcast":  # there masked lanes and lanes on share places
            assert {o: s for o, s in strip.items() if o in offsets} == {o: s for o, s in offsets.items() if o in strip} and len(strip) >= 8
        tab.locator(".tl-picture").focus()
        tab.keyboard.press("PageDown")


def test_each_variant_shows_its_own_lanes_against_the_right_ones(show):
    tab = show(pointers(BUGS))
    right = {}
    for n, bug in enumerate(p.BUGS):
        tab.get_by_label(bug, exact=True).check()
        settle(tab)
        program, turn = state(tab, "program"), state(tab, "turn")
        if bug == "right":
            for q in range(3):
                for t in range(3):
                    right[q, t] = expected(BUGS[bug], "a_ptr", q, t)[0]
        trace = pointers_launch(BUGS[bug])
        _, cells, _ = expected(trace, "a_ptr", program, turn, right[program, turn])
        drawn = tab.evaluate(DRAWN)
        r0, r1, c0, c1 = drawn["view"]
        seen = {k: v for k, v in cells.items() if r0 <= int(k.split(",")[0]) < r1 and c0 <= int(k.split(",")[1]) < c1}
        assert drawn["at"] == seen, bug
        assert says(tab).startswith(f"“{bug}”: program {program} loads from a_ptr")
        assert says(tab).endswith(SAYS[bug]), says(tab)
        assert tab.locator(".tl-matrix .tl-should").count() == (0 if bug == "right" else 1)
        if bug == "scaled twice":
            assert "16 lanes (masked) at rows 96…99: beyond this picture" in tab.locator(".tl-body").text_content()
        assert bool(tab.locator(".tl-ended").is_visible()) == (BUGS[bug].error is not None)
    assert n == 4


def test_a_lane_drawn_elsewhere_is_noticed(show):
    view = pointers(p.row_sums(), arg="a_ptr", program=2)
    access = next(q for q in view.data["variants"][0]["programs"] if q["number"] == 2)["accesses"][0]
    access["reached"] = access["reached"][::-1]
    _, cells, _ = expected(p.row_sums(), "a_ptr", 2, 0)
    assert show(view).evaluate(DRAWN)["at"] != cells


def pointers_launch(trace):
    """The trace with the access that ended it among the others, as the view takes it."""
    from tritonlab.trace.record import Trace
    from tritonlab.views.pointers import _launch

    return Trace((_launch(trace, ""),))


@pytest.mark.parametrize(
    ("bug", "terms", "fate"),
    [
        ("right", ["a_ptr", "9 · 12", "2 · 1", "a_ptr + 110"], "Element a[9, 2], which holds 110.0. i·stride_am + j·stride_ak = 9·12 + 2·1 = 110."),
        ("scaled twice", ["a_ptr", "96 · 12", "0 · 1", "a_ptr + 1152"], "Masked off: nothing is loaded there. Index (96, 0) is not in 10×12. In “right” this lane reaches a[8, 0]."),
        ("start not scaled", ["a_ptr", "2 · 4", "0 · 12", "0 · 1", "a_ptr + 8"], "Reaches a[0, 8], which holds 8.0. In “right” this lane reaches a[8, 0]."),
        ("mask on arange", ["a_ptr", "10 · 12", "0 · 1", "a_ptr + 120"], "No element: the offsets of a_ptr are 0…119. Index (10, 0) is not in 10×12. In “right” this lane is off."),
    ],
)
def test_the_arithmetic_of_a_lane_is_spelled_out(show, bug, terms, fate):
    tab = show(pointers(BUGS))
    tab.get_by_label(bug, exact=True).check()
    settle(tab)
    assert tab.locator(".tl-terms b").all_inner_texts() == terms
    assert tab.locator(".tl-fate").inner_text() == fate
    assert ("tl-warn" in tab.locator(".tl-fate").get_attribute("class")) == (bug != "right")


def test_pointing_links_a_lane_in_both_pictures_and_in_the_steps(show):
    tab = show(pointers(BUGS["right"], program=1))
    tab.mouse.move(*spot(tab, "matrix", [6, 3]))
    assert state(tab, "lane") == 11
    assert tab.locator(".tl-terms b").all_inner_texts() == ["a_ptr", "6 · 12", "3 · 1", "a_ptr + 75"]
    assert tab.locator(".tl-link").count() == 1 and tab.locator(".tl-matrix .tl-ring").count() == 1
    here = tab.locator(".tl-here").all_inner_texts()
    assert here == [", here 6", ", here 6", ", here 72", ", here a_ptr + 72", ", here 3", ", here 3", ", here 3", ", here a_ptr + 75"]
    tab.mouse.move(*spot(tab, "strip", 49))
    assert state(tab, "lane") == 1 and tab.locator(".tl-terms b").last.inner_text() == "a_ptr + 49"
    tab.mouse.move(*spot(tab, "matrix", [0, 0]))
    settle(tab)
    assert tab.locator(".tl-tip").inner_text() == "a[0, 0] at offset 0: no lane of this access"
    tab.mouse.move(5, 5)
    assert state(tab, "lane") == 6 and not tab.locator(".tl-tip").is_visible()  # the chosen one again
    tab.mouse.click(*spot(tab, "matrix", [7, 0]))
    tab.mouse.move(5, 5)
    assert state(tab, "lane") == 12


def test_keys_move_the_lane_in_rows_and_columns_and_go_through_the_accesses(show):
    tab = show(pointers(BUGS["right"], program=0))
    tab.locator(".tl-picture").focus()
    for key, lane in (("Home", 0), ("ArrowDown", 4), ("ArrowRight", 5), ("ArrowRight", 6), ("ArrowUp", 2), ("ArrowUp", 2), ("ArrowLeft", 1), ("End", 15), ("ArrowDown", 15)):
        tab.keyboard.press(key)
        assert state(tab, "lane") == lane, key
    assert "(line 16, 1 of 3)" in says(tab)
    tab.keyboard.press("PageDown")
    tab.keyboard.press("PageDown")
    assert "(line 16, 3 of 3)" in says(tab) and state(tab, "lane") == 15
    assert tab.locator(".tl-terms b").all_inner_texts() == ["a_ptr", "3 · 12", "3 · 1", "2 × (4 · 1)", "a_ptr + 47"]
    assert tab.locator(".tl-stage-head b").all_inner_texts() == [" ×2"] or "×2" in tab.locator(".tl-stage-head").last.inner_text()
    tab.keyboard.press("PageDown")
    tab.keyboard.press("PageUp")
    assert "(line 16, 2 of 3)" in says(tab)


def test_the_steps_show_shapes_and_what_broadcasting_stretches(show):
    tab = show(pointers(BUGS["right"], program=1))
    assert tab.locator(".tl-stage-foot > b").all_inner_texts() == ["(4,)", "(4, 1)", "(4, 1)", "(4, 1)", "(4,)", "(1, 4)", "(1, 4)", "(4, 4)"]
    stretched = [t for t in tab.locator(".tl-stage-foot").all_inner_texts() if "stretched to (4, 4)" in t]
    assert len(stretched) == 2
    card = tab.locator(".tl-stage-card").nth(6)
    assert card.locator("text").all_text_contents() == ["0", "1", "2", "3"] * 4 and card.locator("text.tl-faint").count() == 12
    assert tab.locator(".tl-stage-card svg").nth(7).get_attribute("aria-label").endswith("shape 4 × 4, offsets 48…87")


def test_of_long_blocks_the_chosen_lane_and_the_ends_are_written_out(show):
    tab = show(pointers(stepped.vector_add()))
    tab.locator(".tl-picture").focus()
    tab.keyboard.press("Home")
    for _ in range(20):
        tab.keyboard.press("ArrowRight")
    settle(tab)
    offs = tab.locator(".tl-stage-card").first
    assert offs.locator("text").all_text_contents() == ["960", "961", "962", "…", "980", "…", "1023"] and offs.locator(".tl-ring").count() == 1


def test_without_steps_the_offsets_are_shown_and_how_to_get_more(show):
    tab = show(pointers(p.row_sums(steps=False), program=1))
    assert tab.locator(".tl-stage-card").count() == 0 and "trace it with step=" in tab.locator(".tl-how").inner_text()
    assert tab.locator(".tl-terms b").all_inner_texts() == ["a_ptr + 62"]


def test_program_access_and_argument_are_chosen_by_controls(show):
    tab = show(pointers(BUGS))
    slide(tab, "Program", 1)
    slide(tab, "Access", 2)
    assert says(tab).startswith("“right”: program 1 loads from a_ptr (line 16, 3 of 3)")
    tab.get_by_label("chunk added twice", exact=True).check()  # a choice by hand stays
    assert says(tab).startswith("“chunk added twice”: program 1 loads from a_ptr (line 16, 3 of 3): all 16 lanes on another element.")
    tab.get_by_label("out_ptr", exact=True).check()
    assert says(tab).startswith("“chunk added twice”: program 1 stores to out_ptr (line 22): all 4 lanes where “right” has them.")
    assert state(tab, "arg") == "out_ptr"
    tab.locator(".tl-picture").focus()
    tab.keyboard.press("Home")
    tab.keyboard.press("ArrowDown")
    assert state(tab, "lane") == 1  # of one axis, both pairs of arrows move


def test_radio_buttons_answer_to_the_keyboard(show):
    tab = show(pointers(BUGS))
    tab.get_by_label("right", exact=True).focus()
    tab.keyboard.press("ArrowRight")
    assert state(tab, "variant") == "scaled twice"


def test_one_axis_lanes_out_of_range_and_three_axes_in_slices(show):
    tab = show(pointers(stepped.refused()))
    assert "40 lanes on elements, 24 on no element." in says(tab)
    tab = show(pointers(p.batched(), program=(1, 2)))
    assert "x_ptr" in says(tab) and tab.locator(".tl-matrix text.tl-mono").text_content() == "[2, :, :]"
    assert tab.locator(".tl-fate").inner_text().startswith("Element x[2, 5, 2], which holds 138.0.")


def test_blocks_of_thousands_of_lanes_stay_quick_and_visible(show):
    tab = show(pointers(s.matmul(200, 180, 96, 64, 32), program=(1, 2)))
    r0, r1, c0, c1 = tab.evaluate(DRAWN)["view"]
    assert r0 <= 64 and r1 >= 128 and c0 == 0
    assert tab.locator(".tl-picture svg *").count() < 1500


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("view", [pointers(BUGS), pointers(stepped.vector_add()), pointers(stepped.row_sums())], ids=["bugs", "one axis", "wide"])
def test_it_fits_480_px_in_both_themes_without_faults(show, view, dark):
    tab = show(view, width=480, dark=dark)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 480
    edges = tab.evaluate("[...document.querySelectorAll('.tl-view svg text')].map((t) => t.getBoundingClientRect()).map((r) => [r.left, r.right])")
    assert min(e[0] for e in edges) >= 0 and max(e[1] for e in edges) <= 480
    axe = axe_source()
    if axe is None:
        pytest.skip("axe-core is not installed")
    assert [f for f in faults_of(tab, axe) if f["impact"] in SERIOUS] == []


def test_switching_variants_leaves_the_controls_where_they_are(show):
    tab = show(pointers(BUGS))
    places = set()
    for bug in (*p.BUGS, *p.BUGS):
        tab.get_by_label(bug, exact=True).check()
        settle(tab)
        places.add(round(tab.locator(".tl-controls").bounding_box()["y"]))
    assert len(places) <= 2, places  # once lower, for the longest sentence, and then never again


def test_new_data_keeps_what_the_reader_chose(show):
    tab = show(pointers(BUGS["right"]))
    slide(tab, "Program", 1)
    tab.evaluate("(data) => window.tritonlab.model.set('data', data)", pointers(p.row_sums(layout="transposed")).data)
    assert state(tab, "program") == 1 and "strides (1, 10)" in tab.locator(".tl-body").text_content()
    tab.evaluate("(data) => window.tritonlab.model.set('data', data)", pointers(s.vector_add(100, 16)).data)
    assert says(tab).startswith("Program 1 loads from x_ptr")
