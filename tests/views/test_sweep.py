"""The explorer's data are the measurements and the compiler's figures, matched by config and shape."""

from __future__ import annotations

import dataclasses
import json

import pytest

from tritonlab.bench.measurement import Failure, Measurements
from tritonlab.compiler.record import Figure, Figures, figure
from tritonlab.views import specimens_compiled as s
from tritonlab.views.specimens_sweep import swept
from tritonlab.views.sweep import label, samples, sweep
from tritonlab.views.sweep_data import ranked

MS, FIGURES = swept()
CUBE = (4096,) * 3


def case(view, name="4096³"):
    return next(c for c in json.loads(json.dumps(view.data))["cases"] if c["name"] == name)


def test_points_are_the_measurements_fastest_first():
    view = sweep(MS)
    points = case(view)["points"]
    every = ranked(MS, (CUBE, "bfloat16"))
    assert [view.data["configs"][p["config"]]["label"] for p in points] == [label(m.config) for m in every]
    for p, m in zip(points, every):
        assert p["tflops"] == pytest.approx(m.tflops) and p["share"] == pytest.approx(every[0].seconds / m.seconds)
        assert p["low"] == pytest.approx(m.flops / m.timing.high / 1e12) and p["low"] <= p["tflops"] <= p["high"]
    assert points[0]["share"] == 1 and points[0]["tie"] is False


def test_torch_is_a_line_and_no_point():
    assert [(line["name"], round(line["tflops"])) for line in case(sweep(MS))["lines"]] == [("torch", 720)]


def test_parameters_to_filter_by_are_those_that_differ():
    assert [k for k, _ in sweep(MS).data["parameters"]] == ["BLOCK_M", "BLOCK_N", "num_warps", "num_stages"]
    view = sweep(MS.where(config={"num_stages": 3}))
    assert [k for k, _ in view.data["parameters"]] == ["BLOCK_M", "BLOCK_N", "num_warps"]
    assert view.data["parameters"][0][1] == [32, 64, 128, 256]
    assert all(len(c["values"]) == 3 for c in view.data["configs"])


def test_values_that_are_words_and_numbers_are_sorted():
    mixed = [dataclasses.replace(m, config=(("GROUP_M", g),)) for m, g in zip(MS, (8, "whole column", 1))]
    assert sweep(mixed).data["parameters"] == [["GROUP_M", [1, 8, "whole column"]]]


def test_the_compiler_s_figures_are_found_by_config():
    for p in case(sweep(MS, FIGURES))["points"]:
        config = dict(sweep(MS, FIGURES).data["configs"][p["config"]]), p["said"]
        assert config[1]["tensor"] == "wgmma" and config[1]["instructions"] >= 500


def test_without_figures_the_driver_s_counters_are_shown_with_occupancy():
    p = case(sweep(MS))["points"][0]["said"]
    assert set(p) == {"registers", "spilled", "shared", "programs", "limiter"} and p["programs"] >= 1
    bare = Measurements(tuple(dataclasses.replace(m, counters=()) for m in MS))
    assert case(sweep(bare))["points"][0]["said"] is None and sweep(bare).data["compiler"] == ""


def test_figures_of_one_shape_are_not_taken_for_another():
    m = next(m for m in MS if m.shape == CUBE and m.config)
    f = Figure(m.config, ((512,) * 3,), "sm_90", "3.7.1", registers=7, shared=3, programs=1, limiter="warps")
    bare = dataclasses.replace(m, counters=())
    assert case(sweep([bare], [f]))["points"][0]["said"] is None
    assert case(sweep([bare], [dataclasses.replace(f, shapes=(CUBE,))]))["points"][0]["said"]["registers"] == 7
    other = dataclasses.replace(f, shapes=(), config=m.config[:-1])
    assert case(sweep([bare], [other]))["points"][0]["said"] is None, "a config that says less is another"


def test_compiled_kernels_are_taken_too():
    c = s.matmul((128, 128, 64), 8, 3)
    config = (("BLOCK_M", 128), ("BLOCK_N", 128), ("BLOCK_K", 64), ("num_warps", 8), ("num_stages", 3))
    m = dataclasses.replace(next(m for m in MS if m.config), config=config)
    for given in (c, [c], Figures((figure(c),))):
        said = sweep([m], given).data["cases"][0]["points"][0]["said"]
        assert (said["registers"], said["shared"], said["tensor"]) == (115, 96 * 1024, "wgmma")


def test_what_did_not_run_says_why():
    failed = case(sweep(MS, FIGURES))["failed"]
    assert [f["reason"] for f in failed] == ["needs 256 KiB of shared memory, and a program on sm_90 gets at most 227 KiB"] * 2
    reason = "OutOfResources: out of resource: shared memory, Required: 245760, Hardware limit: 232448. Reducing block sizes may help."
    told = Measurements(MS.items, failures=(Failure("op", "grouped", CUBE, "bfloat16", reason, (("BLOCK_M", 512),)),))
    assert case(sweep(told))["failed"][0]["reason"] == "needs 240 KiB of shared memory, and a program gets at most 227 KiB"
    assert "1 did not run somewhere" in repr(sweep(told))


def test_look_up_tables_name_their_configs():
    view = sweep(MS)
    rows = {r["name"]: r for r in view.data["lookups"]}
    assert rows["best of 512³"]["shares"][0] == 1 and len(rows["best of 512³"]["shares"]) == 3
    assert {len(set(t["configs"])) for t in view.data["tables"]} == {1, 2}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ((("BLOCK_M", 64), ("BLOCK_N", 32), ("BLOCK_K", 16), ("num_warps", 1), ("num_stages", 4)), "64×32×16, 1 warp, 4 stages"),
        ((("BLOCK_SIZE", 1024), ("num_warps", 4)), "BLOCK_SIZE 1024, 4 warps"),
        ((("GROUP_M", "whole column"), ("num_stages", 1)), "GROUP_M whole column, 1 stage"),
    ],
)
def test_words_of_a_config(config, words):
    assert label(config) == words


def test_repr_names_the_fastest_of_each_shape():
    view = sweep(MS.where(shape=(512,) * 3), FIGURES)
    assert repr(view) == "<SweepView 36 configs × 1 shape; 512³ 32×32×64, GROUP_M 8, 8 warps, 4 stages; 2 did not run somewhere>"


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (3, TypeError, "it got a int"),
        ("matmul_configs", TypeError, "it got a str"),
        ([3], TypeError, "it got a int"),
        ([], ValueError, "none of the measurements has a config"),
        (MS.where(implementation="torch"), ValueError, "none of the measurements has a config"),
    ],
)
def test_other_things_are_refused(given, error, words):
    with pytest.raises(error, match=words):
        sweep(given)


def test_other_figures_and_targets_are_refused():
    with pytest.raises(TypeError, match="compiled takes .* got int"):
        sweep(MS, 3)
    with pytest.raises(TypeError, match="it holds a int"):
        sweep(MS, [3])
    with pytest.raises(ValueError, match="target is 'sm_91'"):
        sweep(MS, target="sm_91")
    with pytest.raises(ValueError, match=r"target is \[\]"):
        sweep(MS, target=[])


def test_samples_have_names_of_their_own():
    names = [name for name, _ in samples()]
    assert len(set(names)) == len(names) >= 3
