"""Chapter 5 in a real JupyterLab: run it all, walk along K, follow wrong pointers, predict, mend the twin, answer exercises."""

from __future__ import annotations

import re

import pytest
from chapters import cell_with, says, try_answers, test_no_view_has_a_serious_accessibility_fault, test_run_all_ends_without_an_error  # noqa: F401

CHAPTER = "05_tiled_matmul"


def view_of(book, words: str):
    """The first view that shows these words, scrolled to."""
    view = book.tab.locator(".tl-view", has_text=words).first
    view.scroll_into_view_if_needed()
    return view


def test_the_product_of_the_first_minutes_is_walked_by_key_and_by_mouse(book):
    tab, live = book.tab, book.tab.locator(".tl-live").first
    live.scroll_into_view_if_needed()
    live.locator(".tl-picture").first.focus()
    tab.keyboard.press("Home")
    says(tab, live, "(0, 0) of 6, K step 1 of 3")
    tab.keyboard.press("ArrowRight")
    says(tab, live, "K step 2 of 3")
    tab.keyboard.press("Shift+ArrowDown")
    says(tab, live, "(1, 0) of 6, K step 2 of 3")
    live.get_by_role("button", name=re.compile("Step ▶")).click()
    says(tab, live, "K step 3 of 3: loads a_ptr[16…31, 32…40]")


def test_its_sliders_run_the_kernel_again_even_after_the_exercises_defined_a_matmul(book):
    tab, live = book.tab, book.tab.locator(".tl-live").first
    live.scroll_into_view_if_needed()
    handle = live.locator(".noUi-handle").first
    handle.focus()
    for _ in range(5):
        tab.keyboard.press("ArrowLeft")
    says(tab, live, "of 4, K step")
    assert live.locator("text=NameError").count() == 0


def test_wrong_pointers_are_seen_by_radio_and_key(book):
    tab, view = book.tab, view_of(book, "chunk added twice")
    says(tab, view, "“right”: program 1")
    view.get_by_label("start scaled twice", exact=True).check()
    says(tab, view, "lanes on no element")
    view.get_by_label("chunk added twice", exact=True).check()
    says(tab, view, "32 lanes on another element")
    view.locator(".tl-picture").first.focus()
    tab.keyboard.press("PageDown")
    says(tab, view, "16 lanes on another element")


def test_the_layouts_differ_in_memory_and_not_in_the_tile(book):
    tab, view = book.tab, view_of(book, "every second row")
    view.get_by_label("transposed", exact=True).check()
    says(tab, view, "“transposed”: program (0, 1)")
    assert "strides (1, 5)" in view.inner_text()


def test_a_prediction_is_answered(book):
    view = view_of(book, "how often is each element of A loaded?")
    view.get_by_label("3", exact=True).check()
    view.get_by_role("button", name="Check").click()
    view.locator("text=Right").first.wait_for()


def test_the_broken_twin_is_right_once_it_moves_by_the_stride(book):
    index, source = cell_with(book, "def broken_matmul_kernel")
    assert source.count("b_ptrs += BLOCK_K * N\n") == 1
    test, shown = cell_with(book, "def broken_matmul(a, b)")
    assert re.search(r"every second row, K = 48 +wrong", book.run_cell(test, shown))
    book.run_cell(index, source.replace("b_ptrs += BLOCK_K * N\n", "b_ptrs += BLOCK_K * stride_bk\n"))
    assert book.run_cell(test, shown).count("right") == 3


@pytest.mark.parametrize("name", ["matmul.fill", "matmul.epilogue", "matmul.transposed", "matmul.batched", "matmul.split_k"])
def test_a_wrong_answer_says_its_reason_and_the_solution_passes(book, name):
    try_answers(book, name, most=1)
