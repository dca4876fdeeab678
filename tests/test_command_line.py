"""``python -m tritonlab``: help, dispatch, and commands imported only when called."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path

import pytest

from tritonlab import __main__ as command_line

ROOT = Path(__file__).resolve().parents[1]


def test_alone_it_prints_help_with_every_command(capsys):
    assert command_line.main([]) == 0
    out = capsys.readouterr().out
    for name in ("start", "reset", "doctor", "build", "bench", "screenshots", "latency", "versions", "overhead"):
        assert f"\n  {name}" in out


def test_an_unknown_command_is_an_error_that_lists_those_there_are(capsys):
    assert command_line.main(["strat"]) == 2
    err = capsys.readouterr().err
    assert "there is no command 'strat'" in err and "start" in err


def test_a_command_gets_its_arguments_and_gives_its_exit_code(monkeypatch):
    seen = []
    stub = types.SimpleNamespace(main=lambda argv: seen.append(argv) or 3)
    monkeypatch.setitem(sys.modules, "tritonlab.bench.command", stub)
    assert command_line.main(["bench", "softmax", "--repeat", "2"]) == 3
    assert seen == [["softmax", "--repeat", "2"]]


def test_a_command_that_is_interrupted_ends_without_a_traceback(monkeypatch, capsys):
    def stopped(argv):
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "tritonlab.bench.command", types.SimpleNamespace(main=stopped))
    assert command_line.main(["bench"]) == 130
    assert capsys.readouterr().err == "stopped\n"


@pytest.mark.parametrize("name", ["start", "reset", "doctor", "build"])
def test_every_command_of_ours_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as ended:
        command_line.main([name, "--help"])
    assert ended.value.code == 0
    assert f"python -m tritonlab {name}" in capsys.readouterr().out


def test_help_works_as_a_process_and_loads_no_command():
    code = (
        "import sys, runpy; sys.argv = ['tritonlab', 'help']\n"
        "try: runpy.run_module('tritonlab', run_name='__main__')\n"
        "except SystemExit as e: assert e.code == 0\n"
        "from tritonlab.__main__ import COMMANDS\n"
        "print([c for c, (m, _) in COMMANDS.items() if m.split(':')[0] in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: python -m tritonlab") and done.stdout.endswith("[]\n")
