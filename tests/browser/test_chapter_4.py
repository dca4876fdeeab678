"""Chapter 4 in a real JupyterLab: Run All, and its views by keyboard."""

import shutil
from pathlib import Path

import pytest

from tritonlab.views.jupyterlab import open_notebook, serve_lab
from tritonlab.views.screenshots import SERIOUS, axe_source, faults_of

CHAPTER = Path(__file__).resolve().parents[2] / "notebooks" / "04_rmsnorm.ipynb"


@pytest.fixture(scope="module")
def book(chromium, tmp_path_factory):
    """A copy of the chapter, all cells run."""
    root = tmp_path_factory.mktemp("chapter")
    shutil.copy(CHAPTER, root)
    with serve_lab(root) as lab, open_notebook(chromium, lab, CHAPTER.name) as opened:
        opened.run_all()
        opened.tab.locator(".tl-view .tl-says").first.wait_for(state="attached")
        yield opened


def test_run_all_ends_without_an_error_and_every_cell_ran(book):
    assert book.errors() == [] and book.faults == []
    assert all(c["execution_count"] for c in book.cells() if c["cell_type"] == "code")
    assert book.tab.locator("text=model not found").count() == 0


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


def test_the_chapters_outputs_have_no_serious_accessibility_fault(book):
    axe = axe_source()
    if axe is None:
        pytest.skip("axe-core is missing: pip install axe-playwright-python")
    assert [f for f in faults_of(book.tab, axe, ".tl-view") if f["impact"] in SERIOUS] == []
