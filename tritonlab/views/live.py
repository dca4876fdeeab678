"""Controls that run Python again: change the experiment, and the picture follows."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import os
import signal
import threading
import traceback
from typing import Any, Callable, Iterator

import ipywidgets
from ipywidgets.widgets.interaction import fixed, interactive

from .base import View, photographing, unopened

__all__ = ["Live", "live", "samples"]

SETTLE = 0.003
"""Seconds without another change before Python runs: what queued up meanwhile is dropped."""
PRINTED = 4000
"""Characters of what the code printed that the view shows."""
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def live(make: Callable[..., Any], view: Callable[[Any], View], **controls: Any) -> Live:
    """A view with controls whose values ``make`` is called with, anew on every change.

    ``make(**values)`` returns what ``view`` draws (a trace, a launch, a result); ``view`` is a view function such
    as ``lab.views.tiles``. Controls are written as for ``ipywidgets.interact``: ``N=(1, 100)`` or ``(1, 100, 3)`` a
    slider, ``BLOCK=[16, 32, 64]`` a list to choose from, ``True`` a checkbox, ``"text"`` a text field, or a widget
    with a value. A default in ``make``'s signature is where its control begins.

    The view stays one view: only its data changes. While Python runs it says so, an error is shown inside it above
    the last good picture, and of several changes only the last is carried out.

    Raises what ``make`` or ``view`` raise the first time; ``TypeError`` for a control that ``make`` does not take, one
    that it lacks, an abbreviation that makes no control, and a ``view`` that returns no view.
    """
    return Live(make, view, controls)


class Live(ipywidgets.VBox):
    """What ``live`` returns. ``controls``: the widgets by name; ``view``: the one view; ``values``: what it was made with."""

    def __init__(self, make: Callable[..., Any], view: Callable[[Any], View], controls: dict[str, Any]) -> None:
        for name, value in (("make", make), ("view", view)):
            if not callable(value):
                raise TypeError(f"{name} is a {type(value).__name__}, which cannot be called")
        self._make, self._draw = make, view
        self.controls = _widgets(make, controls)
        self._waiting: asyncio.TimerHandle | None = None
        self._running = False
        self.values = self._wanted()
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.view = view(make(**self.values))
        if not isinstance(self.view, View):
            raise TypeError(f"view returned a {type(self.view).__name__}; live shows a tritonlab view, such as lab.views.tiles gives")
        if printed.getvalue():
            self.view.status = {"state": "ready", "printed": printed.getvalue()[:PRINTED]}
        shown = [w for w in self.controls.values() if not isinstance(w, fixed)]
        box = ipywidgets.Box(shown, layout=ipywidgets.Layout(flex_flow="row wrap", margin="6px 0 0 0"))
        box.add_class("tl-live-controls")
        super().__init__([self.view, box])
        self.add_class("tl-live")
        for widget in shown:
            widget.observe(self._changed, "value")

    def __repr__(self) -> str:
        return f"<Live {', '.join(f'{k}={v!r}' for k, v in self.values.items())}: {self.view!r}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        if photographing():
            return self.view.photo(repr(self), self.labels())
        return super()._repr_mimebundle_(**kwargs) | {"text/plain": repr(self)}

    def labels(self) -> list[tuple[str, str]]:
        """Names and values of the controls, as the photographed picture shows them."""
        named = [(name, w) for name, w in self.controls.items() if not isinstance(w, fixed)]
        return [(w.description or name, str(getattr(w, "label", None) or w.value)) for name, w in named]

    def _wanted(self) -> dict[str, Any]:
        return {name: w.value for name, w in self.controls.items()}

    def _changed(self, change: Any) -> None:
        """Run now when Python set the control; when the browser did, after what else is in the queue."""
        from_browser = bool(getattr(change.owner, "_property_lock", None))
        loop = _running_loop() if from_browser else None
        if self._running:
            return  # the run under way looks again when it is done
        if loop is None:
            self._follow()
            return
        if self._waiting:
            self._waiting.cancel()
        else:
            self.view.status = {"state": "busy"}
        self._waiting = loop.call_later(SETTLE, self._follow)

    def _follow(self) -> None:
        """Make and show the result for the controls' values, until they no longer change meanwhile."""
        self._waiting = None
        self._running = True
        try:
            while True:
                values = self._wanted()
                self._run(values)
                if _same(values, self._wanted()):
                    break
        finally:
            self._running = False

    def _run(self, values: dict[str, Any]) -> None:
        if self.view.status.get("state") != "busy":
            self.view.status = {"state": "busy"}
        printed = io.StringIO()
        try:
            with _stoppable(), contextlib.redirect_stdout(printed), unopened():
                made = self._draw(self._make(**values))
        except (Exception, KeyboardInterrupt) as error:
            status = {"state": "error", **_explain(error, values)}
            self.view.status = status | ({"printed": printed.getvalue()[:PRINTED]} if printed.getvalue() else {})
            return
        status = {"state": "ready"} | ({"printed": printed.getvalue()[:PRINTED]} if printed.getvalue() else {})
        try:
            with self.view.hold_sync():
                self.view.take(made)
                self.view.status = status
        except TypeError as error:
            self.view.status = {"state": "error", **_explain(error, values)}
            return
        self.values = values


