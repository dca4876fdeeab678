"""The order map in a real Chromium: pixels, figures, keys, mouse and the played launch."""

from __future__ import annotations

import numpy as np
import pytest

from tritonlab.analysis import PidOrder
from tritonlab.views.pid_map import _played, pid_map

NINE = pid_map([_played(9, 9, g) for g in (1, 3)], (32, 32, 32), 288, wave=9)
WRONG = pid_map({"not clamped": _played(7, 5, 3, False), "clamped": _played(7, 5, 3)}, wave=5, launched=35)

# The colours near the four corners of each tile of a map, as the canvas has them: numbers and path leave one free.
PIXELS = """(k) => {
  const root = document.querySelector('.tl-pidmap'), { x, y, cw, ch } = root.tlPidMap.places[k];
  const order = root.tlPidMap.model.orders[k], canvas = root.querySelector('canvas'), ctx = canvas.getContext('2d');
  const scale = canvas.width / parseFloat(canvas.style.width), near = [0.16, 0.84];
  const color = (i, j) => [...ctx.getImageData(Math.floor((x + j * cw) * scale), Math.floor((y + i * ch) * scale), 1, 1).data].slice(0, 3);
  return Array.from({ length: order.m }, (_, i) => Array.from({ length: order.n }, (_, j) => near.flatMap((v) => near.map((h) => color(i + v, j + h)))));
}"""
WAVE = [0xCC, 0x79, 0xA7]


def settle(tab):
    tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def says(tab):
    settle(tab)
    return tab.locator(".tl-says").inner_text()


def launched(tab):
    settle(tab)
    return tab.evaluate("document.querySelector('.tl-pidmap').tlPidMap.launched")


def in_wave(tab, k):
    """Tiles of map k that are painted as the running wave's."""
    settle(tab)
    return {(i, j) for i, row in enumerate(tab.evaluate(PIXELS, k)) for j, colors in enumerate(row) if WAVE in colors}


def tiles(order, start, stop):
    return set(zip(order.pid_m[start:stop].tolist(), order.pid_n[start:stop].tolist()))


@pytest.mark.parametrize("width", [900, 480])
@pytest.mark.parametrize("dark", [False, True])
def test_the_waves_tiles_are_painted_in_every_map(show, width, dark):
    tab = show(NINE, width, dark)
    for k, group in enumerate((1, 3)):
        assert in_wave(tab, k) == tiles(_played(9, 9, group), 0, 9)
    tab.evaluate("document.querySelector('.tl-pidmap').tlPidMap.go(40)")
    for k, group in enumerate((1, 3)):
        assert in_wave(tab, k) == tiles(_played(9, 9, group), 36, 40)
    assert in_wave(tab, 1) != tiles(_played(9, 9, 2), 36, 40), "another order would be seen"


def test_the_classic_check_is_said(show):
    tab = show(NINE)
    said = says(tab)
    assert said == (
        "Programs 0 … 8 (wave 0 of 0 … 8) need these panels: GROUP_M = 1 (rows): 1 of A + 9 of B (90 tile loads); GROUP_M = 3: 3 of A + 3 of B (54 tile loads)."
    )
    assert said in tab.locator("svg[role=img]").get_attribute("aria-label")
    assert [t.text_content() for t in tab.locator(".tl-pidmap-panels").all()] == ["panels: A 1 of 9, B 9 of 9", "panels: A 3 of 9, B 3 of 9"]


def test_keys_go_by_a_program_and_by_a_wave(show):
    tab = show(NINE)
    tab.locator(".tl-picture").focus()
    steps = [("ArrowRight", 10), ("ArrowRight", 11), ("ArrowLeft", 10), ("ArrowDown", 18), ("ArrowDown", 27), ("ArrowUp", 18), ("End", 81), ("ArrowRight", 81), ("Home", 0), ("ArrowLeft", 0), ("ArrowDown", 9)]
    for key, expected in steps:
        tab.keyboard.press(key)
        assert launched(tab) == expected, key
    tab.keyboard.press("Home")
    assert says(tab) == "Nothing is launched yet: 81 programs, 9 at a time."


