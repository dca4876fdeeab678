"""Photographs self-contained pages of views in Chromium: the pictures of stored notebooks.

The same page gives the same bytes: width, scale, theme and time zone are fixed, nothing moves, nothing is
loaded from a network. The browser runs in a thread of its own, so that a caller with a running asyncio loop
(a notebook's kernel, nbclient) may call it too.
"""

from __future__ import annotations

import os
import shutil
import threading
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Sequence, TypeVar

__all__ = ["FLAGS", "ChromiumMissing", "chromium", "fill", "in_thread", "new_tab", "open_browser", "open_page", "photograph"]

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--font-render-hinting=none", "--force-color-profile=srgb",
    "--disable-lcd-text",
)  # fmt: skip
SCALE = 2
"""Device pixels a CSS pixel: sharp on dense screens."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

T = TypeVar("T")


class ChromiumMissing(RuntimeError):
    """No Chromium, or no Playwright to drive it; the message says how to get them."""


def chromium() -> str:
    """The path of the Chromium to use: ``TRITONLAB_CHROMIUM`` if set, else the first of the usual names on PATH.

    ``ChromiumMissing`` when there is none.
    """
    named = os.environ.get("TRITONLAB_CHROMIUM")
    if named:
        found = shutil.which(named)
        if not found:
            raise ChromiumMissing(f"TRITONLAB_CHROMIUM is {named!r}, which is no program that can be run")
        return found
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return found
    raise ChromiumMissing(
        f"no Chromium on PATH (looked for {', '.join(NAMES)}): install it (Debian, Ubuntu: apt-get install chromium), "
        "or set TRITONLAB_CHROMIUM to the path of one"
    )


@contextmanager
def open_browser() -> Iterator[Any]:
    """A headless Chromium as Playwright's ``Browser``, in this thread; closed at the end."""
    path = chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise ChromiumMissing("driving Chromium needs Playwright: pip install playwright") from error
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS), headless=True)
        try:
            yield browser
        finally:
            browser.close()


def new_tab(browser: Any, width: int = 900, dark: bool = False, scale: int = SCALE) -> Any:
    """An empty offline page of that width and theme, in a context of its own."""
    context = browser.new_context(
        viewport={"width": width, "height": 400}, device_scale_factor=scale, reduced_motion="reduce", locale="en-US",
        timezone_id="UTC", color_scheme="dark" if dark else "light", offline=True,
    )  # fmt: skip
    tab = context.new_page()
    tab.tl_dark, tab.tl_faults = dark, []
    tab.on("pageerror", lambda error: tab.tl_faults.append(str(error)))
    tab.on("console", lambda message: tab.tl_faults.append(message.text) if message.type == "error" else None)
    return tab


def fill(tab: Any, page: str) -> None:
    """Show a self-contained page in a tab, drawn to its end; ``tl_faults`` collects its errors from here on.

    ``RuntimeError`` if its script fails.
    """
    tab.goto("about:blank")
    tab.tl_faults.clear()
    if tab.tl_dark:
        page = page.replace('data-jp-theme-light="true"', 'data-jp-theme-light="false"', 1)
    tab.set_content(page, wait_until="load")
    tab.wait_for_function("document.body.dataset.tlReady", timeout=30_000)
    if tab.tl_faults:
        raise RuntimeError(f"the view's page reports errors: {'; '.join(tab.tl_faults)}")


@contextmanager
def open_page(browser: Any, page: str, width: int = 900, dark: bool = False, scale: int = SCALE) -> Iterator[Any]:
    """A self-contained page shown in a tab of its own. ``RuntimeError`` if its script fails."""
    tab = new_tab(browser, width, dark, scale)
    try:
        fill(tab, page)
        yield tab
    finally:
        tab.context.close()


def photograph(pages: Sequence[str], width: int = 900, dark: bool = False) -> list[bytes]:
    """A PNG of each page, ``width`` CSS pixels wide and as high as its content; the same pages give the same bytes.

    ``ChromiumMissing`` when there is no Chromium, ``RuntimeError`` when a page's script fails.
    """

    def work() -> list[bytes]:
        pictures = []
        with open_browser() as browser:
            tab = new_tab(browser, width, dark)
            for page in pages:
                tab.set_viewport_size({"width": width, "height": 400})
                fill(tab, page)
                height = tab.evaluate("Math.ceil(document.body.getBoundingClientRect().height)")
                tab.set_viewport_size({"width": width, "height": max(height, 40)})
                tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
                pictures.append(tab.screenshot(animations="disabled", caret="hide"))
        return pictures

    return in_thread(work) if pages else []


def in_thread(work: Callable[[], T]) -> T:
    """``work()`` in a thread of its own, where Playwright's synchronous interface finds no running loop."""
    result: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            result.append(work())
        except BaseException as error:  # noqa: BLE001  (raised again below, in the caller's thread)
            failed.append(error)

    thread = threading.Thread(target=run, name="tritonlab-chromium")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return result[0]
