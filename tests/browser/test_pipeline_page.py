"""The timeline in a real Chromium: what is drawn is worked out once more here, in the order of the compiled loop."""

from __future__ import annotations

import dataclasses

import pytest

from tritonlab.views import screenshots
from tritonlab.views import specimens_compiled as s
from tritonlab.views.pipeline import pipeline, samples

FIVE = pipeline([s.pipelined(n) for n in (1, 2, 3, 4, 5)])
DRAWN = """() => [...document.querySelectorAll('.tl-part')].map((g) => [g.dataset.kind, Number(g.dataset.step), Number(g.dataset.from), Number(g.dataset.to)])"""


def says(tab) -> str:
    tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return tab.locator(".tl-says").inner_text().replace("\u00a0", " ")


def played(c, steps, load):
    """Every load and dot of a compiled loop, played step by step: (kind, step, from, to)."""
    p = c.pipeline
    groups = sorted({(b.ahead, b.slots) for b in p.buffers}, reverse=True) or [(0, 1)]
    clock, events, arrives, dots = 0, [], {}, []
    free = {(g, slot): 0 for g, (_, slots) in enumerate(groups) for slot in range(slots)}

    def issue(g, step, when):
        if step >= steps:
            return
        slot = step % groups[g][1]
        assert free[g, slot] <= when, f"step {step} overwrites buffer {slot} that is still read"
        arrives[g, step] = when + load
        events.append(("load", step, when, when + load))

    for g, (ahead, _) in enumerate(groups):
        for step in range(ahead):
            issue(g, step, 0)
    for step in range(steps):
        for g, (ahead, _) in enumerate(groups):
            if ahead == 0:
                issue(g, step, clock)
        begins = max([clock, dots[-1] if dots else 0, *(arrives[g, step] for g in range(len(groups)))])
        if begins > (dots[-1] if dots else 0):
            events.append(("idle", step, dots[-1] if dots else 0, begins))
        dots.append(begins + 1)
        events.append(("dot", step, begins, begins + 1))
        for g, (_, slots) in enumerate(groups):
            if begins > arrives[g, step]:
                events.append(("held", step, arrives[g, step], begins))
            events.append(("read", step, begins, begins + 1))
            free[g, step % slots] = begins + 1
        unfinished = dots[step - p.running] if step >= p.running else 0
        clock = max(begins if p.running else begins + 1, unfinished)
        for g, (ahead, _) in enumerate(groups):
            if ahead:
                issue(g, step + ahead, clock)
    return sorted(events)


CASES = {
    **{f"{n} stages {t}": s.pipelined(n, t) for n in (1, 2, 3, 5) for t in ("sm_80", "sm_90", "sm_100")},
    "part": s.pipelined(3, part=True),
    "part sm_80": s.pipelined(3, "sm_80", part=True),
    "no dot": s.pipelined(4, dot=False),
}


@pytest.mark.parametrize(("steps", "load"), [(8, 2), (1, 1), (3, 5), (16, 3)])
def test_the_timeline_is_the_loop_played_in_its_order(show, steps, load):
    for name, c in CASES.items():
        tab = show(pipeline(c, steps, load))
        assert sorted(tuple(e) for e in tab.evaluate(DRAWN)) == played(c, steps, load), name


