"""Work that launches one kernel, for the compiler tests; its tensors hold nothing."""

import torch
from compiler_kernels import add_kernel, dot_kernel, matmul_kernel, row_sum_kernel

from tritonlab.kernels.matmul import matmul

N = 98432


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


def course_matmul_work(M=4096, N=4096, K=4096, dtype=torch.float16, **given):
    """The course's matmul launched as its learners launch it."""
    a, b = torch.empty(M, K, dtype=dtype, device="meta"), torch.empty(K, N, dtype=dtype, device="meta")
    given = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 8, "num_stages": 3} | given
    return lambda: matmul(a, b, **given)


def dot_work(block=(128, 128, 64), how="three arguments", num_warps=8):
    """One program that multiplies float16 tiles of a size."""
    (m, n, k), K = block, 1024
    a, b = torch.empty(m, K, dtype=torch.float16, device="meta"), torch.empty(K, n, dtype=torch.float16, device="meta")
    c = torch.empty(m, n, device="meta")
    return lambda: dot_kernel[(1,)](a, b, c, K, HOW=how, BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, num_warps=num_warps, num_stages=3)
