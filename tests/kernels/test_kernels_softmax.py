import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tritonlab as lab
from tritonlab import reference
from tritonlab.analysis import bytes_moved, output_coverage
from tritonlab.kernels.softmax import DTYPES, WIDEST_TILE, softmax, softmax_cost

FORMS = {"row": {"form": "row"}, "wide": {"form": "wide", "BLOCK_SIZE": 32}}
both_forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@both_forms
@pytest.mark.parametrize("shape", [(1, 1), (3, 31), (2, 32), (3, 33), (2, 64), (2, 97)], ids=str)
def test_every_width_around_a_block(form, shape, device, rand, agrees):
    x = rand(*shape, device=device, scale=3.0)
    out = softmax(x, **form)
    assert (out.shape, out.dtype, out.is_contiguous()) == (shape, x.dtype, True)
    agrees("softmax", out, reference.softmax(x))


@both_forms
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_every_dtype_with_flat_and_peaked_rows(form, dtype, scale, device, rand, agrees):
    x = rand(4, 100, dtype=dtype, device=device, scale=scale)
    agrees("softmax", softmax(x, **form), reference.softmax(x))


@both_forms
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_infinite_huge_and_nan_values_are_those_of_torch(form, dtype, device):
    inf, nan, top = float("inf"), float("nan"), torch.finfo(dtype).max
    pad = [0.0] * 66
    rows = [
        [-inf] * 70,
        [-inf, 0.0, 1.0, -inf] + pad,
        [inf, 0.0, 1.0, -inf] + pad,
        [inf, inf, 1.0, 2.0] + pad,
        [nan, 0.0, 1.0, 2.0] + pad,
        [nan] * 70,
        [top, -top, top, 0.0] + pad,
        [-top] * 70,
        [-inf] * 69 + [-top],
        [0.0, 89.0, 1.0, 700.0] + pad,
        [-200.0] * 70,
        pad[:35] + [1.0, 2.0, inf, nan, -inf] + pad[:30],
    ]
    x = torch.tensor(rows, dtype=dtype, device=device)
    expected = torch.softmax(x.float(), dim=-1).to(dtype)
    torch.testing.assert_close(softmax(x, **form), expected, rtol=2 * torch.finfo(dtype).eps, atol=1e-7, equal_nan=True)


@both_forms
@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=70), st.floats(-100, 100))
def test_rows_sum_to_one_and_a_shift_changes_nothing(form, values, shift):
    x = torch.tensor([values])
    out = softmax(x, **form)
    assert (out >= 0).all() and (out <= 1 + 1e-6).all()
    torch.testing.assert_close(out.double().sum(-1), torch.ones(1, dtype=torch.float64), rtol=0, atol=1e-5)
    shifted = torch.softmax((x.double() + shift).float().double(), dim=-1)
    torch.testing.assert_close(softmax(x + shift, **form).double(), shifted, rtol=1e-4, atol=1e-9)


