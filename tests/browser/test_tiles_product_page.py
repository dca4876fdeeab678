"""The matmul picture in a real Chromium: every lane where the trace has it, the K loop by hand and by key, the counts."""

from __future__ import annotations

import numpy as np
import pytest

from tritonlab.analysis import find_product, tile_reuse
from tritonlab.analysis.product_roles import index_of_lanes
from tritonlab.views import specimens as s
from tritonlab.views.screenshots import axe_source, faults_of
from tritonlab.views.tiles import tiles
from tritonlab.views.tiles_product_specimens import BUGS, product

LANES = """(side) => {
  // The state of the lane drawn at every row and column of one matrix, from the shapes.
  const picture = document.querySelector(".tl-product"), g = picture.querySelector(`[data-side=${side}]`);
  const scale = picture.tlProduct.scales[side], [r0, r1, c0, c1] = scale.view, at = {};
  const paths = [...g.querySelectorAll(".tl-lanes path[data-state]")];
  for (let r = r0; r < r1; r++) for (let c = c0; c < c1; c++) {
    const point = picture.ownerSVGElement.createSVGPoint();
    point.x = scale.x(c) + scale.cw / 2;
    point.y = scale.y(r) + scale.ch / 2;
    for (const path of paths) if (path.isPointInFill(point)) at[`${r},${c}`] = path.dataset.state;
  }
  return at;
}"""
CENTRE = """([side, r, c]) => {
  const picture = document.querySelector(".tl-product"), scale = picture.tlProduct.scales[side], m = picture.ownerSVGElement.getScreenCTM();
  return [m.e + scale.x(c) + scale.cw / 2, m.f + scale.y(r) + scale.ch / 2];
}"""


def settle(tab) -> None:
    tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def state(tab) -> tuple[int, int]:
    settle(tab)
    return tuple(tab.evaluate("(() => { const t = document.querySelector('.tl-tiles').tlTiles; return [t.program, t.stage]; })()"))


def go(tab, program: int, stage: int) -> None:
    tab.evaluate("([p, s]) => document.querySelector('.tl-tiles').tlTiles.choose(p, s)", [program, stage])
    settle(tab)


def says(tab) -> str:
    return tab.locator(".tl-says").inner_text()


def counts(tab) -> dict[str, list[str]]:
    rows = tab.evaluate("[...document.querySelectorAll('.tl-counts tbody tr')].map((r) => [...r.children].map((c) => c.textContent))")
    return {title: [c.replace("\u202f", "") for c in cells] for title, *cells in rows}


def differences(launch, tab) -> list[str]:
    """Every program and stage at which a matrix shows other lanes than the trace."""
    reuse, found = tile_reuse(launch), []
    roles = dict(zip("abc", (find_product(launch).a, find_product(launch).b, find_product(launch).c)))
    for program in sorted({t.program for t in reuse.tiles}):
        number = program[0] + launch.grid[0] * program[1]
        stage = 0
        for tile in reuse.of(program):
            for step in [*tile.steps, None][: len(tile.steps) + bool(tile.stores)]:
                go(tab, number, stage)
                want = {"a": step.a if step else (), "b": step.b if step else (), "c": tile.stores}
                for side, places in want.items():
                    on, bad, masked = set(), 0, 0
                    for access in (launch.accesses[p] for p in places):
                        inside = access.touched[(access.touched >= 0) & (access.touched < launch.arg(access.arg).extent)]
                        on |= {(int(r), int(c)) for r, c in zip(*index_of_lanes(roles[side], inside))}
                        bad += access.touched.size - inside.size
                        masked += access.mask.size - int(access.mask.sum()) if access.mask.any() else 0
                    drawn = tab.evaluate(LANES, side)
                    got = {tuple(int(n) for n in k.split(",")) for k, v in drawn.items() if v == "on"}
                    rest = [sum(v == kind for v in drawn.values()) for kind in ("bad", "masked")]
                    whole = len(on) == len({r for r, _ in on}) * len({c for _, c in on})  # else masked lanes may lie below the picture
                    if got != on or rest[0] != bad or (rest[1] != masked if whole else rest[1] > masked):
                        found.append(f"program {program} stage {stage} {side}: {len(got)} of {len(on)} lanes on, {rest} instead of {[bad, masked]}")
                stage += 1
    return found


