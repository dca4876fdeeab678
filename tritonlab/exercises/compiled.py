"""On a machine with a GPU: run a right answer compiled as well, in a process of its own.

The answer's source is written into a module with what it names, so that a kernel that hangs or breaks the GPU's
context ends that process and not the notebook's. Run as ``python -m tritonlab.exercises.compiled FOLDER``.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from typing import Any, Callable

import numpy as np
import torch

from .answer import is_kernel, named_in, source_of
from .finding import Finding, at, indices, number
from .inputs import build, to_numpy
from .problem import Problem
from .run import Outcome, compare

__all__ = ["differences", "module_source"]

SECONDS = 120
HEADER = "import math\n\nimport torch\nimport triton\nimport triton.language as tl\n"


def differences(fn: Callable[..., Any], problem: Problem, outcomes: list[Outcome], device: str = "cuda") -> list[Finding]:
    """What goes wrong when the answer is launched on a device. Nothing is run, and nothing found, without a GPU."""
    if device == "cuda" and not torch.cuda.is_available():
        return []
    source = module_source(fn)
    if source is None or not outcomes:
        return []
    chosen = _few(outcomes)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "answer.py").write_text(source, encoding="utf-8")
        torch.save(_packed(fn, chosen, device), place / "calls.pt")
        error = _run(place)
        results = torch.load(place / "results.pt", weights_only=True) if error is None else {}
    if error is not None:
        return [Finding("compiled", chosen[0], dict(detail=error))]
    for outcome in chosen:
        finding = _compare(outcome, problem, results[outcome.number])
        if finding is not None:
            return [finding]
    return []


def _few(outcomes: list[Outcome]) -> list[Outcome]:
    """A plain, a strided and the largest case: each is compiled anew where its specialization differs."""
    plain = [o for o in outcomes if not o.case.special and o.case.numel]
    picked = [max(plain or outcomes, key=lambda o: (not o.case.strided, o.case.numel))]
    picked += [o for o in plain if o.case.strided][:1]
    picked += [o for o in plain if not o.case.strided and o.case.numel > 1 and o not in picked][:1]
    return picked


def _packed(fn: Any, outcomes: list[Outcome], device: str) -> dict[str, Any]:
    calls = {}
    for o in outcomes:
        built = build(o.case, o.number)
        calls[o.number] = [
            dict(base=base, size=list(a.shape), stride=list(a.stride()), offset=a.storage_offset()) if isinstance(a, torch.Tensor) else a
            for a, base in zip(built.args, built.bases)
        ]
    return dict(name=fn.__name__, device=device, calls=calls)


def _run(place: Path) -> str | None:
    """Run the folder's calls; None when they came back, otherwise what went wrong."""
    root = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tritonlab.exercises.compiled", str(place)],
            capture_output=True, text=True, timeout=SECONDS, env=environment, cwd=place,
        )
    except subprocess.TimeoutExpired:
        return f"it did not end within {SECONDS} seconds."
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.strip().splitlines() if line.strip()]
    return lines[-1].strip() if lines else f"the process ended with code {done.returncode}."


def _compare(outcome: Outcome, problem: Problem, results: list[torch.Tensor]) -> Finding | None:
    for which, (result, expected, dtype) in enumerate(zip(results, outcome.expected, outcome.wanted_dtypes)):
        seen = to_numpy(result)
        bad = compare(seen, expected, problem.tolerance_for(dtype)) if seen.shape == expected.shape else np.ones(1, dtype=bool)
        if bad.any():
            index = indices(bad)[0] if seen.shape == expected.shape else ()
            values = f"{at(index)} is {number(seen[index])}, expected {number(expected[index])}" if index else "the shape differs"
            return Finding("compiled", outcome, dict(detail=f"{int(bad.sum())} of {bad.size} values are wrong; {values}."))
    return None


def module_source(fn: Any) -> str | None:
    """A module with a launcher, its kernels and helpers, and the constants and modules they name; None if a source is missing."""
    parts: dict[str, str] = {}
    if not _collect(getattr(fn, "__name__", ""), fn, parts):
        return None
    return HEADER + "\n" + "\n".join(parts.values())


def _collect(name: str, value: Any, parts: dict[str, str]) -> bool:
    if name in parts:
        return True
    if isinstance(value, types.ModuleType):
        parts[name] = f"import {value.__name__} as {name}\n"
        return True
    module = str(getattr(value, "__module__", "") or "")
    learner = is_kernel(value) or isinstance(value, types.FunctionType)
    if learner and module.split(".")[0] not in ("triton", "torch", "math", "builtins"):
        found = source_of(_innermost(value))
        if found is None or not found[0].lstrip().startswith(("def ", "@")):
            return False
        parts[name] = ""
        if not all(_collect(n, v, parts) for n, v in named_in(_innermost(value)).items() if n != name):
            return False
        parts[name] = parts.pop(name) or f"\n{found[0]}\n"
        return True
    if type(value).__name__ == "constexpr":
        parts[name] = f"{name} = tl.constexpr({_literal(value.value)})\n"
        return True
    if isinstance(value, (int, float, bool, str, type(None), torch.dtype)):
        parts[name] = f"{name} = {_literal(value)}\n"
        return True
    if callable(value) and module and hasattr(value, "__name__"):
        parts[name] = f"from {module} import {value.__name__} as {name}\n"
        return True
    return False


def _innermost(value: Any) -> Any:
    while is_kernel(value) and is_kernel(value.fn):
        value = value.fn
    return value


def _literal(value: Any) -> str:
    return f'float("{value}")' if isinstance(value, float) and not np.isfinite(value) else repr(value)


def main(folder: str) -> None:
    """Load the folder's answer, make its calls on the device, and save what comes back."""
    import tritonlab  # noqa: F401  CPU tensors are interpreted, as in the notebook

    place = Path(folder)
    spec = importlib.util.spec_from_file_location("answer", place / "answer.py")
    answer = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    sys.modules["answer"] = answer
    spec.loader.exec_module(answer)  # type: ignore[union-attr]
    packed = torch.load(place / "calls.pt", weights_only=True)
    results = {}
    for n, args in packed["calls"].items():
        placed = [
            a["base"].to(packed["device"]).as_strided(a["size"], a["stride"], a["offset"]) if isinstance(a, dict) else a for a in args
        ]
        returned = getattr(answer, packed["name"])(*placed)
        returned = returned if isinstance(returned, (tuple, list)) else (returned,)
        results[n] = [r.cpu() for r in returned]
    torch.save(results, place / "results.pt")


if __name__ == "__main__":
    main(sys.argv[1])
