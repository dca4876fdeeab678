"""Records are written whole or not at all, and read with every field checked."""

import json
import os

import pytest

from tritonlab.bench import records
from tritonlab.bench.errors import RecordError
from tritonlab.bench.measurement import Failure, Measurement, Measurements, Timing


@pytest.fixture
def path(tmp_path, sweep_of):
    return records.write(tmp_path / "deep" / "record.json", sweep_of())


def edit(path, change):
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def test_what_is_written_is_read_back(path, sweep_of):
    back = records.read(path)
    assert back == sweep_of().as_recorded()
    assert back.roofs == sweep_of().roofs
    assert back[0].origin.details == (("cuda", "13.0"), ("multiprocessors", 132))


def test_a_record_is_readable_a_line_a_measurement(path, sweep_of):
    lines = path.read_text().splitlines()
    assert sum(line.startswith('{"op"') for line in lines) == len(sweep_of())
    assert oct(path.stat().st_mode)[-3:] == "644"


FIELDS = ["schema", "gpu", "torch", "triton", "date", "method", "details", "roofs", "notes", "measurements"]
ROW_FIELDS = ["op", "implementation", "shape", "dtype", "time", "graph", "bytes", "flops", "error"]


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: f"no-{field}")
def test_a_missing_field_is_named_with_its_file(path, field):
    edit(path, lambda data: data.pop(field))
    with pytest.raises(RecordError, match=f"field '{field}' is missing") as caught:
        records.read(path)
    assert str(path) in str(caught.value) and "bench" in caught.value.hint


@pytest.mark.parametrize("field", ROW_FIELDS)
def test_a_missing_field_of_a_measurement_is_named_with_its_place(path, field):
    edit(path, lambda data: data["measurements"][2].pop(field))
    with pytest.raises(RecordError, match=rf"field 'measurements\[2\].{field}' is missing"):
        records.read(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(schema=2), "field 'schema' is 2, written by a newer tritonlab; this one reads schema 1"),
        (lambda d: d.update(schema=0), "older tritonlab"),
        (lambda d: d.update(schema="1"), "field 'schema' must be int, not '1'"),
        (lambda d: d.update(schema=True), "field 'schema' must be int, not True"),
        (lambda d: d.update(gpu=""), "field 'gpu' is empty"),
        (lambda d: d.update(gpu=None), "field 'gpu' must be str, not None"),
        (lambda d: d.update(measurements=[]), "field 'measurements' is empty"),
        (lambda d: d.update(measurements={}), "field 'measurements' must be list"),
        (lambda d: d["measurements"].append(7), r"measurements\[12\] must be an object"),
        (lambda d: d["measurements"][1].update(shape=[4, "x"]), r"measurements\[1\].shape' must hold sizes"),
        (lambda d: d["measurements"][1].update(shape=[-4]), r"measurements\[1\].shape' must hold sizes"),
        (lambda d: d["measurements"][1].update(bytes=1.5), r"measurements\[1\].bytes' must be int"),
        (lambda d: d["measurements"][1]["time"].update(low=9.0), r"measurements\[1\].time': a timing needs"),
        (lambda d: d["measurements"][1]["time"].update(seconds=-1), "a timing needs"),
        (lambda d: d["measurements"][1]["time"].pop("samples"), r"measurements\[1\].time.samples' is missing"),
        (lambda d: d["roofs"]["copy"].update(amount=0), "roofs.copy.amount' must be positive"),
        (lambda d: d["roofs"].pop("launch"), "roofs.launch' is missing"),
        (lambda d: d.update(details={"a": []}), "field 'details' must hold texts and numbers"),
    ],
)
def test_a_wrong_field_is_named(path, change, message):
    edit(path, change)
    with pytest.raises(RecordError, match=message):
        records.read(path)


def test_a_list_for_a_record_is_refused(path):
    path.write_text("[]")
    with pytest.raises(RecordError, match="the file must be an object, not list"):
        records.read(path)


