"""What a GPU would refuse of launches that ran here, or that were only captured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import TritonlabError
from ..runtime import Captured
from .compiling import answers, launches_of
from .errors import CompileError, _Function
from .request import Request, check_target, request

__all__ = ["Refusal", "refusals"]


@dataclass(frozen=True)
class Refusal:
    """What a GPU of ``target`` refuses: at which line of the learner's kernel (0: none in particular), why, the way out."""

    target: str
    kernel: str
    line: int
    text: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        at = f"line {self.line}, `{self.text}`: " if self.line else ""
        return f"{self.kernel} on {self.target}: {at}{self.message}" + (f"; {self.hint}" if self.hint else "")


def refusals(
    work: Callable[[], Any] | Captured | Sequence[Captured], targets: Sequence[str] = ("sm_80", "sm_90")
) -> tuple[Refusal, ...]:
    """Compile launches for each target and say what a GPU would refuse; () when it would run them all.

    work: a callable without arguments, or launches that ``tritonlab.runtime.capture()`` took. Nothing is run.
    A kernel that the compiler refuses, one that needs more shared memory, registers or threads than the target has, and
    options that it lacks are each named once a target, in the order of the launches.
    """
    for target in targets:
        check_target(target)
    if isinstance(work, Captured):
        launches = [work]
    elif isinstance(work, Sequence) and all(isinstance(launch, Captured) for launch in work):
        launches = list(work)
    else:
        launches = launches_of(work)
    found: list[Refusal] = []
    wanted: list[Request] = []
    for launch in launches:
        for target in targets:
            try:
                wanted.append(request(launch, target))
            except TritonlabError as e:
                found.append(Refusal(target, launch.jit.fn.__name__, 0, "", e.message, e.hint))
    for one, made in zip(wanted, answers(wanted)):
        if isinstance(made, CompileError):
            found.append(Refusal(one.target, one.kernel, made.line, made.text, made.message, made.hint))
        elif made.problems:
            kernel = _Function(one.kernel, one.jit)
            hint = "use smaller blocks or fewer num_stages" if made.shared else "use fewer num_warps or smaller blocks"
            found.append(
                Refusal(one.target, one.kernel, kernel.definition, kernel.text(kernel.definition).strip(), made.problems[0], hint)
            )
    return tuple(dict.fromkeys(found))
