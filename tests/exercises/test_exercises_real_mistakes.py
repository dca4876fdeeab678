"""Mistakes that real learners made, each written anew as an answer, and what the check says of it.

Those about one missing mask, races between programs, fills and accumulators stand in ``test_exercises_reasons``.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from exercise_tools import problem, rows, vectors

from tritonlab.exercises.check import check
from tritonlab.exercises.problem import Case, Tolerance, spec

LOOSE = Tolerance(1e-4, 1e-4, "float32 sums of some dozen products round by about 1e-6.")


def rejected(answer, given, code):
    result = check(answer, given)
    assert result.codes[:1] == (code,), result
    return result.reasons[0]


def add_one(x):
    return x.double() + 1


GRIDS = rows((4, 8), (3, 5), (6, 20))


def launch_2d(kernel, grid=None):
    def answer(x):
        out = torch.empty_like(x)
        size = (triton.cdiv(x.shape[0], 4), triton.cdiv(x.shape[1], 8))
        kernel[size if grid is None else grid(*size)](x, out, *x.shape, BLOCK_M=4, BLOCK_N=8)
        return out

    return answer


@triton.jit
def store_without_mask_kernel(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    at = offs_m[:, None] * N + offs_n[None, :]
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    tl.store(out_ptr + at, x + 1)


def test_a_2d_tile_whose_store_lacks_its_mask_lands_on_the_next_row():
    given = problem(add_one, GRIDS)
    reason = rejected(launch_2d(store_without_mask_kernel), given, "out_of_bounds")
    assert "mask is made in line" in reason.text and "mask=mask is missing" in reason.text
    assert "lane (2, 5)" in reason.text, "row 2, column 5 of a matrix of 3 × 5 is one past its end"


@triton.jit
def wraps_to_next_row_kernel(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    at = offs_m[:, None] * N + offs_n[None, :]
    inside = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    tl.store(out_ptr + at, x + 1, mask=at < M * N)


def test_a_mask_on_the_flat_offset_lets_a_column_past_the_end_write_the_next_row():
    given = problem(add_one, GRIDS)
    reason = rejected(launch_2d(wraps_to_next_row_kernel), given, "race")
    assert "out_ptr[" in reason.text and "store different values" in reason.text or "is written by program" in reason.text


@triton.jit
def and_kernel(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    mask = (offs_m < M) and (offs_n < N)
    at = offs_m * N + offs_n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask, other=0.0) + 1, mask=mask)


def test_python_and_between_masks():
    reason = rejected(launch_2d(and_kernel), problem(add_one, GRIDS), "raises")
    assert "`and` between blocks" in reason.text and "use `&`" in reason.text


@triton.jit
def precedence_kernel(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    mask = offs_m < M & offs_n < N
    at = offs_m * N + offs_n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask, other=0.0) + 1, mask=mask)


def test_a_mask_without_parentheses():
    result = check(launch_2d(precedence_kernel), problem(add_one, GRIDS))
    assert result.codes[0] in ("raises", "out_of_bounds", "never_written"), result
    assert result.reasons[0].line and "mask" in str(result.reasons[0])


@triton.jit
def flat_pid_kernel(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    tiles_n = tl.cdiv(N, BLOCK_N)
    offs_m = (pid // tiles_n) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    offs_n = (pid % tiles_n) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    mask = (offs_m < M) & (offs_n < N)
    at = offs_m * N + offs_n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask, other=0.0) + 1, mask=mask)


def test_a_2d_grid_for_a_kernel_that_reads_one_axis():
    given = problem(add_one, rows((4, 8), (8, 24)))
    assert check(launch_2d(flat_pid_kernel, grid=lambda m, n: (m * n,)), given).ok
    reason = rejected(launch_2d(flat_pid_kernel), given, "never_written")
    assert "are written 3 times over" in reason.text


@triton.jit
def group_norm_kernel(x_ptr, out_ptr, C, size, OWN: tl.constexpr, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    channel = tl.program_id(0) * size + lane
    mask = (lane < size) if OWN else (channel < C)
    x = tl.load(x_ptr + channel, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / size
    d = tl.where(mask, x - mean, 0.0)
    tl.store(out_ptr + channel, d / tl.sqrt(tl.sum(d * d, axis=0) / size + 1e-5), mask=mask)


def test_a_mask_that_bounds_the_whole_tensor_where_the_program_owns_a_group():
    def answer(own):
        def launcher(x):
            groups, size = x.shape
            out = torch.empty_like(x)
            group_norm_kernel[(groups,)](x, out, x.numel(), size, OWN=own, BLOCK=triton.next_power_of_2(size))
            return out

        return launcher

    def normed(x):
        d = x.double() - x.double().mean(1, keepdim=True)
        return d / torch.sqrt((d * d).mean(1, keepdim=True) + 1e-5)

    given = problem(normed, rows((4, 4), (4, 3)), tolerance=LOOSE)
    assert check(answer(True), given).ok
    reason = rejected(answer(False), given, "race")
    assert reason.label == "x: 4×3" and "by program 0" in reason.text and "by program 1" in reason.text


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n_cols + offs, mask=offs < n_cols, other=0.0)
    tl.store(out_ptr + tl.program_id(0), tl.sum(x, axis=0))


def test_row_sums_of_a_transposed_tensor_with_an_assumed_row_stride():
    def answer(x):
        out = torch.empty(x.shape[0])
        row_sum_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return out

    given = problem(lambda x: x.double().sum(1), (*rows((4, 8), (4, 6)), *rows((4, 6), layout="transposed")))
    reason = rejected(answer, given, "strides")
    assert "wrong for x transposed" in reason.text and reason.index == (0,)


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, TAIL: tl.constexpr, BLOCK: tl.constexpr
):
    offs_m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    offs_n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK) if TAIL else K // BLOCK):
        offs_k = k * BLOCK + tl.arange(0, BLOCK)
        a = tl.load(
            a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak,
            mask=(offs_m[:, None] < M) & (offs_k[None, :] < K), other=0.0,
        )
        b = tl.load(
            b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn,
            mask=(offs_k[:, None] < K) & (offs_n[None, :] < N), other=0.0,
        )
        acc += tl.dot(a, b, input_precision="ieee")
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.store(c_ptr + offs_m[:, None] * N + offs_n[None, :], acc, mask=mask)


def matmul(tail=True, swapped=False):
    def answer(a, b):
        (M, K), N = a.shape, b.shape[1]
        c = torch.empty(M, N)
        strides = (*a.stride(), *b.stride())
        if swapped:
            strides = (strides[1], strides[0], strides[3], strides[2])
        matmul_kernel[(triton.cdiv(M, 16), triton.cdiv(N, 16))](a, b, c, M, N, K, *strides, TAIL=tail, BLOCK=16)
        return c

    return answer


def two(a, b):
    raise AssertionError


MATMUL = problem(
    lambda a, b: a.double() @ b.double(),
    tuple(Case((spec(m, k), spec(k, n))) for m, k, n in ((16, 16, 16), (20, 32, 24), (20, 37, 24))),
    launcher=two, tolerance=LOOSE,
)


def test_a_matmul_that_leaves_out_the_end_of_k():
    assert check(matmul(), MATMUL).ok
    reason = rejected(matmul(tail=False), MATMUL, "never_read")
    assert reason.text.startswith("Columns 32…36 of every row (100 of 740 elements) of a were never read.")
    assert reason.label == "a: 20×37, b: 37×24", "right whenever K is a multiple of the block"


def test_strides_handed_over_in_the_wrong_order():
    reason = rejected(matmul(swapped=True), MATMUL, "out_of_bounds")
    assert reason.arg == "a_ptr" and reason.label == "a: 20×32, b: 32×24"


@triton.jit
def quantise_kernel(x_ptr, out_ptr, n, ROUND: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    if ROUND:
        x = tl.floor(x + 0.5)
    tl.store(out_ptr + offs, x, mask=offs < n)


def test_a_store_that_truncates_floats_to_integers():
    def answer(rounds):
        def launcher(x):
            out = torch.empty(x.shape, dtype=torch.int8)
            quantise_kernel[(1,)](x, out, x.numel(), ROUND=rounds, BLOCK=16)
            return out

        return launcher

    values = lambda g, s: torch.tensor([0.9, 2.7, -1.7, 5.2, 126.6, -3.4], dtype=torch.float64)  # noqa: E731
    given = problem(lambda x: torch.floor(x + 0.5).to(torch.int8), vectors(6, values=values), dtype="int8", tolerance=Tolerance(0, 0, "integers"))
    assert check(answer(True), given).ok
    reason = rejected(answer(False), given, "wrong_values")
    assert (reason.expected, reason.seen) == (1, 0)


@triton.jit
def integer_mask_kernel(x_ptr, keep_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    keep = tl.load(keep_ptr + offs)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=keep, other=0.0))


def test_an_integer_block_used_as_a_mask():
    def answer(x, keep):
        out = torch.empty_like(x)
        integer_mask_kernel[(1,)](x, keep, out, BLOCK=8)
        return out

    given = problem(lambda x, keep: x.double() * (keep != 0), (Case((spec(8), spec(8, dtype="int8"))),), launcher=two)
    reason = rejected(answer, given, "raises")
    assert "m != 0" in reason.text and reason.source.startswith("tl.store(")


@triton.jit
def exact_range_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offs = tl.arange(0, N)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs) + 1)


@triton.jit
def no_annotation_kernel(x_ptr, out_ptr, n, BLOCK):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) + 1, mask=offs < n)


@triton.jit
def one_element_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, x + x[0], mask=offs < n)


@triton.jit
def store_has_a_value_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    done = tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) + 1, mask=offs < n)
    tl.store(out_ptr + offs, done + 1, mask=offs < n)


def test_rules_of_the_language_are_said_with_their_way_out():
    def by(kernel, *, block=True):
        def answer(x):
            out = torch.empty_like(x)
            if block:
                kernel[(1,)](x, out, x.numel(), BLOCK=32)
            else:
                kernel[(1,)](x, out, N=x.numel())
            return out

        return answer

    given = problem(add_one, vectors(32, 20))
    for answer, says, source in (
        (by(exact_range_kernel, block=False), "triton.next_power_of_2", "offs = tl.arange(0, N)"),
        (by(no_annotation_kernel), "BLOCK_SIZE: tl.constexpr", "offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)"),
        (by(one_element_kernel), "indexing a block", "tl.store(out_ptr + offs, x + x[0], mask=offs < n)"),
        (by(store_has_a_value_kernel), "tl.store", "done = tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) + 1, mask=offs < n)"),
    ):
        reason = rejected(answer, given, "raises")
        assert says in reason.text, reason
        assert reason.source in (source, "tl.store(out_ptr + offs, done + 1, mask=offs < n)"), reason


@triton.jit
def online_max_kernel(x_ptr, out_ptr, n_cols, SAFE: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    row = x_ptr + tl.program_id(0) * n_cols
    high, total = float("-inf"), 0.0
    for start in range(0, n_cols, BLOCK):
        x = tl.load(row + start + offs, mask=start + offs < n_cols, other=float("-inf"))
        new = tl.maximum(high, tl.max(x, axis=0))
        shift = tl.where(new == float("-inf"), 0.0, new) if SAFE else new
        total = total * tl.exp(high - shift) + tl.sum(tl.exp(x - shift), axis=0)
        high = new
    tl.store(out_ptr + tl.program_id(0), high + tl.log(total))


def test_minus_infinity_minus_minus_infinity_in_an_online_softmax():
    def answer(safe):
        def launcher(x):
            out = torch.empty(x.shape[0])
            online_max_kernel[(x.shape[0],)](x, out, x.shape[1], SAFE=safe, BLOCK=8)
            return out

        return launcher

    def first_block_masked(generator, shape):
        x = torch.randn(shape, generator=generator, dtype=torch.float64)
        x[:, :8] = float("-inf")
        return x

    given = problem(
        lambda x: torch.logsumexp(x.double(), 1), (*rows((2, 16), (2, 8)), *rows((2, 16), values=first_block_masked)), tolerance=LOOSE
    )
    assert check(answer(True), given).ok
    reason = rejected(answer(False), given, "wrong_values")
    assert reason.seen != reason.seen and reason.label == "x: 2×16, chosen values"


@triton.jit
def int32_row_kernel(x_ptr, out_ptr, stride):
    row = tl.program_id(0)
    tl.store(out_ptr + row, tl.load(x_ptr + (row + 2) * stride))


def test_an_offset_that_int32_cannot_hold_is_told_from_one_that_is_too_small():
    def answer(x):
        out = torch.empty_like(x)
        int32_row_kernel[x.shape](x, out, 2**30)
        return out

    reason = rejected(answer, problem(add_one, vectors(4)), "out_of_bounds")
    assert reason.offset == -(2**31) and ".to(tl.int64)" in reason.text
