import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import rms_norm

import tritonlab as lab
from tritonlab import reference
from tritonlab.analysis import bytes_moved, find_races, output_coverage
from tritonlab.kernels.rmsnorm import DTYPES, WIDEST_TILE, rmsnorm, rmsnorm_cost

FORMS = {"row": {"form": "row"}, "wide": {"form": "wide", "BLOCK_N": 32}}
both_forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@both_forms
@pytest.mark.parametrize("shape", [(1, 1), (3, 31), (2, 32), (3, 33), (2, 64), (2, 97)], ids=str)
def test_every_width_around_a_block(form, shape, device, rand, agrees):
    x, w = rand(*shape, device=device), rand(shape[-1], device=device)
    out = rmsnorm(x, w, **form)
    assert (out.shape, out.dtype, out.is_contiguous()) == (shape, x.dtype, True)
    agrees("rmsnorm", out, reference.rmsnorm(x, w))


@both_forms
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 300.0])
def test_every_dtype_with_small_and_large_values(form, dtype, scale, device, rand, agrees):
    x, w = rand(4, 100, dtype=dtype, device=device, scale=scale), rand(100, dtype=dtype, device=device)
    agrees("rmsnorm", rmsnorm(x, w, **form), reference.rmsnorm(x, w))


@pytest.mark.parametrize("BLOCK_M", [1, 2, 8])
@pytest.mark.parametrize("n_rows", [1, 2, 7, 8, 9])
def test_several_rows_a_program(BLOCK_M, n_rows, device, rand, agrees):
    x, w = rand(n_rows, 20, device=device), rand(20, device=device)
    agrees("rmsnorm", rmsnorm(x, w, BLOCK_M=BLOCK_M), reference.rmsnorm(x, w))


def test_sixteen_bit_squares_would_be_outside_the_tolerance(rand, agrees):
    x, w = rand(4, 100, dtype=torch.float16, scale=300.0), torch.ones(100, dtype=torch.float16)
    agrees("rmsnorm", rmsnorm(x, w), reference.rmsnorm(x, w))
    narrow = x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)
    with pytest.raises(AssertionError):
        agrees("rmsnorm", narrow, reference.rmsnorm(x, w))


@both_forms
@pytest.mark.parametrize("eps", [0.0, 1e-6, 1.0])
def test_eps_stands_inside_the_root(form, eps, device, rand, agrees):
    x, w = rand(3, 40, device=device), rand(40, device=device)
    out = rmsnorm(x, w, eps, **form)
    agrees("rmsnorm", out, reference.rmsnorm(x, w, eps))
    torch.testing.assert_close(out, rms_norm(x, (40,), w, eps), rtol=1e-5, atol=1e-6)


@both_forms
def test_zero_rows_and_huge_infinite_and_nan_values_follow_the_formula(form, device, agrees):
    inf, nan = float("inf"), float("nan")
    x = torch.zeros(5, 50, device=device)
    x[1, 3], x[2, 4], x[3], x[4] = inf, nan, 1e18, -3.0
    w = torch.ones(50, device=device)
    out = rmsnorm(x, w, **form)
    assert not out[0].any() and out[1, 3].isnan() and out[2].isnan().all()
    agrees("rmsnorm", out[1:2], reference.rmsnorm(x[1:2], w))
    agrees("rmsnorm", out[3:], reference.rmsnorm(x[3:], w))
    assert rmsnorm(x, w, 0.0, **form)[0].isnan().all()


@both_forms
@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.lists(st.floats(-10, 10, width=32, allow_subnormal=False), min_size=1, max_size=70), st.sampled_from([0.25, 2.0, 8.0]))
def test_scaling_a_row_changes_nothing_and_the_result_has_unit_mean_square(form, values, factor):
    x = torch.tensor([values])
    w = torch.ones(len(values))
    out = rmsnorm(x, w, 0.0, **form)
    if x.square().mean() < 1e-20:
        return
    torch.testing.assert_close(rmsnorm(x * factor, w, 0.0, **form), out, rtol=1e-6, atol=1e-36)
    torch.testing.assert_close(out.double().square().mean(), torch.tensor(1.0, dtype=torch.float64), rtol=1e-5, atol=0)


@both_forms
def test_strided_rows_columns_and_weight(form, device, rand, agrees):
    wide, w = rand(6, 80, device=device), rand(160, device=device)
    cases = [
        (wide[:, 3:40], w[:37]),
        (wide[::2], w[:80]),
        (wide[:, ::2], w[:80:2]),
        (wide.t(), w[:6]),
        (wide[:1].expand(5, 80), w[::2]),
        (wide, w[:1].expand(80)),
    ]
    for x, weight in cases:
        agrees("rmsnorm", rmsnorm(x, weight, **form), reference.rmsnorm(x, weight))


def test_weight_and_x_may_have_two_dtypes(device, rand, agrees):
    x, w = rand(3, 40, dtype=torch.bfloat16, device=device), rand(40, device=device)
    out = rmsnorm(x, w)
    assert out.dtype == torch.bfloat16
    agrees("rmsnorm", out, reference.rmsnorm(x, w))


@pytest.mark.parametrize("n_cols", [1, 3, 5, 70])
def test_the_wide_form_chooses_a_step_for_narrow_rows_too(n_cols, device, rand, agrees):
    x, w = rand(2, n_cols, device=device), rand(n_cols, device=device)
    agrees("rmsnorm", rmsnorm(x, w, form="wide"), reference.rmsnorm(x, w))


