"""How the tests run: a bare ``pytest`` on two workers, and with no GPU unless ``--gpu`` is given."""

from __future__ import annotations

import os

import pytest

WORKERS = 2
collect_ignore_glob = ["*.ipynb"]  # only the chapters are run by nbval


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--gpu", action="store_true", help="let tests see this machine's GPU, and run those that need it")


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--gpu"):
        # the same results on every machine; worker processes inherit it
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Bare ``pytest``: one file (one notebook) a worker at a time, notebooks first."""
    if hasattr(config, "workerinput"):
        return  # a worker, which must not start workers of its own
    bare = config.args_source == pytest.Config.ArgsSource.TESTPATHS
    if bare and config.pluginmanager.hasplugin("xdist") and not config.option.usepdb:
        if config.option.numprocesses is None and config.option.dist == "no":
            config.option.numprocesses = WORKERS
            config.option.dist = "loadfile"
            config.option.loadscopereorder = False


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--gpu"):
        for item in items:
            if "gpu" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="needs a GPU: pytest --gpu"))
