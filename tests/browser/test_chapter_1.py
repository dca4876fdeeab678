"""Chapter 1 in a real JupyterLab, worked through as a learner does: run, explore, predict, change, solve the exercises."""

from __future__ import annotations

import pytest

from chapters import says, try_answers, test_no_view_has_a_serious_accessibility_fault, test_run_all_ends_without_an_error  # noqa: F401

CHAPTER = "01_vector_add"


def test_the_first_tiles_are_driven_by_mouse_and_keys(book):
    tab, view = book.tab, book.tab.locator(".tl-tiles").first
    view.scroll_into_view_if_needed()
    view.locator(".tl-picture").focus()
    tab.keyboard.press("Home")
    says(tab, view, "Program 0 of 4")
    tab.keyboard.press("ArrowRight")
    says(tab, view, "Program 1 of 4")
    strip = view.locator("[data-arg] .tl-strip").first
    x, y = strip.evaluate("(g) => { const m = g.getScreenCTM(); const { x, window, cell } = g.tlStrip; return [m.e + x(2) + cell / 2, m.f + 25]; }")
    tab.mouse.click(x, y)
    says(tab, view, "Program 0 of 4")


def test_another_block_size_changes_the_tiles(book):
    tab, live = book.tab, book.tab.locator(".tl-live").first
    live.scroll_into_view_if_needed()
    live.locator("select").select_option("64")
    says(tab, live, "of 2 loads")
    live.locator("select").select_option("16")
    says(tab, live, "of 7 loads")


def test_the_stepper_goes_to_the_last_line_and_back(book):
    tab, view = book.tab, book.tab.locator(".tl-stepper").first
    view.scroll_into_view_if_needed()
    slider = view.locator("input[type=range]").first
    slider.focus()
    slider.press("End")
    says(tab, view, "writes out_ptr[960…999]")
    slider.press("Home")
    says(tab, view, "pid becomes 15")


def test_a_prediction_is_answered_by_key(book):
    tab = book.tab
    view = tab.locator(".tl-view", has_text="how many programs are needed?").first
    view.scroll_into_view_if_needed()
    view.get_by_label("15", exact=True).focus()
    tab.keyboard.press("Space")
    tab.keyboard.press("Enter")
    view.locator(".tl-result", has_text="15 × 64 = 960").wait_for()
    view.get_by_role("button", name="Start over").click()
    view.get_by_label("16", exact=True).check()
    view.get_by_role("button", name="Check").click()
    view.locator(".tl-result", has_text="16").wait_for()
    assert "15 × 64 = 960" not in view.locator(".tl-result").inner_text()


@pytest.mark.parametrize("name", ["vector_add.offsets", "vector_add.mask", "vector_add.axpy", "vector_add.strided", "vector_add.persistent"])
def test_every_kept_wrong_answer_says_its_reason_and_the_solution_passes(book, name):
    try_answers(book, name)
