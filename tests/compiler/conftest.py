"""Compiled kernels that several tests look at; each is compiled once a session, into a cache of its own."""

import pytest
import torch
from compiler_kernels import scaled_kernel
from compiler_work import N, add_work, course_matmul_work, matmul_work, row_sum_work

import tritonlab as lab
from tritonlab.compiler import variants


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """Nothing compiled before this session is used."""
    patch = pytest.MonkeyPatch()
    patch.setenv("TRITONLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
    yield
    patch.undo()


@pytest.fixture(scope="session")
def add(own_cache):
    return lab.compile(add_work())


@pytest.fixture(scope="session")
def odd_add(own_cache):
    return lab.compile(add_work(N + 1))


@pytest.fixture(scope="session")
def row_sum(own_cache):
    """The sum of squares of a row: written in one expression, and through a function of its own."""
    return variants(row_sum_work(), "sm_90", NAMED=[False, True])


@pytest.fixture(scope="session")
def scaled(own_cache):
    """x times 0.707… and x by 1.414…"""
    x = torch.empty(N, device="meta")
    return variants(lambda: scaled_kernel[(97,)](x, x, N, False, BLOCK_SIZE=1024), "sm_90", DIVIDE=[False, True])


@pytest.fixture(scope="session")
def matmul90(own_cache):
    """The 128×128×64 matmul with 1, 3 and 4 stages on sm_90."""
    return variants(matmul_work(), "sm_90", num_stages=[1, 3, 4])


@pytest.fixture(scope="session")
def matmul80(own_cache):
    return variants(matmul_work(), "sm_80", num_stages=[1, 3, 4])


@pytest.fixture(scope="session")
def course90(own_cache):
    """The course's own matmul, 128×128×64, 8 warps, with 1 to 5 stages on sm_90."""
    return variants(course_matmul_work(), "sm_90", num_stages=[1, 2, 3, 4, 5])


@pytest.fixture(scope="session")
def course80(own_cache):
    return variants(course_matmul_work(), "sm_80", num_stages=[1, 2, 3, 4, 5])
