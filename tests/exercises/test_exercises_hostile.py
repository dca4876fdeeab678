"""Answers to chapters 5 to 7 that look right and are not, and right ones that a rule might take for wrong."""

from __future__ import annotations

import pytest
from exercise_tools import cell

import tritonlab as lab

A_MASK, B_MASK = "(offs_m[:, None] < M) & (offs_k[None, :] < K - k)", "(offs_k[:, None] < K - k) & (offs_n[None, :] < N)"
DOT = 'acc = tl.dot(a, b, acc, input_precision="ieee")'
ROWS = "offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)"
ADD = "    tl.atomic_add(c_ptrs, acc, mask=mask_m & mask_n)"
ZEROS = "torch.zeros((M, N)"

COPY = '''@triton.jit
def copy_kernel(p_ptr, c_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c_ptr + offs, tl.load(p_ptr + offs, mask=offs < n), mask=offs < n)


'''
BY_TORCH = '''def matmul(a, b):
    p = (a.double() @ b.double()).to(a.dtype)
    c = torch.empty_like(p)
    copy_kernel[(triton.cdiv(c.numel(), 64),)](p, c, c.numel(), BLOCK=64)
    return c
'''
ONE_BY_ONE = '''    for i in range(batches):
        batched_matmul_kernel[(*grid[:2], 1)](
            a[i:], b[i:], c[i:], M, N, K, *a.stride(), *b.stride(), *c.stride(),
            BLOCK_M=16, BLOCK_N=16, BLOCK_K=16,
        )
    return c
'''


def checked(folder, name, *edits, before=""):
    exercise = lab.exercise(name)
    text = before + str(exercise.solution())
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return exercise.check(getattr(cell(folder, text), exercise.problem.function))


def rejected(folder, code, says, name, *edits, before=""):
    result = checked(folder, name, *edits, before=before)
    assert result.codes[:1] == (code,) and says in result.reasons[0].text, result
    return result.reasons[0]


def test_a_product_that_torch_made_and_a_kernel_only_copied_is_no_kernel_of_a_product(tmp_path):
    exercise = lab.exercise("matmul.fill")
    result = exercise.check(cell(tmp_path, COPY + BY_TORCH).matmul)
    assert result.codes == ("rule",) and "no launch was given a, or a copy of it" in result.reasons[0].text


@pytest.mark.parametrize("copied", ["a.contiguous(), b.contiguous()", "a.float(), b.float()", "torch.nn.functional.pad(a, (0, 3)), torch.nn.functional.pad(b, (0, 0, 0, 3))"])
def test_copies_casts_and_padding_count_as_the_inputs_themselves(copied, tmp_path):
    edits = [(", dtype=a.dtype, device=a.device)", f", dtype=a.dtype, device=a.device)\n    a, b = {copied}")]
    assert checked(tmp_path, "matmul.fill", *edits).ok


@pytest.mark.parametrize(
    "edits",
    [
        [(ZEROS, "torch.empty((M, N)"), (ADD, "    if pid_k == 0:\n        tl.store(c_ptrs, tl.zeros((BLOCK_M, BLOCK_N), tl.float32), mask=mask_m & mask_n)\n" + ADD)],
        [(ZEROS, "torch.empty((M, N)"), (ADD, "    if pid_k == 0:\n        tl.store(c_ptrs, acc, mask=mask_m & mask_n)\n    else:\n    " + ADD)],
    ],
    ids=["zeroed by one of them", "stored by one of them"],
)
def test_a_store_beside_another_programs_atomic_is_a_race(edits, tmp_path):
    rejected(tmp_path, "race", "and program (0, 0, 1) does atomic_add on it in the same launch", "matmul.split_k", *edits)


