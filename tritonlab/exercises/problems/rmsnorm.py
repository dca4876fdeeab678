"""Exercises of chapter 4: a mean of squares, a safe L2 norm, RMSNorm with a residual, LayerNorm, several short rows a program."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from ..problem import Case, KnownWrong, Problem, Tolerance, spec
from ..run import Outcome

EPS = 1e-6
MEAN_TOLERANCE = Tolerance(1e-5, 1e-12, "a float32 sum of a few hundred squares rounds by about 1e-6 of the value.")
TOLERANCE = {
    "float32": Tolerance(1e-5, 1e-6, "a float32 sum of a few hundred squares, a root and two products round by about 1e-6 of the value."),
    "float16": Tolerance(2e-3, 1e-6, "float16 keeps 11 bits: storing the result rounds it by up to 5e-4 of its value."),
}
CENTRED_TOLERANCE = {
    "float32": Tolerance(3e-5, 3e-5, "x - mean cancels: around 100 float32 keeps about 1e-5 of the difference."),
    "float16": Tolerance(2e-3, 1e-3, "float16 keeps 11 bits: storing the result rounds it by up to 5e-4 of its value."),
}


def hundreds(generator: torch.Generator, shape: tuple[int, ...]) -> torch.Tensor:
    """Values around ±300, harmless in float16, whose squares are not."""
    signs = torch.randint(0, 2, shape, generator=generator).double() * 2 - 1
    return signs * (300 + 20 * torch.rand(shape, dtype=torch.float64, generator=generator))


def tiny(generator: torch.Generator, shape: tuple[int, ...]) -> torch.Tensor:
    """Values around 1e-4, whose squares float16 cannot hold."""
    return torch.randn(shape, dtype=torch.float64, generator=generator) * 1e-4


def offset(generator: torch.Generator, shape: tuple[int, ...]) -> torch.Tensor:
    """Values around 100, of which only the differences matter."""
    return 100 + torch.randn(shape, dtype=torch.float64, generator=generator)


def zeros(generator: torch.Generator, shape: tuple[int, ...]) -> torch.Tensor:
    """Nothing but zeros."""
    return torch.zeros(shape, dtype=torch.float64)


def _row(n_rows: int, n_cols: int, *more: str, values: Any = "random", dtype: str = "float32", layout: str = "contiguous", note: str = "") -> Case:
    """A [n_rows, n_cols] tensor, and a further argument for each word: "same" of its shape, "weight" of a row's."""
    x = spec(n_rows, n_cols, values=values, dtype=dtype, layout=layout)
    others = tuple(spec(n_rows, n_cols, values=values, dtype=dtype) if word == "same" else spec(n_cols, dtype=dtype) for word in more)
    return Case((x, *others), note=note)


def _normed(x: torch.Tensor, length: int | None = None, eps: float = EPS) -> torch.Tensor:
    """x over its root mean square, in float64; the mean divides by ``length`` (the row's own if None)."""
    x = x.double()
    return x / ((x * x).sum(-1, keepdim=True) / (length or x.shape[-1]) + eps).sqrt()


def _half_squares(x: torch.Tensor) -> torch.Tensor:
    """The squares as float16 holds them: inf past 255.9, 0 below 1.7e-4."""
    return x.double().square().half().double()


def _half_normed(x: torch.Tensor) -> torch.Tensor:
    return x.double() / (_half_squares(x).mean(-1, keepdim=True) + EPS).sqrt()


HALF = "the squares are float16, where 300² is inf and 0.0001² is 0. Convert to float32 before squaring, .to(tl.float32)."


def _block(x: torch.Tensor) -> int:
    return triton.next_power_of_2(x.shape[-1])


# rmsnorm.mean_square


@triton.jit
def mean_square_kernel(x_ptr, out_ptr, stride_xm, n_cols, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < n_cols
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row, tl.sum(x * x, axis=0) / n_cols)


def mean_square(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=torch.float32, device=x.device)
    mean_square_kernel[(n_rows,)](x, out, x.stride(0), n_cols, BLOCK_N=triton.next_power_of_2(n_cols))
    return out


