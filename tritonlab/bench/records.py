"""Records of bench runs: what a file holds, reading it with every field checked, writing it whole or not at all.

A record is JSON with one measurement a line:

    {"schema": 1, "gpu": str, "torch": str, "triton": str, "date": str, "method": str, "details": {str: str or number},
     "roofs": {"copy": roof or null, "matmul": roof or null, "launch": times or null},
     "notes": [str], "measurements": [
      {"op": str, "implementation": str, "shape": [int], "dtype": str, "time": times, "graph": times or null,
       "bytes": int or null, "flops": int or null, "error": number or null,
       "config": {str: int or str}, "counters": {str: number}}],
     "failures": [{"op": str, "implementation": str, "shape": [int], "dtype": str, "config": {…}, "reason": str}]}

config, counters and failures are left out where there are none, with times = {"seconds": number, "low": number, "high": number, "samples": int} and
roof = {"what": str, "amount": number, "time": times}. Times are seconds, amounts bytes or operations.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from .errors import RecordError
from .measurement import Failure, Measurement, Measurements, Origin, Roof, Roofs, Timing

__all__ = ["SCHEMA", "read", "write"]

SCHEMA = 1
_AGAIN = "measure again with `python -m tritonlab bench`"


def write(path: str | os.PathLike, measurements: Measurements) -> Path:
    """Write one run's measurements as a record at ``path``, and give the path.

    The file appears whole or not at all: it is written beside its place, flushed to the disk and
    moved there, so a crash leaves at most a file that ends in ``.tmp``, and an old record stays as it was.
    ``RecordError`` when the measurements are none or come from several runs.
    """
    path = Path(path)
    origins = tuple(dict.fromkeys(m.origin for m in measurements))
    if len(origins) != 1:
        raise RecordError(f"a record holds the measurements of one run, these come from {len(origins)}: {path} is not written")
    text = _to_text(origins[0], measurements)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)
    return path


def read(path: str | os.PathLike) -> Measurements:
    """The measurements of the record at ``path``, marked as recorded.

    ``RecordError`` names the file and the field when it cannot be read, is half written, has another schema
    version, or a field is missing or of a wrong kind.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"record {path} cannot be read: {error}") from error
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise RecordError(
            f"record {path} is not whole JSON (line {error.lineno}, column {error.colno}: {error.msg}); it may be half written or edited",
            f"delete it and {_AGAIN}",
        ) from error
    return _Reader(path).record(data)


def _sync_folder(folder: Path) -> None:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # some file systems do not open folders; the file itself is on the disk already
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def _times(timing: Timing | None) -> dict[str, Any] | None:
    if timing is None:
        return None
    # ten picoseconds are far below what the timer tells apart
    return {"seconds": round(timing.seconds, 11), "low": round(timing.low, 11), "high": round(timing.high, 11), "samples": timing.samples}


def _roof(roof: Roof | None) -> dict[str, Any] | None:
    return None if roof is None else {"what": roof.what, "amount": roof.amount, "time": _times(roof.timing)}


def _to_text(origin: Origin, measurements: Measurements) -> str:
    roofs = measurements.roofs or Roofs()
    head = {
        "schema": SCHEMA,
        "gpu": origin.gpu,
        "torch": origin.torch,
        "triton": origin.triton,
        "date": origin.date,
        "method": origin.method,
        "details": dict(origin.details),
        "roofs": {"copy": _roof(roofs.copy), "matmul": _roof(roofs.matmul), "launch": _times(roofs.launch)},
        "notes": list(measurements.notes),
    }
    rows = [
        {
            "op": m.op,
            "implementation": m.implementation,
            "shape": list(m.shape),
            "dtype": m.dtype,
            "time": _times(m.timing),
            "graph": _times(m.graph),
            "bytes": m.bytes,
            "flops": m.flops,
            "error": None if m.error is None else float(f"{m.error:.4g}"),
        }
        | ({"config": m.meta} if m.config else {})
        | ({"counters": m.counted} if m.counters else {})
        for m in measurements
    ]
    failures = [
        {"op": f.op, "implementation": f.implementation, "shape": list(f.shape), "dtype": f.dtype, "config": f.meta, "reason": f.reason}
        for f in measurements.failures
    ]
    try:
        lines = [f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False, allow_nan=False)}" for k, v in head.items()]
        items, failed = ([json.dumps(row, ensure_ascii=False, allow_nan=False) for row in part] for part in (rows, failures))
    except ValueError as error:
        raise RecordError(f"a measurement holds a number that is not finite, so no record is written ({error})") from error
    parts = [_listed("measurements", items)] + ([_listed("failures", failed)] if failed else [])
    return "{\n" + ",\n".join(lines + parts) + "\n}\n"


def _listed(name: str, rows: list[str]) -> str:
    return f'"{name}": [\n' + ",\n".join(rows) + "\n]"


