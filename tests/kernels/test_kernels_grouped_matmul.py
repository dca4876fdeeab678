import itertools

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import tritonlab as lab
from tritonlab import reference
from tritonlab.kernels import grouped_matmul as module
from tritonlab.kernels.grouped_matmul import autotuned_matmul, grouped_matmul, grouped_matmul_cost, grouped_pid
from tritonlab.kernels.matmul import DTYPES, matmul, matmul_cost
from tritonlab.kernels.matmul_shapes import CONFIGS, fitting_configs, row_multiple
from tritonlab.kernels.padding import fill_up, pays_to_pad, reads_wide
from tritonlab.runtime import capture

TILE = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16}


# the order


@triton.jit
def orders_kernel(pid_ptr, m_ptr, n_ptr, group_ptr, out_m_ptr, out_n_ptr, n_elements, BLOCK: tl.constexpr):
    """The tile of every pid of every order: a block of pids, each with a grid and a GROUP_M of its own."""
    offs = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n_elements
    pid, num_pid_m = tl.load(pid_ptr + offs, mask=mask, other=0), tl.load(m_ptr + offs, mask=mask, other=1)
    num_pid_n, GROUP_M = tl.load(n_ptr + offs, mask=mask, other=1), tl.load(group_ptr + offs, mask=mask, other=1)
    pid_m, pid_n = grouped_pid(pid, num_pid_m, num_pid_n, GROUP_M)
    tl.store(out_m_ptr + offs, pid_m, mask=mask)
    tl.store(out_n_ptr + offs, pid_n, mask=mask)


@triton.jit
def order_kernel(out_ptr, num_pid_m, num_pid_n, GROUP_M: tl.constexpr):
    """out[pid_m, pid_n] = pid, one program a pid."""
    pid = tl.program_id(axis=0)
    pid_m, pid_n = grouped_pid(pid, num_pid_m, num_pid_n, GROUP_M)
    tl.store(out_ptr + pid_m * num_pid_n + pid_n, pid)


def by_block(pids, num_pid_m, num_pid_n, group, device):
    """pid_m and pid_n of many pids, as arrays; all four arguments are arrays of one length."""
    given = [torch.from_numpy(np.ascontiguousarray(x, dtype=np.int32)).to(device) for x in (pids, num_pid_m, num_pid_n, group)]
    out = [torch.full_like(given[0], -1) for _ in range(2)]
    n = given[0].numel()
    block = 16384 if device == "cpu" else 1024
    orders_kernel[(triton.cdiv(n, block),)](*given, *out, n, BLOCK=block)
    return [x.cpu().numpy() for x in out]


def test_every_order_visits_every_tile_once_and_runs_from_row_major_to_column_major(device):
    combinations = list(itertools.product(range(1, 13), repeat=3))
    sizes = np.array([m * n for m, n, _ in combinations])
    ends = np.cumsum(sizes)
    pids = np.concatenate([np.arange(size) for size in sizes])
    of_each = [np.repeat([c[i] for c in combinations], sizes) for i in range(3)]
    pid_m, pid_n = by_block(pids, *of_each, device)
    for (num_pid_m, num_pid_n, group), end, size in zip(combinations, ends, sizes):
        tiles = pid_m[end - size : end] * num_pid_n + pid_n[end - size : end]
        assert np.array_equal(np.sort(tiles), np.arange(size)), (num_pid_m, num_pid_n, group)
        if group == 1:
            assert np.array_equal(tiles, np.arange(size)), "row-major"
        if group >= num_pid_m:
            assert np.array_equal(tiles, np.arange(size).reshape(num_pid_m, num_pid_n).T.ravel()), "column-major"


@pytest.mark.parametrize("grid", [(1, 1, 1), (5, 4, 3), (3, 5, 2), (7, 2, 4), (4, 3, 8), (3, 4, 1)], ids=str)
def test_one_program_a_pid_gives_the_same_order_as_a_block_of_pids(grid, device):
    num_pid_m, num_pid_n, group = grid
    out = torch.full((num_pid_m, num_pid_n), -1, dtype=torch.int32, device=device)
    order_kernel[(num_pid_m * num_pid_n,)](out, num_pid_m, num_pid_n, GROUP_M=group)
    pids = np.arange(num_pid_m * num_pid_n)
    pid_m, pid_n = by_block(pids, *(np.full_like(pids, n) for n in grid), device)
    assert np.array_equal(out.cpu().numpy()[pid_m, pid_n], pids)