MEAN_SQUARE = Problem(
    name="rmsnorm.mean_square",
    prompt=(
        "mean_square(x) returns the mean of the squares of each row, in float32 whatever x's dtype: what RMSNorm takes the root of.\n"
        "Columns are adjacent, rows may lie apart. float16 rows may hold values around 300."
    ),
    stub='''@triton.jit
def mean_square_kernel(x_ptr, out_ptr, stride_xm, n_cols, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < n_cols
    x = ...  # this program's row, ready to be squared
    ...  # store the mean of its squares


def mean_square(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=torch.float32, device=x.device)
    mean_square_kernel[(n_rows,)](x, out, x.stride(0), n_cols, BLOCK_N=triton.next_power_of_2(n_cols))
    return out
''',
    solution=(mean_square_kernel, mean_square),
    oracle=lambda x: x.double().square().mean(-1),
    cases=(
        _row(3, 16),
        _row(1, 1),
        _row(4, 15),
        _row(4, 17),
        _row(2, 64, values=hundreds, dtype="float16", note="around ±300"),
        _row(3, 100, values=hundreds, dtype="float16", note="around ±300"),
        _row(6, 20, layout="wide rows"),
    ),
    hints=(
        "Three things can go wrong: what a masked lane adds to the sum, in which dtype the squares are made, and by what the sum is divided.",
        "A masked lane must add 0, and 0² is 0. A float16 holds no more than 65,504, which is less than 300². A row has n_cols elements, however long the block is.",
        "x = tl.load(..., mask=mask, other=0.0).to(tl.float32), and then tl.store(out_ptr + row, tl.sum(x * x, axis=0) / n_cols).",
    ),
    tolerance=MEAN_TOLERANCE,
    dtype="float32",
    known_wrong=(
        KnownWrong(HALF, lambda x: _half_squares(x).mean(-1), "precision"),
        KnownWrong(
            "the squares are added up in float16, which keeps 11 bits and ends at 65,504. Sum in float32.",
            lambda x: _half_squares(x).sum(-1).half().double() / x.shape[-1],
            "precision",
        ),
        KnownWrong("The sum is divided by BLOCK_N; a mean divides by the true length, n_cols.", lambda x: x.double().square().sum(-1) / _block(x)),
        KnownWrong("It is the sum of the squares, not their mean.", lambda x: x.double().square().sum(-1)),
        KnownWrong("It is the root of the mean; the exercise wants the mean itself.", lambda x: x.double().square().mean(-1).sqrt()),
        KnownWrong("It is the square of the mean, not the mean of the squares.", lambda x: x.double().mean(-1).square()),
    ),
)


# rmsnorm.l2_normalize


@triton.jit
def l2_normalize_kernel(x_ptr, out_ptr, stride_xm, stride_om, n_cols, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < n_cols
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=0.0).to(tl.float32)
    norm = tl.sqrt(tl.sum(x * x, axis=0))
    tl.store(out_ptr + row * stride_om + offs_n, x / tl.maximum(norm, 1e-12), mask=mask)


