"""``python -m tritonlab doctor``: what this machine has, and what to do about what it lacks.

Each check is a function that returns a ``Finding``; only ``FIX`` findings stop a learner.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterable, Mapping

__all__ = ["Finding", "examine", "main"]

ROOT = Path(__file__).resolve().parents[1]
INSTALL = "in the repository's folder, run: .venv/bin/pip install -r requirements.txt"


@dataclass(frozen=True)
class Finding:
    """One thing looked at. ``state``: ``ok``, ``note`` (can be lived with) or ``FIX``."""

    state: str
    what: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.state:>4}  {self.what}" + (f"\n      {self.advice}" if self.advice else "")


def check_system(system: str, release: str) -> Finding:
    if system != "Linux":
        return Finding(
            "FIX", f"{system}: Triton has no package for it", "use WSL2, the devcontainer or a hub: see README.md"
        )
    return Finding("ok", "Linux (WSL2)" if "microsoft" in release.lower() else "Linux")


def check_python(version: tuple[int, int], text: str, in_venv: bool) -> Finding:
    if not (3, 11) <= version <= (3, 14):
        return Finding("FIX", f"Python {text}", "Python 3.11 to 3.14 is needed: make .venv again with one of them")
    return Finding("ok", f"Python {text}" + ("" if in_venv else ", not in a virtual environment"))


def pins(requirements: str) -> dict[str, str]:
    """``{"torch": "2.13.0", ...}`` from the text of requirements.txt."""
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", requirements, flags=re.MULTILINE))


def check_packages(wanted: Mapping[str, str], installed: Callable[[str], str | None]) -> list[Finding]:
    """Missing packages, and versions other than those the course is tested with."""
    missing, other = [], []
    for name, version in wanted.items():
        have = installed(name)
        if have is None:
            missing.append(name)
        elif have.split("+")[0] != version:
            other.append(f"{name} {have} (tested: {version})")
    found = []
    if missing:
        found.append(Finding("FIX", f"not installed: {', '.join(missing)}", INSTALL))
    if other:
        found.append(Finding("note", f"other versions than the course is tested with: {', '.join(other)}", INSTALL))
    if not found:
        found.append(Finding("ok", f"{len(wanted)} packages at the versions of requirements.txt"))
    return found


def check_interpret(environ: Mapping[str, str]) -> Finding | None:
    if environ.get("TRITON_INTERPRET", "0").lower() in ("", "0", "false", "off"):
        return None
    return Finding(
        "FIX",
        f"TRITON_INTERPRET={environ['TRITON_INTERPRET']} is set, which makes compiling fail",
        "run: unset TRITON_INTERPRET (tritonlab interprets launches on CPU tensors without it)",
    )


def check_gpu(torch: object, environ: Mapping[str, str], driver: bool) -> Finding:
    """``torch``: the module, or None; ``driver``: whether NVIDIA's tools are on this machine."""
    if torch is None:
        return Finding("note", "GPU: unknown, torch cannot be imported")
    if torch.cuda.is_available():
        at = torch.cuda.get_device_properties(0)
        name = f"{at.name}, {at.total_memory / 1e9:.0f} GB, sm_{at.major}{at.minor}"
        return Finding("ok", f"GPU: {name}", "a plain launch on it is not guarded; trace and check are")
    if not driver:
        return Finding("ok", "no GPU: kernels run in Triton's interpreter, which is all that the course needs")
    if environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return Finding("note", "GPU: hidden by CUDA_VISIBLE_DEVICES", "unset it to measure on the GPU")
    if torch.version.cuda is None:
        return Finding("note", "GPU: there is one, but this torch was built without CUDA", "install torch from PyPI to use it")
    return Finding("note", f"GPU: torch cannot use it (needs a driver for CUDA {torch.version.cuda})", "update the driver")


def check_kernel() -> Finding:
    """Launch the course's first kernel on the CPU."""
    try:
        import torch

        from tritonlab.kernels.vector_add import vector_add

        x = torch.arange(100, dtype=torch.float32)
        right = bool((vector_add(x, x) == 2 * x).all())
    except Exception as error:  # whatever goes wrong is what the learner asks about
        return Finding("FIX", f"a first kernel fails: {type(error).__name__}: {error}", INSTALL)
    return Finding("ok", "a first kernel runs") if right else Finding("FIX", "a first kernel gives wrong numbers", INSTALL)


def check_browser() -> Finding:
    from tritonlab.views.photograph import ChromiumMissing, chromium

    try:
        return Finding("ok", f"Chromium at {chromium()} (only the build and the browser tests use it)")
    except ChromiumMissing as error:
        return Finding("note", "no Chromium: only authors need it, for pictures in stored notebooks and browser tests", str(error))


def check_chapters(root: Path) -> Finding:
    chapters = sorted((root / "notebooks").glob("*.ipynb"))
    if not chapters:
        return Finding("FIX", f"no chapters in {root / 'notebooks'}", "clone the repository and install from the clone")
    mine = sum((root / "my" / path.name).exists() for path in chapters)
    advice = "" if mine == len(chapters) else "`python -m tritonlab start` copies the others to my/"
    return Finding("ok", f"{len(chapters)} chapters, {mine} of them in my/", advice)


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def examine(root: Path = ROOT) -> Iterable[Finding]:
    """All findings, as they are made."""
    yield check_system(platform.system(), platform.release())
    yield check_python(sys.version_info[:2], platform.python_version(), sys.prefix != sys.base_prefix)
    requirements = root / "requirements.txt"
    if requirements.exists():
        yield from check_packages(pins(requirements.read_text()), _installed)
    if finding := check_interpret(os.environ):
        yield finding
    try:
        import torch
    except Exception:  # a torch that is broken, not only absent
        torch = None
    yield check_gpu(torch, os.environ, driver=bool(shutil.which("nvidia-smi")) or os.path.exists("/dev/nvidiactl"))
    yield check_kernel()
    yield check_chapters(root)
    yield check_browser()


def main(argv: list[str]) -> int:
    argparse.ArgumentParser(
        prog="python -m tritonlab doctor",
        description="Say what this machine has and what to do about what it lacks.",
    ).parse_args(argv)
    to_fix = 0
    for finding in examine():
        print(finding, flush=True)
        to_fix += finding.state == "FIX"
    print(f"\n{to_fix} thing{'s' * (to_fix != 1)} to fix" if to_fix else "\nready: python -m tritonlab start")
    return 1 if to_fix else 0
