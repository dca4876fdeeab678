"""The files that set the course up agree with each other."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
PINS = dict(re.findall(r"^([\w.-]+)==([\w.]+)$", (ROOT / "requirements.txt").read_text(), flags=re.MULTILINE))
SET_UP = "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt && .venv/bin/"


def test_the_readme_has_exactly_two_set_up_commands_and_they_are_these():
    commands = re.findall(r"^python3 -m venv .*$", README, flags=re.MULTILINE)
    assert commands == [SET_UP + "python -m tritonlab start", SET_UP + "pytest"]


def test_every_requirement_is_pinned_and_the_package_is_one():
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert lines[-1] == "-e ."
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines[:-1]), lines
    assert (PINS["torch"], PINS["triton"]) == ("2.13.0", "3.7.1")


def test_whatever_names_a_torch_names_the_pinned_one():
    texts = [README, (ROOT / ".devcontainer/devcontainer.json").read_text()]
    named = [version for text in texts for version in re.findall(r"torch==([\w.]+)", text)]
    assert set(named) == {PINS["torch"]} and len(named) >= 2


def test_the_devcontainer_is_valid_and_installs_the_requirements():
    made = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    assert made["image"] and "pip install -r requirements.txt" in made["postCreateCommand"]


def test_the_package_carries_what_its_rooms_read_beside_their_modules():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["requires-python"] == ">=3.11,<3.15"
    carried = {pattern.removeprefix("*") for pattern in project["tool"]["setuptools"]["package-data"]["*"]}
    there = {p.suffix for p in (ROOT / "tritonlab").rglob("*") if p.is_file()} - {".py", ".pyc", ""}
    assert there <= carried, there - carried


def test_learners_copies_are_ignored_by_git():
    assert "my/" in (ROOT / ".gitignore").read_text().splitlines()
