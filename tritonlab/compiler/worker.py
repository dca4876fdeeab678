"""Run Triton's compiler in a child process.

A compiler that aborts (LLVM does, on some kernels), runs on without end or prints pages of intermediate code then
cannot harm the notebook's process. The child is forked, so that it has the kernel and starts in milliseconds; it
touches no GPU, and keeps Triton's own cache out of the way.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from typing import Any

from .request import Request

__all__ = ["SECONDS", "run_all"]

SECONDS = 180
"""Longest time of one compilation."""

KEPT = ("ttir", "ttgir", "llir", "ptx")
_STDERR_KEPT = 200_000


def run_all(wanted: list[Request], seconds: float = SECONDS) -> list[dict[str, Any]]:
    """Compile each request, as many at a time as there are processors, at most 8. The answers, in order, are plain dicts.

    ``{"asm", "shared", "tensor_memory", "num_warps", "name", "resources", "sass"}``, or ``{"error": {...}}``: the chain of
    exceptions from the outermost on, or how the child ended ("signal", "timeout"), with what it printed.
    """
    answers: list[dict[str, Any] | None] = [None] * len(wanted)
    waiting = list(enumerate(wanted))
    running: dict[int, tuple[int, _Child]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < max(1, _processors()):
                i, request = waiting.pop(0)
                child = _Child(request, time.monotonic() + seconds)
                running[child.pipe] = (i, child)
            ready, _, _ = select.select(list(running), [], [], 0.5)
            for pipe in ready:
                if running[pipe][1].read():
                    i, child = running.pop(pipe)
                    answers[i] = child.end()
            for pipe, (i, child) in list(running.items()):
                if time.monotonic() > child.deadline:
                    del running[pipe]
                    answers[i] = child.end(killed=seconds)
    finally:
        for _, child in running.values():
            child.end(killed=0)
    return [a for a in answers if a is not None]


def _processors() -> int:
    return min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


class _Child:
    """A forked process that compiles one request and writes its answer into a pipe."""

    def __init__(self, request: Request, deadline: float) -> None:
        self.deadline = deadline
        self.said = bytearray()
        self.folder = tempfile.mkdtemp(prefix="tritonlab-")
        self.pipe, into = os.pipe()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forking beside threads; the child starts none
            self.pid = os.fork()
        if self.pid == 0:
            _in_child(request, into, self.folder)
        os.close(into)

    def read(self) -> bool:
        """Take what has come; whether that was the end."""
        chunk = os.read(self.pipe, 1 << 20)
        self.said += chunk
        return not chunk

    def end(self, killed: float | None = None) -> dict[str, Any]:
        """Wait for the process, and return its answer."""
        if killed is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.pipe)
        try:
            printed = _printed(self.folder)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
        if killed is not None:
            return {"error": {"ended": "timeout", "seconds": killed, "printed": printed}}
        try:
            answer = json.loads(bytes(self.said))
        except ValueError:
            number = os.waitstatus_to_exitcode(status)
            return {"error": {"ended": signal.Signals(-number).name if number < 0 else f"exit {number}", "printed": printed}}
        if "error" in answer:
            answer["error"]["printed"] = printed
        return answer


def _printed(folder: str) -> str:
    try:
        with open(os.path.join(folder, "printed"), encoding="utf-8", errors="replace") as f:
            return f.read(_STDERR_KEPT)
    except OSError:
        return ""


def _in_child(request: Request, into: int, folder: str) -> None:
    """What the child does; it never returns."""
    code = 1
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        printed = os.open(os.path.join(folder, "printed"), os.O_WRONLY | os.O_CREAT)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
        sys.settrace(None)
        faulthandler.disable()  # it would write to the notebook, whose stderr it kept
        try:
            answer = _compile(request, folder)
        except BaseException as e:  # whatever it is, the parent tells it
            answer = {"error": {"chain": _chain(e)}}
        data = json.dumps(answer).encode()
        with os.fdopen(into, "wb") as pipe:
            pipe.write(data)
        code = 0
    finally:
        os._exit(code)


def _compile(request: Request, folder: str) -> dict[str, Any]:
    import triton
    from triton import knobs
    from triton.backends.compiler import GPUTarget

    knobs.cache.dir = os.path.join(folder, "cache")
    if knobs.compilation.disable_line_info:
        knobs.compilation.disable_line_info = False
    for name, function in request.functions.items():
        _label(function, name)
    made = triton.compile(
        request.source,
        target=GPUTarget("cuda", int(request.target.removeprefix("sm_")), 32),
        options=dict(request.parsed.__dict__),
    )
    binary = os.path.join(folder, "kernel.cubin")
    with open(binary, "wb") as f:
        f.write(made.asm["cubin"])
    metadata = made.metadata
    return {
        "asm": {stage: made.asm[stage] for stage in KEPT if stage in made.asm},
        "shared": metadata.shared,
        "tensor_memory": getattr(metadata, "tmem_size", None) or 0,
        "num_warps": metadata.num_warps,
        "name": metadata.name,
        "resources": _tool(knobs.nvidia.cuobjdump.path, "--dump-resource-usage", binary),
        "sass": _tool(knobs.nvidia.nvdisasm.path, "-c", "-g", "-gp", "-ndf", binary),
    }


def _label(function: Any, name: str) -> None:
    """Let the compiler know a function's file by the function's name: the same text on every machine and in every cell."""
    function.fn.__code__ = function.fn.__code__.replace(co_filename=name)
    if hasattr(function, "file_name"):
        function.file_name = name


def _tool(path: str, *arguments: str) -> str:
    ran = subprocess.run([path, *arguments], capture_output=True, check=False)
    if ran.returncode:
        raise RuntimeError(f"{os.path.basename(path)} failed: {ran.stderr.decode(errors='replace').strip()}")
    return ran.stdout.decode(errors="replace")


def _chain(error: BaseException) -> list[dict[str, Any]]:
    """An exception and its causes, outermost first, as plain values."""
    chain, seen = [], set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        node = getattr(current, "node", None)
        chain.append(
            {
                "type": type(current).__name__,
                "message": getattr(current, "error_message", None) or ("" if node is not None else str(current)),
                "src": getattr(current, "src", None) if isinstance(getattr(current, "src", None), str) else None,
                "line": getattr(node, "lineno", None),
                "column": getattr(node, "col_offset", None),
                "where": traceback.format_tb(current.__traceback__)[-1:] if current.__traceback__ else [],
            }
        )
        current = current.__cause__ or current.__context__
    return chain
