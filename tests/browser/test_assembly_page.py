"""The assembly view in a real Chromium: partners light up, by pointer and by key."""

from __future__ import annotations

import pytest

from tritonlab.views.assembly import assembly
from tritonlab.views.specimens_compiled import vector_add

C = vector_add()
FIRST = C.functions[0].first_line
LOAD, STORE = FIRST + 5, FIRST + 7


@pytest.fixture
def tab(show):
    return show(assembly(C))


def says(tab) -> str:
    return tab.locator(".tl-says").inner_text()


def lit(tab, pane) -> list[str]:
    return tab.locator(f".tl-{pane} .tl-lit code").all_inner_texts()


def expected(stage, line):
    return [" ".join(x.text.split()).removesuffix(";") for x in C.lines[stage] if x.line == line and x.opcode]


def test_the_first_load_is_lit_on_both_sides(tab):
    assert lit(tab, "source") == ["    x = tl.load(x_ptr + offs, mask=mask)"]
    assert lit(tab, "listing") == expected("sass", LOAD)
    assert says(tab) == f"Line {LOAD} became 4 of 24 SASS instructions: 1 global load of 16 bytes, 2 moves, 1 integer operation."


def test_pointing_previews_and_leaving_goes_back(tab):
    tab.locator(".tl-listing code", has_text="STG.E.128").hover()
    assert lit(tab, "source") == ["    tl.store(out_ptr + offs, x + y, mask=mask)"]
    assert lit(tab, "listing") == expected("sass", STORE)
    tab.mouse.move(1, 1)
    assert lit(tab, "listing") == expected("sass", LOAD)


def test_a_click_chooses(tab):
    tab.locator(".tl-source code", has_text="tl.store").click()
    tab.mouse.move(1, 1)
    assert lit(tab, "listing") == expected("sass", STORE)
    assert says(tab).startswith(f"Line {STORE} became 8 of 24 SASS instructions: ")


def test_a_line_that_made_nothing_lights_nothing(tab):
    tab.locator(".tl-source code", has_text="@triton.jit").click()
    tab.mouse.move(1, 1)
    assert lit(tab, "listing") == expected("sass", LOAD)


def test_keys_walk_the_source_and_the_listing(tab):
    tab.locator(".tl-source").focus()
    tab.keyboard.press("ArrowDown")
    assert lit(tab, "listing") == expected("sass", LOAD + 1)
    tab.keyboard.press("Home")
    assert says(tab).startswith(f"Line {FIRST + 1} left no SASS instruction of its own")
    tab.keyboard.press("End")
    assert lit(tab, "listing") == expected("sass", STORE)
    tab.locator(".tl-listing").focus()
    tab.keyboard.press("Home")
    assert tab.locator(".tl-cursor code").inner_text() == "S2R R3, SR_TID.X"
    assert lit(tab, "source") == ["    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)"]


def test_the_other_code_keeps_the_chosen_line(tab):
    tab.get_by_label("PTX").check()
    assert lit(tab, "listing") == expected("ptx", LOAD)
    assert "of 18 PTX instructions" in says(tab)


def test_a_filter_lists_one_kind_and_counts_it(tab):
    tab.get_by_label("show").select_option("global load")
    assert tab.locator(".tl-listing code").all_inner_texts() == [
        "@!P0 LDG.E.128 R8, desc[UR4][R4.64]",
        "@!P0 LDG.E.128 R12, desc[UR4][R6.64]",
    ]
    counts = {row.split("\t")[0].strip(): None for row in tab.locator(".tl-source .tl-some").all_inner_texts()}
    assert len(counts) == 2 and tab.locator(".tl-source .tl-made:not(:empty)").all_inner_texts() == ["1", "1"]
    tab.get_by_label("PTX").check()
    assert len(tab.locator(".tl-listing code").all()) == 2
    tab.get_by_label("show").select_option("")
    assert len(tab.locator(".tl-listing code").all()) == 18


@pytest.mark.parametrize(("width", "dark"), [(900, False), (480, True)])
def test_it_fits_its_width(show, width, dark):
    tab = show(assembly(C), width, dark)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    # the number that counts a line's instructions is seen also where the line is longer than its pane
    box, pane = tab.locator(".tl-lit .tl-made").bounding_box(), tab.locator(".tl-source").bounding_box()
    assert box["x"] + box["width"] <= pane["x"] + pane["width"] + 1
