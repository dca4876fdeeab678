"""The doctor: each thing a machine may lack is named, with what to do about it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tritonlab import doctor


def test_linux_and_wsl_will_do_and_others_are_told_where_to_go():
    assert doctor.check_system("Linux", "6.1.0").what == "Linux"
    assert doctor.check_system("Linux", "5.15-microsoft-standard-WSL2").what == "Linux (WSL2)"
    for system in ("Darwin", "Windows"):
        found = doctor.check_system(system, "")
        assert found.state == "FIX" and "devcontainer" in found.advice


@pytest.mark.parametrize("version, state", [((3, 10), "FIX"), ((3, 11), "ok"), ((3, 14), "ok"), ((3, 15), "FIX")])
def test_pythons_that_have_no_wheels_are_refused(version, state):
    assert doctor.check_python(version, "x", True).state == state


def test_packages_are_compared_with_the_pins():
    wanted = doctor.pins("# a comment\ntorch==2.13.0\ntriton==3.7.1\n-e .\n")
    assert wanted == {"torch": "2.13.0", "triton": "3.7.1"}
    assert [f.state for f in doctor.check_packages(wanted, {"torch": "2.13.0+cpu", "triton": "3.7.1"}.get)] == ["ok"]
    missing, other = doctor.check_packages(wanted, {"torch": "2.12.0"}.get)
    assert (missing.state, missing.what) == ("FIX", "not installed: triton")
    assert (other.state, other.what.split(": ", 1)[1]) == ("note", "torch 2.12.0 (tested: 2.13.0)")


@pytest.mark.parametrize("value, found", [(None, False), ("0", False), ("1", True)])
def test_a_set_triton_interpret_is_named(value, found):
    environ = {} if value is None else {"TRITON_INTERPRET": value}
    assert bool(doctor.check_interpret(environ)) is found


def fake_torch(available: bool, cuda: str | None = "13.0") -> SimpleNamespace:
    properties = SimpleNamespace(name="NVIDIA H200", total_memory=150e9, major=9, minor=0)
    return SimpleNamespace(
        cuda=SimpleNamespace(is_available=lambda: available, get_device_properties=lambda index: properties),
        version=SimpleNamespace(cuda=cuda),
    )


@pytest.mark.parametrize(
    "torch, environ, driver, says",
    [
        (fake_torch(True), {}, True, "GPU: NVIDIA H200, 150 GB, sm_90"),
        (fake_torch(False), {}, False, "no GPU: kernels run in Triton's interpreter"),
        (fake_torch(False), {"CUDA_VISIBLE_DEVICES": ""}, True, "hidden by CUDA_VISIBLE_DEVICES"),
        (fake_torch(False, None), {}, True, "built without CUDA"),
        (fake_torch(False), {}, True, "needs a driver for CUDA 13.0"),
        (None, {}, True, "torch cannot be imported"),
    ],
)
def test_the_gpu_or_why_there_is_none(torch, environ, driver, says):
    found = doctor.check_gpu(torch, environ, driver)
    assert says in found.what and found.state != "FIX"


def test_a_gpu_comes_with_the_word_that_it_is_not_guarded():
    assert "not guarded" in doctor.check_gpu(fake_torch(True), {}, True).advice


def test_chromium_is_only_an_authors_need(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("TRITONLAB_CHROMIUM", raising=False)
    found = doctor.check_browser()
    assert found.state == "note" and "apt-get install chromium" in found.advice


def test_a_clone_without_chapters_is_to_be_fixed_and_copies_are_counted(tmp_path):
    assert doctor.check_chapters(tmp_path).state == "FIX"
    for name in ("notebooks/01_a.ipynb", "notebooks/02_b.ipynb", "my/01_a.ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = doctor.check_chapters(tmp_path)
    assert found.what == "2 chapters, 1 of them in my/" and "start" in found.advice


@pytest.mark.parametrize("states, code, says", [(["ok", "note"], 0, "ready"), (["ok", "FIX"], 1, "1 thing to fix")])
def test_the_exit_code_says_whether_there_is_something_to_fix(monkeypatch, capsys, states, code, says):
    monkeypatch.setattr(doctor, "examine", lambda: [doctor.Finding(state, "x", "do") for state in states])
    assert doctor.main([]) == code
    assert says in capsys.readouterr().out