def l2_normalize(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    l2_normalize_kernel[(n_rows,)](x, out, x.stride(0), out.stride(0), n_cols, BLOCK_N=triton.next_power_of_2(n_cols))
    return out


L2_NORMALIZE = Problem(
    name="rmsnorm.l2_normalize",
    prompt=(
        "l2_normalize(x) divides each row by its length √(sum of squares), in x's dtype, as embeddings are compared: x / max(‖x‖, 1e-12).\n"
        "It must be right for float16 rows around 300 and around 0.0001, and a row of zeros stays a row of zeros."
    ),
    stub='''@triton.jit
def l2_normalize_kernel(x_ptr, out_ptr, stride_xm, stride_om, n_cols, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < n_cols
    ...


def l2_normalize(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    l2_normalize_kernel[(n_rows,)](x, out, x.stride(0), out.stride(0), n_cols, BLOCK_N=triton.next_power_of_2(n_cols))
    return out
''',
    solution=(l2_normalize_kernel, l2_normalize),
    oracle=lambda x: x.double() / x.double().norm(dim=-1, keepdim=True).clamp(min=1e-12),
    cases=(
        _row(3, 16),
        _row(1, 1),
        _row(4, 15),
        _row(4, 17),
        _row(2, 64, values=hundreds, dtype="float16", note="around ±300"),
        _row(3, 100, values=hundreds, dtype="float16", note="around ±300"),
        _row(2, 32, values=tiny, dtype="float16", note="around 0.0001"),
        _row(2, 8, values=zeros, note="zeros"),
        _row(6, 20, layout="wide rows"),
    ),
    hints=(
        "In float16, 300² is inf and 0.0001² is 0. Where must the conversion stand, so that no square is ever a float16?",
        "Convert what is loaded: .to(tl.float32). Then norm = tl.sqrt(sum of squares) is one value a row. What does 0 / 0 give, and what keeps it away?",
        "tl.maximum(norm, 1e-12) is never 0: store x / tl.maximum(norm, 1e-12) under the mask; the store converts to x's dtype.",
    ),
    tolerance=TOLERANCE,
    known_wrong=(
        KnownWrong(HALF, lambda x: x.double() / _half_squares(x).sum(-1, keepdim=True).sqrt().clamp(min=1e-12), "precision"),
        KnownWrong("A row of zeros becomes NaN, 0 / 0: divide by tl.maximum(norm, 1e-12).", lambda x: x.double() / x.double().norm(dim=-1, keepdim=True)),
        KnownWrong("It is divided by the root of the mean of squares (RMSNorm), not of their sum.", lambda x: _normed(x, eps=1e-24)),
        KnownWrong("It is divided by the sum of squares; the root is missing.", lambda x: x.double() / x.double().square().sum(-1, keepdim=True)),
        KnownWrong("It is divided by the sum of magnitudes, not by the root of the sum of squares.", lambda x: x.double() / x.double().abs().sum(-1, keepdim=True)),
    ),
)


# rmsnorm.residual


@triton.jit
def add_rmsnorm_kernel(x_ptr, residual_ptr, w_ptr, out_ptr, sum_ptr, stride_xm, stride_rm, n_cols, eps, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < n_cols
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=0.0).to(tl.float32)
    x += tl.load(residual_ptr + row * stride_rm + offs_n, mask=mask, other=0.0).to(tl.float32)
    tl.store(sum_ptr + row * n_cols + offs_n, x, mask=mask)
    w = tl.load(w_ptr + offs_n, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    tl.store(out_ptr + row * n_cols + offs_n, x * scale * w, mask=mask)


def add_rmsnorm(x, residual, weight):
    n_rows, n_cols = x.shape
    out, summed = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for _ in range(2))
    add_rmsnorm_kernel[(n_rows,)](
        x, residual, weight, out, summed, x.stride(0), residual.stride(0), n_cols, 1e-6, BLOCK_N=triton.next_power_of_2(n_cols)
    )
    return out, summed


RESIDUAL = Problem(
    name="rmsnorm.residual",
    prompt=(
        "add_rmsnorm(x, residual, weight) is what stands between two layers of a language model: s = x + residual, and RMSNorm of s with eps 1e-6.\n"
        "It returns both, (out, s), in x's dtype: the next layer needs s as its residual. One kernel, each input read once."
    ),
    stub='''@triton.jit
def add_rmsnorm_kernel(x_ptr, residual_ptr, w_ptr, out_ptr, sum_ptr, stride_xm, stride_rm, n_cols, eps, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < n_cols
    ...


def add_rmsnorm(x, residual, weight):
    n_rows, n_cols = x.shape
    out, summed = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for _ in range(2))
    add_rmsnorm_kernel[(n_rows,)](
        x, residual, weight, out, summed, x.stride(0), residual.stride(0), n_cols, 1e-6, BLOCK_N=triton.next_power_of_2(n_cols)
    )
    return out, summed
''',
    solution=(add_rmsnorm_kernel, add_rmsnorm),
    oracle=lambda x, residual, weight: (_normed(x.double() + residual.double()) * weight.double(), x.double() + residual.double()),
    cases=(
        _row(3, 16, "same", "weight"),
        _row(1, 1, "same", "weight"),
        _row(4, 15, "same", "weight"),
        _row(4, 17, "same", "weight"),
        _row(2, 32, "same", "weight", values=hundreds, dtype="float16", note="around ±300"),
        _row(3, 50, "same", "weight", values=hundreds, dtype="float16", note="around ±300"),
        _row(5, 20, "same", "weight", layout="wide rows"),
    ),
    hints=(
        "It is chapter 2's fusion and this chapter's kernel in one: three loads, one sum over the row, two stores. out and s are contiguous, so their rows lie n_cols apart.",
        "Convert both x and residual to float32 before adding: s is then squared, and float16 cannot hold the square of 300. All three loads have the same mask, and 0 is a safe fill for each.",
        "x = load(x).to(tl.float32) + load(residual).to(tl.float32); store x to sum_ptr; scale = tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + eps); store x * scale * w to out_ptr.",
    ),
    tolerance={
        "float32": Tolerance(1e-5, 1e-6, "a sum rounds by 6e-8 of its operands, the norm by about 1e-6 of the value."),
        "float16": Tolerance(2e-3, 1e-3, "float16 keeps 11 bits: storing a result rounds it by up to 5e-4 of its value."),
    },
    known_wrong=(
        KnownWrong(HALF, lambda x, r, w: (_half_normed(x.double() + r.double()) * w.double(), x.double() + r.double()), "precision"),
        KnownWrong("out is the norm of x alone: the residual must be added before.", lambda x, r, w: (_normed(x) * w.double(), x.double() + r.double())),
        KnownWrong("The residual is added after the norm, not before it.", lambda x, r, w: (_normed(x) * w.double() + r.double(), x.double() + r.double())),
        KnownWrong("The weight is missing in out.", lambda x, r, w: (_normed(x.double() + r.double()), x.double() + r.double())),
        KnownWrong(
            "The mean divides by BLOCK_N; it must divide by the true length, n_cols.",
            lambda x, r, w: (_normed(x.double() + r.double(), _block(x)) * w.double(), x.double() + r.double()),
        ),
    ),
)


# rmsnorm.layer_norm


@triton.jit
def layer_norm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, stride_xm, stride_om, n_cols, eps, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < n_cols
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n_cols
    centred = tl.where(mask, x - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / n_cols + eps)
    w = tl.load(w_ptr + offs_n, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + offs_n, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * stride_om + offs_n, centred * scale * w + b, mask=mask)


def layer_norm(x, weight, bias):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    BLOCK_N = triton.next_power_of_2(n_cols)
    layer_norm_kernel[(n_rows,)](x, weight, bias, out, x.stride(0), out.stride(0), n_cols, 1e-5, BLOCK_N=BLOCK_N)
    return out


def _layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, correction: int = 0) -> torch.Tensor:
    x = x.double()
    mean = x.mean(-1, keepdim=True)
    squares = (x - mean).square().sum(-1, keepdim=True)
    return (x - mean) / (squares / max(1, x.shape[-1] - correction) + 1e-5).sqrt() * weight.double() + bias.double()


