"""``python -m tritonlab latency``: milliseconds from an input to changed pixels, in Chromium.

*Exploring* is a slider dragged with the mouse in a self-contained page. *first* is a picture drawn from its data. *live* is a control's slider moved by key in a real
JupyterLab: the key, the message to the kernel, the traced launch, the data back, the new picture. Time runs from the
input event's own time stamp to the end of the frame that shows the change, on the browser's clock.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any, Sequence

from .base import View
from .jupyterlab import open_notebook, serve_lab
from .photograph import ChromiumMissing, in_thread, new_tab, open_browser, fill

__all__ = ["explore", "first_picture", "follow", "main", "summary"]

EXPLORE_MS = 16.0
LIVE_MS = 150.0
FIRST_MS = 1000.0

# Times are kept in window.tlTimes. At the end of every frame after an event (a message posted in the frame's callback
# arrives after style, layout and paint) it is asked whether the picture has changed.
WATCH = """([root, kinds]) => {
  window.tlTimes = [];
  let since = null, changed = false;
  const atEndOfFrame = (then) => requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = then; c.port2.postMessage(0); });
  const look = () => {
    if (!changed) return atEndOfFrame(look);
    window.tlTimes.push(performance.now() - since);
    since = null;
  };
  for (const kind of kinds) {
    document.addEventListener(kind, (event) => {
      if (since !== null) return;
      since = event.timeStamp;
      changed = false;
      atEndOfFrame(look);
    }, true);
  }
  const watch = new MutationObserver(() => { changed = true; });
  for (const part of document.querySelectorAll(root)) watch.observe(part, { childList: true, subtree: true, characterData: true, attributes: true });
}"""

KERNEL = '''import torch, triton
import triton.language as tl
import tritonlab as lab

@triton.jit
def vector_add_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x + y, mask=mask)

def add(N=1000, BLOCK=64):
    x, y = torch.arange(N).float(), torch.ones(N)
    out = torch.empty_like(x)
    return lab.trace(lambda: vector_add_kernel[(triton.cdiv(N, BLOCK),)](x, y, out, N, BLOCK_SIZE=BLOCK))

lab.views.live(add, lab.views.tiles, N=(900, 1024), BLOCK=[64, 128])
'''


def explore(tab: Any, view: View, moves: int = 60) -> list[float]:
    """Drag the view's first slider over its range, there and back twice; milliseconds of each move that changed the picture."""
    fill(tab, view.page())
    box = tab.locator(".tl-controls input[type=range]").first.bounding_box()
    y, left, right = box["y"] + box["height"] / 2, box["x"] + 8, box["x"] + box["width"] - 8
    tab.mouse.move(left, y)
    tab.mouse.down()
    tab.evaluate(WATCH, [".tl-picture, .tl-says", ["input"]])
    for i in range(4 * moves):
        there = (i % (2 * moves)) / moves
        tab.mouse.move(left + (right - left) * min(there, 2 - there), y)
        tab.wait_for_timeout(5)
    tab.wait_for_timeout(200)
    tab.mouse.up()
    return tab.evaluate("window.tlTimes")


def first_picture(tab: Any, view: View, times: int = 5) -> list[float]:
    """Give a view its data again; milliseconds of each time until all of it is read, drawn and on the screen."""
    fill(tab, view.page())
    again = """async (data) => {
      const since = performance.now();
      tritonlab.model.set("data", data);
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      return performance.now() - since;
    }"""
    return [tab.evaluate(again, view.data) for _ in range(times)]


