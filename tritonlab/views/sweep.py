"""An explorer over a recorded sweep of configs: what is fastest, what comes near, what the compiler said, what a table would lose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..bench.measurement import Failure, Measurement, Measurements
from ..compiler.limits import LIMITS, occupancy
from ..compiler.record import Compilations, Compiled, Failed, Figure, figure, kib
from .base import View, plain
from .sweep_data import Case, Config, Lookup, cases, fastest, lookups, near_ties, ranked, shape_words, tables

__all__ = ["SweepView", "samples", "sweep"]

SHORT = {"num_warps": ("warp", "warps"), "num_stages": ("stage", "stages")}


class SweepView(View):
    """Every config of a sweep as a point, for one shape at a time."""

    module = "sweep.js"
    parts = ("sweep_model.js",)


def sweep(
    measurements: Measurements | Iterable[Measurement],
    compiled: Sequence[Figure | Compiled | Failed] | None = None,
    target: str = "sm_90",
) -> SweepView:
    """Explore a sweep: each config's TFLOP/s with its spread, ranked, for each shape and dtype.

    measurements: ``lab.recorded("matmul_configs")``, or others whose ``config`` is set. Those without a config (torch) become lines to
    compare with; ``failures`` are shown with their reason. compiled: what the compiler said of the configs:
    ``lab.compiler.figures("matmul_configs")``, or ``Compiled`` ones, found by their meta-parameters and options. Left out, or for
    configs that it lacks, registers, spills and shared memory are those that the driver reported in the same run, where recorded.
    target: whose limits occupancy is computed for where only the driver's figures are there.

    ``TypeError`` for other things; ``ValueError`` when no measurement has a config and known operations.
    """
    ms = _measurements(measurements)
    said = _said(compiled)
    if not isinstance(target, str) or target not in LIMITS:
        raise ValueError(f"target is {target!r}; it can be {', '.join(LIMITS)}")
    every = cases(ms)
    names = list(dict.fromkeys(k for m in (*ms, *ms.failures) for k, _ in m.config))
    configs = list(dict.fromkeys(m.config for m in (*ms, *ms.failures) if m.config))
    values = {k: _sorted({dict(c)[k] for c in configs if k in dict(c)}) for k in names}
    several = len({dtype for _, dtype in every}) > 1
    data = {
        "labels": list(ms.labels),
        "parameters": [[k, values[k]] for k in names if len(values[k]) > 1],
        "configs": [{"label": label(c), "values": [dict(c).get(k) for k in names if len(values[k]) > 1]} for c in configs],
        "cases": [_case(ms, case, configs, said, target, several) for case in every],
        "lookups": [_row(one, configs) for one in lookups(ms)],
        "tables": [_row(one, configs) for one in tables(ms)],
        "compiler": _source(said, ms),
    }
    return SweepView(data=plain(data), text=_text(ms, every, configs))


def label(config: Config) -> str:
    """A config in words: "128×256×64, GROUP_M 8, 8 warps, 3 stages"."""
    has = dict(config)
    tile = [str(has.pop(k)) for k in ("BLOCK_M", "BLOCK_N", "BLOCK_K") if k in has]
    words = ["×".join(tile)] if tile else []
    for name, value in has.items():
        one, many = SHORT.get(name, ("", ""))
        words.append(f"{value} {one if value == 1 else many}" if one else f"{name} {value}")
    return ", ".join(words)


def _measurements(given: Any) -> Measurements:
    wrong = "sweep takes Measurements, such as lab.recorded(...) gives; it got a"
    if not isinstance(given, Iterable) or isinstance(given, (str, Mapping)):
        raise TypeError(f"{wrong} {type(given).__name__}")
    ms = given if isinstance(given, Measurements) else Measurements(tuple(given))
    for m in ms:
        if not isinstance(m, Measurement):
            raise TypeError(f"{wrong} {type(m).__name__}")
    if not any(m.config and m.flops for m in ms):
        raise ValueError("none of the measurements has a config and known operations, so there is no sweep to show")
    kept = tuple(m for m in ms if m.flops)
    return Measurements(kept, ms.roofs, ms.notes, ms.failures)


def _said(compiled: Any) -> list[Figure]:
    if compiled is None:
        return []
    if isinstance(compiled, (Compiled, Failed, Figure)):
        compiled = [compiled]
    if not isinstance(compiled, (Sequence, Compilations)) or isinstance(compiled, str):
        raise TypeError(f"compiled takes lab.compiler.figures(...) or what lab.compile returns; got {type(compiled).__name__}")
    for one in compiled:
        if not isinstance(one, (Figure, Compiled, Failed)):
            raise TypeError(f"compiled takes lab.compiler.figures(...) or what lab.compile returns; it holds a {type(one).__name__}")
    return [one if isinstance(one, Figure) else figure(one) for one in compiled]


def _find(said: list[Figure], config: Config, shape: tuple[int, ...]) -> Figure | None:
    """The figure of a config: one whose names and values all are the config's, for this shape if it says for which."""
    has = dict(config)
    for f in said:
        own = {k: v for k, v in f.config if k in has}
        if own and all(has[k] == v for k, v in own.items()) and len(own) == len(has) and (not f.shapes or shape in f.shapes):
            return f
    return None