LAYER_NORM = Problem(
    name="rmsnorm.layer_norm",
    prompt=(
        "layer_norm(x, weight, bias) subtracts each row's mean, divides by √(variance + 1e-5), multiplies by weight and adds bias. The variance is\n"
        "the mean of (x - mean)², over the true length. Rows may lie around 100, where the squares of x say little about its variance."
    ),
    stub='''@triton.jit
def layer_norm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, stride_xm, stride_om, n_cols, eps, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < n_cols
    ...


def layer_norm(x, weight, bias):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    BLOCK_N = triton.next_power_of_2(n_cols)
    layer_norm_kernel[(n_rows,)](x, weight, bias, out, x.stride(0), out.stride(0), n_cols, 1e-5, BLOCK_N=BLOCK_N)
    return out
''',
    solution=(layer_norm_kernel, layer_norm),
    oracle=_layer_norm,
    cases=(
        _row(3, 16, "weight", "weight"),
        _row(1, 1, "weight", "weight"),
        _row(4, 15, "weight", "weight"),
        _row(4, 17, "weight", "weight"),
        _row(3, 64, "weight", "weight", values=offset, note="around 100"),
        _row(3, 50, "weight", "weight", values=offset, note="around 100"),
        _row(2, 32, "weight", "weight", values=hundreds, dtype="float16", note="around ±300"),
        _row(3, 50, "weight", "weight", values=hundreds, dtype="float16", note="around ±300"),
        _row(5, 20, "weight", "weight", layout="wide rows"),
    ),
    hints=(
        "Load the row with fill 0 and take its mean. What do the masked lanes hold after x - mean, and what would they add to the variance?",
        "They hold -mean. Take them out again before the second sum: centred = tl.where(mask, x - mean, 0.0). All of it in float32.",
        "scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / n_cols + eps), and centred * scale * w + b is stored under the mask.",
    ),
    tolerance=CENTRED_TOLERANCE,
    known_wrong=(
        KnownWrong(HALF, lambda x, w, b: _half_normed(x.double() - x.double().mean(-1, keepdim=True)) * w.double() + b.double(), "precision"),
        KnownWrong("The variance divides by n_cols - 1; LayerNorm's divides by n_cols.", lambda x, w, b: _layer_norm(x, w, b, 1)),
        KnownWrong("It is RMSNorm: the mean is not subtracted.", lambda x, w, b: _normed(x, eps=1e-5) * w.double() + b.double()),
        KnownWrong("The bias is missing.", lambda x, w, b: _layer_norm(x, w, b) - b.double()),
    ),
)


