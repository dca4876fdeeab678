"""Traffic counted by hand, against a plain simulation, and its properties."""

from collections import OrderedDict

import numpy as np
import pytest

from tritonlab.analysis import GPUS, Gpu, PidOrder, l2_traffic, lru_fetches
from tritonlab.views.pid_map import _played as grouped

TILE = (64, 64, 32)
PANEL = 64 * 64 * 2  # bytes of a panel of a matrix with K = 64
IN_STEP, ALONE = "in step", "one after another"


def simulated(order, tile, K, capacity, wave, chunks, itemsize=2):
    """Panels cut into chunks along K, and an LRU cache that holds whole chunks."""
    held, used, fetched = OrderedDict(), 0, 0
    for first in range(0, order.programs, wave):
        for k in range(chunks):
            for p in range(first, min(first + wave, order.programs)):
                for key, rows in ((("a", order.pid_m[p], k), tile[0]), (("b", order.pid_n[p], k), tile[1])):
                    if key in held:
                        held.move_to_end(key)
                        continue
                    size = rows * K * itemsize / chunks
                    held[key] = size
                    used += size
                    fetched += size
                    while used > capacity:
                        used -= held.popitem(last=False)[1]
    return fetched


def test_a_wave_of_132_touches_3_and_62_panels_row_by_row_and_10_and_17_in_groups_of_8():
    rows, eights = (l2_traffic(grouped(64, 64, g), TILE, 64) for g in (1, 8))
    assert rows.wave == 132 and rows.waves == 32
    assert (rows.a_panels.mean(), rows.b_panels.mean()) == (2.9375, 62.125)
    assert (eights.a_panels.mean(), eights.b_panels.mean()) == (9.625, 16.5)
    assert (rows.a_panels[0], rows.b_panels[0], eights.a_panels[0], eights.b_panels[0]) == (3, 64, 8, 17)


def test_an_lru_cache_of_24_panels_fetches_b_4096_times_row_by_row_and_512_in_groups_of_8():
    rows, eights = (l2_traffic(grouped(64, 64, g), TILE, 64, schedule=ALONE, l2_bytes=24 * PANEL) for g in (1, 8))
    assert (rows.a_fetches, rows.b_fetches) == (64, 4096)
    assert (eights.a_fetches, eights.b_fetches) == (64, 512)


def test_a_cache_below_a_groups_panels_of_a_and_one_of_b_fetches_every_panel_of_a_anew():
    below, at, above = (l2_traffic(grouped(64, 64, 8), TILE, 64, schedule=ALONE, l2_bytes=n * PANEL) for n in (8, 9, 10))
    assert (below.a_fetches, below.b_fetches) == (4096, 512)
    assert 64 < at.a_fetches < 4096, "the next panel of B drops one of A"
    assert (above.a_fetches, above.b_fetches) == (64, 512)


def test_two_by_two_tiles_counted_by_hand():
    order = grouped(2, 2, 1)  # (0, 0) (0, 1) (1, 0) (1, 1)
    both = l2_traffic(order, TILE, 64, schedule=ALONE, l2_bytes=2 * PANEL)
    assert (both.a_fetches, both.b_fetches) == (2, 4)
    three = l2_traffic(order, TILE, 64, schedule=ALONE, l2_bytes=3 * PANEL)
    assert (three.a_fetches, three.b_fetches) == (2, 3), "with A0 B0 B1 held, A1 drops B0... which comes again, then B1"
    all_ = l2_traffic(order, TILE, 64, schedule=ALONE, l2_bytes=4 * PANEL)
    assert all_.memory_bytes == all_.least_bytes == 4 * PANEL and all_.asked_bytes == 8 * PANEL and all_.hit_rate == 0.5
    step = l2_traffic(order, TILE, 64, wave=2, l2_bytes=3 * PANEL)
    # wave 0: A0 B0 B1; wave 1: A1 B0 B1. At every point of K three panels were used since: B0 and B1 are still there
    assert (step.fetched_a.tolist(), step.fetched_b.tolist()) == ([PANEL, PANEL], [2 * PANEL, 0])
    assert (step.a_panels.tolist(), step.b_panels.tolist()) == ([1, 1], [2, 2])


