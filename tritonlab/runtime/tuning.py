"""``@triton.autotune`` without a GPU: nothing can be timed, so the first config that pruning leaves is taken, and said so once."""

from __future__ import annotations

import sys
from typing import Any

from ..errors import LaunchError

_told: set[int] = set()


def first_config(tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any], launches: bool) -> Any:
    """Launch the tuner's first usable config. ``launches``: whether the launch really runs, so that hooks touch tensors.

    Hooks run as they do around a tuned launch on a GPU: on the first launch of each key the pre-hook, with
    ``reset_only=True``, as after tuning (``restore_value`` undoes what tuning did: nothing), and the config's own always.
    """
    tuner.nargs = dict(zip(tuner.arg_names, args))
    try:
        _check_names(tuner)
        configs = _pruned(tuner, kwargs)
        config = next((c for c in configs if _usable(c)), None)
        name = tuner.base_fn.__name__
        if config is None:
            raise LaunchError(f"no config of {name} is left to take: {len(tuner.configs)} given, {len(configs)} after pruning", "give at least one with num_warps 1, 2, 4, 8, 16 or 32")
        chosen = config.all_kwargs()
        twice = kwargs.keys() & chosen.keys()
        if twice:
            raise LaunchError(f"{', '.join(sorted(twice))} of {name} comes from @triton.autotune and was passed at the launch too", "leave it out of the launch")
        if launches and id(tuner) not in _told:
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


def _check_names(tuner: Any) -> None:
    """Raise for names that are no parameters of the kernel; Triton before 3.9 drops them silently."""
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


def _is_new(tuner: Any, kwargs: dict[str, Any]) -> bool:
    given = {k: v for k, v in {**tuner.nargs, **kwargs}.items() if k in tuner.arg_names}
    key = tuple(repr(given[k]) for k in tuner.keys if k in given) + tuple(str(v.dtype) for v in given.values() if hasattr(v, "dtype"))
    seen: set[Any] = tuner.__dict__.setdefault("_interpreted_keys", set())
    new = key not in seen
    seen.add(key)
    return new


def _usable(config: Any) -> bool:
    warps = getattr(config, "num_warps", 4)
    return isinstance(warps, int) and 1 <= warps <= 32 and not warps & (warps - 1)

