"""Compile what a piece of code launches, for a GPU that need not be here."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

import torch
import triton

from ..errors import LaunchError
from ..runtime import Captured, capture
from . import cache, worker
from .errors import CompileError, explain
from .kinds import count
from .ptx import read_ptx, trimmed
from .record import Compilations, Compiled, Failed, FunctionSource
from .request import Request, check_target, key_of, request, sources
from .sass import read_sass, resources
from .ttgir import pipeline

__all__ = ["answers", "compile", "launches_of", "variants"]

_PATH = re.compile(r'(?<=")/[^"\n]*?/(?=[^/"\n]+")')


def compile(work: Callable[[], Any], target: str = "sm_90", override: dict[str, Any] | None = None) -> Compiled | Compilations:
    """Compile every Triton launch that ``work()`` makes, for ``target``, without running it.

    work: a callable without arguments, ``lambda: softmax(x)``, or launches that ``runtime.capture()`` took. Its tensors may be on the CPU, on a GPU or on the meta
    device; no kernel runs, so a result computed from what a kernel would have written means nothing.
    target: "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100" or "sm_120"; it need not be here.
    override: parameters and options that take another value than the launcher gave: ``{"BLOCK_SIZE": 512, "num_warps": 8}``.

    Each argument is specialised as a launch does: pointers and integers that 16 divides, integers equal to 1.
    Returns a ``Compiled`` for one launch, ``Compilations`` (a sequence of them, with ``.only``) for several. Answers are kept
    on disk. Raises ``CompileError`` at the learner's line when the compiler refuses a kernel, ``LaunchError`` when nothing is
    launched, ``ValueError`` for an unknown target and ``LaunchTypeError`` for an override that the kernel does not have.
    """
    check_target(target)
    made = answers([request(launch, target, override) for launch in launches_of(work)])
    for one in made:
        if isinstance(one, CompileError):
            raise one
    return made[0] if len(made) == 1 else Compilations(tuple(made))  # type: ignore[arg-type, return-value]


def variants(work: Callable[[], Any], target: str = "sm_90", **choices: Sequence[Any]) -> Compilations:
    """Compile one launch for every combination of choices: ``variants(work, num_warps=[4, 8], BLOCK_M=[64, 128])``.

    Each keyword names a parameter or an option of the launch and lists its values; the last one changes fastest.
    What the compiler refuses is kept as a ``Failed`` with the reason, in its place.
    """
    check_target(target)
    for name, values in choices.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise TypeError(f"{name} takes a list of values to compile for, got {values!r}")
    launches = launches_of(work)
    if len(launches) != 1:
        raise LaunchError(
            f"variants takes work with one launch, and this makes {len(launches)}", "launch only the kernel in question"
        )
    wanted = [request(launches[0], target, dict(zip(choices, values))) for values in itertools.product(*choices.values())]
    made = [_failed(w, m) if isinstance(m, CompileError) else m for w, m in zip(wanted, answers(wanted))]
    return Compilations(tuple(made))


def launches_of(work: Any) -> list[Captured]:
    """The launches that a callable makes, captured; at least one. Launches that were captured before are taken as they are."""
    if isinstance(work, Sequence) and work and all(isinstance(launch, Captured) for launch in work):
        return list(work)
    if not callable(work):
        kind = "a result, not work to do" if isinstance(work, torch.Tensor) else f"{work!r}, which cannot be called"
        raise TypeError(f"compile takes a callable, compile(lambda: add(x, y)); got {kind}")
    with capture() as launches:
        work()
    if not launches:
        raise LaunchError(
            "nothing to compile: the code launched no Triton kernel",
            "launch one in the callable: lab.compile(lambda: kernel[grid](...))",
        )
    return launches


def answers(wanted: list[Request]) -> list[Compiled | CompileError]:
    """What became of each request, from the disk or from the compiler; equal requests are compiled once."""
    made: dict[int, Compiled | CompileError] = {}
    missing: dict[str, list[int]] = {}
    for i, one in enumerate(wanted):
        try:
            key = key_of(one)
        except Exception as e:  # Triton looks at the globals that a kernel uses to tell kernels apart, and may refuse them
            made[i] = explain(one, {"chain": worker._chain(e), "printed": ""})
            continue
        kept = _MEMORY.get(key) or cache.get(key)
        if kept is not None:
            _remember(key, kept)
            made[i] = _compiled(one, kept)
        else:
            missing.setdefault(key, []).append(i)
    for (key, places), answer in zip(missing.items(), worker.run_all([wanted[p[0]] for p in missing.values()])):
        if "error" not in answer:
            answer["asm"] = {stage: _clean(text) for stage, text in answer["asm"].items()}
            cache.put(key, answer)
            _remember(key, answer)
        for i in places:
            made[i] = explain(wanted[i], answer["error"]) if "error" in answer else _compiled(wanted[i], answer)
    return [made[i] for i in range(len(wanted))]


_MEMORY: dict[str, dict[str, Any]] = {}


def _remember(key: str, answer: dict[str, Any]) -> None:
    _MEMORY.pop(key, None)
    _MEMORY[key] = answer
    while len(_MEMORY) > 64:
        del _MEMORY[next(iter(_MEMORY))]


def _clean(text: str) -> str:
    """A stage's text without the folders of this machine."""
    return _PATH.sub(lambda m: "triton/" if "/triton/" in m[0] else "", text)


def _compiled(wanted: Request, answer: dict[str, Any]) -> Compiled:
    known = set(wanted.functions)
    used = resources(answer["resources"], answer["name"])
    ptx = read_ptx(answer["asm"]["ptx"], known)
    sass = read_sass(answer["sass"], answer["name"], ptx)
    asm = {**answer["asm"], "ptx": trimmed(answer["asm"]["ptx"]), "sass": "\n".join(line.text for line in sass) + "\n"}
    depot = sum(int(n) for n in re.findall(r"\.local\s+\.align\s+\d+\s+\.b8\s+\w+\[(\d+)\]", asm["ptx"]))
    functions: tuple[FunctionSource, ...] = sources(wanted.functions)
    options = dict(wanted.options)
    if answer["num_warps"] != options["num_warps"]:
        options["warps_launched"] = answer["num_warps"]
    return Compiled(
        kernel=wanted.kernel,
        target=wanted.target,
        triton_version=triton.__version__,
        grid=wanted.grid,
        meta=wanted.meta,
        options=options,
        signature=wanted.signature,
        registers=used["REG"],
        spilled=max(0, used["STACK"] - depot),
        stack=used["STACK"],
        shared=answer["shared"],
        tensor_memory=answer["tensor_memory"],
        ptx=count(ptx),
        sass=count(sass),
        asm=asm,
        lines={"ptx": ptx, "sass": sass},
        functions=functions,
        pipeline=pipeline(asm["ttgir"]),
    )


def _failed(wanted: Request, error: CompileError) -> Failed:
    return Failed(
        wanted.kernel, wanted.target, triton.__version__, wanted.grid, wanted.meta, wanted.options, wanted.signature,
        error.message, error.line, error.text,
    )  # fmt: skip
