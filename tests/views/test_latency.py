"""The latency command's figures."""

from __future__ import annotations

import pytest

from tritonlab.views import latency
from tritonlab.views.photograph import ChromiumMissing


def test_a_line_tells_median_and_95th_percentile_and_whether_the_median_keeps_the_target():
    line, kept = latency.summary("tiles", [float(i) for i in range(1, 22)], 16.0)
    assert kept and "median   11.0 ms" in line and "95 % within   20.0 ms" in line and "21 moves" in line and line.endswith("target 16 ms kept")
    line, kept = latency.summary("tiles", [20.0], 16.0)
    assert not kept and line.endswith("missed")


def test_a_picture_that_never_changes_misses():
    assert latency.summary("tiles", [], 16.0) == (f"{'tiles':<34} nothing changed", False)


def test_without_chromium_it_says_so(monkeypatch, capsys):
    def missing():
        raise ChromiumMissing("no Chromium here")

    monkeypatch.setattr(latency, "open_browser", missing)
    assert latency.main(["--no-live"]) == 2
    assert "no Chromium here" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["--moves", "many"]])
def test_a_wrong_option_is_refused(argv):
    with pytest.raises(SystemExit):
        latency.main(argv)
