"""A JupyterLab of its own, driven by Playwright: for tests and for measuring ``live``."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any, Iterator

__all__ = ["Lab", "Opened", "open_notebook", "serve_lab"]

ROOT = Path(__file__).resolve().parents[2]
READY = 90
"""Seconds for the server, and then for the kernel, to come up."""

STARTED = """() => {
  const widget = window.jupyterapp && window.jupyterapp.shell.currentWidget;
  const kernel = widget && widget.sessionContext && widget.sessionContext.session && widget.sessionContext.session.kernel;
  return !!kernel && kernel.status === "idle" && widget.content.model && widget.content.model.cells.length > 0;
}"""
CELLS = "() => [...window.jupyterapp.shell.currentWidget.content.model.cells].map((c) => c.toJSON())"

ASK = """async (code) => {
  const future = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({ code });
  let said = "";
  future.onIOPub = (message) => { if (message.header.msg_type === "stream") said += message.content.text; };
  await future.done;
  return said;
}"""

RUN_CELL = """async ([index, source]) => {
  const notebook = window.jupyterapp.shell.currentWidget.content;
  notebook.activeCellIndex = index;
  if (source !== null) notebook.widgets[index].model.sharedModel.setSource(source);
  await window.jupyterapp.commands.execute("notebook:run-cell");
}"""


class Lab:
    """A running server: ``url`` and ``token``; ``root`` is the folder that it serves."""

    def __init__(self, url: str, token: str, root: Path) -> None:
        self.url, self.token, self.root = url, token, root


@contextlib.contextmanager
def serve_lab(root: Path) -> Iterator[Lab]:
    """JupyterLab on a free port of this machine, serving ``root``, with no settings of the user's; ended at the end.

    ``RuntimeError`` with the server's last words if it does not come up.
    """
    token = secrets.token_hex(16)
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="tritonlab-lab-", ignore_cleanup_errors=True) as scratch:
        quiet = Path(scratch, "settings", "@jupyterlab", "apputils-extension", "notification.jupyterlab-settings")
        quiet.parent.mkdir(parents=True)
        quiet.write_text(json.dumps({"fetchNews": "false", "checkForUpdates": False}))
        env = {k: v for k, v in os.environ.items() if k not in ("TRITON_INTERPRET", "TRITONLAB_PHOTOGRAPH", "MPLBACKEND")}
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR"):
            env[name] = str(Path(scratch, name.lower()))
        env |= {
            "JUPYTERLAB_SETTINGS_DIR": str(Path(scratch, "settings")),
            "CUDA_VISIBLE_DEVICES": "",
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [env.get("PYTHONPATH")])]),
        }
        command = [
            sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}",
            "--ServerApp.port_retries=0", f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={root}",
            "--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly", "--ServerApp.log_level=WARN",
        ]  # fmt: skip
        log = Path(scratch, "log")
        with log.open("wb") as out:
            server = subprocess.Popen(command, env=env, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            lab = Lab(f"http://127.0.0.1:{port}", token, root)
            _wait(lab, server, log)
            yield lab
        finally:
            server.terminate()  # it ends its kernels itself
            try:
                server.wait(15)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _wait(lab: Lab, server: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + READY
    while time.monotonic() < end:
        if server.poll() is not None:
            break
        with contextlib.suppress(OSError):
            request = urllib.request.Request(f"{lab.url}/api/status", headers={"Authorization": f"token {lab.token}"})
            urllib.request.urlopen(request, timeout=5).close()
            return
        time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start: {log.read_text(errors='replace')[-2000:]}")


class Opened:
    """A notebook in JupyterLab: ``tab`` is Playwright's page, ``faults`` the errors on its console."""

    def __init__(self, tab: Any, faults: list[str]) -> None:
        self.tab, self.faults = tab, faults

    def run_all(self, seconds: float = 120) -> None:
        """Run all cells and wait for the last of them."""
        self.tab.set_default_timeout(seconds * 1000)
        self.tab.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
        self.tab.set_default_timeout(60_000)

    def run_cell(self, index: int, source: str | None = None) -> str:
        """Run one cell, with a new source if one is given; all text that it shows."""
        self.tab.evaluate(RUN_CELL, [index, source])
        outputs = self.cells()[index]["outputs"]
        for _ in range(10):  # what a cell prints can arrive after the news that it has ended
            if outputs:
                break
            self.tab.wait_for_timeout(100)
            outputs = self.cells()[index]["outputs"]
        texts = [o.get("text") or o.get("data", {}).get("text/plain") or "\n".join(o.get("traceback", [])) for o in outputs]
        return "\n".join("".join(t) if isinstance(t, list) else t for t in texts)

    def cells(self) -> list[dict[str, Any]]:
        """The notebook's cells as nbformat has them, from the model in the browser."""
        return self.tab.evaluate(CELLS)

    def ask(self, code: str) -> str:
        """What code prints when the notebook's kernel runs it, outside any cell."""
        return self.tab.evaluate(ASK, code)

    def errors(self) -> list[str]:
        """The error outputs of all cells that are not tagged to end in one."""
        outputs = [o for c in self.cells() if "raises-exception" not in c["metadata"].get("tags", []) for o in c.get("outputs", [])]
        return [f"{o['ename']}: {o['evalue']}" for o in outputs if o["output_type"] == "error"]


@contextlib.contextmanager
def open_notebook(browser: Any, lab: Lab, name: str, width: int = 1280, height: int = 900) -> Iterator[Opened]:
    """The notebook ``name`` (a path below the lab's root) opened in the browser, its kernel ready."""
    context = browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce")
    try:
        tab = context.new_page()
        faults: list[str] = []
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        tab.goto(f"{lab.url}/lab/tree/{name}?token={lab.token}&reset")
        tab.wait_for_function(STARTED, timeout=READY * 1000)
        yield Opened(tab, faults)
    finally:
        context.close()
