"""A question answered before anything is revealed.

The answer comes from the caller's trace or computation as a value, never as the position of a text,
so that a changed kernel changes the answer too. What the browser gets is sealed: not secret, but
nothing that a glance at a stored notebook or at the page's source gives away.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from typing import Any

from .base import View

__all__ = ["Prediction", "predict", "samples", "unseal"]


class Prediction(View):
    """A question with choices, or with a number to enter; answered in the page, remembered there, not graded."""

    module = "predict.js"


def predict(question: str, choices: Any, answer: Any, why: dict[Any, str] | None = None) -> Prediction:
    """Ask before showing: a question whose answer the reader predicts.

    ``question``: text; words between backticks are set as code. ``choices``: a list of values, a dict label ->
    value, or None for a number to enter. ``answer``: the right value, computed by the caller; it equals exactly one
    choice (a bool equals only a bool), or is an int or finite float when ``choices`` is None, and is compared
    exactly. ``why``: choice -> why it is right or tempting but wrong, keyed by value or label (by number when
    ``choices`` is None); shown once that choice has been checked.

    ``ValueError`` when the answer equals none or several of the choices, when choices repeat, or when ``why``
    speaks of something that cannot be chosen; ``TypeError`` for an answer that is no number where one is entered.
    """
    if not isinstance(question, str) or not question.strip():
        raise ValueError(f"question is {question!r}; it is the text that is asked")
    answer = _plain(answer, "answer")
    if choices is None:
        secret: dict[str, Any] = _number_secret(answer, why or {})
        labels = None
    else:
        values = _values(choices)
        labels = list(values)
        secret = {"answer": _position(answer, values), "why": _reasons(why or {}, values)}
    sealed = _seal(json.dumps(secret, ensure_ascii=False, sort_keys=True), question)
    key = hashlib.sha256(json.dumps([question, labels, sealed]).encode()).hexdigest()[:24]
    kind = "a number" if labels is None else f"{len(labels)} choices"
    return Prediction({"question": question, "choices": labels, "sealed": sealed, "key": key}, f'"{question}" {kind}')


def _plain(value: Any, what: str) -> Any:
    """A 0-d tensor, array or NumPy scalar as the Python value in it."""
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        size = getattr(value, "size", 1)
        size = math.prod(size()) if callable(size) else size
        if size != 1:
            raise TypeError(f"{what} is a {type(value).__name__} with {size} elements; a choice is one value")
        return value.item()
    return value


def _equal(a: Any, b: Any) -> bool:
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


def _values(choices: Any) -> dict[str, Any]:
    """Label -> value, in the order given."""
    if isinstance(choices, dict):
        pairs = [(label, _plain(value, f"the choice {label!r}")) for label, value in choices.items()]
        if wrong := [label for label, _ in pairs if not isinstance(label, str)]:
            raise ValueError(f"choices has the label {wrong[0]!r}; labels are texts: a dict goes from label to value")
    elif isinstance(choices, (list, tuple, range)):
        plain = [_plain(value, f"choices[{i}]") for i, value in enumerate(choices)]
        pairs = [(str(value), value) for value in plain]
    else:
        raise TypeError(f"choices is a {type(choices).__name__}; it is a list of values, a dict label -> value, or None")
    if len(pairs) < 2:
        raise ValueError(f"choices holds {len(pairs)} of them; a question has at least two")
    for i, (label, value) in enumerate(pairs):
        for other, known in pairs[:i]:
            if label == other or _equal(value, known):
                raise ValueError(f"the choices {other!r} and {label!r} are the same")
    return dict(pairs)


def _position(answer: Any, values: dict[str, Any]) -> int:
    found = [i for i, value in enumerate(values.values()) if _equal(answer, value)]
    if len(found) != 1:
        shown = ", ".join(repr(value) for value in values.values())
        raise ValueError(f"answer is {answer!r}, which is none of the choices {shown}")
    return found[0]


def _reasons(why: dict[Any, str], values: dict[str, Any]) -> dict[str, str]:
    """Position of a choice, as text -> its reason."""
    out: dict[str, str] = {}
    for choice, text in why.items():
        plain = _plain(choice, "a key of why")
        at = [i for i, (label, value) in enumerate(values.items()) if _equal(plain, value) or plain == label and isinstance(plain, str)]
        if not at:
            raise ValueError(f"why speaks of {choice!r}, which is none of the choices {', '.join(map(repr, values))}")
        if str(at[0]) in out:
            raise ValueError(f"why speaks twice of the choice {list(values)[at[0]]!r}")
        out[str(at[0])] = text
    return out


def _number_secret(answer: Any, why: dict[Any, str]) -> dict[str, Any]:
    for what, value in [("answer", answer), *(("a key of why", _plain(k, "a key of why")) for k in why)]:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise TypeError(f"{what} is {value!r}; without choices a number is entered, so it is an int or a finite float")
    return {"answer": repr(answer), "why": {repr(_plain(k, "a key of why")): text for k, text in why.items()}}


def _mask(data: bytes, question: str) -> bytes:
    """``data`` xor a stream of bytes that begins from the question; its own inverse. The browser does the same."""
    state = 2166136261
    for byte in question.encode():
        state = (state ^ byte) * 16777619 % 2**32
    out = bytearray()
    for byte in data:
        state = (state * 1664525 + 1013904223) % 2**32
        out.append(byte ^ (state >> 24))
    return bytes(out)


def _seal(text: str, question: str) -> str:
    return base64.b64encode(_mask(text.encode(), question)).decode("ascii")


def unseal(data: dict[str, Any]) -> dict[str, Any]:
    """The answer and the reasons in a prediction's data: ``{"answer": position or number as text, "why": {...}}``."""
    return json.loads(_mask(base64.b64decode(data["sealed"]), data["question"]))


def samples() -> list[tuple[str, Prediction]]:
    """Questions of each kind, unanswered."""
    masked = 16 * 64 - 1000
    why = {
        0: "The grid has 16 programs of 64 lanes, which is more than 1000.",
        40: "40 lanes of the last program are on; the question is how many are off.",
        masked: "16 programs × 64 lanes = 1024 lanes for 1000 elements.",
    }
    return [
        ("predict-choices", predict("How many lanes are masked when `n_elements` is 1000 and `BLOCK_SIZE` is 64?", [0, 24, 40, 64], masked, why)),
        ("predict-number", predict("How many programs does the grid need for 1000 elements in blocks of 64?", None, -(-1000 // 64))),
    ]
