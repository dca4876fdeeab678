"""What the check says of tiles: each judge on its own mistakes, in kernels written in other ways than the exercises', and on none else."""

from __future__ import annotations

import pytest
from exercise_tools import cell, kept_answers, problem

import tritonlab as lab
from tritonlab.exercises.check import check
from tritonlab.exercises.problem import Case, Tolerance, spec
from tritonlab.exercises.reasons import TILES
from tritonlab.exercises.run import run_case
from tritonlab.exercises.tiles import blocks_of

LOOSE = Tolerance(1e-5, 1e-4, "float32 sums of a few dozen products round by about 1e-6.")


def pair(M, N, K, a="contiguous", b="contiguous", dtype="float32"):
    return Case((spec(M, K, layout=a, dtype=dtype), spec(K, N, layout=b, dtype=dtype)))


CASES = (
    pair(16, 16, 16), pair(7, 5, 3), pair(16, 32, 48), pair(33, 20, 37), pair(20, 37, 19), pair(9, 35, 40),
    pair(20, 18, 33, a="transposed"), pair(18, 20, 33, b="transposed"), pair(17, 19, 18, a="wide rows", b="wide rows"),
)  # fmt: skip


def launcher_with_names(left, right):
    raise AssertionError("not meant to be called")


PRODUCT = problem(
    lambda left, right: left.double() @ right.double(), CASES, launcher=launcher_with_names, tolerance=LOOSE,
    axes={"left": ("M", "K"), "right": ("K", "N"), "out": ("M", "N")},
)  # fmt: skip

# Absolute indices anew in each step, tiles of 8 × 16, names of its own: other code than the exercises have.
ANEW = '''
@triton.jit
def kernel(x, y, z, m, n, k, sx0, sx1, sy0, sy1, sz0, sz1, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i0 = tl.program_id(0) * BM
    j0 = tl.program_id(1) * BN
    i = i0 + tl.arange(0, BM)
    j = j0 + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, BK)):
        l = step * BK + tl.arange(0, BK)
        xs = tl.load(x + i[:, None] * sx0 + l[None, :] * sx1, mask=(i[:, None] < m) & (l[None, :] < k), other=0.0)
        ys = tl.load(y + l[:, None] * sy0 + j[None, :] * sy1, mask=(l[:, None] < k) & (j[None, :] < n), other=0.0)
        total += tl.dot(xs, ys, input_precision="ieee")
    tl.store(z + i[:, None] * sz0 + j[None, :] * sz1, total, mask=(i[:, None] < m) & (j[None, :] < n))


def product(left, right):
    m, k = left.shape
    n = right.shape[1]
    out = torch.empty((m, n), dtype=left.dtype)
    kernel[(triton.cdiv(m, 8), triton.cdiv(n, 16))](
        left, right, out, m, n, k, *left.stride(), *right.stride(), *out.stride(), BM=8, BN=16, BK=16
    )
    return out
'''

# One axis of programs, each with several tiles, pointers that move along: a persistent kernel.
PERSISTENT = '''
@triton.jit
def kernel(x, y, z, m, n, k, sx0, sx1, sy0, sy1, sz0, sz1, B: tl.constexpr):
    tiles_n = tl.cdiv(n, B)
    for tile in range(tl.program_id(0), tl.cdiv(m, B) * tiles_n, tl.num_programs(0)):
        i = tile // tiles_n * B + tl.arange(0, B)
        j = tile % tiles_n * B + tl.arange(0, B)
        l = tl.arange(0, B)
        total = tl.zeros((B, B), dtype=tl.float32)
        for start in range(0, k, B):
            xs = tl.load(x + i[:, None] * sx0 + (start + l)[None, :] * sx1, mask=(i[:, None] < m) & ((start + l)[None, :] < k), other=0.0)
            ys = tl.load(y + j[:, None] * sy1 + (start + l)[None, :] * sy0, mask=(j[:, None] < n) & ((start + l)[None, :] < k), other=0.0)
            total = tl.dot(xs, tl.trans(ys), total, input_precision="ieee")
        tl.store(z + i[:, None] * sz0 + j[None, :] * sz1, total, mask=(i[:, None] < m) & (j[None, :] < n))


def product(left, right):
    m, k = left.shape
    n = right.shape[1]
    out = torch.empty((m, n), dtype=left.dtype)
    kernel[(2,)](left, right, out, m, n, k, *left.stride(), *right.stride(), *out.stride(), B=16)
    return out
'''