@pytest.mark.parametrize(
    "launch",
    [
        product((20, 40, 24)), product((40, 20, 20), (16, 16, 16), strides=((1, 40), (60, 2))), product((20, 24, 40), turned=True), product((20, 24, 0)), product((1, 20, 20)),
        product((20, 1, 1)), product((20, 40, 16), programs=2), *(product((20, 40, 24), bug=b) for b in BUGS),
    ],
    ids=["edges", "transposed and sliced", "turned", "no K", "one row", "one column, K = 1", "persistent", *BUGS],
)  # fmt: skip
def test_the_picture_is_the_trace_lane_by_lane(show, launch):
    assert differences(launch, show(tiles(launch))) == []


def test_a_picture_of_another_launch_is_found_to_differ(show):
    right, wrong = product((48, 48, 32)), product((48, 48, 32), bug="rows of another program")
    assert len(differences(right, show(tiles(wrong)))) == 9 * 2


def test_it_says_what_is_loaded_and_where_it_goes(show):
    tab = show(tiles(product((40, 56, 50), (16, 32, 16)), program=(1, 1)))
    assert says(tab) == "Program (1, 1) of 6, K step 1 of 4: loads a_ptr[16…31, 0…15] and b_ptr[0…15, 32…55] (128 of 512 lanes masked), for c_ptr[16…31, 32…55]."
    go(tab, 4, 4)
    assert says(tab) == "Program (1, 1) of 6, after 4 K steps, stores c_ptr[16…31, 32…55] (128 of 512 lanes masked)."
    assert says(tab) in tab.locator("svg[role=img]").get_attribute("aria-label")


@pytest.mark.parametrize(
    ("launch", "words"),
    [
        (product((20, 24, 0)), "Program (1, 0) of 4, with no K step at all, stores c_ptr[16…19, 0…15] (192 of 256 lanes masked)."),
        (product((16, 16, 16)), "Program 0 of 1, K step 1 of 1: loads a_ptr[0…15, 0…15] and b_ptr[0…15, 0…15], for c_ptr[0…15, 0…15]."),
        (product(turned=True), "Program (0, 0) of 12, K step 1 of 3: loads a_ptr[0…15, 0…15] and b_ptr.T[0…15, 0…15], for c_ptr[0…15, 0…15]."),
        (product(programs=4), "Program 0 of 4, tile 1 of 3, K step 1 of 3: loads a_ptr[0…15, 0…15] and b_ptr[0…15, 0…15], for c_ptr[0…15, 0…15]."),
        (product((40, 24, 50), strides=((0, 1), None)), "Program (0, 0) of 6, K step 1 of 4: loads a_ptr[any row, 0…15] and b_ptr[0…15, 0…15], for c_ptr[0…15, 0…15]."),
    ],
    ids=["no K", "one program", "turned", "persistent", "broadcast"],
)
def test_every_kind_of_product_has_its_sentence(show, launch, words):
    tab = show(tiles(launch, program=None))
    if launch.programs > 1 and "(1, 0)" not in words:
        go(tab, 0, 0)
    assert says(tab) == words


@pytest.mark.parametrize(
    ("bug", "program", "stage", "words"),
    [
        ("rows of another program", 0, 0, "loads a_ptr[16…31, 0…15] and b_ptr[0…15, 0…15], for c_ptr[0…15, 0…15]."),
        ("rows wrap around", 2, 0, "loads a_ptr[0…7 and 32…39, 0…15] and b_ptr[0…15, 0…15], for c_ptr[32…39, 0…15]."),
        ("no mask on K", 2, 2, "loads a_ptr at offsets 1312…1607, no rectangle (128 of 256 lanes masked, 8 lanes at no element of it), and never comes to store."),
        ("one K step too few", 0, 1, "K step 2 of 2: loads a_ptr[0…15, 16…31] and b_ptr[16…31, 0…15], for c_ptr[0…15, 0…15]."),
    ],
)
def test_a_wrong_kernel_is_told_as_it_is(show, bug, program, stage, words):
    tab = show(tiles(product(bug=bug)))
    go(tab, program, stage)
    assert says(tab).endswith(words)