@both_forms
def test_columns_may_be_permuted(form, rand):
    x = rand(2, 90)
    order = torch.randperm(90, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(softmax(x[:, order], **form), softmax(x, **form)[:, order], rtol=1e-5, atol=0)


@both_forms
def test_strided_rows_and_columns(form, device, rand, agrees):
    wide = rand(6, 80, device=device)
    for x in (wide[:, 3:40], wide[::2], wide[:, ::2], wide.t(), wide[:1].expand(5, 80), wide[:, :1].expand(6, 9)):
        more = {"form": "wide", "BLOCK_SIZE": 16} if form["form"] == "wide" else form
        agrees("softmax", softmax(x, **more), reference.softmax(x))


def test_a_row_of_a_wider_matrix_does_not_see_its_neighbours(device):
    x = torch.full((3, 40), 1000.0, device=device)
    x[:, 8:24] = 0.0
    assert (softmax(x[:, 8:24]) == 1 / 16).all()


@pytest.mark.parametrize("n_cols", [1, 3, 5, 70])
def test_the_wide_form_chooses_a_step_for_narrow_rows_too(n_cols, device, rand, agrees):
    x = rand(2, n_cols, device=device)
    agrees("softmax", softmax(x, form="wide"), reference.softmax(x))


def test_any_number_of_leading_dimensions(device, rand, agrees):
    for shape in ((5,), (2, 3, 5), (2, 1, 3, 5)):
        x = rand(*shape, device=device)
        out = softmax(x)
        assert out.shape == shape
        agrees("softmax", out, reference.softmax(x))


@pytest.mark.parametrize("shape", [(0, 5), (4, 0), (2, 0, 5), (2, 3, 0)], ids=str)
def test_nothing_in_nothing_out(shape, device):
    t = lab.trace(lambda: softmax(torch.empty(shape, device=device)))
    assert t.result.shape == shape
    assert t.launches == ()


def test_the_row_form_reads_once_and_the_wide_form_twice(rand):
    x = rand(3, 70)
    row, wide = (lab.trace(lambda: softmax(x, **form)) for form in FORMS.values())
    assert (row.launch.kernel, wide.launch.kernel) == ("softmax_kernel", "softmax_wide_kernel")
    for t, reads in ((row, 1.0), (wide, 2.0)):
        assert output_coverage(t, "out_ptr").complete
        traffic = bytes_moved(t)
        assert traffic.arg("x_ptr").redundancy == reads
        assert traffic.ideal == softmax_cost(x)[0] == 2 * 4 * 210


def test_rows_wider_than_a_tile_take_the_wide_form(rand, agrees):
    x = rand(1, WIDEST_TILE + 1)
    t = lab.trace(lambda: softmax(x))
    assert t.launch.kernel == "softmax_wide_kernel"
    agrees("softmax", t.result, reference.softmax(x))


def test_the_widest_rows_of_the_course(device, rand, agrees):
    x = rand(1, 131072, dtype=torch.bfloat16, device=device)
    agrees("softmax", softmax(x), reference.softmax(x))


def test_a_wrong_fill_would_be_outside_the_tolerance(rand, agrees):
    x = rand(4, 100)
    filled = torch.cat([x, torch.zeros(4, 28)], dim=-1)
    with pytest.raises(AssertionError):
        agrees("softmax", torch.softmax(filled, dim=-1)[:, :100], reference.softmax(x))


ok = torch.zeros(2, 100)


@pytest.mark.parametrize(
    "x, more, error, words",
    [
        ([1.0], {}, TypeError, "x must be a torch.Tensor; got list"),
        (ok.double(), {}, TypeError, "x must be one of float32, float16, bfloat16; got torch.float64"),
        (torch.tensor(1.0), {}, ValueError, r"x must have at least 1 dimension; got a tensor of shape \[\]"),
        (torch.zeros(2, 3, 4).transpose(0, 1), {}, ValueError, r"strides \[4, 12, 1\]; pass x.contiguous\(\)"),
        (ok, {"form": "rows"}, ValueError, "form must be \"row\" or \"wide\"; got 'rows'"),
        (ok, {"BLOCK_SIZE": 64}, ValueError, "BLOCK_SIZE must be at least 100 here; got 64"),
        (ok, {"BLOCK_SIZE": 100}, ValueError, "BLOCK_SIZE must be a power of two, .*; got 100"),
        (ok, {"BLOCK_SIZE": "128"}, TypeError, "BLOCK_SIZE must be an int; got '128'"),
        (ok, {"form": "wide", "BLOCK_SIZE": 2}, ValueError, "BLOCK_SIZE must be at least 4 here; got 2"),
        (ok, {"form": "wide", "BLOCK_SIZE": 0}, ValueError, "BLOCK_SIZE must be a power of two, .*; got 0"),
    ],
)
def test_wrong_arguments_are_named_with_what_they_are(x, more, error, words):
    with pytest.raises(error, match=words):
        softmax(x, **more)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(70000, 33), (512, 1024), (64, 12671), (16, 32768), (8, 131072)], ids=str)
def test_large_shapes_compiled(dtype, shape, only_gpu, agrees):
    x = torch.randn(shape, device=only_gpu).to(dtype)
    agrees("softmax", softmax(x), reference.softmax(x))
    agrees("softmax", softmax(x, form="wide"), reference.softmax(x))


@pytest.mark.gpu
def test_more_than_two_to_the_31_elements(only_gpu):
    x = torch.zeros(2**19 + 1, 2**12, device=only_gpu, dtype=torch.bfloat16)
    x[-1, 0] = 20.0
    out = softmax(x)
    assert out[-1, 0] == 1 and out[-1, 1] < 1e-8 and out[0, 0] == 2**-12
