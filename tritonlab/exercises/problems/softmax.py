"""Exercises of chapter 3: a row's maximum, log-softmax, a causal mask, rows wider than the tile, the gradient."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from ..problem import Case, KnownWrong, Problem, Tolerance, spec
from ..run import Outcome

EXACT = Tolerance(0.0, 0.0, "a maximum is one of the values: nothing is rounded.")
TOLERANCE = {
    "float32": Tolerance(1e-5, 1e-6, "exp and a sum of a few hundred terms round by about 1e-6 of the value in float32."),
    "float16": Tolerance(2e-3, 1e-6, "float16 keeps 11 bits: storing the result rounds it by up to 5e-4 of its value."),
    "bfloat16": Tolerance(8e-3, 1e-6, "bfloat16 keeps 8 bits: storing the result rounds it by up to 4e-3 of its value."),
}
LOG_TOLERANCE = {
    "float32": Tolerance(1e-5, 1e-5, "a logarithm of a sum rounds by about 1e-6 in float32, whatever the result's size."),
    "float16": Tolerance(2e-3, 1e-3, "float16 keeps 11 bits: storing the result rounds it by up to 5e-4 of its value."),
    "bfloat16": Tolerance(8e-3, 1e-3, "bfloat16 keeps 8 bits: storing the result rounds it by up to 4e-3 of its value."),
}


def below_zero(generator: torch.Generator, shape: tuple[int, ...]) -> torch.Tensor:
    """Values that are all negative, so that a 0 in a masked lane is larger than any of them."""
    return -0.5 - torch.rand(shape, dtype=torch.float64, generator=generator) * 4


def future(generator: torch.Generator, shape: tuple[int, ...]) -> torch.Tensor:
    """Random scores with large ones right of the diagonal, which must not be seen."""
    scores = torch.randn(shape, dtype=torch.float64, generator=generator)
    return scores + torch.ones(shape, dtype=torch.float64).triu(1) * 20


def offset(generator: torch.Generator, shape: tuple[int, ...]) -> torch.Tensor:
    """Values around 100, of which only the differences matter."""
    return 100 + torch.randn(shape, dtype=torch.float64, generator=generator)


def late(generator: torch.Generator, shape: tuple[int, ...]) -> torch.Tensor:
    """Rows whose first 32 values are -inf."""
    x = torch.randn(shape, dtype=torch.float64, generator=generator)
    x[:, :32] = float("-inf")
    return x


def rising(generator: torch.Generator, shape: tuple[int, ...]) -> torch.Tensor:
    """Rows that rise, so that every tile has a new maximum."""
    return torch.linspace(-3, 3, shape[-1], dtype=torch.float64).expand(shape) + torch.rand((shape[0], 1), dtype=torch.float64, generator=generator)


# softmax.row_max


@triton.jit
def row_max_kernel(x_ptr, out_ptr, stride_xm, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * stride_xm + cols, mask=mask, other=-float("inf"))
    tl.store(out_ptr + row, tl.max(x, axis=0))


def row_max(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_max_kernel[(n_rows,)](x, out, x.stride(0), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out


ROW_MAX = Problem(
    name="softmax.row_max",
    prompt=(
        "row_max(x) returns the largest value of each row. Columns are adjacent (stride 1), rows may lie apart.\n"
        "Load the row, with a fill that cannot be the maximum unless the row holds nothing larger, and store one value a program."
    ),
    stub='''@triton.jit
def row_max_kernel(x_ptr, out_ptr, stride_xm, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = ...  # this program's row
    ...  # store its maximum


def row_max(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_max_kernel[(n_rows,)](x, out, x.stride(0), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
''',
    solution=(row_max_kernel, row_max),
    oracle=lambda x: x.double().amax(dim=-1),
    cases=(
        Case((spec(3, 16),)),
        Case((spec(1, 1),)),
        Case((spec(4, 15),)),
        Case((spec(4, 17),)),
        Case((spec(5, 11, values=below_zero),), note="all negative"),
        Case((spec(3, 100, dtype="float16"),)),
        Case((spec(6, 20, layout="wide rows"),)),
        Case((spec(5, 37, values="low"),)),
    ),
    hints=(
        "Row `row` begins at x_ptr + row * stride_xm, and its columns are adjacent. What must a lane past the last column hold, "
        "so that it never wins against a real value, however small?",
        "0 would win in a row of negative values. The neutral value of a maximum is the smallest there is: -float(\"inf\").",
        'x = tl.load(x_ptr + row * stride_xm + cols, mask=mask, other=-float("inf")), and then '
        "tl.store(out_ptr + row, tl.max(x, axis=0)): a maximum over axis 0 of a block is one value, and goes to one address.",
    ),
    tolerance=EXACT,
    known_wrong=(
        KnownWrong("It gives the largest magnitude, not the largest value.", lambda x: x.double().abs().amax(dim=-1)),
        KnownWrong("It gives the smallest value of each row.", lambda x: x.double().amin(dim=-1)),
    ),
)


# softmax.log_softmax


@triton.jit
def log_softmax_kernel(x_ptr, out_ptr, stride_xm, stride_om, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * stride_xm + cols, mask=mask, other=-float("inf")).to(tl.float32)
    shifted = x - tl.max(x, axis=0)
    total = tl.sum(tl.exp(shifted), axis=0)
    tl.store(out_ptr + row * stride_om + cols, shifted - tl.log(total), mask=mask)


def log_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    BLOCK_SIZE = triton.next_power_of_2(n_cols)
    log_softmax_kernel[(n_rows,)](x, out, x.stride(0), out.stride(0), n_cols, BLOCK_SIZE=BLOCK_SIZE)
    return out


LOG_SOFTMAX = Problem(
    name="softmax.log_softmax",
    prompt=(
        "log_softmax(x) returns the logarithm of the softmax of each row, as a loss needs it: x - max - log(sum(exp(x - max))).\n"
        "Compute in float32 whatever x's dtype. It must also be right where the softmax itself is too small for a number: "
        "logits of ±80, or of -200."
    ),
    stub='''@triton.jit
def log_softmax_kernel(x_ptr, out_ptr, stride_xm, stride_om, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    ...


def log_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    BLOCK_SIZE = triton.next_power_of_2(n_cols)
    log_softmax_kernel[(n_rows,)](x, out, x.stride(0), out.stride(0), n_cols, BLOCK_SIZE=BLOCK_SIZE)
    return out
''',
    solution=(log_softmax_kernel, log_softmax),
    oracle=lambda x: torch.log_softmax(x.double(), dim=-1),
    cases=(
        Case((spec(3, 16),)),
        Case((spec(1, 1),)),
        Case((spec(4, 15),)),
        Case((spec(4, 17),)),
        Case((spec(3, 100, dtype="float16"),)),
        Case((spec(3, 33, dtype="bfloat16"),)),
        Case((spec(6, 20, layout="wide rows"),)),
        Case((spec(4, 32, values="large"),)),
        Case((spec(4, 37, values="large"),)),
        Case((spec(4, 32, values="low"),)),
        Case((spec(4, 37, values="low"),)),
    ),
    hints=(
        "The logarithm of a quotient is a difference: log(e / sum) = log(e) - log(sum), and log(exp(x - max)) is x - max. No exponential is divided.",
        'Load the row with the fill that serves the maximum and the sum, -float("inf"), and convert it: .to(tl.float32).',
        "shifted = x - tl.max(x, axis=0), total = tl.sum(tl.exp(shifted), axis=0), and store shifted - tl.log(total) under the mask.",
    ),
    tolerance=LOG_TOLERANCE,
    known_wrong=(
        KnownWrong("It is the softmax, without its logarithm.", lambda x: torch.softmax(x.double(), dim=-1)),
        KnownWrong("It is x - max: the logarithm of the sum is missing.", lambda x: x.double() - x.double().amax(-1, keepdim=True)),
        KnownWrong("It is the logarithm to base 2.", lambda x: torch.log_softmax(x.double(), dim=-1) / 0.6931471805599453),
    ),
)


# softmax.causal


@triton.jit
def causal_softmax_kernel(scores_ptr, out_ptr, stride_sm, stride_om, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    seen = cols <= row
    scores = tl.load(scores_ptr + row * stride_sm + cols, mask=mask & seen, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(scores - tl.max(scores, axis=0))
    tl.store(out_ptr + row * stride_om + cols, numerator / tl.sum(numerator, axis=0), mask=mask)


def causal_softmax(scores):
    n_rows, n_cols = scores.shape
    out = torch.empty(scores.shape, dtype=scores.dtype, device=scores.device)
    BLOCK_SIZE = triton.next_power_of_2(n_cols)
    causal_softmax_kernel[(n_rows,)](scores, out, scores.stride(0), out.stride(0), n_cols, BLOCK_SIZE=BLOCK_SIZE)
    return out


def _causal(scores: torch.Tensor, diagonal: int = 1, hidden: float = float("-inf")) -> torch.Tensor:
    covered = torch.ones(scores.shape, dtype=torch.bool).triu(diagonal)
    return torch.softmax(scores.double().masked_fill(covered, hidden), dim=-1)


CAUSAL = Problem(
    name="softmax.causal",
    prompt=(
        "causal_softmax(scores) is the softmax of attention in a language model: scores is n × n, and row i may only see columns 0 … i.\n"
        "Row i of the result is the softmax over those columns, and 0 in the others."
    ),
    stub='''@triton.jit
def causal_softmax_kernel(scores_ptr, out_ptr, stride_sm, stride_om, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    ...


def causal_softmax(scores):
    n_rows, n_cols = scores.shape
    out = torch.empty(scores.shape, dtype=scores.dtype, device=scores.device)
    BLOCK_SIZE = triton.next_power_of_2(n_cols)
    causal_softmax_kernel[(n_rows,)](scores, out, scores.stride(0), out.stride(0), n_cols, BLOCK_SIZE=BLOCK_SIZE)
    return out
''',
    solution=(causal_softmax_kernel, causal_softmax),
    oracle=_causal,
    cases=(
        Case((spec(8, 8),)),
        Case((spec(1, 1),)),
        Case((spec(7, 7),)),
        Case((spec(9, 9),)),
        Case((spec(11, 11, values=future),), note="large scores right of the diagonal"),
        Case((spec(13, 13, dtype="float16"),)),
        Case((spec(10, 10, layout="wide rows"),)),
        Case((spec(12, 12, values="low"),)),
    ),
    hints=(
        "Two masks are at work: mask says which columns exist, seen = cols <= row which of them this row may see. Which of the two belongs in the load, which in the store?",
        "Load with mask & seen: a hidden column then holds the fill. With -inf its exponential is 0, and 0 is also what the result shall hold there.",
        'scores = tl.load(..., mask=mask & seen, other=-float("inf")).to(tl.float32); then the softmax as ever; the store takes mask alone, so that the zeros are written too.',
    ),
    tolerance=TOLERANCE,
    known_wrong=(
        KnownWrong(
            "It is the softmax over all columns, with the hidden ones set to 0 afterwards: they still count in the sum.",
            lambda s: torch.softmax(s.double(), dim=-1).tril(),
        ),
        KnownWrong("Hidden scores are set to 0 and count as exp(0): they must be -inf.", lambda s: _causal(s, 1, 0.0)),
        KnownWrong("Row i does not see column i: the first row then sees nothing and is NaN.", lambda s: _causal(s, 0)),
        KnownWrong("Row i sees column i + 1 too.", lambda s: _causal(s, 2)),
        KnownWrong("It is the softmax over all columns: nothing is hidden.", lambda s: torch.softmax(s.double(), dim=-1)),
    ),
)


# softmax.wide


@triton.jit
def softmax_wide_kernel(x_ptr, out_ptr, stride_xm, stride_om, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_SIZE)
    m = -3.4028234663852886e38  # the lowest float32: -inf - (-inf) would be NaN
    total = 0.0
    for start in range(0, n_cols, BLOCK_SIZE):
        cols = start + lanes
        x = tl.load(x_ptr + row * stride_xm + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, axis=0))
        total = total * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new), axis=0)
        m = m_new
    for start in range(0, n_cols, BLOCK_SIZE):
        cols = start + lanes
        mask = cols < n_cols
        x = tl.load(x_ptr + row * stride_xm + cols, mask=mask, other=-float("inf")).to(tl.float32)
        tl.store(out_ptr + row * stride_om + cols, tl.exp(x - m) / total, mask=mask)


def softmax_wide(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    softmax_wide_kernel[(n_rows,)](x, out, x.stride(0), out.stride(0), n_cols, BLOCK_SIZE=32)
    return out


def _tiles_of_32(outcome: Outcome) -> tuple[str, str] | None:
    """No load or store takes more than 32 lanes."""
    for launch in outcome.trace.launches:
        for access in launch.accesses:
            if access.mask.size > 32:
                return "rule", f"The values are right, but line {access.line} takes a tile of {access.mask.size} lanes; 32 are allowed, whatever the row's width."
    return None


WIDE = Problem(
    name="softmax.wide",
    prompt=(
        "softmax_wide(x) is the softmax of rows of any width with a tile of 32 columns: no load and no store may take more than 32 lanes.\n"
        "One program a row. Go over the row once for its maximum and its sum, and once more to write the result."
    ),
    stub='''@triton.jit
def softmax_wide_kernel(x_ptr, out_ptr, stride_xm, stride_om, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_SIZE)
    m = -3.4028234663852886e38  # the lowest float32: -inf - (-inf) would be NaN
    total = 0.0
    ...


def softmax_wide(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    softmax_wide_kernel[(n_rows,)](x, out, x.stride(0), out.stride(0), n_cols, BLOCK_SIZE=32)
    return out
''',
    solution=(softmax_wide_kernel, softmax_wide),
    oracle=lambda x: torch.softmax(x.double(), dim=-1),
    cases=(
        Case((spec(3, 32),)),
        Case((spec(2, 96),)),
        Case((spec(1, 1),)),
        Case((spec(3, 31),)),
        Case((spec(3, 33),)),
        Case((spec(2, 64, values=rising),), note="every tile has a new maximum"),
        Case((spec(2, 101, values=rising),), note="every tile has a new maximum"),
        Case((spec(2, 64, values=late),), note="the first tile is all -inf"),
        Case((spec(2, 70, dtype="float16"),)),
        Case((spec(3, 50, layout="wide rows"),)),
        Case((spec(2, 80, values="large"),)),
        Case((spec(2, 45, values="low"),)),
    ),
    hints=(
        "A loop `for start in range(0, n_cols, BLOCK_SIZE)` with cols = start + lanes takes the row tile by tile; the mask is cols < n_cols, in both passes.",
        "When a tile brings a larger maximum, what total holds so far was divided by too little: total = total * exp(m - m_new) + the new tile's sum of exp(x - m_new).",
        "m_new = tl.maximum(m, tl.max(x, axis=0)), then total as above, then m = m_new. The second loop loads each tile again and stores tl.exp(x - m) / total.",
    ),
    tolerance=TOLERANCE,
    extra=(_tiles_of_32,),
)


# softmax.backward


@triton.jit
def softmax_backward_kernel(y_ptr, dy_ptr, dx_ptr, stride_ym, stride_dym, stride_dxm, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    y = tl.load(y_ptr + row * stride_ym + cols, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * stride_dym + cols, mask=mask, other=0.0).to(tl.float32)
    dx = y * (dy - tl.sum(y * dy, axis=0))
    tl.store(dx_ptr + row * stride_dxm + cols, dx, mask=mask)


def softmax_backward(y, dy):
    n_rows, n_cols = y.shape
    dx = torch.empty(y.shape, dtype=y.dtype, device=y.device)
    softmax_backward_kernel[(n_rows,)](
        y, dy, dx, y.stride(0), dy.stride(0), dx.stride(0), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols)
    )
    return dx


def probabilities(generator: torch.Generator, shape: tuple[int, ...]) -> torch.Tensor:
    """Rows that sum to 1, as a softmax gives them."""
    return torch.softmax(torch.randn(shape, dtype=torch.float64, generator=generator), dim=-1)


def _gradient(y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    y, dy = y.double(), dy.double()
    return y * (dy - (y * dy).sum(dim=-1, keepdim=True))


def _pair(*shape: int, dy: Any = "random", layout: str = "contiguous", dtype: str = "float32", note: str = "") -> Case:
    return Case((spec(*shape, values=probabilities, dtype=dtype), spec(*shape, values=dy, layout=layout, dtype=dtype)), note=note)


BACKWARD = Problem(
    name="softmax.backward",
    prompt=(
        "softmax_backward(y, dy) is the gradient of softmax: y is its result, dy the gradient with respect to y, and the gradient with respect\n"
        "to its input is dx = y · (dy - sum(y · dy)), the sum over the row. One program a row, all arithmetic in float32."
    ),
    stub='''@triton.jit
def softmax_backward_kernel(y_ptr, dy_ptr, dx_ptr, stride_ym, stride_dym, stride_dxm, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    ...


def softmax_backward(y, dy):
    n_rows, n_cols = y.shape
    dx = torch.empty(y.shape, dtype=y.dtype, device=y.device)
    softmax_backward_kernel[(n_rows,)](
        y, dy, dx, y.stride(0), dy.stride(0), dx.stride(0), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols)
    )
    return dx
''',
    solution=(softmax_backward_kernel, softmax_backward),
    oracle=_gradient,
    cases=(
        _pair(3, 16),
        _pair(1, 1),
        _pair(4, 15),
        _pair(4, 17),
        _pair(3, 100, dy=offset, note="dy around 100"),
        _pair(3, 50, dtype="float16"),
        _pair(3, 50, dy=offset, dtype="float16", note="dy around 100"),
        _pair(5, 20, layout="wide rows"),
    ),
    hints=(
        "Two loads this time, each with its own row stride. What must the masked lanes of y and of dy hold, so that their product adds nothing to the sum?",
        "A sum's neutral value is 0: other=0.0 in both loads. Then convert both to float32 before anything is multiplied.",
        "dot = tl.sum(y * dy, axis=0) is one value; y * (dy - dot) is the row that is stored under the mask.",
    ),
    tolerance={
        "float32": Tolerance(1e-5, 1e-5, "dy - sum(y·dy) cancels: with values around 100 float32 keeps about 1e-5 of the difference."),
        "float16": Tolerance(2e-3, 1e-5, "float16 keeps 11 bits: storing the result rounds it by up to 5e-4 of its value."),
    },
    known_wrong=(
        KnownWrong("It is y · dy: the sum is missing.", lambda y, dy: y.double() * dy.double()),
        KnownWrong(
            "The sum is taken of dy alone: it must be of y · dy.",
            lambda y, dy: y.double() * (dy.double() - dy.double().sum(-1, keepdim=True)),
        ),
        KnownWrong(
            "It is dy · (y - sum(y · dy)): y and dy are exchanged outside of the sum.",
            lambda y, dy: dy.double() * (y.double() - (y.double() * dy.double()).sum(-1, keepdim=True)),
        ),
    ),
)

PROBLEMS = (ROW_MAX, LOG_SOFTMAX, CAUSAL, WIDE, BACKWARD)
