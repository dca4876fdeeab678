"""Photographs of pages: the same bytes each time, also from inside a running loop, and a clear word when they fail."""

from __future__ import annotations

import asyncio
import struct

import pytest

from tritonlab.views import specimens
from tritonlab.views.photograph import ChromiumMissing, chromium, in_thread, photograph
from tritonlab.views.tiles import tiles

try:
    chromium()
    MISSING = ""
except ChromiumMissing as missing:
    MISSING = str(missing)

needs_chromium = pytest.mark.skipif(bool(MISSING), reason=MISSING)


@needs_chromium
def test_the_same_page_gives_the_same_bytes_and_another_page_others():
    page, other = tiles(specimens.vector_add()).page(), tiles(specimens.vector_add(900)).page()
    pictures = photograph([page, other])
    again = asyncio.run(inside_a_loop([page]))
    assert pictures[0] == again[0] != pictures[1]
    assert pictures[0][:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", pictures[0][16:24])
    assert width == 1800 and height > 400  # 900 px, two device pixels each


async def inside_a_loop(pages):
    """As nbclient calls it: a loop runs in this thread."""
    await asyncio.sleep(0)
    return photograph(pages)


@needs_chromium
def test_a_page_whose_script_fails_is_an_error_that_quotes_it():
    page = tiles(specimens.vector_add(10, 4)).page().replace("const state =", "throw new Error('broken on purpose'); const state =")
    with pytest.raises(RuntimeError, match="broken on purpose"):
        photograph([page])


def test_no_pages_need_no_browser(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert photograph([]) == []


def test_a_machine_without_chromium_is_told_how_to_get_it(monkeypatch):
    monkeypatch.delenv("TRITONLAB_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ChromiumMissing, match="apt-get install chromium"):
        photograph(["<p>"])
    monkeypatch.setenv("TRITONLAB_CHROMIUM", "/nowhere/chrome")
    with pytest.raises(ChromiumMissing, match="TRITONLAB_CHROMIUM is '/nowhere/chrome'"):
        chromium()


def test_an_error_in_the_thread_is_the_callers():
    assert in_thread(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        in_thread(lambda: 1 // 0)
