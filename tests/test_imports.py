"""Which room may import which: data flows one way, and an answer does not grade itself.

``kernels -> trace -> Trace -> analysis -> views``; beside it ``kernels -> compiler -> views`` and
``kernels -> bench -> views``. Checked twice: in the source, so that an import inside a function
counts too, and in a process of its own, so that what is imported along the way counts.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
STDLIB = sys.stdlib_module_names

RESULTS = ("tritonlab.trace.record", "tritonlab.analysis", "tritonlab.compiler.record", "tritonlab.compiler.limits",
           "tritonlab.bench.measurement", "tritonlab.exercises.result")  # fmt: skip


class Rule(NamedTuple):
    """What modules under ``where`` (``but`` not those) may import; ``never`` wins over ``only``."""

    where: tuple[str, ...]
    only: tuple[str, ...] | None = None
    of_ours: tuple[str, ...] | None = None
    never: tuple[str, ...] = ()
    but: tuple[str, ...] = ()


RULES = {
    "kernels import torch, triton and their own validation": Rule(
        ("tritonlab.kernels",), only=("torch", "triton", "tritonlab.kernels")
    ),
    "records import NumPy only": Rule(("tritonlab.trace.record",), only=("numpy",)),
    "analysis imports records and NumPy only": Rule(
        ("tritonlab.analysis",), only=("numpy", "tritonlab.analysis", "tritonlab.trace.record")
    ),
    "views import results, never what makes them": Rule(
        ("tritonlab.views",), never=("torch", "triton"), of_ours=("tritonlab.views", *RESULTS)
    ),
    "exercises import no kernels": Rule(("tritonlab.exercises",), never=("tritonlab.kernels",)),
    "only notebooks, tests and the command line import views": Rule(
        ("tritonlab",),
        never=("tritonlab.views",),
        but=("tritonlab.views", "tritonlab.__main__", "tritonlab.build", "tritonlab.doctor", "tritonlab"),
    ),
}


def under(module: str, names: tuple[str, ...]) -> bool:
    return any(module == name or module.startswith(name + ".") for name in names)


def modules(root: Path) -> Iterator[tuple[str, Path]]:
    """Each module of ``root/tritonlab`` with its file."""
    for path in sorted((root / "tritonlab").rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(module: str, path: Path) -> Iterator[tuple[int, str]]:
    """Line and module of each import in a file, also inside functions and as the text of a module of ours.

    Imports for type checkers alone do not count.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending += node.orelse
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *filter(None, [node.module])])
            # `from ..trace import record` imports tritonlab.trace.record
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("tritonlab."):
            if all(part.isidentifier() for part in node.value.split(".")):
                yield node.lineno, node.value
        pending += ast.iter_child_nodes(node)


def breaches(root: Path, rule: Rule) -> list[str]:
    """Each import under ``root`` that ``rule`` forbids, as ``module:line imports other``."""
    found = []
    for module, path in modules(root):
        exempt = module == "tritonlab" if "tritonlab" in rule.but else False
        exempt = exempt or under(module, tuple(name for name in rule.but if name != "tritonlab"))
        if not under(module, rule.where) or exempt:
            continue
        for line, name in imports(module, path):
            top = name.split(".")[0]
            wrong = under(name, rule.never)
            if rule.only is not None:
                wrong |= top not in STDLIB and not under(name, rule.only)
            if rule.of_ours is not None:
                wrong |= top == "tritonlab" and not under(name, rule.of_ours)
            if wrong:
                found.append(f"{module}:{line} imports {name}")
    return found


