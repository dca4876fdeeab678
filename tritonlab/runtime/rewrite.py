"""A kernel's source as an ordinary Python function that the interpreter can run.

Triton's own interpreter compiles a kernel's source anew inside its module and leaves dozens of
names there. Here the code is compiled once, keeps the learner's line numbers, and runs with a copy of
the module's globals, so that the module never changes. Each loop turn passes ``tick``, where an
endless loop can be stopped.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

TICK = "__tritonlab_tick__"
TO_TENSOR = "__tritonlab_to_tensor__"
ASSERT = "__tritonlab_assert__"
TRY = "__tritonlab_try__"
_PYTHONS = frozenset(dir(builtins))


@dataclass(frozen=True)
class Source:
    """Where a jitted function's text stands. ``lines`` are its source lines, the first numbered ``first_line``."""

    name: str
    file: str
    first_line: int
    lines: tuple[str, ...]
    library: bool

    def text(self, line: int) -> str:
        """The line of that number, without its line break ("" if it is not part of the source)."""
        i = line - self.first_line
        return self.lines[i].rstrip("\n") if 0 <= i < len(self.lines) else ""

    @property
    def def_line(self) -> int:
        """The line on which ``def`` stands, below the decorators."""
        return self.first_line + next((i for i, t in enumerate(self.lines) if t.lstrip().startswith("def ")), 0)

    def excerpt(self, line: int, around: int = 2) -> tuple[tuple[int, str], ...]:
        """(number, text) of the lines around one, dedented together."""
        first = max(self.first_line, line - around)
        last = min(self.first_line + len(self.lines) - 1, line + around)
        texts = textwrap.dedent("\n".join(self.text(n) for n in range(first, last + 1))).split("\n")
        return tuple(zip(range(first, last + 1), texts))


class _Rewriter(ast.NodeTransformer):
    """Values that are assigned become tensors, as in Triton's interpreter, each loop turn ticks, asserts understand blocks, and ``try`` is refused."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        node.value = _call(TO_TENSOR, node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if node.value is None:
            return node
        value = node.value if ast.unparse(node.annotation).endswith("constexpr") else _call(TO_TENSOR, node.value)
        return ast.copy_location(ast.Assign(targets=[node.target], value=value), node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(ast.Expr(_call(ASSERT, node.test, *([node.msg] if node.msg else []))), node)

    def _try(self, node: Any) -> ast.AST:
        return ast.copy_location(ast.Expr(_call(TRY)), node)

    visit_Try = visit_TryStar = _try

    def _loop(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        tick = ast.copy_location(ast.Expr(_call(TICK)), node.body[0])
        node.body.insert(0, ast.fix_missing_locations(tick))
        return node

    visit_For = visit_While = _loop


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=list(args), keywords=[])


def _one_line_per_statement(tree: ast.AST) -> None:
    """Give every expression the line on which its statement begins, whatever the Python version does."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt):
            continue
        for name, value in ast.iter_fields(node):
            children = value if isinstance(value, list) else [value]
            for child in children:
                if isinstance(child, ast.AST) and not isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
                    for inner in ast.walk(child):
                        if hasattr(inner, "lineno"):
                            inner.lineno = inner.end_lineno = node.lineno  # type: ignore[attr-defined]
                            inner.col_offset = inner.end_col_offset = 0  # type: ignore[attr-defined]


_compiled: dict[int, tuple[Any, types.CodeType, Source]] = {}
_by_code: dict[int, tuple[types.CodeType, Source]] = {}


def source_of(code: types.CodeType) -> Source | None:
    """The source behind a rewritten function's code, or None for any other code."""
    known = _by_code.get(id(code))
    return known[1] if known is not None else None


def line_of(e: BaseException) -> tuple[Source | None, int]:
    """The innermost learner's line that an exception came through, the exceptions that caused it included."""
    found: tuple[Source | None, int] = (None, 0)
    seen: set[int] = set()
    cause: BaseException | None = e
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        tb = cause.__traceback__
        while tb is not None:
            source = source_of(tb.tb_frame.f_code)
            if source is not None and not source.library:
                found = (source, tb.tb_lineno)
            tb = tb.tb_next
        cause = cause.__cause__
    return found


def recursive(e: BaseException) -> bool:
    """Whether an exception came through one of the learner's kernels or device functions more than once."""
    passed: set[int] = set()
    tb = e.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        source = source_of(code)
        if source is not None and not source.library:
            if id(code) in passed:
                return True
            passed.add(id(code))
        tb = tb.tb_next
    return False


def statement_at(source: Source, line: int) -> ast.stmt | None:
    """The statement that begins on a line, parsed from the original source."""
    try:
        tree = ast.parse(textwrap.dedent("".join(source.lines)))
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno + source.first_line - 1 == line:
            return node
    return None


def own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """All expressions of a statement, but not those of the statements in its body."""
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        yield node
        todo += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]


def compiled(jit: Any) -> tuple[types.CodeType, Source]:
    """The rewritten code of a ``JITFunction`` and its source. Cached by function, so a redefined kernel is new."""
    fn = jit.fn
    known = _compiled.get(id(fn))
    if known is not None and known[0] is fn:
        return known[1], known[2]
    lines, first = getattr(jit, "raw_src", None), getattr(jit, "starting_line_number", None)
    if not lines or first is None:
        lines, first = inspect.getsourcelines(fn)
    file = fn.__code__.co_filename
    library = (fn.__module__ or "").split(".")[0] == "triton"
    source = Source(fn.__name__, file, first, tuple(lines), library)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    definition = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))
    definition.decorator_list = []
    definition.returns = None
    arguments = definition.args
    arguments.defaults, arguments.kw_defaults = [], [None for _ in arguments.kwonlyargs]
    for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
        a.annotation = None
    module = ast.Module(body=[_Rewriter().visit(definition)], type_ignores=[])
    ast.fix_missing_locations(module)
    _one_line_per_statement(module)
    ast.increment_lineno(module, first - 1)
    code = next(c for c in compile(module, file, "exec").co_consts if isinstance(c, types.CodeType))
    _compiled[id(fn)] = (fn, code, source)
    _by_code[id(code)] = (code, source)
    return code, source


def build(jit: Any, known: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[..., Any]:
    """A callable of the kernel's rewritten code over a copy of its globals and captured names.

    ``known`` is given these names and returns what the interpreter adds: instead of a module's own name where that is
    what the compiler does, or only where there is none (names of Python's own, such as ``print``).
    """
    code, _ = compiled(jit)
    fn = jit.fn
    names = dict(fn.__globals__)
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            pass
    for name, value in known(names).items():
        if name not in _PYTHONS or name not in names:
            names[name] = value
    built = types.FunctionType(code, names, fn.__name__, fn.__defaults__)
    built.__kwdefaults__ = fn.__kwdefaults__
    return built