def test_a_launch_out_of_range_begins_at_the_step_that_went_there(show):
    tab = show(tiles(product(bug="no mask on K")))
    assert state(tab) == (2, 2)
    assert "out of range" in tab.locator(".tl-warn").inner_text() and tab.locator(".tl-key-bad").count() == 1
    go(tab, 11, 0)
    assert says(tab) == "Program (2, 3) of 12 neither loads A or B nor stores C: the launch ended before it ran."


def test_the_counts_are_the_traces(show):
    launch = product((64, 96, 32), (32, 32, 16), dtype=np.float16)
    tab = show(tiles(launch))
    assert counts(tab) == {
        "live, elements": ["32×16 = 512", "16×32 = 512", "acc 32×32"],
        "streams this step, bytes": ["1024", "1024", "–"],
        "so far, bytes": ["1024", "1024", "0"],
        "in all, bytes": ["2048", "2048", "2048"],
        "reused by programs, this tile": ["3", "2", "–"],
        "loads an element, launch": ["3", "2", "–"],
    }
    assert tab.locator(".tl-counts p").inner_text().startswith("16 FLOP a byte in this program's tile: 65\u202f536 FLOP for 4096 bytes")
    go(tab, 0, 2)
    after = counts(tab)
    assert after["live, elements"] == ["–", "–", "acc 32×32"] and after["so far, bytes"] == ["2048", "2048", "2048"]


def test_counts_of_an_edge_tell_padding_apart(show):
    launch = product((40, 56, 50), (16, 32, 16), dtype=np.float16)
    tab = show(tiles(launch, program=(2, 1)))
    go(tab, 5, 3)
    tile = tile_reuse(launch).of((2, 1))[0]
    now = counts(tab)
    assert now["live, elements"] == ["16 of 256", "48 of 512", "acc 16×32"]
    assert now["streams this step, bytes"] == [str(tile.steps[3].bytes_a), str(tile.steps[3].bytes_b), "–"]
    text = tab.locator(".tl-counts p").inner_text().replace("\u202f", "")
    assert text == f"{tile.flop_per_byte:.0f} FLOP a byte in this program's tile: {tile.useful} FLOP for {tile.bytes_a + tile.bytes_b} bytes loaded; {tile.padding} more FLOP on masked lanes (padding)."


def test_keys_step_through_k_and_choose_programs(show):
    tab = show(tiles(product(), program=(0, 0)))
    tab.locator(".tl-picture").focus()
    for key, want in [
        ("ArrowRight", (0, 1)), ("ArrowRight", (0, 2)), ("ArrowRight", (0, 3)), ("ArrowRight", (0, 3)), ("ArrowLeft", (0, 2)), ("Home", (0, 0)), ("End", (0, 3)), ("Home", (0, 0)),
        ("ArrowDown", (1, 0)), ("ArrowUp", (0, 0)), ("ArrowUp", (0, 0)), ("Shift+ArrowRight", (3, 0)), ("Shift+ArrowDown", (4, 0)), ("Shift+ArrowLeft", (1, 0)), ("Shift+ArrowLeft", (1, 0)), ("Shift+ArrowUp", (0, 0)),
        ("PageDown", (2, 0)), ("PageUp", (0, 0)),
    ]:  # fmt: skip
        tab.keyboard.press(key)
        assert state(tab) == want, key


def test_buttons_and_the_slider_step_too_and_stop_at_the_ends(show):
    tab = show(tiles(product(), program=(0, 0)))
    back, forth = tab.get_by_role("button", name="◀ Step"), tab.get_by_role("button", name="Step ▶")
    assert back.is_disabled()
    for _ in range(3):
        forth.click()
    assert state(tab) == (0, 3) and forth.is_disabled() and says(tab).startswith("Program (0, 0) of 12, after 3 K steps, stores")
    back.click()
    assert state(tab) == (0, 2)
    slider = tab.locator("label", has_text="K step").locator("input")
    slider.focus()
    slider.press("Home")
    assert state(tab) == (0, 0) and slider.get_attribute("aria-valuetext") == "1 of 3"
    slider.press("End")
    assert slider.get_attribute("aria-valuetext") == "store"
    axis = tab.locator("label", has_text="Program axis 1").locator("input")
    axis.focus()
    axis.press("ArrowRight")
    assert state(tab) == (3, 3)


