"""What a check says: frozen, comparable, with a text that is the same on every machine."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any, Callable

__all__ = ["CheckResult", "Reason", "Text", "show"]

show: Callable[["CheckResult"], Any] | None = None
"""Makes what a notebook displays after a result's text (a view, or None). The package root sets it, so that this
room need not know any view."""

_WIDTH = 80


class Text(str):
    """A text that shows itself as it is, as a cell's last value too."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Reason:
    """One thing that is wrong.

    ``code`` names the kind (see ``reasons.RANK``), ``text`` says it in words. Where they apply: the ``kernel``, the
    ``program`` (three ids), source ``line`` and its ``source``, ``lane`` in the flat block, tensor argument ``arg`` and element
    ``offset`` from its pointer; ``index`` of the output element with ``expected`` and ``seen``. ``case`` is the number of
    the smallest failing case (None if none was run), ``label`` that case in words, ``again`` the code that repeats it.
    """

    code: str
    text: str
    kernel: str = ""
    program: tuple[int, int, int] | None = None
    line: int | None = None
    source: str = ""
    lane: int | None = None
    arg: str | None = None
    offset: int | None = None
    index: tuple[int, ...] | None = None
    expected: Any = None
    seen: Any = None
    case: int | None = None
    label: str = ""
    again: str = ""

    def __str__(self) -> str:
        lines = [self.text]
        if self.source:
            lines.append(f"  line {self.line}: {self.source.strip()}")
        if self.label:
            lines.append(f"Smallest failing case: {self.label}")
        if self.again:
            lines.append(f"See it again: {self.again}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Where:
    """Where a view should open: a launch of the trace, a program, a step of it, and the lane."""

    launch: int = 0
    program: tuple[int, int, int] = (0, 0, 0)
    step: int | None = None
    lane: int | None = None


@dataclass(frozen=True)
class CheckResult:
    """The verdict on an answer.

    ``status``: "right", "not right" or "not yet" (an unfinished stub). ``reasons`` come with the most fundamental first.
    ``tests`` are the cases that were run, in words; ``passed`` says how many of them came out right. ``trace`` is that of the
    failing case and ``where`` the place in it to look at. ``printed`` is what the answer printed in that case.
    """

    name: str
    status: str
    reasons: tuple[Reason, ...] = ()
    tests: tuple[str, ...] = ()
    passed: int = 0
    note: str = ""
    printed: str = field(default="", compare=False)
    trace: Any = field(default=None, compare=False, repr=False)
    where: Where | None = field(default=None, compare=False)

    @property
    def ok(self) -> bool:
        """Whether the answer is right."""
        return self.status == "right"

    def __bool__(self) -> bool:
        return self.ok

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the reasons."""
        return tuple(r.code for r in self.reasons)

    def __repr__(self) -> str:
        cases = f"{self.passed} of {len(self.tests)} cases came out right" if self.tests else "no case was run"
        if self.ok:
            lines = [f"✓ {self.name}: right ({len(self.tests)} cases)"]
        elif self.status == "not yet":
            lines = [f"… {self.name}: not yet"]
        else:
            lines = [f"✗ {self.name}: not right yet ({cases})"]
        if self.note:
            lines += _wrap(self.note, "  ")
        for i, reason in enumerate(self.reasons, 1):
            head = f"{i}. " if len(self.reasons) > 1 else "  "
            for k, line in enumerate(str(reason).splitlines()):
                lines += _wrap(line, head if k == 0 else " " * len(head))
        if self.printed and not self.ok:
            shown = self.printed.rstrip().splitlines()
            lines.append("  It printed:")
            lines += [f"    {line}" for line in shown[:8]]
            if len(shown) > 8:
                lines.append(f"    ({len(shown) - 8} more lines)")
        return "\n".join(lines)

    def _ipython_display_(self) -> None:
        """The text, and after it the picture as an output of its own, so that a stored notebook keeps both."""
        from IPython.display import display

        display({"text/plain": repr(self)}, raw=True)
        try:
            picture = show(self) if show is not None else None
        except ImportError:  # no widget library here: the text has to do
            picture = None
        if picture is not None:
            display(picture)


def _wrap(line: str, indent: str) -> list[str]:
    extra = line[: len(line) - len(line.lstrip())]
    if line.lstrip().startswith(("line ", "See it again")):
        return [indent + line]
    return textwrap.wrap(line.strip(), _WIDTH, initial_indent=indent + extra, subsequent_indent=" " * len(indent) + extra,
                         break_long_words=False, break_on_hyphens=False) or [indent]
