"""What the tests of the chapters share: a chapter's file sets ``CHAPTER``, takes the fixture ``book`` and imports from here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tritonlab.views.screenshots import SERIOUS, axe_source, faults_of

__all__ = ["NOTEBOOKS", "cell_with", "says", "test_no_view_has_a_serious_accessibility_fault", "test_run_all_ends_without_an_error", "try_answers"]

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
WRONG = ROOT / "tests" / "exercises" / "wrong"


def says(tab, view, words: str) -> None:
    """Wait until the view's sentence has these words."""
    tab.wait_for_function("([view, words]) => view.querySelector('.tl-says').innerText.includes(words)", arg=[view.element_handle(), words], timeout=60_000)


def cell_with(book, words: str) -> tuple[int, str]:
    """Index and source of the first code cell that has these words."""
    return next((i, c["source"]) for i, c in enumerate(book.cells()) if c["cell_type"] == "code" and words in c["source"])


def try_answers(book, name: str, most: int | None = None) -> None:
    """Give an exercise its kept wrong answers (at most so many), each of which says its reason, and then its solution."""
    index, source = cell_with(book, f'ex = lab.exercise("{name}")')
    check = source[source.index("ex = lab.exercise") :]
    files = sorted((WRONG / name).glob("*.py"))
    assert len(files) >= 2
    for file in files[:most]:
        words = re.search(r"^# which says: (.*)$", file.read_text(), re.M)[1]
        said = book.run_cell(index, f"{file.read_text()}\n\n{check}")
        assert words in " ".join(said.split()), f"{file.name}: {said}"  # however the lines break
    solution = book.ask(f'print(lab.exercise("{name}").solution())')
    said = book.run_cell(index, f"{solution}\n\n{check}")
    assert said.startswith(f"✓ {name}: right"), said
    assert book.faults == []


def test_run_all_ends_without_an_error(book):
    assert book.errors() == [] and book.faults == []
    assert all(c["execution_count"] for c in book.cells() if c["cell_type"] == "code")
    assert book.tab.locator("text=model not found").count() == 0


def test_no_view_has_a_serious_accessibility_fault(book):
    axe = axe_source()
    if axe is None:
        pytest.skip("axe-core is missing: pip install axe-playwright-python")
    assert [f for f in faults_of(book.tab, axe, ".tl-view") if f["impact"] in SERIOUS] == []
