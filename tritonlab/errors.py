"""The errors of tritonlab, and how a learner sees them.

Each says what happened, where in the learner's own lines, and the way out (``hint``). In a
notebook they render without a traceback through Triton or tritonlab: only lines that the
learner wrote are shown, with the numbers that the kernel's source has in its cell or file.
"""

from __future__ import annotations

import linecache
import os
import sys
import traceback
from types import TracebackType
from typing import Any

import numpy as np

__all__ = [
    "BudgetError",
    "ExpectedError",
    "KernelError",
    "KernelInterrupted",
    "LaunchError",
    "LaunchTypeError",
    "OutOfBoundsError",
    "TritonlabError",
    "UnsupportedError",
    "expect_error",
    "render",
]

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


class TritonlabError(Exception):
    """Base of all errors that tritonlab raises itself. ``hint`` is the way out, or ""."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.trace: Any = None

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message

    def _render_traceback_(self) -> list[str]:
        """What IPython prints instead of a traceback."""
        return render(self).splitlines()


class LaunchError(TritonlabError, ValueError):
    """A launch that cannot be right: its grid, a value, a device."""


class LaunchTypeError(TritonlabError, TypeError):
    """A launch with an argument of a wrong kind, or a keyword that the kernel does not have."""


class KernelError(TritonlabError, RuntimeError):
    """Something went wrong inside a kernel.

    ``kernel`` and ``function`` name the launched kernel and the function that was running,
    ``line`` its line (counted as in the learner's file or cell) and ``text`` that line,
    ``program`` the three program ids, ``grid`` the launch's grid, and ``original`` the exception
    that Python raised there, if one did. ``excerpt`` holds (number, text) of the lines around.
    """

    def __init__(self, message: str, hint: str = "", *, original: BaseException | None = None) -> None:
        super().__init__(message, hint)
        self.original = original
        self.kernel = ""
        self.function = ""
        self.line = 0
        self.text = ""
        self.program: tuple[int, int, int] = (0, 0, 0)
        self.grid: tuple[int, int, int] = (1, 1, 1)
        self.excerpt: tuple[tuple[int, str], ...] = ()
        self.started = True

    def __str__(self) -> str:
        return f"{self.where()}: {super().__str__()}" if self.kernel else super().__str__()

    def where(self) -> str:
        """In which kernel, line and program it happened, in words."""
        from .trace.record import short, trim

        inside = f"{self.kernel}" if self.function in ("", self.kernel) else f"{self.function} (called by {self.kernel})"
        if not self.started:
            return f"{inside}, line {self.line}"
        grid = trim(self.grid)
        count = f" of {grid[0]}" if len(grid) == 1 else f" of grid {tuple(grid)}"
        return f"{inside}, line {self.line}, program {short(self.program)}{count}"


class OutOfBoundsError(KernelError):
    """A lane that is on would touch memory outside the tensor it points into. Nothing was touched.

    ``kind`` is "load", "store", "atomic_add", ...; ``arg`` the tensor argument (None when the pointer
    belongs to no argument); ``lane`` the first bad lane, counted through the block in C order, and
    ``offset`` its element offset from the argument's pointer; ``low`` and ``high`` bound the valid
    offsets; ``lanes_bad`` of ``lanes`` lanes are bad; ``offsets`` and ``mask`` are the whole block.
    ``inside_allocation``: the address belongs to the allocation, but not to the view that was passed.
    """

    kind: str = ""
    arg: str | None = None
    lane: int = 0
    offset: int = 0
    low: int = 0
    high: int = -1
    lanes_bad: int = 0
    lanes: int = 0
    offsets: np.ndarray | None = None
    mask: np.ndarray | None = None
    inside_allocation: bool = False


class BudgetError(KernelError):
    """An interpreted launch ran past its budget of programs or seconds (``budget`` says which and how much)."""

    budget: str = ""


class UnsupportedError(KernelError):
    """The interpreter cannot do this as a GPU would, so it is refused rather than done wrong."""


class KernelInterrupted(KernelError, KeyboardInterrupt):
    """The learner interrupted a launch."""


class ExpectedError(TritonlabError, AssertionError):
    """``expect_error`` saw no error, or another one than it was told to expect."""


def learner_frames(tb: TracebackType | None) -> list[tuple[str, int, str, str]]:
    """(place, line number, function, text) of the frames of a traceback that the learner wrote."""
    machinery = (_PACKAGE, _STDLIB, *_installed("triton"), *_installed("torch"))
    frames = []
    for frame, lineno in traceback.walk_tb(tb):
        filename = frame.f_code.co_filename
        if filename.startswith("<") and not filename.startswith("<ipython"):
            continue
        if filename.startswith(machinery) or any(f"{os.sep}{place}{os.sep}" in filename for place in ("site-packages", "dist-packages")):
            continue
        text = linecache.getline(filename, lineno, frame.f_globals).strip()
        place = "cell" if _is_cell(filename) else filename.rsplit("/", 1)[-1]
        name = frame.f_code.co_name
        entry = (place, lineno, "" if name.startswith("<") else name, text)
        if not frames or frames[-1] != entry:  # a lambda and the line that calls it
            frames.append(entry)
    return frames


def _installed(package: str) -> list[str]:
    """The folder that a package was imported from, which need not be one of the environment's."""
    file = getattr(sys.modules.get(package), "__file__", None)
    return [os.path.dirname(os.path.abspath(file)) + os.sep] if file else []


def _is_cell(filename: str) -> bool:
    return "ipykernel_" in filename or filename.startswith("<ipython")


def render(error: BaseException) -> str:
    """The learner-sized text of an error: name and place, own lines, message, way out."""
    lines: list[str] = []
    name = type(error).__name__
    if isinstance(error, KernelError) and error.kernel:
        lines.append(f"{name} in {error.where()}")
        width = max((len(str(n)) for n, _ in error.excerpt), default=1)
        if error.excerpt:
            lines.append("")
            lines += [f"{'-->' if n == error.line else '   '} {n:>{width}}  {text}".rstrip() for n, text in error.excerpt]
            lines.append("")
        lines.append(error.message)
    else:
        message = error.message if isinstance(error, TritonlabError) else str(error)
        lines.append(f"{name}: {message}" if message else name)
    hint = getattr(error, "hint", "")
    if isinstance(hint, str) and hint and isinstance(error, TritonlabError):
        lines.append(f"Way out: {hint}")
    frames = learner_frames(error.__traceback__)
    if frames:
        lines.append("")
        for place, lineno, function, text in frames:
            inside = f", in {function}" if function else ""
            lines.append(f"{place}, line {lineno}{inside}: {text}")
    return "\n".join(lines)


class expect_error:
    """Run a block that should fail, show its error at a learner's size, and go on.

    ``with lab.expect_error(): ...`` prints the error to stdout; ``as caught`` gives an object whose
    ``error`` is the exception (and ``trace`` its trace, where it carries one). Name one or more
    exception classes to accept only these. No error, or another one, raises ``ExpectedError``, so that
    a cell which claims to fail cannot silently pass.
    """

    def __init__(self, *types: type[BaseException]) -> None:
        for t in types:
            if not (isinstance(t, type) and issubclass(t, BaseException)):
                raise TypeError(f"expect_error takes exception classes, got {t!r}")
        self.types = types or (Exception,)
        self.error: BaseException | None = None

    @property
    def trace(self) -> Any:
        return getattr(self.error, "trace", None)

    def __enter__(self) -> "expect_error":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> bool:
        wanted = " or ".join(t.__name__ for t in self.types)
        if error is None:
            raise ExpectedError(
                f"expected {'an error' if self.types[0] is Exception else wanted}, but the block ran through",
                "if that is right now, take the lines out of `with expect_error():`",
            )
        interrupt = isinstance(error, KeyboardInterrupt) and not any(issubclass(t, KeyboardInterrupt) for t in self.types)
        if interrupt or not isinstance(error, self.types):
            return False
        self.error = error
        print(render(error), file=sys.stdout)
        return True
