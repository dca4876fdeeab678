"""Everything that needs a real GPU, in one command: ``python tests/gpu/run_all.py [--out DIR] [--only STEP ...]``.

tests      the kernel tests compiled, and every test marked ``gpu``
bench      the bench twice; the runs must agree within the spreads they state, and vector add must keep its promise
notebooks  every chapter executed from top to bottom with the GPU visible (needs nbclient, ipykernel, anywidget, matplotlib)

Records and logs are written to DIR. The exit code is 0 when every step that was asked for passed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
STEPS = ("tests", "bench", "notebooks")
NOTEBOOK_NEEDS = ("nbclient", "nbformat", "ipykernel", "anywidget", "ipywidgets", "matplotlib")
CELL_SECONDS = 300
COPY_SHARE = 0.98
COPY_FROM, TORCH_FROM = 3 * 4 * 2**26, 2**20  # bytes of 2^26 float32 elements; elements


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for records and logs (default: a new temporary one)")
    parser.add_argument("--only", nargs="+", choices=STEPS, default=STEPS, help="steps to run (default: all)")
    parser.add_argument("--ops", nargs="*", default=[], help="ops to bench (default: all that are declared)")
    parser.add_argument("--runs", type=int, default=2, help="how often to bench (default 2)")
    parser.add_argument("--workers", type=int, default=0, help="processes for the tests, most of whose time is compiling (needs pytest-xdist; default: one)")
    options = parser.parse_args(argv)
    out = options.out or Path(tempfile.mkdtemp(prefix="tritonlab-gpu-"))
    out.mkdir(parents=True, exist_ok=True)
    print(environment(), flush=True)
    steps: dict[str, Callable[[], str]] = {
        "tests": lambda: compiled_tests(out, options.workers),
        "bench": lambda: benches(out, options.ops, options.runs),
        "notebooks": lambda: notebooks(ROOT / "notebooks", out),
    }
    failed = []
    for step in options.only:
        start = time.monotonic()
        print(f"== {step}", flush=True)
        wrong = steps[step]()
        print(f"== {step}: {'FAILED: ' + wrong if wrong else 'passed'} ({time.monotonic() - start:.0f} s)", flush=True)
        failed += [step] if wrong else []
    print(f"{'FAILED: ' + ', '.join(failed) if failed else 'all passed'}; records and logs in {out}")
    return 1 if failed else 0


def environment() -> str:
    import platform

    import numpy
    import torch
    import triton

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return f"{gpu}, torch {torch.__version__}, Triton {triton.__version__}, NumPy {numpy.__version__}, Python {platform.python_version()}"


def run(command: Sequence[str], log: Path) -> int:
    """Run ``command`` in the repository, its output shown and kept in ``log``."""
    with log.open("w") as file:
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            file.write(line)
        return process.wait()


def compiled_tests(out: Path, workers: int = 0) -> str:
    """The kernel tests on the GPU (their interpreted halves run anywhere), and all tests marked gpu."""
    pytest = [sys.executable, "-m", "pytest", "--gpu", "-q", "-p", "no:cacheprovider", "--override-ini=testpaths="]
    pytest += ["-n", str(workers)] if workers else []
    kernels = run([*pytest, "tests/kernels", "-k", "not cpu"], out / "kernel_tests.log")
    # only the files that have some: others may import what this machine lacks (a browser)
    mark = re.compile(r"^\s*(@|pytestmark = |pytest\.param\(.*)pytest\.mark\.gpu", re.MULTILINE)
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py") if mark.search(path.read_text()))
    files = [file for file in files if not file.startswith("tests/kernels/")]
    marked = run([*pytest, *files, "-m", "gpu"], out / "gpu_tests.log")
    wrong = [name for name, code in (("kernel tests", kernels), ("tests marked gpu", marked)) if code not in (0, 5)]  # 5: none collected
    return ", ".join(wrong)


def benches(out: Path, ops: Sequence[str], runs: int) -> str:
    """The bench ``runs`` times, each run beside the one before it."""
    from tritonlab.bench import records
    from tritonlab.bench.comparing import compare_runs

    wrong = []
    paths = [out / f"bench_{number + 1}.json" for number in range(runs)]
    for path in paths:
        if run([sys.executable, "-m", "tritonlab", "bench", *ops, "--out", str(path)], path.with_suffix(".log")):
            wrong.append(f"{path.name} had failures")
    made = [records.read(path) for path in paths if path.exists()]
    for a, b in zip(made, made[1:], strict=False):
        report = compare_runs(a, b)
        print(report, flush=True)
        (out / "compare.log").write_text(f"{report}\n")
        if not report.agree:
            wrong.append(f"{len(report.apart)} measurements disagree between the runs")
    for path, measurements in zip(paths, made, strict=False):
        wrong += [f"{path.name}: {line}" for line in broken_promises(measurements)]
    return "; ".join(wrong)


def broken_promises(measurements) -> list[str]:
    """Where vector add is slower than 0.98 of a copy (from the bytes of 2^26 float32 elements) or than torch (from 2^20), beyond the spreads."""
    from tritonlab.bench.tables import one_line

    if "vector_add" not in measurements.ops:
        return []
    broken = []
    theirs = {(m.shape, m.dtype): m for m in measurements.where(op="vector_add", implementation="torch")}
    for m in measurements.where(op="vector_add", implementation="tritonlab"):
        share = m.bytes / m.seconds / measurements.roofs.copy.rate
        if m.bytes >= COPY_FROM and share < COPY_SHARE:
            broken.append(f"{share:.3f} of a copy: {one_line(m)}")
        other = theirs[m.shape, m.dtype]
        if m.numel >= TORCH_FROM and m.seconds > other.seconds and not m.timing.agrees(other.timing):
            broken.append(f"torch is {m.seconds / other.seconds - 1:.1%} faster: {one_line(m)}")
    return broken


def notebooks(folder: Path, out: Path) -> str:
    """Execute copies of all notebooks; what is wrong, by notebook and cell."""
    missing = [name for name in NOTEBOOK_NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        return f"not run, {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed"
    paths = sorted(folder.glob("*.ipynb"))
    if not paths:
        return f"there are no notebooks in {folder}"
    wrong = []
    for path in paths:
        start = time.monotonic()
        what = execute(path)
        print(f"{path.name}: {what or 'ran'} ({time.monotonic() - start:.0f} s)", flush=True)
        wrong += [f"{path.name}: {what}"] if what else []
    (out / "notebooks.log").write_text("\n".join(wrong) + "\n")
    return "; ".join(line.splitlines()[0] for line in wrong)


def execute(path: Path) -> str:
    """Run a copy of the notebook in a fresh kernel of this Python; "" or the cell that failed and its error."""
    import ipykernel.kernelspec
    import nbformat
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    class Here(AsyncKernelManager):
        kernel_spec = KernelSpec(resource_dir=ipykernel.kernelspec.RESOURCES, **ipykernel.kernelspec.get_kernel_dict())

    nb = nbformat.read(path, as_version=4)
    at = {"cell": 0}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, folder)
        client = NotebookClient(
            nb, timeout=CELL_SECONDS, kernel_manager_class=Here, store_widget_state=False, resources={"metadata": {"path": folder}},
            on_cell_start=lambda cell, cell_index: at.update(cell=cell_index),
        )
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]), "IPYTHONDIR": folder}
        env.pop("TRITON_INTERPRET", None)
        try:
            client.execute(env=env)
        except CellExecutionError as error:
            return f"cell {at['cell']}: {error.ename}: {error.evalue}\n{error}"
        except CellTimeoutError:
            return f"cell {at['cell']}: more than {CELL_SECONDS} seconds"
        except DeadKernelError:
            return f"cell {at['cell']}: its Python process ended"
    return ""


if __name__ == "__main__":
    sys.exit(main())
