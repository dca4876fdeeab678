"""What the interpreter accepts and a GPU refuses, as far as it is known without a compiler."""

from __future__ import annotations

import ast
from typing import Any

import torch
import triton.language as tl

from ..trace.record import Launch, trim
from .answer import kernels_of, tree_of
from .finding import Finding
from .run import Outcome

__all__ = ["refusals"]

AXIS_LIMIT = 65_535
"""Largest extent of grid axes 1 and 2 of a CUDA launch; axis 0 takes 2³¹ − 1."""

_PLAIN = (int, float, bool, str, list, tuple, dict, set, torch.Tensor)


def refusals(fn: Any, outcomes: list[Outcome]) -> list[Finding]:
    """The first thing in each of the answer's kernels that a GPU would refuse."""
    if not outcomes:
        return []
    outcome = max(outcomes, key=lambda o: len(o.trace.launches))
    for o in outcomes:
        for n, launch in enumerate(o.trace.launches):
            detail = _grid(launch)
            if detail:
                return [Finding("gpu_refuses", o, dict(detail=detail), dict(kernel=launch.kernel), n)]
    for kernel in kernels_of(fn):
        tree = tree_of(kernel)
        if tree is None:
            continue
        found = _jump(tree) or _plain_global(tree, kernel) or _changing_type(tree, fn, outcomes)
        if found:
            detail, line = found
            return [Finding("gpu_refuses", outcome, dict(detail=detail), dict(kernel=tree.name, line=line, source=_text(kernel, tree, line)))]
    return []


def _text(kernel: Any, tree: ast.FunctionDef, line: int) -> str:
    from .answer import source_of

    found = source_of(kernel)
    return found[0].splitlines()[line - found[1]].strip() if found else ""


def _grid(launch: Launch) -> str:
    for axis in (1, 2):
        if launch.grid[axis] > AXIS_LIMIT:
            return f"axis {axis} of the grid {trim(launch.grid)} has more than {AXIS_LIMIT} programs; only axis 0 may."
    return ""


def _jump(tree: ast.FunctionDef) -> tuple[str, int] | None:
    for loop in ast.walk(tree):
        if isinstance(loop, (ast.For, ast.While)):
            for node in ast.walk(loop):
                if isinstance(node, (ast.Break, ast.Continue, ast.Return)):
                    word = type(node).__name__.lower()
                    return f"`{word}` inside a loop (line {node.lineno}) does not compile; bound the loop, or mask the work instead.", node.lineno
    return None


def _plain_global(tree: ast.FunctionDef, kernel: Any) -> tuple[str, int] | None:
    own = {a.arg for a in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)}
    own |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    names = getattr(kernel.fn, "__globals__", {})
    for statement in tree.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in own and node.id in names:
                value = names[node.id]
                if isinstance(value, _PLAIN) and not isinstance(value, tl.constexpr):
                    how = "pass it as an argument" + (f", or write {node.id} = tl.constexpr({value!r})" if isinstance(value, (int, float)) else "")
                    return f"line {node.lineno} uses the Python variable {node.id}, which a compiled kernel cannot see; {how}.", node.lineno
    return None


def _changing_type(tree: ast.FunctionDef, fn: Any, outcomes: list[Outcome]) -> tuple[str, int] | None:
    """A variable that a loop gives another type than it had before: ``acc = 0`` and then ``acc += x``."""
    loops = [n for n in ast.walk(tree) if isinstance(n, (ast.For, ast.While))]
    carried = [(loop, name) for loop in loops for name in sorted(_assigned(loop) & _before(tree, loop))]
    if not carried:
        return None
    types: dict[str, dict[int, set[str]]] = {}
    for launch, program in _looping(fn, tree, outcomes):
        for step in launch.steps.get(program, ()):
            if step.function == tree.name:
                for local in step.locals:
                    if local.name in step.changed:
                        types.setdefault(local.name, {}).setdefault(step.line, set()).add(local.dtype)
    for loop, name in carried:
        lines = types.get(name, {})
        inside = {d for line, ds in lines.items() if loop.lineno <= line <= (loop.end_lineno or line) for d in ds}
        outside = {d for line, ds in lines.items() if line < loop.lineno for d in ds}
        if inside and outside and inside != outside:
            line = min(n for n in lines if n < loop.lineno)
            was, becomes = sorted(outside)[0], sorted(inside - outside or inside)[0]
            return f"{name} is {was} before the loop (line {line}) and {becomes} in it; a compiled loop keeps one type: begin with that type.", line
    return None


def _looping(fn: Any, tree: ast.FunctionDef, outcomes: list[Outcome]) -> list[tuple[Launch, Any]]:
    from ..trace.tracer import trace
    from .inputs import build

    outcome = min((o for o in outcomes if o.case.numel > 1), key=lambda o: o.case.numel, default=None)
    if outcome is None:
        return []
    built = build(outcome.case, outcome.number)
    made = trace(lambda: fn(*built.args), step=0, errors="keep")
    return [(launch, (0, 0, 0)) for launch in made.launches if tree.name in launch.functions]


def _assigned(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _before(tree: ast.FunctionDef, loop: ast.For | ast.While) -> set[str]:
    return {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.lineno < loop.lineno
    }
