"""A real Chromium for the tests of this folder; they are skipped, with the reason, where there is none."""

from __future__ import annotations

import contextlib
import shutil
from typing import Any, Callable, Iterator

import pytest

pytest.register_assert_rewrite("chapters")

from chapters import NOTEBOOKS  # noqa: E402
from tritonlab.views.base import View  # noqa: E402
from tritonlab.views.jupyterlab import Opened, open_notebook, serve_lab  # noqa: E402
from tritonlab.views.photograph import ChromiumMissing, fill, new_tab, open_browser  # noqa: E402


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Playwright's Browser; closed after each file, because while it runs no test can start an asyncio loop."""
    with contextlib.ExitStack() as stack:
        try:
            browser = stack.enter_context(open_browser())
        except ChromiumMissing as missing:
            pytest.skip(str(missing))
        yield browser


@pytest.fixture(scope="module")
def tabs(chromium: Any) -> dict[tuple[int, bool], Any]:
    """Tabs that tests fill one after the other, by width and theme: opening one takes longer than most tests."""
    return {}


@pytest.fixture
def show(chromium: Any, tabs: dict[tuple[int, bool], Any]) -> Iterator[Callable[..., Any]]:
    """``show(view, width=900, dark=False)`` -> the Playwright page with that view, offline; the test's only one of that kind.

    Errors on the console fail the test.
    """
    shown = {}

    def show_one(view: View, width: int = 900, dark: bool = False) -> Any:
        key = (width, dark)
        if key not in tabs:
            tabs[key] = new_tab(chromium, width, dark, scale=1)
            tabs[key].set_viewport_size({"width": width, "height": 1000})
        shown[key] = tabs[key]
        fill(tabs[key], view.page())
        return tabs[key]

    yield show_one
    faults = [fault for tab in shown.values() for fault in tab.tl_faults]
    assert not faults, faults


@pytest.fixture(scope="module")
def book(request: pytest.FixtureRequest, chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """A copy of the notebook that the test file names, ``CHAPTER = "03_softmax"``, in JupyterLab, all cells run."""
    chapter = NOTEBOOKS / f"{request.module.CHAPTER}.ipynb"
    if not chapter.exists():
        pytest.skip(f"there is no notebooks/{chapter.name}")
    root = tmp_path_factory.mktemp("chapter")
    shutil.copy(chapter, root)
    with serve_lab(root) as lab, open_notebook(chromium, lab, chapter.name) as opened:
        opened.run_all()
        opened.tab.locator(".tl-view .tl-says").first.wait_for(state="attached")
        yield opened