def test_any_number_of_leading_dimensions(device, rand, agrees):
    w = rand(5, device=device)
    for shape in ((5,), (2, 3, 5), (2, 1, 3, 5)):
        x = rand(*shape, device=device)
        out = rmsnorm(x, w)
        assert out.shape == shape
        agrees("rmsnorm", out, reference.rmsnorm(x, w))


@pytest.mark.parametrize("shape", [(0, 5), (4, 0), (2, 3, 0)], ids=str)
def test_nothing_in_nothing_out(shape, device):
    t = lab.trace(lambda: rmsnorm(torch.empty(shape, device=device), torch.empty(shape[-1], device=device)))
    assert t.result.shape == shape
    assert t.launches == ()


def test_traffic_of_both_forms(rand):
    x, w = rand(4, 70), rand(70)
    row = lab.trace(lambda: rmsnorm(x, w, BLOCK_M=2))
    wide = lab.trace(lambda: rmsnorm(x, w, **FORMS["wide"]))
    assert (row.launch.kernel, wide.launch.kernel) == ("rmsnorm_kernel", "rmsnorm_wide_kernel")
    assert (row.launch.programs, wide.launch.programs) == (2, 4)
    for t, x_reads, w_reads in ((row, 1.0, 2.0), (wide, 2.0, 4.0)):
        assert output_coverage(t, "out_ptr").complete and not find_races(t)
        traffic = bytes_moved(t)
        assert (traffic.arg("x_ptr").redundancy, traffic.arg("w_ptr").redundancy) == (x_reads, w_reads)
        assert traffic.ideal == rmsnorm_cost(x, w)[0] == 4 * (280 + 70 + 280)


def test_rows_wider_than_a_tile_take_the_wide_form(rand, agrees):
    x, w = rand(1, WIDEST_TILE + 1), rand(WIDEST_TILE + 1)
    t = lab.trace(lambda: rmsnorm(x, w))
    assert t.launch.kernel == "rmsnorm_wide_kernel"
    agrees("rmsnorm", t.result, reference.rmsnorm(x, w))


def test_the_widest_rows_of_the_course(device, rand, agrees):
    x, w = rand(1, 131072, dtype=torch.bfloat16, device=device), rand(131072, dtype=torch.bfloat16, device=device)
    agrees("rmsnorm", rmsnorm(x, w), reference.rmsnorm(x, w))


def test_the_mean_divides_by_the_true_length(rand, agrees):
    x, w = rand(4, 100), torch.ones(100)
    by_block = x * torch.rsqrt(x.square().sum(-1, keepdim=True) / 128)
    with pytest.raises(AssertionError):
        agrees("rmsnorm", by_block, reference.rmsnorm(x, w))


ok, w = torch.zeros(2, 100), torch.zeros(100)


@pytest.mark.parametrize(
    "args, more, error, words",
    [
        ((ok, None), {}, TypeError, "weight must be a torch.Tensor; got NoneType"),
        ((ok.int(), w), {}, TypeError, "x must be one of float32, float16, bfloat16; got torch.int32"),
        ((ok, w.double()), {}, TypeError, "weight must be one of .*; got torch.float64"),
        ((torch.tensor(1.0), w), {}, ValueError, r"x must have at least 1 dimension; got a tensor of shape \[\]"),
        ((ok, w[:4]), {}, ValueError, r"weight must have shape \[100\], .* x \[2, 100\]; got \[4\]"),
        ((ok, w, -1.0), {}, ValueError, "eps must be at least 0; got -1.0"),
        ((ok, w, float("nan")), {}, ValueError, "eps must be at least 0; got nan"),
        ((ok, w), {"form": "tall"}, ValueError, "form must be \"row\" or \"wide\"; got 'tall'"),
        ((ok, w), {"BLOCK_N": 64}, ValueError, "BLOCK_N must be at least 100 here; got 64"),
        ((ok, w), {"BLOCK_M": 3}, ValueError, "BLOCK_M must be a power of two, .*; got 3"),
        ((ok, w), {"form": "wide", "BLOCK_M": 2}, ValueError, 'BLOCK_M must be 1 with form="wide"; got 2'),
    ],
)
def test_wrong_arguments_are_named_with_what_they_are(args, more, error, words):
    with pytest.raises(error, match=words):
        rmsnorm(*args, **more)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(70001, 33), (512, 1024), (64, 12671), (16, 32768), (8, 131072)], ids=str)
def test_large_shapes_compiled(dtype, shape, only_gpu, agrees):
    x, weight = torch.randn(shape, device=only_gpu).to(dtype), torch.randn(shape[-1], device=only_gpu).to(dtype)
    agrees("rmsnorm", rmsnorm(x, weight), reference.rmsnorm(x, weight))
    agrees("rmsnorm", rmsnorm(x, weight, form="wide"), reference.rmsnorm(x, weight))


@pytest.mark.gpu
def test_more_than_two_to_the_31_elements(only_gpu):
    x = torch.ones(2**19 + 1, 2**12, device=only_gpu, dtype=torch.bfloat16)
    out = rmsnorm(x, torch.full((2**12,), 2.0, device=only_gpu, dtype=torch.bfloat16))
    assert (out[-1] == 2).all() and (out[0] == 2).all()