def test_a_group_goes_down_its_rows_then_right_and_the_last_group_is_ragged():
    pids = np.arange(15)
    pid_m, pid_n = by_block(pids, *(np.full(15, n) for n in (5, 3, 2)), "cpu")
    assert list(zip(pid_m, pid_n))[:8] == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 0), (3, 0)]
    assert list(zip(pid_m, pid_n))[12:] == [(4, 0), (4, 1), (4, 2)]


def test_the_classic_count_of_loads_of_the_first_nine_programs():
    """9 × 9 tiles, 9 steps of K: each program loads 9 tiles of A and 9 of B; a tile that several load counts once."""
    pids = np.arange(9)
    for group, loads in ((1, 90), (3, 54)):
        pid_m, pid_n = by_block(pids, *(np.full(9, n) for n in (9, 9, group)), "cpu")
        assert 9 * (len(set(pid_m)) + len(set(pid_n))) == loads


def test_the_largest_grids_stay_within_32_bits(device):
    last = 2**31 - 1
    for num_pid_m, num_pid_n, group in ((2**15, 2**16 - 1, 8), (2**31 - 1, 1, 8), (1, 2**31 - 1, 1), (46340, 46340, 46340)):
        pids = np.array([0, num_pid_m * num_pid_n // 2, num_pid_m * num_pid_n - 1])
        assert pids[-1] <= last
        pid_m, pid_n = by_block(pids, *(np.full(3, n) for n in (num_pid_m, num_pid_n, group)), device)
        assert (pid_m[0], pid_n[0]) == (0, 0) and (pid_m[-1], pid_n[-1]) == (num_pid_m - 1, num_pid_n - 1)
        assert 0 <= pid_m[1] < num_pid_m and 0 <= pid_n[1] < num_pid_n


# the product


@pytest.mark.parametrize("GROUP_M", [1, 2, 3, 8, 100])
@pytest.mark.parametrize("size", [(1, 1, 1), (15, 17, 16), (33, 18, 31), (37, 50, 17)], ids=str)
def test_every_group_gives_the_tiled_product_to_the_bit(size, GROUP_M, device, rand, agrees):
    M, N, K = size
    a, b = rand(M, K, device=device), rand(K, N, device=device)
    out = grouped_matmul(a, b, GROUP_M=GROUP_M, **TILE)
    assert out.is_contiguous() and torch.equal(out, matmul(a, b, **TILE))
    agrees("grouped_matmul", out, reference.grouped_matmul(a, b), K=K)


FORMS = {
    "grouped": lambda a, b, **more: grouped_matmul(a, b, **TILE, **more),
    "padded": lambda a, b, **more: grouped_matmul(a, b, pad=True, **TILE, **more),
    "autotuned": autotuned_matmul,
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@every_form
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_form_in_every_dtype_and_layout(form, dtype, device, rand, agrees):
    wide = rand(64, 80, device=device, dtype=dtype)
    b = wide[20:55, 10:28]
    for a in (wide[:20, :35], rand(35, 20, device=device, dtype=dtype).t(), wide[:40:2, :70:2], wide[:1, :35].expand(20, 35)):
        out = form(a, b)
        assert (out.shape, out.dtype, out.is_contiguous()) == ((20, 18), dtype, True)
        agrees("grouped_matmul", out, reference.matmul(a, b), K=35)
    agrees("grouped_matmul", form(b.t(), wide[:20, :35].t(), out_dtype=torch.float32), reference.matmul(b.t(), wide[:20, :35].t()), K=35)


@every_form
def test_empty_products_and_sums_of_nothing(form, device):
    for M, N, K in ((0, 5, 3), (5, 0, 3)):
        t = lab.trace(lambda: form(torch.empty(M, K, device=device), torch.empty(K, N, device=device)))
        assert t.result.shape == (M, N) and t.launches == ()
    out = form(torch.empty(17, 0, device=device), torch.empty(0, 33, device=device))
    assert out.shape == (17, 33) and (out == 0).all()


@every_form
def test_no_form_sees_what_lies_beside_its_operands(form, device):
    a, b = (torch.full((60, 60), float("nan"), device=device) for _ in range(2))
    a[5:22, 7:30], b[9:32, 3:20] = 1.0, 2.0
    assert (form(a[5:22, 7:30], b[9:32, 3:20]) == 46).all()


def test_the_grid_has_one_axis_and_may_be_wider_than_a_2d_grid_could():
    t = lab.trace(lambda: grouped_matmul(torch.ones(33, 4), torch.ones(4, 50), **TILE))
    assert (t.launch.kernel, t.launch.grid) == ("grouped_matmul_kernel", (12, 1, 1))
    with capture() as launches:
        grouped_matmul(torch.zeros(1, 1), torch.zeros(1, 1).expand(1, 2**20), BLOCK_N=8)
    assert launches[0].grid == (2**17, 1, 1)


def test_group_m_times_the_columns_of_tiles_is_kept_within_32_bits():
    a, b = torch.zeros(40, 1), torch.zeros(1, 1).expand(1, 2**20)
    for group, taken in ((8, 8), (2**14, 3), (2**30, 3)):
        with capture() as launches:
            grouped_matmul(a, b, BLOCK_M=16, BLOCK_N=8, GROUP_M=group)
        assert launches[0].arguments["GROUP_M"] == taken


ok = torch.zeros(6, 8)


@pytest.mark.parametrize(
    "more, error, words",
    [
        ({"GROUP_M": 0}, ValueError, "GROUP_M must be at least 1; got 0"),
        ({"GROUP_M": 2.0}, TypeError, "GROUP_M must be an int; got 2.0"),
        ({"GROUP_M": True}, TypeError, "GROUP_M must be an int; got True"),
        ({"BLOCK_M": 24}, ValueError, "BLOCK_M must be a power of two, .*; got 24"),
        ({"input_precision": "half"}, ValueError, "input_precision must be one of ieee, tf32, tf32x3; got 'half'"),
    ],
)
def test_wrong_arguments_are_named_with_what_they_are(more, error, words):
    with pytest.raises(error, match=words):
        grouped_matmul(ok, ok.t(), **more)


def test_wrong_operands_are_named_by_every_form():
    for form in FORMS.values():
        with pytest.raises(ValueError, match=r"as many columns of a as rows of b; got shapes \[6, 8\] and \[6, 8\]"):
            form(ok, ok)
        with pytest.raises(ValueError, match="M must be at most .* as the kernel counts in 32 bits; got 4,294,967,296"):
            form(torch.zeros(1, 1).expand(2**32, 1), torch.zeros(1, 1))


def test_more_tiles_than_a_grid_holds_are_refused():
    a, b = torch.zeros(1, 1, device="meta").expand(2**20, 1), torch.zeros(1, 1, device="meta").expand(1, 2**20)
    with pytest.raises(ValueError, match="BLOCK_M and BLOCK_N must be larger: 8 × 16 makes 8,589,934,592 tiles of 1,048,576 × 1,048,576"):
        grouped_matmul(a, b, BLOCK_M=8, BLOCK_N=16)


def test_cost_is_that_of_a_product(rand):
    assert grouped_matmul_cost(rand(4, 5), rand(5, 6)) == matmul_cost(rand(4, 5), rand(5, 6))


# padding


def test_a_matrix_is_filled_up_with_zeros_and_keeps_its_layout(device, rand):
    x = rand(5, 40, device=device)
    out = fill_up(x, 16, 48)
    assert torch.equal(out[:5, :40], x) and not out[5:].any() and not out[:, 40:].any() and out.stride() == (48, 1)
    out = fill_up(x.t(), 48, 16)
    assert torch.equal(out[:40, :5], x.t()) and not out[40:].any() and not out[:, 5:].any() and out.stride() == (1, 48)
    assert torch.equal(fill_up(x[:, ::3], 16, 16)[:5, :14], x[:, ::3])


def test_a_matrix_of_whole_aligned_tiles_is_not_copied(rand):
    x = rand(32, 64)
    assert fill_up(x, 32, 64) is x
    transposed = x.t()
    assert fill_up(transposed, 64, 32) is transposed
    assert fill_up(x[:, 1:33], 32, 32) is not x and fill_up(x, 48, 64) is not x


def on_paper(*shape, dtype=torch.bfloat16):
    return torch.empty(*shape, dtype=dtype, device="meta")


@pytest.mark.parametrize(
    "a, b, dtype, pays",
    [
        ((8191, 2049), (2049, 4097), torch.bfloat16, True),
        ((4096, 4096), (4096, 4096), torch.bfloat16, False),  # aligned
        ((4096, 4096), (4096, 4100), torch.bfloat16, True),  # b is not
        ((4096, 4096), (4096, 4104), torch.bfloat16, True),  # rows begin on 16 bytes, but not on cache lines
        ((1000, 1000), (1000, 1000), torch.bfloat16, False),  # the same, but over before two copies are
        ((4095, 4096), (4096, 4096), torch.bfloat16, False),  # rows are whole, only their number is odd
        ((4097, 4097), (4097, 4097), torch.float32, False),  # float32 has no fast dot to feed
        ((33, 4097), (4097, 40001), torch.bfloat16, False),  # b would be copied for 33 rows
        ((700, 701), (701, 701), torch.bfloat16, False),  # over before two copies are
    ],
)
def test_padding_pays_for_large_16_bit_operands_that_cannot_be_read_widely(a, b, dtype, pays):
    a, b = on_paper(*a, dtype=dtype), on_paper(*b, dtype=dtype)
    assert pays_to_pad(a, b) is pays
    with capture() as launches:
        grouped_matmul(a, b)
    assert (launches[-1].jit.fn.__name__ == "whole_tiles_kernel") is pays
    with capture() as launches:
        grouped_matmul(a, b, pad=not pays)
    assert (launches[-1].jit.fn.__name__ == "whole_tiles_kernel") is not pays


def test_what_can_be_read_widely():
    x = on_paper(64, 64)
    assert reads_wide(x) and reads_wide(x.t()) and reads_wide(x[:, :48])
    assert not reads_wide(x[:, :47]) and not reads_wide(x[:, ::2]) and not reads_wide(on_paper(64, 65)[:, :64])


@pytest.mark.parametrize(
    "a, b, dtype, multiple",
    [
        ((1000, 1000), (1000, 1000), torch.bfloat16, 8),
        ((33, 1000), (1000, 1024), torch.bfloat16, 8),  # the number of rows does not matter
        ((1024, 1024), (1024, 1024), torch.bfloat16, 1),  # Triton sees that itself
        ((1000, 1001), (1001, 1000), torch.bfloat16, 1),
        ((1000, 1000), (1000, 1004), torch.bfloat16, 1),  # 8 bytes
        ((1000, 1004), (1004, 1004), torch.float32, 4),
    ],
)
def test_rows_of_whole_16_bytes_are_seen_and_need_no_copy(a, b, dtype, multiple):
    a, b = on_paper(*a, dtype=dtype), on_paper(*b, dtype=dtype)
    assert row_multiple(a, b) == multiple
    assert row_multiple(a, b.t().contiguous().t()) == row_multiple(a[:, ::2], b[::2]) == 1
    if multiple > 1:
        assert not pays_to_pad(a, b)


def test_what_is_known_of_rows_changes_no_number(device, rand, agrees):
    for dtype, K, N in ((torch.float16, 40, 24), (torch.float32, 36, 20)):
        a, b = rand(19, K, dtype=dtype, device=device), rand(K, N, dtype=dtype, device=device)
        assert row_multiple(a, b) > 1
        for out in (matmul(a, b, **TILE), grouped_matmul(a, b, **TILE), autotuned_matmul(a, b)):
            agrees("matmul", out, reference.matmul(a, b), K=K)


def test_padding_changes_no_bit_of_the_product(rand):
    a, b = rand(37, 41), rand(41, 29)
    assert torch.equal(grouped_matmul(a, b, pad=True, **TILE), grouped_matmul(a, b, pad=False, **TILE))


# autotuning


def fitting(M, N, K, dtype=torch.bfloat16, precision="ieee"):
    return fitting_configs(CONFIGS, {"M": M, "N": N, "K": K, "a_ptr": on_paper(1, dtype=dtype)}, INPUT_PRECISION=precision)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("precision", ["ieee", "tf32"])
def test_some_candidates_are_left_for_every_shape_and_none_that_cannot_fit(dtype, precision):
    for M, N, K in itertools.product((1, 16, 100, 1000, 16384), repeat=3):
        left = fitting(M, N, K, dtype, precision)
        assert 1 <= len(left) <= len(CONFIGS) and left == [c for c in CONFIGS if c in left]
        for c in left:
            meta = c.kwargs
            assert (meta["BLOCK_M"] + meta["BLOCK_N"]) * meta["BLOCK_K"] * dtype.itemsize * c.num_stages <= 227 * 1024
            assert meta["BLOCK_M"] < max(32, 2 * M) and meta["BLOCK_N"] < max(32, 2 * N)
            if dtype is torch.float32 and precision == "ieee":
                assert meta["BLOCK_M"] * meta["BLOCK_N"] <= 4096


def test_large_products_get_large_tiles_and_small_ones_tiles_that_keep_the_sms_busy():
    def areas(left):
        return {c.kwargs["BLOCK_M"] * c.kwargs["BLOCK_N"] for c in left}

    assert max(areas(fitting(8192, 8192, 8192))) == 128 * 256 and min(areas(fitting(8192, 8192, 8192))) >= 64 * 64
    assert max(areas(fitting(512, 512, 512))) <= 64 * 64
    assert len(fitting(8192, 8192, 8192)) < len(CONFIGS)


def test_on_the_cpu_the_first_candidate_that_fits_is_taken(rand, agrees):
    a, b = rand(40, 70), rand(70, 33)
    t = lab.trace(lambda: autotuned_matmul(a, b))
    first = fitting(40, 33, 70, torch.float32)[0]
    assert t.launch.kernel == "grouped_matmul_kernel"
    assert {name: t.launch.meta[name] for name in first.kwargs} == first.kwargs
    agrees("matmul", t.result, reference.matmul(a, b), K=70)


def test_what_makes_another_kernel_is_in_the_key():
    assert set(module.tuned_matmul_kernel.keys) == {"M", "N", "K", "stride_am", "stride_ak", "stride_bk", "stride_bn", "INPUT_PRECISION"}


@pytest.mark.gpu
def test_the_winner_is_kept_for_its_key(only_gpu, agrees):
    a, b = (torch.randn(512, 512, device=only_gpu, dtype=torch.bfloat16) for _ in range(2))
    before = len(module.tuned_matmul_kernel.cache)
    for _ in range(2):
        agrees("matmul", autotuned_matmul(a, b), reference.matmul(a, b), K=512)
    assert len(module.tuned_matmul_kernel.cache) == before + 1
    agrees("matmul", autotuned_matmul(a.t(), b), reference.matmul(a.t(), b), K=512)
    assert len(module.tuned_matmul_kernel.cache) == before + 2


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES[1:], ids=str)
@pytest.mark.parametrize("size", [(2048, 2048, 2048), (2047, 2049, 2047), (1000, 1000, 1000), (8191, 4097, 2049)], ids=str)
def test_large_shapes_compiled(dtype, size, only_gpu, agrees):
    M, N, K = size
    a, b = torch.randn(M, K, device=only_gpu).to(dtype), torch.randn(K, N, device=only_gpu).to(dtype)
    exact = reference.matmul(a, b)
    out = grouped_matmul(a, b, pad=False)
    agrees("matmul", out, exact, K=K)
    assert torch.equal(out, matmul(a, b))
    for more in ({}, {"pad": True}):
        agrees("matmul", grouped_matmul(a, b, **more), exact, K=K)
    if dtype is torch.bfloat16:
        agrees("matmul", autotuned_matmul(a, b), exact, K=K)
