"""Chapter 6 in a real JupyterLab: run it all, play and scrub the orders, change GROUP_M, predict, mend the twin, answer exercises."""

from __future__ import annotations

import pytest

from chapters import cell_with, says, try_answers, test_no_view_has_a_serious_accessibility_fault, test_run_all_ends_without_an_error  # noqa: F401

CHAPTER = "06_grouped_matmul"


def launched(view) -> int:
    return view.evaluate("(view) => view.tlPidMap.launched")


def test_the_first_orders_follow_keys_and_mouse(book):
    tab, view = book.tab, book.tab.locator(".tl-pidmap").first
    view.scroll_into_view_if_needed()
    view.locator(".tl-picture").focus()
    tab.keyboard.press("Home")
    says(tab, view, "Nothing is launched yet: 81 programs, 9 at a time.")
    tab.keyboard.press("ArrowDown")
    says(tab, view, "row by row: 1 of A + 9 of B; in groups of 3: 3 of A + 3 of B.")
    tab.keyboard.press("ArrowRight")
    says(tab, view, "Program 9 (wave 1 of 0 … 8)")
    box = view.locator(".tl-picture").bounding_box()
    at = view.evaluate("(view) => view.tlPidMap.places[1]")
    tab.mouse.click(box["x"] + at["x"] + 2.5 * at["cw"], box["y"] + at["y"] + 1.5 * at["ch"])
    assert launched(view) == 8
    assert view.locator(".tl-readout").inner_text() == "in groups of 3: program 7 → tile (1, 2), panel 1 of A and panel 2 of B."


def test_the_launch_is_played_and_paused(book):
    tab, view = book.tab, book.tab.locator(".tl-pidmap").first
    view.scroll_into_view_if_needed()
    view.locator(".tl-picture").focus()
    tab.keyboard.press("Home")
    view.get_by_role("button", name="Play").click()
    tab.wait_for_function("(view) => view.tlPidMap.launched > 2", arg=view.element_handle(), timeout=30_000)
    view.get_by_role("button", name="Pause").click()
    stopped = launched(view)
    tab.wait_for_timeout(300)
    assert launched(view) == stopped > 2


def test_another_group_and_another_size_change_the_map_and_its_bytes(book):
    tab, live = book.tab, book.tab.locator(".tl-live", has=book.tab.locator(".tl-pidmap")).first
    live.scroll_into_view_if_needed()
    group, tile, size = (live.locator("select").nth(i) for i in range(3))
    group.select_option("16")
    says(tab, live, "GROUP_M = 16:")
    size.select_option("4096")
    tab.wait_for_function("(live) => live.querySelector('.tl-pidmap').tlPidMap.model.most === 4096", arg=live.element_handle(), timeout=60_000)
    assert "in step: 67.1 MB" in live.locator("svg[role=img]").text_content()
    tile.select_option("128×256×64")
    tab.wait_for_function("(live) => live.querySelector('.tl-pidmap').tlPidMap.model.most === 512", arg=live.element_handle(), timeout=60_000)
    says(tab, live, "Programs 0 … 131 (wave 0 of 0 … 3)")


def test_a_prediction_is_answered(book):
    view = book.tab.locator(".tl-view", has_text="Row by row: tiles that programs 0 … 8 need?").first
    view.scroll_into_view_if_needed()
    view.get_by_label("18", exact=True).check()
    view.get_by_role("button", name="Check").click()
    view.locator(".tl-result", has_text="a program walks along all of K").wait_for()


def test_the_broken_twin_is_right_once_its_last_group_is_clamped(book):
    index, source = cell_with(book, "def broken_pid")
    mended = source.replace(
        "    in_group = pid % programs_in_group\n",
        "    in_group = pid % programs_in_group\n    rows = tl.minimum(num_pid_m - pid // programs_in_group * GROUP_M, GROUP_M)\n",
    )
    mended = mended.replace("in_group % GROUP_M", "in_group % rows").replace("in_group // GROUP_M", "in_group // rows")
    assert mended.count("rows") == 3
    test, shown = cell_with(book, "def unwritten")
    picture, drawn = cell_with(book, '"broken": broken')
    assert "256 of 1536 elements never written" in book.run_cell(test, shown)
    assert "3 tiles never visited, 3 programs outside" in book.run_cell(picture, drawn)
    book.run_cell(index, mended)
    assert book.run_cell(test, shown).count(", 0 of ") == 5
    assert "never visited" not in book.run_cell(picture, drawn)


@pytest.mark.parametrize("name", ["grouped_matmul.grouped_pid", "grouped_matmul.snake"])
def test_a_wrong_answer_says_its_reason_and_the_solution_passes(book, name):
    try_answers(book, name, most=2)