def follow(browser: Any, moves: int = 30) -> list[float]:
    """Move ``live``'s slider by key in JupyterLab, 16 programs traced at each move; milliseconds to the new picture."""
    notebook = {
        "cells": [{"cell_type": "code", "id": "live", "execution_count": None, "metadata": {}, "outputs": [], "source": KERNEL}],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    with tempfile.TemporaryDirectory(prefix="tritonlab-latency-") as folder:
        Path(folder, "live.ipynb").write_text(json.dumps(notebook))
        with serve_lab(Path(folder)) as lab, open_notebook(browser, lab, "live.ipynb") as opened:
            opened.run_all()
            tab = opened.tab
            tab.locator(".tl-live .tl-picture svg").wait_for()
            handle = tab.locator(".tl-live [role=slider]").first
            handle.focus()
            for key in ("ArrowLeft", "ArrowRight"):  # warm: the first comm message opens sockets
                tab.keyboard.press(key)
                tab.wait_for_timeout(1000)
            tab.evaluate(WATCH, [".tl-live .tl-picture", ["keydown"]])
            for i in range(moves):
                tab.keyboard.press("ArrowLeft" if i % 20 < 10 else "ArrowRight")
                tab.wait_for_function("(n) => window.tlTimes.length >= n", arg=i + 1, timeout=20_000)
                tab.wait_for_timeout(50)
            return tab.evaluate("window.tlTimes")


def summary(name: str, times: list[float], target: float) -> tuple[str, bool]:
    """One line: median, 95th percentile and whether the median keeps the target."""
    if not times:
        return f"{name:<34} nothing changed", False
    ordered = sorted(times)
    p95 = ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))]
    median = statistics.median(ordered)
    verdict = "kept" if median <= target else "missed"
    return f"{name:<34} median {median:6.1f} ms   95 % within {p95:6.1f} ms   {len(ordered)} moves   target {target:.0f} ms {verdict}", median <= target


def main(argv: Sequence[str] | None = None) -> int:
    """Print the latencies; 1 if a median misses its target, 2 without Chromium."""
    parser = argparse.ArgumentParser(prog="python -m tritonlab latency", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=60, help="moves of the mouse over a slider, one way (default 60)")
    parser.add_argument("--no-live", action="store_true", help="leave out live, which starts a JupyterLab")
    given = parser.parse_args(argv)

    def work() -> bool:
        from . import specimens, stepped
        from .pid_map import _played, pid_map
        from .stepper import stepper
        from .tiles import tiles
        from .tiles_product_specimens import product

        kept = True
        with open_browser() as browser:  # before the views, which take their time
            order = pid_map(_played(320, 320, 8), (64, 64, 32), 8192)
            views = [
                ("tiles, 16 programs", tiles(specimens.vector_add(), program=0)),
                ("tiles, 5000 programs, 10^6 elements", tiles(specimens.vector_add(1_000_000 - 37, 200), program=0)),
                ("tiles, matmul as matrices", tiles(specimens.matmul(96, 96, 48), program=0, picture="matrix")),
                ("tiles, matmul, 36 programs", tiles(specimens.matmul(96, 96, 96), program=0)),
                ("tiles, matmul, 10,000 programs", tiles(product((400, 400, 32), (4, 4, 4)), program=0)),
                ("stepper", stepper(stepped.row_sums())),
                ("order map, 102,400 programs", order),
            ]
            print(f"Chromium {browser.version}, Python {platform.python_version()}, {platform.machine()}")
            tab = new_tab(browser, scale=1)
            tab.set_viewport_size({"width": 900, "height": 1400})
            for name, view in views:
                line, ok = summary(name, explore(tab, view, given.moves), EXPLORE_MS)
                print(line, flush=True)
                kept &= ok
            line, ok = summary("order map, 102,400 programs, first", first_picture(tab, order), FIRST_MS)
            print(line, flush=True)
            kept &= ok
            tab.context.close()
            if not given.no_live:
                line, ok = summary("live in JupyterLab, 16 programs", follow(browser, max(1, given.moves // 2)), LIVE_MS)
                print(line, flush=True)
                kept &= ok
        return kept

    try:
        return 0 if in_thread(work) else 1
    except ChromiumMissing as missing:
        print(missing, file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(main())
