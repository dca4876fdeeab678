"""Which record ``lab.recorded`` gives."""

import pytest

import tritonlab as lab
from tritonlab.bench import library, records
from tritonlab.bench.errors import RecordError


def test_without_a_gpu_the_shipped_record_is_shown_with_its_label(folders, sweep_of):
    own, shipped = folders
    records.write(shipped / "h.json", sweep_of(gpu="NVIDIA H200"))
    records.write(own / "t.json", sweep_of(gpu="Tesla T4", date="2027-01-01T00:00:00Z"))
    ms = lab.recorded("vector_add")
    assert ms.labels == ("NVIDIA H200 · torch 2.11.0 · Triton 3.6.0 · 2026-11-30 · recorded",)
    assert ms.notes == ()
    assert ms.roofs is not None


def test_a_record_of_the_present_gpu_comes_first_and_the_newest_of_them(folders, sweep_of, monkeypatch):
    own, shipped = folders
    records.write(shipped / "h.json", sweep_of(gpu="NVIDIA H200", date="2028-01-01T00:00:00Z"))
    records.write(shipped / "t.json", sweep_of(gpu="Tesla T4", date="2025-01-01T00:00:00Z"))
    monkeypatch.setattr(library, "present_gpu", lambda: "Tesla T4")
    assert lab.recorded("vector_add")[0].date == "2025-01-01T00:00:00Z"
    records.write(own / "old.json", sweep_of(gpu="Tesla T4", date="2026-01-01T00:00:00Z"))
    records.write(own / "new.json", sweep_of(gpu="Tesla T4", date="2027-01-01T00:00:00Z"))
    assert lab.recorded("vector_add")[0].date == "2027-01-01T00:00:00Z"


def test_on_an_unknown_gpu_the_shipped_record_says_that_it_is_another(folders, sweep_of, monkeypatch):
    records.write(folders[1] / "h.json", sweep_of(gpu="NVIDIA H200"))
    monkeypatch.setattr(library, "present_gpu", lambda: "GPU of next year")
    ms = lab.recorded("vector_add")
    assert ms[0].gpu == "NVIDIA H200"
    assert ms.notes == ("This machine has another GPU (GPU of next year): `python -m tritonlab bench vector_add` measures it.",)
    assert "(GPU of next year)" in repr(ms) and "(GPU of next year)" in ms._repr_html_()


def test_a_gpu_can_be_asked_for_by_part_of_its_name(folders, sweep_of):
    own, shipped = folders
    records.write(shipped / "h.json", sweep_of(gpu="NVIDIA H200"))
    records.write(own / "t.json", sweep_of(gpu="Tesla T4"))
    assert lab.recorded("vector_add", gpu="t4")[0].gpu == "Tesla T4"
    with pytest.raises(RecordError, match="from a GPU 'B200'; there are records from NVIDIA H200, Tesla T4"):
        lab.recorded("vector_add", gpu="B200")


def test_only_the_op_that_was_asked_for_and_its_notes(folders, sweep_of):
    from dataclasses import replace

    both = sweep_of() + sweep_of("softmax")
    records.write(folders[1] / "h.json", replace(both, notes=("softmax 8×8 float32: left out", "vector_add 2^28 float32: left out")))
    ms = lab.recorded("softmax")
    assert ms.ops == ("softmax",) and ms.notes == ("softmax 8×8 float32: left out",)


def test_an_unknown_op_names_those_there_are_with_close_ones_first(folders, sweep_of):
    records.write(folders[1] / "h.json", sweep_of("softmax") + sweep_of("vector_add"))
    with pytest.raises(RecordError, match="no record of 'vectoradd'; there are records of vector_add, softmax") as caught:
        lab.recorded("vectoradd")
    assert caught.value.hint == "did you mean 'vector_add'?"
    with pytest.raises(TypeError, match="takes the name of an op"):
        lab.recorded(len)


def test_with_no_records_at_all_the_error_says_how_to_make_one(folders):
    with pytest.raises(RecordError, match="there are records of nothing") as caught:
        lab.recorded("vector_add")
    assert "python -m tritonlab bench vector_add" in caught.value.hint


