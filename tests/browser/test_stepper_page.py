"""The stepper in a real Chromium: what a reader sees and can do, without Python."""

from __future__ import annotations

import numpy as np
import pytest

from tritonlab.trace.record import Function, Launch, Local, Step
from tritonlab.views import stepped
from tritonlab.views.stepper import stepper

LAUNCH = stepped.vector_add()
STEPS = LAUNCH.steps[15, 0, 0]


@pytest.fixture
def tab(show):
    return show(stepper(LAUNCH, at=0))


def says(tab) -> str:
    return tab.locator(".tl-says").inner_text()


def step_to(tab, number: int) -> None:
    tab.locator("input[type=range]").evaluate("(el, v) => { el.value = v; el.dispatchEvent(new Event('input', {bubbles: true})); }", number)


def row(tab, name: str):
    return tab.locator(".tl-var:visible").filter(has=tab.locator(".tl-name", has_text=name)).first


def test_every_step_is_reached_by_the_slider_and_shows_its_line_and_sentence(tab):
    told = [s["say"] for s in stepper(LAUNCH).data["programs"][0]["steps"]]
    for number, step in enumerate(STEPS, 1):
        step_to(tab, number)
        assert says(tab) == told[number - 1]
        assert tab.locator(".tl-line.tl-now").get_attribute("data-line") == str(step.line)
        assert tab.locator(".tl-line.tl-now").inner_text().split(None, 1)[1].strip() == step.text.strip()
    assert tab.locator("output").inner_text() == f"{len(STEPS)} of {len(STEPS)}"


def test_buttons_go_to_the_last_line_and_back(tab):
    forward, back = tab.get_by_role("button", name="step forward"), tab.get_by_role("button", name="step back")
    lines = []
    while forward.is_enabled():
        forward.click()
        lines.append(int(tab.locator(".tl-line.tl-now").get_attribute("data-line")))
    assert lines == [s.line for s in STEPS[1:]]
    while back.is_enabled():
        back.click()
    assert tab.locator(".tl-line.tl-now").get_attribute("data-line") == str(STEPS[0].line)


def test_arrow_keys_home_and_end_step_from_the_source(tab):
    tab.locator(".tl-lines").first.focus()
    tab.keyboard.press("ArrowRight")
    assert says(tab).startswith("Line 11,")
    tab.keyboard.press("ArrowDown")
    assert says(tab).startswith("Line 12,")
    tab.keyboard.press("ArrowLeft")
    assert says(tab).startswith("Line 11,")
    tab.keyboard.press("End")
    assert says(tab).startswith("Line 16,")
    tab.keyboard.press("Home")
    assert says(tab).startswith("Line 10,")
    tab.locator("input[type=range]").focus()
    tab.keyboard.press("ArrowRight")
    assert says(tab).startswith("Line 11,")


def test_keys_that_step_do_not_reach_the_notebook(tab):
    tab.evaluate("window.heard = []; document.addEventListener('keydown', (e) => window.heard.push(e.key))")
    for place in ("input[type=range]", ".tl-lines"):
        tab.locator(place).first.focus()
        for key in ("ArrowRight", "ArrowUp", "Home", "End"):
            tab.keyboard.press(key)
    assert tab.evaluate("window.heard") == []
    tab.keyboard.press("Control+s")
    assert tab.evaluate("window.heard") == ["Control", "s"]


def test_a_click_on_a_line_goes_to_the_next_step_that_executes_it(show):
    launch = stepped.row_sums()
    tab = show(stepper(launch, program=0, at=0))
    tab.locator(".tl-line[data-line='10']").click()
    assert says(tab).startswith("Line 10 (1st time of 3)")
    tab.locator(".tl-line[data-line='10']").click()
    assert says(tab).startswith("Line 10 (2nd time of 3)")
    tab.locator(".tl-line[data-line='4']").click()  # behind: it starts over from the top
    assert says(tab).startswith("Line 4, program 0")
    tab.locator(".tl-line[data-line='1']").click()  # never executed
    assert says(tab).startswith("Line 4, program 0")


