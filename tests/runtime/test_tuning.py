"""``@triton.autotune`` and ``@triton.heuristics`` on CPU tensors: nothing is timed unless a ``do_bench`` is given, hooks are
honoured, mistakes are named."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from triton import Config

import tritonlab as lab
from tritonlab.errors import LaunchError
from tritonlab.runtime import capture, tuning


def kernel_for(name="increment"):
    @triton.jit
    def increment_kernel(x_ptr, n, BLOCK: tl.constexpr, EXTRA: tl.constexpr = 0):
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offs < n
        tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=mask) + 1 + EXTRA, mask=mask)

    return increment_kernel


def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


def tuned(configs, key=("n",), **options):
    return triton.autotune(configs=configs, key=list(key), **options)(kernel_for())


TWO = [Config({"BLOCK": 16}, num_warps=2), Config({"BLOCK": 64, "EXTRA": 9})]


def test_the_first_config_is_taken_and_said_once(capsys):
    kernel, x = tuned(TWO), torch.zeros(20)
    for _ in range(3):
        kernel[grid](x, 20)
    assert torch.equal(x, torch.full((20,), 3.0))
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert "[increment_kernel] not tuned" in said.err and "BLOCK: 16" in said.err
    assert kernel.best_config is TWO[0] and not kernel.cache and kernel.nargs is None


def test_one_config_needs_no_word(capsys):
    kernel, x = tuned(TWO[:1]), torch.zeros(20)
    kernel[grid](x, 20)
    assert x.sum() == 20 and capsys.readouterr().err == ""


def test_pruning_comes_first():
    asked = []

    def prune(configs, named, **kwargs):
        asked.append((len(configs), named["n"], kwargs))
        return configs[1:]

    kernel, x = tuned(TWO, prune_configs_by={"early_config_prune": prune}), torch.zeros(20)
    kernel[grid](x, 20)
    assert torch.equal(x, torch.full((20,), 10.0)) and asked[0][:2] == (2, 20)


def test_a_performance_model_chooses():
    def model(BLOCK, **_):
        return -BLOCK

    kernel, x = tuned(TWO, prune_configs_by={"perf_model": model, "top_k": 1}), torch.zeros(20)
    kernel[grid](x, 20)
    assert torch.equal(x, torch.full((20,), 10.0))


def test_a_performance_model_that_asks_for_a_gpu_is_left_aside():
    def model(**_):
        return triton.runtime.driver.active.get_current_device()

    kernel, x = tuned(TWO, prune_configs_by={"perf_model": model, "top_k": 1}), torch.zeros(20)
    kernel[grid](x, 20)
    assert torch.equal(x, torch.full((20,), 1.0))


def test_pruning_that_leaves_nothing():
    kernel = tuned(TWO, prune_configs_by={"early_config_prune": lambda configs, named, **_: []})
    with pytest.raises(LaunchError, match="no config of increment_kernel is left to take: 2 given, 0 after pruning"):
        kernel[grid](torch.zeros(20), 20)


def test_configs_that_no_gpu_runs_are_passed_over():
    kernel, x = tuned([Config({"BLOCK": 16}, num_warps=3), *TWO[1:]]), torch.zeros(20)
    kernel[grid](x, 20)
    assert torch.equal(x, torch.full((20,), 10.0))


def test_what_the_tuner_sets_cannot_be_passed_too():
    for extra in ({"BLOCK": 32}, {"num_warps": 8}):
        with pytest.raises(LaunchError, match=f"{next(iter(extra))} of increment_kernel comes from @triton.autotune"):
            tuned(TWO)[(1,)](torch.zeros(20), 20, **extra)


def test_reset_to_zero_and_restore_value_as_around_a_tuned_launch():
    kernel, x = tuned(TWO, reset_to_zero=["x_ptr"]), torch.full((20,), 5.0)
    kernel[grid](x, 20)
    assert torch.equal(x, torch.ones(20))  # on a GPU too: zeroed after tuning, then run
    kernel[grid](x, 20)
    assert torch.equal(x, torch.full((20,), 2.0))  # a key that is known is not tuned again
    kernel, x = tuned(TWO, restore_value=["x_ptr"]), torch.full((20,), 5.0)
    kernel[grid](x, 20)
    assert torch.equal(x, torch.full((20,), 6.0))


def test_hooks_are_called():
    called = []
    configs = [Config({"BLOCK": 16}, pre_hook=lambda named: called.append(("config", named["BLOCK"]))), TWO[1]]
    kernel = tuned(configs, pre_hook=lambda named, reset_only=False: called.append(("tuner", reset_only, named["n"])))
    for n in (20, 20, 21):
        kernel[grid](torch.zeros(n), n)
    assert called == [("tuner", True, 20), ("config", 16), ("config", 16), ("tuner", True, 21), ("config", 16)]


def test_names_that_are_no_parameters():
    for options in ({"key": ["nn"]}, {"reset_to_zero": ["y_ptr"]}, {"restore_value": ["y_ptr"]}):
        with pytest.raises((LaunchError, ValueError), match="nn|y_ptr"):
            tuned(TWO, **options)[grid](torch.zeros(20), 20)


def test_heuristics_are_asked():
    kernel = triton.heuristics({"EXTRA": lambda args: 4 if args["n"] % 16 else 0})(tuned(TWO[:1]))
    x = torch.zeros(20)
    kernel[grid](x, 20)
    assert torch.equal(x, torch.full((20,), 5.0))
    under = triton.autotune(configs=[Config({"BLOCK": 16}), Config({"BLOCK": 32})], key=["n"])(
        triton.heuristics({"EXTRA": lambda args: args["BLOCK"]})(kernel_for())
    )
    under[grid](x, 20)
    assert torch.equal(x, torch.full((20,), 22.0))


def test_a_traced_tuned_launch_names_its_config():
    x = torch.zeros(20)
    launch = lab.trace(lambda: tuned(TWO)[grid](x, 20)).launch
    assert launch.meta == {"BLOCK": 16, "EXTRA": 0} and launch.options["num_warps"] == 2 and launch.grid == (2, 1, 1)


def test_a_captured_tuned_launch_touches_nothing(capsys):
    kernel, x = tuned(TWO, reset_to_zero=["x_ptr"]), torch.full((20,), 5.0)
    with capture() as launches:
        kernel[grid](x, 20)
    assert torch.equal(x, torch.full((20,), 5.0)) and capsys.readouterr().err == ""
    assert launches[0].arguments["BLOCK"] == 16 and launches[0].options["num_warps"] == 2


def test_errors_inside_leave_the_tuner_as_it_was():
    kernel = tuned(TWO)
    with pytest.raises(lab.errors.OutOfBoundsError):
        kernel[grid](torch.zeros(20), 30)
    assert kernel.nargs is None
    kernel[grid](torch.zeros(20), 20)


# with a do_bench of one's own


class Clock:
    """A ``do_bench`` that runs each candidate once (``times``) and says it took as long as it has programs (``cost`` of its launch)."""

    def __init__(self, times=1, cost=lambda launch: launch.programs):
        self.times, self.cost, self.ran = times, cost, []

    def __call__(self, kernel_call, quantiles):
        assert quantiles == (0.5, 0.2, 0.8)
        for _ in range(self.times):
            launch = lab.trace(kernel_call).launch
        self.ran.append(launch.meta["BLOCK"])
        return [float(self.cost(launch))] * 3


def test_a_do_bench_that_is_given_ranks_the_candidates_and_its_winner_is_kept_for_the_key(capsys):
    clock = Clock()
    kernel, x = tuned([Config({"BLOCK": 16}), Config({"BLOCK": 64}), Config({"BLOCK": 32})], do_bench=clock, restore_value=["x_ptr"]), torch.zeros(50)
    tuning._told.clear()
    kernel[grid](x, 50)
    assert clock.ran == [16, 64, 32] and kernel.best_config.kwargs == {"BLOCK": 64} and kernel.nargs is None
    kernel[grid](x, 50)
    assert clock.ran == [16, 64, 32] and torch.equal(x, torch.full((50,), 2.0))
    kernel[grid](x, 40)
    assert len(clock.ran) == 6 and kernel.cache == {(50, "torch.float32"): kernel.configs[1], (40, "torch.float32"): kernel.configs[1]}
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and "no GPU's time" in said.err, "said once"
    assert "_bench" not in kernel.__dict__


def test_a_dtype_is_part_of_the_key_and_a_stride_is_not():
    @triton.jit
    def strided_kernel(x_ptr, stride, n, BLOCK: tl.constexpr):
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x_ptr + offs * stride, 1.0, mask=offs < n)

    clock = Clock()
    kernel = triton.autotune(configs=[Config({"BLOCK": 16}), Config({"BLOCK": 64})], key=["n"], do_bench=clock)(strided_kernel)
    for x in (torch.zeros(40), torch.zeros(80)[::2], torch.zeros(41)[1:], torch.zeros(40, dtype=torch.float64)):
        kernel[grid](x, x.stride(0), 40)
    assert len(clock.ran) == 4, "two candidates for float32, none for another stride or alignment, two for float64"


def test_each_run_of_a_candidate_changes_what_is_not_restored():
    for options, runs in (({}, 7), ({"restore_value": ["x_ptr"]}, 1), ({"reset_to_zero": ["x_ptr"]}, 1)):
        kernel, x = tuned([Config({"BLOCK": 16}), Config({"BLOCK": 64})], do_bench=Clock(times=3), **options), torch.zeros(50)
        kernel[grid](x, 50)
        assert torch.equal(x, torch.full((50,), float(runs))), options
        kernel[grid](x, 50)
        assert torch.equal(x, torch.full((50,), float(runs + 1))), "known: nothing is tuned"


def test_a_trace_of_a_tuned_call_holds_the_candidates_and_then_the_winner():
    x = torch.zeros(50)
    t = lab.trace(lambda: tuned([Config({"BLOCK": 16}), Config({"BLOCK": 64})], do_bench=Clock())[grid](x, 50))
    assert [launch.meta["BLOCK"] for launch in t.launches] == [16, 64, 64]


def test_pruned_candidates_are_not_run():
    clock = Clock()
    kernel = tuned(TWO + [Config({"BLOCK": 256})], do_bench=clock, prune_configs_by={"early_config_prune": lambda configs, named, **_: [c for c in configs if c.kwargs["BLOCK"] < 2 * named["n"]]})
    kernel[grid](torch.zeros(50), 50)
    assert clock.ran == [16, 64] and kernel.best_config is TWO[1]
    with pytest.raises(LaunchError, match="no config of increment_kernel is left to take: 3 given, 0 after pruning"):
        kernel[grid](torch.zeros(50), 5)
    assert kernel.nargs is None


def test_candidates_that_a_gpu_cannot_take_count_as_infinitely_slow_and_others_end_the_tuning():
    @triton.jit
    def asserted_kernel(x_ptr, n, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK >= 32, "too small")
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x_ptr + offs, 1.0, mask=offs < n)

    clock = Clock(cost=lambda launch: launch.meta["BLOCK"])
    configs = [Config({"BLOCK": 16}), Config({"BLOCK": 32}, num_warps=64), Config({"BLOCK": 64})]
    kernel, x = triton.autotune(configs=configs, key=["n"], do_bench=clock)(asserted_kernel), torch.zeros(50)
    kernel[grid](x, 50)
    assert clock.ran == [64] and kernel.best_config is configs[2] and x.sum() == 50
    assert [kernel.configs_timings[c] == [float("inf")] * 3 for c in configs] == [True, True, False]
    with pytest.raises(LaunchError, match="num_warps=3"):
        tuned([Config({"BLOCK": 16}, num_warps=3), *TWO], do_bench=clock)[grid](x, 50)
    with pytest.raises(lab.errors.OutOfBoundsError):
        tuned(TWO, do_bench=clock)[grid](x, 60)


def test_a_do_bench_that_needs_a_gpu_leaves_the_first_config(capsys):
    from triton.testing import do_bench, do_bench_cudagraph

    def by_events(call, quantiles):
        torch.cuda.synchronize()

    asking = () if torch.cuda.is_available() else (lambda call, quantiles: do_bench(call, quantiles=quantiles), by_events)
    for given in (do_bench, do_bench_cudagraph, *asking):
        kernel, x = tuned(TWO, do_bench=given), torch.zeros(20)
        kernel[grid](x, 20)
        assert torch.equal(x, torch.ones(20)) and kernel.best_config is TWO[0] and kernel.nargs is None
        assert "not tuned" in capsys.readouterr().err
    with pytest.warns(DeprecationWarning):
        kernel, x = tuned(TWO, warmup=5, rep=10), torch.zeros(20)
    kernel[grid](x, 20)
    assert torch.equal(x, torch.ones(20))
    with pytest.raises(RuntimeError, match="my own"):
        tuned(TWO, do_bench=lambda call, quantiles: (_ for _ in ()).throw(RuntimeError("my own")))[grid](x, 20)


def test_names_and_values_are_checked_before_anything_is_tuned():
    clock = Clock()
    with pytest.raises((LaunchError, ValueError), match="nn"):
        tuned(TWO, key=["nn"], do_bench=clock)[grid](torch.zeros(20), 20)
    with pytest.raises(LaunchError, match="BLOCK of increment_kernel comes from @triton.autotune"):
        tuned(TWO, do_bench=clock)[grid](torch.zeros(20), 20, BLOCK=32)
    assert clock.ran == []


def test_a_captured_launch_takes_what_tuning_chose_and_tunes_nothing():
    clock = Clock()
    kernel, x = tuned([Config({"BLOCK": 16}), Config({"BLOCK": 64})], do_bench=clock), torch.zeros(50)
    for block in (16, 64):
        with capture() as launches:
            kernel[grid](x, 50)
        assert [launch.arguments["BLOCK"] for launch in launches] == [block]
        ran = list(clock.ran)
        kernel[grid](x, 50)
        assert ran in ([], [16, 64])


def test_results_kept_on_disk_ask_for_no_gpu():
    kernel, x = tuned(TWO, do_bench=Clock(), cache_results=True), torch.zeros(20)
    kernel[grid](x, 20)
    assert kernel.best_config is TWO[1] and kernel.cache_results


@pytest.mark.parametrize("returned", [None, [], "1 ms", [None] * 3, True, torch.ones(3)])
def test_a_do_bench_that_returns_no_times_is_named(returned):
    def bench(kernel_call, quantiles):
        kernel_call()
        return returned

    with pytest.raises(LaunchError, match="the do_bench of increment_kernel returned .* for the config BLOCK: 16"):
        tuned(TWO, do_bench=bench)[grid](torch.zeros(20), 20)


@pytest.mark.parametrize("what", ["restore_value", "reset_to_zero"])
def test_only_tensors_are_put_back_or_reset(what):
    def bench(kernel_call, quantiles):
        kernel_call()
        return [1.0, 1.0, 1.0]

    with pytest.raises(LaunchError, match=rf"{what}=\.\.\.\) of increment_kernel names n, which is 20 and no tensor"):
        tuned(TWO, do_bench=bench, **{what: ["n"]})[grid](torch.zeros(20), 20)
