"""What measurements know about themselves, and how they are chosen, joined and printed."""

import subprocess
import sys

import pytest

from tritonlab.bench.measurement import RESOLUTION, Failure, Measurement, Measurements, Timing


def test_rates_come_from_bytes_and_operations(origin):
    m = Measurement("op", "tritonlab", (10,), "float32", Timing(2e-6, 1e-6, 3e-6, 5), origin, bytes=8000, flops=1000)
    assert m.gbps == pytest.approx(4.0)
    assert m.tflops == pytest.approx(5e-4)
    assert m.intensity == pytest.approx(0.125)
    assert (m.gpu, m.torch, m.triton, m.date, m.method) == ("Test GPU 9000", "2.11.0", "3.6.0", "2026-11-30T10:20:30Z", "by hand")


def test_without_a_cost_there_is_no_rate(origin):
    m = Measurement("op", "yours", (10,), "float32", Timing(2e-6, 1e-6, 3e-6, 5), origin)
    assert m.gbps is m.tflops is m.intensity is None
    assert "µs" in repr(Measurements((m,))) and "GB/s" not in repr(Measurements((m,)))


@pytest.mark.parametrize("numbers", [(1, 2, 3, 1), (2, 1, 1.5, 1), (1, 0, 2, 1), (float("nan"), 1, 2, 1), (1, 1, float("inf"), 1), (1, 1, 1, 0)])
def test_a_timing_that_makes_no_sense_is_refused(numbers):
    with pytest.raises(ValueError, match="a timing needs"):
        Timing(*numbers)


def test_spread_is_the_farther_end():
    assert Timing(10e-6, 9e-6, 13e-6, 5).spread == pytest.approx(0.3)


def test_timings_agree_when_their_spreads_meet():
    a = Timing(100e-6, 98e-6, 102e-6, 5)
    assert a.agrees(Timing(103e-6, 101e-6, 105e-6, 5))
    assert a.agrees(Timing(102e-6 + RESOLUTION, 102e-6 + RESOLUTION * 0.99, 103e-6, 5))
    assert not a.agrees(Timing(105e-6, 103e-6, 107e-6, 5))
    assert not Timing(105e-6, 103e-6, 107e-6, 5).agrees(a)


def test_the_label_says_gpu_versions_date_and_how(sweep_of):
    now = sweep_of()
    assert now.labels == ("Test GPU 9000 · torch 2.11.0 · Triton 3.6.0 · 2026-11-30 · measured now",)
    assert now.as_recorded().labels == ("Test GPU 9000 · torch 2.11.0 · Triton 3.6.0 · 2026-11-30 · recorded",)


def test_where_chooses_and_names_what_there_is(sweep_of):
    import torch

    ms = sweep_of()
    assert len(ms.where(dtype="float32")) == len(ms.where(dtype=torch.float32)) == 6
    assert {m.implementation for m in ms.where(shape=4096, implementation="torch")} == {"torch"}
    assert len(ms.where(keep=lambda m: m.numel > 4096)) == 8
    assert ms.where(dtype="float32").roofs is ms.roofs
    with pytest.raises(ValueError, match="no measurement has dtype 'float16'; there is float32, bfloat16"):
        ms.where(dtype="float16")
    with pytest.raises(ValueError, match="keep accepted none"):
        ms.where(keep=lambda m: False)


def test_sum_joins_measurements_of_a_sweep(sweep_of):
    ms = sweep_of()
    joined = sum([ms.where(shape=4096), ms.where(shape=2**20)])
    assert len(joined) == 8 and joined.shapes == ((4096,), (2**20,)) and joined.roofs is ms.roofs
    with pytest.raises(TypeError):
        ms + 1


def test_the_table_prints_the_same_numbers_as_text_and_html(sweep_of):
    ms = sweep_of().as_recorded()
    text, html = repr(ms), ms._repr_html_()
    assert text == TABLE
    for number in ("4.01", "7.93", "3,980", "1,761"):
        assert number in text and f"<td>{number}</td>" in html
    assert "Test GPU 9000 · torch 2.11.0 · Triton 3.6.0 · 2026-11-30 · recorded" in html
    assert 'scope="colgroup"' in html and "2<sup>28</sup>" in html
    assert html.count("<tr>") == 2 + 6


TABLE = """\
vector_add · Test GPU 9000 · torch 2.11.0 · Triton 3.6.0 · 2026-11-30 · recorded
                          tritonlab                     torch
shape  dtype       GB/s    µs   ±  graph µs    GB/s     µs   ±  graph µs
2^12   float32     12.3  4.01  2%      2.00    12.2   4.02  2%      2.00
2^20   float32    1,761  7.15  2%             1,586   7.93  2%
2^28   float32    3,980   809  2%             3,187  1,011  2%
2^12   bfloat16    12.3  4.01  2%      2.00    12.2   4.02  2%      2.00
2^20   bfloat16   1,761  7.15  2%             1,586   7.93  2%
2^28   bfloat16   3,980   809  2%             3,187  1,011  2%
µs: median of single calls, L2 cleared; ±: spread, four calls in five lie
within. graph µs: the same call inside a CUDA graph, no gaps between launches,
L2 not cleared.
Roofs: copy of 2 GiB 4,000 GB/s, bfloat16 matmul of 8192³ 500 TFLOP/s, smallest
launch 4.00 µs."""


