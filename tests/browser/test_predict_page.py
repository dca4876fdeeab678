"""Predictions in a real Chromium: answered by keyboard, remembered by the page, revealed only after a try."""

from __future__ import annotations

import pytest

from tritonlab.views.predict import predict

WHY = {24: "1024 lanes for 1000 elements.", 40: "Those are the lanes that are on."}
CHOICES = predict("How many lanes of `mask` are off?", [0, 24, 40, 64], 24, why=WHY)
NUMBER = predict("How many programs?", None, 16, why={15: "15 leave 40 elements out."})


@pytest.fixture
def tab(show):
    return show(CHOICES)


def result(tab) -> str:
    return tab.locator("[role=status]").inner_text()


def test_nothing_is_revealed_before_a_try(tab):
    text = tab.locator("body").inner_text()
    assert "How many lanes of mask are off?" in text and result(tab) == ""
    assert "right" not in text and "1000 elements" not in text
    assert tab.get_by_role("button", name="Show the answer").count() == 0
    assert tab.get_by_role("radio").count() == 4 and tab.locator("input:checked").count() == 0
    assert tab.get_by_role("group", name="How many lanes of mask are off?").count() == 1


def test_checking_without_a_choice_asks_for_one(tab):
    tab.get_by_role("button", name="Check").click()
    assert result(tab) == "Choose an answer first."
    assert tab.get_by_role("button", name="Show the answer").count() == 0


def test_answered_by_keyboard_wrong_then_right(tab):
    tab.keyboard.press("Tab")
    tab.keyboard.press("Space")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    assert result(tab) == "Not 40. Those are the lanes that are on."
    assert tab.locator(".tl-wrong").inner_text().split("\n") == ["40", "not this"] or "not this" in tab.locator(".tl-wrong").inner_text()
    assert tab.locator(".tl-right").count() == 0
    tab.keyboard.press("ArrowUp")
    tab.keyboard.press("Enter")
    assert result(tab) == "Right: 24. 1024 lanes for 1000 elements."
    assert "24" in tab.locator(".tl-right").inner_text()
    assert tab.get_by_role("button", name="Check").count() == 0
    # Focus is on what can be done next.
    tab.keyboard.press("Enter")
    assert result(tab) == "" and tab.locator("input:checked").count() == 0


def test_a_wrong_choice_without_a_reason_invites_another_try(tab):
    tab.get_by_label("64").check()
    tab.keyboard.press("Enter")
    assert result(tab) == "Not 64. Look again, and try another."


def test_the_answer_is_shown_on_request_after_a_try(tab):
    tab.get_by_label("0", exact=True).check()
    tab.keyboard.press("Enter")
    tab.get_by_role("button", name="Show the answer").click()
    assert result(tab) == "The answer is 24. 1024 lanes for 1000 elements."
    assert "24" in tab.locator(".tl-right").inner_text()


def test_a_number_is_compared_exactly_however_it_is_written(show):
    tab = show(NUMBER)
    entry = tab.get_by_role("textbox", name="your answer, a number")
    for text, said in [
        ("", "Enter a number first."),
        ("many", "many is not a number. Enter one such as 24, -3 or 0.5."),
        ("15", "Not 15. 15 leave 40 elements out."),
        ("16.5", "Not 16.5. Look again, and try another."),
        ("1.6e1", "Right: 1.6e1."),
    ]:
        entry.fill(text)
        entry.press("Enter")
        assert result(tab) == said
    big = predict("How large?", None, 2**60 + 1)
    tab = show(big)
    tab.locator(".tl-entry").fill(str(2**60))
    tab.keyboard.press("Enter")
    assert result(tab).startswith("Not ")
    tab.locator(".tl-entry").fill(f"{2**60 + 1:,}")
    tab.keyboard.press("Enter")
    assert result(tab).startswith("Right: ")


def test_the_answer_is_restored_after_a_reload_and_forgotten_on_request(chromium, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(CHOICES.page("kept"), encoding="utf-8")
    context = chromium.new_context(offline=True)
    tab = context.new_page()
    try:

        def load():
            tab.goto(file.as_uri())
            tab.wait_for_function("document.body.dataset.tlReady === 'true'")

        load()
        tab.get_by_label("40").check()
        tab.keyboard.press("Enter")
        load()
        assert result(tab) == "Not 40. Those are the lanes that are on."
        assert tab.get_by_label("40").is_checked()
        tab.get_by_label("24").check()
        tab.keyboard.press("Enter")
        load()
        assert result(tab).startswith("Right: 24.") and tab.get_by_label("24").is_checked()
        tab.get_by_role("button", name="Start over").click()
        load()
        assert result(tab) == "" and tab.evaluate("localStorage.length") == 0
    finally:
        context.close()


def test_keys_pressed_in_a_question_do_not_reach_the_notebook(tab):
    tab.evaluate("window.heard = []; document.addEventListener('keydown', (e) => window.heard.push(e.key))")
    tab.get_by_label("64").check()
    tab.keyboard.press("Enter")
    tab.keyboard.press("ArrowDown")
    assert tab.evaluate("window.heard") == []
    tab.keyboard.press("Control+s")
    assert tab.evaluate("window.heard") == ["Control", "s"]


@pytest.mark.parametrize(("view", "dark"), [(CHOICES, False), (NUMBER, True)], ids=["choices-light", "number-dark"])
def test_it_fits_480_px(show, view, dark):
    tab = show(view, 480, dark)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 480
