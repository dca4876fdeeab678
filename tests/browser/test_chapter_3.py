"""Chapter 3 in a real JupyterLab: run it all, explore the fills, move the logits, mend the twin, and answer an exercise."""

from __future__ import annotations

from chapters import cell_with, says, try_answers, test_no_view_has_a_serious_accessibility_fault, test_run_all_ends_without_an_error  # noqa: F401

CHAPTER = "03_softmax"


def test_the_fills_are_explored_by_key_and_by_mouse(book):
    tab, view = book.tab, book.tab.locator(".tl-fill").first
    view.scroll_into_view_if_needed()
    view.locator(".tl-picture").focus()
    tab.keyboard.press("End")
    says(tab, view, "Row 5 of 6, 5 masked lanes: 0.0 poisons it")
    tab.keyboard.press("ArrowUp")
    says(tab, view, "Row 4 of 6")
    x, y = view.locator(".tl-picture svg").evaluate(
        "(svg) => { const g = svg.closest('.tl-fill').tlFill.parts[1].grid, box = svg.getBoundingClientRect(); return [box.x + g.x + 13.5 * g.cell, box.y + g.y + 1.5 * g.rh]; }"
    )
    tab.mouse.click(x, y)
    says(tab, view, "Row 1 of 6")
    assert "with -inf: masked, holds -inf" in view.locator(".tl-readout").inner_text()


def test_large_logits_hide_the_wrong_fill_and_small_ones_show_it(book):
    tab, live = book.tab, book.tab.locator(".tl-live", has=book.tab.locator(".tl-fill")).first
    live.scroll_into_view_if_needed()
    level = live.locator("[role=slider]").first
    level.focus()
    for _ in range(4):
        level.press("ArrowRight")
    says(tab, live, "0.0 leaves it right, -inf leaves it right, inf poisons it (nan)")
    for _ in range(8):
        level.press("ArrowLeft")
    says(tab, live, "0.0 poisons it")


def test_the_broken_twin_is_right_once_it_is_mended(book):
    index, source = cell_with(book, "def broken_softmax_kernel")
    mended = source.replace("m = tl.maximum(m, tl.max(x, axis=0))", "m_new = tl.maximum(m, tl.max(x, axis=0))").replace(
        "total += tl.sum(tl.exp(x - m), axis=0)", "total = total * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new), axis=0)\n        m = m_new"
    )
    assert mended != source
    test, shown = cell_with(book, "sums to {broken_softmax(row)")
    assert "rising   sums to 0." in book.run_cell(test, shown)
    book.run_cell(index, mended)
    assert book.run_cell(test, shown).count("sums to 1.000") == 3


def test_a_wrong_answer_says_its_reason_and_the_solution_passes(book):
    try_answers(book, "softmax.row_max")
