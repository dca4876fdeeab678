"""What the tests of the exercises share: loading kept answers, and small problems of their own."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tritonlab.exercises.problem import Case, Problem, Tolerance, spec

WRONG = Path(__file__).parent / "wrong"


@dataclass(frozen=True)
class KeptAnswer:
    """A wrong answer as it would stand in a cell, with the reason it must be rejected with and words that reason must say."""

    path: Path
    exercise: str
    code: str
    says: str

    @property
    def id(self) -> str:
        return f"{self.exercise}-{self.path.stem}"


def kept_answers() -> list[KeptAnswer]:
    found = []
    for path in sorted(WRONG.glob("*/*.py")):
        text = path.read_text(encoding="utf-8")
        code = re.search(r"^# rejected with: (\S+)$", text, re.M)
        says = re.search(r"^# which says: (.+)$", text, re.M)
        assert code and says, f"{path} does not say how it must be rejected"
        found.append(KeptAnswer(path, path.parent.name, code.group(1), says.group(1)))
    return found


def load(path: Path) -> Any:
    """A file as a module, imported anew."""
    name = "answer_" + re.sub(r"\W", "_", f"{path.parent.name}_{path.stem}")
    made = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(made)
    sys.modules[name] = module
    made.loader.exec_module(module)
    return module


def cell(folder: Path, text: str, name: str = "cell") -> Any:
    """A cell's text as a module, with the imports that a notebook has made before."""
    path = folder / f"{name}.py"
    path.write_text("import torch\nimport triton\nimport triton.language as tl\n\n\n" + text, encoding="utf-8")
    return load(path)


def launcher_of_the_exercise(x):
    raise AssertionError("not meant to be called")


def problem(oracle: Any, cases: Any, *, launcher: Any = launcher_of_the_exercise, **more: Any) -> Problem:
    """A problem with only what a test is about."""
    given: dict[str, Any] = dict(
        name="test.problem", prompt="", stub="", solution=(launcher,), hints=("a", "b"),
        tolerance=Tolerance(1e-5, 1e-5, "float32 sums of a few dozen values round by about 1e-6."),
    )
    return Problem(oracle=oracle, cases=cases, **{**given, **more})


def vectors(*lengths: int, **how: Any) -> tuple[Case, ...]:
    return tuple(Case((spec(n, **how),)) for n in lengths)


def rows(*shapes: tuple[int, int], **how: Any) -> tuple[Case, ...]:
    return tuple(Case((spec(*shape, **how),)) for shape in shapes)


def float64(x: torch.Tensor) -> torch.Tensor:
    return x.double()