def test_a_split_in_which_every_program_computes_everything_shares_nothing_out(tmp_path):
    edits = [("range(pid_k * BLOCK_K, K, SPLIT_K * BLOCK_K)", "range(0, K, BLOCK_K)"), ("(c_ptrs, acc,", "(c_ptrs, acc / SPLIT_K,")]
    rejected(tmp_path, "rule", "programs (0, 0, 0) and (0, 0, 1) work on the same tile, and both load a_ptr[0]", "matmul.split_k", *edits)


def test_a_split_may_add_its_parts_in_a_second_launch(tmp_path):
    result = checked(
        tmp_path, "matmul.split_k",
        ("c = torch.zeros((M, N)", "c = torch.empty((M, N), device=a.device)\n    parts = torch.empty((SPLIT_K, M, N)"),
        ("a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride()", "a, b, parts, M, N, K, *a.stride(), *b.stride(), *parts.stride()[1:]"),
        ("tl.atomic_add(c_ptrs,", "tl.store(c_ptrs + pid_k * M * N,"),
        ("    return c\n", "    sum_kernel[(M * N,)](parts, c, M * N, SPLIT_K)\n    return c\n"),
        before="@triton.jit\ndef sum_kernel(parts, c_ptr, n, parts_n):\n    total = 0.0\n    for i in range(parts_n):\n"
        "        total += tl.load(parts + i * n + tl.program_id(0))\n    tl.store(c_ptr + tl.program_id(0), total)\n\n\n",
    )  # fmt: skip
    assert result.ok, result


def test_one_launch_is_one_launch(tmp_path):
    text = str(lab.exercise("matmul.batched").solution())
    start = text.index("    batched_matmul_kernel[grid]")
    rejected(tmp_path, "rule", "there are 2 launches (batched_matmul_kernel)", "matmul.batched", (text[start:], ONE_BY_ONE))


@pytest.mark.parametrize("to, kind", [("a.dtype", "bfloat16"), ("tl.float16", "float16")])
def test_a_float32_sum_that_each_step_rounds_to_16_bits_is_named(to, kind, tmp_path):
    line = f'acc = (acc + tl.dot(a, b, input_precision="ieee")).to({to}).to(tl.float32)'
    reason = rejected(tmp_path, "precision", f"acc is rounded to {kind} in each step of the loop", "matmul.fill", (DOT, line))
    assert reason.source.strip() == line


def test_programs_whose_rows_are_wrapped_round_are_not_counted_away(tmp_path):
    reason = checked(tmp_path, "grouped_matmul.grouped", (ROWS, f"offs_m = ({ROWS.partition(' = ')[2]}) % M")).reasons[0]
    assert reason.code != "tile_map" and "4 programs" not in reason.text


def test_the_order_on_a_grids_second_axis_is_that_of_its_programs(tmp_path):
    edits = [("grid = (triton.cdiv(M, 16) * triton.cdiv(N, 16),)", "grid = (1, triton.cdiv(M, 16) * triton.cdiv(N, 16))"), ("tl.program_id(0)", "tl.program_id(1)")]
    assert checked(tmp_path, "grouped_matmul.grouped", *edits).ok


@pytest.mark.parametrize("rule", ["(M // 128) * (N // 256) >= 132", "triton.cdiv(M, 128) * triton.cdiv(N, 256) > 132"])
def test_a_table_that_counts_only_full_tiles_or_wants_more_than_132_is_told(rule, tmp_path):
    rejected(tmp_path, "rule", "was chosen and not (128, 256, 64, 8, 3)", "autotune.table", ("triton.cdiv(M, 128) * triton.cdiv(N, 256) >= 132", rule))


def test_five_stages_are_not_four(tmp_path):
    rejected(tmp_path, "rule", "its buffers take 8,192 B", "autotune.pipeline", ("num_stages=4", "num_stages=5"))


def test_elements_of_a_tile_that_are_never_loaded_are_named_before_lanes_of_another_tile(tmp_path):
    edits = [("(offs_k[None, :] < K - k)", "(offs_k[None, :] < K % BLOCK_K)")]
    rejected(tmp_path, "never_read", "elements of a were never read", "matmul.fill", *edits)
