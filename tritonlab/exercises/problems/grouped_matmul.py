"""Exercises of chapter 6: a pid to a tile, row by row, in a snake, in groups of rows, in groups of columns; the grouped kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl

from ...analysis import program_number
from ..problem import Case, KnownWrong, Problem, Tolerance
from ..run import Outcome
from ..tile_map import tiles_by_program
from ..tiles import blocks_of
from .matmul import AXES, TOLERANCE, _pair, _product, late, ones

EXACT = Tolerance(0.0, 0.0, "program numbers are integers.")
MAP = {"out": ("pid_m", "pid_n")}


def _order(num_pid_m: int, num_pid_n: int, tile: Callable[[int], tuple[int, int]]) -> torch.Tensor:
    """A map of tiles, each holding the pid that works on it."""
    order = torch.full((num_pid_m, num_pid_n), -1, dtype=torch.int32)
    for pid in range(num_pid_m * num_pid_n):
        order[tile(pid)] = pid
    return order


def _by_rows(num_pid_m: int, num_pid_n: int, *_: int) -> torch.Tensor:
    return _order(num_pid_m, num_pid_n, lambda pid: (pid // num_pid_n, pid % num_pid_n))


def _by_columns(num_pid_m: int, num_pid_n: int, *_: int) -> torch.Tensor:
    return _order(num_pid_m, num_pid_n, lambda pid: (pid % num_pid_m, pid // num_pid_m))


def _snake(num_pid_m: int, num_pid_n: int) -> torch.Tensor:
    order = _by_rows(num_pid_m, num_pid_n)
    order[1::2] = order[1::2].flip(1)
    return order


def _group_tile(pid: int, num_pid_m: int, num_pid_n: int, group: int) -> tuple[int, int]:
    first = pid // (group * num_pid_n) * group
    rows = min(num_pid_m - first, group)
    inner = pid % (group * num_pid_n)
    return first + inner % rows, inner // rows


def _grouped(num_pid_m: int, num_pid_n: int, group: int) -> torch.Tensor:
    return _order(num_pid_m, num_pid_n, lambda pid: _group_tile(pid, num_pid_m, num_pid_n, group))


def _grouped_across(num_pid_m: int, num_pid_n: int, group: int) -> torch.Tensor:
    """Groups of rows, each walked row by row: the plain order."""
    return _by_rows(num_pid_m, num_pid_n)


def _column_grouped(num_pid_m: int, num_pid_n: int, group: int) -> torch.Tensor:
    return _grouped(num_pid_n, num_pid_m, group).T.contiguous()


# grouped_matmul.row_major


@triton.jit
def row_major_pid(pid, num_pid_m, num_pid_n):
    return pid // num_pid_n, pid % num_pid_n


@triton.jit
def row_major_kernel(order_ptr, num_pid_m, num_pid_n):
    pid = tl.program_id(0)
    pid_m, pid_n = row_major_pid(pid, num_pid_m, num_pid_n)
    tl.store(order_ptr + pid_m * num_pid_n + pid_n, pid)


def row_major_order(num_pid_m, num_pid_n):
    order = torch.empty((num_pid_m, num_pid_n), dtype=torch.int32)
    row_major_kernel[(num_pid_m * num_pid_n,)](order, num_pid_m, num_pid_n)
    return order


ROW_MAJOR = Problem(
    name="grouped_matmul.row_major",
    prompt=(
        "A launch with one grid axis has to turn its pid into a tile. row_major_pid(pid, num_pid_m, num_pid_n) returns (pid_m, pid_n): along the first row of tiles\n"
        "from left to right, then the next row. The launcher draws the map: each program writes its pid into its tile's place."
    ),
    stub='''@triton.jit
def row_major_pid(pid, num_pid_m, num_pid_n):
    return ...


@triton.jit
def row_major_kernel(order_ptr, num_pid_m, num_pid_n):
    pid = tl.program_id(0)
    pid_m, pid_n = row_major_pid(pid, num_pid_m, num_pid_n)
    tl.store(order_ptr + pid_m * num_pid_n + pid_n, pid)


def row_major_order(num_pid_m, num_pid_n):
    order = torch.empty((num_pid_m, num_pid_n), dtype=torch.int32)
    row_major_kernel[(num_pid_m * num_pid_n,)](order, num_pid_m, num_pid_n)
    return order
''',
    solution=(row_major_pid, row_major_kernel, row_major_order),
    oracle=_by_rows,
    cases=(Case((3, 4)), Case((1, 1)), Case((1, 5)), Case((5, 1)), Case((4, 3)), Case((3, 3)), Case((2, 7))),
    hints=(
        "How many programs does one row of tiles have? After that many pids the next row begins.",
        "A row has num_pid_n tiles. The quotient of pid by it counts the full rows before this tile, the remainder its place in the row.",
        "return pid // num_pid_n, pid % num_pid_n",
    ),
    tolerance=EXACT,
    dtype="int32",
    axes=MAP,
    known_wrong=(KnownWrong("It goes down the columns: that is the column-major order.", _by_columns),),
)


# grouped_matmul.snake


@triton.jit
def snake_pid(pid, num_pid_m, num_pid_n):
    pid_m = pid // num_pid_n
    along = pid % num_pid_n
    pid_n = tl.where(pid_m % 2 == 0, along, num_pid_n - 1 - along)
    return pid_m, pid_n


@triton.jit
def snake_kernel(order_ptr, num_pid_m, num_pid_n):
    pid = tl.program_id(0)
    pid_m, pid_n = snake_pid(pid, num_pid_m, num_pid_n)
    tl.store(order_ptr + pid_m * num_pid_n + pid_n, pid)


def snake_order(num_pid_m, num_pid_n):
    order = torch.empty((num_pid_m, num_pid_n), dtype=torch.int32)
    snake_kernel[(num_pid_m * num_pid_n,)](order, num_pid_m, num_pid_n)
    return order


SNAKE = Problem(
    name="grouped_matmul.snake",
    prompt=(
        "In row-major order the step from one row of tiles to the next jumps from the last column back to the first: both panels, of A and of B, are new.\n"
        "snake_pid turns round instead: rows 0, 2, 4, … from left to right, rows 1, 3, … from right to left, so that the panel of B is kept at each turn."
    ),
    stub='''@triton.jit
def snake_pid(pid, num_pid_m, num_pid_n):
    pid_m = pid // num_pid_n
    along = pid % num_pid_n
    pid_n = ...
    return pid_m, pid_n


@triton.jit
def snake_kernel(order_ptr, num_pid_m, num_pid_n):
    pid = tl.program_id(0)
    pid_m, pid_n = snake_pid(pid, num_pid_m, num_pid_n)
    tl.store(order_ptr + pid_m * num_pid_n + pid_n, pid)


def snake_order(num_pid_m, num_pid_n):
    order = torch.empty((num_pid_m, num_pid_n), dtype=torch.int32)
    snake_kernel[(num_pid_m * num_pid_n,)](order, num_pid_m, num_pid_n)
    return order
''',
    solution=(snake_pid, snake_kernel, snake_order),
    oracle=_snake,
    cases=(Case((4, 3)), Case((1, 1)), Case((1, 4)), Case((5, 1)), Case((3, 4)), Case((3, 3)), Case((2, 6))),
    hints=(
        "along counts the tiles of a row in the order in which they are visited. In an odd row, which column does along = 0 mean, and which one along = 1?",
        "From the right, the column is num_pid_n - 1 - along. Choose between the two by pid_m % 2. tl.where takes single numbers as well as blocks.",
        "pid_n = tl.where(pid_m % 2 == 0, along, num_pid_n - 1 - along)",
    ),
    tolerance=EXACT,
    dtype="int32",
    axes=MAP,
    known_wrong=(
        KnownWrong("It is the row-major order: odd rows must go from right to left.", _by_rows),
        KnownWrong("Every row goes from right to left.", lambda m, n: _by_rows(m, n).flip(1)),
        KnownWrong("The even rows go from right to left; it must be the odd ones.", lambda m, n: _snake(m, n).flip(1)),
    ),
)


# grouped_matmul.grouped_pid


@triton.jit
def grouped_pid(pid, num_pid_m, num_pid_n, GROUP_M):
    programs_in_group = GROUP_M * num_pid_n
    first_pid_m = (pid // programs_in_group) * GROUP_M
    rows = tl.minimum(num_pid_m - first_pid_m, GROUP_M)
    in_group = pid % programs_in_group
    pid_m = first_pid_m + in_group % rows
    pid_n = in_group // rows
    return pid_m, pid_n


@triton.jit
def grouped_order_kernel(order_ptr, num_pid_m, num_pid_n, GROUP_M: tl.constexpr):
    pid = tl.program_id(0)
    pid_m, pid_n = grouped_pid(pid, num_pid_m, num_pid_n, GROUP_M)
    tl.store(order_ptr + pid_m * num_pid_n + pid_n, pid)


def grouped_order(num_pid_m, num_pid_n, GROUP_M):
    order = torch.empty((num_pid_m, num_pid_n), dtype=torch.int32)
    grouped_order_kernel[(num_pid_m * num_pid_n,)](order, num_pid_m, num_pid_n, GROUP_M=GROUP_M)
    return order


GROUPED_PID = Problem(
    name="grouped_matmul.grouped_pid",
    prompt=(
        "grouped_pid cuts the rows of tiles into groups of GROUP_M. Within a group programs go down its rows, then one column to the right; after its last column comes the next group.\n"
        "num_pid_m need not be a multiple of GROUP_M: the last group may have fewer rows, and every tile has exactly one program."
    ),
    stub='''@triton.jit
def grouped_pid(pid, num_pid_m, num_pid_n, GROUP_M):
    programs_in_group = GROUP_M * num_pid_n
    first_pid_m = ...  # the first row of tiles of this program's group
    rows = ...  # rows of tiles in this group
    in_group = pid % programs_in_group
    pid_m = ...
    pid_n = ...
    return pid_m, pid_n


@triton.jit
def grouped_order_kernel(order_ptr, num_pid_m, num_pid_n, GROUP_M: tl.constexpr):
    pid = tl.program_id(0)
    pid_m, pid_n = grouped_pid(pid, num_pid_m, num_pid_n, GROUP_M)
    tl.store(order_ptr + pid_m * num_pid_n + pid_n, pid)


def grouped_order(num_pid_m, num_pid_n, GROUP_M):
    order = torch.empty((num_pid_m, num_pid_n), dtype=torch.int32)
    grouped_order_kernel[(num_pid_m * num_pid_n,)](order, num_pid_m, num_pid_n, GROUP_M=GROUP_M)
    return order
''',
    solution=(grouped_pid, grouped_order_kernel, grouped_order),
    oracle=_grouped,
    cases=(
        Case((4, 3, 2)),
        Case((3, 4, 2), note="the last group has 1 row"),
        Case((1, 1, 2)),
        Case((5, 3, 3), note="the last group has 2 rows"),
        Case((3, 4, 1), note="GROUP_M = 1"),
        Case((3, 4, 8), note="fewer rows than GROUP_M"),
        Case((4, 1, 3)),
        Case((7, 2, 4)),
    ),
    hints=(
        "All groups before this one are full, so the group's number is pid // programs_in_group, and its first row of tiles that number times GROUP_M. How many rows of tiles are left from there on?",
        "rows is GROUP_M, or what is left in the last group: tl.minimum(num_pid_m - first_pid_m, GROUP_M). Within the group, columns have `rows` tiles each, not GROUP_M.",
        "first_pid_m = (pid // programs_in_group) * GROUP_M, then pid_m = first_pid_m + in_group % rows and pid_n = in_group // rows.",
    ),
    tolerance=EXACT,
    dtype="int32",
    axes=MAP,
    known_wrong=(
        KnownWrong("It is the row-major order: within a group, programs go down its rows first.", _grouped_across),
        KnownWrong("It goes down whole columns: the rows are not cut into groups.", _by_columns),
        KnownWrong("The groups are of columns; they must be of rows.", _column_grouped),
    ),
)


# grouped_matmul.column_grouped


@triton.jit
def column_grouped_pid(pid, num_pid_m, num_pid_n, GROUP_N):
    programs_in_group = GROUP_N * num_pid_m
    first_pid_n = (pid // programs_in_group) * GROUP_N
    columns = tl.minimum(num_pid_n - first_pid_n, GROUP_N)
    in_group = pid % programs_in_group
    pid_m = in_group // columns
    pid_n = first_pid_n + in_group % columns
    return pid_m, pid_n


@triton.jit
def column_grouped_kernel(order_ptr, num_pid_m, num_pid_n, GROUP_N: tl.constexpr):
    pid = tl.program_id(0)
    pid_m, pid_n = column_grouped_pid(pid, num_pid_m, num_pid_n, GROUP_N)
    tl.store(order_ptr + pid_m * num_pid_n + pid_n, pid)


def column_grouped_order(num_pid_m, num_pid_n, GROUP_N):
    order = torch.empty((num_pid_m, num_pid_n), dtype=torch.int32)
    column_grouped_kernel[(num_pid_m * num_pid_n,)](order, num_pid_m, num_pid_n, GROUP_N=GROUP_N)
    return order


COLUMN_GROUPED = Problem(
    name="grouped_matmul.column_grouped",
    prompt=(
        "column_grouped_pid is the grouped order turned on its side, for a wide result or a B that is dearer to load: groups of GROUP_N columns of tiles.\n"
        "Within a group programs go along its columns from left to right, then one row of tiles down. The last group may have fewer columns."
    ),
    stub='''@triton.jit
def column_grouped_pid(pid, num_pid_m, num_pid_n, GROUP_N):
    ...
    return pid_m, pid_n


@triton.jit
def column_grouped_kernel(order_ptr, num_pid_m, num_pid_n, GROUP_N: tl.constexpr):
    pid = tl.program_id(0)
    pid_m, pid_n = column_grouped_pid(pid, num_pid_m, num_pid_n, GROUP_N)
    tl.store(order_ptr + pid_m * num_pid_n + pid_n, pid)


def column_grouped_order(num_pid_m, num_pid_n, GROUP_N):
    order = torch.empty((num_pid_m, num_pid_n), dtype=torch.int32)
    column_grouped_kernel[(num_pid_m * num_pid_n,)](order, num_pid_m, num_pid_n, GROUP_N=GROUP_N)
    return order
''',
    solution=(column_grouped_pid, column_grouped_kernel, column_grouped_order),
    oracle=_column_grouped,
    cases=(
        Case((3, 4, 2)),
        Case((4, 3, 2), note="the last group has 1 column"),
        Case((1, 1, 2)),
        Case((3, 5, 3), note="the last group has 2 columns"),
        Case((4, 3, 1), note="GROUP_N = 1"),
        Case((4, 3, 8), note="fewer columns than GROUP_N"),
        Case((1, 4, 3)),
        Case((2, 7, 4)),
    ),
    hints=(
        "Take grouped_pid and exchange the two axes: what counted rows of tiles counts columns now. How many programs does a group of GROUP_N columns have?",
        "programs_in_group = GROUP_N * num_pid_m. The group's first column is its number times GROUP_N, and it has tl.minimum(num_pid_n - first_pid_n, GROUP_N) columns.",
        "With in_group = pid % programs_in_group: pid_m = in_group // columns, and pid_n = first_pid_n + in_group % columns.",
    ),
    tolerance=EXACT,
    dtype="int32",
    axes=MAP,
    known_wrong=(
        KnownWrong("The groups are of rows; they must be of columns.", _grouped),
        KnownWrong("It goes down each column of tiles before the next one: within a group, programs go along its columns first.", _by_columns),
        KnownWrong("It is the row-major order: the columns are not cut into groups.", _by_rows),
    ),
)


# grouped_matmul.grouped


@triton.jit
def grouped_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):
    pid = tl.program_id(0)
    num_pid_m, num_pid_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    first_pid_m = pid // (GROUP_M * num_pid_n) * GROUP_M
    rows = tl.minimum(num_pid_m - first_pid_m, GROUP_M)
    in_group = pid % (GROUP_M * num_pid_n)
    pid_m = first_pid_m + in_group % rows
    pid_n = in_group // rows
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] < K - k), other=0.0)
        b = tl.load(b_ptrs, mask=(offs_k[:, None] < K - k) & (offs_n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, acc, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def grouped_matmul(a, b, GROUP_M):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, 16) * triton.cdiv(N, 16),)
    grouped_matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, GROUP_M=GROUP_M,
    )
    return c


def _in_groups(outcome: Outcome) -> tuple[str, str] | None:
    """The programs take the tiles in grouped order."""
    group = outcome.case.args[2]
    for block, tile in tiles_by_program(blocks_of(outcome, GROUPED)):
        if sum(n > 1 for n in block.launch.grid) > 1:
            return "rule", f"The values are right, but the grid has several axes: in groups of GROUP_M the order of all {block.launch.programs} tiles comes from one pid."
        pid = program_number(block.access.program, block.launch.grid)
        turn = _group_tile(pid, block.count(0), block.count(1), group)
        if tile is not None and tile != turn:
            return "rule", f"The values are right, but the order is not: program {pid} works on tile {tile}; in groups of GROUP_M = {group} rows it is the turn of tile {turn}."
    return None


def _group_case(M: int, N: int, K: int, GROUP_M: int, **how: Any) -> Case:
    return _pair(M, N, K, more=(GROUP_M,), **how)


GROUPED = Problem(
    name="grouped_matmul.grouped",
    prompt=(
        "grouped_matmul(a, b, GROUP_M) is the tiled kernel of chapter 5 on a grid of one axis, its tiles visited in groups of GROUP_M rows of tiles.\n"
        "Write all of the kernel: the pid's tile (mind the last group), pointers, masks, the loop over K, the store. Any strides, float32 accumulation."
    ),
    stub='''@triton.jit
def grouped_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):
    pid = tl.program_id(0)
    num_pid_m, num_pid_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    ...


def grouped_matmul(a, b, GROUP_M):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = ...
    grouped_matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, GROUP_M=GROUP_M,
    )
    return c
''',
    solution=(grouped_matmul_kernel, grouped_matmul),
    oracle=lambda a, b, GROUP_M: _product(a, b),
    cases=(
        _group_case(16, 16, 16, 1),
        _group_case(32, 48, 32, 2),
        _group_case(48, 32, 16, 2, note="3 rows of tiles in groups of 2"),
        _group_case(1, 1, 1, 8),
        _group_case(7, 9, 5, 2),
        _group_case(33, 31, 20, 2),
        _group_case(65, 17, 18, 3, note="5 rows of tiles in groups of 3"),
        _group_case(37, 45, 35, 2, dtype="float16"),
        _group_case(16, 16, 96, 2, dtype="float16", values=(ones, late), note="2048 in the first 16 terms, then 1 every 16"),
        _group_case(40, 21, 19, 2, a="transposed", b="transposed"),
        _group_case(35, 33, 20, 4, a="wide rows", b="wide rows"),
    ),
    hints=(
        "The kernel has two parts that know nothing of each other: from pid to (pid_m, pid_n), which is the exercise grouped_pid, and from (pid_m, pid_n) to a tile of the result, which is chapter 5's kernel. Write the second first.",
        "One program a tile on one axis: grid = (triton.cdiv(M, 16) * triton.cdiv(N, 16),). In the last group there are tl.minimum(num_pid_m - first_pid_m, GROUP_M) rows of tiles; both the remainder and the quotient are by that.",
        "first_pid_m = pid // (GROUP_M * num_pid_n) * GROUP_M, in_group = pid % (GROUP_M * num_pid_n), pid_m = first_pid_m + in_group % rows, pid_n = in_group // rows; from there on the kernel of matmul.fill, line by line.",
    ),
    tolerance=TOLERANCE,
    axes=AXES,
    extra=(_in_groups,),
)

PROBLEMS = (ROW_MAJOR, SNAKE, GROUPED_PID, COLUMN_GROUPED, GROUPED)
