"""A stopwatch that needs no GPU, and measurements made by hand."""

import pytest

from tritonlab.bench import library
from tritonlab.bench.measurement import Measurement, Measurements, Origin, Roof, Roofs, Timing


class FakeTimer:
    """Gives the seconds that ``seconds(fn)`` says, slightly apart; calls ``fn`` once as a real timer would."""

    device = "cpu"

    def __init__(self, seconds=lambda fn: 1e-5, graphs=True):
        self.seconds, self.graphs = seconds, graphs
        self.called, self.finished, self.graphed, self.warmed = [], 0, [], []

    def calls(self, fn, milliseconds):
        fn()
        self.called.append(fn)
        middle = self.seconds(fn)
        return [middle * (1 + 0.01 * k) for k in (-2, -1, 0, 1, 2)]

    def warm(self, fn, milliseconds):
        self.warmed.append((fn, milliseconds))

    def graph(self, fn, milliseconds):
        self.graphed.append(fn)
        return [self.seconds(fn) / 2] * 3 if self.graphs else None

    def finish(self):
        self.finished += 1


@pytest.fixture
def timer():
    return FakeTimer()


@pytest.fixture
def make_timer():
    return FakeTimer


def timing(seconds, share=0.02, samples=10):
    return Timing(round(seconds, 11), round(seconds * (1 - share), 11), round(seconds * (1 + share), 11), samples)


@pytest.fixture
def origin():
    return Origin("Test GPU 9000", "2.11.0", "3.6.0", "2026-11-30T10:20:30Z", "by hand", (("cuda", "13.0"), ("multiprocessors", 132)))


@pytest.fixture
def roofs():
    return Roofs(Roof("copy of 2 GiB", 4e9, timing(1e-3)), Roof("bfloat16 matmul of 8192³", 1e12, timing(2e-3)), timing(4e-6))


@pytest.fixture
def sweep_of(origin, roofs):
    """``sweep_of(op, gpu=..., date=..., seconds=...)``: two dtypes, three sizes, two implementations."""
    from dataclasses import replace

    def make(op="vector_add", gpu="Test GPU 9000", date="2026-11-30T10:20:30Z", slower=1.0):
        there = replace(origin, gpu=gpu, date=date)
        items = tuple(
            Measurement(
                op, name, (2**power,), dtype, timing(slower * (4e-6 + 12 * 2**power / 4e12 * factor)), there, 12 * 2**power, 2**power,
                timing(2e-6) if power < 14 else None, 1.5e-8,
            )
            for dtype in ("float32", "bfloat16")
            for power in (12, 20, 28)
            for name, factor in (("tritonlab", 1.0), ("torch", 1.25))
        )
        return Measurements(items, roofs)

    return make


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Empty folders for the user's and the shipped records, and a machine without a GPU."""
    own, shipped = tmp_path / "own", tmp_path / "shipped"
    own.mkdir()
    shipped.mkdir()
    monkeypatch.setenv("TRITONLAB_RECORDS", str(own))
    monkeypatch.setattr(library, "shipped_folder", lambda: shipped)
    monkeypatch.setattr(library, "present_gpu", lambda: None)
    return own, shipped
