"""Chapter 2 in a real JupyterLab: run it all, move the tiles, step over the end of a row, predict, mend the twin, answer exercises."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tritonlab.views.jupyterlab import open_notebook, serve_lab
from tritonlab.views.screenshots import SERIOUS, axe_source, faults_of

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = ROOT / "notebooks" / "02_bias_gelu.ipynb"
WRONG = ROOT / "tests" / "exercises" / "wrong"

pytestmark = pytest.mark.skipif(not CHAPTER.exists(), reason="there is no notebooks/02_bias_gelu.ipynb")


@pytest.fixture(scope="module")
def book(chromium, tmp_path_factory):
    """A copy of the chapter, all cells run."""
    root = tmp_path_factory.mktemp("chapter")
    shutil.copy(CHAPTER, root)
    with serve_lab(root) as lab, open_notebook(chromium, lab, CHAPTER.name) as opened:
        opened.run_all()
        opened.tab.locator(".tl-view .tl-says").first.wait_for(state="attached")
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
    index, source = cell_with(book, f'ex = lab.exercise("{name}")')
    check = source[source.index("ex = lab.exercise") :]
    for file in sorted((WRONG / name).glob("*.py"))[:3]:
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
