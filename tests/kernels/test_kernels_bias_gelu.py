import pytest
import torch
from torch.nn.functional import gelu

import tritonlab as lab
from tritonlab import reference
from tritonlab.analysis import bytes_moved, output_coverage
from tritonlab.kernels.bias_gelu import DTYPES, bias_gelu, bias_gelu_cost, bias_gelu_op_by_op, no_flat

FORMS = ["flat", "wrapped", "2d"]
BLOCK = 64


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(1, 1), (3, BLOCK - 1), (2, BLOCK), (3, BLOCK + 1), (7, 13), (5, 97)], ids=str)
def test_every_width_around_a_block(form, shape, device, rand, agrees):
    x, bias = rand(*shape, device=device), rand(shape[-1], device=device)
    block = min(BLOCK, 1 << (shape[-1].bit_length() - 1)) if form == "wrapped" else BLOCK
    out = bias_gelu(x, bias, form=form, BLOCK_SIZE=block)
    assert (out.shape, out.dtype, out.is_contiguous()) == (shape, x.dtype, True)
    agrees("bias_gelu", out, reference.bias_gelu(x, bias))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_every_dtype_near_and_far_from_zero(form, dtype, scale, device, rand, agrees):
    x, bias = rand(4, 48, dtype=dtype, device=device, scale=scale), rand(48, dtype=dtype, device=device)
    agrees("bias_gelu", bias_gelu(x, bias, form=form), reference.bias_gelu(x, bias))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_huge_infinite_and_nan_values_are_those_of_torch(dtype, device):
    inf, top = float("inf"), torch.finfo(dtype).max
    x = torch.tensor([-inf, -top, -100.0, -12.0, -1.0, -0.0, 0.0, 1.0, 12.0, 100.0, top, inf, float("nan")], dtype=dtype, device=device)
    out = bias_gelu(x, torch.zeros_like(x))
    expected = gelu(x.double(), approximate="tanh").to(dtype)
    torch.testing.assert_close(out, expected, rtol=torch.finfo(dtype).eps, atol=1e-6, equal_nan=True)
    assert out[1] == 0 and out[-3] == x[-3] and not out[1:-2].isinf().any()


def test_the_oracle_is_the_tanh_form_of_torch():
    x = torch.linspace(-8, 8, 1001, dtype=torch.float64)
    theirs = gelu(x, approximate="tanh")
    torch.testing.assert_close(reference.bias_gelu(x, torch.zeros(1)), theirs, rtol=1e-12, atol=1e-14)
    assert (theirs - gelu(x)).abs().max() > 1e-4


@pytest.mark.parametrize("form", FORMS)
def test_sixteen_bit_arithmetic_would_be_outside_the_tolerance(form, rand, agrees):
    x, bias = rand(4, 64, dtype=torch.bfloat16), rand(64, dtype=torch.bfloat16)
    agrees("bias_gelu", bias_gelu(x, bias, form=form), reference.bias_gelu(x, bias))
    with pytest.raises(AssertionError):
        agrees("bias_gelu", gelu(x + bias, approximate="tanh"), reference.bias_gelu(x, bias))


def test_strided_rows_columns_and_bias(device, rand, agrees):
    wide = rand(6, 80, device=device)
    bias = rand(80, device=device)
    cases = {
        "a slice of columns": (wide[:, 3:40], bias[:37]),
        "every other row": (wide[::2], bias),
        "every other column": (wide[:, ::2], bias[::2]),
        "a transposed matrix": (wide.t(), bias[:6]),
        "one row repeated": (wide[:1].expand(5, 80), bias),
        "one bias repeated": (wide, bias[:1].expand(80)),
        "one value repeated": (wide[:1, :1].expand(4, 8), bias[:8]),
    }
    for name, (x, b) in cases.items():
        agrees("bias_gelu", bias_gelu(x, b, BLOCK_SIZE=16), reference.bias_gelu(x, b))


def test_any_number_of_leading_dimensions(device, rand, agrees):
    bias = rand(5, device=device)
    for shape in ((5,), (2, 3, 5), (2, 1, 3, 5)):
        x = rand(*shape, device=device)
        out = bias_gelu(x, bias)
        assert out.shape == shape
        agrees("bias_gelu", out, reference.bias_gelu(x, bias))


@pytest.mark.parametrize("shape", [(0, 5), (4, 0), (2, 0, 5)], ids=str)
def test_nothing_in_nothing_out(shape, device):
    t = lab.trace(lambda: bias_gelu(torch.empty(shape, device=device), torch.empty(shape[-1], device=device)))
    assert t.result.shape == shape
    assert t.launches == ()


KERNELS = {"flat": "bias_gelu_kernel", "wrapped": "bias_gelu_wrapped_kernel", "2d": "bias_gelu_2d_kernel"}


@pytest.mark.parametrize("form, kernel", KERNELS.items(), ids=KERNELS)
def test_each_form_runs_its_kernel_and_covers_the_output_once(form, kernel, rand):
    x, bias = rand(3, 50), rand(50)
    t = lab.trace(lambda: bias_gelu(x, bias, form=form, BLOCK_SIZE=32))
    assert t.launch.kernel == kernel
    assert output_coverage(t, "out_ptr").complete
    traffic = bytes_moved(t)
    assert traffic.ideal == bias_gelu_cost(x, bias)[0] == 4 * (150 + 50 + 150)
    assert traffic.arg("x_ptr").redundancy == 1.0 and traffic.arg("bias_ptr").redundancy == 3.0


