"""Learners' copies: made, added to, given back, and never overwritten."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tritonlab import start as starter


def chapter(path: Path, text: str, source: str = "1") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"metadata": {"tritonlab": {"source": source}}, "cells": [text]}))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with three chapters, data beside them, and files that are not for learners."""
    for name in ("01_vector_add", "02_bias_gelu", "03_softmax"):
        chapter(tmp_path / "notebooks" / f"{name}.ipynb", name)
    for name in ("data/rows.json", "conftest.py", ".ipynb_checkpoints/01_vector_add.ipynb", "__pycache__/conftest.pyc"):
        (tmp_path / "notebooks" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "notebooks" / name).write_text(name)
    monkeypatch.setattr(starter, "ROOT", tmp_path)
    return tmp_path


def files(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_chapters_and_their_data_are_copied_and_nothing_else(root):
    added = starter.copy_chapters(root)
    assert added == ["01_vector_add.ipynb", "02_bias_gelu.ipynb", "03_softmax.ipynb", "data/rows.json"]
    assert sorted(files(root / "my")) == added
    assert all(files(root / "my")[name] == files(root / "notebooks")[name] for name in added)


def test_a_second_start_overwrites_nothing_and_adds_new_chapters(root):
    starter.copy_chapters(root)
    (root / "my/02_bias_gelu.ipynb").write_text("mine")
    (root / "my/own.ipynb").write_text("own")
    chapter(root / "notebooks/02_bias_gelu.ipynb", "new")
    chapter(root / "notebooks/04_rmsnorm.ipynb", "four")
    assert starter.copy_chapters(root) == ["04_rmsnorm.ipynb"]
    mine = files(root / "my")
    assert mine["02_bias_gelu.ipynb"] == "mine" and mine["own.ipynb"] == "own"
    assert starter.copy_chapters(root) == []


def test_a_link_in_the_way_is_not_followed(root):
    (root / "my").mkdir()
    (root / "my/01_vector_add.ipynb").symlink_to(root / "elsewhere.ipynb")
    assert "01_vector_add.ipynb" not in starter.copy_chapters(root)
    assert not (root / "elsewhere.ipynb").exists()


def test_copies_can_be_written_even_where_the_originals_cannot(root):
    (root / "notebooks/01_vector_add.ipynb").chmod(0o444)
    starter.copy_chapters(root)
    assert (root / "my/01_vector_add.ipynb").stat().st_mode & 0o200


def test_a_file_system_without_hard_links_does_as_well(root, monkeypatch):
    def refuse(*args):
        raise PermissionError("no hard links here")

    monkeypatch.setattr(os, "link", refuse)
    starter.copy_chapters(root)
    (root / "my/03_softmax.ipynb").write_text("mine")
    assert starter.copy_chapters(root) == []
    assert starter.reset_chapter("3", root).read_text() == "mine"
    (root / "my/03_softmax.ipynb").write_text("mine too")
    assert starter.reset_chapter("3", root).name == "03_softmax_mine_2.ipynb"


def test_a_folder_without_notebooks_is_refused(tmp_path):
    with pytest.raises(starter.StartError, match="there are no notebooks in .*from a clone"):
        starter.copy_chapters(tmp_path)
    assert not (tmp_path / "my").exists()


@pytest.mark.parametrize("put", [lambda my: my.write_text(""), lambda my: my.symlink_to("nowhere")], ids=["file", "dangling link"])
def test_what_is_named_my_and_is_no_folder_is_refused(root, put, capsys):
    put(root / "my")
    for work in (lambda: starter.copy_chapters(root), lambda: starter.reset_chapter("3", root)):
        with pytest.raises(starter.StartError, match="my is in the way"):
            work()
    assert starter.reset(["3"]) == 1
    out, err = capsys.readouterr()
    assert "my is in the way" in err and not out


@pytest.mark.parametrize("name", ["3", "03", "03_softmax", "softmax", "03_softmax.ipynb", "my/03_softmax.ipynb"])
def test_a_chapter_is_found_by_number_and_name(root, name):
    assert starter.find_chapter(name, root / "notebooks").stem == "03_softmax"


@pytest.mark.parametrize("name, says", [("9", "no chapter"), ("nope", "no chapter"), ("", "no chapter"), ("_", "3 chapters")])
def test_an_unknown_chapter_is_an_error_that_names_those_there_are(root, name, says):
    with pytest.raises(ValueError, match=f"means {says}; there are: .*03_softmax"):
        starter.find_chapter(name, root / "notebooks")


def test_reset_gives_a_chapter_back_and_keeps_every_old_copy(root):
    starter.copy_chapters(root)
    mine = root / "my/03_softmax.ipynb"
    for number, text in enumerate(["first", "second", "third"], 1):
        mine.write_text(text)
        kept = starter.reset_chapter("3", root)
        assert kept.name == f"03_softmax_mine_{number}.ipynb" and kept.read_text() == text
        assert mine.read_text() == (root / "notebooks/03_softmax.ipynb").read_text()
    assert [files(root / "my")[f"03_softmax_mine_{n}.ipynb"] for n in (1, 2, 3)] == ["first", "second", "third"]
    # and the kept copy is no second name of the new one
    mine.write_text("fourth")
    assert (root / "my/03_softmax_mine_3.ipynb").read_text() == "third"


def test_reset_keeps_no_copy_of_what_is_unchanged_or_absent(root):
    assert starter.reset_chapter("3", root) is None
    assert sorted(files(root / "my")) == ["03_softmax.ipynb"]
    assert starter.reset_chapter("3", root) is None
    assert sorted(files(root / "my")) == ["03_softmax.ipynb"]


def test_chapters_that_changed_since_they_were_copied_are_told(root):
    starter.copy_chapters(root)
    chapter(root / "my/01_vector_add.ipynb", "worked on")
    assert starter.changed_chapters(root) == []
    chapter(root / "notebooks/01_vector_add.ipynb", "better", source="2")
    (root / "my/02_bias_gelu.ipynb").write_text("not JSON")
    assert starter.changed_chapters(root) == ["01_vector_add"]


# the commands


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str]]]:
    """Stands for JupyterLab; the commands it was opened with, and their environments."""
    calls: list[tuple[list[str], dict[str, str]]] = []
    monkeypatch.setattr(os, "execve", lambda path, command, env: calls.append((command, env)))
    monkeypatch.setattr(os, "chdir", lambda folder: None)
    return calls


