"""The sweep, timed by a clock that needs no GPU."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from tritonlab.bench.ceilings import Ceilings
from tritonlab.bench.ops import Case
from tritonlab.bench.sweep import Plan, sweep


def case(run=torch.neg, op="negate", n=8, **changes):
    options = {
        "make": lambda device: (torch.randn(n, device=device),),
        "contenders": {"tritonlab": run, "torch": torch.negative},
        "own": ("tritonlab",),
        "cost": lambda x: (8 * x.numel(), x.numel()),
        "oracle": lambda x: -x.double(),
        "compiled": None,
    }
    return Case(op, (n,), torch.float32, **{**options, **changes})


PLAN = Plan(passes=3, milliseconds=1, compile=lambda fn: lambda *args: fn(*args))


@pytest.fixture
def ceilings():
    return lambda timer: Ceilings(timer, copy_bytes=1024, matmul_size=8)


def test_every_contender_is_measured_beside_the_others(make_timer, ceilings):
    def seconds(fn):
        return {torch.neg: 1e-5, torch.negative: 4e-5}.get(getattr(fn, "func", None), 2e-6)

    timer = make_timer(seconds)
    result = sweep([case(), case(n=16)], timer, ceilings(timer), PLAN)
    assert result.failures == []
    ms = result.measurements
    assert [m.key for m in ms] == [("negate", name, (n,), "float32", ()) for n in (8, 16) for name in ("tritonlab", "torch")]
    assert ms.where(implementation="torch")[0].seconds == pytest.approx(4e-5)
    assert (ms[0].bytes, ms[0].flops, ms[0].error, ms[0].timing.samples) == (64, 8, 0.0, 15)
    assert ms.roofs.launch.seconds == pytest.approx(2e-6)
    assert ms.roofs.copy.amount == 2048 and ms.roofs.matmul.amount == 2 * 8**3
    assert "3 passes" in ms[0].method and ms.labels[0].endswith("measured now")


def test_a_graph_is_timed_only_where_the_launch_counts(make_timer, ceilings):
    def seconds(fn):
        return {torch.neg: 5e-6, torch.negative: 1.0}.get(getattr(fn, "func", None), 2e-6)

    timer = make_timer(seconds)
    ms = sweep([case()], timer, ceilings(timer), PLAN).measurements
    assert ms[0].graph.seconds == pytest.approx(2.5e-6)
    assert ms[1].graph is None


def test_where_no_graph_can_be_captured_there_is_none(make_timer, ceilings):
    timer = make_timer(lambda fn: 2e-6, graphs=False)
    assert [m.graph for m in sweep([case()], timer, ceilings(timer), PLAN).measurements] == [None, None]


def test_of_two_contenders_each_goes_first_in_every_second_pass(make_timer, ceilings):
    timer = make_timer()
    sweep([case()], timer, ceilings(timer), replace(PLAN, passes=4))
    order = [fn.func for fn in timer.called if isinstance(fn, partial)]
    assert len(order) == 8 and order[:2] == order[3:1:-1] and order[4:6] == order[:5:-1] and set(order[:2]) == {torch.neg, torch.negative}


def test_many_contenders_have_other_neighbours_in_every_second_pass_and_each_works_before_its_turn(make_timer, ceilings):
    points = [Point(block) for block in range(40)]
    timer = make_timer()
    sweep([swept(*points)], timer, ceilings(timer), PLAN)
    order = [fn.func.config["BLOCK"] for fn in timer.called if isinstance(fn, partial) and isinstance(fn.func, Point)]
    first, second, third = order[:40], order[40:80], order[80:]
    assert sorted(first) == sorted(third) == list(range(40)) and second == first[::-1]
    neighbours = [set(zip(one, one[1:])) for one in (list(range(40)), first, third)]
    assert all(len(a & b) < 8 for i, a in enumerate(neighbours) for b in neighbours[:i])
    warmed = [(fn.func.config["BLOCK"], milliseconds) for fn, milliseconds in timer.warmed if isinstance(fn.func, Point)]
    assert [block for block, _ in warmed] == order and {ms for _, ms in warmed} == {1, 100}
    assert sum(ms == 100 for _, ms in timer.warmed) == 3  # the first of each pass, longer


def test_the_same_case_gets_the_same_random_data_in_every_pass(make_timer, ceilings):
    seen = []
    timer = make_timer()
    sweep([case(run=lambda x: seen.append(x.clone()) or -x), case(op="other")], timer, ceilings(timer), PLAN)
    assert len(seen) == 2 + 3 and all(torch.equal(x, seen[0]) for x in seen) and seen[0].std() > 0


def test_torch_compile_is_given_each_case_afresh(make_timer, ceilings):
    made = []

    def compile(fn):
        made.append(fn)
        return lambda *args: fn(*args)

    timer = make_timer()
    ms = sweep([case(compiled=torch.negative), case(n=16, compiled=torch.negative)], timer, ceilings(timer), Plan(2, 1, compile)).measurements
    assert len(made) == 2 and ms.implementations == ("tritonlab", "torch", "torch.compile")
    timer = make_timer()
    ms = sweep([case(compiled=torch.negative)], timer, ceilings(timer), Plan(1, 1, None)).measurements
    assert ms.implementations == ("tritonlab", "torch")


def test_a_wrong_kernel_is_not_timed_but_named(make_timer, ceilings):
    def off(x):
        out = -x
        out[3] += 0.5
        return out

    timer = make_timer()
    result = sweep([case(run=off)], timer, ceilings(timer), PLAN)
    assert result.measurements.implementations == ("torch",)
    (failure,) = result.failures
    assert failure.startswith("negate 8 float32: tritonlab: tritonlab is wrong in 1 of 8 elements (element 3 is")


def test_a_kernel_that_leaves_elements_unwritten_is_named(make_timer, ceilings, monkeypatch):
    """The allocator's habit of giving freed memory back is played by a pool of one buffer."""
    pool = {}

    def empty(shape, dtype=None, device=None):
        return pool.setdefault("one", torch.ops.aten.empty.memory_format(list(shape), dtype=dtype, device=device))

    monkeypatch.setattr(torch, "empty", empty)

    def lazy(x):
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        out[: 8 if not pool.get("ran") else 7] = -x[: 8 if not pool.get("ran") else 7]
        pool["ran"] = True
        return out

    timer = make_timer()
    (failure,) = sweep([case(run=lazy)], timer, ceilings(timer), Plan(1, 1, None)).failures
    assert "element 7 is nan" in failure


