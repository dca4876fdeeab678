"""The canonical form of a stored notebook, and what is wrong with one that is not in it.

Canonical means: nbformat 4.5 with sorted keys, stable cell ids, execution counts 1 to n,
merged streams, no widget state and nothing that differs from machine to machine, so that
a diff shows what changed for a reader and nothing else. Nothing here executes a cell.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import re
import struct
import sys
import warnings
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

__all__ = ["canonical", "code_cells", "problems", "read", "source_hash", "strip_ansi", "to_text"]

WIDGET_MIME = "application/vnd.jupyter.widget-view+json"
OWN_MIME = "application/vnd.tritonlab."
"""Bundles under this prefix are for the build alone and are never stored."""

ANSWER_TAG = "answer"
"""A cell that answers a prediction: stored with its outputs hidden."""
ERROR_TAG = "raises-exception"
"""A cell that may end in an error."""

ROOT = Path(__file__).resolve().parents[1]
_VIEWS = Path(__file__).resolve().parent / "views"
_KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def strip_ansi(text: str) -> str:
    """``text`` without terminal colours."""
    return _ANSI.sub("", text)


def read(path: Path) -> NotebookNode:
    """The notebook in ``path``; ``ValueError`` if it is not a version 4 notebook."""
    try:
        raw = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not a notebook: {error}") from None
    if not isinstance(raw, dict) or raw.get("nbformat") != 4:
        raise ValueError(f"{path} is not a notebook of format 4")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # missing cell ids, which canonical() makes
        return nbformat.from_dict(_joined(raw))


def code_cells(nb: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def source_hash(nb: NotebookNode) -> str:
    """sha256 of all that decides the outputs within the file: code sources and cell tags, in order."""
    whole = [[cell.source, sorted(cell.metadata.get("tags", []))] for cell in code_cells(nb)]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()


def module_hash(names: list[str]) -> str:
    """sha256 of the files in ``tritonlab/views`` that draw a picture; a missing one counts as empty."""
    digest = hashlib.sha256()
    for name in sorted(names):
        file = _VIEWS / Path(name).name
        text = file.read_bytes() if file.exists() else b""
        digest.update(f"{file.name} {len(text)}\n".encode() + text)
    return digest.hexdigest()


def canonical(nb: NotebookNode) -> NotebookNode:
    """A copy of ``nb`` in canonical form. Doing it twice changes nothing."""
    nb = copy.deepcopy(nb)
    nb.nbformat, nb.nbformat_minor = 4, 5
    metadata = {"kernelspec": dict(_KERNELSPEC), "language_info": {"name": "python"}}
    if "tritonlab" in nb.metadata:
        metadata["tritonlab"] = nb.metadata["tritonlab"]
    nb.metadata = nbformat.from_dict(metadata)
    count = 0
    taken: set[str] = set()
    for index, cell in enumerate(nb.cells):
        cell.id = _cell_id(cell, index, taken)
        cell.metadata = _cell_metadata(cell)
        if cell.cell_type != "code":
            cell.pop("outputs", None)
            cell.pop("execution_count", None)
            continue
        if cell.get("execution_count") is not None:
            count += 1
            cell.execution_count = count
        cell.setdefault("execution_count", None)
        cell.outputs = _outputs(cell.get("outputs", []), cell.execution_count)
    return nb


def to_text(nb: NotebookNode) -> str:
    """The bytes of a stored notebook, as text: canonical form and one newline at the end."""
    return nbformat.writes(canonical(nb), version=nbformat.NO_CONVERT).rstrip("\n") + "\n"


def problems(path: Path) -> list[str]:
    """What is wrong with the stored notebook ``path``, in words; empty if it is fit to be read.

    Stale, not run, an error that no tag asks for, widget state, machine paths, not canonical.
    """
    try:
        nb = read(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nbformat.validate(canonical(nb))
    except (ValueError, KeyError, AttributeError, nbformat.ValidationError) as error:
        return [f"cannot be read as a notebook: {str(error).splitlines()[0]}"]
    found = []
    stored = nb.metadata.get("tritonlab", {}).get("source")
    if stored is None:
        found.append("was not written by the build (it has no source hash)")
    elif stored != source_hash(nb):
        found.append("is stale: its code or tags have changed since its outputs were made")
    if "widgets" in nb.metadata:
        found.append("holds widget state (metadata.widgets)")
    for number, cell in enumerate(code_cells(nb)):
        found += [f"code cell {number} {what}" for what in _cell_problems(cell)]
    text = Path(path).read_text(encoding="utf-8")
    if not found and text != to_text(nb):
        found.append(f"is not in canonical form (first difference in line {_first_difference(text, to_text(nb))})")
    return found


def _cell_problems(cell: NotebookNode) -> list[str]:
    found = []
    if not cell.source.strip():
        found.append("is empty")
    elif cell.get("execution_count") is None:
        found.append("was not run")
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        kept = output.get("metadata", {}).get("tritonlab")
        if output.output_type == "error" and ERROR_TAG not in cell.metadata.get("tags", []):
            found.append(f"ends in {output.get('ename')}, and no tag {ERROR_TAG!r} asks for it")
        if WIDGET_MIME in data:
            found.append("holds a widget view, which shows nothing without its kernel")
        if any(mime.startswith(OWN_MIME) for mime in data):
            found.append("holds a page that the build did not turn into a picture")
        if kept is not None and "image/png" not in data:
            found.append("lacks the picture of its view")
        if kept and "module" in kept and kept.get("look") != module_hash(kept["module"]):
            found.append(f"holds a stale picture: {', '.join(kept['module'])} changed since it was taken")
        place = _machine_path(output)
        if place:
            found.append(f"names a place on the machine that ran it: {place}")
    return found


def _joined(raw: dict[str, Any]) -> dict[str, Any]:
    """Multi-line strings are stored as lists of lines: make them strings."""

    def join(value: Any) -> Any:
        return "".join(value) if isinstance(value, list) and all(isinstance(v, str) for v in value) else value

    for cell in raw.get("cells", []):
        cell["source"] = join(cell.get("source", ""))
        cell.setdefault("metadata", {})
        for output in cell.get("outputs", []):
            if "text" in output:
                output["text"] = join(output["text"])
            for mime, value in output.get("data", {}).items():
                output["data"][mime] = join(value)
    raw.setdefault("metadata", {})
    return raw


def _cell_id(cell: NotebookNode, index: int, taken: set[str]) -> str:
    """The cell's own id; one made from its place and text where it has none or shares it."""
    made = cell.get("id")
    attempt = 0
    while not made or made in taken:
        made = hashlib.sha256(f"{index}:{attempt}:{cell.source}".encode()).hexdigest()[:8]
        attempt += 1
    taken.add(made)
    return made


