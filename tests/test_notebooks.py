"""The stored chapters are current, canonical and run. (nbval compares what they print.)"""

from __future__ import annotations

from pathlib import Path

import pytest

from tritonlab import notebook

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
CHAPTERS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_stored_chapter_is_fit_to_be_read(path):
    found = notebook.problems(path)
    assert not found, f"python -m tritonlab build {path.stem}:\n" + "\n".join(found)