# Rows and columns wrapped round instead of masked, as matmul is often written: what is loaded twice is never stored.
WRAPPED = ANEW.replace("i = i0 + tl.arange(0, BM)", "i = i0 + tl.arange(0, BM)\n    w = i % m").replace("x + i[:, None]", "x + w[:, None]").replace(
    "mask=(i[:, None] < m) & (l", "mask=(l"
)

# A grid of one axis, and the product's transpose stored through exchanged strides.
TURNED = ANEW.replace("tl.program_id(0) * BM", "tl.program_id(0) // tl.cdiv(n, BN) * BM").replace(
    "tl.program_id(1) * BN", "tl.program_id(0) % tl.cdiv(n, BN) * BN"
).replace("(triton.cdiv(m, 8), triton.cdiv(n, 16))", "(triton.cdiv(m, 8) * triton.cdiv(n, 16),)").replace(
    "tl.store(z + i[:, None] * sz0 + j[None, :] * sz1, total, mask=(i[:, None] < m) & (j[None, :] < n))",
    "tl.store(z + j[:, None] * sz1 + i[None, :] * sz0, tl.trans(total), mask=(j[:, None] < n) & (i[None, :] < m))",
)


def rejected(answer, given, code):
    result = check(answer, given)
    assert result.codes[:1] == (code,), result
    return result


def edited(folder, text, *edits):
    for before, after in edits:
        assert before in text, before
        text = text.replace(before, after)
    return cell(folder, text.lstrip()).product


@pytest.mark.parametrize("source", [ANEW, PERSISTENT, WRAPPED, TURNED], ids=["anew", "persistent", "wrapped", "turned"])
def test_right_kernels_written_in_other_ways_are_accepted(source, tmp_path):
    assert check(edited(tmp_path, source), PRODUCT).ok


START = "x + i[:, None] * sx0"
MISTAKES = {
    "lane_step": [
        ("sx0 for the columns", "next to each other", [("l[None, :] * sx1", "l[None, :] * 3")]),
        ("strides of the other operand", "that is a stride of", [("x + i[:, None] * sx0", "x + i[:, None] * sy0")]),
    ],
    "block_start": [
        ("start scaled twice", "twice", [(START, "x + (i0 * sx0 + tl.arange(0, BM))[:, None] * sx0")]),
        ("index of rows scaled", "twice", [("i = i0 + tl.arange", "i = i0 * sx0 + tl.arange")]),
        ("index of columns scaled", "is used as an index", [("j = j0 + tl.arange", "j = j0 * sx0 + tl.arange")]),
        ("start not scaled", "without the stride", [(START, "x + i0 + tl.arange(0, BM)[:, None] * sx0")]),
        ("pid alone", "the tile's number", [("tl.program_id(0) * BM", "tl.program_id(0)")]),
        ("no start", "the tile's own start is missing", [(START, "x + tl.arange(0, BM)[:, None] * sx0")]),
    ],
    "chunk_step": [
        ("chunk twice", "applied twice", [("x + i[:, None]", "x + step * BK * sx1 + i[:, None]")]),
        ("chunk twice down", "applied twice", [("y + l[:, None]", "y + step * BK * sy0 + l[:, None]")]),
        ("no chunk", "pointers do not move", [("x + i[:, None] * sx0 + l[None, :]", "x + i[:, None] * sx0 + tl.arange(0, BK)[None, :]")]),
        ("step not times BK", "multiply it by the size of a chunk, 16", [("l = step * BK", "l = step")]),
        ("step without stride", "added without the stride", [("y + l[:, None] * sy0", "y + step * BK + tl.arange(0, BK)[:, None] * sy0")]),
        ("growing", "longer than the one before", [("x + i[:, None]", "x + step * (step - 1) // 2 * BK * sx1 + i[:, None]")]),
        ("floor", "rounds down", [("tl.cdiv(k, BK)", "k // BK")]),
    ],
    "tile_map": [
        ("grid floor", "rounds down", [("triton.cdiv(m, 8)", "max(m // 8, 1)")]),
        ("one axis ignored", "does not depend on tl.program_id(1)", [("tl.program_id(1) * BN", "0 * BN")]),
        ("axes exchanged", "one of its axes for the other", [("tl.program_id(0)", "tl.program_id(2)"), ("tl.program_id(1)", "tl.program_id(0)"), ("tl.program_id(2)", "tl.program_id(1)")]),
    ],
    "mask": [
        ("mask within the block", "index within the block", [("total, mask=(i[:, None] < m)", "total, mask=(tl.arange(0, BM)[:, None] < m)")]),
        ("chunk mask within the chunk", "index within the block", [("(l[None, :] < k)", "(tl.arange(0, BK)[None, :] < k)")]),
        ("no K mask", "Both operands need it", [(" & (l[None, :] < k)", ""), ("(l[:, None] < k) & ", "")]),
        ("K mask in the left only", "Both operands need it", [("(l[:, None] < k) & ", "")]),
        ("K mask in the right only", "Both operands need it", [(" & (l[None, :] < k)", "")]),
        ("exchanged", "bounds of both axes are exchanged", [("total, mask=(i[:, None] < m) & (j[None, :] < n)", "total, mask=(i[:, None] < n) & (j[None, :] < m)")]),
        ("wrong bound", "along N with M", [("total, mask=(i[:, None] < m) & (j[None, :] < n)", "total, mask=(i[:, None] < m) & (j[None, :] < m)")]),
        ("one too many", "use `<`, not `<=`", [("total, mask=(i[:, None] < m)", "total, mask=(i[:, None] <= m)")]),
        ("whole blocks", "leaves out the last block", [("total, mask=(i[:, None] < m)", "total, mask=(i[:, None] < m // BM * BM)")]),
        ("no mask", "has no mask", [(", mask=(i[:, None] < m) & (j[None, :] < n))", ")")]),
    ],
}  # fmt: skip
ALL = [(code, *mistake) for code, mistakes in MISTAKES.items() for mistake in mistakes]