def test_time_runs_from_left_to_right_and_what_was_streamed_fades(show):
    tab = show(tiles(product(), program=(0, 0)))
    go(tab, 0, 1)
    boxes = tab.evaluate("[...document.querySelectorAll('.tl-time [data-stage], .tl-time [data-when=past], .tl-time [data-when=next]')].map((p) => [p.dataset.stage || p.dataset.when, p.getBoundingClientRect().left])")
    left = dict(boxes)
    assert left["past"] < left["1"] < left["next"]
    for side in "ab":
        assert tab.locator(f"[data-side={side}] [data-when=before]").get_attribute("opacity") == "0.38"
        assert tab.locator(f"[data-side={side}] [data-when=after]").get_attribute("stroke-dasharray")
    assert tab.locator(".tl-time text").all_text_contents() == ["time", "step 1", "step 2", "step 3", "store"]


def test_a_click_chooses_the_program_of_a_tile_of_c_the_step_of_a_tile_and_the_stage_of_the_time_line(show):
    tab = show(tiles(product(), program=(0, 0)))
    tab.mouse.click(*tab.evaluate(CENTRE, ["c", 20, 40]))
    assert state(tab) == (7, 0)
    tab.mouse.click(*tab.evaluate(CENTRE, ["a", 20, 20]))
    assert state(tab) == (7, 1)
    tab.mouse.click(*tab.evaluate(CENTRE, ["b", 38, 40]))
    assert state(tab) == (7, 2)
    tab.mouse.click(*tab.evaluate(CENTRE, ["a", 2, 2]))
    assert state(tab) == (7, 2), "another program's tile of A changes nothing"
    tab.mouse.click(*tab.evaluate(CENTRE, ["c", 2, 2]))
    assert state(tab) == (0, 2), "the step stays"
    box = tab.locator(".tl-time").bounding_box()
    tab.mouse.click(box["x"] + box["width"] - 20, box["y"] + 12)
    assert state(tab) == (0, 3)


def test_pointing_at_an_element_tells_its_offset_and_who_else_loads_it(show):
    tab = show(tiles(product(), program=(0, 0)))
    tip = tab.locator(".tl-tip")
    tab.mouse.move(*tab.evaluate(CENTRE, ["a", 3, 5]))
    settle(tab)
    value = tiles(product()).data  # the lane's value is the trace's
    assert value and tip.inner_text().split("\n")[:2] == ["a_ptr[3, 5], offset 125", "loaded by programs (0, 0), (0, 1), (0, 2), (0, 3)"]
    assert tip.inner_text().split("\n")[2].startswith("lane (3, 5) of program (0, 0) loads ")
    tab.mouse.move(*tab.evaluate(CENTRE, ["c", 39, 55]))
    settle(tab)
    assert tip.inner_text().split("\n") == ["c_ptr[39, 55], offset 2239", "stored by program (2, 3)"]
    go(tab, 2, 2)
    tab.mouse.move(*tab.evaluate(CENTRE, ["a", 44, 36]))
    settle(tab)
    assert tip.inner_text().split("\n")[0] == "beyond a_ptr: row 44, column 36, offset 1796" and "masked: not loaded, takes the fill 0.0" in tip.inner_text()
    tab.mouse.move(5, 5)
    settle(tab)
    assert not tip.is_visible()


def test_a_lane_is_inspected_with_the_keyboard_too(show):
    tab = show(tiles(product(turned=True), program=(0, 0)))
    lane = tab.locator("label", has_text="Lane").locator("input")
    lane.focus()
    lane.press("ArrowRight")
    lane.press("ArrowRight")
    settle(tab)
    readout = tab.locator(".tl-readout")
    assert readout.inner_text().startswith("a_ptr[0, 1], offset 1 · loaded by programs (0, 0), (0, 1), (0, 2), (0, 3) · lane (0, 1) of program (0, 0) loads ")
    assert tab.locator(".tl-lane").count() == 1
    tab.get_by_label("B tile").check()
    settle(tab)
    assert readout.inner_text().startswith("b_ptr[0, 1], offset 1 · loaded by programs (0, 0), (1, 0), (2, 0)"), "named as the tensor is, not as it is drawn"
    tab.locator(".tl-picture").focus()
    tab.keyboard.press("Escape")
    settle(tab)
    assert "step through K" in readout.inner_text()