@pytest.mark.parametrize("GROUP_M", [1, 2, 3, 5, 16])
@pytest.mark.parametrize("capacity", [3, 6.5, 11, 40])
def test_in_step_is_where_ever_finer_chunks_lead(GROUP_M, capacity):
    order, tile = grouped(10, 12, GROUP_M), (64, 96, 32)
    model = l2_traffic(order, tile, 64, wave=7, l2_bytes=int(capacity * PANEL)).memory_bytes
    coarse, fine = (simulated(order, tile, 64, int(capacity * PANEL), 7, chunks) for chunks in (4, 64))
    assert abs(fine - model) <= 0.03 * model
    assert abs(fine - model) <= abs(coarse - model) + 1e-6


@pytest.mark.parametrize("capacity", [0, 1, 2, 5, 9, 24, 200])
def test_one_after_another_is_the_plain_cache_of_whole_panels(capacity):
    order = grouped(13, 11, 4)
    keys = [key for m, n in zip(order.pid_m, order.pid_n) for key in (("a", m), ("b", n))]
    model = l2_traffic(order, TILE, 64, schedule=ALONE, l2_bytes=capacity * PANEL)
    assert model.a_fetches + model.b_fetches == lru_fetches(keys, capacity)
    assert model.memory_bytes == simulated(order, TILE, 64, capacity * PANEL, 1, 1)


