"""The command that tests other versions of Triton: what it finds, runs and prints."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import triton

from tritonlab import versions
from tritonlab.versions import Outcome, find, main, table


def test_the_environments_own_version_needs_no_folder(tmp_path):
    assert find("triton", triton.__version__, tmp_path) is None or "tri" in triton.__file__


def test_a_folder_that_is_given_must_hold_the_version(tmp_path):
    (tmp_path / "9.9.9" / "triton").mkdir(parents=True)
    assert find("triton", "9.9.9", tmp_path / "cache", tmp_path) == tmp_path / "9.9.9"
    with pytest.raises(FileNotFoundError, match="9.9.8 holds no triton"):
        find("triton", "9.9.8", tmp_path / "cache", tmp_path)


def test_what_was_installed_before_is_used_again(tmp_path):
    (tmp_path / "triton-9.9.9" / "triton").mkdir(parents=True)
    assert find("triton", "9.9.9", tmp_path) == tmp_path / "triton-9.9.9"
    assert versions.cache_folder({"XDG_CACHE_HOME": "/somewhere"}).as_posix() == "/somewhere/tritonlab/versions"


def test_the_table():
    assert table([Outcome("3.6.0", "2.4.6", True, "10 passed"), Outcome("3.10.0", "2.4.6", False, "1 failed, 9 passed")]).splitlines() == [
        "Triton  NumPy          tests",
        "3.6.0   2.4.6  passed  10 passed",
        "3.10.0  2.4.6  FAILED  1 failed, 9 passed",
    ]


def test_versions_that_are_not_there_fail_the_command(tmp_path, capsys):
    assert main(["9.9.9", "--from", str(tmp_path)]) == 1
    assert "9.9.9" in capsys.readouterr().out


def test_a_run_names_the_version_that_was_really_imported(monkeypatch):
    asked = []

    def pretend(command, **options):
        asked.append((command, options["env"]["PYTHONPATH"]))
        code, said = answers[len(asked) - 1]
        return subprocess.CompletedProcess(command, code, said, "")

    monkeypatch.setattr(versions.subprocess, "run", pretend)
    answers = [(0, "3.6.0 2.4.6\n"), (0, ".....\n5 passed, 1 skipped in 12.34s\n")]
    done = versions.run("3.6.0", [Path("/there")], ["tests/runtime"])
    assert (done.passed, done.said, done.numpy) == (True, "5 passed, 1 skipped", "2.4.6")
    assert all(path.split(":")[0] == "/there" for _, path in asked) and "tests/runtime" in asked[1][0]
    asked.clear()
    answers = [(0, "3.6.0 2.4.6\n"), (1, "1 failed in 1s\n")]
    assert not versions.run("3.6.0", [], []).passed
    asked.clear()
    assert versions.run("9.9.9", [], []).said == "Triton 3.6.0 was imported instead"
    asked.clear()
    answers = [(1, "")]
    assert versions.run("3.6.0", [], []).said == "Triton cannot be imported"
