"""Compiled kernels that several tests look at; each is compiled once a session, into a cache of its own."""

import pytest
import torch
from compiler_kernels import add_kernel, matmul_kernel, row_sum_kernel, scaled_kernel

import tritonlab as lab
from tritonlab.compiler import variants

N = 98432


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """Nothing compiled before this session is used."""
    patch = pytest.MonkeyPatch()
    patch.setenv("TRITONLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
    yield
    patch.undo()


def add_work(n=N, offset=0):
    x = torch.empty(n + offset, device="meta")[offset:]
    return lambda: add_kernel[(97,)](x, x, x, n, BLOCK_SIZE=1024)


def matmul_work(size=8192, k=None, **blocks):
    k = k or size
    a, b = (torch.empty(shape, dtype=torch.float16, device="meta") for shape in ((size, k), (k, size)))
    c = torch.empty(size, size, dtype=torch.float16, device="meta")
    given = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 8} | blocks
    grid = (-(-size // given["BLOCK_M"]), -(-size // given["BLOCK_N"]))
    return lambda: matmul_kernel[grid](a, b, c, size, size, k, *a.stride(), *b.stride(), *c.stride(), **given)


def row_sum_work():
    x, out = torch.empty(8, 4096, device="meta"), torch.empty(8, device="meta")
    return lambda: row_sum_kernel[(8,)](x, out, x.stride(0), 1, 4096, False, BLOCK_SIZE=4096)


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
