"""Chapter 4 in a real JupyterLab: Run All, and its views by keyboard."""

from __future__ import annotations

from chapters import test_no_view_has_a_serious_accessibility_fault, test_run_all_ends_without_an_error  # noqa: F401

CHAPTER = "04_rmsnorm"


def test_the_first_tile_picture_follows_the_keys(book):
    tab, live = book.tab, book.tab.locator(".tl-live").first
    live.scroll_into_view_if_needed()
    live.locator(".tl-picture").first.focus()
    said = []
    for key in ("Home", "End"):
        tab.keyboard.press(key)
        tab.wait_for_timeout(300)
        said.append(live.locator(".tl-says").first.inner_text())
    assert said[0].startswith("Program 0 of") and said[0] != said[1]
