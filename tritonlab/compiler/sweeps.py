"""What the compiler made of every launch of a sweep, in a few figures, kept as a record.

A sweep has more configs than a notebook can compile (about a second each), so they are compiled once, by
``python -m tritonlab.compiler.sweeps matmul_configs --target sm_90``, with the Triton that the sweep was timed with.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .record import Failed, Figure, Figures, figure

__all__ = ["figures", "main"]

SCHEMA = 1
_DATA = Path(__file__).parent / "data"
_AGAIN = "make it again: python -m tritonlab.compiler.sweeps"


def figures(name: str, target: str = "sm_90") -> Figures:
    """The recorded figures of a sweep, ``figures("matmul_configs")``. ``ValueError`` names those there are."""
    path = _DATA / f"{name}-{target}.json"
    if not path.exists():
        there = ", ".join(sorted(p.stem for p in _DATA.glob("*.json"))) or "none"
        raise ValueError(f"no figures are recorded of {name!r} for {target!r}; there are {there}")
    return read(path)


def read(path: Path) -> Figures:
    """A record's figures. ``ValueError`` names the file and what is wrong with it."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["schema"] != SCHEMA:
            raise ValueError(f"schema is {data['schema']}, and this tritonlab reads {SCHEMA}")
        names = data["config"]
        made = tuple(
            Figure(
                config=tuple(zip(names, row["config"])), shapes=tuple(tuple(s) for s in row["shapes"]), target=data["target"],
                triton_version=data["triton"], **{k: v for k, v in row.items() if k not in ("config", "shapes")},
            )
            for row in data["figures"]
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path.name} is not a record of figures: {error} ({_AGAIN})") from error
    return Figures(made)


def write(path: Path, made: Sequence[Figure], op: str) -> None:
    """Keep figures of one target, a line each; what is as in an empty ``Figure`` is left out."""
    names, plain = [k for k, _ in made[0].config], Figure(())
    head = {"schema": SCHEMA, "op": op, "target": made[0].target, "triton": made[0].triton_version, "config": names}
    rows = []
    for f in made:
        own = {k: v for k, v in f.__dict__.items() if k not in ("config", "shapes", "target", "triton_version") and v != getattr(plain, k)}
        rows.append(json.dumps({"config": [v for _, v in f.config], "shapes": f.shapes, **own}))
    text = json.dumps(head)[:-1] + ', "figures": [\n' + ",\n".join(rows) + "\n]}\n"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def compile_sweep(op: str, target: str) -> list[Figure]:
    """The figures of every launch of a sweep, the shapes that a config compiles to one kernel for together."""
    from .compiling import answers, launches_of
    from .errors import CompileError
    from .request import key_of, request

    module = importlib.import_module(f"tritonlab.kernels.{op}")
    wanted: dict[str, tuple[Any, tuple[tuple[str, Any], ...], list[tuple[int, ...]]]] = {}
    for case in module.bench_cases():
        arguments = case["make"](device="meta")
        for launch in case["run"]:
            one = request(launches_of(lambda: launch(*arguments))[0], target)
            wanted.setdefault(key_of(one), (one, tuple(launch.config.items()), []))[2].append(tuple(case["shape"]))
    made = []
    for (one, config, shapes), c in zip(wanted.values(), answers([one for one, _, _ in wanted.values()])):
        if isinstance(c, CompileError):
            c = Failed(one.kernel, one.target, _triton_version(), meta=one.meta, options=one.options, message=c.message)
        made.append(figure(c, config, shapes))
    return made


def _triton_version() -> str:
    import triton

    return triton.__version__


def main(argv: Sequence[str] | None = None) -> int:
    """Compile a sweep and write its figures."""
    parser = argparse.ArgumentParser(prog="python -m tritonlab.compiler.sweeps", description=__doc__)
    parser.add_argument("op", help="a sweep among the kernels, such as matmul_configs")
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--out", type=Path, help="the file to write (default: where figures() reads it)")
    given = parser.parse_args(argv)
    made = compile_sweep(given.op, given.target)
    path = given.out or _DATA / f"{given.op}-{given.target}.json"
    write(path, made, given.op)
    bad = sum(bool(f.problem) for f in made)
    print(f"{path}: {len(made)} kernels for {given.target} by Triton {made[0].triton_version}, {bad} of which cannot run", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
