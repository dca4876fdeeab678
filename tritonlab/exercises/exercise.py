"""An exercise as a notebook uses it: check, hint, solution, and the cases' inputs."""

from __future__ import annotations

from typing import Any

from .check import check
from .inputs import build
from .problem import Problem
from .result import CheckResult, Text

__all__ = ["Exercise"]


class Exercise:
    """One exercise. ``check(launcher)``, ``hint()``, ``solution()``; ``prompt`` and ``stub`` are its text and its cell."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._given = 0

    @property
    def name(self) -> str:
        """Its name, "chapter.exercise"."""
        return self.problem.name

    @property
    def prompt(self) -> Text:
        """What to do."""
        return Text(self.problem.prompt)

    @property
    def stub(self) -> Text:
        """The code to begin with."""
        return Text(self.problem.stub)

    def check(self, launcher: Any) -> CheckResult:
        """Run a launcher guarded and traced on the exercise's cases and say what is wrong with it.

        launcher: the function itself, not what it returns. Nothing it does is raised, and it cannot harm this process.
        """
        return check(launcher, self.problem)

    def hint(self, number: int | None = None) -> Text:
        """The next hint, or hint ``number`` (from 1). ``ValueError`` for a number that there is not."""
        hints = self.problem.hints
        if number is None:
            number = min(self._given + 1, len(hints))
            self._given = number
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(hints):
            raise ValueError(f"{self.name} has hints 1 to {len(hints)}; got {number!r}")
        left = len(hints) - number
        rest = f"({left} more: hint({number + 1}))" if left else "(That was the last one; solution() shows a solution.)"
        return Text(f"Hint {number} of {len(hints)}: {hints[number - 1]}\n{rest}")

    def solution(self) -> Text:
        """The source of a solution that passes the check."""
        return Text(self.problem.solution_source)

    def inputs(self, case: int, block: int | None = None) -> tuple[Any, ...]:
        """The arguments of a case, new and the same each time: what a reason's "See it again" line uses.

        block: the block size that the cases were made for, where it is not the exercise's own.
        """
        cases = self.problem.all_cases(block)
        if isinstance(case, bool) or not isinstance(case, int) or not 0 <= case < len(cases):
            raise ValueError(f"{self.name} has cases 0 to {len(cases) - 1}; got {case!r}")
        return build(cases[case], case).args

    def __repr__(self) -> str:
        return f"<Exercise {self.name}: {len(self.problem.hints)} hints, {len(self.problem.all_cases())} cases>"
