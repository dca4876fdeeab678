"""What a judge found in one case, before it becomes a reason; and the words that judges share."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..analysis.lanes import line_text
from ..trace.record import Access, Launch, TensorArg, short
from .run import Outcome

__all__ = ["Finding", "at", "call_on_line", "indices", "lane_text", "number", "output_args", "parsed", "place"]


@dataclass(frozen=True, eq=False)
class Finding:
    """A code, the outcome it was seen in, the words for its template, the record's fields, and the launch it points into."""

    code: str
    outcome: Outcome
    words: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    launch: int = 0


def number(value: Any) -> str:
    """A value as a learner reads it: 6 significant digits, NaN and inf by name, integers whole."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    v = float(value)
    if v != v:
        return "NaN"
    if v in (float("inf"), float("-inf")):
        return "inf" if v > 0 else "-inf"
    return f"{v:.6g}"


def at(index: tuple[int, ...]) -> str:
    """An index in brackets: [5], [1, 2]; [] for a scalar."""
    return "[" + ", ".join(str(int(i)) for i in index) + "]"


def lane_text(lane: int, shape: tuple[int, ...]) -> str:
    """A lane of a block: "5", or "(1, 5)" in a block of several axes."""
    if len(shape) < 2:
        return str(lane)
    return "(" + ", ".join(str(int(i)) for i in np.unravel_index(lane, shape)) + ")"


def indices(mask: np.ndarray) -> list[tuple[int, ...]]:
    """The indices where a mask is on, row-major."""
    return [tuple(int(i) for i in row) for row in np.argwhere(mask)]


def place(access: Access, launch: Launch, lane: int | None = None) -> dict[str, Any]:
    """A reason's fields for one lane of an access."""
    return dict(
        kernel=launch.kernel,
        program=access.program,
        line=access.line,
        source=line_text(launch, access.function, access.line),
        lane=lane,
        arg=access.arg,
        offset=int(access.offsets.reshape(-1)[lane]) if lane is not None else None,
    )


def output_args(outcome: Outcome, which: int) -> list[tuple[int, Launch, TensorArg]]:
    """(launch number, launch, argument) of every argument that shares memory with a result."""
    result = outcome.results[which]
    address = result.untyped_storage().data_ptr()
    if not address:
        return []
    return [(n, launch, a) for n, launch in enumerate(outcome.trace.launches) for a in launch.args if a.address == address]


def parsed(launch: Launch, function: str = "") -> ast.Module | None:
    """The syntax tree of a kernel or device function, its lines numbered as in the learner's cell or file."""
    import textwrap

    held = launch.functions.get(function or launch.kernel)
    if held is None:
        return None
    try:
        tree = ast.parse(textwrap.dedent(held.source))
    except SyntaxError:
        return None
    ast.increment_lineno(tree, held.first_line - 1)
    return tree


def call_on_line(tree: ast.AST | None, line: int, kind: str, arg: str | None = None) -> ast.Call | None:
    """The ``tl.load``, ``tl.store`` or ``tl.atomic_…`` call in the statement that begins on a line.

    Of several, the one whose pointer mentions ``arg``; None when there is none, or when that does not decide.
    """
    if tree is None:
        return None
    found = []
    for statement in ast.walk(tree):
        if isinstance(statement, ast.stmt) and statement.lineno == line and not isinstance(statement, ast.FunctionDef):
            found += [
                n
                for n in ast.walk(statement)
                if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == kind
            ]
    found = list({id(n): n for n in found}.values())
    if len(found) > 1 and arg:
        named = [n for n in found if n.args and any(isinstance(m, ast.Name) and m.id == arg for m in ast.walk(n.args[0]))]
        found = named or found
    return found[0] if len(found) == 1 else None


def program_text(access: Access) -> str:
    return f"program {short(access.program)}"