def loaded(root: Path, names: list[str], bare: bool) -> set[str]:
    """All modules that a new process has after importing ``names``.

    ``bare``: without running ``tritonlab/__init__.py``, which loads the runtime for everyone.
    """
    stub = "import types; p = types.ModuleType('tritonlab'); p.__path__ = ['tritonlab']; sys.modules['tritonlab'] = p\n"
    code = (
        "import importlib, sys\nsys.path.insert(0, '.')\n"
        + (stub if bare else "")
        + f"for name in {names!r}: importlib.import_module(name)\n"
        + "print('\\n'.join(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, timeout=100)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def names(root: Path, *rooms: str) -> list[str]:
    return [module for module, _ in modules(root) if under(module, rooms)]


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_every_room_keeps_its_rule(rule):
    assert breaches(ROOT, rule) == []


def test_analysis_and_records_load_neither_torch_nor_triton_nor_a_plot():
    there = loaded(ROOT, names(ROOT, "tritonlab.analysis") + ["tritonlab.trace.record"], bare=True)
    assert not there & {"torch", "triton", "matplotlib", "ipywidgets", "anywidget", "tritonlab.trace.tracer"}


def test_views_load_neither_torch_nor_triton_nor_the_tracer():
    there = loaded(ROOT, names(ROOT, "tritonlab.views"), bare=True)
    assert not there & {"torch", "triton", "tritonlab.trace.tracer", "tritonlab.runtime", "tritonlab.kernels"}
    assert "tritonlab.views" in there


def test_the_package_and_all_exercises_load_no_kernel_no_view_and_no_plot():
    there = loaded(ROOT, ["tritonlab", *names(ROOT, "tritonlab.exercises")], bare=False)
    assert not [name for name in there if under(name, ("tritonlab.kernels", "tritonlab.views"))]
    assert not there & {"matplotlib", "ipywidgets", "anywidget", "IPython"}


# and each check can fail

BAD = {
    "tritonlab/kernels/a.py": ("import numpy\n", "tritonlab.kernels.a:1 imports numpy"),
    "tritonlab/kernels/b.py": (
        "import torch\nfrom .checks import c\nfrom ..errors import E\n",
        "tritonlab.kernels.b:3 imports tritonlab.errors.E",
    ),
    "tritonlab/trace/record.py": ("import torch\n", "tritonlab.trace.record:1 imports torch"),
    "tritonlab/analysis/a.py": (
        "import numpy as np\nfrom ..trace import record\nfrom ..trace import tracer\n",
        "tritonlab.analysis.a:3 imports tritonlab.trace.tracer",
    ),
    "tritonlab/analysis/b.py": ("def f():\n    import matplotlib.pyplot\n", "tritonlab.analysis.b:2 imports matplotlib.pyplot"),
    "tritonlab/views/a.py": (
        "import anywidget\nfrom ..trace.record import Trace\nimport triton.language as tl\n",
        "tritonlab.views.a:3 imports triton.language",
    ),
    "tritonlab/views/b.py": ("from tritonlab import trace\n", "tritonlab.views.b:1 imports tritonlab.trace"),
    "tritonlab/exercises/a.py": (
        "import importlib\nk = importlib.import_module('tritonlab.kernels.softmax')\n",
        "tritonlab.exercises.a:2 imports tritonlab.kernels.softmax",
    ),
    "tritonlab/exercises/b.py": ("from ..kernels.softmax import softmax\n", "tritonlab.exercises.b:1 imports tritonlab.kernels.softmax.softmax"),
    "tritonlab/bench/a.py": ("from .. import views\n", "tritonlab.bench.a:1 imports tritonlab.views"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_forbidden_import_is_found_and_allowed_ones_are_not(tmp_path, name):
    text, says = BAD[name]
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(text)
    found = [breach for rule in RULES.values() for breach in breaches(tmp_path, rule)]
    assert found == [says]


def test_an_import_for_type_checkers_alone_does_not_count(tmp_path):
    path = tmp_path / "tritonlab/kernels/a.py"
    path.parent.mkdir(parents=True)
    path.write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import numpy\nelse:\n    import torch\n")
    assert breaches(tmp_path, RULES["kernels import torch, triton and their own validation"]) == []


@pytest.mark.parametrize("bare", [True, False])
def test_what_a_process_loads_along_the_way_is_seen(tmp_path, bare):
    package = tmp_path / "tritonlab"
    package.mkdir()
    (package / "__init__.py").write_text("import wave\n")
    (package / "a.py").write_text("from . import b\n")
    (package / "b.py").write_text("import colorsys\n")
    there = loaded(tmp_path, ["tritonlab.a"], bare)
    assert {"tritonlab.b", "colorsys"} <= there
    assert ("wave" in there) is not bare
