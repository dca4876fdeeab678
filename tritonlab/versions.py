"""``python -m tritonlab versions``: run the tests of the runtime, the trace and the kernels on a list of Triton versions.

Each version is installed once into a cache folder, without its dependencies, and put in front of the environment's own.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Outcome", "find", "main", "table"]

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.6.0", "3.7.1", "3.8.0", "3.9.0")
TESTS = ("tests/runtime", "tests/trace", "tests/test_errors.py", "tests/kernels")
PINNED_ONLY = "tests/kernels/test_kernels_compiled.py"
"""What the pinned compiler makes of the kernels (registers, instructions): other compilers make something else of them."""


@dataclass(frozen=True)
class Outcome:
    """How the tests went with one version. ``said`` is pytest's last line, ``output`` all that it printed."""

    triton: str
    numpy: str
    passed: bool
    said: str
    output: str = ""


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Where packages that were installed for this command are kept."""
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tritonlab" / "versions"


def find(package: str, version: str, cache: Path, given: Path | None = None) -> Path | None:
    """The folder that holds this version of a package; None when the environment itself has it.

    given: a folder with one sub-folder for each version, which is used and nothing installed. Raises
    ``FileNotFoundError`` when it lacks the version, and ``RuntimeError`` with pip's words when pip fails.
    """
    if importlib.metadata.version(package) == version:
        return None
    if given is not None:
        folder = given / version
        if not (folder / package).is_dir():
            raise FileNotFoundError(f"{folder} holds no {package}")
        return folder
    folder = cache / f"{package}-{version}"
    if (folder / package).is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as made:
        print(f"installing {package} {version} into {folder}", flush=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", made, f"{package}=={version}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"pip could not install {package}=={version}:\n{done.stderr.strip()}")
        if folder.exists():
            shutil.rmtree(folder)
        shutil.copytree(made, folder)
    return folder


def run(version: str, folders: list[Path], tests: list[str]) -> Outcome:
    """Run the tests with the given folders in front on the path."""
    path = os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path}
    asked = subprocess.run(
        [sys.executable, "-c", "import triton, numpy; print(triton.__version__, numpy.__version__)"], capture_output=True, text=True, env=environment, cwd=ROOT
    )
    if asked.returncode:
        return Outcome(version, "?", False, "Triton cannot be imported", asked.stderr)
    found, numpy = asked.stdout.split()
    if found != version:
        return Outcome(version, numpy, False, f"Triton {found} was imported instead")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", f"--ignore={PINNED_ONLY}", *tests]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    said = re.sub(r" in [\d.]+s.*$", "", lines[-1].strip("= ")) if lines else "pytest printed nothing"
    return Outcome(version, numpy, done.returncode == 0, said, done.stdout + done.stderr)


def table(outcomes: list[Outcome]) -> str:
    """The outcomes, a line each."""
    rows = [("Triton", "NumPy", "", "tests"), *((o.triton, o.numpy, "passed" if o.passed else "FAILED", o.said) for o in outcomes)]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return "\n".join("  ".join([*(cell.ljust(w) for cell, w in zip(row, widths)), row[3]]).rstrip() for row in rows)


def main(argv: list[str]) -> int:
    """Run the command; 1 when a version fails."""
    parser = argparse.ArgumentParser("python -m tritonlab versions", description="Run the tests of runtime, trace and kernels on other versions of Triton.")
    parser.add_argument("versions", nargs="*", default=list(VERSIONS), help=f"Triton versions (default: {' '.join(VERSIONS)})")
    parser.add_argument("--numpy", help="also put this version of NumPy in front")
    parser.add_argument("--from", dest="given", type=Path, metavar="DIR", help="take Triton from DIR/VERSION instead of installing it")
    parser.add_argument("--tests", nargs="+", default=[t for t in TESTS if (ROOT / t).exists()], help="test files or folders to run")
    options = parser.parse_args(argv)
    if not (ROOT / "tests").is_dir():
        print("the tests are not here: run this in a clone of the repository", file=sys.stderr)
        return 2
    cache = cache_folder(os.environ)
    outcomes = []
    for version in options.versions:
        try:
            folders = [find("triton", version, cache, options.given)]
            if options.numpy:
                folders.append(find("numpy", options.numpy, cache))
        except (FileNotFoundError, RuntimeError) as e:
            outcomes.append(Outcome(version, options.numpy or "", False, str(e).splitlines()[0], str(e)))
        else:
            print(f"testing with Triton {version}", flush=True)
            outcomes.append(run(version, [f for f in folders if f is not None], options.tests))
        if not outcomes[-1].passed:
            print(outcomes[-1].output, file=sys.stderr)
    print(table(outcomes))
    return 0 if all(o.passed for o in outcomes) else 1
