"""What every view shares.

A view is two files: ``name.py`` turns a record into plain data once, ``name.js`` draws and
explores that data in the browser without calling Python again::

    class NameView(View):
        module = "name.js"                      # beside name.py; name.css is added if it exists

    def name(trace) -> NameView:
        return NameView(data={...}, text="vector_add_kernel 16 programs × 64 lanes")

``data`` holds plain JSON only (dict with str keys, list, str, int, finite float, bool, None);
``plain`` and ``pack`` make it from NumPy. ``text`` is what the view shows in one line: the
view's repr is ``<NameView text>``, compared by nbval, so it must be deterministic.

The module sees everything that ``common.js`` and ``strip.js`` define (the namespace ``tl``; the contract stands at
the top of each) and says ``export default tl.view({...})``.

``live`` replaces ``data`` as a whole (``View.take``) and sets ``status``; ``common.js`` shows both.

Each module of this package that defines a view also defines ``samples() -> list[(name, View)]``
on records made by hand, for the ``screenshots`` command.
"""

from __future__ import annotations

import base64
import contextlib
import contextvars
import hashlib
import html
import json
import math
import os
from pathlib import Path
from typing import Any, Iterator, Sequence

import anywidget
import numpy as np
import traitlets

__all__ = ["HASH_MIME", "MODULE_MIME", "PAGE_MIME", "View", "pack", "photographing", "plain", "unopened", "unpack"]

PAGE_MIME = "application/vnd.tritonlab.page"
HASH_MIME = "application/vnd.tritonlab.hash"
MODULE_MIME = "application/vnd.tritonlab.module"
WIDGET_MIME = "application/vnd.jupyter.widget-view+json"

_HERE = Path(__file__).parent
_unopened: contextvars.ContextVar[bool] = contextvars.ContextVar("tritonlab_unopened", default=False)


def photographing() -> bool:
    """Whether the notebook build asks for self-contained pages in place of live widgets."""
    return os.environ.get("TRITONLAB_PHOTOGRAPH") == "1"


@contextlib.contextmanager
def unopened() -> Iterator[None]:
    """Views made inside have data and text but no line to the browser: ``live`` takes their data."""
    token = _unopened.set(True)
    try:
        yield
    finally:
        _unopened.reset(token)


class View(anywidget.AnyWidget):
    """A picture of a record, explored in the browser.

    ``data``: all that the browser gets, plain JSON, computed once. ``text``: one line that says what is shown.
    ``status``: what ``live`` says about the view: ``{"state": "ready" | "busy" | "error", "title": str,
    "message": str, "printed": str}``.
    """

    module: str = ""
    parts: tuple[str, ...] = ()
    """More modules beside this file, put in front of ``module``."""

    files: tuple[str, ...] = ()
    """All files beside this one whose text decides the picture."""

    data = traitlets.Dict().tag(sync=True)
    status = traitlets.Dict().tag(sync=True)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if "module" in cls.__dict__:  # not the classes that traitlets derives for single instances
            scripts = ["common.js", "strip.js", *cls.parts, cls.module]
            styles = ["common.css", Path(cls.module).with_suffix(".css").name]
            styles = [name for name in styles if (_HERE / name).exists()]
            cls.files = tuple(scripts + styles)
            cls._esm, cls._css = ("\n".join((_HERE / n).read_text(encoding="utf-8") for n in names) for names in (scripts, styles))
        super().__init_subclass__(**kwargs)

    def __init__(self, data: dict[str, Any], text: str) -> None:
        _refuse_what_is_not_plain(data, "data")
        self.text = text
        super().__init__(data=data, status={"state": "ready"})

    def open(self) -> None:
        """Connect to the browser, unless made inside ``unopened()``."""
        if not _unopened.get():
            super().open()

    def take(self, other: View) -> None:
        """Show what ``other`` shows: its data and text, in place. ``TypeError`` for another kind of view."""
        if getattr(other, "module", None) != self.module:
            raise TypeError(f"a {type(self).__name__} cannot show what a {type(other).__name__} shows")
        self.text = other.text
        self.data = other.data

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.text}>"

    def page(self, title: str | None = None, dark: bool = False, controls: Sequence[tuple[str, str]] = ()) -> str:
        """A self-contained HTML page with this view, which works with no kernel and no network.

        ``controls``: name and value of ``live``'s controls, drawn as labels.
        """
        state = {"data": self.data, "status": self.status}
        return _PAGE.format(
            title=html.escape(title or self.text),
            light="false" if dark else "true",
            css=self._css.replace("</", "<\\/"),
            state=_inline(state),
            esm=_inline(self._esm),
            controls=_static(controls),
        )

    def fingerprint(self, controls: Sequence[tuple[str, str]] = ()) -> str:
        """sha256 of all that decides the picture: data, module, style and ``live``'s control labels."""
        whole = [self.data, self.status, self._esm, self._css, [list(c) for c in controls], _PAGE]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        if photographing():
            return self.photo(repr(self))
        return {"text/plain": repr(self), WIDGET_MIME: {"version_major": 2, "version_minor": 0, "model_id": self.model_id}}

    def photo(self, text: str, controls: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
        """What the notebook build gets in place of a live widget: the page to photograph, and what decides the picture."""
        return {
            "text/plain": text,
            PAGE_MIME: self.page(controls=controls),
            HASH_MIME: self.fingerprint(controls),
            MODULE_MIME: list(self.files),
        }


def plain(value: Any) -> Any:
    """``value`` with NumPy scalars and arrays, tuples and non-finite floats made plain JSON.

    Non-finite floats become the strings ``"nan"``, ``"inf"``, ``"-inf"`` (``tl.number`` shows both).
    """
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if value != value else ("inf" if value > 0 else "-inf")
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def pack(values: np.ndarray) -> dict[str, Any]:
    """An array as ``{"dtype", "shape", "b64"}`` (little-endian), which ``tl.unpack`` reads. float16 travels as float32."""
    array = np.asarray(values)
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    if array.dtype == bool:
        array = array.astype(np.uint8)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"values has dtype {array.dtype}; pack takes integers, floats and bools")
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return {
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "b64": base64.b64encode(little.tobytes()).decode("ascii"),
    }


