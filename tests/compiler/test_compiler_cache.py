import os

import pytest

from tritonlab.compiler import cache


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITONLAB_CACHE", str(tmp_path))


def test_an_answer_comes_back():
    assert cache.get("a") is None
    cache.put("a", {"asm": {"ptx": "µ"}, "shared": 3})
    assert cache.get("a") == {"asm": {"ptx": "µ"}, "shared": 3}
    assert [p.name for p in cache.folder().iterdir()] == ["a.tlc"], "no half-written file is left"


@pytest.mark.parametrize(
    "damage",
    [lambda raw: raw[: len(raw) // 2], lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]), lambda raw: b"", lambda raw: b"x" * 40],
)
def test_a_damaged_file_is_as_good_as_none(damage):
    cache.put("a", {"shared": 3})
    path = cache.folder() / "a.tlc"
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get("a") is None
    cache.put("a", {"shared": 4})
    assert cache.get("a") == {"shared": 4}


def test_the_oldest_go_when_there_are_too_many(monkeypatch):
    monkeypatch.setattr(cache, "MOST", 3)
    for i in range(5):
        cache.put(str(i), {"i": i})
        os.utime(cache.folder() / f"{i}.tlc", (i, i))
    cache.put("5", {"i": 5})
    assert sorted(p.stem for p in cache.folder().iterdir()) == ["3", "4", "5"]


def test_the_oldest_go_when_they_are_too_large(monkeypatch):
    cache.put("old", {"text": os.urandom(500).hex()})
    os.utime(cache.folder() / "old.tlc", (1, 1))
    monkeypatch.setattr(cache, "LARGEST", 900)
    cache.put("new", {"text": os.urandom(500).hex()})
    assert cache.get("old") is None and cache.get("new") is not None


def test_a_folder_that_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("TRITONLAB_CACHE", str(file))
    cache.put("a", {})
    assert cache.get("a") is None