def test_start_opens_jupyterlab_on_the_copies_with_the_first_chapter(root, opened, capsys):
    starter.start(["--no-browser", "--", "--port", "9000"])
    (command, env), = opened
    assert command[:3] == [sys.executable, "-m", "jupyterlab"]
    assert f"--ServerApp.root_dir={root / 'my'}" in command
    assert "--LabApp.default_url=/lab/tree/01_vector_add.ipynb" in command
    assert "--no-browser" in command and command[-2:] == ["--port", "9000"]
    assert env["JUPYTER_PREFER_ENV_PATH"] == "1"
    assert "new: 01_vector_add.ipynb, 02_bias_gelu.ipynb, 03_softmax.ipynb" in capsys.readouterr().out
    # the next time, where the learner left off
    starter.start([])
    command = opened[1][0]
    assert not any("default_url" in part for part in command) and "--no-browser" not in command


def test_copy_only_opens_nothing_and_tells_of_changes(root, opened, capsys):
    assert starter.start(["--copy-only"]) == 0
    chapter(root / "notebooks/01_vector_add.ipynb", "better", source="2")
    assert starter.start(["--copy-only"]) == 0
    assert not opened
    assert "01_vector_add has changed since you copied it" in capsys.readouterr().out


@pytest.mark.parametrize("user, allowed", [(0, True), (1000, False)])
def test_only_root_needs_leave_to_run_as_root(root, monkeypatch, user, allowed):
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert ("--allow-root" in starter.lab_command(root)) is allowed


def test_start_without_notebooks_says_so_and_fails(tmp_path, monkeypatch, opened, capsys):
    monkeypatch.setattr(starter, "ROOT", tmp_path)
    assert starter.start([]) == 1
    assert "there are no notebooks" in capsys.readouterr().err and not opened


def test_start_without_jupyterlab_copies_and_says_how_to_get_it(root, monkeypatch, opened, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert starter.start([]) == 1
    assert (root / "my/01_vector_add.ipynb").exists() and not opened
    assert "pip install -r requirements.txt" in capsys.readouterr().err


def test_reset_says_what_it_did(root, capsys):
    starter.copy_chapters(root)
    (root / "my/03_softmax.ipynb").write_text("mine")
    assert starter.reset(["3", "1"]) == 0
    out = capsys.readouterr().out
    assert "my/03_softmax.ipynb is as it was; your copy is my/03_softmax_mine_1.ipynb" in out
    assert "my/01_vector_add.ipynb is as it was\n" in out


def test_reset_with_one_unknown_chapter_resets_none(root, capsys):
    starter.copy_chapters(root)
    (root / "my/03_softmax.ipynb").write_text("mine")
    assert starter.reset(["3", "9"]) == 2
    assert (root / "my/03_softmax.ipynb").read_text() == "mine"
    assert "'9' means no chapter; there are: 01_vector_add, 02_bias_gelu, 03_softmax" in capsys.readouterr().err
