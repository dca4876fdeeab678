"""The views in a real JupyterLab with a real kernel: Run All, then explored by mouse and by key as a learner does."""

from __future__ import annotations

import nbformat
import pytest

from tritonlab.views.jupyterlab import open_notebook, serve_lab
from tritonlab.views.screenshots import SERIOUS, axe_source, faults_of

SOURCE = [
    """\
import torch, triton
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

calls = []

def add(N=1000, BLOCK=64, good=True):
    calls.append((N, BLOCK))
    if not good:
        raise ValueError("made to fail")
    x, y = torch.arange(N).float(), torch.ones(N)
    out = torch.empty_like(x)
    return lab.trace(lambda: vector_add_kernel[(triton.cdiv(N, BLOCK),)](x, y, out, N, BLOCK_SIZE=BLOCK), step=15)
""",
    "t = add()\nlab.views.tiles(t)",
    "lab.views.stepper(t)",
    "shown = lab.views.live(add, lab.views.tiles, N=(900, 1024), BLOCK=[64, 128, 256], good=True)\nshown",
]


@pytest.fixture(scope="module")
def server(chromium, tmp_path_factory):
    root = tmp_path_factory.mktemp("lab")
    book = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}})
    book.cells = [nbformat.v4.new_code_cell(source) for source in SOURCE]
    nbformat.write(book, root / "views.ipynb")
    with serve_lab(root) as lab:
        yield lab


@pytest.fixture(scope="module")
def book(chromium, server):
    """The notebook of views, all cells run."""
    with open_notebook(chromium, server, "views.ipynb") as opened:
        opened.run_all()
        opened.tab.locator(".tl-live .tl-picture svg").wait_for()
        yield opened


def says(view) -> str:
    return view.locator(".tl-says").inner_text()


def until(tab, view, words: str) -> None:
    """Wait until the view's sentence contains these words."""
    handle = view.element_handle()
    tab.wait_for_function("([view, words]) => view.querySelector('.tl-says').innerText.includes(words)", arg=[handle, words], timeout=60_000)


def test_all_cells_run_without_an_error_and_every_view_is_drawn(book):
    assert book.errors() == [] and book.faults == []
    shown = [o["data"]["text/plain"] for c in book.cells() for o in c["outputs"] if "data" in o]
    assert shown[0] == "<TileView vector_add_kernel 16 programs × 64 lanes, 24 masked>"
    assert shown[2] == "<Live N=1000, BLOCK=64, good=True: <TileView vector_add_kernel 16 programs × 64 lanes, 24 masked>>"
    for kind, number in ((".tl-tiles", 2), (".tl-stepper", 1)):
        assert book.tab.locator(f"{kind} .tl-says").count() == number


def test_the_tiles_follow_keys_and_mouse_without_python(book):
    tab, view = book.tab, book.tab.locator(".tl-tiles").first
    view.scroll_into_view_if_needed()
    assert says(view).startswith("Program 15 of 16 loads x_ptr[960…999]")
    view.locator(".tl-picture").focus()
    tab.keyboard.press("Home")
    until(tab, view, "Program 0 of 16")
    for _ in range(3):
        tab.keyboard.press("ArrowRight")
    until(tab, view, "Program 3 of 16 loads x_ptr[192…255]")
    tab.keyboard.press("ArrowDown")  # JupyterLab would leave the cell
    tab.wait_for_function("document.querySelector('.tl-tiles .tl-readout').innerText.startsWith('Lane 0: x_ptr[192] loads 192.0')")
    assert tab.evaluate("document.activeElement.className") == "tl-picture"
    box = view.locator("[data-arg=x_ptr]").bounding_box()
    tab.mouse.click(box["x"] + 84 + (box["width"] - 84) * 8.5 / 16, box["y"] + 28)
    until(tab, view, "Program 8 of 16")
    slider = view.get_by_label("Program").first
    slider.focus()
    slider.press("End")
    until(tab, view, "Program 15 of 16")
    assert book.faults == []


def test_the_stepper_goes_to_the_last_line_and_back(book):
    tab, view = book.tab, book.tab.locator(".tl-stepper").first
    view.scroll_into_view_if_needed()
    slider = view.locator("input[type=range]").first
    slider.focus()
    slider.press("End")
    until(tab, view, "writes out_ptr[960…999]")
    slider.press("Home")
    until(tab, view, "pid becomes 15")
    assert book.faults == []


def test_changed_controls_change_the_tiles_and_keep_the_view(book):
    tab, live = book.tab, book.tab.locator(".tl-live")
    live.scroll_into_view_if_needed()
    tab.evaluate("() => { window.before = document.querySelector('.tl-live .tl-picture svg'); }")
    live.locator("select").select_option("256")
    until(tab, live, "Program 3 of 4 loads x_ptr[768…999]")
    handle = live.locator("[role=slider]")
    handle.focus()
    for _ in range(5):
        handle.press("ArrowUp")
    until(tab, live, "x_ptr[768…1004]")
    assert tab.evaluate("window.before === document.querySelector('.tl-live .tl-picture svg')")
    assert live.locator(".tl-view").get_attribute("aria-busy") == "false"


def test_an_error_is_shown_in_the_view_and_goes_away_again(book):
    live = book.tab.locator(".tl-live")
    good = live.get_by_label("good")
    good.uncheck()
    error = live.locator(".tl-error")
    error.wait_for(state="visible")
    assert "made to fail" in error.inner_text() and error.inner_text().startswith("ValueError with N=")
    good.check()
    error.wait_for(state="hidden")
    assert book.errors() == [] and book.faults == []


def test_a_drag_runs_python_less_often_than_the_slider_moves_and_ends_at_the_last_position(book):
    tab, live = book.tab, book.tab.locator(".tl-live")
    handle = live.locator("[role=slider]")
    handle.focus()
    handle.press("Home")
    until(tab, live, "x_ptr[768…899]")
    before = int(book.ask("print(len(calls))"))
    tab.evaluate("() => { window.moves = 0; new MutationObserver(() => { window.moves += 1; }).observe(document.querySelector('.tl-live [role=slider]'), { attributeFilter: ['aria-valuenow'] }); }")
    box, track = handle.bounding_box(), live.locator(".noUi-target").first.bounding_box()
    y = box["y"] + box["height"] / 2
    tab.mouse.move(box["x"] + box["width"] / 2, y)
    tab.mouse.down()
    tab.mouse.move(track["x"] + track["width"] + 20, y, steps=60)
    tab.mouse.up()
    until(tab, live, "x_ptr[768…1023]")
    runs, moves = int(book.ask("print(len(calls))")) - before, tab.evaluate("window.moves")
    assert book.ask("print(calls[-1])").strip() == "(1024, 256)"
    assert 1 < runs < moves


def test_the_outputs_have_no_serious_accessibility_fault(book):
    axe = axe_source()
    if axe is None:
        pytest.skip("axe-core is missing: pip install axe-playwright-python")
    for within in (".tl-tiles", ".tl-stepper", ".tl-live"):
        assert [f for f in faults_of(book.tab, axe, within) if f["impact"] in SERIOUS] == []
    book.tab.evaluate("() => document.querySelector('.tl-tiles input[type=range]').closest('label').replaceWith(Object.assign(document.createElement('input'), { type: 'range' }))")
    assert [f["rule"] for f in faults_of(book.tab, axe, ".tl-tiles") if f["impact"] in SERIOUS] == ["label"]