def test_it_plays_pauses_and_ends(show):
    tab = show(NINE)
    playing = "document.querySelector('.tl-pidmap').tlPidMap.playing"
    tab.locator(".tl-picture").focus()
    tab.keyboard.press("Home")
    tab.keyboard.press(" ")
    tab.wait_for_function("document.querySelector('.tl-pidmap').tlPidMap.launched > 3", timeout=20_000)
    button = tab.locator(".tl-button")
    assert tab.evaluate(playing) and button.inner_text() == "Pause"
    button.click()
    stopped = launched(tab)
    assert not tab.evaluate(playing) and button.inner_text() == "Play"
    tab.wait_for_timeout(300)
    assert launched(tab) == stopped
    tab.evaluate("document.querySelector('.tl-pidmap').tlPidMap.go(79)")
    button.click()
    tab.wait_for_function(f"!{playing}", timeout=20_000)
    assert launched(tab) == 81 and button.inner_text() == "Play"
    button.click()
    tab.wait_for_function("(() => { const t = document.querySelector('.tl-pidmap').tlPidMap.launched; return t > 0 && t < 60; })()", timeout=20_000)


def test_sliders_are_labelled_and_scrub(show):
    tab = show(NINE)
    scrub, wave = (tab.locator("label", has_text=name).locator("input") for name in ("Launched", "Wave"))
    scrub.focus()
    scrub.press("ArrowRight")
    assert launched(tab) == 10 and wave.input_value() == "1"
    wave.focus()
    wave.press("End")
    assert launched(tab) == 81 and scrub.input_value() == "81"
    wave.press("ArrowLeft")
    assert launched(tab) == 72 and says(tab).startswith("Programs 63 … 71 (wave 7 of 0 … 8)")


def spot(tab, k, i, j):
    box = tab.locator(".tl-picture").bounding_box()
    at = tab.evaluate("(k) => document.querySelector('.tl-pidmap').tlPidMap.places[k]", k)
    return box["x"] + at["x"] + (j + 0.5) * at["cw"], box["y"] + at["y"] + (i + 0.5) * at["ch"]


@pytest.mark.parametrize("width", [900, 480])
def test_pointing_tells_the_tiles_program_and_a_click_goes_there(show, width):
    tab = show(NINE, width)
    order, pid = _played(9, 9, 3), 41
    where = spot(tab, 1, int(order.pid_m[pid]), int(order.pid_n[pid]))
    tab.mouse.move(*where)
    settle(tab)
    assert tab.locator(".tl-tip").inner_text() == f"program 41 → tile ({order.pid_m[pid]}, {order.pid_n[pid]})\npanel {order.pid_m[pid]} of A and panel {order.pid_n[pid]} of B\nwave 4"
    tab.mouse.click(*where)
    assert launched(tab) == 42
    assert tab.locator(".tl-readout").inner_text().startswith("GROUP_M = 3: program 41 → tile")
    tab.mouse.move(2, 2)
    settle(tab)
    assert not tab.locator(".tl-tip").is_visible()


def test_what_a_wrong_order_does_is_said_and_drawn(show):
    tab = show(WRONG)
    assert says(tab).startswith("not clamped: 3 tiles never visited, 3 programs outside. Programs 30 … 34")
    tab.mouse.move(*spot(tab, 0, 6, 3))
    settle(tab)
    assert tab.locator(".tl-tip").inner_text() == "tile (6, 3)\nno program computes it"
    tab.mouse.move(*spot(tab, 0, 8, 0))
    settle(tab)
    assert tab.locator(".tl-tip").inner_text() == "program 32 → tile (8, 0)\nwhich does not exist\nwave 6"
    places = tab.evaluate("document.querySelector('.tl-pidmap').tlPidMap.places")
    assert places[0]["rows"] == 9 and places[0]["ch"] == places[1]["ch"], "both maps have one scale"
    twice = show(pid_map(PidOrder("f", 2, 2, [0, 0, 1, 1], [0, 0, 0, 1]), wave=4))
    assert says(twice).startswith("f: 1 tile never visited, 1 tile visited more than once.")
    twice.mouse.move(*spot(twice, 0, 0, 0))
    settle(twice)
    assert twice.locator(".tl-tip").inner_text().endswith("also computed by program 1")


def test_bars_show_the_bytes_from_memory(show):
    view = pid_map([_played(128, 128, g) for g in (1, 8)], (64, 64, 32), 8192, programs_per_sm=6)
    tab = show(view)
    drawn = tab.locator("[data-memory]").evaluate_all("(bars) => bars.map((b) => [Number(b.dataset.memory), Number(b.getAttribute('width'))])")
    expected = [t["memory"] for o in view.data["orders"] for t in o["traffic"]]
    assert [m for m, _ in drawn] == expected
    scale = drawn[0][1] / drawn[0][0]
    assert all(w == pytest.approx(m * scale) for m, w in drawn)
    assert "in step: 2.97 GB" in tab.locator("svg[role=img]").text_content()
    assert tab.locator(".tl-pidmap-wave").inner_text() == (
        "From memory for the whole of wave 0: GROUP_M = 1 (rows): 142 MB in step, 838 MB one after another, of 1.66 GB; GROUP_M = 8: 112 MB in step, 112 MB one after another, of 1.66 GB."
    )


