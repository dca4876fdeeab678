"""``python -m tritonlab COMMAND``: every command lives in a module of its own, imported when it is called."""

from __future__ import annotations

import importlib
import sys

COMMANDS = {
    "start": ("tritonlab.start:start", "copy the chapters to my/ and open JupyterLab there"),
    "reset": ("tritonlab.start:reset", "give a chapter back as it was, keeping your copy"),
    "doctor": ("tritonlab.doctor:main", "say what this machine has and what to do about what it lacks"),
    "bench": ("tritonlab.bench.command:main", "measure the course's kernels on this GPU"),
    "build": ("tritonlab.build:main", "authors: execute the notebooks and store them"),
    "screenshots": ("tritonlab.views.screenshots:main", "authors: photograph every view"),
    "latency": ("tritonlab.views.latency:main", "authors: time views in a real browser"),
    "overhead": ("tritonlab.overhead:main", "authors: what guard and trace cost"),
    "versions": ("tritonlab.versions:main", "authors: test with other versions of Triton"),
}


def usage() -> str:
    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  {name:<{width}}  {what}" for name, (_, what) in COMMANDS.items())
    return f"usage: python -m tritonlab COMMAND [...]\n\n{rows}\n\nCOMMAND --help says more."


def main(argv: list[str] | None = None) -> int:
    argv = sys.argv[1:] if argv is None else argv
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    name, rest = argv[0], argv[1:]
    if name not in COMMANDS:
        print(f"there is no command {name!r}\n\n{usage()}", file=sys.stderr)
        return 2
    module, function = COMMANDS[name][0].split(":")
    try:
        return getattr(importlib.import_module(module), function)(rest) or 0
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
