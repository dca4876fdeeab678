"""``@triton.autotune`` and ``@triton.heuristics`` on CPU tensors: nothing is timed, hooks are honoured, mistakes are named."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from triton import Config

import tritonlab as lab
from tritonlab.errors import LaunchError
from tritonlab.runtime import capture


def kernel_for(name="increment"):
    @triton.jit
    def increment_kernel(x_ptr, n, BLOCK: tl.constexpr, EXTRA: tl.constexpr = 0):
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offs < n
        tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=mask) + 1 + EXTRA, mask=mask)

    return increment_kernel


def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


def never(*_, **__):
    raise AssertionError("something was timed")


def tuned(configs, key=("n",), **options):
    return triton.autotune(configs=configs, key=list(key), do_bench=never, **options)(kernel_for())


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
    under = triton.autotune(configs=[Config({"BLOCK": 16}), Config({"BLOCK": 32})], key=["n"], do_bench=never)(
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
