"""The command for a GPU machine (tests/gpu/run_all.py), as far as it goes without one."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from tritonlab.bench import records
from tritonlab.bench.measurement import Roof, Timing

PATH = Path(__file__).resolve().parents[1] / "gpu" / "run_all.py"


@pytest.fixture(scope="module")
def run_all():
    spec = importlib.util.spec_from_file_location("run_all", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def notebook(folder, *cells):
    nbformat = pytest.importorskip("nbformat")
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)}) for source, *tags in cells])
    nbformat.write(nb, folder / "01_test.ipynb")


def test_a_notebook_that_runs_passes(run_all, tmp_path):
    notebook(tmp_path, ["import tritonlab as lab"], ["1 / 0", "raises-exception"], ["print(lab)"])
    assert run_all.notebooks(tmp_path, tmp_path) == ""


def test_a_cell_that_fails_is_named(run_all, tmp_path):
    notebook(tmp_path, ["x = 1"], ["raise ValueError('no such tile')"])
    assert run_all.notebooks(tmp_path, tmp_path) == "01_test.ipynb: cell 1: ValueError: no such tile"


def test_missing_packages_and_notebooks_are_no_success(run_all, tmp_path, monkeypatch):
    assert "there are no notebooks" in run_all.notebooks(tmp_path, tmp_path)
    monkeypatch.setattr(run_all, "NOTEBOOK_NEEDS", ("no_such_package",))
    assert run_all.notebooks(tmp_path, tmp_path) == "not run, no_such_package is not installed"


def test_vector_add_must_keep_up_with_a_copy_and_with_torch(run_all, sweep_of):
    ms = sweep_of()
    assert run_all.broken_promises(ms) == []
    fast_copy = replace(ms, roofs=replace(ms.roofs, copy=Roof("copy", 4.3e9, Timing(1e-3, 1e-3, 1e-3, 1))))
    assert len(run_all.broken_promises(fast_copy)) == 2 and "0.926 of a copy" in run_all.broken_promises(fast_copy)[0]
    fast_torch = tuple(
        replace(m, timing=Timing(1e-6, 1e-6, 1e-6, 1)) if m.implementation == "torch" and m.numel == 2**20 and m.dtype == "float32" else m for m in ms
    )
    (line,) = run_all.broken_promises(replace(ms, items=fast_torch))
    assert line.startswith("torch is") and "2^20 float32" in line


def test_two_runs_that_disagree_fail_the_step(run_all, sweep_of, tmp_path, monkeypatch):
    made = iter([sweep_of(), sweep_of(slower=1.5)] * 2)

    def bench(command, log):
        records.write(command[-1], next(made))
        return 0

    monkeypatch.setattr(run_all, "run", bench)
    assert "12 measurements disagree between the runs" in run_all.benches(tmp_path, [], 2)
    assert "disagree" not in run_all.benches(tmp_path, [], 1)


def test_failed_tests_fail_the_step_but_none_collected_does_not(run_all, tmp_path, monkeypatch):
    monkeypatch.setattr(run_all, "run", lambda command, log: 1 if "tests/kernels" in command else 5)
    assert run_all.compiled_tests(tmp_path) == "kernel tests"
    commands = []
    monkeypatch.setattr(run_all, "run", lambda command, log: commands.append(command) or 0)
    assert run_all.compiled_tests(tmp_path) == ""
    assert "tests/gpu/test_gpu_bench.py" in commands[1] and commands[1][-2:] == ["-m", "gpu"]