def test_names_are_escaped_in_html(origin):
    m = Measurement("op", "<b>mine</b>", (1,), "float32", Timing(1e-6, 1e-6, 1e-6, 1), origin)
    assert "&lt;b&gt;mine" in Measurements((m,))._repr_html_() and "<b>mine" not in Measurements((m,))._repr_html_()


def test_runs_of_two_dates_stay_apart_in_one_table(sweep_of):
    both = sweep_of().where(dtype="float32") + sweep_of(date="2027-01-01T00:00:00Z").where(dtype="float32")
    text = repr(both)
    assert "(1) vector_add · Test GPU 9000" in text and "(2) Test GPU 9000" in text and "2027-01-01" in text
    assert "tritonlab (1)" in text and "torch (2)" in text


def test_compute_bound_measurements_are_in_tflops(origin):
    m = Measurement("matmul", "torch", (4096, 4096, 4096), "bfloat16", Timing(2e-4, 1.9e-4, 2.1e-4, 5), origin, 3 * 2 * 4096**2, 2 * 4096**3)
    text = repr(Measurements((m,)))
    assert "TFLOP/s" in text and "687" in text and "4096×4096×4096" in text


@pytest.fixture
def swept(origin):
    """Two tiles × three GROUP_M, and a config that did not run."""
    items = tuple(
        Measurement(
            "group_m", "grouped", (8192,) * 3, "bfloat16", Timing(time, time, time, 9), origin, 402653184, 2 * 8192**3,
            config=(("BLOCK_M", block), ("GROUP_M", group)),
            counters=(("dram__bytes_read.sum", 1.3e10), ("lts__t_sector_hit_rate.pct", 48.94)) if group == 1 else (),
        )
        for block, time in ((64, 4e-3), (128, 2e-3))
        for group in (1, 8, "whole column")
    )  # fmt: skip
    failed = Failure("group_m", "grouped", (8192,) * 3, "bfloat16", "out of shared memory", (("BLOCK_M", 256), ("GROUP_M", 1)))
    return Measurements(items, failures=(failed,))


def test_configs_are_looked_up_and_chosen_by(swept):
    m = swept.where(config={"BLOCK_M": 128, "GROUP_M": 8})[0]
    assert m.meta == {"BLOCK_M": 128, "GROUP_M": 8} and m.meta["BLOCK_M"] == 128
    assert len(swept.where(config={"GROUP_M": "whole column"})) == 2
    assert swept.where(config={"GROUP_M": 1})[0].counted["dram__bytes_read.sum"] == 1.3e10
    assert len({m.key for m in swept}) == len(swept)
    with pytest.raises(ValueError, match="no measurement has GROUP_M 3 in its config; there is 1, 8, whole column"):
        swept.where(config={"GROUP_M": 3})
    with pytest.raises(ValueError, match="no measurement has num_warps 4 in its config; there is nothing"):
        swept.where(config={"num_warps": 4})


def test_what_failed_is_chosen_with_the_rest_and_joined_once(swept):
    assert len(swept.where(op="group_m").failures) == len(swept.where(config={"GROUP_M": 1}).failures) == 1
    assert swept.where(config={"BLOCK_M": 128}).failures == ()
    assert len((swept + swept).failures) == 1


def test_the_table_of_a_sweep_has_a_row_a_config_and_says_what_failed(swept):
    text, html = repr(swept), swept._repr_html_()
    rows = [line.split() for line in text.splitlines() if line.startswith("8192")]
    assert rows[0] == ["8192×8192×8192", "bfloat16", "64", "1", "275", "4,000", "0.0%", "13.0", "48.9"]
    assert rows[1] == ["8192×8192×8192", "bfloat16", "64", "8", "275", "4,000", "0.0%"] and len(rows) == 6
    for word in ("BLOCK_M", "GROUP_M", "read GB", "L2 hit %", "Not measured: 1 × out of shared memory."):
        assert word in text and word in html
    assert "BLOCK_M=64 GROUP_M=1" in repr(swept[0])


def test_measurements_need_neither_torch_nor_matplotlib():
    code = (
        "import sys, types; package = types.ModuleType('tritonlab'); package.__path__ = ['tritonlab']; sys.modules['tritonlab'] = package\n"
        "import tritonlab.bench.measurement, tritonlab.bench.tables\n"
        "loaded = {'torch', 'triton', 'matplotlib'} & set(sys.modules); assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=_root())


def _root():
    from pathlib import Path

    return Path(__file__).resolve().parents[2]
