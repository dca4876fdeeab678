"""The explorer in a real Chromium: points, filters, tables, by mouse and by key."""

from __future__ import annotations

import pytest

import tritonlab as lab
from tritonlab.compiler import figures
from tritonlab.views import screenshots
from tritonlab.views.specimens_sweep import swept
from tritonlab.views.sweep import samples, sweep

MS, FIGURES = swept()
VIEW = sweep(MS, FIGURES)
BIG = "128×256×64, GROUP_M 8, 8 warps, 4 stages"


def says(tab) -> str:
    tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return tab.locator(".tl-says").inner_text().replace("\u00a0", " ")


def ranks(tab, cls=""):
    return tab.locator(f".tl-point{cls}").evaluate_all("(all) => all.map((g) => Number(g.dataset.rank) || 0)")


def at(tab, rank):
    box = tab.locator(f".tl-point[data-rank='{rank}'] .tl-dot").bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    return box


def test_every_config_is_a_point_at_its_height(show):
    tab = show(VIEW)
    case = VIEW.data["cases"][0]
    assert ranks(tab)[: len(case["points"])] == list(range(1, len(case["points"]) + 1))
    assert tab.locator(".tl-cross").count() == len(case["failed"]) == 2
    ys = tab.locator(".tl-point .tl-dot").evaluate_all("(all) => all.map((c) => Number(c.getAttribute('cy')))")
    rates = [p["tflops"] for p in case["points"]]
    scale = (ys[-1] - ys[0]) / (rates[0] - rates[-1])
    for y, rate in zip(ys, rates):
        assert y - ys[0] == pytest.approx((rates[0] - rate) * scale, abs=0.01)
    line = tab.locator(".tl-line[data-line='torch']")
    assert float(line.get_attribute("y1")) - ys[0] == pytest.approx((rates[0] - case["lines"][0]["tflops"]) * scale, abs=0.01)
    spread = tab.locator(".tl-point[data-rank='3'] line").evaluate("(l) => [Number(l.getAttribute('y1')), Number(l.getAttribute('y2'))]")
    third = case["points"][2]
    assert spread[0] - spread[1] == pytest.approx((third["high"] - third["low"]) * scale, abs=0.01)


def test_the_sentence_names_the_fastest_and_its_near_ties(show):
    tab = show(VIEW)
    assert says(tab) == (
        "512×512×512 bfloat16: 32×32×64, GROUP_M 8, 8 warps, 4 stages is the fastest of 34 configs with 317 TFLOP/s; "
        "the spreads of 3 others meet its own; the slowest reaches 11.8."
    )
    assert ranks(tab, ".tl-tie") == [2, 3, 4] and ranks(tab, ".tl-first") == [1]
    assert tab.locator(".tl-ring").count() == 4


def test_pointing_tells_what_the_compiler_said(show):
    tab = show(VIEW)
    at(tab, 7)
    assert says(tab) == (
        "64×64×64, GROUP_M 8, 4 warps, 4 stages: 146 TFLOP/s (143–148), 46 % of the fastest, rank 7 of 34; 72 registers a thread, "
        "64 KiB of shared memory, wgmma, 4 stages made: 3 programs per SM, limited by shared memory."
    )
    at(tab, 2)
    assert "100 % of the fastest, its spread meets the fastest's, rank 2 of 34" in says(tab)
    box = tab.locator(".tl-cross").first.bounding_box()
    tab.mouse.move(box["x"] + 4, box["y"] + 4)
    assert says(tab).startswith("256×256×64, GROUP_M 8, 4 warps, 4 stages did not run: needs 256 KiB of shared memory")
    tab.mouse.move(1, 1)
    assert says(tab).startswith("512×512×512")


def test_a_click_keeps_a_config_over_shapes(show):
    tab = show(VIEW)
    box = at(tab, 30)
    tab.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.mouse.move(1, 1)
    kept = says(tab).split(": ")[0]
    assert tab.locator(".tl-best .tl-now td").nth(1).inner_text() == kept, "it is added to the table"
    tab.get_by_role("radio", name="8192³").check()
    tab.mouse.move(1, 1)
    assert says(tab).startswith(f"{kept}: ") and "rank 30 of" not in says(tab)