def _case(
    ms: Measurements, case: Case, configs: list[Config], said: list[Figure], target: str, several: bool
) -> dict[str, Any]:
    shape, dtype = case
    first, ties = fastest(ms, case), near_ties(ms, case)
    points = [
        {
            "config": configs.index(m.config),
            **_rates(m),
            "share": first.seconds / m.seconds,
            "tie": m in ties,
            "said": _figures(_find(said, m.config, shape), m, target),
        }
        for m in ranked(ms, case)
    ]
    ran = {p["config"] for p in points}
    failed = [f for f in ms.failures if (f.shape, f.dtype) == case and configs.index(f.config) not in ran]
    return {
        "name": shape_words(shape) + (f" {dtype}" if several else ""),
        "long": f"{'×'.join(map(str, shape))} {dtype}",
        "points": points,
        "failed": [{"config": configs.index(f.config), "reason": _reason(f, _find(said, f.config, shape))} for f in failed],
        "lines": [
            {"name": m.implementation, **_rates(m), "share": first.seconds / m.seconds}
            for m in ms
            if not m.config and (m.shape, m.dtype) == case
        ],
    }


def _rates(m: Measurement) -> dict[str, float]:
    """TFLOP/s of the median and of both ends of the spread."""
    assert m.flops is not None
    return {"tflops": m.flops / m.seconds / 1e12, "low": m.flops / m.timing.high / 1e12, "high": m.flops / m.timing.low / 1e12}


def _figures(f: Figure | None, m: Measurement, target: str) -> dict[str, Any] | None:
    if f is not None and f.compiled:
        return {
            "registers": f.registers, "spilled": f.spilled, "shared": f.shared, "programs": f.programs, "limiter": f.limiter,
            "instructions": f.instructions, "tensor": f.tensor_cores, "stages": f.stages,
        }  # fmt: skip
    has = m.counted
    if not {"registers", "spilled", "shared"} <= set(has):
        return None
    registers, shared, warps = int(has["registers"]), int(has["shared"]), m.meta.get("num_warps", 4)
    fits = occupancy(target, registers, shared, int(warps))
    return {"registers": registers, "spilled": int(has["spilled"]), "shared": shared, "programs": fits.programs, "limiter": fits.limiter}


def _reason(f: Failure, made: Figure | None) -> str:
    if made is not None and made.problem:
        return made.problem
    found = re.search(r"shared memory, Required: (\d+), Hardware limit: (\d+)", f.reason)
    if found:
        return f"needs {kib(int(found[1]))} of shared memory, and a program gets at most {kib(int(found[2]))}"
    return f.reason.strip()


def _row(one: Lookup, configs: list[Config]) -> dict[str, Any]:
    return {"name": one.name, "configs": [configs.index(c) for c in one.configs], "shares": list(one.shares), "ties": list(one.ties)}


def _source(said: list[Figure], ms: Measurements) -> str:
    if said:
        made = " and ".join(dict.fromkeys(f"{f.target}, Triton {f.triton_version}" for f in said))
        return f"Registers, shared memory and instructions: compiled for {made}, without a GPU"
    return "Registers and shared memory: of the loaded kernel, from the driver" if any(m.counters for m in ms) else ""


def _sorted(values: Iterable[Any]) -> list[Any]:
    return sorted(values, key=lambda v: (isinstance(v, str), v))


def _text(ms: Measurements, every: list[Case], configs: list[Config]) -> str:
    best = [f"{shape_words(c[0])} {label(fastest(ms, c).config)}" for c in every]
    failed = len({f.config for f in ms.failures})
    parts = [f"{len(configs)} configs × {len(every)} shape{'s' * (len(every) > 1)}", *best]
    if failed:
        parts.append(f"{failed} did not run somewhere")
    return "; ".join(parts)


def samples() -> list[tuple[str, SweepView]]:
    """A made-up sweep with the compiler's figures, one with the driver's, and the smallest."""
    from .specimens_sweep import swept

    ms, figures = swept()
    two = ms.where(implementation="grouped", config={"BLOCK_M": 128, "num_stages": 3}, shape=(4096,) * 3)
    return [("sweep-compiled", sweep(ms, figures)), ("sweep-driver", sweep(ms)), ("sweep-small", sweep(two))]