def unpack(packed: dict[str, Any]) -> np.ndarray:
    """The array that ``pack`` was given (float16 as float32, bool as uint8)."""
    dtype = np.dtype(packed["dtype"]).newbyteorder("<")
    flat = np.frombuffer(base64.b64decode(packed["b64"]), dtype=dtype)
    return flat.reshape(packed["shape"]).astype(packed["dtype"])


def _refuse_what_is_not_plain(value: Any, where: str) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if type(key) is not str:
                raise TypeError(f"{where} has the key {key!r}; keys of a view's data are str")
            _refuse_what_is_not_plain(item, f"{where}[{key!r}]")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            _refuse_what_is_not_plain(item, f"{where}[{i}]")
    elif type(value) is float:
        if not math.isfinite(value):
            raise ValueError(f"{where} is {value}; JSON has no such number, see plain()")
    elif value is not None and type(value) not in (str, int, bool):
        raise TypeError(f"{where} is a {type(value).__name__}; a view's data is plain JSON, see plain() and pack()")


def _inline(value: Any) -> str:
    """JSON that may stand inside a script element."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True).replace("<", "\\u003c")


def _static(controls: Sequence[tuple[str, str]]) -> str:
    if not controls:
        return ""
    chips = "".join(
        f'<span class="tl-chip">{html.escape(name)} <b>{html.escape(value)}</b></span>' for name, value in controls
    )
    return f'<div class="tl-live-static">{chips}</div>'


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{css}
</style>
</head>
<body class="tl-page" data-jp-theme-light="{light}">
<main>
<div id="tl-view"></div>
{controls}
</main>
<script>
const failed = () => {{ document.body.dataset.tlReady = "failed"; }};
addEventListener("error", failed);
addEventListener("unhandledrejection", failed);
</script>
<script type="module">
const state = {state};
const source = {esm};
const heard = new Map();
const model = {{
  get: (name) => state[name],
  set(name, value) {{
    if (typeof name === "object") {{ for (const key in name) this.set(key, name[key]); return; }}
    state[name] = value;
    for (const call of heard.get("change:" + name) || []) call();
  }},
  on(name, call) {{ heard.set(name, [...(heard.get(name) || []), call]); }},
  off(name, call) {{ heard.set(name, call ? (heard.get(name) || []).filter((c) => c !== call) : []); }},
  save_changes() {{}},
  send() {{}},
}};
const url = URL.createObjectURL(new Blob([source], {{ type: "text/javascript" }}));
const module = await import(url);
const el = document.getElementById("tl-view");
window.tritonlab = {{ model, el }};
await module.default.render({{ model, el }});
requestAnimationFrame(() => requestAnimationFrame(() => {{ document.body.dataset.tlReady ||= "true"; }}));
</script>
</body>
</html>
"""
