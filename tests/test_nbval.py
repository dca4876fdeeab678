"""Bare ``pytest`` in a small copy of the course: notebooks strictly, copies never, no GPU, no hanging."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

from tritonlab import notebook

ROOT = Path(__file__).resolve().parents[1]


def write(path: Path, cells: list[tuple[str, list]]) -> None:
    """A stored notebook with these sources and outputs."""
    nb = v4.new_notebook(cells=[v4.new_code_cell(s, outputs=o, execution_count=1) for s, o in cells])
    path.write_text(notebook.to_text(nb))


def printed(text: str) -> list:
    return [v4.new_output("stream", name="stdout", text=text)]


def result(text: str, **data: str) -> list:
    return [v4.new_output("execute_result", data={"text/plain": text, **data}, execution_count=1)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a bare ``pytest`` says."""
    root = tmp_path_factory.mktemp("course")
    for name in ("notebooks", "tests", "my"):
        (root / name).mkdir()
    for name in ("pyproject.toml", "notebooks/conftest.py", "tests/conftest.py", "tests/nbval.cfg"):
        shutil.copy(ROOT / name, root / name)
    (root / "tritonlab").mkdir()
    (root / "tritonlab/__init__.py").touch()
    for name in ("notebook", "build", "start"):
        shutil.copy(ROOT / "tritonlab" / f"{name}.py", root / "tritonlab")
    (root / "tests/test_unit.py").write_text(
        "import os, pytest\n"
        "def test_unit(): assert os.environ['CUDA_VISIBLE_DEVICES'] == ''\n"
        "@pytest.mark.gpu\ndef test_on_gpu(): assert False\n"
    )
    write(
        root / "notebooks/01_good.ipynb",
        [
            ("import os; os.environ['CUDA_VISIBLE_DEVICES']", result("''")),
            ("import tritonlab.notebook as n; n.__name__", result("'tritonlab.notebook'")),
            ("print(1)", printed("1\n")),
            (
                "class V:\n    def _repr_mimebundle_(self, **k):\n"
                "        return {'text/plain': '<V>', 'application/vnd.jupyter.widget-view+json': {'model_id': '1'}}\nV()",
                result("<V>", **{"image/png": "iVBORw0KGgo="}),
            ),
        ],
    )
    write(root / "notebooks/02_wrong.ipynb", [("print(2)", printed("3\n")), ("print(4)", printed("4\n"))])
    write(root / "notebooks/03_dies.ipynb", [("import os; os._exit(1)", []), ("print(5)", printed("5\n"))])
    write(root / "my/01_good.ipynb", [("print(2)", printed("3\n"))])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider"],
        cwd=root, capture_output=True, text=True, timeout=110,
    )  # fmt: skip
    return (done.stdout + done.stderr).replace("::ipynb::", ".ipynb::")


def outcome(run: str, name: str) -> set[str]:
    """How the tests with ``name`` in their id ended."""
    return set(re.findall(rf"^\[gw\d\].* (PASSED|FAILED|SKIPPED) .*{re.escape(name)}", run, flags=re.MULTILINE))


def test_a_notebook_that_gives_what_is_stored_passes_without_a_gpu(run):
    assert outcome(run, "notebooks/01_good.ipynb::") == {"PASSED"}, run


def test_a_cell_that_gives_something_else_fails_and_the_next_one_passes(run):
    assert outcome(run, "02_wrong.ipynb::Cell 0") == {"FAILED"}, run
    assert outcome(run, "02_wrong.ipynb::Cell 1") == {"PASSED"}, run


def test_a_dead_kernel_fails_at_once(run):
    assert outcome(run, "03_dies.ipynb::Cell 0") == {"FAILED"}, run
    assert "the kernel died while this cell ran" in run


def test_unit_tests_run_in_the_same_command_and_gpu_tests_are_skipped(run):
    assert outcome(run, "test_unit.py::test_unit") == {"PASSED"}, run
    assert outcome(run, "test_unit.py::test_on_gpu") == {"SKIPPED"}, run


def test_a_notebook_stays_on_one_of_the_two_workers(run):
    for name in ("01_good", "02_wrong", "03_dies"):
        workers = set(re.findall(rf"^\[(gw\d)\].*notebooks/{name}", run, flags=re.MULTILINE))
        assert len(workers) == 1, run
    assert "created: 2/2 workers" in run or "2 workers" in run


def test_learners_copies_are_not_collected(run):
    assert "my/01_good" not in run


def test_nbformat_reads_what_is_written(tmp_path):
    write(tmp_path / "a.ipynb", [("print(1)", printed("1\n"))])
    nbformat.validate(nbformat.read(tmp_path / "a.ipynb", as_version=4))
