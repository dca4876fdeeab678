"""Matmul kernels of other kinds than the course's: what they load and store is a product all the same."""

import triton
import triton.language as tl


@triton.jit
def one_element_kernel(x_ptr, w_ptr, out_ptr, M, N, K, B: tl.constexpr):
    """One element of the result a program."""
    i, j = tl.program_id(0), tl.program_id(1)
    acc = 0.0
    for k in range(0, K, B):
        offs_k = k + tl.arange(0, B)
        x = tl.load(x_ptr + i * K + offs_k, mask=offs_k < K, other=0.0)
        w = tl.load(w_ptr + offs_k * N + j, mask=offs_k < K, other=0.0)
        acc += tl.sum(x * w)
    tl.store(out_ptr + i * N + j, acc)


@triton.jit
def outer_products_kernel(x_ptr, w_ptr, out_ptr, M, N, K, B: tl.constexpr):
    """A sum of outer products, without ``tl.dot``."""
    offs_m, offs_n = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K):
        x = tl.load(x_ptr + offs_m * K + k, mask=offs_m < M, other=0.0)
        w = tl.load(w_ptr + k * N + offs_n, mask=offs_n < N, other=0.0)
        acc += x[:, None] * w[None, :]
    tl.store(out_ptr + offs_m[:, None] * N + offs_n[None, :], acc, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


@triton.jit
def split_k_kernel(x_ptr, w_ptr, out_ptr, M, N, K, B: tl.constexpr):
    """Two programs a tile, each with every other step of K; their sums meet in memory."""
    offs_m, offs_n = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(tl.program_id(2) * B, K, B * 2):
        offs_k = k + tl.arange(0, B)
        x = tl.load(x_ptr + offs_m[:, None] * K + offs_k[None, :], mask=(offs_m[:, None] < M) & (offs_k[None, :] < K), other=0.0)
        w = tl.load(w_ptr + offs_k[:, None] * N + offs_n[None, :], mask=(offs_k[:, None] < K) & (offs_n[None, :] < N), other=0.0)
        acc = tl.dot(x, w, acc)
    tl.atomic_add(out_ptr + offs_m[:, None] * N + offs_n[None, :], acc, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


@triton.jit
def prefetching_kernel(x_ptr, w_ptr, out_ptr, M, N, K, B: tl.constexpr):
    """Loads the next tiles before the dot of the present ones: the first pair stands before the loop."""
    offs_m, offs_n, offs_k = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B), tl.arange(0, B)
    x_ptrs, w_ptrs = x_ptr + offs_m[:, None] * K + offs_k[None, :], w_ptr + offs_k[:, None] * N + offs_n[None, :]
    mask_m, mask_n = offs_m[:, None] < M, offs_n[None, :] < N
    x = tl.load(x_ptrs, mask=mask_m & (offs_k[None, :] < K), other=0.0)
    w = tl.load(w_ptrs, mask=mask_n & (offs_k[:, None] < K), other=0.0)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(B, K, B):
        next_x = tl.load(x_ptrs + k, mask=mask_m & (offs_k[None, :] < K - k), other=0.0)
        next_w = tl.load(w_ptrs + k * N, mask=mask_n & (offs_k[:, None] < K - k), other=0.0)
        acc = tl.dot(x, w, acc)
        x, w = next_x, next_w
    acc = tl.dot(x, w, acc)
    tl.store(out_ptr + offs_m[:, None] * N + offs_n[None, :], acc, mask=mask_m & mask_n)


@triton.jit
def outer_sum_kernel(x_ptr, w_ptr, out_ptr, M, N, B: tl.constexpr):
    """No product: a column plus a row."""
    offs_m, offs_n = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    x = tl.load(x_ptr + offs_m, mask=offs_m < M, other=0.0)
    w = tl.load(w_ptr + offs_n, mask=offs_n < N, other=0.0)
    tl.store(out_ptr + offs_m[:, None] * N + offs_n[None, :], x[:, None] + w[None, :], mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))