@pytest.mark.parametrize("schedule", [IN_STEP, ALONE])
def test_every_order_fetches_at_least_what_there_is_and_at_most_what_is_asked_for(schedule):
    rng = np.random.default_rng(0)
    for _ in range(20):
        m, n, wave, cache = rng.integers(1, 20, 4)
        pids = rng.permutation(m * n)
        t = l2_traffic(PidOrder("f", m, n, pids // n, pids % n), TILE, 64, wave=int(wave), schedule=schedule, l2_bytes=int(cache) * PANEL)
        assert t.least_bytes - 1e-6 <= t.memory_bytes <= t.asked_bytes + 1e-6
        assert t.asked_bytes == 2 * m * n * PANEL and t.least_bytes == (m + n) * PANEL
        assert (t.fetched_a >= 0).all() and (t.fetched_a <= t.a_panels * PANEL + 1e-6).all() or schedule == ALONE


@pytest.mark.parametrize("schedule", [IN_STEP, ALONE])
def test_a_larger_cache_never_fetches_more_and_one_for_everything_fetches_it_once(schedule):
    order = grouped(20, 30, 6)
    sizes = [l2_traffic(order, (64, 32, 32), 64, wave=17, schedule=schedule, l2_bytes=k * PANEL).memory_bytes for k in range(1, 37)]
    assert all(a >= b - 1e-6 for a, b in zip(sizes, sizes[1:])) and sizes[0] > sizes[-1]
    assert sizes[-1] == l2_traffic(order, (64, 32, 32), 64, schedule=schedule, l2_bytes=10**9).least_bytes


def test_turning_the_matrix_swaps_a_and_b():
    order = grouped(9, 14, 4)
    turned = PidOrder("f", 14, 9, order.pid_n, order.pid_m)
    one = l2_traffic(order, (32, 128, 32), 64, wave=5, l2_bytes=60_000)
    other = l2_traffic(turned, (128, 32, 32), 64, wave=5, l2_bytes=60_000)
    assert one.a_bytes == pytest.approx(other.b_bytes) and one.b_bytes == pytest.approx(other.a_bytes) and one.a_bytes != one.b_bytes


def test_programs_outside_ask_for_nothing_and_a_wave_of_them_alone_is_a_wave():
    order = PidOrder("f", 1, 2, [0, 5, 5, 0], [0, 0, 1, 1])
    t = l2_traffic(order, TILE, 64, wave=1)
    assert t.asked.tolist() == [2 * PANEL, 0, 0, 2 * PANEL] and t.a_panels.tolist() == [1, 0, 0, 1] and t.a_fetches == 1


def test_the_wave_and_the_cache_are_the_gpus():
    t = l2_traffic(grouped(4, 4, 1), TILE, 64, programs_per_sm=3, gpu="A100")
    assert (t.wave, t.l2_bytes) == (324, 40 * 2**20)
    own = Gpu("mine", 2, 4096, "made up")
    assert l2_traffic(grouped(4, 4, 1), TILE, 64, gpu=own).wave == 2
    assert GPUS["H200"].sms == 132 and GPUS["H200"].l2_bytes == 62_914_560


def test_262144_tiles_take_no_simulation_of_every_step():
    t = l2_traffic(grouped(512, 512, 8), TILE, 8192, programs_per_sm=6)
    assert t.waves == -(-262_144 // 792) and t.b_fetches == 512 * 64


def test_it_tells_its_model_and_its_figures():
    t = l2_traffic(grouped(4, 4, 2), TILE, 64, wave=4)
    assert repr(t) == "<L2Traffic grouped_pid, GROUP_M = 2, in step: 0.00 GB from memory of 0.00 GB asked for, 75% from L2>"
    assert "4 programs run at once and walk K together" in t.model and "an L2 of 62.9 MB" in t.model
    assert "each program takes its two panels before the next one begins" in l2_traffic(grouped(4, 4, 2), TILE, 64, schedule=ALONE).model
    assert "75.0% of 0.00 GB from L2. Model: H200" in str(t)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"gpu": "H300"}, "gpu is 'H300'; known are T4, A100, H100, H200"),
        ({"schedule": "lock"}, "schedule is 'lock'; it is one of 'in step', 'one after another'"),
        ({"tile": (64, 64)}, r"tile is \(64, 64\); it is \(BLOCK_M, BLOCK_N, BLOCK_K\)"),
        ({"tile": (64, 0, 32)}, "BLOCK_N must be at least 1; got 0"),
        ({"K": 0}, "K must be at least 1; got 0"),
        ({"itemsize": 0}, "itemsize must be at least 1"),
        ({"programs_per_sm": 0}, "programs_per_sm must be at least 1"),
        ({"wave": 0}, "wave must be at least 1; got 0"),
        ({"l2_bytes": -1}, "l2_bytes must be at least 0; got -1"),
        ({"order": None}, "order is a NoneType; it is a PidOrder, as lab.pid_order and tile_order return it"),
        ({"gpu": ["H200"]}, r"gpu is \['H200'\]; known are T4"),
        ({"tile": 64}, r"tile is 64; it is \(BLOCK_M"),
        ({"tile": "abc"}, r"tile is 'abc'; it is \(BLOCK_M"),
        ({"tile": (64.0, 64, 32)}, "BLOCK_M must be a whole number; got 64.0"),
        ({"tile": (64, 64, 10**6)}, "BLOCK_K must be at most 65,536; got 1,000,000"),
        ({"K": 2.5}, "K must be a whole number; got 2.5"),
        ({"K": float("nan")}, "K must be a whole number; got nan"),
        ({"K": 10**30}, "K must be at most 2,147,483,647"),
        ({"K": 2**31 - 1, "tile": (65_536, 65_536, 1), "itemsize": 16, "order": grouped(64, 64, 1)}, "K is too large: 4,096 programs"),
        ({"itemsize": 0.5}, "itemsize must be a whole number; got 0.5"),
        ({"programs_per_sm": 1.5}, "programs_per_sm must be a whole number; got 1.5"),
        ({"wave": 10**30}, "wave must be at most 2,147,483,647"),
        ({"l2_bytes": "x"}, "l2_bytes must be a whole number; got 'x'"),
    ],
)
def test_what_cannot_be_modelled_names_the_argument(change, words):
    with pytest.raises((TypeError, ValueError), match=words):
        l2_traffic(**({"order": grouped(2, 2, 1), "tile": TILE, "K": 64} | change))
