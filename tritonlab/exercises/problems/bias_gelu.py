"""Exercises of chapter 2: leaky ReLU, scale and bias fused, a gate in 16 bits, any strides, dropout that keeps no mask."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from ..problem import Case, KnownWrong, Problem, Tolerance, sizes, spec
from ..run import Outcome

ROUNDED = Tolerance(1e-6, 1e-6, "float32 rounds two or three operations, each by at most 6e-8 of its value.")
GATE = {
    "float32": Tolerance(1e-5, 1e-6, "exp turns the rounding of its argument into about 1e-6 of the value in float32."),
    "float16": Tolerance(5.2e-4, 1e-7, "computed in float32 and rounded to float16 once, it is off by at most 4.9e-4 of its value."),
}
GELU = Tolerance(5e-5, 1e-6, "where GELU falls like exp(-v²), the rounding of its argument grows to about 3e-5 of the value.")


# bias_gelu.leaky_relu


@triton.jit
def leaky_relu_kernel(x_ptr, out_ptr, slope, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.where(x > 0, x, slope * x)
    tl.store(out_ptr + offs, y, mask=mask)


def leaky_relu(x, slope):
    out = torch.empty_like(x)
    n_elements = x.numel()
    leaky_relu_kernel[(triton.cdiv(n_elements, 64),)](x, out, slope, n_elements, BLOCK_SIZE=64)
    return out


LEAKY_RELU = Problem(
    name="bias_gelu.leaky_relu",
    prompt=(
        "leaky_relu(x, slope) returns x where x is positive and slope * x where it is not. slope is any number, also one above 1.\n"
        "One line is missing: choose between the two with tl.where."
    ),
    stub='''@triton.jit
def leaky_relu_kernel(x_ptr, out_ptr, slope, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    y = ...  # x where it is positive, slope * x elsewhere
    tl.store(out_ptr + offs, y, mask=mask)


def leaky_relu(x, slope):
    out = torch.empty_like(x)
    n_elements = x.numel()
    leaky_relu_kernel[(triton.cdiv(n_elements, 64),)](x, out, slope, n_elements, BLOCK_SIZE=64)
    return out
''',
    solution=(leaky_relu_kernel, leaky_relu),
    oracle=lambda x, slope: torch.where(x.double() > 0, x.double(), slope * x.double()),
    cases=lambda block: (
        *(Case((spec(n), 0.25)) for n in sizes(block)),
        Case((spec(5, 29), 0.5), note="2-D"),
        Case((spec(block + 1), 2.0), note="a slope above 1"),
        Case((spec(block + 1), -1.0), note="a negative slope"),
        Case((spec(block + 1, values="special"), 0.25)),
    ),
    hints=(
        "tl.where(condition, a, b) takes, lane by lane, a where the condition holds and b where it does not.",
        "The condition is a block of True and False: x > 0. Both values are computed in every lane, and one is thrown away.",
        "y = tl.where(x > 0, x, slope * x)",
    ),
    tolerance=ROUNDED,
    known_wrong=(
        KnownWrong("It takes the larger of x and slope * x, which is leaky ReLU only for slopes up to 1.", lambda x, s: torch.maximum(x.double(), s * x.double())),
        KnownWrong("The two sides are swapped: positive values are scaled.", lambda x, s: torch.where(x.double() > 0, s * x.double(), x.double())),
        KnownWrong("It gives 0 where x is not positive: slope is not used.", lambda x, s: torch.where(x.double() > 0, x.double(), 0.0)),
    ),
)


# bias_gelu.scale_bias_relu


@triton.jit
def scale_bias_relu_kernel(x_ptr, scale_ptr, bias_ptr, out_ptr, n_elements, n_cols, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    cols = offs % n_cols
    x = tl.load(x_ptr + offs, mask=mask)
    scale = tl.load(scale_ptr + cols, mask=mask)
    bias = tl.load(bias_ptr + cols, mask=mask)
    tl.store(out_ptr + offs, tl.maximum(x * scale + bias, 0.0), mask=mask)


def scale_bias_relu(x, scale, bias):
    out = torch.empty_like(x)
    n_elements, n_cols = x.numel(), x.shape[-1]
    scale_bias_relu_kernel[(triton.cdiv(n_elements, 64),)](x, scale, bias, out, n_elements, n_cols, BLOCK_SIZE=64)
    return out


def one_launch(outcome: Outcome) -> tuple[str, str] | None:
    """All of it happens in one launch: no value between is written to memory and read again."""
    launches = outcome.trace.launches
    if len(launches) < 2 or not any(r.numel() for r in outcome.results):
        return None
    between = sorted({a.arg for a in launches[0].accesses if a.writes})
    what = f"{launches[0].kernel} writes {', '.join(between)} to memory and {launches[1].kernel} reads it again"
    return "rule", f"The values are right, but in {len(launches)} launches: {what}. One kernel can keep it in registers."


SCALE_BIAS_RELU = Problem(
    name="bias_gelu.scale_bias_relu",
    prompt=(
        "scale_bias_relu(x, scale, bias) returns relu(x * scale + bias) for a contiguous x of shape [rows, n_cols]; scale and bias hold\n"
        "a value for each column. One launch: nothing between is written to memory. The launcher is there, the kernel is yours."
    ),
    stub='''@triton.jit
def scale_bias_relu_kernel(x_ptr, scale_ptr, bias_ptr, out_ptr, n_elements, n_cols, BLOCK_SIZE: tl.constexpr):
    ...


def scale_bias_relu(x, scale, bias):
    out = torch.empty_like(x)
    n_elements, n_cols = x.numel(), x.shape[-1]
    scale_bias_relu_kernel[(triton.cdiv(n_elements, 64),)](x, scale, bias, out, n_elements, n_cols, BLOCK_SIZE=64)
    return out
''',
    solution=(scale_bias_relu_kernel, scale_bias_relu),
    oracle=lambda x, scale, bias: torch.relu(x.double() * scale.double() + bias.double()),
    cases=lambda block: tuple(
        Case((spec(rows, cols), spec(cols), spec(cols)), note=note)
        for rows, cols, note in (
            (4, block, ""),
            (3, 2 * block, ""),
            (1, 1, ""),
            (4, block - 1, ""),
            (3, block + 1, ""),
            (5, 13, "several rows in a tile"),
            (31, 5, "more rows than columns"),
            (0, 8, "no rows"),
        )
    ),
    hints=(
        "Begin as in vector add: offs, mask, x. In a contiguous x of n_cols columns, in which column lies the element at offset offs?",
        "cols = offs % n_cols. scale and bias are read there: scale_ptr + cols. The mask stays the one of x.",
        "ReLU is tl.maximum(v, 0.0). All in one line: tl.store(out_ptr + offs, tl.maximum(x * scale + bias, 0.0), mask=mask)",
    ),
    tolerance=ROUNDED,
    known_wrong=(
        KnownWrong("ReLU comes last, after the bias.", lambda x, s, b: torch.relu(x.double() * s.double()) + b.double()),
        KnownWrong("ReLU is missing.", lambda x, s, b: x.double() * s.double() + b.double()),
        KnownWrong("It computes (x + bias) * scale: the bias comes after the scale.", lambda x, s, b: torch.relu((x.double() + b.double()) * s.double())),
    ),
    extra=(one_launch,),
)


# bias_gelu.gate


@triton.jit
def silu_gate_kernel(x_ptr, out_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x_row = x_ptr + row * 2 * n_cols
    gate = tl.load(x_row + cols, mask=mask).to(tl.float32)
    value = tl.load(x_row + n_cols + cols, mask=mask).to(tl.float32)
    tl.store(out_ptr + row * n_cols + cols, gate * tl.sigmoid(gate) * value, mask=mask)


def silu_gate(x):
    n_rows, n_cols = x.shape[0], x.shape[1] // 2
    out = torch.empty((n_rows, n_cols), dtype=x.dtype, device=x.device)
    grid = (n_rows, triton.cdiv(n_cols, 64))
    silu_gate_kernel[grid](x, out, n_cols, BLOCK_SIZE=64)
    return out


def halves(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Left and right half of the columns, float64."""
    left, right = x.double().chunk(2, dim=-1)
    return left, right


