"""A real Chromium for the tests of this folder; they are skipped, with the reason, where there is none."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator

import pytest

from tritonlab.views.base import View
from tritonlab.views.photograph import ChromiumMissing, fill, new_tab, open_browser


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
