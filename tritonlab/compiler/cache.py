"""What the compiler answered, kept on disk by content.

One file an answer, named by the hash of all that decides it. A file is written beside its place and renamed, and
carries a checksum: a half-written or damaged one is as good as none. The oldest go when the room is full.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import zlib
from pathlib import Path
from typing import Any

__all__ = ["LARGEST", "MOST", "folder", "get", "put"]

MOST = 2_000
"""How many answers are kept."""
LARGEST = 256 * 1024 * 1024
"""How many bytes they may take together."""
_SUFFIX = ".tlc"


def folder() -> Path:
    """Where the answers lie: ``$TRITONLAB_CACHE``, or tritonlab in the user's cache folder."""
    own = os.environ.get("TRITONLAB_CACHE")
    if own:
        return Path(own) / "compiled"
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "tritonlab" / "compiled"


def get(key: str) -> dict[str, Any] | None:
    """The answer kept under a key, or None."""
    path = folder() / (key + _SUFFIX)
    try:
        raw = path.read_bytes()
        if hashlib.sha256(raw[32:]).digest() != raw[:32]:
            raise ValueError("damaged")
        answer = json.loads(zlib.decompress(raw[32:]))
        with contextlib.suppress(OSError):
            os.utime(path)
        return answer
    except (OSError, ValueError, zlib.error):
        return None


def put(key: str, answer: dict[str, Any]) -> None:
    """Keep an answer. A disk that is full or read-only is no error: the answer is only not kept."""
    body = zlib.compress(json.dumps(answer).encode(), 6)
    try:
        place = folder()
        place.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=place, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as f:
                f.write(hashlib.sha256(body).digest() + body)
            os.replace(temporary, place / (key + _SUFFIX))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        _make_room(place)
    except OSError:
        pass


def _make_room(place: Path) -> None:
    entries = []
    with os.scandir(place) as scan:
        for entry in scan:
            with contextlib.suppress(OSError):
                stat = entry.stat()
                entries.append((stat.st_mtime, stat.st_size, entry.path))
    entries.sort(reverse=True)
    size = 0
    for n, (_, bytes_, path) in enumerate(entries):
        size += bytes_
        if n >= MOST or size > LARGEST:
            with contextlib.suppress(OSError):
                os.unlink(path)
