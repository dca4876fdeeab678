"""``python -m tritonlab build``: execute the notebooks, photograph their views, write them in canonical form.

A notebook is written whole or not at all: whatever goes wrong, the file that was there stays.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Iterator

import nbformat
from nbformat import NotebookNode

from tritonlab import notebook
from tritonlab.start import find_chapter

__all__ = ["BuildError", "build", "kernel_environment", "main"]

NOTEBOOKS = notebook.ROOT / "notebooks"
CELL_SECONDS = 300
PAGE_MIME = notebook.OWN_MIME + "page"
HASH_MIME = notebook.OWN_MIME + "hash"
MODULE_MIME = notebook.OWN_MIME + "module"


class BuildError(Exception):
    """A notebook could not be built; its file is as it was."""


@contextlib.contextmanager
def kernel_environment(photograph: bool = False) -> Iterator[dict[str, str]]:
    """The environment of a kernel whose outputs are stored or compared, while the block runs.

    No GPU, this checkout's ``tritonlab``, and nothing that the user's own settings of IPython,
    matplotlib or Triton would change. ``photograph``: views give their pages for the build.
    """
    env = dict(os.environ)
    for name in ("TRITON_INTERPRET", "TRITONLAB_PHOTOGRAPH", "MPLBACKEND", "PYTHONSTARTUP", "PYTHONWARNINGS"):
        env.pop(name, None)
    path = [str(notebook.ROOT), *filter(None, [env.get("PYTHONPATH")])]
    env |= {"CUDA_VISIBLE_DEVICES": "", "MATPLOTLIBRC": os.devnull, "COLUMNS": "80", "PYTHONPATH": os.pathsep.join(path)}
    if photograph:
        env["TRITONLAB_PHOTOGRAPH"] = "1"
    with tempfile.TemporaryDirectory(prefix="tritonlab-", ignore_cleanup_errors=True) as scratch:
        env["IPYTHONDIR"] = scratch
        yield env


def build(path: Path) -> bool:
    """Execute the notebook ``path`` and store it; True if the file changed.

    Raises ``BuildError``, which names the notebook and the cell, and leaves the file alone.
    """
    before = path.read_bytes()
    try:
        nb = notebook.read(path)
    except ValueError as error:
        raise BuildError(str(error)) from None
    pictures = _pictures(nb)
    _execute(nb, path)
    _photograph(nb, path, pictures)
    nb = notebook.canonical(nb)
    nb.metadata["tritonlab"] = nbformat.from_dict({"source": notebook.source_hash(nb)})
    text = notebook.to_text(nb)
    return _write(path, text, before)


def _write(path: Path, text: str, before: bytes) -> bool:
    """Replace ``path`` by ``text`` in one step, if it still holds ``before``, and judge it first."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".build-") as folder:
        made = Path(folder) / path.name
        made.write_text(text, encoding="utf-8")
        wrong = notebook.problems(made)
        if wrong:
            raise BuildError("\n".join(f"{path.name} {what}" for what in wrong))
        if path.read_bytes() != before:
            raise BuildError(f"{path.name} was saved by someone else meanwhile; nothing was written, build it again")
        if text.encode() == before:
            return False
        made.chmod(path.stat().st_mode)
        os.replace(made, path)
    return True


def _execute(nb: NotebookNode, path: Path) -> None:
    """Run all cells in one fresh kernel of this Python; outputs and counts go into ``nb``."""
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellControlSignal, CellExecutionError, CellTimeoutError, DeadKernelError

    class Here(AsyncKernelManager):
        kernel_spec = _this_python()

    at = {"cell": -1}
    client = NotebookClient(
        nb,
        timeout=CELL_SECONDS,
        startup_timeout=120,
        iopub_timeout=60,
        raise_on_iopub_timeout=True,
        store_widget_state=False,
        record_timing=False,
        kernel_manager_class=Here,
        resources={"metadata": {"path": str(path.parent)}},
        on_cell_start=lambda cell, cell_index: at.update(cell=cell_index),
    )
    with kernel_environment(photograph=True) as env:
        try:
            client.execute(env=env, stderr=subprocess.DEVNULL)
        except CellExecutionError:
            raise BuildError(f"{_place(nb, path, at['cell'])} ends in an error:\n{_error_text(nb, at['cell'])}") from None
        except CellTimeoutError:
            raise BuildError(f"{_place(nb, path, at['cell'])} ran for more than {CELL_SECONDS} seconds") from None
        except DeadKernelError:
            raise BuildError(f"{_place(nb, path, at['cell'])} ended its Python process") from None
        except (CellControlSignal, RuntimeError, TimeoutError) as error:
            raise BuildError(f"{_place(nb, path, at['cell'])} could not be run: {error}") from None


def _this_python() -> Any:
    """A kernel spec of the running Python, whatever kernels are installed."""
    import ipykernel.kernelspec
    from jupyter_client.kernelspec import KernelSpec

    return KernelSpec(resource_dir=ipykernel.kernelspec.RESOURCES, **ipykernel.kernelspec.get_kernel_dict())