def silu(v: torch.Tensor) -> torch.Tensor:
    return v * torch.sigmoid(v)


GATE_PROBLEM = Problem(
    name="bias_gelu.gate",
    prompt=(
        "silu_gate(x) is the gate of many transformers: x is contiguous, [rows, 2 * n_cols]; its left half is the gate, its right half the value.\n"
        "It returns silu(gate) * value, [rows, n_cols], with silu(v) = v * sigmoid(v), for float32 and float16.\n"
        "Use a 2-D grid: axis 0 the rows, axis 1 blocks of 64 columns. In 16 bits the result is to be rounded once, at the end."
    ),
    stub='''@triton.jit
def silu_gate_kernel(x_ptr, out_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    ...


def silu_gate(x):
    n_rows, n_cols = x.shape[0], x.shape[1] // 2
    out = torch.empty((n_rows, n_cols), dtype=x.dtype, device=x.device)
    grid = ...
    silu_gate_kernel[grid](x, out, n_cols, BLOCK_SIZE=64)
    return out
''',
    solution=(silu_gate_kernel, silu_gate),
    oracle=lambda x: silu(halves(x)[0]) * halves(x)[1],
    cases=lambda block: (
        Case((spec(3, 2 * block),)),
        Case((spec(2, 4 * block),)),
        Case((spec(2, 2),)),
        Case((spec(3, 2 * (block - 1)),)),
        Case((spec(2, 2 * (block + 1)),)),
        Case((spec(5, 2 * 7),)),
        Case((spec(3, 2 * block, dtype="float16"),)),
        Case((spec(2, 2 * (block + 1), dtype="float16"),)),
        Case((spec(2, 2 * 33, values="large"),)),
        Case((spec(0, 8),)),
    ),
    hints=(
        "A row of x is 2 * n_cols long, a row of out n_cols. Where does row `row` begin in each? And how far right of the gate lies its value?",
        "tl.sigmoid takes float32: convert right after the load, .to(tl.float32), and compute everything in float32. The store converts back.",
        "The mask is cols < n_cols, for both loads and the store: without it the gate would run on into the values.",
        "gate = tl.load(x_ptr + row * 2 * n_cols + cols, mask=mask).to(tl.float32), the value n_cols further on; grid = (n_rows, triton.cdiv(n_cols, 64)).",
    ),
    tolerance=GATE,
    known_wrong=(
        KnownWrong("Gate and value are swapped: silu belongs to the left half.", lambda x: silu(halves(x)[1]) * halves(x)[0]),
        KnownWrong("It takes even columns as gate and odd ones as value; they are halves.", lambda x: silu(x.double()[:, ::2]) * x.double()[:, 1::2]),
        KnownWrong("It computes sigmoid(gate) * value: silu multiplies by the gate as well.", lambda x: torch.sigmoid(halves(x)[0]) * halves(x)[1]),
        KnownWrong("It is silu(gate) alone: value is not used.", lambda x: silu(halves(x)[0])),
    ),
)


