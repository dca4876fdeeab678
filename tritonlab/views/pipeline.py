"""How a loop's loads run ahead of its dots: ``num_stages`` as a timeline, from the facts of the compiled kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..compiler.limits import LIMITS
from ..compiler.record import Compilations, Compiled, Failed, kib
from .base import View, plain
from .resources import differing, labels

__all__ = ["PipelineView", "pipeline", "samples"]

MOST_STEPS = 16


class PipelineView(View):
    """A timeline of loads (above) and dots (below) for one compiled kernel at a time."""

    module = "pipeline.js"
    parts = ("pipeline_model.js",)


def pipeline(
    compiled: Compiled | Compilations | list[Compiled | Failed] | Mapping[str, Compiled | Failed],
    steps: int = 8,
    load: int = 2,
    start: str | None = None,
) -> PipelineView:
    """Show which buffer each step's tiles are copied into, when, and which dot waits for them.

    ``compiled``: what ``lab.compile`` or ``tritonlab.compiler.variants`` returned, a list of such, or a dict that gives each a label.
    What is drawn is computed from ``Compiled.pipeline``: stages, buffers, copies and waits as the compiler made them. The order
    of events is the compiler's; their lengths are not measured: a load is drawn ``load`` times as long as a dot.
    ``steps``: of the loop, to begin with, 1 to 16; ``load``: 1 to 6. The view offers both as sliders. ``start``: the label of
    the kernel that is shown first, "3 stages" (by default the first one that compiled).

    ``TypeError`` for anything else; ``ValueError`` for no kernel, for a kernel without a loop that loads tiles, and for steps and load
    out of range and for a label that is not there.
    """
    given = _given(compiled)
    for name, value, most in (("steps", steps, MOST_STEPS), ("load", load, 6)):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise ValueError(f"{name} must be a whole number from 1 to {most}; got {value!r}")
    for label, c in given.items():
        if isinstance(c, Compiled) and c.pipeline is None:
            raise ValueError(f"{c.kernel} for {c.target} has no loop that loads tiles, so there is no pipeline to show{f' ({label})' if label else ''}")
    if start is not None and (not isinstance(start, str) or start not in given):
        raise ValueError(f"start is {start!r}; the kernels are labelled {', '.join(map(repr, given))}")
    first = next((i for i, c in enumerate(given.values()) if isinstance(c, Compiled)), 0)
    data = {
        "steps": steps,
        "most": MOST_STEPS,
        "load": load,
        "start": first if start is None else list(given).index(start),
        "items": [_item(label, c) for label, c in given.items()],
    }
    return PipelineView(data=plain(data), text=_text(given))


def _given(compiled: Any) -> dict[str, Compiled | Failed]:
    """Each compiled kernel by its label; labels of a list say what its kernels differ in."""
    hint = "; hand it to lab.compile(...) first and show what that returns" if callable(compiled) else ""
    wrong = TypeError(f"pipeline takes what lab.compile returns; got {type(compiled).__name__}{hint}")
    if isinstance(compiled, (Compiled, Failed)):
        compiled = [compiled]
    if isinstance(compiled, Mapping):
        given = {str(label): c for label, c in compiled.items()}
    elif isinstance(compiled, (Compilations, list, tuple)):
        points = list(compiled)
        if not all(isinstance(c, (Compiled, Failed)) for c in points):
            raise wrong
        names = labels(points, differing(points)) if len(points) > 1 else [""]
        if len(set(names)) < len(points):
            names = [f"{name} ({i})".lstrip() for i, name in enumerate(names, 1)]
        given = dict(zip(names, points))
    else:
        raise wrong
    if not all(isinstance(c, (Compiled, Failed)) for c in given.values()):
        raise wrong
    if not given:
        raise ValueError("there is nothing to show: no compiled kernel was given")
    return given


def _item(label: str, c: Compiled | Failed) -> dict[str, Any]:
    made = {"label": label, "kernel": c.kernel, "target": c.target, "asked": int(c.options.get("num_stages", 3)), "problems": list(c.problems)}
    if isinstance(c, Failed):
        return made | {"compiled": False}
    p = c.pipeline
    assert p is not None
    groups: dict[tuple[int, int], list[Any]] = {}
    for b in p.buffers:
        groups.setdefault((b.ahead, b.slots), []).append(b)
    ordered = sorted(groups.items(), key=lambda item: -item[0][0])
    return made | {
        "compiled": True,
        "stages": p.stages,
        "how": p.how,
        "dot": p.dot,
        "running": p.running,
        "groups": [
            {
                "ahead": ahead,
                "slots": slots,
                "bytes": sum(b.bytes for b in tiles) // slots,
                "tiles": [[b.name, "×".join(map(str, b.shape)), b.dtype] for b in tiles],
            }
            for (ahead, slots), tiles in ordered
        ],
        "before": p.before,
        "inside": p.inside,
        "loads": p.loads,
        "waits": list(p.waits),
        "bytes": p.bytes,
        "shared": c.shared,
        "most_shared": LIMITS[c.target].shared_program,
        "registers": c.registers,
        "programs": c.occupancy.programs,
    }


def _text(given: dict[str, Compiled | Failed]) -> str:
    kernels = " and ".join(dict.fromkeys(c.kernel for c in given.values()))
    targets = " and ".join(dict.fromkeys(c.target for c in given.values()))
    parts = [_stages(c) for c in given.values()]
    return f"{kernels} {targets}: {'; '.join(parts)}"


def _stages(c: Compiled | Failed) -> str:
    if isinstance(c, Failed) or c.pipeline is None:
        return "does not compile"
    p = c.pipeline
    if p.stages == 1:
        return "1 stage, not pipelined"
    return f"{p.stages} stages, {p.slots} × {kib(sum(b.bytes // b.slots for b in p.buffers if b.ahead == p.ahead))}"


def samples() -> list[tuple[str, PipelineView]]:
    """One pipelined matmul, five numbers of stages, two targets, and loops that are pipelined in part or not at all."""
    from .specimens_compiled import pipelined

    return [
        ("pipeline-one", pipeline(pipelined(3))),
        ("pipeline-stages", pipeline([pipelined(n) for n in (1, 2, 3, 4, 5)], start="4 stages")),
        ("pipeline-targets", pipeline({target: pipelined(3, target) for target in ("sm_80", "sm_90", "sm_100")})),
        ("pipeline-part", pipeline({"K odd": pipelined(3, part=True), "no dot": pipelined(4, dot=False), "all odd": pipelined(3, odd=True)})),
    ]