def test_keys_walk_the_ranks(show):
    tab = show(VIEW)
    tab.locator(".tl-picture").focus()
    for key in ("Home", "ArrowRight", "ArrowRight", "ArrowLeft"):
        tab.keyboard.press(key)
    assert "rank 2 of 34" in says(tab)
    tab.keyboard.press("End")
    assert "did not run" in says(tab)
    tab.keyboard.press("Escape")
    assert says(tab).startswith("512×512×512")


def test_filters_leave_configs_and_say_the_best_of_them(show):
    tab = show(VIEW)
    tab.get_by_role("radio", name="4096³").check()
    tab.get_by_label("BLOCK_N").select_option("64")
    tab.get_by_label("num_warps").select_option("8")
    assert says(tab) == (
        "4096×4096×4096 bfloat16: 6 of 34 configs are left; the best of them, 128×64×64, GROUP_M 8, 8 warps, 3 stages, is rank 9 with 72 % of the fastest."
    )
    assert len(ranks(tab)) - len(ranks(tab, ".tl-out")) == 6
    assert tab.locator(".tl-best caption").inner_text() == "the best of the 6 that are left"
    assert tab.locator(".tl-failed").count() == 0
    tab.locator(".tl-picture").focus()
    tab.keyboard.press("Home")
    tab.keyboard.press("ArrowRight")
    assert says(tab).startswith("128×64×64, GROUP_M 8, 8 warps, 4 stages: "), "keys walk what is left"
    tab.get_by_label("BLOCK_M").select_option("256")
    assert says(tab).endswith("none of the 34 configs that ran is left by this choice.")
    tab.get_by_role("button", name="clear filters").click()
    assert says(tab).startswith(f"4096×4096×4096 bfloat16: {BIG} is the fastest of 34 configs")
    assert tab.get_by_label("BLOCK_N").input_value() == "0"


def test_rows_of_the_table_choose_too(show):
    tab = show(VIEW)
    tab.locator(".tl-best tbody tr").nth(4).click()
    assert "rank 5 of 34" in says(tab)
    tab.locator(".tl-best tbody tr").nth(4).click()
    assert says(tab).startswith("512×512×512")


def test_look_up_tables_are_set_against_tuning(show):
    tab = show(VIEW)
    rows = {r.locator("th").inner_text().split("\n")[0]: [t.strip() for t in r.locator("td").all_inner_texts()] for r in tab.locator(".tl-against tbody tr").all()}
    assert rows["best of 512³"] == ["100\u00a0%", "46\u00a0%", "46\u00a0%"]
    assert rows["best of 4096³ and 8192³"] == ["14\u00a0%", "100\u00a0%", "100\u00a0%"]
    assert rows["table of 2 configs"] == ["100\u00a0%"] * 3
    assert rows["beside them: torch"] == ["19\u00a0%", "102\u00a0%", "105\u00a0%"]


def test_without_the_compiler_s_figures_the_driver_s_are_shown(show):
    tab = show(sweep(MS))
    heads = tab.locator(".tl-best thead th").all_inner_texts()
    assert "registers" in heads and "dot by" not in heads
    assert "from the driver" in tab.locator(".tl-footer").inner_text()


def test_one_small_sweep_has_no_choice_of_shape(show):
    tab = show(dict(samples())["sweep-small"])
    assert tab.get_by_role("radio").count() == 0 and tab.locator(".tl-point").count() == 6


@pytest.mark.parametrize(("width", "dark"), [(900, True), (480, False)])
def test_it_fits_its_width_and_serves_everyone(show, width, dark):
    real = sweep(lab.recorded("matmul_configs"), figures("matmul_configs"))
    for name, view in [*samples(), ("recorded", real)]:
        tab = show(view, width, dark)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, name
        axe = screenshots.axe_source()
        if axe:
            assert [f for f in screenshots.faults_of(tab, axe) if f["impact"] in screenshots.SERIOUS] == [], name