# bias_gelu.any_strides


@triton.jit
def gelu(v):
    u = 0.7978845608028654 * (v + 0.044715 * v * v * v)
    return v * tl.sigmoid(2 * u)


@triton.jit
def row_bias_gelu_kernel(x_ptr, bias_ptr, out_ptr, n_elements, n_cols, stride_xm, stride_xn, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    rows, cols = offs // n_cols, offs % n_cols
    x = tl.load(x_ptr + rows * stride_xm + cols * stride_xn, mask=mask)
    bias = tl.load(bias_ptr + rows, mask=mask)
    tl.store(out_ptr + offs, gelu(x + bias), mask=mask)


def row_bias_gelu(x, bias):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n_elements, n_cols = x.numel(), x.shape[1]
    grid = (triton.cdiv(n_elements, 64),)
    row_bias_gelu_kernel[grid](x, bias, out, n_elements, n_cols, x.stride(0), x.stride(1), BLOCK_SIZE=64)
    return out


def gelu_of(v: torch.Tensor) -> torch.Tensor:
    """The tanh form in float64."""
    return torch.nn.functional.gelu(v, approximate="tanh")


ANY_STRIDES = Problem(
    name="bias_gelu.any_strides",
    prompt=(
        "row_bias_gelu(x, bias) returns gelu(x + bias) with a bias for each ROW, for any 2-D view x: cut from wider rows, transposed,\n"
        "every second column. It reads x where it lies (no copy) and returns a new contiguous tensor.\n"
        "As it stands it takes x for contiguous and the bias for one of columns. Mend it; the kernel may get more arguments."
    ),
    stub='''@triton.jit
def gelu(v):
    u = 0.7978845608028654 * (v + 0.044715 * v * v * v)
    return v * tl.sigmoid(2 * u)


@triton.jit
def row_bias_gelu_kernel(x_ptr, bias_ptr, out_ptr, n_elements, n_cols, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    bias = tl.load(bias_ptr + offs % n_cols, mask=mask)
    tl.store(out_ptr + offs, gelu(x + bias), mask=mask)


def row_bias_gelu(x, bias):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n_elements, n_cols = x.numel(), x.shape[1]
    grid = (triton.cdiv(n_elements, 64),)
    row_bias_gelu_kernel[grid](x, bias, out, n_elements, n_cols, BLOCK_SIZE=64)
    return out
''',
    solution=(gelu, row_bias_gelu_kernel, row_bias_gelu),
    oracle=lambda x, bias: gelu_of(x.double() + bias.double()[:, None]),
    cases=lambda block: (
        Case((spec(8, 8), spec(8)), note="square"),
        Case((spec(4, block), spec(4))),
        Case((spec(3, block + 1), spec(3))),
        Case((spec(5, 13), spec(5))),
        Case((spec(29, 3), spec(29)), note="more rows than columns"),
        Case((spec(5, 13, layout="wide rows"), spec(5))),
        Case((spec(5, 13, layout="every second"), spec(5))),
        Case((spec(11, 6, layout="transposed"), spec(11))),
        Case((spec(3, block + 1, layout="transposed"), spec(3))),
        Case((spec(4, 9, values="large"), spec(4))),
    ),
    hints=(
        "offs counts the elements of out, row by row. Which row and which column is the element at offset offs? One is a division, one a remainder.",
        "rows = offs // n_cols and cols = offs % n_cols. The bias is read at rows. Where does x[rows, cols] lie? Hand x.stride(0) and x.stride(1) to the kernel.",
        "x = tl.load(x_ptr + rows * stride_xm + cols * stride_xn, mask=mask): strides come last, and each once. out is contiguous: offs is right there.",
    ),
    tolerance=GELU,
    known_wrong=(
        KnownWrong("The bias is taken by column; there is one for each row.", lambda x, b: gelu_of(x.double() + b.double().repeat(x.shape[1])[: x.shape[1]])),
        KnownWrong("Bias and strides are right, but GELU is missing.", lambda x, b: x.double() + b.double()[:, None]),
    ),
    copies=False,
)


# bias_gelu.dropout


@triton.jit
def dropout_kernel(x_ptr, out_ptr, p, seed, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    keep = tl.rand(seed, offs) >= p
    tl.store(out_ptr + offs, tl.where(keep, x / (1 - p), 0.0), mask=mask)


def dropout(x, p, seed):
    out = torch.empty_like(x)
    n_elements = x.numel()
    dropout_kernel[(triton.cdiv(n_elements, 64),)](x, out, p, seed, n_elements, BLOCK_SIZE=64)
    return out


def uniform(seed: int, counters: np.ndarray) -> torch.Tensor:
    """What ``tl.rand(seed, counters)`` gives, float64: ten rounds of Philox 4×32 (Salmon et al., 2011), first word, scaled to [0, 1)."""
    low = np.uint64(0xFFFFFFFF)
    c = [counters.astype(np.uint64) & low, *(np.zeros(counters.shape, np.uint64) for _ in range(3))]
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [b >> np.uint64(32) ^ c[1] ^ np.uint64(k0), b & low, a >> np.uint64(32) ^ c[3] ^ np.uint64(k1), a & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    word = c[0].astype(np.uint32).view(np.int32).astype(np.float64)
    return torch.from_numpy(np.where(word < 0, -word - 1, word) * 4.6566127342e-10)


def dropped(x: torch.Tensor, p: float, drop: Any, scale: float) -> torch.Tensor:
    return torch.where(drop.reshape(x.shape), 0.0, x.double() * scale)


def random_of(x: torch.Tensor, seed: int, period: int | None = None) -> torch.Tensor:
    counters = np.arange(x.numel())
    return uniform(seed, counters if period is None else counters % period)


DROPOUT = Problem(
    name="bias_gelu.dropout",
    prompt=(
        "dropout(x, p, seed) sets each element to 0 with probability p and divides the others by 1 - p. x is contiguous.\n"
        "Element i is kept where tl.rand(seed, i) >= p, with i its offset in x: the same seed gives the same mask again,\n"
        "so a backward pass can make it anew, and nobody has to store it. A dropped element is 0, whatever it was."
    ),
    stub='''@triton.jit
def dropout_kernel(x_ptr, out_ptr, p, seed, n_elements, BLOCK_SIZE: tl.constexpr):
    ...


def dropout(x, p, seed):
    out = torch.empty_like(x)
    n_elements = x.numel()
    dropout_kernel[(triton.cdiv(n_elements, 64),)](x, out, p, seed, n_elements, BLOCK_SIZE=64)
    return out
''',
    solution=(dropout_kernel, dropout),
    oracle=lambda x, p, seed: dropped(x, p, random_of(x, seed) < p, 1 / (1 - p)),
    cases=lambda block: (
        *(Case((spec(n), 0.5, 17)) for n in sizes(block)),
        Case((spec(5, 29), 0.25, 3), note="2-D"),
        Case((spec(block + 1), 0.0, 17), note="nothing is dropped"),
        Case((spec(2 * block), 0.75, 2**31 - 5)),
        Case((spec(2 * block + 1, values="special"), 0.5, 17)),
    ),
    hints=(
        "tl.rand(seed, block) gives a block of random numbers in [0, 1): the same numbers for the same seed and the same block of counters.",
        "The counters are the offsets in x, different in every program: tl.rand(seed, offs). keep = ... >= p is a block of True and False.",
        "0 * inf is NaN, so do not multiply by the mask: tl.where(keep, x / (1 - p), 0.0).",
    ),
    tolerance=ROUNDED,
    known_wrong=(
        KnownWrong(
            "Every program uses the same random numbers: the counters must be the offsets in x, not the lanes of the block.",
            lambda x, p, seed: dropped(x, p, random_of(x, seed, 64) < p, 1 / (1 - p)),
        ),
        KnownWrong("What is kept is not divided by 1 - p.", lambda x, p, seed: dropped(x, p, random_of(x, seed) < p, 1.0)),
        KnownWrong("It keeps what is to be dropped, and drops the rest.", lambda x, p, seed: dropped(x, p, random_of(x, seed) >= p, 1 / (1 - p))),
        KnownWrong("It divides by p; what is kept is divided by 1 - p.", lambda x, p, seed: dropped(x, p, random_of(x, seed) < p, 1 / p)),
    ),
)

PROBLEMS = (LEAKY_RELU, SCALE_BIAS_RELU, GATE_PROBLEM, ANY_STRIDES, DROPOUT)
