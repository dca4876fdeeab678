"""Every exercise stands in its chapter's notebook, with the stub as it is now."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import tritonlab as lab
from tritonlab.exercises import names

FILES = {"matmul": "tiled_matmul", "autotune": "autotune_and_pipeline"}
"""Chapters whose exercises are not named as their notebook is."""

NOTEBOOKS = {re.sub(r"^\d+_", "", p.stem): p for p in sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))}
NOTEBOOKS |= {chapter: NOTEBOOKS[stem] for chapter, stem in FILES.items() if stem in NOTEBOOKS}


def code_cells(path: Path) -> list[list[str]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(c["source"]).splitlines() for c in cells if c["cell_type"] == "code"]


def holds(cell: list[str], stub: str) -> bool:
    """Whether all lines of a stub stand in a cell, in order."""
    lines = iter(line.rstrip() for line in cell)
    return all(any(line == wanted.rstrip() for line in lines) for wanted in stub.splitlines() if wanted.strip())


@pytest.mark.parametrize("name", names())
def test_the_chapter_has_a_cell_with_the_stub_and_its_check(name):
    chapter = name.split(".")[0]
    if chapter not in NOTEBOOKS:
        pytest.skip(f"there is no notebook of {chapter} yet")
    exercise = lab.exercise(name)
    cells = code_cells(NOTEBOOKS[chapter])
    assert any(name in line for cell in cells for line in cell), f"{NOTEBOOKS[chapter].name} does not name {name}"
    stubs = [c for c in cells if holds(c, exercise.stub)]
    assert stubs, f"no cell of {NOTEBOOKS[chapter].name} holds the stub of {name} as it is now"
    checked = re.compile(rf"\.check\({exercise.problem.function}\)")
    assert any(checked.search(line) for c in cells for line in c), f"{NOTEBOOKS[chapter].name} never checks {exercise.problem.function}"


def test_a_missing_changed_or_disordered_line_of_a_stub_is_noticed():
    stub = "def f(x):\n    a = 1\n\n    return ...\n"
    assert holds(["# mine", "def f(x):", "    a = 1", "    return ...", "ex.check(f)"], stub)
    for cell in (["def f(x):", "    return ..."], ["def f(x):", "    a = 2", "    return ..."], ["def f(x):", "    return ...", "    a = 1"]):
        assert not holds(cell, stub)