def test_locals_show_type_and_value_and_only_what_changed_is_marked(tab):
    for number, step in enumerate(STEPS, 1):
        step_to(tab, number)
        marked = tab.locator(".tl-var.tl-changed:visible .tl-name").all_inner_texts()
        set_here = [n for n in step.changed if not (number == 1 and n != "pid")]
        if step.depth and number == 6:
            set_here = ["total"]
        assert [m.strip() for m in marked] == set_here
    step_to(tab, 4)
    assert row(tab, "x").locator(".tl-type").inner_text() == "float32[64]"
    assert row(tab, "mask").locator(".tl-value").inner_text() == "40 of 64 on"
    assert row(tab, "pid").locator(".tl-value").inner_text() == "15"
    assert "total" not in tab.locator(".tl-var:visible .tl-name").all_inner_texts()


def test_hovering_a_block_gives_the_exact_value_of_each_lane(tab):
    step_to(tab, 9)
    box = row(tab, "total").locator("canvas").bounding_box()
    total = next(v for v in STEPS[8].locals if v.name == "total").values
    for lane in range(64):
        tab.mouse.move(box["x"] + (lane + 0.5) * box["width"] / 64, box["y"] + box["height"] / 2)
        index, value = row(tab, "total").locator(".tl-value").inner_text().split()
        assert index == f"[{lane}]" and np.float32(value) == total[lane]
    # The same lane is read off in every block of that shape.
    assert row(tab, "offs").locator(".tl-value").inner_text() == "[63] 1023"
    assert row(tab, "mask").locator(".tl-value").inner_text() == "[63] False"
    tab.mouse.move(5, 5)
    assert row(tab, "offs").locator(".tl-value").inner_text() == "960…1023"


def test_a_scalar_is_shown_in_its_own_precision(show):
    values = {"a": ("float32", float(np.float32(0.1))), "b": ("float64", 0.1), "c": ("float32", float("-inf")), "d": ("int64", 2**62 + 1), "e": ("python float", 0.25)}
    here = tuple(Local(name, dtype, (), value) for name, (dtype, value) in values.items())
    step = Step((0, 0, 0), "k", 0, 2, "    pass", here, tuple(values))
    tab = show(stepper(Launch("k", (1, 1, 1), functions={"k": Function("k", "def k():\n    pass\n", 1)}, steps={(0, 0, 0): (step,)})))
    shown = {name: row(tab, name).locator(".tl-value").inner_text() for name in values}
    assert shown == {"a": "0.1", "b": "0.1", "c": "-inf", "d": "4611686018427387905", "e": "0.25"}


def test_lanes_are_read_by_keyboard_without_stepping(tab):
    step_to(tab, 4)
    canvas = row(tab, "offs").locator("canvas")
    before = says(tab)
    canvas.focus()
    tab.keyboard.press("End")
    assert canvas.get_attribute("aria-valuetext") == "lane 63: 1023"
    tab.keyboard.press("ArrowLeft")
    assert row(tab, "offs").locator(".tl-value").inner_text() == "[62] 1022"
    assert row(tab, "x").locator(".tl-value").inner_text() == "[62] 0.0"
    tab.keyboard.press("Home")
    assert canvas.get_attribute("aria-valuetext") == "lane 0: 960"
    assert says(tab) == before


def test_a_two_dimensional_block_is_read_by_row_and_column(show):
    launch = stepped.row_sums()
    tab = show(stepper(launch, program=2))
    step = next(i for i, s in enumerate(launch.steps[2, 0, 0]) if s.line == 10)
    step_to(tab, step + 1)
    values = next(v for v in launch.steps[2, 0, 0][step].locals if v.name == "x").values
    box = row(tab, "x").locator("canvas").last.bounding_box()
    target = tab.locator(".tl-var.tl-changed:visible")
    for i in range(4):
        for j in range(16):
            tab.mouse.move(box["x"] + (j + 0.5) * box["width"] / 16, box["y"] + (i + 0.5) * box["height"] / 4)
            text = target.locator(".tl-value").inner_text()
            assert text.startswith(f"[{i}, {j}] ") and np.float32(text.split("] ")[1]) == values[i, j]
    pointer = row(tab, "x_ptrs").locator(".tl-value").inner_text()
    assert pointer == "[3, 15] x_ptr[455] past end"  # row 11 of 10


