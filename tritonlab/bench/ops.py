"""The ops that the bench knows: every module of ``tritonlab.kernels`` that has ``bench_cases()``.

Adding an op is one function beside its kernel. It takes nothing, imports nothing from the bench, and
yields a dict for every shape and dtype:

``shape``      tuple of sizes, as tables and plots show it
``dtype``      torch.dtype of what is stored
``make``       ``make(device)`` → tuple of arguments with random data (the bench seeds torch)
``run``        the course's launcher, ``run(*args)`` → tensor; or a dict of several, ``{"flat": f, "2-D grid": g}``; or, for
               a sweep, a list of launches, callables with ``implementation`` and ``config`` (a dict)
``baselines``  ``{"torch": fn(*args), ...}``; "torch" is measured under torch.compile as well
``cost``       ``(bytes, flops)``, or ``cost(*args)`` that gives them; each input read once, each output written once
``oracle``     optional: ``oracle(*args)`` → float64 tensor (otherwise ``tritonlab.reference.<op>``, if there is one)
``tolerance``  optional: ``(rtol, atol)`` (otherwise that of ``tritonlab.tolerances``, if it has the op)
``like``       optional: the op whose oracle and tolerance these are, where it is not this one
``accuracy``   optional: what that tolerance depends on beside op and dtype, ``{"K": 4096}``
``compile``    optional: what torch.compile compiles instead of "torch", or None for nothing

A module that also says ``ONLY_BY_NAME = True`` is measured only when it is named.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch

from .errors import MeasureError
from .tables import config_text, shape_text

__all__ = ["Case", "cases_of", "find_ops"]

_REQUIRED = ("shape", "dtype", "make", "run", "cost")
_OPTIONAL = ("baselines", "oracle", "tolerance", "like", "accuracy", "compile")


@dataclass(frozen=True)
class Case:
    """One shape and dtype of one op, with everyone who runs in it.

    ``contenders`` maps an implementation's name to ``fn(*args)``: the course's own first, then the baselines.
    ``compiled`` is what torch.compile is given, or None. ``swept``: of a contender that is a point of a sweep, the
    implementation and the config.
    """

    op: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    make: Callable[[str], tuple]
    contenders: dict[str, Callable]
    own: tuple[str, ...]
    cost: tuple[int, int] | Callable[..., tuple[int, int]]
    oracle: Callable | None = None
    tolerance: tuple[float, float] | None = None
    compiled: Callable | None = None
    swept: Mapping[str, tuple[str, tuple[tuple[str, int | str], ...]]] = field(default_factory=dict)

    @property
    def dtype_name(self) -> str:
        return str(self.dtype).removeprefix("torch.")

    @property
    def name(self) -> str:
        return f"{self.op} {shape_text(self.shape)} {self.dtype_name}"


def find_ops(package: str = "tritonlab.kernels") -> dict[str, ModuleType]:
    """The modules of ``package`` that declare benchmark cases, by op name, in alphabetical order."""
    found = {}
    for info in pkgutil.iter_modules(importlib.import_module(package).__path__):
        module = importlib.import_module(f"{package}.{info.name}")
        if hasattr(module, "bench_cases"):
            found[info.name] = module
    return dict(sorted(found.items()))


def cases_of(names: Iterable[str] = (), package: str = "tritonlab.kernels", quick: bool = False) -> list[Case]:
    """The cases of the named ops (when none is named, all but those that want to be), in the order in which they are declared.

    ``quick`` keeps, for each op and dtype, every fourth case and the last.
    ``MeasureError`` for an unknown op (close names first) and for a declaration that lacks something.
    """
    ops = find_ops(package)
    chosen = list(dict.fromkeys(names)) or [name for name, module in ops.items() if not getattr(module, "ONLY_BY_NAME", False)]
    for name in chosen:
        if name not in ops:
            close = difflib.get_close_matches(name, ops, n=3)
            order = close + [op for op in ops if op not in close]
            hint = f"did you mean {close[0]!r}?" if close else ""
            raise MeasureError(f"the bench knows no op {name!r}; it knows {', '.join(order) or 'none'}", hint)
    cases = [_case(name, number, dict(declared)) for name in chosen for number, declared in enumerate(ops[name].bench_cases())]
    return _thin(cases) if quick else cases


def _thin(cases: list[Case]) -> list[Case]:
    groups: dict[tuple, list[Case]] = {}
    for case in cases:
        groups.setdefault((case.op, case.dtype), []).append(case)
    kept = {id(case) for group in groups.values() for case in (group[::-1][::4])}
    return [case for case in cases if id(case) in kept]


def _case(op: str, number: int, declared: dict[str, Any]) -> Case:
    missing = [key for key in _REQUIRED if key not in declared]
    unknown = [key for key in declared if key not in _REQUIRED + _OPTIONAL]
    if missing or unknown:
        what = f"lacks {', '.join(missing)}" if missing else f"has an unknown {', '.join(unknown)}"
        raise MeasureError(f"case {number} of tritonlab.kernels.{op}.bench_cases() {what}; it takes {', '.join(_REQUIRED + _OPTIONAL)}")
    run, baselines = declared["run"], dict(declared.get("baselines") or {})
    swept = {}
    if isinstance(run, list):
        own = {f"{one.implementation}{config_text(tuple(one.config.items()))}": one for one in run}
        swept = {name: (one.implementation, tuple(one.config.items())) for name, one in own.items()}
    else:
        own = {f"tritonlab {name}".strip(): fn for name, fn in run.items()} if isinstance(run, dict) else {"tritonlab": run}
    return Case(
        op=op,
        shape=tuple(declared["shape"]),
        dtype=declared["dtype"],
        make=declared["make"],
        contenders={**own, **baselines},
        own=tuple(own),
        cost=declared["cost"],
        oracle=declared.get("oracle") or _reference(declared.get("like", op)),
        tolerance=declared.get("tolerance") or _tolerance(declared.get("like", op), declared["dtype"], declared.get("accuracy") or {}),
        compiled=declared["compile"] if "compile" in declared else baselines.get("torch"),
        swept=swept,
    )


def _reference(op: str) -> Callable | None:
    from .. import reference

    return getattr(reference, op, None)


def _tolerance(op: str, dtype: torch.dtype, accuracy: dict[str, Any]) -> tuple[float, float] | None:
    from ..tolerances import tolerance

    try:
        found = tolerance(op, dtype, **accuracy)
    except KeyError:
        return None
    return found.rtol, found.atol
