"""Chapter 1 in a real JupyterLab, worked through as a learner does: run, explore, predict, change, solve the exercises."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tritonlab.views.jupyterlab import open_notebook, serve_lab
from tritonlab.views.screenshots import SERIOUS, axe_source, faults_of

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = ROOT / "notebooks" / "01_vector_add.ipynb"
WRONG = ROOT / "tests" / "exercises" / "wrong"

pytestmark = pytest.mark.skipif(not CHAPTER.exists(), reason="there is no notebooks/01_vector_add.ipynb")


@pytest.fixture(scope="module")
def book(chromium, tmp_path_factory):
    """A copy of the chapter, all cells run."""
    root = tmp_path_factory.mktemp("chapter")
    shutil.copy(CHAPTER, root)
    with serve_lab(root) as lab, open_notebook(chromium, lab, CHAPTER.name) as opened:
        opened.run_all()
        opened.tab.locator(".tl-view .tl-says").first.wait_for(state="attached")
        yield opened


def exercises(book) -> dict[str, tuple[int, str]]:
    """For every exercise of the chapter its cell's index, and the lines that check the answer."""
    found = {}
    for index, cell in enumerate(book.cells()):
        name = re.search(r'^ex = lab\.exercise\("([\w.]+)"\)', cell["source"], re.M) if cell["cell_type"] == "code" else None
        if name:
            found[name[1]] = (index, cell["source"][name.start() :])
    return found


def says(tab, view, words: str) -> None:
    """Wait until the view's sentence has these words."""
    tab.wait_for_function("([view, words]) => view.querySelector('.tl-says').innerText.includes(words)", arg=[view.element_handle(), words], timeout=60_000)


def test_run_all_ends_without_an_error_and_without_a_word_on_the_console(book):
    assert book.errors() == [] and book.faults == []


def test_every_cell_ran_and_every_view_found_its_model(book):
    assert book.tab.locator("text=model not found").count() == 0
    assert all(c["execution_count"] for c in book.cells() if c["cell_type"] == "code")


def test_the_first_tiles_are_driven_by_mouse_and_keys(book):
    tab, view = book.tab, book.tab.locator(".tl-tiles").first
    view.scroll_into_view_if_needed()
    view.locator(".tl-picture").focus()
    tab.keyboard.press("Home")
    says(tab, view, "Program 0 of 4")
    tab.keyboard.press("ArrowRight")
    says(tab, view, "Program 1 of 4")
    strip = view.locator("[data-arg] .tl-strip").first
    x, y = strip.evaluate("(g) => { const m = g.getScreenCTM(); const { x, window, cell } = g.tlStrip; return [m.e + x(2) + cell / 2, m.f + 25]; }")
    tab.mouse.click(x, y)
    says(tab, view, "Program 0 of 4")


def test_another_block_size_changes_the_tiles(book):
    tab, live = book.tab, book.tab.locator(".tl-live").first
    live.scroll_into_view_if_needed()
    live.locator("select").select_option("64")
    says(tab, live, "of 2 loads")
    live.locator("select").select_option("16")
    says(tab, live, "of 7 loads")


def test_the_stepper_goes_to_the_last_line_and_back(book):
    tab, view = book.tab, book.tab.locator(".tl-stepper").first
    view.scroll_into_view_if_needed()
    slider = view.locator("input[type=range]").first
    slider.focus()
    slider.press("End")
    says(tab, view, "writes out_ptr[960…999]")
    slider.press("Home")
    says(tab, view, "pid becomes 15")


def test_a_prediction_is_answered_by_key(book):
    tab = book.tab
    view = tab.locator(".tl-view", has_text="how many programs are needed?").first
    view.scroll_into_view_if_needed()
    view.get_by_label("15", exact=True).focus()
    tab.keyboard.press("Space")
    tab.keyboard.press("Enter")
    view.locator(".tl-result", has_text="15 × 64 = 960").wait_for()
    view.get_by_role("button", name="Start over").click()
    view.get_by_label("16", exact=True).check()
    view.get_by_role("button", name="Check").click()
    view.locator(".tl-result", has_text="16").wait_for()
    assert "15 × 64 = 960" not in view.locator(".tl-result").inner_text()


@pytest.mark.parametrize("name", ["vector_add.offsets", "vector_add.mask", "vector_add.axpy", "vector_add.strided", "vector_add.persistent"])
def test_every_kept_wrong_answer_says_its_reason_and_the_solution_passes(book, name):
    index, check = exercises(book)[name]
    wrong = sorted((WRONG / name).glob("*.py"))
    assert len(wrong) >= 2
    for file in wrong:
        source = file.read_text()
        words = re.search(r"^# which says: (.*)$", source, re.M)[1]
        said = book.run_cell(index, f"{source}\n\n{check}")
        assert words in " ".join(said.split()), f"{file.name}: {said}"  # however the lines break
    solution = book.ask(f'print(lab.exercise("{name}").solution())')
    said = book.run_cell(index, f"{solution}\n\n{check}")
    assert said.startswith(f"✓ {name}: right"), said
    assert book.faults == []


def test_the_chapters_outputs_have_no_serious_accessibility_fault(book):
    axe = axe_source()
    if axe is None:
        pytest.skip("axe-core is missing: pip install axe-playwright-python")
    assert [f for f in faults_of(book.tab, axe, ".tl-view") if f["impact"] in SERIOUS] == []
