"""The order map's data are the order's and the cache model's; its repr says what it shows."""

import json

import numpy as np
import pytest

from tritonlab.analysis import PidOrder, l2_traffic, tile_order
from tritonlab.views import specimens
from tritonlab.views.base import unpack
from tritonlab.views.pid_map import _played, pid_map, samples

NINE = [_played(9, 9, g) for g in (1, 3)]


def test_the_map_carries_each_programs_tile_and_the_models_bytes():
    order = _played(12, 10, 5)
    view = pid_map(order, (64, 32, 16), 100, wave=7, itemsize=4)
    data = json.loads(json.dumps(view.data, allow_nan=False))
    (shown,) = data["orders"]
    assert np.array_equal(unpack(shown["pid_m"]), order.pid_m) and np.array_equal(unpack(shown["pid_n"]), order.pid_n)
    assert (data["wave"], data["k_tiles"], data["launched"]) == (7, 7, 7)
    for schedule, traffic in zip(data["schedules"], shown["traffic"]):
        t = l2_traffic(order, (64, 32, 16), 100, 4, "H200", schedule=schedule, wave=7)
        assert (traffic["asked"], traffic["memory"]) == (t.asked_bytes, t.memory_bytes)
        assert np.array_equal(unpack(traffic["wave_memory"]), t.fetched_a + t.fetched_b) and np.array_equal(unpack(traffic["wave_asked"]), t.asked)


def test_a_wave_is_the_gpus_sms_times_the_programs_of_each():
    assert pid_map(_played(64, 64, 8)).data["wave"] == 132
    assert pid_map(_played(64, 64, 8), gpu="A100", programs_per_sm=2).data["wave"] == 216
    assert pid_map(_played(2, 3, 1)).data["launched"] == 6


def test_the_model_is_stated_with_its_gpu_its_cache_and_its_wave():
    model = pid_map(_played(64, 64, 8), (64, 64, 32), 512, programs_per_sm=3).data["model"]
    assert "Model, not a measurement" in model and "62.9 MB (H200," in model and "396 programs at once (132 SMs × 3)" in model
    assert pid_map(_played(64, 64, 8)).data["model"] == ""
    assert "9 programs at once." in pid_map(NINE, (32, 32, 32), 288, wave=9).data["model"]


def test_orders_are_titled_by_group_and_by_what_they_come_to():
    view = pid_map([_played(9, 9, g) for g in (1, 3, 9, 20)])
    titles = [o["title"] for o in view.data["orders"]]
    assert titles == ["GROUP_M = 1 (rows)", "GROUP_M = 3", "GROUP_M = 9 (columns)", "GROUP_M = 20 (columns)"]
    assert [o["title"] for o in pid_map({"mine": NINE[0]}).data["orders"]] == ["mine"]
    twice = [o["title"] for o in pid_map([NINE[1], NINE[1]]).data["orders"]]
    assert len(set(twice)) == 2


def test_the_repr_counts_panels_bytes_and_faults():
    assert repr(pid_map(NINE, wave=9)) == (
        "<PidMapView GROUP_M = 1 (rows) 9×9 tiles, first 9 programs touch 1 + 9 panels; GROUP_M = 3 9×9 tiles, first 9 programs touch 3 + 3 panels>"
    )
    assert repr(pid_map(_played(128, 128, 8), (64, 64, 32), 8192)).endswith("from memory 2.28 GB in step and 2.28 GB one after another>")
    assert repr(pid_map(_played(7, 5, 3, clamped=False), wave=5)) == (
        "<PidMapView GROUP_M = 3 7×5 tiles, 3 tiles never visited, 3 programs outside, first 5 programs touch 3 + 2 panels>"
    )


def test_what_a_wrong_order_leaves_out_or_does_twice_is_in_the_data():
    (order,) = pid_map(PidOrder("f", 2, 2, [0, 0, 2, 1], [0, 0, 0, 1])).data["orders"]
    assert [unpack(order[name]).tolist() for name in ("never", "twice", "outside")] == [[1, 2], [0], [2]]
    assert order["faults"] == ["2 tiles never visited", "1 tile visited more than once", "1 program outside"]


def test_one_tile_is_one_program():
    assert repr(pid_map(_played(1, 1, 3), (64, 64, 32), np.int64(4096))) == (
        "<PidMapView GROUP_M = 3 1×1 tiles, first program touches 1 + 1 panels, from memory 1.05 MB in step and 1.05 MB one after another>"
    )


def test_a_trace_is_drawn_in_the_order_of_its_stores():
    trace = specimens.matmul(96, 64, 32)
    order = tile_order(trace)
    assert order.one_to_one and pid_map(trace).data == pid_map({"matmul_kernel (columns)": order}).data
    assert repr(pid_map({"mine": trace}, wave=2)).startswith("<PidMapView mine ")


@pytest.mark.parametrize(
    ("args", "more", "error", "words"),
    [
        ((3,), {}, TypeError, "got a int; pid_map draws a PidOrder as lab.pid_order returns it"),
        (("row",), {}, TypeError, "got a str"),
        (([NINE[0], 3],), {}, TypeError, "got a int"),
        (([],), {}, ValueError, "pid_map draws 1 to 9 orders; got 0"),
        (([NINE[0]] * 10,), {}, ValueError, "pid_map draws 1 to 9 orders; got 10"),
        ((NINE, (32, 32, 32)), {}, ValueError, r"tile and K go together; got tile=\(32, 32, 32\) and K=None"),
        ((NINE,), {"gpu": "H300"}, ValueError, "gpu is 'H300'; known are T4, A100, H100, H200"),
        ((NINE,), {"wave": 0}, ValueError, "wave must be at least 1; got 0"),
        ((NINE,), {"launched": 82}, ValueError, "launched must be at most 81; got 82"),
        ((NINE,), {"launched": 2.5}, TypeError, "launched must be a whole number; got 2.5"),
        ((NINE,), {"gpu": ["H200"]}, ValueError, "known are T4, A100, H100, H200"),
        ((NINE, (32, 32), 64), {}, ValueError, r"tile is \(32, 32\); it is \(BLOCK_M, BLOCK_N, BLOCK_K\)"),
        ((NINE, 32, 64), {}, ValueError, "tile is 32; it is"),
        ((NINE, (32, 32, 0.5), 64), {}, TypeError, "BLOCK_K must be a whole number; got 0.5"),
        ((NINE, (32, 32, 32), 2.5), {}, TypeError, "K must be a whole number; got 2.5"),
        ((NINE, (32, 32, 32), "x"), {}, TypeError, "K must be a whole number; got 'x'"),
        ((NINE, (32, 32, 32), 0), {}, ValueError, "K must be at least 1; got 0"),
        ((PidOrder("f", 1, 1, [], []),), {}, ValueError, "an order has no programs"),
    ],
)
def test_what_cannot_be_drawn_says_why(args, more, error, words):
    with pytest.raises(error, match=words):
        pid_map(*args, **more)


def test_samples_have_names_of_their_own():
    names = [name for name, _ in samples()]
    assert len(set(names)) == len(names) and all(n.startswith("pid-map-") for n in names)
