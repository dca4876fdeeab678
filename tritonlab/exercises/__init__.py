"""Exercises: problems, hints, solutions, and a check that names the bug.

``exercise("vector_add.mask")`` gives one; ``names()`` lists them all. A chapter's problems are one file in
``problems/``, named as the chapter, with a tuple ``PROBLEMS``.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from typing import Any

from . import problems as _problems
from .exercise import Exercise
from .problem import Case, KnownWrong, Problem, TensorSpec, Tolerance
from .result import CheckResult, Reason

__all__ = ["Case", "CheckResult", "Exercise", "KnownWrong", "Problem", "Reason", "TensorSpec", "Tolerance", "exercise", "names"]

_known: dict[str, Exercise] = {}


def _load() -> dict[str, Exercise]:
    if not _known:
        found = [module.name for module in pkgutil.iter_modules(_problems.__path__)]
        order = {name: i for i, name in enumerate(_problems.CHAPTERS)}
        for name in sorted(found, key=lambda n: (order.get(n, len(order)), n)):
            chapter = importlib.import_module(f"{_problems.__name__}.{name}")
            for problem in chapter.PROBLEMS:
                _known[problem.name] = Exercise(problem)
    return _known


def names() -> tuple[str, ...]:
    """The names of all exercises, chapter by chapter, each chapter's from easy to hard."""
    return tuple(_load())


def exercise(name: Any = None) -> Exercise:
    """The exercise of that name, the same object each time. ``ValueError`` lists the names, close matches first."""
    known = _load()
    if isinstance(name, str) and name in known:
        return known[name]
    if name is None:
        raise ValueError("exercise needs a name: " + ", ".join(known))
    if not isinstance(name, str):
        raise TypeError(f'exercise takes a name such as "{next(iter(known))}"; got {name!r}')
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    close += [n for n in known if n not in close and name and name in n.split(".")]
    rest = [n for n in known if n not in close]
    meant = f" Did you mean {' or '.join(close)}?" if close else ""
    raise ValueError(f"there is no exercise {name!r}.{meant} All: {', '.join(close + rest)}")