def test_the_other_pictures_are_a_choice_away_and_keep_the_program(show):
    tab = show(tiles(product(), program=(0, 0)))
    go(tab, 7, 1)
    tab.get_by_label("matrix").check()
    settle(tab)
    assert says(tab).startswith("Program (1, 2) of 12 (pass 1 of 3) loads") and tab.locator(".tl-product").count() == 0
    assert tab.evaluate("document.activeElement.value") == "matrix"
    tab.get_by_label("memory").check()
    settle(tab)
    assert tab.locator(".tl-strip").count() == 3
    tab.locator(".tl-picture").focus()
    tab.keyboard.press("ArrowRight")
    tab.get_by_label("product").check()
    settle(tab)
    assert state(tab)[0] == 8 and tab.locator(".tl-product").count() == 1 and tab.locator("input[type=radio][value=product]").count() == 1


def test_new_data_keeps_the_choice_and_a_launch_that_is_no_product_gets_its_own_picture(show):
    tab = show(tiles(product(), program=(0, 0)))
    go(tab, 7, 2)
    tab.evaluate("(data) => window.tritonlab.model.set('data', data)", tiles(product((40, 56, 40), (16, 32, 8))).data)
    assert state(tab) == (5, 2)
    tab.evaluate("(data) => window.tritonlab.model.set('data', data)", tiles(s.vector_add(40, 16)).data)
    settle(tab)
    assert says(tab).startswith("Program 2 of 3 loads x_ptr") and tab.locator(".tl-product").count() == 0
    tab.evaluate("(data) => window.tritonlab.model.set('data', data)", tiles(product()).data)
    settle(tab)
    assert tab.locator(".tl-product").count() == 1
    tab.locator(".tl-picture").focus()
    before = state(tab)
    tab.keyboard.press("ArrowDown")
    assert state(tab)[0] == before[0] + 1, "one listener, not two"


def test_a_hundred_by_a_hundred_tiles_stay_few_elements_and_readable(show):
    tab = show(tiles(product((400, 400, 8), (4, 4, 8)), program=(50, 50)))
    assert says(tab) == "Program (50, 50) of 10\u202f000, K step 1 of 1: loads a_ptr[200…203, 0…7] and b_ptr[0…7, 200…203], for c_ptr[200…203, 200…203]."
    assert tab.locator(".tl-picture svg *").count() < 400
    assert counts(tab)["reused by programs, this tile"] == ["100", "100", "–"]
    tab.mouse.click(*tab.evaluate(CENTRE, ["c", 30, 350]))
    assert state(tab)[0] == 7 + 100 * 87


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [480, 900])
@pytest.mark.parametrize("launch", [product((64, 96, 32), (32, 32, 16)), product((40, 56, 50), (16, 32, 16), strides=((1, 40), (120, 2))), product((16, 400, 32), (16, 64, 16)), product((1, 40, 200), (16, 16, 64))], ids=["plain", "strides", "wide", "one row"])
def test_it_fits_and_no_text_lies_on_another(show, launch, width, dark):
    tab = show(tiles(launch), width=width, dark=dark)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    boxes = tab.evaluate("[...document.querySelectorAll('.tl-picture svg text')].filter((t) => !t.classList.contains('tl-halo')).map((t) => { const r = t.getBoundingClientRect(); return [t.textContent, r.left, r.top, r.right, r.bottom]; })")
    edge = tab.evaluate("document.querySelector('.tl-picture').getBoundingClientRect().right")
    assert all(b[1] >= 0 and b[3] <= edge + 1 for b in boxes), [b for b in boxes if b[3] > edge + 1]
    over = [(a[0], b[0]) for i, a in enumerate(boxes) for b in boxes[:i] if min(a[3], b[3]) - max(a[1], b[1]) > 1 and min(a[4], b[4]) - max(a[2], b[2]) > 3]
    assert over == []
    assert tab.evaluate("[...document.querySelectorAll('.tl-picture svg path')].every((p) => p.getBoundingClientRect().right <= document.querySelector('.tl-view').getBoundingClientRect().right)")


@pytest.mark.skipif(axe_source() is None, reason="axe-core is missing: pip install axe-playwright-python")
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_serious(show, dark):
    tab = show(tiles(product(bug="no mask on K")), width=480, dark=dark)
    assert [f for f in faults_of(tab, axe_source()) if f["impact"] in ("serious", "critical")] == []
