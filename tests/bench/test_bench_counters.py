"""Nsight Compute's table, read and put beside the times."""

from dataclasses import replace

import pytest

from tritonlab.bench import counters
from tritonlab.bench.counters import METRICS, command, merge, parse
from tritonlab.bench.measurement import Measurements

LONG = '''==PROF== Connected to process 42
==PROF== Profiling "grouped_matmul_kernel" - 0: 0%....100% - 1 pass
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","42","python3.12","127.0.0.1","grouped_matmul_kernel","1","7","(128, 1, 1)","(16384, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","byte","13,332,977,152"
"0","42","python3.12","127.0.0.1","grouped_matmul_kernel","1","7","(128, 1, 1)","(16384, 1, 1)","0","9.0","Command line profiler metrics","lts__t_sector_hit_rate.pct","%","48.94"
"1","42","python3.12","127.0.0.1","matmul_kernel","1","7","(128, 1, 1)","(128, 128, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","byte","9,860,530,688"
"10","42","python3.12","127.0.0.1","matmul_kernel","1","7","(128, 1, 1)","(64, 64, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","byte","1024"
'''

WIDE = '''"ID","Kernel Name","Grid Size","dram__bytes_read.sum","lts__t_sector_hit_rate.pct"
"","","","byte","%"
"0","grouped_matmul_kernel","(16384, 1, 1)","13,332,977,152","48.94"
'''


def test_a_metric_a_row_or_a_launch_a_row():
    first, second, last = parse(LONG)
    assert (first.kernel, first.grid) == ("grouped_matmul_kernel", "(16384, 1, 1)")
    assert dict(first.counters) == {"dram__bytes_read.sum": 13332977152.0, "lts__t_sector_hit_rate.pct": 48.94}
    assert dict(second.counters) == {"dram__bytes_read.sum": 9860530688.0}
    assert last.grid == "(64, 64, 1)"  # in the order of launches: 10 after 1
    assert parse(WIDE) == [first]


@pytest.mark.parametrize("text", ["", "==ERROR== ERR_NVGPUCTRPERM", "==PROF== Connected\n"])
def test_what_holds_no_table_gives_nothing(text):
    assert parse(text) == []


def test_the_command_counts_only_the_named_kernels_and_leaves_the_clocks_alone():
    line = command("ncu", ["matmul_kernel", "swapped_axes_kernel"], "log.csv", ["python", "work.py"])
    assert line[0] == "ncu" and line[-2:] == ["python", "work.py"]
    assert line[line.index("--kernel-name") + 1] == "regex:matmul_kernel|swapped_axes_kernel"
    assert line[line.index("--clock-control") + 1] == "none" and line[line.index("--cache-control") + 1] == "all"
    assert line[line.index("--metrics") + 1].split(",") == list(METRICS)


def test_where_there_is_no_ncu_there_is_none(monkeypatch):
    monkeypatch.setattr(counters.shutil, "which", lambda name: None)
    monkeypatch.setattr(counters, "PLACES", ("/nowhere/*/ncu",))
    assert counters.find_ncu() is None


def test_counters_go_to_the_measurement_with_their_key_and_stay_beside_those_it_has(sweep_of):
    one, other = sweep_of().items[:2]
    one = replace(one, config=(("GROUP_M", 8),), counters=(("registers", 64),))
    merged = merge(Measurements((one, other)), {one.key: (("dram__bytes_read.sum", 1e9),), ("no", "such", (), "key", ()): ()})
    assert merged[0].counted == {"registers": 64, "dram__bytes_read.sum": 1e9}
    assert merged[1] == other
