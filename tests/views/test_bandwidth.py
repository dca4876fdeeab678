"""The bandwidth chart: what it says in words, and that its picture follows the numbers and nothing else."""

import struct
import sys
import warnings
from dataclasses import replace

import matplotlib
import pytest

from tritonlab.bench.measurement import Measurement, Measurements, Origin, Roofs, Timing
from tritonlab.views.bandwidth import _made_up, bandwidth, samples
from tritonlab.views.chart import looks, si_bytes

ORIGIN = Origin("Made-up GPU", "0", "0", "2000-01-01T00:00:00Z", "by hand")


def softmax(shape, name="tritonlab", seconds=1e-4, dtype="float32"):
    nbytes = 8 * shape[0] * shape[1]
    return Measurement("softmax", name, shape, dtype, Timing(seconds, seconds * 0.9, seconds * 1.1, 5), ORIGIN, nbytes, nbytes, recorded=True)


@pytest.fixture(scope="module")
def made():
    """The chart of all made-up measurements (drawing takes a while)."""
    return bandwidth(_made_up())


def size(png):
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", png[16:24])


def test_the_repr_says_what_is_shown_and_where_it_comes_from(made):
    assert repr(made) == (
        "<BandwidthView vector_add float32, bfloat16 of 4096 to 67108864: tritonlab, torch, torch.compile; 90 points, "
        "best 1,975 GB/s, copy 2,000 GB/s; Made-up GPU · torch 0 · Triton 0 · 2000-01-01 · recorded>"
    )


def test_the_label_stands_below_the_picture_and_the_sentence_above(made):
    assert made.data["notes"] == ["Made-up GPU · torch 0 · Triton 0 · 2000-01-01 · recorded"]
    assert made.data["says"] == (
        "`vector_add`: tritonlab moves up to 1,975 GB/s (67,108,864 elements, float32), 0.99 of what a copy reaches."
    )
    now = bandwidth([replace(m, recorded=False) for m in _made_up().where(shape=2**20)])
    assert now.data["notes"] == ["Made-up GPU · torch 0 · Triton 0 · 2000-01-01 · measured now"]


def test_the_alternative_text_tells_the_curves_the_roof_and_the_launch_bound_part():
    view = bandwidth(_made_up().where(dtype="float32"))
    assert "tritonlab 9.78 GB/s at 4,096 to 1,975 GB/s at 67,108,864" in view.alt
    assert "torch.compile 6.99 GB/s" in view.alt
    assert "launch-bound up to about 741,455 elements" in view.alt
    assert "measured copy of 1 GiB, 2,000 GB/s" in view.alt
    assert view.alt in view.page().replace("\\u003c", "<")


def test_the_launch_bound_part_follows_the_measured_launch():
    ms = _made_up().where(dtype="float32")
    quick = replace(ms, roofs=replace(ms.roofs, launch=Timing(1e-7, 1e-7, 1e-7, 1)))
    assert "launch-bound" not in bandwidth(quick).alt
    assert "launch-bound" not in bandwidth(replace(ms, roofs=None)).alt
    slow = replace(ms, roofs=replace(ms.roofs, launch=Timing(1e-3, 1e-3, 1e-3, 1)))
    assert "launch-bound up to about 67,108,864 elements" in bandwidth(slow).alt


def test_the_same_numbers_give_the_same_bytes_whatever_the_users_settings(made):
    first = made.png
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black", "figure.dpi": 30, "lines.linewidth": 9}):
        assert bandwidth(_made_up()).png == first
    changed = Measurements(tuple(replace(m, bytes=2 * m.bytes) for m in _made_up()), _made_up().roofs)
    assert bandwidth(changed).png != first


def test_the_picture_carries_no_date_and_its_own_text(made):
    png = made.png
    assert b"Description" in png and b"Software" not in png and b"Creation" not in png


def test_there_is_a_picture_for_wide_and_one_for_narrow_cells(made):
    wide, narrow = made.data["pictures"]
    assert wide["width"] <= 900 - 2 * 14 and narrow["width"] <= 480 - 2 * 14
    assert size(made.png) == (2 * wide["width"], 2 * wide["height"])


def test_drawing_warns_of_nothing_and_leaves_pyplot_alone():
    loaded = "matplotlib.pyplot" in sys.modules
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(view.png for _, view in samples())
    assert ("matplotlib.pyplot" in sys.modules) == loaded


def test_implementations_differ_in_colour_marker_and_line():
    names = ["a", "tritonlab", "torch", "b", "torch.compile", "c"]
    shown = looks(names)
    for part in range(3):
        assert len({repr(shown[name][part]) for name in names}) == len(names)
    assert shown["torch"] == looks(["torch"])["torch"] == looks(["z", "torch"])["torch"]


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ([(4096, 1024), (4096, 2048)], "4,096×1,024"),
        ([(1024, 4096), (2048, 4096)], "1,024×4,096"),
        ([(1024, 4096), (2048, 1000)], "2,048×1,000"),
    ],
)
def test_matrices_are_shown_over_what_varies(shapes, words):
    view = bandwidth([softmax(shape) for shape in shapes])
    assert words in view.alt and view.png


@pytest.mark.parametrize("x", ["elements", "bytes", "rows", "columns", "shape"])
def test_the_axis_can_be_chosen(x):
    assert bandwidth([softmax((2**k, 128)) for k in range(4, 9)], x=x).png


def test_one_measurement_is_a_chart_too():
    assert "1 points" in repr(bandwidth([softmax((8, 8))]))


def test_runs_of_two_dates_are_told_apart():
    other = replace(ORIGIN, date="2001-01-01T00:00:00Z")
    ms = [softmax((8, 64)), replace(softmax((8, 64)), origin=other, recorded=False)]
    view = bandwidth(ms)
    assert view.data["notes"][0].startswith("(1) ") and view.data["notes"][1].endswith("2001-01-01 · measured now")
    assert "tritonlab (1)" in view.alt and "tritonlab (2)" in view.alt


@pytest.mark.parametrize(
    ("given", "options", "error", "message"),
    [
        ([], {}, ValueError, "none of the measurements has known bytes"),
        ([replace(softmax((8, 8)), bytes=None)], {}, ValueError, "none of the measurements has known bytes"),
        (3, {}, TypeError, "takes Measurements, .* it got a int"),
        ([3], {}, TypeError, "takes Measurements, .* it got a int"),
        ([softmax((8, 8))], {"x": "n"}, ValueError, "x is 'n'; it can be 'elements', 'bytes'"),
        ([replace(softmax((8, 8)), shape=(64,))], {"x": "rows"}, ValueError, r"the shape \(64,\) of softmax has no rows"),
        ([softmax((8, 8), dtype=f"d{i}") for i in range(7)], {}, ValueError, "that is 7 panels"),
    ],
)
def test_what_cannot_be_shown_is_named(given, options, error, message):
    with pytest.raises(error, match=message):
        bandwidth(given, **options)


def test_without_roofs_there_is_no_roof():
    view = bandwidth(Measurements(_made_up().items, Roofs()))
    assert "roof" not in view.alt and "copy" not in repr(view)


@pytest.mark.parametrize(("n", "text"), [(12, "12 B"), (4096, "4.1 kB"), (3.22e9, "3.22 GB"), (999_900, "1 MB"), (5e12, "5e+03 GB")])
def test_bytes_are_decimal(n, text):
    assert si_bytes(n) == text