@pytest.mark.parametrize("code,name,says,edits", ALL, ids=[f"{m[0]}-{m[1]}" for m in ALL])
def test_each_mistake_is_named_with_its_place(code, name, says, edits, tmp_path):
    result = check(edited(tmp_path, ANEW, *edits), PRODUCT)
    assert result.codes == (code,), result
    reason = result.reasons[0]
    assert says in " ".join(reason.text.split()), result
    assert reason.program is not None and reason.line and reason.source and reason.arg in ("x", "y", "z") and reason.offset is not None
    assert reason.source.strip() in (tmp_path / "cell.py").read_text().splitlines()[reason.line - 1]


WRONG_OTHERWISE = {
    "minus": [("total += tl.dot", "total -= tl.dot")],
    "last chunk only": [("total += tl.dot", "total = tl.dot")],
    "scaled": [("total, mask", "total * 2, mask")],
    "rounded": [("total, mask", "total.to(tl.float16), mask")],
    "fill": [("other=0.0", "other=1.0")],
    "by torch": [("return out", "return out + 0")],
    "float16 result": [("dtype=left.dtype", "dtype=torch.float16")],
    "changed input": [("    kernel[", "    left += 1\n    kernel[")],
    "absolute": [("tl.dot(xs, ys", "tl.dot(tl.abs(xs), ys")],
}


@pytest.mark.parametrize("edits", WRONG_OTHERWISE.values(), ids=WRONG_OTHERWISE)
def test_what_is_wrong_otherwise_is_not_called_a_matter_of_tiles(edits, tmp_path):
    result = check(edited(tmp_path, ANEW, *edits), PRODUCT)
    assert not result.ok and not set(result.codes) & set(TILES), result


@pytest.mark.parametrize("source", [PERSISTENT, WRAPPED, TURNED], ids=["persistent", "wrapped", "turned"])
@pytest.mark.parametrize("edits", [[("total, mask", "total * 2, mask")], [("other=0.0", "other=1.0")]], ids=["scaled", "fill"])
def test_kernels_of_other_kinds_with_another_mistake_are_not_called_wrong_in_their_tiles(source, edits, tmp_path):
    edits = [(b if b in source else "tl.trans(total), mask", a if b in source else "tl.trans(total) * 2, mask") for b, a in edits]
    result = check(edited(tmp_path, source, *edits), PRODUCT)
    assert not result.ok and not set(result.codes) & set(TILES), result


