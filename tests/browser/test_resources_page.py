"""The resource view in a real Chromium: figures, marks, pointer and keys."""

from __future__ import annotations

import pytest

from tritonlab.views import specimens_compiled as s
from tritonlab.views.resources import resources

GRID = resources(s.matmul_grid())


def says(tab) -> str:
    return tab.locator(".tl-says").inner_text().replace("\u00a0", " ")


def cell(tab, row, column):
    return tab.locator(".tl-grid tbody tr").nth(row).locator("td").nth(column)


def test_one_kernel_fills_an_sm(show):
    tab = show(resources(s.matmul()))
    assert (
        says(tab)
        == "matmul_kernel for sm_90: 115 registers a thread and 96 KiB of shared memory: 2 programs per SM, limited by registers and shared memory."
    )
    assert tab.locator(".tl-warp").count() == 64 and tab.locator(".tl-warp.tl-on").count() == 16
    assert len({r.get_attribute("fill") for r in tab.locator(".tl-warp.tl-on").all()}) == 2
    assert tab.get_by_role("img", name="An SM with room for 64 warps: 2 programs of 8 warps fill 16.").count() == 1
    assert tab.locator(".tl-least th").all_inner_texts() == ["registers", "shared memory"]
    assert "24" in tab.locator(".tl-mix tr", has_text="async copy").inner_text()


def test_the_mix_can_be_that_of_ptx(show):
    tab = show(resources(s.vector_add()))
    assert "24 instructions" in tab.locator(".tl-mix").inner_text()
    tab.get_by_label("PTX").check()
    assert "18 instructions" in tab.locator(".tl-mix").inner_text()
    assert "2 × 16 B" in tab.locator(".tl-mix tr", has_text="global load").inner_text()


def test_what_does_not_fit_is_crossed_and_explained(show):
    tab = show(GRID)
    assert tab.locator(".tl-grid td.tl-not").count() == 3 and tab.locator(".tl-grid td.tl-spills").count() == 7
    wrong = cell(tab, 3, 5)
    assert wrong.inner_text().replace("\u00a0", " ").split() == ["✕", "256", "KiB"]
    wrong.click()
    assert (
        says(tab)
        == "256×256×64, 8 warps, 4 stages: does not fit: needs 256 KiB of shared memory, and a program on sm_90 gets at most 227 KiB."
    )
    assert tab.locator(".tl-sm").count() == 0
    cell(tab, 0, 5).click()
    assert says(tab) == "64×64×32, 8 warps, 4 stages: does not compile: the compiler had not finished in time."
    assert "(line 7)" in tab.locator(".tl-bad-note").inner_text()


def test_pointing_previews_a_point(show):
    tab = show(GRID)
    before = says(tab)
    assert before.startswith("64×64×32, 4 warps, 2 stages: ")
    cell(tab, 1, 1).hover()
    assert says(tab).startswith("128×128×64, 4 warps, 3 stages: ")
    tab.mouse.move(1, 1)
    assert says(tab) == before


def test_arrow_keys_walk_the_grid(show):
    tab = show(GRID)
    tab.locator(".tl-grid td[tabindex='0']").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        tab.keyboard.press(key)
    assert says(tab).startswith("128×128×64, 4 warps, 4 stages: ")
    assert tab.evaluate("document.activeElement.textContent") == cell(tab, 1, 2).inner_text()
    tab.keyboard.press("ArrowUp")
    tab.keyboard.press("ArrowUp")
    assert says(tab).startswith("64×64×32, 4 warps, 4 stages: ")


def test_the_grid_shows_another_measure(show):
    tab = show(GRID)
    assert cell(tab, 1, 1).inner_text() == "2"
    tab.get_by_label("show").select_option("shared")
    assert cell(tab, 1, 1).inner_text().replace("\u00a0", " ") == "96 KiB"
    tab.get_by_label("show").select_option("registers")
    assert cell(tab, 1, 1).inner_text() == "174"


def test_a_table_compares_kernels(show):
    tab = show(resources(s.vector_add(), s.matmul(), s.matmul((64, 64, 32), 8, 3, 58)))
    amounts = [r.locator(".tl-amount").all_inner_texts() for r in tab.locator(".tl-compare tbody tr").all()]
    assert [a[0] for a in amounts] == ["18", "115", "58"] and [a[4] for a in amounts] == ["16", "2", "4"]
    tab.locator(".tl-compare tbody tr").nth(1).click()
    assert says(tab).startswith("matmul_kernel, 128×128×64: 115 registers")


@pytest.mark.parametrize(("width", "dark"), [(900, True), (480, False)])
def test_it_fits_its_width(show, width, dark):
    tab = show(GRID, width, dark)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    box = tab.locator(".tl-scroll").evaluate("(e) => [e.scrollWidth, e.clientWidth]")
    assert box[0] <= box[1], "the whole grid is seen"
