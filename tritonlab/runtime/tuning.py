"""``@triton.autotune`` on tensors of the CPU.

Nothing can be timed here. A tuner without a ``do_bench`` of its own takes the first config that pruning leaves, and says so once.
A tuner that was given one really tunes: Triton's own tuner prunes, runs every candidate (interpreted, guarded), ranks them
by what that function returns, and keeps the winner for the key. So what tuning does can be seen and counted without a GPU.
"""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Callable
from numbers import Real
from typing import Any

import torch

from ..errors import KernelError, LaunchError, TritonlabError

_told: set[Any] = set()
_INF = float("inf")
_NO_GPU = ("active drivers", "CUDA", "NVIDIA driver", "dummy base class")
"""What the errors of Triton and torch say to a do_bench that asks for a GPU where there is none."""


def launch(tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any], launches: bool, on_gpu: bool, plain: Callable[..., Any]) -> Any:
    """A tuned launch that is not simply the GPU's.

    ``launches``: whether it really runs, or is only captured; ``on_gpu``: its tensors are on one, and something observes;
    ``plain``: Triton's own ``Autotuner.run``.
    """
    if launches and not on_gpu and _own_bench(tuner) is not None:
        try:
            return tuned(tuner, args, kwargs, plain)
        except (RuntimeError, AssertionError) as e:  # AssertionError: "Torch not compiled with CUDA enabled"
            if isinstance(e, TritonlabError) or not any(words in str(e) for words in _NO_GPU):
                raise
    return first_config(tuner, args, kwargs, launches)


def tuned(tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any], plain: Callable[..., Any]) -> Any:
    """Tune with the ``do_bench`` that the tuner was given, and launch the winner: by Triton's own code.

    As on a GPU, a candidate counts as infinitely slow when it has more warps than a program may have or when its
    ``tl.static_assert`` fails; any other error of a candidate ends the tuning.
    """
    tuner.nargs = dict(zip(tuner.arg_names, args))
    kept = tuner.cache_results
    try:
        _check_names(tuner)
        for config in tuner.configs:
            _check_twice(tuner, config, kwargs)
        if "tuned" not in _told:
            _told.add("tuned")
            print(
                f"[{tuner.base_fn.__name__}] tuned by the do_bench it was given. Candidates run in the interpreter: what do_bench returns is no GPU's time",
                file=sys.stderr,
            )
        tuner.cache_results = False  # the key of Triton's cache on disk names the GPU
        tuner._bench = lambda *a, config, **meta: _candidate(tuner, a, config, meta)
        return plain(tuner, *args, **kwargs)
    except Exception as e:
        if type(e).__name__ == "AutotunerError":
            raise _none_left(tuner, 0) from None
        raise
    finally:
        tuner.nargs, tuner.cache_results = None, kept
        tuner.__dict__.pop("_bench", None)


def _candidate(tuner: Any, args: tuple[Any, ...], config: Any, meta: dict[str, Any]) -> Any:
    warps = config.num_warps
    if isinstance(warps, int) and warps > 32 and not warps & (warps - 1):
        return [_INF] * 3
    try:
        return _times(tuner, config, type(tuner)._bench(tuner, *args, config=config, **meta))
    except KernelError as e:
        if isinstance(e.original, AssertionError) and "tl.static_assert failed" in str(e.original):
            return [_INF] * 3
        raise


def _times(tuner: Any, config: Any, found: Any) -> Any:
    """What a do_bench returned: a time, or several of which Triton ranks by the first."""
    each = found if isinstance(found, (tuple, list)) else [found]
    if not each or any(isinstance(t, bool) or not isinstance(t, Real) for t in each):
        raise LaunchError(
            f"the do_bench of {tuner.base_fn.__name__} returned {reprlib.repr(found)} for the config {config}", "it returns times in milliseconds, such as [1.0, 1.0, 1.0]"
        )
    return found


def first_config(tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any], launches: bool) -> Any:
    """Launch what the tuner chose for this key, or else its first usable config. ``launches``: whether the launch really runs, so that hooks touch tensors.

    Hooks run as they do around a tuned launch on a GPU: on the first launch of each key the pre-hook, with
    ``reset_only=True``, as after tuning (``restore_value`` undoes what tuning did: nothing), and the config's own always.
    """
    tuner.nargs = dict(zip(tuner.arg_names, args))
    try:
        _check_names(tuner)
        config = _known(tuner, kwargs)
        configs = [config] if config is not None else _pruned(tuner, kwargs)
        config = next((c for c in configs if _usable(c)), None)
        name = tuner.base_fn.__name__
        if config is None:
            raise _none_left(tuner, len(configs))
        chosen = config.all_kwargs()
        _check_twice(tuner, config, kwargs)
        if launches and len(configs) > 1 and id(tuner) not in _told:
            _told.add(id(tuner))
            print(f"[{name}] not tuned: nothing can be timed in the interpreter, so the first config is taken ({config})", file=sys.stderr)
        tuner.best_config = config
        full = {**tuner.nargs, **kwargs, **chosen}
        if launches:
            if len(configs) > 1 and _is_new(tuner, kwargs):
                tuner.pre_hook(full, reset_only=True)
            if config.pre_hook is not None:
                config.pre_hook(full)
        return tuner.fn.run(*args, **kwargs, **chosen)
    finally:
        tuner.nargs = None


