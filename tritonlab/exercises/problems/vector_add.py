"""Exercises of chapter 1: offsets, masks, a launcher that validates, strides, a persistent kernel."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ..problem import Case, KnownWrong, Problem, Tolerance, sizes, spec
from ..rules import launches_at_most, written_once

EXACT = Tolerance(0.0, 0.0, "the kernel does the one operation that torch does, so the values are the same.")
TOLERANCE = {
    "float32": Tolerance(1e-6, 1e-6, "float32 rounds a product and a sum, each by at most 6e-8 of its value."),
    "float16": Tolerance(2e-3, 2e-3, "float16 rounds a product and a sum, each by at most 5e-4 of its value."),
    "float64": Tolerance(1e-12, 1e-12, "float64 rounds a product and a sum, each by about 1e-16 of its value."),
}


# vector_add.offsets


@triton.jit
def double_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x + x, mask=mask)


def double(x):
    out = torch.empty_like(x)
    n_elements = x.numel()
    grid = (triton.cdiv(n_elements, 64),)
    double_kernel[grid](x, out, n_elements, BLOCK_SIZE=64)
    return out


OFFSETS = Problem(
    name="vector_add.offsets",
    prompt=(
        "double(x) returns x + x. Everything is there but one line: which elements does a program own?\n"
        "Give offs, so that program 0 takes the first BLOCK_SIZE elements, program 1 the next, and so on."
    ),
    stub='''@triton.jit
def double_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offs = ...  # the BLOCK_SIZE elements of this program
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x + x, mask=mask)


def double(x):
    out = torch.empty_like(x)
    n_elements = x.numel()
    grid = (triton.cdiv(n_elements, 64),)
    double_kernel[grid](x, out, n_elements, BLOCK_SIZE=64)
    return out
''',
    solution=(double_kernel, double),
    oracle=lambda x: x.double() + x.double(),
    cases=lambda block: (
        *(Case((spec(n),)) for n in sizes(block)),
        Case((spec(5, 29),), note="2-D"),
        Case((spec(block + 1, values="special"),)),
    ),
    hints=(
        "tl.arange(0, BLOCK_SIZE) gives 0, 1, ..., BLOCK_SIZE - 1: the same in every program. What must program 3 add to it?",
        "Program pid begins where the pid programs before it end: each of them took BLOCK_SIZE elements.",
        "offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)",
    ),
    tolerance=EXACT,
)


# vector_add.mask


@triton.jit
def multiply_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x * y, mask=mask)


def multiply(x, y):
    out = torch.empty_like(x)
    n_elements = x.numel()
    grid = (triton.cdiv(n_elements, 64),)
    multiply_kernel[grid](x, y, out, n_elements, BLOCK_SIZE=64)
    return out


MASK = Problem(
    name="vector_add.mask",
    prompt=(
        "multiply(x, y) is right for 64, 128 and 640 elements, and touches memory that is not its own for all other sizes.\n"
        "Find out which lanes do it, and mend the kernel."
    ),
    stub='''@triton.jit
def multiply_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offs)
    y = tl.load(y_ptr + offs)
    tl.store(out_ptr + offs, x * y)


def multiply(x, y):
    out = torch.empty_like(x)
    n_elements = x.numel()
    grid = (triton.cdiv(n_elements, 64),)
    multiply_kernel[grid](x, y, out, n_elements, BLOCK_SIZE=64)
    return out
''',
    solution=(multiply_kernel, multiply),
    oracle=lambda x, y: x.double() * y.double(),
    cases=lambda block: (
        *(Case((spec(n), spec(n))) for n in sizes(block)),
        Case((spec(block + 1, values="special"), spec(block + 1))),
        Case((spec(7, 31, dtype="float16"), spec(7, 31, dtype="float16"))),
    ),
    hints=(
        "With 100 elements and blocks of 64 there are 2 programs, 128 lanes in all. What do the last 28 lanes do?",
        "A lane may only be on when its offset is an element: build a mask from offs and n_elements.",
        "mask = offs < n_elements belongs in every tl.load and in the tl.store: mask=mask.",
    ),
    tolerance={"float32": TOLERANCE["float32"], "float16": TOLERANCE["float16"]},
    known_wrong=(KnownWrong("It computes x + y.", lambda x, y: x.double() + y.double()),),
)


# vector_add.axpy


@triton.jit
def axpy_kernel(x_ptr, y_ptr, out_ptr, a, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, a * x + y, mask=mask)


def axpy(a, x, y):
    if x.shape != y.shape:
        raise ValueError(f"x and y must have one shape, got {tuple(x.shape)} and {tuple(y.shape)}")
    if x.dtype != y.dtype:
        raise ValueError(f"x and y must have one dtype, got {x.dtype} and {y.dtype}")
    if not (x.is_contiguous() and y.is_contiguous()):
        raise ValueError(f"x and y must be contiguous, got strides {x.stride()} and {y.stride()}")
    out = torch.empty_like(x)
    n_elements = x.numel()
    grid = (triton.cdiv(n_elements, 64),)
    axpy_kernel[grid](x, y, out, a, n_elements, BLOCK_SIZE=64)
    return out


_REFUSED = (ValueError, TypeError)

AXPY = Problem(
    name="vector_add.axpy",
    prompt=(
        "Write axpy(a, x, y), which returns a * x + y for a number a and two contiguous tensors of one shape and one dtype.\n"
        "The launcher refuses everything else with a ValueError that shows what it got: other shapes, other dtypes,\n"
        "tensors that are not contiguous. x and y stay as they are."
    ),
    stub='''@triton.jit
def axpy_kernel(x_ptr, y_ptr, out_ptr, a, n_elements, BLOCK_SIZE: tl.constexpr):
    ...


def axpy(a, x, y):
    ...
''',
    solution=(axpy_kernel, axpy),
    oracle=lambda a, x, y: a * x.double() + y.double(),
    dtype=lambda a, x, y: str(x.dtype).removeprefix("torch."),
    cases=lambda block: (
        *(Case((2.5, spec(n), spec(n))) for n in sizes(block)),
        Case((-1.0, spec(5, 29), spec(5, 29)), note="2-D"),
        Case((0.5, spec(block + 1, dtype="float16"), spec(block + 1, dtype="float16"))),
        Case((2.0, spec(block + 1, values="special"), spec(block + 1))),
        Case((2.0, spec(65), spec(64)), _REFUSED, "x has 65 elements and y has 64"),
        Case((2.0, spec(64), spec(1)), _REFUSED, "x has 64 elements and y has 1"),
        Case((2.0, spec(6, 10), spec(10, 6)), _REFUSED, "x is 6×10 and y is 10×6"),
        Case((2.0, spec(64), spec(64, dtype="float16")), _REFUSED, "x is float32 and y is float16"),
        Case((2.0, spec(64, layout="every second"), spec(64)), _REFUSED, "x is not contiguous"),
        Case((2.0, spec(8, 9), spec(8, 9, layout="transposed")), _REFUSED, "y is not contiguous"),
    ),
    hints=(
        "Begin with multiply from the exercise before: the kernel differs in one line, and gets a as one more argument, a plain number.",
        "In the launcher compare x.shape with y.shape, x.dtype with y.dtype, and ask x.is_contiguous(), each before allocating: "
        'raise ValueError(f"... got {tuple(x.shape)} and {tuple(y.shape)}").',
        "Allocate out = torch.empty_like(x), launch triton.cdiv(x.numel(), 64) programs with a in the order of the kernel's "
        "parameters, store a * x + y under the mask, and return out.",
    ),
    tolerance=TOLERANCE,
    known_wrong=(
        KnownWrong("It computes x + a * y: a belongs to x.", lambda a, x, y: x.double() + a * y.double()),
        KnownWrong("It computes a * (x + y): a belongs to x alone.", lambda a, x, y: a * (x.double() + y.double())),
        KnownWrong("It computes x + y: a is not used.", lambda a, x, y: x.double() + y.double()),
    ),
)


# vector_add.strided


@triton.jit
def add_strided_kernel(x_ptr, y_ptr, out_ptr, n_elements, stride_x, stride_y, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs * stride_x, mask=mask)
    y = tl.load(y_ptr + offs * stride_y, mask=mask)
    tl.store(out_ptr + offs, x + y, mask=mask)


def add_strided(x, y):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n_elements = x.numel()
    grid = (triton.cdiv(n_elements, 64),)
    add_strided_kernel[grid](x, y, out, n_elements, x.stride(0), y.stride(0), BLOCK_SIZE=64)
    return out


STRIDED = Problem(
    name="vector_add.strided",
    prompt=(
        "add_strided(x, y) must be right for any 1-D views: x[::2], a column of a matrix, a single value expanded to n.\n"
        "It must read them where they lie: no copy, so no .contiguous()."
    ),
    stub='''@triton.jit
def add_strided_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x + y, mask=mask)


def add_strided(x, y):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n_elements = x.numel()
    grid = (triton.cdiv(n_elements, 64),)
    add_strided_kernel[grid](x, y, out, n_elements, BLOCK_SIZE=64)
    return out
''',
    solution=(add_strided_kernel, add_strided),
    oracle=lambda x, y: x.double() + y.double(),
    cases=lambda block: (
        *(Case((spec(n), spec(n))) for n in sizes(block)),
        Case((spec(5, layout="every second"), spec(5))),
        Case((spec(5), spec(5, layout="column"))),
        Case((spec(block + 1, layout="every second"), spec(block + 1, layout="column"))),
        Case((spec(block + 1, layout="expanded"), spec(block + 1, layout="every second"))),
        Case((spec(2 * block - 1, layout="column"), spec(2 * block - 1, layout="expanded"))),
    ),
    hints=(
        "x[::2] shares its memory with x: element i lies at offset 2·i. x.stride(0) says how far neighbours are apart, in elements.",
        "Hand x.stride(0) and y.stride(0) to the kernel as two more arguments. They need not be equal, and out has its own.",
        "The address of element offs is x_ptr + offs * stride_x. The mask stays offs < n_elements: it counts elements, not addresses.",
    ),
    tolerance=TOLERANCE["float32"],
    copies=False,
)


# vector_add.persistent


@triton.jit
def add_persistent_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    n_tiles = tl.cdiv(n_elements, BLOCK_SIZE)
    for tile in range(tl.program_id(0), n_tiles, tl.num_programs(0)):
        offs = tile * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        mask = offs < n_elements
        x = tl.load(x_ptr + offs, mask=mask)
        y = tl.load(y_ptr + offs, mask=mask)
        tl.store(out_ptr + offs, x + y, mask=mask)


def add_persistent(x, y, num_programs):
    out = torch.empty_like(x)
    n_elements = x.numel()
    grid = (min(num_programs, triton.cdiv(n_elements, 64)),)
    add_persistent_kernel[grid](x, y, out, n_elements, BLOCK_SIZE=64)
    return out


PERSISTENT = Problem(
    name="vector_add.persistent",
    prompt=(
        "add_persistent(x, y, num_programs) adds two contiguous tensors with at most num_programs programs, however long they are.\n"
        "Each program loops over tiles of 64 elements. Every tile is done once: program 0 takes tiles 0, P, 2P, ..., program 1 tiles 1, P + 1, ...,\n"
        "with P programs in the grid."
    ),
    stub='''@triton.jit
def add_persistent_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    ...


def add_persistent(x, y, num_programs):
    out = torch.empty_like(x)
    n_elements = x.numel()
    grid = ...
    add_persistent_kernel[grid](x, y, out, n_elements, BLOCK_SIZE=64)
    return out
''',
    solution=(add_persistent_kernel, add_persistent),
    oracle=lambda x, y, num_programs: x.double() + y.double(),
    cases=lambda block: (
        Case((spec(block), spec(block), 4)),
        Case((spec(8 * block), spec(8 * block), 4)),
        *(Case((spec(n), spec(n), 4)) for n in (1, block - 1, block + 1)),
        Case((spec(9 * block + 5), spec(9 * block + 5), 4)),
        Case((spec(7 * block - 3), spec(7 * block - 3), 3)),
        Case((spec(3 * block + 1), spec(3 * block + 1), 1)),
        Case((spec(0), spec(0), 4)),
    ),
    hints=(
        "How many tiles are there? tl.cdiv(n_elements, BLOCK_SIZE). In a plain launch, program pid does tile pid and ends; here it goes on.",
        "range(start, stop, step) works in a kernel: start at this program's own number, and step by the number of programs, tl.num_programs(0).",
        "Inside the loop everything is as before, with tile in the place of pid: offs = tile * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE).",
        "The grid is (min(num_programs, triton.cdiv(n_elements, 64)),): never more programs than tiles.",
    ),
    tolerance=TOLERANCE["float32"],
    extra=(launches_at_most(2, "num_programs"), written_once),
)

PROBLEMS = (OFFSETS, MASK, AXPY, STRIDED, PERSISTENT)