def test_the_memory_of_a_line_says_which_lane_touches_which_element(tab):
    step_to(tab, 4)
    lanes = tab.locator(".tl-memory").first.locator(".tl-lanes")
    assert lanes.count() == 1
    assert tab.locator(".tl-memory").nth(1).locator(".tl-lanes").count() == 0
    on = lanes.locator("[data-state=on]").bounding_box()
    masked = lanes.locator("[data-state=masked]").bounding_box()
    a = next(acc for acc in LAUNCH.accesses if acc.arg == "x_ptr")
    tab.mouse.move(on["x"] + 5.5 * on["width"] / 40, on["y"] + 5)
    assert tab.locator(".tl-tip").inner_text() == f"lane 5 reads x_ptr[965]\n{a.values[5]}"
    assert row(tab, "offs").locator(".tl-value").inner_text() == "[5] 965"
    tab.mouse.move(masked["x"] + masked["width"] - 3, masked["y"] + 5)
    assert tab.locator(".tl-tip").inner_text() == "lane 63 is masked\nit points to x_ptr[1023]"
    step_to(tab, 9)
    assert [m.locator(".tl-lanes").count() for m in tab.locator(".tl-memory").all()] == [0, 0, 1]
    stored = tab.locator(".tl-memory").nth(2)
    assert stored.locator(".tl-lanes").get_attribute("data-kind") == "store"


@pytest.mark.parametrize("width", [900, 480])
@pytest.mark.parametrize("launch", [LAUNCH, stepped.row_sums()], ids=["add", "rows"])
def test_source_controls_and_memory_stay_where_they_are_while_stepping(show, launch, width):
    tab = show(stepper(launch, at=0), width)
    parts = [".tl-lines", "input[type=range]", ".tl-memories", ".tl-memory svg >> nth=0"]
    before = [tab.locator(part).first.bounding_box() for part in parts]
    heights = []
    for number in [*range(1, 10), *range(9, 0, -1)]:
        step_to(tab, number)
        assert [tab.locator(part).first.bounding_box() for part in parts] == before
        heights.append(round(tab.locator(".tl-view").bounding_box()["height"]))
    assert heights == sorted(heights)  # what stands below in the page is never pulled up


def test_no_room_is_left_empty_for_what_is_not_there_yet(show):
    tab = show(stepper(stepped.row_sums(), at=0))
    boxes = [tab.locator(part).bounding_box() for part in (".tl-sources", ".tl-memories", ".tl-controls")]
    gaps = [b["y"] - a["y"] - a["height"] for a, b in zip(boxes, boxes[1:])]
    view = tab.locator(".tl-view").bounding_box()
    gaps.append(view["y"] + view["height"] - boxes[-1]["y"] - boxes[-1]["height"])
    assert max(gaps) <= 40


def test_the_current_line_stays_in_sight_in_a_source_that_scrolls(show):
    tab = show(stepper(stepped.row_sums(), program=0))
    box = tab.locator(".tl-lines").first
    box.evaluate("(el) => { el.style.maxHeight = '90px'; }")
    for number in (22, 1, 9, 13, 2):
        step_to(tab, number)
        frame, line = box.bounding_box(), tab.locator(".tl-line.tl-now").bounding_box()
        assert frame["y"] <= line["y"] and line["y"] + line["height"] <= frame["y"] + frame["height"]


