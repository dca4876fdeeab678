"""Notebooks are tested strictly: every cell runs and gives what is stored.

nbval is switched on here and for this folder only, so learners' copies in ``my/`` are never
collected. Its kernels see no GPU and none of the user's own settings, like the build's.
"""

from __future__ import annotations

import time
from pathlib import Path
from queue import Empty
from unittest import mock

import pytest

CELL_SECONDS = 120
OUTPUT_SECONDS = 60  # nbval waits 5, too few on a busy machine
SANITIZE = Path(__file__).resolve().parents[1] / "tests" / "nbval.cfg"


def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.hasplugin("nbval"):
        return
    import nbval.plugin

    config.option.nbval = True
    config.option.nbval_current_env = True
    config.option.nbval_cell_timeout = CELL_SECONDS
    config.option.nbval_sanitize_with = str(SANITIZE)
    nbval.plugin.RunningKernel = _kernel_class()


def _kernel_class() -> type:
    from nbval.kernel import RunningKernel

    class Kernel(RunningKernel):
        def __init__(self, *args, **kwargs):
            from tritonlab.build import kernel_environment  # loads torch: not before a notebook is run

            self._environment = kernel_environment()
            with mock.patch.dict("os.environ", self._environment.__enter__(), clear=True):
                super().__init__(*args, **kwargs)

        def await_reply(self, msg_id, timeout=None):
            """As nbval's, but a kernel that died is noticed within a second, not after the cell's timeout."""
            end = time.monotonic() + (timeout or CELL_SECONDS)
            while True:
                try:
                    return super().await_reply(msg_id, timeout=1)
                except Empty:
                    if not self.is_alive():
                        raise RuntimeError("the kernel died while this cell ran") from None
                    if time.monotonic() > end:
                        raise

        def stop(self):
            super().stop()
            self._environment.__exit__(None, None, None)

    return Kernel


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item):
    if hasattr(item, "output_timeout"):
        item.output_timeout = OUTPUT_SECONDS
    return (yield)
