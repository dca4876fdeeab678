"""The fill picture in a real Chromium: what is drawn is what was recorded, by mouse and by key, wide and narrow."""

from __future__ import annotations

import numpy as np
import pytest

from tritonlab.views.base import unpack
from tritonlab.views.fill import _played, fill

VALUES = np.random.default_rng(0).normal(size=(6, 11)).astype(np.float32)
LEVELS = np.linspace(-4, 16, 6, dtype=np.float32)[:, None]

DRAWN = """() => [...document.querySelectorAll('.tl-panel')].map((panel) => ({
  fill: panel.dataset.fill,
  verdicts: [...panel.querySelectorAll('[data-verdict]')].map((t) => t.dataset.verdict),
  lanes: [...panel.querySelectorAll('.tl-rows rect[data-state]')].map((r) => [Number(r.dataset.row), r.dataset.state, Number(r.dataset.from), Number(r.dataset.to)]),
  bars: panel.querySelectorAll('.tl-result rect[data-out]').length,
}))"""


def softmax(values, block=16):
    e = np.exp(values.astype(np.float64) - values.max(axis=1, keepdims=True))
    return fill(lambda other: _played(values, other, block), reference=e / e.sum(axis=1, keepdims=True))


MIXED = softmax(VALUES + LEVELS)


def settle(tab):
    tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def says(tab):
    settle(tab)
    return tab.locator(".tl-says").inner_text()


def state(tab, name):
    settle(tab)
    return tab.evaluate(f"document.querySelector('.tl-fill').tlFill.{name}")


def mistakes(view, tab):
    """Where the picture and the data differ."""
    found = []
    for panel, drawn in zip(view.data["panels"], tab.evaluate(DRAWN)):
        if drawn["fill"] != panel["fill"]:
            found.append("fill")
        if drawn["verdicts"] != ["poisoned" if bad else "right" for bad in panel["bad"]]:
            found.append(f"{panel['fill']}: verdicts {drawn['verdicts']}")
        mask = unpack(view.data["loads"][0]["mask"]).astype(bool)
        shown = np.zeros(mask.shape, int)
        for row, what, start, end in drawn["lanes"]:
            shown[row, start:end] += 1 if what == "on" else 2
        if not np.array_equal(shown, np.where(mask, 1, 2)):
            found.append(f"{panel['fill']}: lanes")
    return found


@pytest.mark.parametrize("width", [900, 480])
@pytest.mark.parametrize("view", [MIXED, softmax(VALUES[:2, :8], 8), softmax(np.tile(VALUES, (1, 7))[:, :70], 128)], ids=["mixed", "full", "wide"])
def test_every_lane_and_every_verdict_is_drawn_as_recorded(show, view, width):
    assert mistakes(view, show(view, width)) == []


def test_a_picture_of_other_runs_is_found_to_differ(show):
    assert len(mistakes(softmax(VALUES), show(MIXED))) == 1
    assert len(mistakes(softmax(VALUES[:, :9]), show(softmax(VALUES[:, :10])))) == 3


def test_it_opens_at_the_first_poisoned_row_and_says_what_each_fill_does(show):
    tab = show(softmax((VALUES + LEVELS)[::-1]))
    first = next(i for i in range(6) if any(p["bad"][i] for p in softmax((VALUES + LEVELS)[::-1]).data["panels"]))
    assert state(tab, "row") == first
    tab = show(MIXED)
    assert says(tab).startswith("Row 0 of 6, 5 masked lanes: 0.0 poisons it (off by up to 0.")
    assert says(tab).endswith("), -inf leaves it right, inf poisons it (nan).")
    assert says(tab) in tab.locator("svg[role=img]").get_attribute("aria-label")
    assert says(show(softmax(VALUES[:2, :8], 8))) == "Row 0 of 2 has no masked lane: the fill plays no part."


