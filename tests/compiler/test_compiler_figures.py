"""The recorded figures of a sweep: what a GPU's driver said of the same kernels, and how the record is read and made."""

import json

import pytest
import triton
from compiler_work import add_work

import tritonlab as lab
from tritonlab.compiler import Figures, figure, figures, variants
from tritonlab.compiler.sweeps import compile_sweep, main, read, write
from tritonlab.kernels import matmul_configs


@pytest.fixture(scope="module")
def recorded():
    return figures("matmul_configs")


def test_figures_equal_what_the_driver_said_of_the_kernels_it_loaded(recorded):
    """On an H200, with the same Triton: registers, spills and shared memory of every config and shape that was timed."""
    measured = lab.recorded("matmul_configs")
    compared = 0
    for m in measured:
        if not m.config:
            continue
        assert m.triton == recorded[0].triton_version
        f = recorded.find(m.meta, m.shape)
        assert (f.registers, f.spilled, f.shared) == tuple(m.counted[k] for k in ("registers", "spilled", "shared")), (f, m)
        assert not f.problem and f.programs >= 1
        compared += 1
    assert compared >= 240


def test_what_did_not_run_is_what_the_compiler_says_cannot(recorded):
    failures = lab.recorded("matmul_configs").failures
    assert failures and all(recorded.find(f.meta, f.shape).problem for f in failures)
    assert "needs 240 KiB of shared memory" in " ".join(f.problem for f in recorded)


def test_a_sweep_s_figures_can_be_made_again(monkeypatch, recorded, own_cache):
    """Those of sizes that 16 divides; of others the kernel may have learnt more since the sweep was timed."""
    kept = {"grouped": [run for run in matmul_configs.launches() if run.config["BLOCK_M"] == 32][:2]}["grouped"]
    monkeypatch.setattr(matmul_configs, "launches", lambda: kept)
    made = compile_sweep("matmul_configs", "sm_90")
    assert len(made) == 4  # two configs, each as two kernels: sizes that 16 divides, and others
    for f in made:
        old = recorded.find(f.config, f.shapes[0])
        assert f.shapes == old.shapes
        if any(size % 16 for size in f.shapes[0]):
            continue
        assert (f.shared, f.tensor_cores, f.stages, f.slots) == (old.shared, old.tensor_cores, old.stages, old.slots)
        if triton.__version__ == old.triton_version:
            assert f == old


def test_a_record_comes_back(tmp_path, own_cache):
    made = [figure(c, shapes=((98432,),)) for c in variants(add_work(), num_warps=[2, 4])]
    write(tmp_path / "x.json", made, "add")
    assert read(tmp_path / "x.json") == Figures(tuple(made))
    assert made[0].config == (("BLOCK_SIZE", 1024), ("num_warps", 2), ("num_stages", 3)) and made[0].tensor_cores == ""
    assert repr(read(tmp_path / "x.json")) == f"<Figures of 2 kernels for sm_90, Triton {triton.__version__}>"
    assert "spilled" not in (tmp_path / "x.json").read_text(), "what is as ever is not written"


def test_a_figure_is_found_by_config_and_shape(recorded):
    f = recorded[0]
    assert recorded.find(dict(f.config), f.shapes[0]) == f and recorded.find(f.config) == f
    assert recorded.find(f.config, (1, 2, 3)) is None and recorded.find({"BLOCK_M": 7}) is None
    assert isinstance(recorded[:2], Figures) and len(recorded[:2]) == 2


@pytest.mark.parametrize("damage", [lambda d: d.pop("target"), lambda d: d.update(schema=9), lambda d: d["figures"][0].update(speed=3)])
def test_a_damaged_record_is_named(tmp_path, damage):
    path = tmp_path / "x.json"
    write(path, figures("matmul_configs")[:2], "x")
    data = json.loads(path.read_text())
    damage(data)
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match="x.json is not a record of figures: .*make it again"):
        read(path)


def test_an_unknown_sweep_is_refused():
    with pytest.raises(ValueError, match="no figures are recorded of 'nonsense' for 'sm_90'; there are .*matmul_configs-sm_90"):
        figures("nonsense")


def test_the_command_writes_where_it_is_told(tmp_path, monkeypatch, capsys, own_cache):
    monkeypatch.setattr(matmul_configs, "launches", lambda: [])
    monkeypatch.setattr("tritonlab.compiler.sweeps.compile_sweep", lambda op, target: list(figures("matmul_configs")[:3]))
    assert main(["matmul_configs", "--out", str(tmp_path / "y.json")]) == 0
    assert len(read(tmp_path / "y.json")) == 3 and "3 kernels for sm_90" in capsys.readouterr().err