def test_a_kernel_that_raises_is_named_and_the_others_are_measured(make_timer, ceilings):
    def boom(x):
        raise RuntimeError("out of registers\nand a long story")

    timer = make_timer()
    result = sweep([case(run=boom), case(op="other")], timer, ceilings(timer), PLAN)
    assert result.failures == ["negate 8 float32: tritonlab: raised RuntimeError: out of registers"]
    assert len(result.measurements) == 3


def test_a_baseline_that_is_off_or_raises_makes_a_note(make_timer, ceilings):
    def refuse(x):
        raise ValueError("width not divisible")

    contenders = {"tritonlab": torch.neg, "rough": lambda x: -x * 1.001, "picky": refuse}
    timer = make_timer()
    result = sweep([case(contenders=contenders)], timer, ceilings(timer), PLAN)
    assert result.failures == []
    assert result.measurements.implementations == ("tritonlab", "rough")
    assert result.measurements[1].error == pytest.approx(1e-3, rel=1e-3)
    assert any(note.startswith("negate 8 float32: rough is farther from the oracle") for note in result.measurements.notes)
    assert "negate 8 float32: picky: raised ValueError: width not divisible" in result.measurements.notes


def test_what_does_not_fit_the_memory_is_left_out_with_a_note(make_timer, ceilings):
    def too_large(device):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    timer = make_timer()
    result = sweep([case(op="huge", make=too_large), case()], timer, ceilings(timer), PLAN)
    assert result.failures == [] and result.measurements.ops == ("negate",)
    assert result.measurements.notes == ("huge 8 float32: left out, it does not fit this GPU's memory",)