def _widgets(make: Callable[..., Any], controls: dict[str, Any]) -> dict[str, Any]:
    """A widget for each control, in the order given; defaults of ``make``'s signature are where they begin."""
    try:
        taken = inspect.signature(make).parameters
    except (TypeError, ValueError):
        taken = {}
    any_name = not taken or any(p.kind is p.VAR_KEYWORD for p in taken.values())
    for name in controls:
        if not any_name and name not in taken:
            raise TypeError(f"make takes no {name!r}; it takes {', '.join(taken) or 'nothing'}")
    for name, p in taken.items():
        if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and name not in controls:
            raise TypeError(f"make needs {name!r}, and no control of that name was given")
    made: dict[str, Any] = {}
    for name, abbreviation in controls.items():
        default = taken[name].default if name in taken else inspect.Parameter.empty
        if isinstance(abbreviation, (ipywidgets.Widget, fixed)):
            widget = abbreviation
        else:
            try:
                widget = interactive.widget_from_abbrev(abbreviation, default)
            except ValueError as error:
                raise ValueError(f"{name} is {abbreviation!r}: {error}") from None
        if widget is None or not hasattr(widget, "value"):
            raise TypeError(
                f"{name} is {abbreviation!r}; a control is (min, max), (min, max, step), a list of choices, a bool, a number, a text or a widget with a value"
            )
        if not isinstance(widget, fixed):
            if not widget.description:
                widget.description = name
            widget.style.description_width = "initial"
        made[name] = widget
    return made


def _explain(error: BaseException, values: dict[str, Any]) -> dict[str, str]:
    """Title and message of an error in a learner's size: what, with which values, and the learner's own last line."""
    if isinstance(error, KeyboardInterrupt):
        title = "Stopped"
    else:
        title = type(error).__name__
    message = str(error)
    own = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(_PACKAGE) and "site-packages" not in f.filename]
    hinted = hasattr(error, "hint")  # our own errors name the learner's line themselves
    if own and not hinted and own[-1].line:
        message += f"\nin {own[-1].name}: {own[-1].line}"
    given = ", ".join(f"{k}={v!r}" for k, v in values.items())
    return {"title": f"{title} with {given}" if given else title, "message": message.strip()}


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    try:
        return bool(a == b)
    except Exception:  # values whose == is no bool, such as arrays
        return all(a[k] is b[k] for k in a)


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    """Let the interrupt button stop what runs: outside a cell the kernel ignores it."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)


def samples() -> list[tuple[str, View]]:
    """A view as ``live`` leaves it after an error, and while Python runs."""
    from . import specimens
    from .tiles import tiles

    failed = tiles(specimens.vector_add())
    failed.status = {
        "state": "error",
        "title": "OutOfBoundsError with N=1000, masked=False",
        "message": "vector_add_kernel, line 6, program 15 of 16: 24 of 64 lanes of this load are out of range.\nAdd a mask.",
        "printed": "what the code printed\n",
    }
    return [("live-error", failed)]