def test_a_map_of_102400_programs_is_drawn_at_once_and_scrubbed(show):
    view = pid_map(_played(320, 320, 8), (64, 64, 32), 8192)
    tab = show(view)
    milliseconds = tab.evaluate(
        """async (data) => {
          const start = performance.now();
          tritonlab.model.set('data', data);
          await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
          return performance.now() - start;
        }""",
        view.data,
    )
    print(f"102,400 programs read, drawn and on the screen in {milliseconds:.0f} ms")
    tab.locator(".tl-picture").focus()
    tab.keyboard.press("End")
    assert launched(tab) == 102_400
    assert says(tab).startswith("Programs 102\u202f300 … 102\u202f399 (wave 775 of 0 … 775)")


def test_the_map_follows_the_theme(show):
    tab = show(pid_map(_played(9, 9, 3), wave=9))
    before = tab.evaluate(PIXELS, 0)[8][8][0]
    tab.evaluate("document.body.dataset.jpThemeLight = 'false'")
    tab.wait_for_timeout(100)
    settle(tab)
    after = tab.evaluate(PIXELS, 0)[8][8][0]
    assert sum(before) > 600 and sum(after) < 300, (before, after)
    assert in_wave(tab, 0) == tiles(_played(9, 9, 3), 0, 9)


def test_new_data_is_drawn_in_place_and_what_was_launched_stays_within_it(show):
    tab = show(NINE)
    tab.evaluate("(data) => tritonlab.model.set('data', data)", pid_map(_played(4, 4, 2), wave=3).data)
    assert says(tab).startswith("Programs 0 … 2 (wave 0 of 0 … 5) need these panels: 2 of A + 2 of B.")
    assert in_wave(tab, 0) == tiles(_played(4, 4, 2), 0, 3)
    tab.keyboard.press("End")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("view", [NINE, WRONG], ids=["nine", "wrong"])
def test_a_narrow_page_is_not_wider_than_its_window(show, view, dark):
    tab = show(view, 480, dark)
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert tab.evaluate("[...document.querySelectorAll('.tl-picture svg text')].every((t) => t.getBoundingClientRect().right <= document.querySelector('.tl-view').getBoundingClientRect().right)")


def test_a_million_tiles_in_one_row_are_drawn(show):
    tab = show(pid_map(_played(1, 1_000_000, 1), wave=400_000), 480)
    assert says(tab).startswith("Programs 0 … 399\u202f999 (wave 0 of 0 … 2) need these panels: 1 of A + 400\u202f000 of B.")
    spots = "() => { const c = document.querySelector('.tl-pidmap canvas'), r = document.querySelector('.tl-pidmap').tlPidMap.places[0], s = c.width / parseFloat(c.style.width); return [0.2, 0.8].map((f) => [...c.getContext('2d').getImageData((r.x + r.cw * r.columns * f) * s, (r.y + r.ch / 2) * s, 1, 1).data].slice(0, 3)); }"
    wave, later = tab.evaluate(spots)
    assert wave == WAVE and later != WAVE


def test_a_map_of_100000_faults_is_drawn_at_once(show):
    pids = np.arange(400 * 400)
    order = PidOrder("halved", 400, 400, pids // 800, pids // 2 % 400)
    tab = show(pid_map(order, wave=132))
    assert says(tab).startswith("halved: 80,000 tiles never visited, 80,000 tiles visited more than once.")
    tab.evaluate("document.querySelector('.tl-pidmap').tlPidMap.go(5000)")
    settle(tab)
    bottom = "() => { const c = document.querySelector('.tl-pidmap canvas'), r = document.querySelector('.tl-pidmap').tlPidMap.places[0], s = c.width / parseFloat(c.style.width); return [...c.getContext('2d').getImageData((r.x + r.cw * 200) * s, (r.y + r.ch * 300) * s, 1, 1).data].slice(0, 3); }"
    assert tab.evaluate(bottom) == [0xC6, 0x28, 0x28], "tiles without a program are filled"
