"""The tile picture in a real Chromium: what is drawn is what was traced, and a reader can find it by hand and by key."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tritonlab.trace.record import Access, Launch
from tritonlab.views import specimens as s
from tritonlab.views.tiles import tiles

DRAWN = """(arg) => {
  // For every row of an argument's strip and every offset of its window: the state of the lane drawn there, from the shapes.
  const strip = document.querySelector(`[data-arg="${arg}"] .tl-strip`);
  const { window: [lo, hi], x, cell, rows, rowHeight } = strip.tlStrip;
  const svg = strip.ownerSVGElement;
  const groups = [...strip.querySelectorAll(".tl-lanes")];
  return rows.map((row, i) => {
    const at = {};
    for (let o = lo; o < hi; o++) {
      const point = svg.createSVGPoint();
      point.x = x(o) + cell / 2;
      point.y = row.y + rowHeight / 2;
      for (const path of groups[i].querySelectorAll("path[data-state]")) if (path.isPointInFill(point)) at[o] = (at[o] ? at[o] + "+" : "") + path.dataset.state;
    }
    return { kind: row.kind, program: Number(groups[i].dataset.program), at };
  });
}"""
MATRIX = """(arg) => {
  const g = document.querySelector(`[data-arg="${arg}"]`);
  const scale = g.tlMatrix.scales[0], [r0, r1, c0, c1] = scale.view;
  const at = {};
  for (let r = r0; r < r1; r++) for (let c = c0; c < c1; c++) {
    const point = g.ownerSVGElement.createSVGPoint();
    point.x = scale.x(c) + scale.cw / 2;
    point.y = scale.y(r) + scale.ch / 2;
    const panel = g.querySelector(".tl-lanes").parentElement;
    for (const path of panel.querySelectorAll(".tl-lanes path[data-state]")) if (path.isPointInFill(point)) at[`${r},${c}`] = path.dataset.state;
  }
  return at;
}"""


def choose(tab, program: int) -> None:
    tab.evaluate("(p) => document.querySelector('.tl-tiles').tlTiles.choose(p)", program)
    settle(tab)


def settle(tab) -> None:
    tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def says(tab) -> str:
    return tab.locator(".tl-says").inner_text()


def program(tab) -> int:
    settle(tab)
    return tab.evaluate("document.querySelector('.tl-tiles').tlTiles.program")


def expected(launch: Launch, access: Access) -> dict[str, str]:
    """The state of every lane by its offset, as the trace has it."""
    valid = set(launch.arg(access.arg).offsets().ravel().tolist())
    return {
        str(o): ("masked" if not on else "on" if o in valid else "bad")
        for o, on in zip(access.offsets.ravel().tolist(), access.mask.ravel().tolist())
    }


def mistakes(launch: Launch, tab, programs) -> list[str]:
    """Every offset of every access of these programs where the picture differs from the trace."""
    found = []
    for number in programs:
        choose(tab, number)
        for arg in launch.args:
            drawn = tab.evaluate(DRAWN, arg.name)
            traced = [a for a in launch.accesses if a.program == (number, 0, 0) and a.arg == arg.name]
            if [r["kind"] for r in drawn] != [a.kind for a in traced]:
                found.append(f"program {number}: {arg.name} has rows {[r['kind'] for r in drawn]}")
                continue
            for row, access in zip(drawn, traced):
                if row["at"] != expected(launch, access) or row["program"] != number:
                    found.append(f"program {number}: {access!r}: {row['at']}")
    return found


@pytest.mark.parametrize(
    ("launch", "programs"),
    [(s.vector_add(40, 16), range(3)), (s.vector_add(1000, 64), (0, 7, 15)), (s.vector_add(1000, 64, masked=False), (15,)), (s.strided_copy(), range(3)), (s.reversed_copy(), range(4)), (s.overlapping(), range(5))],
    ids=["small", "with zoom", "out of range", "strided", "reversed", "overlapping"],
)
def test_the_picture_is_the_trace_element_by_element(show, launch, programs):
    assert mistakes(launch, show(tiles(launch)), programs) == []


def test_a_picture_of_another_launch_is_found_to_differ(show):
    assert len(mistakes(s.vector_add(40, 16), show(tiles(s.vector_add(41, 16))), [2])) == 3


def test_lanes_between_the_elements_of_a_view_are_not_called_out_of_range(show):
    launch = s.strided_copy()
    astray = [dataclasses.replace(a, offsets=a.offsets // 3) for a in launch.accesses]
    tab = show(tiles(dataclasses.replace(launch, accesses=astray[:1])))
    assert says(tab).endswith(": 3 lanes on, 5 between the elements.")
    assert tab.locator(".tl-slider output").first.inner_text() == "0 (0…2)"


@pytest.mark.parametrize("number", [0, 5, 11])
def test_the_matrix_shows_every_lane_at_its_row_and_column(show, number):
    launch = s.matmul()
    tab = show(tiles(launch, program=number, picture="matrix"))
    pid = (number % 3, number // 3, 0)
    for name in ("a_ptr", "b_ptr", "c_ptr"):
        access = next(a for a in launch.accesses if a.program == pid and a.arg == name)
        columns = launch.arg(name).shape[1]
        first = divmod(int(access.offsets[0, 0]), columns)
        want = {
            f"{first[0] + i},{first[1] + j}": "on" if access.mask[i, j] else "masked"
            for i in range(access.offsets.shape[0])
            for j in range(access.offsets.shape[1])
        }
        assert tab.evaluate(MATRIX, name) == want


def test_the_sentence_says_what_the_chosen_program_does(show):
    tab = show(tiles(s.vector_add()))
    assert says(tab) == "Program 15 of 16 loads x_ptr[960…999] and y_ptr[960…999], stores out_ptr[960…999]: 40 lanes on, 24 masked past the end."
    choose(tab, 2)
    assert says(tab) == "Program 2 of 16 loads x_ptr[128…191] and y_ptr[128…191], stores out_ptr[128…191]: all 64 lanes on."
    assert says(tab) in tab.locator("svg[role=img]").get_attribute("aria-label")
    assert tab.locator("svg[role=img] > title").text_content() == tab.locator("svg[role=img]").get_attribute("aria-label")


@pytest.mark.parametrize(
    ("launch", "words"),
    [
        (s.vector_add(masked=False), "Program 15 of 16 loads x_ptr[960…1023] and y_ptr[960…1023], stores out_ptr[960…1023]: 40 lanes on, 24 out of range."),
        (s.strided_copy(), "Program 0 of 3 loads x_ptr[0…21] in steps of 3, stores out_ptr[0…7]: all 8 lanes on."),
        (s.grid_stride(), "Program 3 of 4 (pass 1 of 8) loads x_ptr[384…511], stores x_ptr[384…511]: all 128 lanes on."),
        (s.softmax_rows(), "Program 0 of 12 loads x_ptr[0, 0…36], stores out_ptr[0, 0…36]: 37 lanes on, 27 masked."),
        (s.vector_add(0, 64), "The grid is empty: no program ran."),
    ],
)
def test_every_kind_of_launch_has_its_sentence(show, launch, words):
    assert says(show(tiles(launch))) == words


def test_keys_choose_programs_and_lanes(show):
    tab = show(tiles(s.vector_add()))
    tab.locator(".tl-picture").focus()
    for key, number in [("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("PageDown", 3), ("PageUp", 1), ("End", 15), ("ArrowRight", 15), ("Home", 0), ("ArrowLeft", 0)]:
        tab.keyboard.press(key)
        assert program(tab) == number, key
    tab.keyboard.press("End")
    for _ in range(3):
        tab.keyboard.press("ArrowDown")
    settle(tab)
    assert tab.locator(".tl-readout").inner_text() == "Lane 2: x_ptr[962] loads 120.25 · y_ptr[962] loads 31.016125 · out_ptr[962] stores 151.26613"
    tab.keyboard.press("Escape")
    settle(tab)
    assert "choose a program" in tab.locator(".tl-readout").inner_text()


def test_the_sliders_work_with_keys_and_are_labelled(show):
    tab = show(tiles(s.vector_add()))
    slider = tab.get_by_label("Program", exact=False).locator("visible=true").first
    slider.focus()
    slider.press("ArrowLeft")
    assert program(tab) == 14
    lane = tab.locator("label", has_text="Lane").locator("input")
    lane.focus()
    lane.press("End")
    settle(tab)
    assert tab.locator(".tl-readout").inner_text().startswith("Lane 63: x_ptr[959] loads")


def test_a_drag_of_the_slider_changes_the_picture_at_every_step(show):
    tab = show(tiles(s.vector_add()))
    box = tab.locator("label", has_text="Program").locator("input").bounding_box()
    y = box["y"] + box["height"] / 2
    tab.mouse.move(box["x"] + box["width"] - 8, y)
    tab.mouse.down()
    seen = []
    for i in range(12):
        tab.mouse.move(box["x"] + box["width"] - 8 - i * box["width"] / 14, y)
        settle(tab)
        seen.append(says(tab).split(" loads")[0])
    tab.mouse.up()
    assert len(set(seen)) >= 10 and seen[0] == "Program 15 of 16" and program(tab) < 6


def test_a_click_on_a_tile_chooses_its_program(show):
    tab = show(tiles(s.vector_add()))
    picture = tab.locator(".tl-picture svg").bounding_box()
    y = picture["y"] + tab.evaluate("document.querySelector('[data-arg=x_ptr]').getBoundingClientRect().top - document.querySelector('.tl-picture svg').getBoundingClientRect().top") + 28
    tab.mouse.click(picture["x"] + 84 + (picture["width"] - 84) * (3.5 * 64 / 1024), y)
    assert program(tab) == 3
    tab.mouse.move(picture["x"] + 84 + (picture["width"] - 84) * (3.5 * 64 / 1024), y)
    tab.mouse.down()
    tab.mouse.move(picture["x"] + 84 + (picture["width"] - 84) * (9.5 * 64 / 1024), y, steps=5)
    tab.mouse.up()
    assert program(tab) == 9


def test_clicking_an_element_of_several_programs_goes_through_them(show):
    tab = show(tiles(s.overlapping(), program=0))
    where = tab.evaluate(
        "() => { const g = document.querySelector('[data-arg=out_ptr] .tl-strip'); const m = g.getScreenCTM(); const { x, cell, rows } = g.tlStrip;"
        " return [m.e + x(13) + cell / 2, m.f + rows[0].y + 30]; }"
    )
    seen = []
    for _ in range(4):
        tab.mouse.click(*where)
        seen.append(program(tab))
    assert seen == [1, 0, 1, 0]
    assert "16 elements of out_ptr are stored by several programs (up to 2)" in tab.locator(".tl-warn").inner_text()


@pytest.mark.parametrize(
    ("lane", "words"),
    [
        (0, ["lane 0 of program 15", "x_ptr[960]", "loads 120", "line 6: x = tl.load(x_ptr + offs, mask=mask)"]),
        (63, ["lane 63 of program 15", "x_ptr[1023]", "masked: not loaded, and no other= is given: undefined on a GPU, 0.0 here"]),
    ],
)
def test_pointing_at_a_lane_tells_its_offset_value_and_line(show, lane, words):
    tab = show(tiles(s.vector_add()))
    where = tab.evaluate(
        "(lane) => { const g = document.querySelector('[data-arg=x_ptr] .tl-strip'); const m = g.getScreenCTM(); const { x, cell, rows } = g.tlStrip;"
        " return [m.e + x(960 + lane) + cell / 2, m.f + rows[0].y + 9]; }",
        lane,
    )
    tab.mouse.move(*where)
    settle(tab)
    tip = tab.locator(".tl-tip")
    assert all(word in tip.inner_text() for word in words), tip.inner_text()
    assert tab.locator(".tl-readout").inner_text().startswith(f"Lane {lane}:")
    tab.mouse.move(5, 5)
    settle(tab)
    assert not tip.is_visible()


def test_the_fill_that_masked_lanes_took_is_told(show):
    tab = show(tiles(s.softmax_rows()))
    tab.locator("label", has_text="Lane").locator("input").evaluate("(el) => { el.value = 63; el.dispatchEvent(new Event('input')); }")
    settle(tab)
    assert tab.locator(".tl-readout").inner_text() == "Lane 63: x_ptr[63] masked: not loaded, takes the fill -inf · out_ptr[63] masked: nothing is written"


def test_a_program_with_many_tiles_is_gone_through_by_passes(show):
    launch = s.grid_stride()
    tab = show(tiles(launch, program=1))
    slider = tab.locator("label", has_text="Pass").locator("input")
    assert slider.is_visible() and slider.get_attribute("max") == "7"
    slider.focus()
    slider.press("End")
    settle(tab)
    assert says(tab).startswith("Program 1 of 4 (pass 8 of 8) loads x_ptr[3712…3839]")
    choose(tab, 3)
    assert says(tab).endswith("32 lanes on, 96 masked past the end.")


def test_a_2d_grid_has_a_slider_for_each_axis_and_both_pictures(show):
    tab = show(tiles(s.matmul(), picture="matrix"))
    axis = tab.locator("label", has_text="Program axis 1").locator("input")
    axis.focus()
    axis.press("End")
    settle(tab)
    assert says(tab).startswith("Program (2, 3) of 12 (pass 1 of 2) loads a_ptr[32…39, 0…15]")
    tab.get_by_label("memory").check()
    settle(tab)
    assert tab.locator(".tl-strip").count() == 3
    tab.get_by_label("matrix").check()
    settle(tab)
    assert tab.locator(".tl-strip").count() == 0


def test_thousands_of_programs_stay_readable(show):
    tab = show(tiles(s.vector_add(1_000_000 - 37, 200)))
    assert says(tab).endswith("163 lanes on, 37 masked past the end.")
    tab.locator(".tl-picture").focus()
    tab.keyboard.press("Home")
    assert program(tab) == 0
    assert says(tab).startswith("Program 0 of 5000 loads x_ptr[0…199]")
    tab.keyboard.press("PageDown")
    assert program(tab) == 500
    assert tab.locator(".tl-picture svg *").count() < 1500


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("launch", [s.vector_add(), s.matmul(), s.atomic_histogram()], ids=lambda launch: launch.kernel)
def test_it_fits_480_px_in_both_themes_and_takes_the_theme(show, launch, dark):
    tab = show(tiles(launch), width=480, dark=dark)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 480
    edges = tab.evaluate("[...document.querySelectorAll('.tl-picture svg text')].map((t) => t.getBoundingClientRect()).map((r) => [r.left, r.right])")
    assert min(e[0] for e in edges) >= 0 and max(e[1] for e in edges) <= 480
    background = tab.evaluate("getComputedStyle(document.querySelector('.tl-view')).backgroundColor")
    assert background == ("rgb(17, 20, 24)" if dark else "rgb(255, 255, 255)")


def test_new_data_keeps_the_view_and_the_readers_choice(show):
    tab = show(tiles(s.vector_add()))
    choose(tab, 4)
    tab.evaluate("window.before = document.querySelector('.tl-picture svg')")
    tab.evaluate("(data) => window.tritonlab.model.set('data', data)", tiles(s.vector_add(1000, 128)).data)
    settle(tab)
    assert says(tab).startswith("Program 4 of 8 loads x_ptr[512…639]")
    assert tab.evaluate("window.before === document.querySelector('.tl-picture svg')")


def test_without_a_choice_new_data_begins_where_something_is_to_be_seen(show):
    tab = show(tiles(s.vector_add()))
    tab.evaluate("(data) => window.tritonlab.model.set('data', data)", tiles(s.vector_add(1000, 128)).data)
    assert program(tab) == 7
    tab.evaluate("(data) => window.tritonlab.model.set('data', data)", tiles(s.vector_add(1024, 128)).data)
    assert program(tab) == 7  # no lane is masked: what was looked at stays


def test_an_error_of_live_lies_over_the_greyed_picture_and_moves_nothing(show):
    tab = show(tiles(s.vector_add()))
    before = tab.locator(".tl-controls").bounding_box()
    tab.evaluate("window.tritonlab.model.set('status', { state: 'error', title: 'ValueError with N=3', message: 'no <b>such</b> N' })")
    error = tab.locator(".tl-error")
    assert error.inner_text().split("\n") == ["ValueError with N=3", "no <b>such</b> N"] and error.get_attribute("role") == "alert"
    assert tab.locator(".tl-controls").bounding_box() == before
    assert tab.evaluate("getComputedStyle(document.querySelector('.tl-main')).opacity") == "0.3"
    tab.evaluate("window.tritonlab.model.set('status', { state: 'busy' })")
    assert not error.is_visible() and tab.locator(".tl-view").get_attribute("aria-busy") == "true"
    tab.evaluate("window.tritonlab.model.set('status', { state: 'ready', printed: 'hello' })")
    assert tab.locator(".tl-printed").inner_text() == "hello"


def test_lanes_far_away_are_counted_at_the_side_where_they_went(show):
    offsets = (np.arange(64) * 400_000_000).astype(np.int32).astype(np.int64)  # wraps as int32 does
    access = Access("load", "x_ptr", (0, 0, 0), 3, offsets, np.arange(64) < 40)
    tab = show(tiles(Launch("k", (1, 1, 1), (s.tensor("x_ptr", 0, np.zeros(1000, np.float32)),), accesses=(access,))))
    below, above = int((offsets < 0).sum()), int((offsets >= 25).sum())
    texts = [t.replace("\u202f", "") for t in tab.locator(".tl-lanes text").all_text_contents()]
    assert f"◂ {below} lanes as far as {offsets.min()}" in texts and f"▸ {above} lanes as far as {offsets.max()}" in texts


def test_values_are_shown_exactly(show):
    x = np.array([0.1, 1e-8, 16777216.0, -0.0, np.nan, 1 / 3, 123456.789, 2.0], np.float32)
    offsets = np.arange(8)
    access = Access("load", "x_ptr", (0, 0, 0), 3, offsets, np.ones(8, bool), x)
    tab = show(tiles(Launch("k", (1, 1, 1), (s.tensor("x_ptr", 0, x),), accesses=(access,))))
    texts = []
    tab.locator(".tl-picture").focus()
    for _ in offsets:
        tab.keyboard.press("ArrowDown")
        settle(tab)
        texts.append(tab.locator(".tl-readout").inner_text().split("loads ")[1])
    assert texts == ["0.1", "1e-8", "16777216.0", "-0.0", "nan", "0.33333334", "123456.79", "2.0"]


def test_a_page_that_has_no_width_for_a_moment_leaves_no_blank_behind(show):
    tab = show(tiles(s.vector_add()))
    before = tab.locator(".tl-says").evaluate("(e) => e.clientHeight")
    for width in ("0px", ""):
        tab.evaluate("(w) => { document.querySelector('.tl-says').parentElement.style.width = w; }", width)
        settle(tab)
        settle(tab)
    assert tab.locator(".tl-says").evaluate("(e) => e.clientHeight") == before
