"""``lab.measure``: time one piece of code on the GPU at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from .ceilings import present_roofs
from .checking import compare, default_tolerance, poisoned
from .contest import Contest
from .errors import MeasureError
from .measurement import Measurement, Measurements, Roofs
from .origin import present_origin
from .timing import CALLS, GpuTimer, Timer, interpreted_error

__all__ = ["measure"]

METHOD = (
    "{calls}; median over {passes} passes, contenders in a new order in each, warmed up one by one; "
    "spread: 10th to 90th percentile of all calls, widened to every pass's median; clocks as found"
)


def measure(
    fn: Callable[[], torch.Tensor],
    *,
    baseline: Callable[[], torch.Tensor] | Mapping[str, Callable[[], torch.Tensor]] | None = None,
    cost: tuple[int, int] | Callable[[], tuple[int, int]] | None = None,
    oracle: torch.Tensor | Callable[[], torch.Tensor] | None = None,
    tolerance: tuple[float, float] | None = None,
    op: str | None = None,
    name: str = "yours",
    shape: tuple[int, ...] | None = None,
    passes: int = 3,
    milliseconds: float = 30.0,
    timer: Timer | None = None,
) -> Measurements:
    """Time ``fn()`` on this machine's GPU, beside its baselines, on the tensors that it closes over.

    fn: takes nothing, gives its result as one CUDA tensor; ``name`` is what tables call it.
    baseline: the same work by others, a callable ("torch") or ``{name: callable}``.
    cost: (bytes, flops) that the op must move and compute; without it there are times, but no GB/s.
    oracle: the right result in higher precision, a tensor or a callable. Compared within ``tolerance`` (rtol, atol), by
    default four units in the last place of the result's dtype; ``WrongResultError`` when ``fn`` misses it.
    op, shape: what to call it, by default the callable's name and the result's shape.
    passes, milliseconds: each contender is timed ``passes`` times for about ``milliseconds``.
    Use random data: zeros run faster than real numbers.

    Gives ``Measurements``: median and spread of single calls with L2 cleared, and a CUDA graph's time where the launch is a fifth or
    more of it, with the roofs of this GPU (measured once a process). ``MeasureError`` where nothing can be
    measured: no GPU, or a result on the CPU, where kernels are interpreted.
    """
    if not callable(fn):
        raise TypeError(f"measure takes a callable, such as lambda: vector_add(x, y); it got {type(fn).__name__}")
    if timer is None:
        if not torch.cuda.is_available():
            raise interpreted_error(op)
        timer = GpuTimer()
    def on_device(out: torch.Tensor) -> None:
        if out.device.type != timer.device:
            raise interpreted_error(op, machine_has_gpu=True)

    contenders = {name: fn, **_named(baseline, name)}
    expected = oracle() if callable(oracle) else oracle
    errors: dict[str, float | None] = {}
    result: torch.Tensor | None = None
    for who, contender in contenders.items():
        out = poisoned(contender, on_device)
        errors[who] = None
        if expected is not None:
            errors[who] = compare(out, expected.to(out.device), tolerance or default_tolerance(out.dtype), who)
        result = out if result is None else result
    assert result is not None
    nbytes, flops = _cost(cost)
    shape, dtype = tuple(shape) if shape is not None else tuple(result.shape), str(result.dtype).removeprefix("torch.")
    del out, result, expected
    roofs = present_roofs(timer) if timer.device == "cuda" else Roofs()
    contest = Contest(timer)
    for number in range(passes):
        contest.time(contenders, milliseconds, roofs.launch, graphs=number in (0, passes - 1))
    origin = present_origin(METHOD.format(calls=CALLS, passes=passes), timer.device)
    op = op or _name_of(fn)
    return Measurements(
        tuple(
            Measurement(op, who, shape, dtype, contest.timing(who), origin, nbytes, flops, contest.graph(who), errors[who]) for who in contenders
        ),
        roofs,
    )


def _named(baseline: Any, name: str) -> dict[str, Callable]:
    if baseline is None:
        return {}
    named = dict(baseline) if isinstance(baseline, Mapping) else {"torch": baseline}
    for who, contender in named.items():
        if not callable(contender):
            raise TypeError(f"baseline {who!r} must be a callable that takes nothing, got {type(contender).__name__}")
    if name in named:
        raise ValueError(f"a baseline is called {name!r}, as is what is measured; give one of them another name")
    return named


def _cost(cost: Any) -> tuple[int | None, int | None]:
    if cost is None:
        return None, None
    pair = cost() if callable(cost) else cost
    try:
        nbytes, flops = (int(n) for n in pair)
    except (TypeError, ValueError) as error:
        raise MeasureError(f"cost must be (bytes, flops), got {pair!r}") from error
    return nbytes, flops


def _name_of(fn: Callable) -> str:
    name = getattr(fn, "__name__", "") or type(fn).__name__
    return "measured code" if name == "<lambda>" else name
