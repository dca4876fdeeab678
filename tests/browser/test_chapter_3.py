"""Chapter 3 in a real JupyterLab: run it all, explore the fills, move the logits, mend the twin, and answer an exercise."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tritonlab.views.jupyterlab import open_notebook, serve_lab
from tritonlab.views.screenshots import SERIOUS, axe_source, faults_of

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = ROOT / "notebooks" / "03_softmax.ipynb"
WRONG = ROOT / "tests" / "exercises" / "wrong"

pytestmark = pytest.mark.skipif(not CHAPTER.exists(), reason="there is no notebooks/03_softmax.ipynb")


@pytest.fixture(scope="module")
def book(chromium, tmp_path_factory):
    """A copy of the chapter, all cells run."""
    root = tmp_path_factory.mktemp("chapter")
    shutil.copy(CHAPTER, root)
    with serve_lab(root) as lab, open_notebook(chromium, lab, CHAPTER.name) as opened:
        opened.run_all()
        opened.tab.locator(".tl-fill .tl-says").first.wait_for(state="attached")
        yield opened


def says(tab, view, words: str) -> None:
    """Wait until the view's sentence has these words."""
    tab.wait_for_function("([view, words]) => view.querySelector('.tl-says').innerText.includes(words)", arg=[view.element_handle(), words], timeout=60_000)


def cell_with(book, words: str) -> tuple[int, str]:
    return next((i, c["source"]) for i, c in enumerate(book.cells()) if c["cell_type"] == "code" and words in c["source"])


def test_run_all_ends_without_an_error_and_every_cell_ran(book):
    assert book.errors() == [] and book.faults == []
    assert all(c["execution_count"] for c in book.cells() if c["cell_type"] == "code")
    assert book.tab.locator("text=model not found").count() == 0


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
    name = "softmax.row_max"
    index, source = cell_with(book, f'ex = lab.exercise("{name}")')
    check = source[source.index("ex = lab.exercise") :]
    for file in sorted((WRONG / name).glob("*.py")):
        words = re.search(r"^# which says: (.*)$", file.read_text(), re.M)[1]
        said = book.run_cell(index, f"{file.read_text()}\n\n{check}")
        assert words in " ".join(said.split()), f"{file.name}: {said}"
    solution = book.ask(f'print(lab.exercise("{name}").solution())')
    assert book.run_cell(index, f"{solution}\n\n{check}").startswith(f"✓ {name}: right")
    assert book.faults == []


def test_the_chapters_outputs_have_no_serious_accessibility_fault(book):
    axe = axe_source()
    if axe is None:
        pytest.skip("axe-core is missing: pip install axe-playwright-python")
    assert [f for f in faults_of(book.tab, axe, ".tl-view") if f["impact"] in SERIOUS] == []