def test_playing_finds_a_buffer_too_few():
    c = s.pipelined(3)
    few = tuple(dataclasses.replace(b, slots=2, bytes=2 * b.bytes // 3) for b in c.pipeline.buffers)
    with pytest.raises(AssertionError, match="overwrites buffer"):
        played(dataclasses.replace(c, pipeline=dataclasses.replace(c.pipeline, buffers=few)), 8, 2)


def test_the_sentence_says_stages_and_buffers(show):
    tab = show(pipeline(s.pipelined(3)))
    assert says(tab) == "sm_90, 3 stages: a and b are copied 2 steps ahead by cp.async, into 3 buffers of 32 KiB."
    assert "3 × (a 128×64 fp16 + b 64×128 fp16) = 96 KiB, of 227 KiB" in tab.locator(".tl-shared").inner_text().replace("\u00a0", " ")
    assert "at most 2 tile copies, those of the next step, are under way (async_wait 2)" in tab.locator(".tl-shared").inner_text()
    assert tab.locator(".tl-slot").count() == 3
    assert "not measured" in tab.locator(".tl-note").inner_text()
    assert tab.get_by_role("img", name="Timeline of 8 steps of matmul_kernel for sm_90: loads run 2 ahead.").count() == 1


def test_a_loop_that_is_not_pipelined_says_what_was_asked_for(show):
    tab = show(pipeline(s.pipelined(3, odd=True)))
    assert says(tab).startswith("sm_90, not pipelined (num_stages=3 was asked for): each step loads its tiles through registers")
    tab = show(pipeline(s.pipelined(3, part=True)))
    assert says(tab) == "sm_90, 3 stages: b is copied 2 steps ahead by cp.async, into 3 buffers of 16 KiB; a through registers in its own step."
    tab = show(pipeline(s.pipelined(4, dot=False)))
    assert "dot" not in tab.locator(".tl-legend").inner_text()


def test_pointing_at_a_step_tells_its_way(show):
    tab = show(pipeline(s.pipelined(3)))
    before = says(tab)
    tab.locator(".tl-dot[data-step='4']").hover()
    assert says(tab) == (
        "Step 4: a and b copied into buffer 1 once dot 2 has begun. Dot 4 needs them all; it need not wait, and its buffer is then free for step 7."
    )
    assert tab.locator(".tl-part.tl-lit").evaluate_all("(all) => [...new Set(all.map((g) => g.dataset.step))]") == ["4"]
    assert tab.locator(".tl-slot.tl-lit").inner_text() == "1"
    tab.mouse.move(1, 1)
    assert says(tab) == before
    tab.locator(".tl-load[data-step='0']").click()
    tab.mouse.move(1, 1)
    assert says(tab).startswith("Step 0: a and b copied into buffer 0 before the loop. Dot 0 needs them all; before it the program waits as long as 2 dots")
    tab.locator(".tl-load[data-step='0']").click()
    tab.mouse.move(1, 1)
    assert says(tab) == before


def test_sm_80_copies_after_the_dot_is_done(show):
    tab = show(pipeline(s.pipelined(3, "sm_80")))
    tab.locator(".tl-dot[data-step='4']").hover()
    assert says(tab).startswith("Step 4: a and b copied into buffer 0 once dot 2 is done.")


def test_keys_choose_a_step_and_a_kernel(show):
    tab = show(FIVE)
    tab.locator(".tl-picture").focus()
    tab.keyboard.press("ArrowRight")
    assert says(tab).startswith("Step 0: a and b loaded when the step begins.")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        tab.keyboard.press(key)
    assert says(tab).startswith("Step 1: a and b copied into buffer 1 before the loop.")
    assert tab.get_by_role("radio", name="3 stages").is_checked() and tab.locator(".tl-all .tl-now th").inner_text() == "3 stages"
    tab.keyboard.press("End")
    assert says(tab).startswith("Step 7: ")
    tab.keyboard.press("Escape")
    assert says(tab).startswith("sm_90, 3 stages: ")
    for _ in range(9):
        tab.keyboard.press("ArrowUp")
    assert tab.get_by_role("radio", name="1 stage").is_checked()


def test_controls_choose_kernel_steps_and_the_length_of_a_load(show):
    tab = show(FIVE)
    top = tab.get_by_role("radio", name="5 stages").bounding_box()["y"]
    tab.get_by_role("radio", name="5 stages").check()
    assert says(tab).startswith("sm_90, 5 stages: ")
    assert abs(tab.get_by_role("radio", name="5 stages").bounding_box()["y"] - top) <= 40, "what is clicked does not run away"
    tab.get_by_role("slider", name="steps of the loop").fill("12")
    assert tab.locator(".tl-dot").count() == 12
    tab.get_by_label("a load takes").fill("4")
    assert sorted(tuple(e) for e in tab.evaluate(DRAWN)) == played(s.pipelined(5), 12, 4)
    tab.locator(".tl-all tbody tr").nth(1).click()
    assert says(tab).startswith("sm_90, 2 stages: ")
    rows = tab.locator(".tl-all tbody tr").all_inner_texts()
    assert [r.split("\t")[1:5] for r in rows][2] == ["3: 2 ahead", "3 × 32\u00a0KiB", "96\u00a0KiB", "4 + 2"]


def test_a_step_that_is_no_more_is_let_go(show):
    tab = show(pipeline(s.pipelined(3)))
    tab.locator(".tl-picture").focus()
    tab.keyboard.press("End")
    tab.get_by_role("slider", name="steps of the loop").fill("4")
    assert says(tab).startswith("sm_90, 3 stages")


def test_what_does_not_fit_is_said(show):
    tab = show(pipeline([s.pipelined(8), s.pipelined(3)]))
    assert "Does not fit: needs 256 KiB" in tab.locator(".tl-shared .tl-warn").inner_text().replace("\u00a0", " ")
    assert "0: does not fit" in tab.locator(".tl-all").inner_text()


@pytest.mark.parametrize(("width", "dark"), [(900, True), (480, False)])
def test_it_fits_its_width_and_serves_everyone(show, width, dark):
    for name, view in samples():
        tab = show(view, width, dark)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, name
        axe = screenshots.axe_source()
        if axe:
            assert [f for f in screenshots.faults_of(tab, axe) if f["impact"] in screenshots.SERIOUS] == [], name
