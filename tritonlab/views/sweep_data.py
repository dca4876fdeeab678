"""What a recorded sweep of configs says: the fastest of each shape, what comes near it, and what a look-up table would lose.

Pure functions of measurements; a *case* is a shape and a dtype, a *config* the sweep's meta-parameters and options.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..bench.measurement import Measurement, Measurements

__all__ = ["Case", "Config", "Lookup", "best_set", "cases", "fastest", "listed", "lookups", "near_ties", "ranked", "shape_words", "tables"]

Config = tuple[tuple[str, int | str], ...]
Case = tuple[tuple[int, ...], str]


def cases(ms: Measurements) -> list[Case]:
    """The shapes and dtypes that configs were timed for, in order. ``ValueError`` when nothing was measured with a config."""
    found = dict.fromkeys((m.shape, m.dtype) for m in ms if m.config)
    if not found:
        raise ValueError("none of the measurements has a config, so there is no sweep to show")
    return list(found)


def ranked(ms: Measurements, case: Case) -> list[Measurement]:
    """The measurements of a case that have a config, the fastest first; equals in the order in which they were taken."""
    return sorted((m for m in ms if m.config and (m.shape, m.dtype) == case), key=lambda m: m.seconds)


def fastest(ms: Measurements, case: Case) -> Measurement:
    return ranked(ms, case)[0]


def near_ties(ms: Measurements, case: Case) -> list[Measurement]:
    """Those whose spread meets that of the fastest: which of them is best, this sweep does not settle."""
    first, *rest = ranked(ms, case)
    return [m for m in rest if first.timing.agrees(m.timing)]


@dataclass(frozen=True)
class Lookup:
    """A look-up table: how it chooses, the config it gives each case, and what that reaches.

    ``shares``: the fastest config's time over the chosen one's, 1.0 for the fastest itself, for each case; None where the chosen config
    did not run. ``ties``: whether the spreads of both meet.
    """

    name: str
    configs: tuple[Config, ...]
    shares: tuple[float | None, ...]
    ties: tuple[bool, ...]

    @property
    def worst(self) -> float | None:
        """The least share, None when a case is not served at all."""
        return None if None in self.shares else min(self.shares)  # type: ignore[type-var]


def lookups(ms: Measurements) -> list[Lookup]:
    """Look-up tables of one entry: the best single config for all cases, and each case's own best used for all.

    The best single config is that with the highest geometric mean of shares among those that ran in every case; it is
    left out when none did.
    """
    all_cases = cases(ms)
    several = len({dtype for _, dtype in all_cases}) > 1
    named: dict[Config, list[str]] = {}
    for case in all_cases:
        named.setdefault(fastest(ms, case).config, []).append(shape_words(case[0]) + (f" {case[1]}" if several else ""))
    found = [_lookup(ms, f"best of {listed(names)}", (config,) * len(all_cases)) for config, names in named.items()]
    one = best_set(ms, 1)
    return [_lookup(ms, "one config for all", one * len(all_cases)), *found] if one else found


def tables(ms: Measurements, most: int = 3) -> list[Lookup]:
    """For 1, 2, … entries the best look-up table with that many configs, each case given the better one, up to what equals tuning."""
    found = []
    for size in range(1, min(most, len(cases(ms))) + 1):
        chosen = best_set(ms, size)
        if not chosen:
            continue
        times = _times(ms)
        picks = tuple(min((c for c in chosen if (case, c) in times), key=lambda c: times[case, c].seconds) for case in cases(ms))
        found.append(_lookup(ms, f"{size} config{'s' * (size > 1)}", picks))
        if found[-1].worst == 1.0:
            break  # as good as tuning: more entries add nothing
    return found


def best_set(ms: Measurements, size: int) -> tuple[Config, ...]:
    """The ``size`` configs with the highest geometric mean, over cases, of the better one's share; () when no set serves all cases.

    Configs that another beats in every case are left out first: no best set needs them.
    """
    times, every = _times(ms), cases(ms)
    best = {case: fastest(ms, case).seconds for case in every}
    logs = {
        c: tuple(math.log(best[case] / times[case, c].seconds) if (case, c) in times else -math.inf for case in every)
        for c in dict.fromkeys(c for _, c in times)
    }
    kept = [c for c in logs if not any(_beats(logs[d], logs[c]) for d in logs)]
    kept += [c for c in logs if c not in kept][: max(0, size - len(kept))]

    def mean(chosen: Sequence[Config]) -> float:
        return sum(map(max, zip(*(logs[c] for c in chosen))))

    found = max(itertools.combinations(kept, size), key=mean, default=())
    return found if found and mean(found) > -math.inf else ()


def _beats(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a != b and all(x >= y for x, y in zip(a, b))


def _times(ms: Measurements) -> dict[tuple[Case, Config], Measurement]:
    return {((m.shape, m.dtype), m.config): m for m in ms if m.config}


def _lookup(ms: Measurements, name: str, configs: tuple[Config, ...]) -> Lookup:
    times = _times(ms)
    shares, ties = [], []
    for case, config in zip(cases(ms), configs):
        best, m = fastest(ms, case), times.get((case, config))
        shares.append(None if m is None else best.seconds / m.seconds)
        ties.append(m is not None and m is not best and best.timing.agrees(m.timing))
    return Lookup(name, configs, tuple(shares), tuple(ties))


def listed(names: Sequence[str]) -> str:
    """"a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def shape_words(shape: tuple[int, ...]) -> str:
    """"4096³" for a cube, "16384×512×8192" for others."""
    return f"{shape[0]}³" if len(shape) == 3 and len(set(shape)) == 1 else "×".join(map(str, shape))