def test_a_problem_that_names_no_axes_hears_nothing_of_tiles(tmp_path):
    plain = problem(PRODUCT.oracle, CASES, launcher=launcher_with_names, tolerance=LOOSE)
    for _, _, edits in MISTAKES["mask"][:3]:
        assert not set(check(edited(tmp_path, ANEW, *edits), plain).codes) & set(TILES)


# the mistakes that every text warns of, in the exercise of the grouped kernel, by what the reason says


CLASSIC = {
    "start_scaled_twice": "block_start",
    "start_without_stride": "block_start",
    "chunk_twice": "chunk_step",
    "mask_in_the_block": "mask",
    "not_clamped": "tile_map",
    "no_k_mask": "mask",
    "float16_accumulator": "precision",
}


@pytest.mark.parametrize("name,code", CLASSIC.items())
def test_the_classic_mistakes_are_among_the_kept_answers_of_the_grouped_kernel(name, code):
    kept = {k.path.stem: k.code for k in kept_answers() if k.exercise == "grouped_matmul.grouped"}
    assert kept[name] == code


# each judge by its code, for the list of all reasons


def test_each_code_of_tiles_once_more_by_its_name(tmp_path):
    rejected(edited(tmp_path, ANEW, ("l[None, :] * sx1", "l[None, :] * 3")), PRODUCT, "lane_step")
    rejected(edited(tmp_path, ANEW, (START, "x + i0 + tl.arange(0, BM)[:, None] * sx0")), PRODUCT, "block_start")
    rejected(edited(tmp_path, ANEW, ("tl.cdiv(k, BK)", "k // BK")), PRODUCT, "chunk_step")
    rejected(edited(tmp_path, ANEW, ("tl.program_id(1) * BN", "0 * BN")), PRODUCT, "tile_map")
    rejected(edited(tmp_path, ANEW, (" & (l[None, :] < k)", "")), PRODUCT, "mask")


# reading blocks


def test_blocks_know_their_tile_lanes_and_axes(tmp_path):
    answer = edited(tmp_path, ANEW)
    outcome = run_case(answer, PRODUCT, pair(20, 37, 19, b="transposed"), 0)
    blocks = blocks_of(outcome, PRODUCT)
    left = [b for b in blocks if b.arg.name == "x"]
    assert left[0].names == ("M", "K") and left[0].extents == (20, 19) and left[0].lanes == (8, 16) and not left[0].out
    assert {b.tile() for b in left} == {(i, k) for i in range(3) for k in range(2)}
    right = [b for b in blocks if b.arg.name == "y"]
    assert right[0].arg.strides == (1, 19) and right[0].lanes == (16, 16) and right[0].spread == (0, 1)
    stores = [b for b in blocks if b.out]
    assert sorted(tuple(b.inside().items()) for b in stores) == [(("M", i), ("N", j)) for i in range(3) for j in range(3)]


def test_a_matrix_of_one_column_is_not_read_at_all(tmp_path):
    """Both of its strides are 1: a step of 1 may be either."""
    outcome = run_case(edited(tmp_path, ANEW), PRODUCT, pair(9, 1, 1), 0)
    assert not [b for b in blocks_of(outcome, PRODUCT) if b.arg.name == "x"]


def test_a_wrong_order_that_reaches_every_tile_is_the_rule_of_its_exercise():
    exercise = lab.exercise("grouped_matmul.grouped")
    assert exercise.check(lambda a, b, GROUP_M: exercise.problem.launcher(a, b, 1)).codes == ("rule",)


def test_shared_memory_that_only_the_larger_gpu_has_is_refused_by_name(tmp_path):
    large = (pair(16, 16, 16),)
    given = problem(PRODUCT.oracle, large, launcher=launcher_with_names, tolerance=LOOSE, axes=PRODUCT.axes)
    text = [("BM=8, BN=16, BK=16", "BM=128, BN=128, BK=64, num_stages=4, num_warps=8")]
    reason = rejected(edited(tmp_path, ANEW, *text), given, "gpu_refuses").reasons[0]
    assert "shared memory" in reason.text and "That is sm_80; sm_90 would take it." in reason.text