def _own_bench(tuner: Any) -> Any:
    """The ``do_bench`` that a tuner was given, or None: also for Triton's own, given or made of ``warmup=`` or ``rep=``, which time a GPU."""
    made = getattr(tuner, "num_warmups", None) is not None or getattr(tuner, "num_reps", None) is not None or getattr(tuner, "use_cuda_graph", False)
    given = tuner._do_bench
    return None if made or getattr(given, "__module__", "") == "triton.testing" else given


def _none_left(tuner: Any, left: int) -> LaunchError:
    return LaunchError(
        f"no config of {tuner.base_fn.__name__} is left to take: {len(tuner.configs)} given, {left} after pruning",
        "give at least one with num_warps 1, 2, 4, 8, 16 or 32" if left else "prune less: early_config_prune has to leave one at least",
    )


def _check_twice(tuner: Any, config: Any, kwargs: dict[str, Any]) -> None:
    twice = kwargs.keys() & config.all_kwargs().keys()
    if twice:
        raise LaunchError(f"{', '.join(sorted(twice))} of {tuner.base_fn.__name__} comes from @triton.autotune and was passed at the launch too", "leave it out of the launch")


def _check_names(tuner: Any) -> None:
    """Raise for names that are no parameters of the kernel; Triton before 3.9 drops them silently."""
    for what in ("reset_to_zero", "restore_value"):
        for name in getattr(tuner, what, None) or ():
            value = tuner.nargs.get(name)
            if name in tuner.nargs and not isinstance(value, torch.Tensor):
                raise LaunchError(f"@triton.autotune({what}=...) of {tuner.base_fn.__name__} names {name}, which is {reprlib.repr(value)} and no tensor", "it takes names of tensors")
    for what in ("keys", "reset_to_zero", "restore_value"):
        unknown = [n for n in getattr(tuner, what, None) or () if n not in tuner.arg_names]
        if unknown:
            what = "key" if what == "keys" else what
            raise LaunchError(f"@triton.autotune({what}=...) of {tuner.base_fn.__name__} names {', '.join(unknown)}, which is no parameter", f"its parameters are ({', '.join(tuner.arg_names)})")


def _pruned(tuner: Any, kwargs: dict[str, Any]) -> list[Any]:
    configs = tuner.configs
    if tuner.early_config_prune:
        configs = list(tuner.early_config_prune(tuner.configs, tuner.nargs, **kwargs))
    if tuner.perf_model and configs:
        early, tuner.early_config_prune = tuner.early_config_prune, None
        every, tuner.configs = tuner.configs, configs
        try:
            configs = tuner.prune_configs(kwargs)
        except RuntimeError:  # a model that asks the GPU
            pass
        finally:
            tuner.early_config_prune, tuner.configs = early, every
    return configs


def _given(tuner: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in {**tuner.nargs, **kwargs}.items() if k in tuner.arg_names}


def _dtypes(given: dict[str, Any]) -> list[str]:
    return [str(v.dtype) for v in given.values() if hasattr(v, "dtype")]


def _known(tuner: Any, kwargs: dict[str, Any]) -> Any:
    """The config that tuning has chosen for these arguments, if it has; the key is made as Triton makes it."""
    given = _given(tuner, kwargs)
    try:
        return tuner.cache.get(tuple([given[k] for k in tuner.keys if k in given] + _dtypes(given)))
    except TypeError:  # a key that cannot be hashed
        return None


def _is_new(tuner: Any, kwargs: dict[str, Any]) -> bool:
    given = _given(tuner, kwargs)
    key = (*(repr(given[k]) for k in tuner.keys if k in given), *_dtypes(given))
    seen: set[Any] = tuner.__dict__.setdefault("_interpreted_keys", set())
    new = key not in seen
    seen.add(key)
    return new


def _usable(config: Any) -> bool:
    warps = getattr(config, "num_warps", 4)
    return isinstance(warps, int) and 1 <= warps <= 32 and not warps & (warps - 1)
