"""The screenshots command, and that its checker finds what is wrong."""

from __future__ import annotations

import pytest

from tritonlab.views import screenshots
from tritonlab.views.photograph import in_thread, new_tab, open_browser

pytestmark = pytest.mark.skipif(screenshots.axe_source() is None, reason="axe-core is missing: pip install axe-playwright-python")

BAD = "<html lang=en><title>t</title><body><input type=range><p style='color:#999;background:#aaa'>pale</p></body></html>"


@pytest.fixture(autouse=True)
def needs_chromium():
    from tritonlab.views.photograph import ChromiumMissing, chromium

    try:
        chromium()
    except ChromiumMissing as missing:
        pytest.skip(str(missing))


def test_a_view_is_written_light_and_dark_wide_and_narrow(tmp_path, capsys):
    assert screenshots.main([str(tmp_path), "--only", "tiles-small"]) == 0
    assert sorted(f.name for f in tmp_path.iterdir()) == [f"tiles-small-{w}-{t}.png" for w in (480, 900) for t in ("dark", "light")]
    assert "1 views, 4 screenshots, 0 serious faults" in capsys.readouterr().out


def test_a_control_without_a_name_and_pale_text_are_serious(tmp_path, monkeypatch, capsys):
    def check():
        with open_browser() as browser:
            tab = new_tab(browser)
            tab.set_content(BAD)
            return screenshots.faults_of(tab, screenshots.axe_source())

    found = in_thread(check)
    assert {f["rule"] for f in found if f["impact"] in screenshots.SERIOUS} == {"label", "color-contrast"}

    class Bad:
        def page(self, title):
            return BAD.replace("<body>", "<body data-tl-ready=true style='min-width:1200px'>")

    monkeypatch.setattr(screenshots, "all_samples", lambda: [("bad", Bad())])
    assert screenshots.main([str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "serious: color-contrast" in printed and "fits-its-width" in printed


def test_no_such_sample_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(screenshots, "all_samples", lambda: [])
    assert screenshots.main([str(tmp_path), "--only", "no such"]) == 2
    assert "no sample's name contains 'no such'" in capsys.readouterr().err