def test_a_half_written_record_is_named(path):
    whole = path.read_bytes()
    for part in (len(whole) // 2, 1, 0, len(whole) - 3):
        path.write_bytes(whole[:part])
        with pytest.raises(RecordError, match="is not whole JSON .* half written") as caught:
            records.read(path)
        assert str(path) in str(caught.value)


def test_a_file_that_is_missing_or_no_text_is_named(tmp_path):
    with pytest.raises(RecordError, match="none.json cannot be read"):
        records.read(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RecordError, match="bytes.json cannot be read"):
        records.read(tmp_path / "bytes.json")


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_a_crash_while_writing_leaves_the_old_record(path, sweep_of, monkeypatch, step):
    before = path.read_bytes()

    def crash(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, step, crash)
    with pytest.raises(KeyboardInterrupt):
        records.write(path, sweep_of(slower=2.0))
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_killed_process_leaves_no_record_that_could_be_read(tmp_path, sweep_of, monkeypatch):
    """A process that dies between writing and moving leaves a file that no reader looks for."""
    monkeypatch.setattr(os, "replace", lambda *args: (_ for _ in ()).throw(OSError("gone")))
    monkeypatch.setattr("pathlib.Path.unlink", lambda self, missing_ok=False: None)
    with pytest.raises(OSError, match="gone"):
        records.write(tmp_path / "record.json", sweep_of())
    assert list(tmp_path.glob("*.json")) == [] and len(os.listdir(tmp_path)) == 1


def test_a_number_that_is_not_finite_is_not_written(tmp_path, origin):
    m = Measurement("op", "x", (1,), "float32", Timing(1e-6, 1e-6, 1e-6, 1), origin, error=float("nan"))
    with pytest.raises(RecordError, match="not finite"):
        records.write(tmp_path / "record.json", Measurements((m,)))
    assert os.listdir(tmp_path) == []


def test_runs_are_not_mixed_in_one_record(tmp_path, sweep_of):
    with pytest.raises(RecordError, match="these come from 2"):
        records.write(tmp_path / "record.json", sweep_of() + sweep_of(date="2027-01-01T00:00:00Z"))
    with pytest.raises(RecordError, match="these come from 0"):
        records.write(tmp_path / "record.json", Measurements())


CONFIG = (("BLOCK_M", 64), ("GROUP_M", "whole column"))


@pytest.fixture
def swept(sweep_of):
    """A sweep over configs: one with counters, and one that did not run."""
    from dataclasses import replace

    first, *rest = sweep_of("group_m").items
    first = replace(first, config=CONFIG, counters=(("dram__bytes_read.sum", 13332977152), ("lts__t_sector_hit_rate.pct", 48.94)))
    failure = Failure("group_m", "grouped", (8192, 8192, 8192), "bfloat16", "OutOfResources: shared memory", (("BLOCK_M", 256),))
    return replace(sweep_of(), items=(first, *rest), failures=(failure,))


def test_configs_counters_and_failures_are_read_back(tmp_path, swept):
    back = records.read(records.write(tmp_path / "record.json", swept))
    assert back == swept.as_recorded()
    assert back[0].config == CONFIG and back[0].counted["lts__t_sector_hit_rate.pct"] == 48.94
    assert back.failures[0].meta == {"BLOCK_M": 256}


def test_a_record_without_them_is_as_it_was_before_there_were_any(path):
    text = path.read_text()
    assert '"config"' not in text and '"counters"' not in text and '"failures"' not in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["measurements"][0].update(config=[]), r"measurements\[0\].config' must be dict"),
        (lambda d: d["measurements"][0].update(config=None), r"measurements\[0\].config' must be dict"),
        (lambda d: d["measurements"][0]["config"].update(BLOCK_M=1.5), r"measurements\[0\].config.BLOCK_M' must be int or str, not 1.5"),
        (lambda d: d["measurements"][0]["config"].update(BLOCK_M=True), r"config.BLOCK_M' must be int or str"),
        (lambda d: d["measurements"][0]["counters"].update(registers="many"), r"counters.registers' must be int or float"),
        (lambda d: d.update(failures={}), "'failures' must be list"),
        (lambda d: d["failures"].append(3), r"failures\[1\] must be an object"),
        (lambda d: d["failures"][0].update(reason=""), r"failures\[0\].reason' is empty"),
        (lambda d: d["failures"][0].pop("shape"), r"failures\[0\].shape' is missing"),
        (lambda d: d["failures"][0]["config"].update(x=[]), r"failures\[0\].config.x' must be int or str"),
    ],
)
def test_a_wrong_field_of_a_sweep_is_named(tmp_path, swept, change, message):
    path = records.write(tmp_path / "record.json", swept)
    edit(path, change)
    with pytest.raises(RecordError, match=message):
        records.read(path)


def test_a_counter_that_is_not_finite_is_not_written(tmp_path, swept):
    from dataclasses import replace

    bad = replace(swept, items=(replace(swept[0], counters=(("x", float("inf")),)),))
    with pytest.raises(RecordError, match="not finite"):
        records.write(tmp_path / "record.json", bad)