def test_the_form_follows_alignment_and_layout(rand):
    def kernel(x, bias):
        return lab.trace(lambda: bias_gelu(x, bias)).launch.kernel

    x, bias = rand(4, 1024), rand(1024)
    assert kernel(x, bias) == "bias_gelu_kernel"
    assert kernel(x[:, :1022].contiguous(), bias[:1022]) == "bias_gelu_wrapped_kernel"
    assert kernel(x[:, :30].contiguous(), bias[:30]) == "bias_gelu_kernel"
    assert kernel(x[:, :1008], bias[:1008]) == "bias_gelu_2d_kernel"
    assert kernel(x.t()[:8], bias[:4]) == "bias_gelu_2d_kernel"


@pytest.mark.parametrize("form", ["flat", "wrapped"])
def test_the_forms_for_one_long_vector_say_what_they_cannot_do(form):
    x, bias = torch.zeros(4, 32), torch.zeros(32)
    with pytest.raises(ValueError, match=rf"form='{form}' needs a contiguous x; got shape \[4, 16\] with strides \[32, 1\]"):
        bias_gelu(x[:, :16], bias[:16], form=form)
    with pytest.raises(ValueError, match=f"form='{form}' needs a contiguous bias"):
        bias_gelu(x[:, :16].contiguous(), bias[::2], form=form)
    huge, wide = torch.empty(2**16, 2**15, device="meta"), torch.empty(2**15, device="meta")
    assert no_flat(huge, wide) == "counts in 32 bits, up to 2,146,435,072 elements; got 2,147,483,648"


def test_op_by_op_writes_the_sum_and_reads_it_again(rand, agrees):
    x, bias = rand(3, 50), rand(50)
    t = lab.trace(lambda: bias_gelu_op_by_op(x, bias))
    assert [launch.kernel for launch in t.launches] == ["add_bias_kernel", "gelu_kernel"]
    assert sum(bytes_moved(launch).moved for launch in t.launches) == 4 * (5 * 150)
    agrees("bias_gelu", t.result, reference.bias_gelu(x, bias))
    with pytest.raises(ValueError, match="add_bias needs a contiguous x"):
        bias_gelu_op_by_op(x.t(), bias[:3])


ok, bias = torch.zeros(2, 4), torch.zeros(4)


@pytest.mark.parametrize(
    "args, more, error, words",
    [
        ((ok, None), {}, TypeError, "bias must be a torch.Tensor; got NoneType"),
        ((ok.double(), bias), {}, TypeError, "x must be one of float32, float16, bfloat16; got torch.float64"),
        ((ok, bias.int()), {}, TypeError, "bias must be one of .*; got torch.int32"),
        ((torch.tensor(1.0), bias), {}, ValueError, r"x must have at least 1 dimension; got a tensor of shape \[\]"),
        ((ok, torch.zeros(3)), {}, ValueError, r"bias must have shape \[4\], .* x \[2, 4\]; got \[3\]"),
        ((ok, bias[None]), {}, ValueError, r"bias must have shape \[4\], .*; got \[1, 4\]"),
        ((torch.zeros(2, 3, 4).transpose(0, 1), bias), {}, ValueError, r"x cannot be folded .*\[3, 2, 4\] .*x.contiguous\(\)"),
        ((ok, bias), {"form": "3d"}, ValueError, "form must be \"flat\", \"wrapped\" or \"2d\"; got '3d'"),
        ((ok, bias), {"form": "wrapped", "BLOCK_SIZE": 8}, ValueError, 'at most the 4 columns of x with form="wrapped"; got 8'),
        ((ok, bias), {"BLOCK_SIZE": 100}, ValueError, "BLOCK_SIZE must be a power of two, .*; got 100"),
        ((ok, bias), {"BLOCK_SIZE": 64.0}, TypeError, "BLOCK_SIZE must be an int; got 64.0"),
    ],
)
def test_wrong_arguments_are_named_with_what_they_are(args, more, error, words):
    with pytest.raises(error, match=words):
        bias_gelu(*args, **more)


@pytest.mark.gpu
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(64, 4096), (67, 4097), (3, 131072), (70000, 16)], ids=str)
def test_large_shapes_compiled(form, dtype, shape, only_gpu, agrees):
    x, bias = torch.randn(shape, device=only_gpu).to(dtype), torch.randn(shape[-1], device=only_gpu).to(dtype)
    agrees("bias_gelu", bias_gelu(x, bias, form=form), reference.bias_gelu(x, bias))


@pytest.mark.gpu
def test_more_than_two_to_the_31_elements(only_gpu):
    x = torch.zeros(2**16 + 1, 2**15, device=only_gpu, dtype=torch.bfloat16)
    x[-1] = 100.0
    out = bias_gelu(x, torch.zeros(2**15, device=only_gpu, dtype=torch.bfloat16))
    assert (out[-1] == 100).all() and not out[:-1].any()