def _cell_metadata(cell: NotebookNode) -> NotebookNode:
    """Tags (sorted), hidden source, hidden outputs of an answer; all else is an editor's own affair."""
    kept: dict[str, Any] = {}
    tags = sorted(set(cell.metadata.get("tags", [])))
    if tags:
        kept["tags"] = tags
    jupyter = {}
    if cell.metadata.get("jupyter", {}).get("source_hidden"):
        jupyter["source_hidden"] = True
    if cell.cell_type == "code" and ANSWER_TAG in tags:
        jupyter["outputs_hidden"] = True
    if jupyter:
        kept["jupyter"] = jupyter
    return nbformat.from_dict(kept)


def _outputs(outputs: list[NotebookNode], count: int | None) -> list[NotebookNode]:
    kept: list[NotebookNode] = []
    streams: dict[str, NotebookNode] = {}  # of the run of stream outputs at hand
    for output in outputs:
        if output.output_type == "stream":
            if output.name in streams:
                streams[output.name].text += output.text
            else:
                streams[output.name] = output
                kept.append(output)
            continue
        streams = {}
        if output.output_type in ("display_data", "execute_result"):
            output.get("data", {}).pop(WIDGET_MIME, None)
            if not output.get("data"):
                continue
            if "image/png" in output.data:
                output.data["image/png"] = plain_png(output.data["image/png"])
            output.setdefault("metadata", nbformat.from_dict({}))
            if output.output_type == "execute_result":
                output.execution_count = count
        elif output.output_type == "error":
            output.traceback = [_without_places(line) for line in output.get("traceback", [])]
        kept.append(output)
    # stdout and stderr race: within a run of both, stdout stands first
    for i in range(len(kept) - 1):
        pair = kept[i : i + 2]
        if [o.output_type for o in pair] == ["stream", "stream"] and [o.name for o in pair] == ["stderr", "stdout"]:
            kept[i : i + 2] = pair[::-1]
    return kept


def plain_png(encoded: str) -> str:
    """A base64 PNG on one line, without the chunks that say which program wrote it and when."""
    data = base64.b64decode(encoded)
    signature, at = data[:8], 8
    if signature != b"\x89PNG\r\n\x1a\n":
        raise ValueError("image/png output is not a PNG")
    kept = [signature]
    while at + 8 <= len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        chunk = data[at : at + 12 + length]
        if chunk[4:8] not in (b"tEXt", b"iTXt", b"zTXt", b"tIME", b"eXIf"):
            kept.append(chunk)
        at += 12 + length
    return base64.b64encode(b"".join(kept)).decode("ascii")


def _places() -> list[tuple[str, str]]:
    """Folders that differ between machines, longest first, and what to write for each."""
    places = [(f"{ROOT}/", ""), (f"{sys.prefix}/", ""), (f"{sys.base_prefix}/", ""), (f"{Path.home()}/", "~/")]
    return sorted((p for p in places if p[0].count("/") > 2 or p[1]), key=lambda p: -len(p[0]))


def _without_places(text: str) -> str:
    for place, written in _places():
        text = text.replace(place, written)
    return re.sub(r"/tmp/ipykernel_\d+/\d+\.py", "<cell>", text)


def _machine_path(output: NotebookNode) -> str | None:
    texts = [output.get("text", ""), *output.get("traceback", [])]
    texts += [value for mime, value in output.get("data", {}).items() if isinstance(value, str) and "image" not in mime]
    for text in texts:
        hit = re.search(r"/(tmp|home|root)/[\w.-]+", text)
        if hit:
            return hit.group()
        for place, _ in _places():
            if place in text:
                return place
    return None


def _first_difference(left: str, right: str) -> int:
    pairs = zip(left.splitlines(), right.splitlines())
    return next((n for n, (a, b) in enumerate(pairs, 1) if a != b), min(left.count("\n"), right.count("\n")) + 1)
