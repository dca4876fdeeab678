"""``python -m tritonlab screenshots FOLDER``: every view, light and dark, wide and narrow, checked for accessibility."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from importlib import resources
from pathlib import Path
from typing import Any, Sequence

from .base import View
from .photograph import ChromiumMissing, fill, in_thread, new_tab, open_browser

__all__ = ["all_samples", "axe_source", "faults_of", "main"]

WIDTHS = (900, 480)
SERIOUS = ("serious", "critical")
SETTINGS = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}, "resultTypes": ["violations"]}
LEFT_OUT = ("region", "page-has-heading-one", "landmark-one-main")
"""Rules about a whole document, which a picture inside a notebook is not."""


def all_samples() -> list[tuple[str, View]]:
    """(name, view) of every module here that has ``samples()``, in order of their names."""
    import tritonlab.views as package

    found: list[tuple[str, View]] = []
    for entry in sorted(pkgutil.iter_modules(package.__path__), key=lambda e: e.name):
        module = importlib.import_module(f"{package.__name__}.{entry.name}")
        samples = getattr(module, "samples", None)
        if callable(samples):
            found += samples()
    names = [name for name, _ in found]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise ValueError(f"several samples are called {', '.join(twice)}")
    return found


def axe_source() -> str | None:
    """axe-core's script, from the package axe-playwright-python; None when that is not installed."""
    try:
        return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    except (ModuleNotFoundError, FileNotFoundError):
        return None


def faults_of(tab: Any, axe: str, within: str | None = None) -> list[dict[str, str]]:
    """What axe-core finds on a page (or in the elements of a selector): impact, rule, help, one element's HTML."""
    if not tab.evaluate("typeof window.axe !== 'undefined'"):
        tab.evaluate(axe)
    results = tab.evaluate("([within, settings]) => axe.run(within || document, settings)", [within, SETTINGS])
    return [
        {"impact": v["impact"], "rule": v["id"], "help": v["help"], "element": n["html"][:160], "why": n.get("failureSummary", "").replace("\n", " ")}
        for v in results["violations"]
        if v["id"] not in LEFT_OUT
        for n in v["nodes"]
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Write the screenshots, print what was written and what axe-core says; 1 if it reports a serious fault."""
    parser = argparse.ArgumentParser(prog="python -m tritonlab screenshots", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the PNG files go; made if missing")
    parser.add_argument("--only", default="", help="samples whose name contains this")
    given = parser.parse_args(argv)
    axe = axe_source()
    if axe is None:
        print("axe-core is missing: pip install axe-playwright-python", file=sys.stderr)
        return 2
    given.folder.mkdir(parents=True, exist_ok=True)
    pages = [(name, view.page(name)) for name, view in all_samples() if given.only in name]
    if not pages:
        print(f"no sample's name contains {given.only!r}", file=sys.stderr)
        return 2
    try:
        serious = in_thread(lambda: _shoot(pages, given.folder, axe))
    except ChromiumMissing as missing:
        print(missing, file=sys.stderr)
        return 2
    print(f"{len(pages)} views, {4 * len(pages)} screenshots, {serious} serious faults")
    return 1 if serious else 0


def _shoot(pages: list[tuple[str, str]], folder: Path, axe: str) -> int:
    serious = 0
    with open_browser() as browser:
        for width in WIDTHS:
            for dark in (False, True):
                tab = new_tab(browser, width, dark, scale=1)
                for name, page in pages:
                    fill(tab, page)
                    file = folder / f"{name}-{width}-{'dark' if dark else 'light'}.png"
                    tab.screenshot(path=file, full_page=True, animations="disabled", caret="hide")
                    found = faults_of(tab, axe)
                    wide = tab.evaluate("document.documentElement.scrollWidth - window.innerWidth")
                    if wide > 0:
                        found.append({"impact": "serious", "rule": "fits-its-width", "help": f"{wide} px wider than {width} px", "element": "html", "why": ""})
                    print(f"{file}: {len(found)} faults" if found else file)
                    for fault in found:
                        print(f"    {fault['impact']}: {fault['rule']}: {fault['help']}\n        {fault['element']}\n        {fault['why']}")
                    serious += sum(f["impact"] in SERIOUS for f in found)
                tab.context.close()
    return serious


if __name__ == "__main__":
    raise SystemExit(main())
