"""``python -m tritonlab bench`` without a GPU: refusals, comparing, and the flow around a fake clock."""

import io
import subprocess
import sys

import pytest
import torch

from tritonlab.bench import command, records
from tritonlab.bench.command import Progress, main
from tritonlab.bench.comparing import compare_runs


def test_without_a_gpu_it_says_so_and_what_else_there_is(monkeypatch, capsys, folders):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["vector_add"]) == 2
    said = capsys.readouterr().err
    assert "no GPU" in said and "lab.recorded" in said
    assert list(folders[0].iterdir()) == []


def test_an_unknown_op_is_refused_with_close_names(capsys):
    assert main(["vectoradd"]) == 2
    assert "did you mean 'vector_add'?" in capsys.readouterr().err


def test_the_ops_can_be_listed_without_a_gpu(capsys):
    assert main(["--list"]) == 0
    assert "vector_add  51 cases" in capsys.readouterr().out


@pytest.fixture
def on_fake_gpu(monkeypatch, make_timer, folders):
    """The whole command on the CPU: three small cases, a fake clock, roofs of a few bytes."""
    from tritonlab.bench import ceilings, ops, timing
    from tritonlab.bench.ops import Case

    case = Case(
        "negate", (8,), torch.float32, lambda device: (torch.randn(8),), {"tritonlab": torch.neg, "torch": torch.negative}, ("tritonlab",), (64, 8),
        oracle=lambda x: -x.double(),
    )
    real = ceilings.Ceilings
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(timing, "GpuTimer", make_timer)
    monkeypatch.setattr(ceilings, "Ceilings", lambda timer: real(timer, copy_bytes=1024, matmul_size=8))
    monkeypatch.setattr(ops, "cases_of", lambda names, quick=False: [case])
    return case


def test_it_prints_tables_and_writes_one_record(on_fake_gpu, tmp_path, capsys):
    out = tmp_path / "made" / "record.json"
    assert main(["--out", str(out)]) == 0
    said = capsys.readouterr()
    assert "negate · no GPU (cpu)" in said.out and f"2 measurements in 0 s, written to {out}" in said.out
    assert "100%  done" in said.err
    ms = records.read(out)
    assert len(ms) == 2 and ms.roofs.matmul.amount == 2 * 8**3 and "3 passes" in ms[0].method


def test_without_a_place_the_record_goes_to_the_users_folder_and_is_found(on_fake_gpu, folders):
    import tritonlab as lab

    assert main(["negate", "--quick"]) == 0
    (path,) = folders[0].iterdir()
    assert path.name.startswith("no-gpu-cpu-negate-") and path.suffix == ".json"
    assert "1 passes" in lab.recorded("negate")[0].method


def test_a_wrong_kernel_makes_the_command_fail_but_keeps_the_rest(on_fake_gpu, tmp_path, capsys, monkeypatch):
    from dataclasses import replace

    from tritonlab.bench import ops

    wrong = replace(on_fake_gpu, contenders={"tritonlab": torch.abs, "torch": torch.negative})
    monkeypatch.setattr(ops, "cases_of", lambda names, quick=False: [wrong])
    assert main(["--out", str(tmp_path / "r.json")]) == 1
    assert "FAILED negate 8 float32: tritonlab" in capsys.readouterr().err
    assert records.read(tmp_path / "r.json").implementations == ("torch",)


def test_interrupting_writes_nothing(on_fake_gpu, tmp_path, capsys, monkeypatch):
    from tritonlab.bench import sweep

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "sweep", interrupt)
    assert main(["--out", str(tmp_path / "r.json")]) == 130
    assert "no record is written" in capsys.readouterr().err
    assert not (tmp_path / "r.json").exists()


def test_two_runs_that_agree_and_two_that_do_not(tmp_path, sweep_of, capsys):
    a = records.write(tmp_path / "a.json", sweep_of())
    b = records.write(tmp_path / "b.json", sweep_of(slower=1.03, date="2026-12-01T00:00:00Z"))
    c = records.write(tmp_path / "c.json", sweep_of(slower=1.3))
    assert main(["--compare", str(a), str(b)]) == 0
    assert "12 of 12 shared measurements agree" in capsys.readouterr().out
    assert main(["--compare", str(a), str(c)]) == 1
    said = capsys.readouterr().out
    assert "vector_add tritonlab 2^28 float32: 809 µs ±2% against 1,052 µs ±2% (+30.0%)" in said


def test_runs_without_anything_in_common_do_not_agree(sweep_of):
    report = compare_runs(sweep_of(), sweep_of("softmax"))
    assert not report.agree and report.alone == 24 and "0 of 0" in repr(report)


def test_a_broken_record_is_named(tmp_path, capsys):
    (tmp_path / "x.json").write_text("{")
    assert main(["--compare", str(tmp_path / "x.json"), str(tmp_path / "x.json")]) == 2
    assert "x.json is not whole JSON" in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_on_a_terminal_the_bar_stays_on_one_line():
    stream = Terminal()
    show = Progress(stream)
    for done, what in ((0, "a long name of a case"), (1, "short"), (2, "done")):
        show(done, 2, what)
    assert stream.getvalue().count("\n") == 1 and stream.getvalue().endswith("\n")
    assert "[###############...............]  50%  short" in stream.getvalue()
    lines = stream.getvalue().split("\r")
    assert len(lines[2]) >= len(lines[1])  # a shorter text covers the longer one before it


def test_elsewhere_there_is_a_line_for_every_tenth():
    stream = io.StringIO()
    show = Progress(stream)
    for done in range(101):
        show(done, 100, "case")
    assert len(stream.getvalue().splitlines()) == 11


def test_it_needs_no_jupyter_and_no_matplotlib():
    """The command starts where none of the notebook's packages are installed."""
    code = (
        "import sys\n"
        "for name in ('matplotlib', 'anywidget', 'ipywidgets', 'IPython', 'traitlets', 'nbformat', 'nbclient'): sys.modules[name] = None\n"
        "from tritonlab.__main__ import main; raise SystemExit(main(['bench', '--list']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=command.__file__.rsplit("/tritonlab/", 1)[0])
    assert done.returncode == 0 and "vector_add" in done.stdout, done.stderr
