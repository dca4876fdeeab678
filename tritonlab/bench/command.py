"""``python -m tritonlab bench``: measure the course's ops on this GPU and keep a record."""

from __future__ import annotations

import argparse
import datetime
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from . import records
from .comparing import compare_runs
from .errors import MeasureError, RecordError
from .library import user_folder

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """The command; 0 when all went well, 1 when a kernel of the course failed or two runs disagree, 2 when nothing could be measured."""
    parser = argparse.ArgumentParser(prog="python -m tritonlab bench", description="Measure the course's ops on this GPU and keep a record.")
    parser.add_argument("ops", nargs="*", metavar="op", help="ops to measure (when none is named, all but the long sweeps)")
    parser.add_argument("--quick", action="store_true", help="a quarter of the sizes, one pass, no torch.compile: a first look")
    parser.add_argument("--out", metavar="FILE", help="where to write the record (default: a new file in this user's records)")
    parser.add_argument("--passes", type=int, metavar="N", help="passes over all cases (default 3)")
    parser.add_argument("--list", action="store_true", help="name the ops and their number of cases, and measure nothing")
    parser.add_argument("--compare", nargs=2, metavar=("A", "B"), help="say where two records disagree beyond their spreads, and measure nothing")
    options = parser.parse_args(argv)
    try:
        if options.compare:
            return _compare(*options.compare)
        if options.list:
            return _list()
        return _measure(options)
    except (MeasureError, RecordError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nstopped; no record is written", file=sys.stderr)
        return 130


def _list() -> int:
    from collections import Counter

    from .ops import cases_of, find_ops

    for op, count in Counter(case.op for case in cases_of(find_ops())).items():
        print(f"{op}  {count} cases")
    return 0


def _compare(a: str, b: str) -> int:
    report = compare_runs(records.read(a), records.read(b))
    print(report)
    return 0 if report.agree else 1


def _measure(options: argparse.Namespace) -> int:
    import torch

    from .ceilings import Ceilings
    from .ops import cases_of
    from .sweep import Plan, sweep
    from .timing import GpuTimer

    cases = cases_of(options.ops, quick=options.quick)
    if not cases:
        raise MeasureError("there is nothing to measure: no kernel declares benchmark cases")
    if not torch.cuda.is_available():
        raise MeasureError(
            "this machine has no GPU that torch can see, and interpreted kernels are not worth timing",
            "`lab.recorded(op)` shows a recorded run; `python -m tritonlab doctor` says what this machine has",
        )
    timer = GpuTimer()
    plan = Plan(passes=1, milliseconds=20, compile=None) if options.quick else Plan()
    if options.passes:
        plan = Plan(options.passes, plan.milliseconds, plan.compile)
    start = time.monotonic()
    result = sweep(cases, timer, Ceilings(timer), plan, Progress(sys.stderr))
    measurements = result.measurements
    if measurements.items:
        for op in measurements.ops:
            print(measurements.where(op=op), end="\n\n")
        path = records.write(options.out or _new_path(measurements[0].gpu, options.ops), measurements)
        print(f"{len(measurements)} measurements in {time.monotonic() - start:.0f} s, written to {path}")
    for failure in result.failures:
        print(f"FAILED {failure}", file=sys.stderr)
    return 1 if result.failures or not measurements.items else 0


def _new_path(gpu: str, ops: Sequence[str]) -> Path:
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    slug = re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-") or "gpu"
    return user_folder() / f"{slug}-{'-'.join(sorted(set(ops))) or 'all'}-{now}.json"


class Progress:
    """A bar on a terminal, and a line for every tenth of the way elsewhere."""

    WIDTH = 30

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.tenth, self.longest = stream, -1, 0

    def __call__(self, done: int, total: int, what: str) -> None:
        share = done / total if total else 1.0
        if self.stream.isatty():
            filled = int(share * self.WIDTH)
            line = f"[{'#' * filled}{'.' * (self.WIDTH - filled)}] {share:4.0%}  {what}"
            self.stream.write("\r" + line.ljust(self.longest) + ("\n" if done >= total else ""))
            self.longest = max(self.longest, len(line))
        elif int(share * 10) > self.tenth:
            self.tenth = int(share * 10)
            self.stream.write(f"{share:4.0%}  {what}\n")
        self.stream.flush()


if __name__ == "__main__":
    sys.exit(main())