class _Reader:
    """Reads one record; every error names the file and the field."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def field(self, data: Any, name: str, where: str, kinds: type | tuple[type, ...], optional: bool = False) -> Any:
        place = f"{where}.{name}" if where else name
        if not isinstance(data, dict):
            raise RecordError(f"record {self.path}: {where or 'the file'} must be an object, not {type(data).__name__}", _AGAIN)
        if name not in data:
            raise RecordError(f"record {self.path}: field {place!r} is missing", _AGAIN)
        value = data[name]
        if value is None and optional:
            return None
        if isinstance(value, bool) or not isinstance(value, kinds):
            wanted = " or ".join(k.__name__ for k in (kinds if isinstance(kinds, tuple) else (kinds,)))
            raise RecordError(f"record {self.path}: field {place!r} must be {wanted}, not {value!r}", _AGAIN)
        return value

    def text(self, data: Any, name: str, where: str = "") -> str:
        value = self.field(data, name, where, str)
        if not value.strip():
            raise RecordError(f"record {self.path}: field {f'{where}.{name}' if where else name!r} is empty", _AGAIN)
        return value

    def times(self, data: Any, where: str) -> Timing:
        numbers = [float(self.field(data, name, where, (int, float))) for name in ("seconds", "low", "high")]
        try:
            return Timing(*numbers, samples=self.field(data, "samples", where, int))
        except ValueError as error:
            raise RecordError(f"record {self.path}: field {where!r}: {error}", _AGAIN) from error

    def roof(self, data: Any, name: str) -> Roof | None:
        value = self.field(data, name, "roofs", dict, optional=True)
        if value is None:
            return None
        where = f"roofs.{name}"
        amount = self.field(value, "amount", where, (int, float))
        if not amount > 0:
            raise RecordError(f"record {self.path}: field {where + '.amount'!r} must be positive, not {amount!r}", _AGAIN)
        return Roof(self.text(value, "what", where), amount, self.times(self.field(value, "time", where, dict), f"{where}.time"))

    def shape(self, data: Any, where: str) -> tuple[int, ...]:
        shape = self.field(data, "shape", where, list)
        if not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in shape):
            raise RecordError(f"record {self.path}: field {where + '.shape'!r} must hold sizes, not {shape!r}", _AGAIN)
        return tuple(shape)

    def pairs(self, data: Any, name: str, where: str, kinds: tuple[type, ...]) -> tuple[tuple[str, Any], ...]:
        """An optional object of plain values, as pairs."""
        if name not in data:
            return ()
        pairs = self.field(data, name, where, dict)
        for key in pairs:
            self.field(pairs, key, f"{where}.{name}", kinds)
        return tuple(pairs.items())

    def failure(self, data: Any, index: int) -> Failure:
        where = f"failures[{index}]"
        shape = self.shape(data, where)
        op, implementation, dtype, reason = (self.text(data, name, where) for name in ("op", "implementation", "dtype", "reason"))
        return Failure(op, implementation, shape, dtype, reason, self.pairs(data, "config", where, (int, str)))

    def measurement(self, data: Any, index: int, origin: Origin) -> Measurement:
        where = f"measurements[{index}]"
        shape = self.shape(data, where)
        graph = self.field(data, "graph", where, dict, optional=True)
        error = self.field(data, "error", where, (int, float), optional=True)
        return Measurement(
            op=self.text(data, "op", where),
            implementation=self.text(data, "implementation", where),
            shape=shape,
            dtype=self.text(data, "dtype", where),
            timing=self.times(self.field(data, "time", where, dict), f"{where}.time"),
            graph=None if graph is None else self.times(graph, f"{where}.graph"),
            bytes=self.field(data, "bytes", where, int, optional=True),
            flops=self.field(data, "flops", where, int, optional=True),
            error=None if error is None else float(error),
            origin=origin,
            recorded=True,
            config=self.pairs(data, "config", where, (int, str)),
            counters=self.pairs(data, "counters", where, (int, float)),
        )

    def record(self, data: Any) -> Measurements:
        schema = self.field(data, "schema", "", int)
        if schema != SCHEMA:
            age = "a newer tritonlab" if schema > SCHEMA else "an older tritonlab"
            raise RecordError(f"record {self.path}: field 'schema' is {schema}, written by {age}; this one reads schema {SCHEMA}", _AGAIN)
        details = self.field(data, "details", "", dict)
        if not all(isinstance(v, (str, int, float)) for v in details.values()):
            raise RecordError(f"record {self.path}: field 'details' must hold texts and numbers, not {details!r}", _AGAIN)
        origin = Origin(
            *(self.text(data, name) for name in ("gpu", "torch", "triton", "date", "method")),
            details=tuple(details.items()),
        )
        ceilings = self.field(data, "roofs", "", dict)
        launch = self.field(ceilings, "launch", "roofs", dict, optional=True)
        roofs = Roofs(
            self.roof(ceilings, "copy"),
            self.roof(ceilings, "matmul"),
            None if launch is None else self.times(launch, "roofs.launch"),
        )
        notes = tuple(str(note) for note in self.field(data, "notes", "", list))
        rows = self.field(data, "measurements", "", list)
        if not rows:
            raise RecordError(f"record {self.path}: field 'measurements' is empty", _AGAIN)
        items = tuple(self.measurement(row, i, origin) for i, row in enumerate(rows))
        failed = self.field(data, "failures", "", list) if "failures" in data else []
        return Measurements(items, roofs, notes, tuple(self.failure(row, i) for i, row in enumerate(failed)))
