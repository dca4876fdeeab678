"""What a kernel may be given, and what it makes of it."""

import collections

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from tritonlab.errors import LaunchError, LaunchTypeError, OutOfBoundsError


@triton.jit
def types_kernel(out_ptr, a, b, c, d, e, f):
    tl.static_assert(a.dtype == tl.int32)
    tl.static_assert(b.dtype == tl.int64)
    tl.static_assert(c.dtype == tl.float32)
    tl.static_assert(d.dtype == tl.int1)
    tl.static_assert(e.dtype == tl.uint64)
    tl.static_assert(f is None)
    tl.store(out_ptr, a)
    tl.store(out_ptr + 1, b)
    tl.store(out_ptr + 2, c)
    tl.store(out_ptr + 3, d)


def test_scalars_have_the_types_of_a_launch():
    out = torch.zeros(4, dtype=torch.float64)
    types_kernel[(1,)](out, 7, 2**31, 0.1, True, 2**63, None)
    assert out.tolist() == [7.0, 2.0**31, float(np.float32(0.1)), 1.0]
    types_kernel[(1,)](out, -(2**31), -(2**31) - 1, float("inf"), False, 2**64 - 1, None)
    assert out.tolist() == [-(2.0**31), -(2.0**31) - 1, float("inf"), 0.0]


@triton.jit
def annotated_kernel(out_ptr, a: tl.int64, b: tl.float16, c: tl.uint8, d: tl.float64, e: tl.bfloat16, f: "i16"):
    tl.static_assert(a.dtype == tl.int64)
    tl.static_assert(b.dtype == tl.float16)
    tl.static_assert(c.dtype == tl.uint8)
    tl.static_assert(d.dtype == tl.float64)
    tl.static_assert(e.dtype == tl.bfloat16)
    tl.static_assert(f.dtype == tl.int16)
    tl.store(out_ptr, a * 4)
    tl.store(out_ptr + 1, b)
    tl.store(out_ptr + 2, d)
    tl.store(out_ptr + 3, e)


def test_annotated_scalars_have_the_type_they_name():
    out = torch.zeros(4, dtype=torch.float64)
    annotated_kernel[(1,)](out, 2**30, 0.1, 255, 0.1, 3.09, -5)
    assert out.tolist() == [2.0**32, float(np.float16(0.1)), 0.1, 3.09375]
    annotated_kernel[(1,)](out, 1, 2, 0, 3, 4, 5)
    assert out.tolist() == [4.0, 2.0, 3.0, 4.0]
    with pytest.raises(LaunchTypeError, match="argument c = 256 does not fit into uint8"):
        annotated_kernel[(1,)](out, 1, 1.0, 256, 1.0, 1.0, 1)
    with pytest.raises(LaunchTypeError, match="argument a = 1.5 is a float"):
        annotated_kernel[(1,)](out, 1.5, 1.0, 1, 1.0, 1.0, 1)


def test_an_int_too_large_for_any_type():
    with pytest.raises(LaunchTypeError, match="a = 18446744073709551616 does not fit into 64 bits"):
        types_kernel[(1,)](torch.zeros(4), 2**64, 2**31, 0.1, True, 2**63, None)


@triton.jit
def address_kernel(x_ptr: "*fp32", out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs))


def test_an_address_passed_as_a_pointer():
    x, out = torch.arange(4.0), torch.zeros(4)
    address_kernel[(1,)](x.data_ptr(), out, BLOCK=4)
    assert torch.equal(out, x)
    with pytest.raises(OutOfBoundsError):
        address_kernel[(1,)](x.data_ptr(), torch.zeros(8), BLOCK=8)


@triton.jit
def const_kernel(x_ptr: "const *fp32", out_ptr):
    tl.store(x_ptr, 1.0)


def test_a_store_through_a_const_pointer():
    with pytest.raises(Exception, match="constant pointer"):
        const_kernel[(1,)](torch.zeros(1), torch.zeros(1))