def test_memory_is_given_back_after_every_case(make_timer, ceilings):
    timer = make_timer()
    sweep([case(), case(op="other")], timer, ceilings(timer), PLAN)
    assert timer.finished >= 3 * 2


def test_progress_counts_up_to_the_end(make_timer, ceilings):
    heard = []
    timer = make_timer()
    sweep([case()], timer, ceilings(timer), PLAN, lambda done, total, what: heard.append((done, total, what)))
    assert heard[0] == (0, 6, "pass 1 of 3: roofs") and heard[-1] == (6, 6, "done")
    assert [done for done, _, _ in heard] == sorted(done for done, _, _ in heard)


class Point:
    """A launch of a sweep that says which kernel it loaded, as on a GPU."""

    implementation = "negate"

    def __init__(self, block, factor=-1, error=None):
        self.config, self.factor, self.error, self.loaded = {"BLOCK": block}, factor, error, None

    def __call__(self, x):
        if self.error:
            raise self.error
        self.loaded = SimpleNamespace(n_regs=40, n_spills=2, metadata=SimpleNamespace(shared=1024))
        return self.factor * x


def swept(*points):
    contenders = {f"negate {p.config}": p for p in points}
    return case(
        contenders={**contenders, "torch": torch.negative}, own=tuple(contenders),
        swept={name: (p.implementation, tuple(p.config.items())) for name, p in contenders.items()},
    )  # fmt: skip


def test_points_of_a_sweep_keep_their_config_and_what_the_driver_says_of_them(make_timer, ceilings):
    timer = make_timer()
    ms = sweep([swept(Point(16), Point(32))], timer, ceilings(timer), PLAN).measurements
    assert [(m.implementation, m.meta) for m in ms] == [("negate", {"BLOCK": 16}), ("negate", {"BLOCK": 32}), ("torch", {})]
    assert ms[0].counted == {"registers": 40, "spilled": 8, "shared": 1024} and ms[2].counters == ()


def test_a_point_that_does_not_run_is_kept_with_its_reason_and_is_no_failure_of_the_course(make_timer, ceilings):
    timer = make_timer()
    result = sweep([swept(Point(16), Point(32, error=RuntimeError("out of resource: shared memory\nRequired: 1")))], timer, ceilings(timer), PLAN)
    assert result.failures == [] and len(result.measurements) == 2
    (failure,) = result.measurements.failures
    assert (failure.meta, failure.shape, failure.reason) == ({"BLOCK": 32}, (8,), "RuntimeError: out of resource: shared memory")


def test_a_point_that_is_wrong_is_a_failure_of_the_course(make_timer, ceilings):
    timer = make_timer()
    result = sweep([swept(Point(16), Point(32, factor=1))], timer, ceilings(timer), PLAN)
    assert len(result.failures) == 1 and "is wrong in 8 of 8" in result.failures[0]
    assert [m.meta for m in result.measurements] == [{"BLOCK": 16}, {}]


def test_a_case_that_breaks_later_keeps_what_was_timed_before_and_costs_no_other(make_timer, ceilings):
    calls = []

    def fragile(x):
        calls.append(x)
        if len(calls) > 3:  # twice to be compared, once to be timed
            raise RuntimeError("an illegal memory access")
        return -x

    timer = make_timer()
    result = sweep([case(run=fragile), case(op="other")], timer, ceilings(timer), PLAN)
    assert result.failures == ["negate 8 float32: pass 2 raised RuntimeError: an illegal memory access"]
    by_op = {(m.op, m.implementation): m.timing.samples for m in result.measurements}
    assert by_op[("negate", "tritonlab")] == 5 and by_op[("other", "tritonlab")] == 15


def test_no_pass_is_begun_after_the_time_is_over(make_timer, ceilings):
    timer = make_timer()
    ms = sweep([case()], timer, ceilings(timer), replace(PLAN, seconds=0)).measurements
    assert ms[0].timing.samples == 5 and ms.notes == ("stopped after 1 of 3 passes: 0 s were over",)