# rmsnorm.short_rows


@triton.jit
def short_rows_kernel(x_ptr, w_ptr, out_ptr, n_rows, n_cols, eps, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    mask = (offs_m[:, None] < n_rows) & (offs_n[None, :] < n_cols)
    offs = offs_m[:, None] * n_cols + offs_n[None, :]
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=offs_n < n_cols, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=1) / n_cols + eps)
    tl.store(out_ptr + offs, x * scale[:, None] * w[None, :], mask=mask)


def rmsnorm_short(x, weight):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    BLOCK_M = 4
    grid = (triton.cdiv(n_rows, BLOCK_M),)
    short_rows_kernel[grid](x, weight, out, n_rows, n_cols, 1e-6, BLOCK_M=BLOCK_M, BLOCK_N=triton.next_power_of_2(n_cols))
    return out


def _four_rows_a_program(outcome: Outcome) -> tuple[str, str] | None:
    """No more programs than a quarter of the rows, rounded up."""
    most = -(-outcome.case.args[0].shape[0] // 4)
    for launch in outcome.trace.launches:
        if launch.programs > most:
            rows = outcome.case.args[0].shape[0]
            return "rule", f"The values are right, but {launch.programs} programs were launched for {rows} rows; with four rows a program {most} will do."
    return None


SHORT_ROWS = Problem(
    name="rmsnorm.short_rows",
    prompt=(
        "rmsnorm_short(x, weight) is RMSNorm (eps 1e-6) of contiguous short rows, four rows a program: a tile of BLOCK_M × BLOCK_N.\n"
        "The number of rows need not be a multiple of four, and the number of columns need not be a power of two."
    ),
    stub='''@triton.jit
def short_rows_kernel(x_ptr, w_ptr, out_ptr, n_rows, n_cols, eps, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_m = ...  # this program's rows
    offs_n = tl.arange(0, BLOCK_N)
    ...


def rmsnorm_short(x, weight):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    BLOCK_M = 4
    grid = ...  # how many programs?
    short_rows_kernel[grid](x, weight, out, n_rows, n_cols, 1e-6, BLOCK_M=BLOCK_M, BLOCK_N=triton.next_power_of_2(n_cols))
    return out
''',
    solution=(short_rows_kernel, rmsnorm_short),
    oracle=lambda x, weight: _normed(x) * weight.double(),
    cases=(
        _row(8, 16, "weight"),
        _row(4, 4, "weight"),
        _row(1, 1, "weight"),
        _row(8, 15, "weight"),
        _row(5, 8, "weight"),
        _row(11, 13, "weight"),
        _row(4, 16, "weight", values=hundreds, dtype="float16", note="around ±300"),
        _row(6, 10, "weight", values=hundreds, dtype="float16", note="around ±300"),
    ),
    hints=(
        "offs_m counts this program's rows: pid · BLOCK_M + 0 … BLOCK_M - 1. Written as a column, offs_m[:, None], and with the columns as a row, offs_n[None, :], they span the tile.",
        "A lane is on when its row and its column exist: (offs_m[:, None] < n_rows) & (offs_n[None, :] < n_cols). Which axis does the sum run along, if each row keeps its own result?",
        "tl.sum(x * x, axis=1) has BLOCK_M values, so scale[:, None] belongs to the rows and w[None, :] to the columns. The grid is (triton.cdiv(n_rows, BLOCK_M),).",
    ),
    tolerance=TOLERANCE,
    extra=(_four_rows_a_program,),
    known_wrong=(
        KnownWrong(HALF, lambda x, w: _half_normed(x) * w.double(), "precision"),
        KnownWrong("The weight is missing.", lambda x, w: _normed(x)),
        KnownWrong("The mean divides by BLOCK_N; it must divide by the true length, n_cols.", lambda x, w: _normed(x, _block(x)) * w.double()),
    ),
)

PROBLEMS = (MEAN_SQUARE, L2_NORMALIZE, RESIDUAL, LAYER_NORM, SHORT_ROWS)
