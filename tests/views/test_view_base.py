"""What every view promises: plain data once, a repr that says what it shows, a page that needs nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tritonlab.views import base, specimens
from tritonlab.views.tiles import tiles

HERE = Path(base.__file__).resolve().parents[1]


@pytest.fixture
def view():
    return tiles(specimens.vector_add())


def test_the_repr_says_what_is_shown(view):
    assert repr(view) == "<TileView vector_add_kernel 16 programs × 64 lanes, 24 masked>"


def test_a_shown_view_carries_its_repr_and_a_widget(view):
    bundle = view._repr_mimebundle_()
    assert bundle["text/plain"] == repr(view)
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == view.model_id


def test_the_build_gets_a_page_a_hash_and_the_modules_instead(view, monkeypatch):
    monkeypatch.setenv("TRITONLAB_PHOTOGRAPH", "1")
    bundle = view._repr_mimebundle_()
    assert bundle["text/plain"] == repr(view)
    assert bundle[base.PAGE_MIME] == view.page() and bundle[base.HASH_MIME] == view.fingerprint()
    assert {"common.js", "common.css", "tiles.js", "tiles_model.js"} <= set(bundle[base.MODULE_MIME])
    assert "application/vnd.jupyter.widget-view+json" not in bundle


def test_the_hash_is_the_same_for_the_same_record_and_changes_with_data_status_and_controls(view):
    again = tiles(specimens.vector_add())
    assert again.fingerprint() == view.fingerprint()
    assert tiles(specimens.vector_add(999)).fingerprint() != view.fingerprint()
    assert view.fingerprint([("N", "1000")]) != view.fingerprint([("N", "999")]) != view.fingerprint()
    again.status = {"state": "busy"}
    assert again.fingerprint() != view.fingerprint()


def test_a_page_names_no_address_and_cannot_be_broken_by_its_data():
    launch = specimens.vector_add(10, 4)
    page = tiles(launch).page("a </script> & <title>")
    body = page.replace("http://www.w3.org/2000/svg", "")
    assert "http://" not in body and "https://" not in body
    assert "<title>a &lt;/script&gt; &amp; &lt;title&gt;</title>" in page
    assert page.count("</script>") == 2


def test_the_data_is_sent_as_it_stands(view):
    state = view.get_state()
    assert json.loads(json.dumps(state["data"])) == view.data
    assert state["_esm"].startswith("// What every view's module has at hand")


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        ({"a": np.int64(3)}, TypeError, r"data\['a'\] is a int64"),
        ({"a": [1, {"b": (1, 2)}]}, TypeError, r"data\['a'\]\[1\]\['b'\] is a tuple"),
        ({1: 2}, TypeError, "data has the key 1"),
        ({"a": float("nan")}, ValueError, r"data\['a'\] is nan"),
    ],
)
def test_data_that_is_not_plain_is_refused_by_its_place(data, error, words):
    with pytest.raises(error, match=words):
        base.View(data, "text")


def test_plain_makes_json_of_numpy_and_of_numbers_that_json_lacks():
    made = base.plain({1: np.arange(3), "f": np.float32(0.5), "t": (True, np.bool_(False)), "x": [np.nan, np.inf, -np.inf]})
    assert made == {"1": [0, 1, 2], "f": 0.5, "t": [True, False], "x": ["nan", "inf", "-inf"]}
    assert json.loads(json.dumps(made, allow_nan=False)) == made


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int32", "int64", "uint8"])
def test_packed_arrays_come_back_bit_for_bit(dtype):
    array = np.array([[0, 1, 2], [3, 100, 5]], dtype)
    back = base.unpack(json.loads(json.dumps(base.pack(array))))
    assert back.dtype == array.dtype and np.array_equal(back, array)


def test_packing_widens_float16_and_keeps_nan_and_minus_zero():
    array = np.array([np.nan, -0.0, np.inf, 1.5], np.float16)
    back = base.unpack(base.pack(array))
    assert back.dtype == np.float32 and np.array_equal(back, array, equal_nan=True) and np.signbit(back[1])
    with pytest.raises(TypeError, match="dtype"):
        base.pack(np.array(["a"]))


def test_an_unopened_view_talks_to_no_browser_and_gives_its_data(view):
    with base.unopened():
        other = tiles(specimens.vector_add(999))
    assert other.comm is None
    view.take(other)
    assert view.data == other.data and "25 masked" in repr(view)


def test_a_view_does_not_take_what_another_kind_of_view_shows(view):
    with pytest.raises(TypeError, match="a TileView cannot show what a View shows"):
        view.take(base.View({}, "something else"))


def in_views_alone(code: str) -> None:
    """Run code in a fresh Python in which ``tritonlab`` is only a folder: its root would load torch."""
    root = f"import sys, types; root = types.ModuleType('tritonlab'); root.__path__ = [{str(HERE)!r}]; sys.modules['tritonlab'] = root\n"
    subprocess.run([sys.executable, "-c", root + code], check=True)


def test_the_package_alone_loads_no_widgets_and_its_names_are_functions_also_after_their_modules_were_imported():
    in_views_alone(
        "import tritonlab.views as v\n"
        "loaded = lambda: {'anywidget', 'ipywidgets', 'matplotlib', 'torch', 'triton'} & set(sys.modules)\n"
        "assert not loaded(), loaded()\n"
        "import tritonlab.views.tiles, tritonlab.views.live\n"
        "assert loaded() == {'anywidget', 'ipywidgets'}, loaded()\n"
        "assert callable(v.tiles) and callable(v.live) and 'tiles' in dir(v), v.tiles\n"
        "try: v.nothing\n"
        "except AttributeError as e: assert 'it has' in str(e)\n"
        "else: raise SystemExit('no error')\n"
    )