@triton.jit
def tuple_kernel(pointers, numbers, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    total = tl.load(pointers[0] + offs) * numbers[0] + tl.load(pointers[1] + offs) * numbers[1]
    for i in tl.static_range(len(numbers)):
        total += numbers[i]
    tl.store(out_ptr + offs, total)


Pair = collections.namedtuple("Pair", ["left", "right"])


@triton.jit
def named_kernel(pair, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(pair.left + offs) - tl.load(pair.right + offs))


def test_tuples_of_arguments():
    x, y, out = torch.arange(4.0), torch.ones(4), torch.zeros(4)
    tuple_kernel[(1,)]((x, y), (2, 3.0), out, BLOCK=4)
    assert torch.equal(out, x * 2 + y * 3 + 5)
    named_kernel[(1,)](Pair(x, y), out, BLOCK=4)
    assert torch.equal(out, x - y)
    with pytest.raises(OutOfBoundsError) as caught:
        tuple_kernel[(1,)]((x, y[:2]), (2, 3.0), out, BLOCK=4)
    assert caught.value.arg == "pointers[1]"


@triton.jit
def constexpr_kernel(out_ptr, DTYPE: tl.constexpr, NAME: tl.constexpr, F: tl.constexpr, SHAPE: tl.constexpr, NOTHING: tl.constexpr = None):
    x = tl.zeros(SHAPE, DTYPE)
    if NAME == "one":
        x = F(x)
    if NOTHING is None:
        x += 1
    tl.store(out_ptr + tl.arange(0, SHAPE[0]), x)


@triton.jit
def plus_ten(x):
    return x + 10


def test_constexprs_of_any_kind():
    out = torch.zeros(4)
    constexpr_kernel[(1,)](out, tl.float32, "one", plus_ten, (4,))
    assert out.tolist() == [11.0] * 4
    constexpr_kernel[(1,)](out, DTYPE=tl.constexpr(tl.int32), NAME="two", F=None, SHAPE=(4,), NOTHING=5)
    assert out.tolist() == [0.0] * 4


@pytest.mark.parametrize(
    "make, says, way_out",
    [
        (lambda: np.zeros(4), "numpy.ndarray", "torch.from_numpy(x_ptr)"),
        (lambda: [1, 2], "a list", "tuple"),
        (lambda: "abc", "a str", "`x_ptr: tl.constexpr`"),
        (lambda: np.int64(3), "numpy.int64", "x_ptr.item()"),
        (lambda: {}, "a dict", "tensors, int, float"),
        (lambda: torch.zeros(4, dtype=torch.complex64), "complex64", "torch.view_as_real(x_ptr)"),
        (lambda: object(), "a object", "tensors, int, float"),
    ],
)
def test_arguments_that_a_kernel_cannot_take(make, says, way_out):
    with pytest.raises(LaunchTypeError) as caught:
        address_kernel_plain[(1,)](make(), torch.zeros(4), BLOCK=4)
    assert says in str(caught.value) and "x_ptr" in str(caught.value) and way_out in caught.value.hint


@triton.jit
def address_kernel_plain(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs))


def test_tensors_without_memory_of_their_own():
    with pytest.raises(LaunchError, match="sparse"):
        address_kernel_plain[(1,)](torch.zeros(4).to_sparse(), torch.zeros(4), BLOCK=4)


def test_reinterpreted_tensors():
    x = torch.tensor([1.0, -2.0, 0.5, 3.0]).to(torch.float8_e5m2)
    out = torch.zeros(4)
    address_kernel_plain[(1,)](triton.reinterpret(x.view(torch.int8), tl.float8e5), out, BLOCK=4)
    assert torch.equal(out, x.float())


def test_tensors_that_share_memory():
    base = torch.arange(8.0)
    address_kernel_plain[(1,)](base[:4], base[4:], BLOCK=4)
    assert base.tolist() == [0.0, 1.0, 2.0, 3.0] * 2


