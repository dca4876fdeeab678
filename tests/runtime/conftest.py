"""What every test of the runtime leaves behind: the language, the next launch and the compiler as they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from runtime_checks import Arena, language_is_back, still_compiles, still_right

from tritonlab.runtime.state import state


@pytest.fixture(autouse=True)
def leaves_nothing_behind() -> Iterator[None]:
    yield
    assert state.launch is None
    language_is_back()
    still_right()


@pytest.fixture(scope="module", autouse=True)
def leaves_the_compiler_working() -> Iterator[None]:
    yield
    still_compiles()


@pytest.fixture
def arena() -> Arena:
    return Arena()


@pytest.fixture
def refused(arena: Arena) -> Callable[..., Any]:
    """Run a launch that must fail, and check that it left every byte of the arena alone."""

    def run(error: type[BaseException], launch: Callable[[], Any]) -> Any:
        arena.freeze()
        with pytest.raises(error) as caught:
            launch()
        arena.check()
        return caught.value

    return run
