"""Curves say in words every number that they draw."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from tritonlab.views.curves import curves, samples

ONE = {"measured": {1: 13.3, 2: 9.86, "whole column": 14.0}, "model": {1: 17.3, 2: 8.7}}


def test_every_number_stands_in_the_text():
    view = curves(ONE, x="GROUP_M", y="GB", notes=["a GPU"])
    told = "measured 1: 13.3 2: 9.86 whole column: 14, model 1: 17.3 2: 8.7"
    assert repr(view) == f"<CurvesView GB over GROUP_M: {told}>"
    assert view.alt == f"GB over GROUP_M. {told}." and view.data["notes"] == ["a GPU"] and view.data["says"] == "GB over GROUP_M"


def test_panels_are_named_and_on_one_scale():
    view = curves({"4096³": ONE, "8192³": {"measured": {1: 100.0}}}, x="GROUP_M", y="TFLOP/s")
    assert "4096³: measured 1: 13.3" in repr(view) and "8192³: measured 1: 100" in repr(view)
    wide, narrow = (Image.open(io.BytesIO(base64.b64decode(p["png"]))) for p in view.data["pictures"])
    assert wide.width > narrow.width and narrow.height > wide.height


def test_the_same_numbers_make_the_same_picture_and_others_another():
    one, same, other = (curves({"m": {1: v, 2: 3.0}}, x="x", y="y").png for v in (1.0, 1.0, 2.0))
    assert one == same != other


def test_a_curve_of_zeros_is_drawn():
    assert repr(curves({"m": {1: 0, 2: 0}}, x="x", y="y")) == "<CurvesView y over x: m 1: 0 2: 0>"


@pytest.mark.parametrize(
    ("panels", "error", "words"),
    [
        (3, TypeError, "panels is a int; curves takes a dict curve"),
        ({}, ValueError, "nothing to draw: no curve has a number"),
        ({"m": {}}, ValueError, "nothing to draw"),
        ({"m": [1, 2]}, TypeError, "m is a list; a curve is a dict"),
        ({"m": {1: -1.0}}, ValueError, "m is -1.0 at 1; curves draws finite numbers of at least 0"),
        ({"m": {1: float("nan")}}, ValueError, "m is nan at 1"),
        ({"m": {1: float("inf")}}, ValueError, "m is inf at 1"),
        ({"m": {1: 10**400}}, ValueError, "m is 1000.* at 1; curves draws finite numbers"),
        ({"p": {"m": {1: None}}}, ValueError, "p, m is None at 1"),
        ({str(i): {"m": {1: 1.0}} for i in range(5)}, ValueError, "curves draws 1 to 4 panels; got 5"),
        ({str(i): {1: 1.0} for i in range(9)}, ValueError, "curves draws 1 to 8 curves; got 9"),
        ({"m": {i: 1.0 for i in range(21)}}, ValueError, "curves draws 1 to 20 values of x; got 21"),
    ],
)
def test_what_cannot_be_drawn_says_why(panels, error, words):
    with pytest.raises(error, match=words):
        curves(panels, x="x", y="y")


def test_samples_have_names_of_their_own():
    assert [name for name, _ in samples()] == ["curves-model", "curves-panels"]


def test_numbers_of_numpy_are_numbers_and_one_note_is_a_note():
    view = curves({"m": {1: np.int64(3), 2: np.float32(0.5)}}, x="x", y="y", notes="measured here")
    assert "m 1: 3 2: 0.5" in repr(view) and view.data == curves({"m": {1: 3, 2: 0.5}}, x="x", y="y", notes=["measured here"]).data


@pytest.mark.parametrize("notes", [None, 3, [None], {"a": 1}, [1, 2]])
def test_notes_are_texts(notes):
    with pytest.raises(TypeError, match="notes must be a text or a list of texts; got"):
        curves({"m": {1: 1.0}}, x="x", y="y", notes=notes)