def test_tensors_that_require_gradients_and_parameters():
    x, out = torch.nn.Parameter(torch.arange(4.0)), torch.zeros(4, requires_grad=True)
    address_kernel_plain[(1,)](x, out, BLOCK=4)
    assert out.tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.uint16, torch.int32, torch.uint32, torch.int64, torch.uint64, torch.float16, torch.float64])
def test_every_dtype_copies(dtype):
    x = torch.tensor([0, 1, 2, 100]).to(dtype)
    out = torch.zeros(4).to(dtype)
    address_kernel_plain[(1,)](x, out, BLOCK=4)
    assert out.tolist() == x.tolist()


# names and numbers of arguments


@pytest.mark.parametrize(
    "args, kwargs, says, way_out",
    [
        ((), {"BLOCK": 4}, "missing a required argument", "x_ptr, out_ptr, BLOCK"),
        (("x", "x", 4, 5), {}, "too many positional", "x_ptr, out_ptr, BLOCK"),
        (("x", "x"), {"BLOK": 4}, "no parameter 'BLOK'", "did you mean BLOCK?"),
        (("x", "x"), {"BLOCK": 4, "num_warp": 4}, "no parameter 'num_warp'", "did you mean num_warps?"),
        (("x", "x"), {"BLOCK": 4, "num_warps": 3}, "num_warps=3", ""),
        (("x", "x"), {"BLOCK": 4, "num_warps": 64}, "num_warps=64", ""),
        (("x", "x"), {"BLOCK": 4, "num_warps": True}, "num_warps=True", ""),
        (("x", "x"), {"BLOCK": 4, "num_stages": -1}, "num_stages=-1", ""),
        (("x", "x"), {"BLOCK": 4, "x_ptr": 1}, "multiple values", "x_ptr, out_ptr, BLOCK"),
    ],
)
def test_arguments_that_do_not_fit_the_signature(args, kwargs, says, way_out):
    x = torch.zeros(4)
    with pytest.raises(LaunchError if "num_" in says and "parameter" not in says else LaunchTypeError) as caught:
        address_kernel_plain[(1,)](*[x if a == "x" else a for a in args], **kwargs)
    assert says in str(caught.value) and way_out in caught.value.hint


def test_a_tensor_for_a_constexpr():
    with pytest.raises(LaunchTypeError, match=r"BLOCK is a tl.constexpr, and got a tensor of shape \(1,\)"):
        address_kernel_plain[(1,)](torch.zeros(4), torch.zeros(4), torch.tensor([4]))


def test_options_that_a_launch_knows():
    x, out = torch.ones(4), torch.zeros(4)
    address_kernel_plain[(1,)](x, out, BLOCK=4, num_warps=8, num_stages=2, num_ctas=1, maxnreg=64, enable_fp_fusion=False)
    assert torch.equal(out, x)


# grids that are right


@pytest.mark.parametrize("grid", [(2,), [2], (2, 1), torch.Size([2]), torch.zeros(2, 1, 1).shape, (np.int64(2),), lambda meta: (8 // meta["BLOCK"],), lambda meta: [triton.cdiv(meta["n"], meta["BLOCK"])]])
def test_grids(grid):
    out = torch.zeros(8)
    fill_kernel[grid](out, 8, BLOCK=4)
    assert out.tolist() == [0.0] * 4 + [1.0] * 4


@triton.jit
def fill_kernel(out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.zeros((BLOCK,), tl.float32) + pid, mask=offs < n)


@triton.jit
def ids_kernel(out_ptr, counter_ptr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(axis=2)
    at = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    order = tl.atomic_add(counter_ptr, 1)
    tl.store(out_ptr + at, order)


def test_programs_run_with_axis_0_fastest():
    out, counter = torch.full((24,), -1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    ids_kernel[(2, 3, 4)](out, counter)
    assert out.tolist() == list(range(24))
