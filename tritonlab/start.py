"""``python -m tritonlab start`` and ``reset``: learners work on copies in ``my/``.

``notebooks/`` stays as it was cloned, so that an update never meets a learner's work. Nothing
that lies in ``my/`` is ever overwritten: ``start`` only adds, ``reset`` keeps the old copy.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import sys
import tempfile
from pathlib import Path

__all__ = ["copy_chapters", "find_chapter", "lab_command", "reset", "reset_chapter", "start"]

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = Path(__file__).resolve().parent / "jupyterlab"
"""JupyterLab's defaults for learners: it neither asks about news nor looks for updates."""
_NOT_COPIED = re.compile(r"^[._]|^conftest\.py$|\.pyc$")


class StartError(Exception):
    """What stands in the way of a learner's copies, and the way out."""


def copy_chapters(root: Path = ROOT) -> list[str]:
    """Copy what ``root/notebooks`` has and ``root/my`` lacks; the names copied, sorted.

    Raises ``StartError`` if there is nothing to copy from, or ``my`` is no folder.
    """
    notebooks, my = root / "notebooks", root / "my"
    if not any(notebooks.glob("*.ipynb")):
        raise StartError(
            f"there are no notebooks in {notebooks}: run this from a clone of the repository, "
            "with the package installed from it (pip install -r requirements.txt)"
        )
    _make_folder(my)
    added = []
    for source in sorted(notebooks.rglob("*")):
        relative = source.relative_to(notebooks)
        if source.is_dir() or any(_NOT_COPIED.search(part) for part in relative.parts):
            continue
        target = my / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(target) and _put(source.read_bytes(), target):
            added.append(str(relative))
    return added


def _make_folder(my: Path) -> None:
    if os.path.lexists(my) and not my.is_dir():  # a file, or a link that leads nowhere
        raise StartError(f"{my} is in the way: it should be a folder; rename it and try again")
    my.mkdir(exist_ok=True)


def _put(data: bytes, target: Path) -> bool:
    """Make ``target`` with ``data``, whole; False, and nothing touched, if it is there already."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".copy-") as folder:
        whole = Path(folder) / target.name
        whole.write_bytes(data)
        return _link(whole, target)


def _link(source: Path, target: Path) -> bool:
    """Give ``source`` the second name ``target``, unless that name is taken."""
    try:
        os.link(source, target)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        try:
            with open(target, "xb") as file:
                file.write(source.read_bytes())
        except FileExistsError:
            return False
    return True


def changed_chapters(root: Path = ROOT) -> list[str]:
    """The chapters in ``my`` that were copied from an older version than ``notebooks`` now has."""
    changed = []
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        now, then = (_source(p) for p in (path, root / "my" / path.name))
        if now and then and now != then:
            changed.append(path.stem)
    return changed


def _source(path: Path) -> str | None:
    """The hash that the build leaves in a notebook, which JupyterLab keeps when it saves."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))["metadata"]["tritonlab"]["source"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def find_chapter(name: str, folder: Path) -> Path:
    """The notebook in ``folder`` that ``name`` means: ``3``, ``03_softmax``, ``softmax``, ``my/03_softmax.ipynb``.

    ``ValueError`` if none or several are meant, listing those there are.
    """
    there = sorted(folder.glob("*.ipynb"))
    stem = Path(name).name.removesuffix(".ipynb")
    if stem.isdecimal():
        hits = [p for p in there if (m := re.match(r"\d+", p.name)) and int(m.group()) == int(stem)]
    else:
        hits = [p for p in there if p.stem == stem] or [p for p in there if stem and stem in p.stem]
    if len(hits) != 1:
        what = "no chapter" if not hits else f"{len(hits)} chapters"
        listing = ", ".join(p.stem for p in (hits or there)) or "none"
        raise ValueError(f"{name!r} means {what}; there are: {listing}")
    return hits[0]


def reset_chapter(name: str, root: Path = ROOT) -> Path | None:
    """Give a chapter back; where the learner's copy was kept, or None if there was nothing to keep.

    The old copy becomes ``my/03_softmax_mine_1.ipynb``, the next one ``..._mine_2.ipynb``.
    ``ValueError`` if ``name`` means no chapter, ``StartError`` if ``my`` is no folder.
    """
    source = find_chapter(name, root / "notebooks")
    mine = root / "my" / source.name
    _make_folder(mine.parent)
    data = source.read_bytes()
    if not mine.exists():
        _put(data, mine)
        return None
    if mine.read_bytes() == data:
        return None
    number = 1
    while not _link(mine, kept := mine.with_name(f"{mine.stem}_mine_{number}.ipynb")):
        number += 1
    with tempfile.TemporaryDirectory(dir=mine.parent, prefix=".copy-") as folder:
        whole = Path(folder) / mine.name
        whole.write_bytes(data)
        os.replace(whole, mine)
    return kept


def lab_command(folder: Path, first: str | None = None, browser: bool = True, extra: list[str] | None = None) -> list[str]:
    """The command that opens JupyterLab on ``folder``; ``first`` is the notebook to show."""
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.app_settings_dir={SETTINGS}",
    ]
    if first:
        command.append(f"--LabApp.default_url=/lab/tree/{first}")
    if not browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # containers, WSL2
    return command + (extra or [])


def start(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tritonlab start",
        description="Copy the chapters to my/, overwriting nothing, and open JupyterLab there.",
        epilog="What follows -- goes to JupyterLab, for example: start -- --port 9000",
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address instead of opening a browser")
    parser.add_argument("--copy-only", action="store_true", help="copy, and do not start JupyterLab")
    at = argv.index("--") if "--" in argv else len(argv)
    args, extra = parser.parse_args(argv[:at]), argv[at + 1 :]
    my = ROOT / "my"
    fresh = not my.exists()
    try:
        added = copy_chapters(ROOT)
    except StartError as error:
        print(error, file=sys.stderr)
        return 1
    chapters = [name for name in added if name.endswith(".ipynb")]
    print(f"Your copies are in {my}" + (f"; new: {', '.join(chapters)}" if chapters else "; nothing new to copy"))
    for stem in changed_chapters(ROOT):
        print(f"{stem} has changed since you copied it. Yours is kept; "
              f"`python -m tritonlab reset {stem}` gives you the new one and keeps yours beside it.")
    if args.copy_only:
        return 0
    if importlib.util.find_spec("jupyterlab") is None:
        print(f"JupyterLab is not installed for {sys.executable}: pip install -r requirements.txt", file=sys.stderr)
        return 1
    sys.stdout.flush()
    command = lab_command(my, chapters[0] if fresh and chapters else None, not args.no_browser, extra)
    # a kernel of this environment, even where the user has one of the same name elsewhere
    env = os.environ | {"JUPYTER_PREFER_ENV_PATH": "1"}
    os.chdir(my)
    os.execve(command[0], command, env)


def reset(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tritonlab reset",
        description="Give a chapter back as it was. Your copy is kept under a new name.",
    )
    parser.add_argument("chapter", nargs="+", help="number or name, for example 3 or softmax")
    args = parser.parse_args(argv)
    try:
        chapters = [find_chapter(name, ROOT / "notebooks") for name in args.chapter]  # all or none
        for chapter in chapters:
            kept = reset_chapter(chapter.stem, ROOT)
            print(f"my/{chapter.name} is as it was" + (f"; your copy is my/{kept.name}" if kept else ""))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    except StartError as error:
        print(error, file=sys.stderr)
        return 1
    print("If it is open in JupyterLab: File > Reload Notebook from Disk, then restart its kernel.")
    return 0