def test_a_broken_record_of_the_user_is_passed_over_and_named(folders, sweep_of):
    own, shipped = folders
    records.write(shipped / "h.json", sweep_of())
    (own / "half.json").write_text('{"schema": 1, "gpu"')
    (own / ".half.json.x.tmp").write_text("{")
    ms = lab.recorded("vector_add")
    assert len(ms.notes) == 1 and "Passed over: record" in ms.notes[0] and "half.json is not whole JSON" in ms.notes[0]


def test_a_broken_shipped_record_is_an_error(folders):
    (folders[1] / "h.json").write_text("{}")
    with pytest.raises(RecordError, match="h.json: field 'schema' is missing"):
        lab.recorded("vector_add")


def test_the_users_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("TRITONLAB_RECORDS", str(tmp_path))
    assert library.user_folder() == tmp_path
    monkeypatch.delenv("TRITONLAB_RECORDS")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert str(library.user_folder()) == "/data/tritonlab/records"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert str(library.user_folder()) == "/home/someone/.local/share/tritonlab/records"


SHIPPED = sorted(library.shipped_folder().glob("*.json"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_every_shipped_record_is_whole(path):
    ms = records.read(path)
    assert ms.roofs is not None and ms.roofs.copy and ms.roofs.matmul and ms.roofs.launch
    assert all(m.error is not None and m.bytes for m in ms)


@pytest.mark.skipif(not SHIPPED, reason="no record is shipped yet")
def test_the_shipped_vector_add_is_the_whole_sweep_at_the_speed_of_a_copy():
    ms = lab.recorded("vector_add")
    assert ms.shapes == tuple((2**power,) for power in range(12, 29))
    assert set(ms.dtypes) == {"float32", "float16", "bfloat16"}
    assert ms.implementations == ("tritonlab", "torch", "torch.compile")
    assert len(ms) == 17 * 3 * 3
    # 2^26 elements of float32; 16-bit vectors move as many bytes, and reach the same share, from 2^27
    enough = 3 * 4 * 2**26
    for m in ms.where(implementation="tritonlab", keep=lambda m: m.bytes >= enough):
        assert m.bytes / m.seconds >= 0.98 * ms.roofs.copy.rate, m


def test_the_shipped_products_are_square_thin_and_irregular_against_cublas():
    ms = lab.recorded("grouped_matmul")
    wanted = {(n, n, n) for n in (512, 1024, 2048, 4096, 8192, 16384)} | {(16384, 512, 8192), (512, 16384, 8192), (8191, 4097, 2049), (1000, 1000, 1000)}
    assert wanted <= set(ms.shapes) and {"bfloat16", "float16"} == set(ms.dtypes)
    for shape in wanted:
        found = set(ms.where(shape=shape).implementations)
        assert {"tritonlab tiled", "tritonlab grouped", "tritonlab autotuned", "torch"} <= found
    small = ms.where(shape=(1024, 1024, 1024))
    assert all(m.graph is not None for m in small)  # without L2 cleared, too
    assert {"tritonlab ieee", "tritonlab tf32"} <= set(lab.recorded("matmul").implementations)


def test_the_shipped_sweep_over_group_m_is_whole_and_its_traffic_counted():
    from tritonlab.bench.ops import cases_of

    ms = lab.recorded("group_m")
    for case in cases_of(["group_m"]):
        assert {(m.implementation, m.config) for m in ms.where(shape=case.shape)} == {*case.swept.values(), ("torch", ())}
    counted = [m for m in ms if "dram__bytes_read.sum" in m.counted]
    assert len(counted) >= 20
    for m in counted:
        M, N, K = m.shape
        assert m.counted["dram__bytes_read.sum"] >= 2 * (M * K + K * N) and 0 < m.counted["lts__t_sector_hit_rate.pct"] < 100
        assert all(m.counted[name] >= 0 for name in ("registers", "spilled", "shared"))


def test_the_shipped_configs_are_all_there_or_say_why_not():
    from tritonlab.bench.ops import cases_of

    ms = lab.recorded("matmul_configs")
    for case in cases_of(["matmul_configs"]):
        here = ms.where(shape=case.shape)
        ran, failed = {m.config for m in here} - {()}, {f.config for f in here.failures}
        assert ran | failed == {config for _, config in case.swept.values()} and not ran & failed
        assert len(ran) >= 60 and all(f.reason for f in here.failures)
