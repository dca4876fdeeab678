"""``live``: controls run Python again, the last position wins, and the one view says what happens."""

from __future__ import annotations

import asyncio

import ipywidgets
import pytest

from tritonlab.trace.record import Trace
from tritonlab.views import base, specimens
from tritonlab.views.live import Live, live
from tritonlab.views.tiles import tiles


class Make:
    """Counts its calls; ``make(n, block)`` plays vector add."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []

    def __call__(self, n: int = 100, block: int = 16) -> Trace:
        self.calls.append((n, block))
        if n == 13:
            raise ValueError(f"n is {n}, which is unlucky")
        if n == 14:
            print("fourteen")
        return Trace((specimens.vector_add(n, block),))


@pytest.fixture
def made():
    make = Make()
    return make, live(make, tiles, n=(1, 200), block=[16, 32])


def drag(shown: Live, name: str, *values: int) -> None:
    """What arrives from a browser while a slider is dragged, or a choice made."""
    for value in values:
        shown.controls[name].set_state({"index" if name == "block" else "value": value})


def test_the_view_begins_with_the_defaults_of_make(made):
    make, shown = made
    assert make.calls == [(100, 16)] and shown.values == {"n": 100, "block": 16}
    assert repr(shown) == "<Live n=100, block=16: <TileView vector_add_kernel 7 programs × 16 lanes, 12 masked>>"
    assert [type(w).__name__ for w in shown.controls.values()] == ["IntSlider", "Dropdown"]
    assert [w.description for w in shown.controls.values()] == ["n", "block"]


def test_a_change_puts_new_data_into_the_same_view(made):
    make, shown = made
    view, model = shown.view, shown.view.model_id
    shown.controls["block"].value = 32
    assert shown.view is view and view.model_id == model and shown.children[0] is view
    assert view.data == tiles(specimens.vector_add(100, 32)).data
    assert repr(shown) == "<Live n=100, block=32: <TileView vector_add_kernel 4 programs × 32 lanes, 28 masked>>"


def test_following_a_change_opens_no_second_line_to_the_browser(made):
    before = set(ipywidgets.widget._instances)
    made[1].controls["n"].value = 50
    assert set(ipywidgets.widget._instances) == before


def test_of_many_positions_from_the_browser_only_the_last_is_run(made):
    make, shown = made

    async def kernel():
        drag(shown, "n", 90, 80, 70)
        drag(shown, "block", 1)
        assert make.calls == [(100, 16)] and shown.view.status == {"state": "busy"}
        await asyncio.sleep(0.1)

    asyncio.run(kernel())
    assert make.calls == [(100, 16), (70, 32)]
    assert shown.values == {"n": 70, "block": 32} and shown.view.status == {"state": "ready"}


def test_a_position_that_comes_while_python_runs_is_run_next(made):
    make, shown = made
    inner, then = make.__call__, []

    def slow(n, block):
        if n == 60:
            then.append(n)
            drag(shown, "n", 61)
            drag(shown, "n", 62)
        return inner(n, block)

    shown._make = slow
    shown.controls["n"].value = 60
    assert make.calls[1:] == [(60, 16), (62, 16)] and shown.values["n"] == 62


def test_an_error_stands_in_the_view_above_the_last_good_picture(made):
    make, shown = made
    good = shown.view.data
    shown.controls["n"].value = 13
    status = shown.view.status
    assert status["state"] == "error" and status["title"] == "ValueError with n=13, block=16"
    assert status["message"].startswith("n is 13, which is unlucky\nin __call__: raise ValueError")
    assert "Traceback" not in status["message"] and "tritonlab/" not in status["message"]
    assert shown.view.data == good and shown.values["n"] == 100
    shown.controls["n"].value = 20
    assert shown.view.status == {"state": "ready"} and shown.values["n"] == 20


def test_an_interrupt_is_said_and_does_not_end_the_kernel(made):
    _, shown = made

    def stop(**values):
        raise KeyboardInterrupt

    shown._make = stop
    shown.controls["n"].value = 40
    assert shown.view.status["title"] == "Stopped with n=40, block=16"


def test_what_the_code_prints_is_shown_in_the_view_and_nowhere_else(made, capsys):
    _, shown = made
    shown.controls["n"].value = 14
    assert shown.view.status == {"state": "ready", "printed": "fourteen\n"}
    shown.controls["n"].value = 15
    assert "printed" not in shown.view.status
    assert capsys.readouterr().out == ""


def test_a_view_of_another_kind_is_an_error_in_the_view(made):
    _, shown = made
    shown._draw = lambda t: base.View({}, "other")
    shown.controls["n"].value = 40
    assert shown.view.status["state"] == "error" and "cannot show" in shown.view.status["message"]


def test_every_abbreviation_of_interact_makes_a_control():
    def make(a=2, b=0.5, c="x", d=True, e="two", f=3, g=7):
        return specimens.vector_add(10 + a, 4)

    shown = live(make, tiles, a=(0, 10, 2), b=(0.0, 1.0), c="x", d=True, e=["one", "two"], f=ipywidgets.BoundedIntText(3, 1, 5), g=ipywidgets.fixed(7))
    kinds = [type(w).__name__ for w in shown.controls.values()]
    assert kinds == ["IntSlider", "FloatSlider", "Text", "Checkbox", "Dropdown", "BoundedIntText", "fixed"]
    assert shown.values == {"a": 2, "b": 0.5, "c": "x", "d": True, "e": "two", "f": 3, "g": 7}
    assert shown.labels() == [("a", "2"), ("b", "0.5"), ("c", "x"), ("d", "True"), ("e", "two"), ("f", "3")]
    assert len(shown.children[1].children) == 6


@pytest.mark.parametrize(
    ("controls", "error", "words"),
    [
        ({"m": (1, 5)}, TypeError, "make takes no 'm'; it takes n, block"),
        ({"n": object()}, TypeError, "n is <object"),
        ({"n": (5, 1)}, ValueError, "n is"),
        ({"n": ipywidgets.HBox()}, TypeError, "a widget with a value"),
    ],
)
def test_a_control_that_cannot_be_is_named(controls, error, words):
    with pytest.raises(error, match=words):
        live(Make(), tiles, **controls)


def test_a_missing_control_and_a_view_that_is_none_are_named():
    with pytest.raises(TypeError, match="make needs 'n'"):
        live(lambda n: specimens.vector_add(n, 4), tiles)
    with pytest.raises(TypeError, match="view returned a int"):
        live(Make(), lambda t: 3, n=(1, 200))
    with pytest.raises(TypeError, match="make is a int"):
        live(3, tiles)


def test_the_first_error_is_the_callers():
    with pytest.raises(ValueError, match="unlucky"):
        live(Make(), tiles, n=ipywidgets.IntSlider(13))


def test_the_build_gets_the_page_of_the_view_with_the_controls_as_labels(made, monkeypatch):
    _, shown = made
    assert "application/vnd.jupyter.widget-view+json" in shown._repr_mimebundle_()
    assert shown._repr_mimebundle_()["text/plain"] == repr(shown)
    monkeypatch.setenv("TRITONLAB_PHOTOGRAPH", "1")
    bundle = shown._repr_mimebundle_()
    assert bundle["text/plain"] == repr(shown)
    assert 'tl-chip">n <b>100</b>' in bundle[base.PAGE_MIME] and 'tl-chip">block <b>16</b>' in bundle[base.PAGE_MIME]
    assert bundle[base.HASH_MIME] == shown.view.fingerprint(shown.labels()) != shown.view.fingerprint()
    assert "tiles.js" in bundle[base.MODULE_MIME]