def test_keys_choose_rows_and_lanes(show):
    tab = show(MIXED)
    tab.locator(".tl-picture").focus()
    for key, row in [("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("End", 5), ("ArrowDown", 5), ("Home", 0), ("ArrowUp", 0), ("End", 5)]:
        tab.keyboard.press(key)
        assert state(tab, "row") == row, key
    assert "0.0 leaves it right" in says(tab), "at logits around 16, padding with 0 is too small to be seen"
    tab.keyboard.press("ArrowRight")
    assert state(tab, "lane") == 0
    tab.keyboard.press("ArrowRight")
    settle(tab)
    value = float(unpack(MIXED.data["panels"][0]["values"][0])[5, 1])
    readout = tab.locator(".tl-readout").inner_text()
    assert readout.startswith("Lane 1 of row 5 loads x_ptr[56] = ") and f"{value:.4f}"[:5] in readout and "with inf: stores nan (reference " in readout
    tab.keyboard.press("Escape")
    assert state(tab, "lane") is None


def test_a_masked_lane_tells_the_value_that_it_held_in_each_run(show):
    tab = show(MIXED)
    slider = tab.locator("label", has_text="Lane").locator("input")
    slider.focus()
    slider.press("End")
    settle(tab)
    assert tab.locator(".tl-readout").inner_text() == "Lane 15 of row 0 · with 0.0: masked, holds 0.0 · with -inf: masked, holds -inf · with inf: masked, holds inf"


def test_the_row_slider_is_labelled_and_works_with_keys(show):
    tab = show(MIXED)
    slider = tab.locator("label", has_text="Row").locator("input")
    slider.focus()
    slider.press("ArrowRight")
    assert state(tab, "row") == 1 and says(tab).startswith("Row 1 of 6")


@pytest.mark.parametrize("width", [900, 480])
def test_pointing_tells_exact_values_and_a_click_chooses_the_row(show, width):
    tab = show(MIXED, width)
    box = tab.locator(".tl-picture svg").bounding_box()
    part = tab.evaluate("(() => { const p = document.querySelector('.tl-fill').tlFill.parts[0]; return { grid: p.grid, result: p.result, held: p.held }; })()")
    x, y = box["x"] + part["grid"]["x"] + 13.5 * part["grid"]["cell"], box["y"] + part["grid"]["y"] + 3.5 * part["grid"]["rh"]
    tab.mouse.move(x, y)
    settle(tab)
    assert tab.locator(".tl-tip").inner_text() == "other = 0.0\nlane 13 of row 3, program 3\nmasked, holds 0.0"
    tab.mouse.click(x, y)
    assert state(tab, "row") == 3 and state(tab, "lane") == 13
    tab.mouse.move(box["x"] + part["result"]["x"] + 2.5 * part["result"]["cell"], box["y"] + part["result"]["y"] + 20)
    settle(tab)
    k = 3 * 11 + 2
    stored = unpack(MIXED.data["panels"][0]["result"])[k]
    tip = tab.locator(".tl-tip").inner_text()
    assert tip.startswith(f"other = 0.0\nout_ptr[{k}] of row 3\nstores {stored}"[:44]) and "(reference " in tip
    tab.mouse.move(2, 2)
    settle(tab)
    assert not tab.locator(".tl-tip").is_visible()


def test_bars_stand_under_the_lanes_that_stored_them(show):
    tab = show(MIXED)
    part = tab.evaluate("(() => { const p = document.querySelector('.tl-fill').tlFill.parts[1]; return { grid: p.grid, result: p.result, held: p.held }; })()")
    assert part["grid"]["x"] == part["result"]["x"] == part["held"]["x"]
    assert part["grid"]["cell"] == pytest.approx(part["result"]["cell"]) == pytest.approx(part["held"]["cell"])
    assert [p["bars"] for p in tab.evaluate(DRAWN)] == [11, 11, 11]


def test_new_data_keeps_the_row_that_was_chosen_by_hand(show):
    tab = show(MIXED)
    tab.evaluate("document.querySelector('.tl-fill').tlFill.choose(4)")
    tab.evaluate("(data) => tritonlab.model.set('data', data)", softmax(VALUES).data)
    assert state(tab, "row") == 4 and says(tab).startswith("Row 4 of 6, 5 masked lanes: 0.0 poisons it")
    assert mistakes(softmax(VALUES), tab) == []
    tab.evaluate("(data) => tritonlab.model.set('data', data)", softmax(VALUES[:3]).data)
    assert state(tab, "row") == 0


@pytest.mark.parametrize("dark", [False, True])
def test_a_narrow_page_is_not_wider_than_its_window(show, dark):
    tab = show(MIXED, 480, dark)
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
