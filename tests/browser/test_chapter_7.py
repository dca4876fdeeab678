"""Chapter 7 in a real JupyterLab: run it all, let other lengths be tuned, predict, choose stages, mend the twin, answer exercises."""

from __future__ import annotations

import pytest

from chapters import cell_with, says, try_answers, test_no_view_has_a_serious_accessibility_fault, test_run_all_ends_without_an_error  # noqa: F401

CHAPTER = "07_autotune_and_pipeline"


def test_another_length_is_tuned_and_shown_with_the_block_that_wins_there(book):
    tab, live = book.tab, book.tab.locator(".tl-live").first
    live.scroll_into_view_if_needed()
    says(tab, live, "Program 1 of 2 loads x_ptr[64…103]")
    length = live.locator("[role=slider]").first
    length.focus()
    for _ in range(4):
        length.press("ArrowRight")
    says(tab, live, "x_ptr[0…135]")
    assert book.ask("print(double_kernel.best_config.kwargs)") == "{'BLOCK_SIZE': 256}\n"


def test_a_prediction_is_answered(book):
    view = book.tab.locator(".tl-view", has_text="What is p after p = p - g?").first
    view.scroll_into_view_if_needed()
    view.get_by_label("9.0", exact=True).check()
    view.get_by_role("button", name="Check").click()
    view.locator("text=Tuning launched the kernel as well").wait_for()


def test_the_pipeline_shows_other_numbers_of_stages(book):
    tab, view = book.tab, book.tab.locator(".tl-view", has_text="steps of the loop").first
    view.scroll_into_view_if_needed()
    view.get_by_label("num_stages 3", exact=True).check()
    says(tab, view, "2 steps ahead")
    view.get_by_label("num_stages 1", exact=True).check()
    says(tab, view, "not pipelined")


def test_the_sweep_changes_its_shape_and_narrows_by_a_knob(book):
    tab, view = book.tab, book.tab.locator(".tl-view", has_text="clear filters").first
    view.scroll_into_view_if_needed()
    says(tab, view, "4096×4096×4096 bfloat16")
    view.get_by_label("1000³", exact=True).check()
    says(tab, view, "1000×1000×1000 bfloat16")
    view.get_by_label("num_stages").select_option("5")
    says(tab, view, "5 stages")


def test_the_broken_twin_is_right_once_its_grid_follows_the_choice(book):
    index, source = cell_with(book, "def negate(x)")
    line = "    grid = (triton.cdiv(x.numel(), 64),)\n"
    assert line in source
    test, shown = cell_with(book, "for call in (1, 2, 3)")
    assert "call 2: 102 of 150 wrong" in book.run_cell(test, shown)
    book.run_cell(index, source.replace(line, '    grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK_SIZE"]),)\n'))
    assert book.run_cell(test, shown).count(": 0 of 150 wrong") == 3


@pytest.mark.parametrize("name", ["autotune.in_place", "autotune.key", "autotune.pipeline"])
def test_wrong_answers_say_their_reason_and_the_solution_passes(book, name):
    try_answers(book, name, most=3)