def test_inside_a_device_function_its_line_and_the_callers_line_are_marked(tab):
    step_to(tab, 6)
    assert tab.locator(".tl-line.tl-now").get_attribute("data-line") == "4"
    assert tab.locator(".tl-line.tl-caller").get_attribute("data-line") == "15"
    assert tab.locator(".tl-vars .tl-head").inner_text() == "variables of add, called at line 15"
    assert [n.strip() for n in tab.locator(".tl-var:visible .tl-name").all_inner_texts()] == ["a", "b", "total"]
    step_to(tab, 8)
    assert tab.locator(".tl-line.tl-caller").count() == 0
    assert tab.locator(".tl-vars .tl-head").inner_text() == "variables of vector_add_kernel"


def test_an_error_is_shown_at_its_line_on_the_last_step_only(show):
    launch = stepped.vector_add(masked=False)
    tab = show(stepper(launch))
    assert tab.locator(".tl-stop").inner_text() == launch.error  # it opens there
    assert tab.locator(".tl-line.tl-now + .tl-stop").count() == 1
    tab.get_by_role("button", name="step back").click()
    assert tab.locator(".tl-stop").count() == 0


def test_a_refused_access_is_drawn_with_its_bad_lanes_crossed(show):
    tab = show(stepper(stepped.refused()))
    lanes = tab.locator(".tl-memory .tl-lanes")
    bad = lanes.locator("[data-state=bad]").bounding_box()
    tab.mouse.move(bad["x"] + bad["width"] - 6, bad["y"] + 8)
    assert tab.locator(".tl-tip").inner_text() == "lane 63 is out of range\nit points to x_ptr[1023]"
    assert "lane out of range" in tab.locator(".tl-legend").inner_text()


def test_another_program_is_chosen_inside_the_view(show):
    tab = show(stepper(stepped.row_sums(), at=0))
    tab.get_by_label("program").select_option(label="2")
    assert says(tab).startswith("Line 3, program 2:")
    assert row(tab, "pid").locator(".tl-value").inner_text() == "2"


@pytest.mark.parametrize(("width", "dark"), [(900, False), (480, True)], ids=["900-light", "480-dark"])
@pytest.mark.parametrize("launch", [LAUNCH, stepped.row_sums(), stepped.vector_add(masked=False)], ids=["add", "rows", "error"])
def test_it_fits_without_horizontal_scrolling(show, launch, width, dark):
    tab = show(stepper(launch), width, dark)
    step_to(tab, 99)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    for box in tab.locator(".tl-view button, .tl-view canvas:visible, .tl-view svg").all():
        place = box.bounding_box()
        assert place is None or place["x"] + place["width"] <= width - 8


def test_dark_and_light_draw_the_same_record_in_other_colours(show):
    pictures = []
    for dark in (False, True):
        tab = show(stepper(LAUNCH), dark=dark)
        step_to(tab, 9)
        pictures.append((tab.locator(".tl-view").screenshot(), says(tab)))
        back = tab.locator(".tl-view").evaluate("(el) => getComputedStyle(el).backgroundColor")
        channels = [int(v) for v in back[back.index("(") + 1 : -1].split(",")[:3]]
        assert (max(channels) < 80) == dark
    assert pictures[0][0] != pictures[1][0] and pictures[0][1] == pictures[1][1]


def test_controls_have_names_and_pictures_say_what_they_show(tab):
    step_to(tab, 4)
    assert tab.get_by_role("slider", name="step").count() == 1
    for svg in tab.locator(".tl-memory svg").all():
        assert svg.get_attribute("role") == "img" and svg.get_attribute("aria-label").startswith("memory of ")
    label = row(tab, "x").locator("canvas").get_attribute("aria-label")
    assert label == "x, float32, 64 lanes, 0…124.9"


def test_exploring_a_step_costs_few_nodes(tab):
    counts = []
    for _ in range(3):
        for number in (1, 4, 6, 9):
            step_to(tab, number)
            counts.append(tab.evaluate("document.querySelectorAll('.tl-view *').length"))
    assert counts[4:8] == counts[8:] and max(counts) < 400  # nothing piles up