def _place(nb: NotebookNode, path: Path, index: int) -> str:
    """``05_x.ipynb, code cell 3 ("y = softmax(x)")``, counted as nbval counts."""
    if index < 0:
        return path.name
    number = sum(cell.cell_type == "code" for cell in nb.cells[:index])
    lines = [line for line in nb.cells[index].source.splitlines() if line.strip()] or [""]
    return f'{path.name}, code cell {number} ("{lines[0]}")'


def _error_text(nb: NotebookNode, index: int) -> str:
    """What the learner would see below the cell."""
    errors = [o for o in nb.cells[index].get("outputs", []) if o.output_type == "error"]
    if not errors:
        return "(no message)"
    text = "\n".join(errors[-1].get("traceback", [])) or f"{errors[-1].ename}: {errors[-1].evalue}"
    return text if sys.stderr.isatty() else notebook.strip_ansi(text)


def _pictures(nb: NotebookNode) -> dict[str, str]:
    """The stored pictures by the hash of what they show."""
    return {
        output.metadata["tritonlab"]["hash"]: output.data["image/png"]
        for cell in notebook.code_cells(nb)
        for output in cell.get("outputs", [])
        if "hash" in output.get("metadata", {}).get("tritonlab", {}) and "image/png" in output.get("data", {})
    }


def _photograph(nb: NotebookNode, path: Path, pictures: dict[str, str]) -> None:
    """Put a picture in place of each page, taking those known from ``pictures``."""
    outputs = [o for cell in notebook.code_cells(nb) for o in cell.get("outputs", []) if PAGE_MIME in o.get("data", {})]
    for output in outputs:
        if HASH_MIME not in output.data:
            raise BuildError(f"{path.name}: a view gave a page without {HASH_MIME}")
    pages = {o.data[HASH_MIME]: o.data[PAGE_MIME] for o in outputs if o.data[HASH_MIME] not in pictures}
    if pages:
        taken = dict(zip(pages, _take(list(pages.values()), path), strict=True))
        pictures = pictures | taken
    for output in outputs:
        kept: dict[str, Any] = {"hash": output.data[HASH_MIME]}
        if MODULE_MIME in output.data:
            kept["module"] = sorted(output.data[MODULE_MIME])
            kept["look"] = notebook.module_hash(kept["module"])
        data = {"image/png": pictures[kept["hash"]], "text/plain": output.data.get("text/plain", "")}
        output.data = nbformat.from_dict(data)
        output.metadata["tritonlab"] = nbformat.from_dict(kept)


def _take(pages: list[str], path: Path) -> list[str]:
    """A base64 PNG of each page."""
    try:
        from tritonlab.views.photograph import photograph

        return [base64.b64encode(_smaller(png)).decode("ascii") for png in photograph(pages)]
    except Exception as error:  # whatever Chromium or Playwright raise, nothing is written
        raise BuildError(
            f"{path.name}: its views could not be photographed ({type(error).__name__}: {error}).\n"
            "Pictures need Chromium: `python -m tritonlab doctor` says whether it is found."
        ) from error


def _smaller(png: bytes) -> bytes:
    """The picture with 256 colours: the drawings have few, and a notebook in git weighs 40 % of what it would."""
    from PIL import Image

    kept = io.BytesIO()
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    few = picture.quantize(colors=256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(kept, "PNG", optimize=True)
    return kept.getvalue()


def main(argv: list[str], folder: Path | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tritonlab build",
        description="Execute notebooks, photograph their views and store them in canonical form.",
    )
    parser.add_argument("names", nargs="*", metavar="chapter", help="number or name; all without one")
    parser.add_argument("--check", action="store_true", help="execute nothing, say what is wrong with what is stored")
    parser.add_argument(
        "--format", action="store_true", help="execute nothing, put what is stored in canonical form (after prose edits)"
    )
    args = parser.parse_args(argv)
    folder = folder or NOTEBOOKS
    try:
        paths = [find_chapter(name, folder) for name in args.names] or sorted(folder.glob("*.ipynb"))
    except ValueError as error:
        parser.error(str(error))
    if not paths:
        parser.error(f"there are no notebooks in {folder}")
    failed = 0
    for path in paths:
        try:
            print(f"{path.name}: {_one(path, args)}", flush=True)
        except BuildError as error:
            failed += 1
            print(error, file=sys.stderr, flush=True)
    return 1 if failed else 0


def _one(path: Path, args: argparse.Namespace) -> str:
    if args.check:
        wrong = notebook.problems(path)
        if wrong:
            raise BuildError("\n".join(f"{path.name} {what}" for what in wrong))
        return "current"
    if args.format:
        before = path.read_bytes()
        try:
            return "formatted" if _write(path, notebook.to_text(notebook.read(path)), before) else "unchanged"
        except ValueError as error:
            raise BuildError(str(error)) from None
    start = time.monotonic()
    changed = build(path)
    return f"{'written' if changed else 'unchanged'} ({time.monotonic() - start:.0f} s)"
