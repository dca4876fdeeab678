import pytest
import torch

import tritonlab as lab
from tritonlab import reference
from tritonlab.analysis import bytes_moved, masked_lanes, output_coverage
from tritonlab.kernels import vector_add as module
from tritonlab.kernels.vector_add import DTYPES, vector_add, vector_add_cost

BLOCK = 64
SIZES = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 997]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_sums_of_every_size(n, dtype, device, rand, agrees):
    x, y = (rand(n, dtype=dtype, device=device) for _ in range(2))
    out = vector_add(x, y, BLOCK_SIZE=BLOCK)
    assert (out.shape, out.dtype, out.device.type) == ((n,), dtype, device)
    agrees("vector_add", out, reference.vector_add(x, y))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sums_in_every_dtype(dtype, device, rand, agrees):
    x, y = (rand(200, dtype=dtype, device=device) for _ in range(2))
    agrees("vector_add", vector_add(x, y), reference.vector_add(x, y))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_infinities_nan_and_overflow_come_out_as_in_torch(dtype, device):
    inf, nan, top = float("inf"), float("nan"), torch.finfo(dtype).max
    x = torch.tensor([inf, inf, nan, top, -top, -0.0], dtype=dtype, device=device)
    y = torch.tensor([1.0, -inf, 1.0, top, -top, -0.0], dtype=dtype, device=device)
    out = vector_add(x, y)
    torch.testing.assert_close(out, x + y, rtol=0, atol=0, equal_nan=True)
    assert torch.signbit(out[-1])


def views(n, rand, device):
    base = rand(3 * n + 5, device=device)
    yield "every third", base[: 3 * n : 3]
    yield "shifted by one", base[1 : n + 1]
    yield "a column", base[: 3 * n].view(n, 3)[:, 1]
    yield "one element repeated", base[:1].expand(n)


def test_strided_shifted_and_expanded_inputs(device, rand, agrees):
    n = 130
    x = rand(n, device=device)
    for name, view in views(n, rand, device):
        for a, b in ((view, x), (x, view), (view, view)):
            agrees("vector_add", vector_add(a, b, BLOCK_SIZE=BLOCK), reference.vector_add(a, b))


def test_a_strided_output_leaves_its_gaps_alone(device, rand, agrees):
    x, y = rand(100, device=device), rand(100, device=device)
    whole = torch.full((300,), 7.0, device=device)
    out = vector_add(x, y, whole[1::3], BLOCK_SIZE=BLOCK)
    agrees("vector_add", out, reference.vector_add(x, y))
    assert (whole[0::3] == 7).all() and (whole[2::3] == 7).all()


def test_the_output_may_be_an_input(device, rand, agrees):
    x, y = rand(100, device=device), rand(100, device=device)
    expected = reference.vector_add(x, y)
    assert vector_add(x, y, x) is x
    agrees("vector_add", x, expected)


def test_each_element_is_read_once_and_written_once():
    x, y = torch.arange(1000.0), torch.ones(1000)
    t = lab.trace(lambda: vector_add(x, y, BLOCK_SIZE=64))
    assert t.launch.grid == (16, 1, 1)
    assert output_coverage(t, "out_ptr").complete
    traffic = bytes_moved(t)
    assert (traffic.moved, traffic.redundancy) == (vector_add_cost(x, y)[0], 1.0)
    assert [c.masked for c in masked_lanes(t).of((15, 0, 0))] == [24, 24, 24]


def test_an_empty_sum_launches_nothing():
    assert lab.trace(lambda: vector_add(torch.empty(0), torch.empty(0))).launches == ()


def test_cost_counts_a_repeated_element_once():
    x, b = torch.zeros(1000, dtype=torch.float16), torch.zeros(1, dtype=torch.float16)
    assert vector_add_cost(x, x) == (6000, 1000)
    assert vector_add_cost(x, b.expand(1000)) == (4002, 1000)
    assert vector_add_cost(x[:0], x[:0]) == (0, 0)


ok = torch.zeros(4)


@pytest.mark.parametrize(
    "args, error, words",
    [
        ((ok, [1.0]), TypeError, "y must be a torch.Tensor; got list"),
        ((ok.view(2, 2), ok), ValueError, r"x must have 1 dimension; got shape \[2, 2\] .*reshape\(-1\)"),
        ((torch.tensor(1.0), ok), ValueError, r"x must have 1 dimension; got shape \[\]"),
        ((ok, torch.zeros(5)), ValueError, r"y must have the shape of x, \[4\]; got \[5\]"),
        ((ok, torch.zeros(1)), ValueError, r"got \[1\] .*expand\(n\)"),
        ((ok, ok.double()), TypeError, "y must have the dtype of x, torch.float32; got torch.float64"),
        ((ok.bool(), ok.bool()), TypeError, "x must be one of float32, .*; got torch.bool"),
        ((ok.to("meta"), ok), ValueError, "all tensors must be on one device; x is on meta and y on cpu"),
        ((ok.to("meta"), ok.to("meta")), ValueError, "x_ptr of vector_add_kernel is on device meta"),
        ((ok.to_sparse(), ok), TypeError, "x must be a dense tensor; got layout torch.sparse_coo"),
        ((ok, ok, torch.zeros(3)), ValueError, r"out must have the shape of x, \[4\]; got \[3\]"),
        ((ok, ok, torch.zeros(1).expand(4)), ValueError, r"out is written, .*shape \[4\] with strides \[0\]"),
    ],
)
def test_wrong_arguments_are_named_with_what_they_are(args, error, words):
    with pytest.raises(error, match=words):
        vector_add(*args)


@pytest.mark.gpu
def test_tensors_on_two_devices_are_named(only_gpu):
    with pytest.raises(ValueError, match="x is on cpu and y on cuda:0"):
        vector_add(ok, ok.to(only_gpu))


def test_blocks_hold_16_bytes_a_thread():
    assert module.launch_shape(2**26, 4) == (1024, 8)
    assert module.launch_shape(2**26, 2) == (2048, 8)
    assert module.launch_shape(2**20, 4) == (2048, 8)


def test_only_long_packed_vectors_of_odd_length_are_split():
    assert module.pays_to_split(2**21 + 1, 2, (1, 1, 1))
    assert not module.pays_to_split(2**21, 2, (1, 1, 1))
    assert not module.pays_to_split(2**20 + 1, 2, (1, 1, 1))
    assert not module.pays_to_split(2**21 + 1, 2, (1, 2, 1))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("extra", [0, 1, 15])
def test_long_vectors_of_any_length(dtype, extra, only_gpu, rand, agrees):
    n = 2**22 + extra
    x, y = (torch.randn(n, device=only_gpu).to(dtype) for _ in range(2))
    agrees("vector_add", vector_add(x, y), reference.vector_add(x, y))


@pytest.mark.gpu
def test_offsets_past_two_to_the_31(only_gpu):
    n = 2**31 + 70
    x = torch.zeros(n, dtype=torch.int8, device=only_gpu)
    x[-64:] = 3
    out = vector_add(x, x)
    assert (out[-64:] == 6).all() and int(out.sum(dtype=torch.int64)) == 64 * 6


@pytest.mark.gpu
def test_strides_past_two_to_the_31_between_elements(only_gpu):
    base = torch.zeros(3 * 2**30 + 1, dtype=torch.int8, device=only_gpu)
    x = base[:: 2**30]
    x.copy_(torch.tensor([1, 2, 3, 4], dtype=torch.int8))
    assert vector_add(x, x).tolist() == [2, 4, 6, 8]
