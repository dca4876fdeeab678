"""Kernel tests run interpreted on the CPU, and the same tests compiled where there is a CUDA GPU."""

import pytest
import torch

import tritonlab  # noqa: F401  (routes launches on CPU tensors to the guarded interpreter)
from tritonlab.tolerances import tolerance


def pytest_generate_tests(metafunc):
    """``device`` is "cpu", where launches are interpreted, and with ``pytest --gpu`` also "cuda", where they are compiled."""
    if "device" in metafunc.fixturenames:
        compiled = [pytest.param("cuda", marks=pytest.mark.gpu)] if metafunc.config.getoption("--gpu") else []
        metafunc.parametrize("device", ["cpu", *compiled])


@pytest.fixture
def only_gpu():
    """The device of a test that is marked ``gpu``: its shapes are too large to interpret."""
    if not torch.cuda.is_available():
        pytest.skip("no CUDA GPU")
    return "cuda"


@pytest.fixture
def rand():
    """``rand(shape, dtype, device)``: random values, the same on every run; integers over their whole range."""
    generator = torch.Generator().manual_seed(20261)

    def make(*shape, dtype=torch.float32, device="cpu", scale=1.0):
        if dtype.is_floating_point:
            return (torch.randn(*shape, generator=generator, dtype=torch.float64) * scale).to(dtype).to(device)
        info = torch.iinfo(dtype)
        return torch.randint(info.min, info.max, shape, generator=generator, dtype=dtype).to(device)

    return make


@pytest.fixture
def agrees():
    """``agrees(op, actual, expected)``: assert that a result is within the op's tolerance of its oracle; of a product, ``K=...``."""

    def check(op, actual, expected, **accuracy):
        limit = tolerance(op, actual.dtype, **accuracy)
        if actual.dtype.is_floating_point:
            expected = clamp_to(actual.dtype, expected)
            torch.testing.assert_close(actual.double(), expected.double(), rtol=limit.rtol, atol=limit.atol, equal_nan=True)
        else:
            torch.testing.assert_close(actual, expected, rtol=0, atol=0)

    return check


def clamp_to(dtype, expected):
    """A float64 oracle whose values past the dtype's range become infinite, as they do when stored."""
    return torch.where(expected.to(dtype).isinf(), expected.sign() * torch.inf, expected)
