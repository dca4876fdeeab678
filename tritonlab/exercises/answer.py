"""What kind of thing was handed in, before anything is run: wrong kinds, unfinished stubs, kernels in reach."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from typing import Any, Callable

from .problem import Problem
from .reasons import reason
from .result import Reason

__all__ = ["functions_of", "kernels_of", "screen", "tree_of", "unfinished"]


def screen(answer: Any, problem: Problem) -> Reason | None:
    """The reason why the answer cannot be run at all, or None. Nothing of it is called."""
    name, call = problem.function, f"{problem.function}({', '.join(problem.parameters)})"
    if answer is None:
        return reason("wrong_kind", what=f"check got None. Hand over the function itself, check({name}), not what it returns.")
    if type(answer).__module__.split(".")[0] == "triton" and hasattr(answer, "fn"):
        return reason(
            "wrong_kind",
            what=f"check got a kernel. It takes the launcher: the Python function {call} that prepares the output and launches the kernel.",
        )
    if type(answer).__module__.split(".")[0] == "torch":
        return reason("wrong_kind", what=f"check got a tensor: the launcher was called. Hand over the function itself, check({name}).")
    if not callable(answer) or isinstance(answer, type):
        kind = f"the class {answer.__name__}" if isinstance(answer, type) else f"{_article(type(answer).__name__)} {type(answer).__name__}"
        return reason("wrong_kind", what=f"check got {kind}. It takes the launcher, the function {call}.")
    return _signature(answer, problem, call)


def _article(word: str) -> str:
    return "an" if word[:1].lower() in "aeiou" else "a"


def _signature(answer: Callable[..., Any], problem: Problem, call: str) -> Reason | None:
    try:
        signature = inspect.signature(answer)
    except (TypeError, ValueError):
        return None
    for case in problem.all_cases():
        try:
            signature.bind(*case.args)
        except TypeError:
            own = getattr(answer, "__name__", "it")
            return reason("wrong_signature", own=f"{own}{signature}", call=call, count=len(case.args))
    return None


def source_of(function: Any) -> tuple[str, int] | None:
    """Dedented source and the number of its first line, or None where Python cannot tell."""
    try:
        lines, first = inspect.getsourcelines(inspect.unwrap(getattr(function, "fn", function)))
    except (OSError, TypeError):
        return None
    return textwrap.dedent("".join(lines)), first


def tree_of(function: Any) -> ast.FunctionDef | None:
    """The function's syntax tree with the learner's line numbers, or None (a lambda, no source)."""
    found = source_of(function)
    if found is None:
        return None
    try:
        tree = ast.parse(found[0])
    except SyntaxError:
        return None
    ast.increment_lineno(tree, found[1] - 1)
    return next((n for n in tree.body if isinstance(n, ast.FunctionDef)), None)


def _code_names(code: types.CodeType) -> set[str]:
    names = set(code.co_names) | set(code.co_freevars)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= _code_names(const)
    return names


def named_in(function: Any) -> dict[str, Any]:
    """The global and captured values that a Python or jitted function names, by name."""
    inner = inspect.unwrap(getattr(function, "fn", function))
    code = getattr(inner, "__code__", None)
    if code is None:
        return {}
    tree = tree_of(function)
    names = _code_names(code) if tree is None else {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    values = {n: inner.__globals__[n] for n in sorted(names) if n in inner.__globals__}
    for name, cell in zip(code.co_freevars, inner.__closure__ or ()):
        try:
            values[name] = cell.cell_contents
        except ValueError:
            pass
    return values


def is_kernel(value: Any) -> bool:
    """Whether a value is a jitted (perhaps autotuned) Triton function."""
    return type(value).__module__.split(".")[0] == "triton" and hasattr(value, "fn")


def functions_of(function: Any) -> tuple[Any, ...]:
    """The learner's functions that a launcher reaches through the names it uses, nearest first: Python functions, jitted
    ones, and what is wrapped around these (a tuner, heuristics)."""
    found: list[Any] = []
    seen: set[int] = {id(function)}
    queue = [function]
    while queue:
        for value in named_in(_innermost(queue.pop(0))).values():
            inner = _innermost(value)
            module = str(getattr(inner, "__module__", ""))
            if id(value) in seen or not (is_kernel(value) or isinstance(value, types.FunctionType)) or module.split(".")[0] in ("triton", "torch"):
                continue
            queue.append(value)
            layer = value
            while id(layer) not in seen:
                seen.add(id(layer))
                found.append(layer)
                layer = layer.fn if is_kernel(layer) and is_kernel(layer.fn) else layer
    return tuple(found)


def _innermost(value: Any) -> Any:
    """The jitted function inside a tuner or heuristics; any other value as it is."""
    while is_kernel(value) and is_kernel(value.fn):
        value = value.fn
    return value


def kernels_of(function: Any) -> tuple[Any, ...]:
    """The learner's jitted functions that a launcher reaches through the names it uses, nearest first."""
    return tuple(f for f in functions_of(function) if is_kernel(f) and not is_kernel(f.fn))


def unfinished(answer: Any) -> str | None:
    """Where the answer is still a stub, in words, or None: a ``...`` in the launcher, a kernel or a helper, or a body that does nothing."""
    home = getattr(answer, "__module__", None)
    for function in (answer, *functions_of(answer)):
        tree = tree_of(function) if is_kernel(function) or getattr(function, "__module__", None) == home else None
        if tree is None:
            continue
        place = _placeholder(tree)
        if place is not None:
            return f"{tree.name} still has a ... in line {place}."
        if all(isinstance(n, ast.Pass) or _is_text(n) for n in tree.body):
            return f"{tree.name} does nothing yet."
    return None


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _placeholder(tree: ast.FunctionDef) -> int | None:
    """The line of the first ``...`` that stands for missing code; ``x[..., None]`` is none."""
    indices = {id(n) for s in ast.walk(tree) if isinstance(s, ast.Subscript) for n in ast.walk(s.slice)}
    annotated = {id(n) for a in ast.walk(tree) if isinstance(a, ast.arg) and a.annotation for n in ast.walk(a.annotation)}
    lines = [
        n.lineno
        for n in ast.walk(tree)
        if isinstance(n, ast.Constant) and n.value is Ellipsis and id(n) not in indices | annotated
    ]
    return min(lines, default=None)
