"""Chapter 2 in a real JupyterLab: run it all, move the tiles, step over the end of a row, predict, mend the twin, answer exercises."""

from __future__ import annotations

import pytest

from chapters import cell_with, says, try_answers, test_no_view_has_a_serious_accessibility_fault, test_run_all_ends_without_an_error  # noqa: F401

CHAPTER = "02_bias_gelu"


def test_the_tiles_of_the_first_minutes_follow_keys_and_controls(book):
    tab, live = book.tab, book.tab.locator(".tl-live").first
    live.scroll_into_view_if_needed()
    says(tab, live, "bias_ptr[0…23] with gaps")
    live.locator(".tl-picture").first.focus()
    tab.keyboard.press("Home")
    says(tab, live, "Program 0 of 8 loads")
    live.locator("select").select_option("32")
    says(tab, live, "of 4 loads")
    live.locator("select").select_option("16")
    says(tab, live, "of 8 loads")


def test_the_stepper_opens_where_the_bias_wraps_around_and_goes_on_by_key_and_button(book):
    tab, view = book.tab, book.tab.locator(".tl-stepper", has=book.tab.locator("text=bias_gelu_kernel")).first
    view.scroll_into_view_if_needed()
    says(tab, view, "program 2: tl.load reads 16 elements of bias_ptr[0…19] in 2 pieces")
    view.locator("input[type=range]").first.focus()
    tab.keyboard.press("End")
    says(tab, view, "tl.store writes out_ptr[32…47]")
    view.locator("button").first.click()
    says(tab, view, "Line 6, program 2")


def test_a_prediction_is_answered(book):
    view = book.tab.locator(".tl-view", has_text="how many more SASS").first
    view.scroll_into_view_if_needed()
    view.get_by_label("8", exact=True).check()
    view.get_by_role("button", name="Check").click()
    view.locator("text=8 divisions a thread stand in the PTX").wait_for()


def test_the_broken_twin_is_right_once_its_columns_begin_anew(book):
    index, source = cell_with(book, "def one_remainder_kernel")
    line = "    cols = start % n_cols + tl.arange(0, BLOCK_SIZE)\n"
    assert line in source
    test, shown = cell_with(book, "def one_remainder(x")
    assert "24 columns: 16 of 96 wrong" in book.run_cell(test, shown)
    book.run_cell(index, source.replace(line, line + "    cols = tl.where(cols < n_cols, cols, cols - n_cols)\n"))
    assert book.run_cell(test, shown).count(": 0 of ") == 4


@pytest.mark.parametrize("name", ["bias_gelu.gate", "bias_gelu.any_strides"])
def test_a_wrong_answer_says_its_reason_and_the_solution_passes(book, name):
    try_answers(book, name, most=3)
