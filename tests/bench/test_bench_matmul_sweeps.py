"""The sweeps' script for a GPU machine (tests/gpu/matmul_sweeps.py), as far as it goes without one."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tritonlab.bench import counters, records
from tritonlab.bench.measurement import Measurement, Measurements, Timing

PATH = Path(__file__).resolve().parents[1] / "gpu" / "matmul_sweeps.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("matmul_sweeps", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("step", ["group_m", "matmul_configs", "matmul"])
def test_every_sweep_runs_to_a_record(script, step, tmp_path, capsys):
    assert script.bench(step, tmp_path, tiny=True) == 0
    ms = records.read(tmp_path / f"{step}.json")
    assert set(ms.ops) <= set(script.OPS[step]) and all(m.error is not None for m in ms)
    assert "measurements written to" in capsys.readouterr().out


def test_each_kernel_is_compiled_once_for_all_shapes_that_specialise_alike(script, monkeypatch):
    real = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *size, device=None, **more: real(*size, **more))
    items = script.wanted()
    assert len(items) == len({repr(item) for item in items}) and len(items) < 300
    whole = [config for name, config, *_ in items if config.get("GROUP_M") == "whole column" and config["BLOCK_M"] == 128]
    assert len(whole) == 2  # of 32, 64 and 128 rows of tiles; 32 is a GROUP_M of the sweep already


def test_what_is_counted_is_a_part_of_the_sweep(script):
    from tritonlab.bench.ops import cases_of

    swept = {(case.shape, *point) for case in cases_of(["group_m"]) for point in case.swept.values()}
    points = [((size,) * 3, launch.implementation, tuple(launch.config.items())) for launch, size in script.points(tiny=False)]
    assert len(points) > 15 and set(points) <= swept


@pytest.fixture
def counted(script, tmp_path, monkeypatch, origin):
    """The step with an ncu that counted two launches, for a record of the sweep in ``tmp_path``."""
    points = list(script.points(tiny=False))[:2]
    items = tuple(
        Measurement("group_m", p.implementation, (s,) * 3, "bfloat16", Timing(1e-3, 1e-3, 1e-3, 3), origin, config=tuple(p.config.items()))
        for p, s in points
    )
    records.write(tmp_path / "group_m.json", Measurements(items))
    launched = [
        {"implementation": p.implementation, "shape": [s] * 3, "config": p.config, "kernel": p.kernel.fn.__name__, "grid": list(p.grid(s, s))}
        for p, s in points
    ]
    (tmp_path / "launched.json").write_text(json.dumps(launched))
    (tmp_path / "ncu.csv").write_text("")
    found = [counters.Counted(one["kernel"], f"({one['grid'][0]}, 1, 1)", (("dram__bytes_read.sum", 1e9 + i),)) for i, one in enumerate(launched)]
    monkeypatch.setattr(script.subprocess, "run", lambda *args, **more: script.subprocess.CompletedProcess(args, 0))
    monkeypatch.setattr(counters, "find_ncu", lambda: "ncu")
    monkeypatch.setattr(counters, "parse", lambda text: found)
    return found


def test_counters_are_put_into_the_record(script, counted, tmp_path):
    assert script.counters(tmp_path, tiny=False) == 0
    ms = records.read(tmp_path / "group_m.json")
    assert [m.counted["dram__bytes_read.sum"] for m in ms] == [1e9, 1e9 + 1]


def test_a_launch_that_is_another_than_was_made_stops_the_pairing(script, counted, tmp_path, capsys):
    counted[1] = replace(counted[1], grid="(7, 1, 1)")
    assert script.counters(tmp_path, tiny=False) == 1
    assert "are not those made" in capsys.readouterr().out
    assert [bool(m.counters) for m in records.read(tmp_path / "group_m.json")] == [True, False]


def test_without_ncu_nothing_is_counted_and_said_so(script, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(counters, "find_ncu", lambda: None)
    assert script.counters(tmp_path, tiny=False) == 2
    assert "there is no ncu here" in capsys.readouterr().out
