"""Which record answers: that of the GPU at hand before one that came with tritonlab."""

from __future__ import annotations

import difflib
import os
from dataclasses import replace
from pathlib import Path

from . import records
from .errors import RecordError
from .measurement import Measurements

__all__ = ["present_gpu", "recorded", "shipped_folder", "user_folder"]


def shipped_folder() -> Path:
    """The folder of the records that come with tritonlab."""
    return Path(__file__).parent / "data"


def user_folder() -> Path:
    """Where ``python -m tritonlab bench`` keeps this user's records: ``$TRITONLAB_RECORDS``, or tritonlab/records in the XDG data folder."""
    named = os.environ.get("TRITONLAB_RECORDS")
    if named:
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return Path(data) / "tritonlab" / "records"


def present_gpu() -> str | None:
    """The name of this machine's first GPU, or None."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def recorded(op: str, gpu: str | None = None) -> Measurements:
    """The recorded measurements of ``op`` ("vector_add"), with roofs, GPU, versions and date.

    A record of this machine's GPU comes first (the newest; this user's before a shipped one), otherwise
    the shipped one, which says on its label what it was recorded on. ``gpu`` asks for another GPU's by (part of) its name.
    ``RecordError`` when there is none, and when a shipped record is broken; a broken record in the
    user's own folder is passed over and named in the notes.
    """
    if not isinstance(op, str):
        raise TypeError(f'recorded takes the name of an op such as "vector_add", got {op!r}')
    own, passed_over = _own()
    shipped = [records.read(path) for path in sorted(shipped_folder().glob("*.json"))]
    here = present_gpu()
    wanted = [ms for ms in (*own, *shipped) if op in ms.ops]
    if not wanted:
        raise _no_such_op(op, own + shipped)
    if gpu is not None:
        matching = [ms for ms in wanted if gpu.lower() in ms[0].gpu.lower()]
        if not matching:
            there = ", ".join(sorted({ms[0].gpu for ms in wanted}))
            raise RecordError(f"no record of {op} is from a GPU {gpu!r}; there are records from {there}")
        chosen = matching[0]
    else:
        same = [ms for ms in wanted if ms[0].gpu == here]
        chosen = (same or [ms for ms in shipped if op in ms.ops] or wanted)[0]
    chosen = chosen.where(op=op)
    notes = [note for note in chosen.notes if note.startswith(f"{op} ")]
    if here is not None and gpu is None and chosen[0].gpu != here:
        notes.append(f"This machine has another GPU ({here}): `python -m tritonlab bench {op}` measures it.")
    return replace(chosen, notes=tuple(notes + passed_over))


def _own() -> tuple[list[Measurements], list[str]]:
    """This user's records, the newest first, and a line for each file that is broken."""
    found, broken = [], []
    for path in sorted(user_folder().glob("*.json")):
        try:
            found.append(records.read(path))
        except RecordError as error:
            broken.append(f"Passed over: {error.message}.")
    found.sort(key=lambda ms: ms[0].date, reverse=True)
    return found, broken


def _no_such_op(op: str, there: list[Measurements]) -> RecordError:
    names = sorted({name for ms in there for name in ms.ops})
    close = difflib.get_close_matches(op, names, n=3)
    names = close + [name for name in names if name not in close]
    return RecordError(
        f"there is no record of {op!r}; there are records of {', '.join(names) or 'nothing'}",
        f"`python -m tritonlab bench {op}` makes one on a machine with a GPU" if not close else f"did you mean {close[0]!r}?",
    )
