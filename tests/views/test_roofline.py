"""The roofline: measured roofs, points from measurements or counts, and its words."""

import sys
import warnings
from dataclasses import replace

import matplotlib
import pytest

from tritonlab.bench.measurement import Measurements, Roofs
from tritonlab.views.bandwidth import _made_up
from tritonlab.views.roofline import roofline, samples

MADE = _made_up()
LABEL = "Made-up GPU · torch 0 · Triton 0 · 2000-01-01 · recorded"


def test_measurements_stand_at_their_intensity_with_the_best_rate():
    view = roofline(MADE.where(dtype="float32"))
    assert repr(view) == (
        "<RooflineView vector_add tritonlab at 0.0833 FLOP/byte: 165 GFLOP/s, vector_add torch at 0.0833 FLOP/byte: 160 GFLOP/s, "
        f"vector_add torch.compile at 0.0833 FLOP/byte: 137 GFLOP/s; ridge 137 FLOP/byte; {LABEL}>"
    )
    assert view.data["notes"] == [LABEL]
    assert view.data["says"] == "All lie left of the ridge (137 FLOP per byte): moving the bytes takes longer than computing."


def test_the_alternative_text_tells_roofs_ridge_and_shares():
    alt = roofline(MADE.where(dtype="float32")).alt
    assert "the measured copy of 1 GiB (2,000 GB/s) meets the measured bfloat16 matmul of 4096³ (275 TFLOP/s) at the ridge, 137 FLOP per byte" in alt
    assert "tritonlab at 0.0833 FLOP/byte: 165 GFLOP/s, 0.99 of what the roof allows." in alt
    assert alt.endswith(f"From {LABEL}.")


def test_counted_points_need_roofs_and_show_what_these_allow():
    view = roofline({"op by op": (0.5, None), "fused": (2.0, 2e12), "matmul": (1000.0, 1.1e14)}, roofs=MADE)
    assert "op by op at 0.5 FLOP/byte: the roof allows 1 TFLOP/s." in view.alt
    assert "fused at 2 FLOP/byte: 2 TFLOP/s, 0.50 of what the roof allows." in view.alt
    assert "matmul at 1e+03 FLOP/byte: 110 TFLOP/s, 0.40 of what the roof allows." in view.alt
    assert view.data["says"].startswith("2 of 3 points lie left of the ridge")
    assert view.data["notes"] == [f"roofs: {LABEL}"]


def test_pairs_and_plain_roofs_are_taken_too():
    view = roofline([(1.0, 1e12), (900.0, 2e14)], roofs=MADE.roofs)
    assert "point 1 at 1 FLOP/byte: 1 TFLOP/s" in repr(view) and view.data["notes"] == []
    assert roofline([(900.0, 2e14)], roofs=MADE.roofs).data["says"].startswith("All lie right of the ridge")


def test_a_rate_that_memory_could_not_deliver_is_called_a_caches_work():
    slope = MADE.roofs.copy.rate
    said = roofline({"above": (1.0, 1.2 * slope), "below": (1.0, 0.9 * slope)}, roofs=MADE).data["says"]
    assert said.startswith("1 of 2 points lies above the slope, left of the ridge (137 FLOP per byte)") and "a cache served" in said
    assert roofline({"above": (1.0, 1.2 * slope)}, roofs=MADE).data["says"].startswith("All lie above the slope")
    for rate in (1.02 * slope, None):  # within the measurement's own uncertainty; not measured
        assert "above" not in roofline({"a": (1.0, rate)}, roofs=MADE).data["says"]
    assert "above" not in roofline({"a": (900.0, 1.2 * MADE.roofs.matmul.rate)}, roofs=MADE).data["says"]


def test_long_names_stand_in_more_rows_and_stay_within_the_picture(monkeypatch):
    module = sys.modules["tritonlab.views.roofline"]
    figures = []

    def keep(figure, *rest, **more):
        figures.append(figure)
        real(figure, *rest, **more)

    real = module.legend
    monkeypatch.setattr(module, "legend", keep)
    roofline({f"a rather long name of point number {i}": (1.0 + i, None) for i in range(5)}, roofs=MADE)
    wide = figures[0]
    box = wide.legends[0].get_window_extent()
    assert 0 <= box.x0 and box.x1 <= wide.bbox.width


def test_the_same_numbers_give_the_same_bytes_whatever_the_users_settings():
    first = roofline(MADE).png
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black", "lines.linewidth": 9}):
        assert roofline(MADE).png == first
    assert roofline(MADE.where(dtype="float32")).png != first


def test_drawing_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(view.png for _, view in samples())


@pytest.mark.parametrize(
    ("what", "roofs", "error", "message"),
    [
        ({"a": (1.0, 1e12)}, None, ValueError, "needs both measured roofs"),
        (Measurements(MADE.items), None, ValueError, "needs both measured roofs"),
        (MADE, Roofs(copy=MADE.roofs.copy), ValueError, "needs both measured roofs"),
        ({"a": (-1.0, 1e12)}, MADE, ValueError, "a has intensity -1.0 FLOP per byte"),
        ({"a": (1.0, 0.0)}, MADE, ValueError, "a has intensity 1.0 .* and rate 0.0"),
        ({"a": (float("nan"), None)}, MADE, ValueError, "both must be positive"),
        ({"a": 3}, MADE, TypeError, r"a point is \(FLOP per byte, FLOP/s\), got 3"),
        (3, MADE, TypeError, "takes measurements, pairs .* got int"),
        ("a", MADE, TypeError, "takes measurements, pairs .* got str"),
        ([], MADE, ValueError, "nothing to show"),
        (Measurements(tuple(replace(m, flops=None) for m in MADE), MADE.roofs), None, ValueError, "no measurement has both bytes and operations"),
    ],
)
def test_what_cannot_be_shown_is_named(what, roofs, error, message):
    with pytest.raises(error, match=message):
        roofline(what, roofs=roofs)
