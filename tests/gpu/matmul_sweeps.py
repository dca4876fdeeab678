"""Everything that chapters 5 to 7 show of a GPU, in one command: ``python tests/gpu/matmul_sweeps.py --out DIR [--only STEP ...]``.

compile         every kernel of the steps below, in parallel, into Triton's cache
group_m         GROUP_M × tile × size                                              → group_m.json
matmul_configs  tile, warps, stages, GROUP_M for four shapes                       → matmul_configs.json
matmul          tiled, grouped, autotuned, padded against cuBLAS                   → matmul.json
counters        memory and L2 traffic by Nsight Compute, added to group_m.json     → counters.json, ncu.csv

Each step is a process of its own with a time limit, so that one that fails costs no other. ``--tiny`` goes through
everything on the CPU with toy sizes, to try the script itself. The exit code is 0 when every step passed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
LIMITS = {"compile": 150, "group_m": 130, "matmul_configs": 200, "matmul": 220, "counters": 150}
"""Seconds after which a step is stopped."""
OPS = {"group_m": ["group_m"], "matmul_configs": ["matmul_configs"], "matmul": ["grouped_matmul", "matmul"]}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for records and logs")
    parser.add_argument("--only", nargs="+", choices=LIMITS, default=list(LIMITS), help="steps to run (default: all)")
    parser.add_argument("--tiny", action="store_true", help="toy sizes on the CPU")
    parser.add_argument("--here", help=argparse.SUPPRESS)  # run one step in this process
    options = parser.parse_args(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.here:
        return here(options.here, options.out, options.tiny)
    begin, failed = time.monotonic(), []
    for step in options.only:
        start = time.monotonic()
        print(f"== {step}", flush=True)
        command = [sys.executable, __file__, "--out", str(options.out), "--here", step] + (["--tiny"] if options.tiny else [])
        try:
            code = subprocess.run(command, cwd=ROOT, timeout=LIMITS[step]).returncode
        except subprocess.TimeoutExpired:
            code = "its time was over"
        failed += [step] if code else []
        print(f"== {step}: {f'FAILED ({code})' if code else 'passed'} ({time.monotonic() - start:.0f} s)", flush=True)
    print(f"{'FAILED: ' + ', '.join(failed) if failed else 'all passed'} in {time.monotonic() - begin:.0f} s; records in {options.out}")
    return 1 if failed else 0


def here(step: str, out: Path, tiny: bool) -> int:
    if step == "compile":
        return compile_all(tiny)
    if step == "counters":
        return counters(out, tiny)
    if step == "child":
        return child(out, tiny)
    return bench(step, out, tiny)


# timing


def bench(step: str, out: Path, tiny: bool) -> int:
    """One sweep, its table and its record."""
    from tritonlab.bench import records
    from tritonlab.bench.ceilings import Ceilings
    from tritonlab.bench.command import Progress
    from tritonlab.bench.ops import cases_of
    from tritonlab.bench.sweep import Plan, sweep
    from tritonlab.bench.timing import GpuTimer

    cases = cases_of(OPS[step])
    plan = Plan(passes=5, milliseconds=40.0 if step == "matmul" else 25.0, compile=None, seconds=LIMITS[step] * 0.45)
    if tiny:
        timer, cases, plan = Stopwatch(), [toy(case) for case in cases[:2]], replace(plan, passes=2, milliseconds=0.1)
        ceilings = Ceilings(timer, copy_bytes=1024, matmul_size=8)
    else:
        timer = GpuTimer()
        ceilings = Ceilings(timer)
    result = sweep(cases, timer, ceilings, plan, Progress(sys.stdout))
    for failure in result.failures:
        print(f"FAILED {failure}", flush=True)
    for failure in result.measurements.failures:
        print(f"does not run: {failure.shape} {failure.meta}: {failure.reason}", flush=True)
    if not result.measurements.items:
        return 2
    path = records.write(out / f"{step}.json", result.measurements)
    if step == "matmul":  # the others are too long to read here
        print(result.measurements)
    else:
        best = sorted(result.measurements, key=lambda m: (m.shape, m.seconds))
        for shape in result.measurements.shapes:
            for m in [m for m in best if m.shape == shape][:4]:
                print(m, flush=True)
    print(f"{len(result.measurements)} measurements written to {path}", flush=True)
    return 1 if result.failures else 0


class Stopwatch:
    """A timer for the CPU, to try the script."""

    device = "cpu"

    def calls(self, fn, milliseconds):
        start = time.perf_counter()
        fn()
        return [time.perf_counter() - start]

    def warm(self, fn, milliseconds):
        pass

    def graph(self, fn, milliseconds):
        return None

    def finish(self):
        pass


def toy(case):
    """The case with a product of 40 × 24 × 33, and of its sweep what a CPU can interpret at once."""
    from tritonlab.kernels.matmul import operands

    few = {n: f for n, f in case.contenders.items() if n not in case.swept or f.config["BLOCK_M"] * f.config["BLOCK_N"] <= 32 * 32}
    swept = {name: case.swept[name] for name in few if name in case.swept}
    return replace(case, shape=(40, 24, 33), make=partial(operands, M=40, N=24, K=33, dtype=case.dtype), contenders=few, swept=swept)


# compiling


def wanted() -> list[tuple]:
    """(kernel's name, config, (M, N, K), dtype, precision) of everything that is launched, each once."""
    import torch

    from tritonlab.bench.ops import cases_of
    from tritonlab.kernels.matmul_shapes import CONFIGS, fitting_configs, launch_shape

    found: dict[tuple, tuple] = {}

    def add(name: str, config: dict, shape: tuple, dtype: torch.dtype, precision: str = "ieee") -> None:
        group = config.get("GROUP_M")
        group = -(-shape[0] // config["BLOCK_M"]) if isinstance(group, str) else group
        specialised = (name, tuple(sorted((k, v) for k, v in config.items() if k != "GROUP_M")), group, *(n % 16 == 0 for n in shape), dtype, precision)
        found.setdefault(specialised, (name, config, shape, dtype, precision))

    for case in cases_of(["group_m", "matmul_configs"]):
        for name in case.swept:
            add(case.swept[name][0], dict(case.swept[name][1]), case.shape, case.dtype)
    for case in cases_of(["grouped_matmul", "matmul"]):
        for name in case.own:
            precision = "tf32" if "tf32" in name else "ieee"
            chosen = launch_shape(*case.shape, case.dtype.itemsize, precision)
            if "autotuned" in name:
                M, N, K = case.shape
                given = {"M": M, "N": N, "K": K, "a_ptr": torch.empty(0, dtype=case.dtype, device="cuda")}
                for one in fitting_configs(CONFIGS, given, INPUT_PRECISION=precision):
                    add("grouped", {**one.kwargs, "num_warps": one.num_warps, "num_stages": one.num_stages}, case.shape, case.dtype)
            elif "grouped" in name:
                add("grouped", {**chosen, "GROUP_M": 8}, case.shape, case.dtype, precision)
            elif "padded" not in name:
                add("2-D grid", chosen, case.shape, case.dtype, precision)
    return list(found.values())


def compile_one(item: tuple) -> str:
    """Compile one of them into Triton's cache; what went wrong, or "" ."""
    from tritonlab.kernels.matmul_sweeps import Launch

    name, config, shape, dtype, precision = item
    try:
        Launch(name, config, precision).compile(*shape, dtype)
    except Exception as error:
        return f"{name} {config} {shape}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return ""


def compile_all(tiny: bool) -> int:
    import torch

    if tiny:
        print("nothing is compiled without a GPU")
        return 0
    items, workers = wanted(), max(2, min(14, (os.cpu_count() or 2) - 1))
    torch.cuda.empty_cache()
    print(f"{len(items)} kernels, {workers} processes", flush=True)
    stop, done, wrong = time.monotonic() + LIMITS["compile"] - 20, 0, []
    with multiprocessing.get_context("spawn").Pool(workers) as pool:  # leaving the block ends the processes
        results = pool.imap_unordered(compile_one, items)
        while done < len(items):
            try:
                said = results.next(timeout=max(0.1, stop - time.monotonic()))
            except multiprocessing.TimeoutError:
                print(f"stopped after {done} of {len(items)}; the rest is compiled when it is launched", flush=True)
                break
            done += 1
            wrong += [said] if said else []
            if done % 50 == 0:
                print(f"{done} of {len(items)}", flush=True)
    for line in wrong:
        print(f"does not compile: {line}", flush=True)
    return 0


# counting


def points(tiny: bool) -> Iterator[tuple]:
    """(launch, size) of what is counted."""
    from tritonlab.kernels.group_m import launches
    from tritonlab.kernels.matmul_sweeps import WHOLE_COLUMN

    some = {1, 8, WHOLE_COLUMN, None}
    plan = [(64, 8192, None), (128, 16384, some), (128, 8192, {1, 8, WHOLE_COLUMN}), (128, 4096, {1, 8}), (32, 8192, {1, 8, WHOLE_COLUMN})]
    for rows, size, groups in [(32, 40, {1, 8})] if tiny else plan:
        for launch in launches():
            if launch.config["BLOCK_M"] == rows and (groups is None or launch.config.get("GROUP_M") in groups):
                yield launch, size


def child(out: Path, tiny: bool) -> int:
    """What ncu watches: every launch once; which were launched goes to launched.json."""
    import torch

    launched, at, operands = [], None, None
    for launch, size in points(tiny):
        if size != at:
            operands = [torch.randn((size, size), device="cpu" if tiny else "cuda", dtype=torch.bfloat16) for _ in range(2)]
            at = size
        try:
            launch(*operands)
            launched.append({"implementation": launch.implementation, "shape": [size] * 3, "config": launch.config})
            launched[-1] |= {"kernel": launch.kernel.fn.__name__, "grid": list(launch.grid(size, size))}
        except Exception as error:
            print(f"not launched: {launch.config}: {error}", file=sys.stderr)
        (out / "launched.json").write_text(json.dumps(launched))
    if not tiny:
        torch.cuda.synchronize()
    return 0


def counters(out: Path, tiny: bool) -> int:
    from tritonlab.bench.counters import command, find_ncu, parse

    ncu = find_ncu()
    work = [sys.executable, __file__, "--out", str(out), "--here", "child"] + (["--tiny"] if tiny else [])
    if ncu is None and not tiny:
        print("there is no ncu here, so nothing is counted")
        return 2
    log = out / "ncu.csv"
    kernels = sorted({launch.kernel.fn.__name__ for launch, _ in points(False)})
    print(f"{ncu}: {len(list(points(tiny)))} launches", flush=True)
    try:
        code = subprocess.run(work if tiny else command(ncu, kernels, str(log), work), cwd=ROOT, timeout=LIMITS["counters"] - 15).returncode
    except subprocess.TimeoutExpired:
        code = "its time was over"
    launched = json.loads((out / "launched.json").read_text()) if (out / "launched.json").exists() else []
    text = log.read_text() if log.exists() else ""
    found = parse(text)
    if not found and not tiny:
        print(f"ncu counted nothing ({code}): {text[-2000:]}")
        return 2
    counted = []
    for point, one in zip(launched, found):
        grid = [int(n) for n in one.grid.strip("() ").split(",") if n.strip()]
        if one.kernel != point["kernel"] or [*point["grid"], 1, 1][:3] != grid:
            print(f"ncu's launches are not those made: {one} for {point}")
            break
        counted.append({**point, "counters": dict(one.counters)})
        print(f"{point['implementation']} {point['shape'][0]}³ {point['config']}: {dict(one.counters)}", flush=True)
    (out / "counters.json").write_text(json.dumps(counted, indent=0))
    return add_counters(out, counted) or (1 if code or len(counted) < len(launched) else 0)


def add_counters(out: Path, counted: list[dict]) -> int:
    """Put the counters into the record of the sweep over GROUP_M."""
    from tritonlab.bench import records
    from tritonlab.bench.counters import merge

    path = out / "group_m.json"
    if not path.exists():
        print(f"{path} is not there, so the counters are in counters.json only")
        return 1
    by_key = {
        ("group_m", c["implementation"], tuple(c["shape"]), "bfloat16", tuple(c["config"].items())): tuple(c["counters"].items()) for c in counted
    }
    merged = merge(records.read(path), by_key)
    records.write(path, merged)
    have = sum(bool(set(by_key.get(m.key, ())) & set(m.counters)) for m in merged)
    print(f"{have} of {len(by_key)} counted launches are in {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
