import mmap

import pytest
import torch

import tritonlab as lab
from tritonlab import reference
from tritonlab.analysis import bytes_moved, output_coverage
from tritonlab.kernels.matmul import DTYPES, PRECISIONS, launch_shape, matmul, matmul_cost
from tritonlab.kernels.matmul_sweeps import Launch

TILE = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16}
AROUND = (1, 15, 16, 17, 37)  # one, a block and its neighbours, a prime


@pytest.mark.parametrize("M", AROUND)
def test_every_size_on_every_axis(M, device, rand, agrees):
    for N in AROUND:
        for K in AROUND:
            a, b = rand(M, K, device=device), rand(K, N, device=device)
            out = matmul(a, b, **TILE)
            assert (out.shape, out.dtype, out.is_contiguous()) == ((M, N), torch.float32, True)
            agrees("matmul", out, reference.matmul(a, b), K=K)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("tile", [(16, 32, 16), (32, 16, 64), (64, 64, 32)], ids=str)
def test_every_dtype_and_tiles_that_are_not_square(dtype, tile, device, rand, agrees):
    a, b = rand(40, 70, dtype=dtype, device=device), rand(70, 33, dtype=dtype, device=device)
    out = matmul(a, b, **dict(zip(TILE, tile)))
    assert out.dtype == dtype
    agrees("matmul", out, reference.matmul(a, b), K=70)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("out_dtype", DTYPES, ids=str)
def test_the_result_has_the_dtype_that_is_asked_for(dtype, out_dtype, device, rand, agrees):
    a, b = rand(20, 40, dtype=dtype, device=device), rand(40, 18, dtype=dtype, device=device)
    out = matmul(a, b, out_dtype=out_dtype, **TILE)
    assert out.dtype == out_dtype
    agrees("matmul", out, reference.matmul(a, b), K=40)


def views(rand, device, dtype=torch.float32):
    """Operands of 20 × 35 and 35 × 18 that are no plain matrices."""
    wide = rand(64, 80, device=device, dtype=dtype)
    a, b = wide[:20, :35], wide[20:55, 10:28]
    yield "slices of a wider matrix", a, b
    yield "a transposed", rand(35, 20, device=device, dtype=dtype).t(), b
    yield "b transposed", a, rand(18, 35, device=device, dtype=dtype).t()
    yield "both transposed", rand(35, 20, device=device, dtype=dtype).t(), rand(18, 35, device=device, dtype=dtype).t()
    yield "every second row and column", wide[:40:2, :70:2], wide[::1, ::2][:35, :18]
    yield "one row repeated", wide[:1, :35].expand(20, 35), b
    yield "one column repeated", a, wide[:35, :1].expand(35, 18)
    yield "one element repeated", wide[:1, :1].expand(20, 35), wide[:1, 1:2].expand(35, 18)
    yield "a and b the same memory", wide[:20, :35], wide[:35, :18]


def test_operands_of_any_strides(device, rand, agrees):
    for name, a, b in views(rand, device):
        assert a.shape == (20, 35) and b.shape == (35, 18), name
        agrees("matmul", matmul(a, b, **TILE), reference.matmul(a, b), K=35)


def test_a_slice_does_not_see_what_lies_beside_it(device):
    """NaN and infinity beside the operands: no lane that is not masked reads them, and 0 · NaN would show."""
    for beside in (float("nan"), float("inf"), 1e30):
        a, b = (torch.full((60, 60), beside, device=device) for _ in range(2))
        a[5:22, 7:30], b[9:32, 3:20] = 1.0, 2.0
        out = matmul(a[5:22, 7:30], b[9:32, 3:20], **TILE)
        assert (out == 46).all()


@pytest.mark.parametrize("M, N", [(1, 1), (17, 33)])
def test_a_sum_of_nothing_is_zero(M, N, device):
    out = matmul(torch.empty(M, 0, device=device), torch.empty(0, N, device=device), **TILE)
    assert out.shape == (M, N) and (out == 0).all()


@pytest.mark.parametrize("M, N, K", [(0, 5, 3), (5, 0, 3), (0, 0, 0)])
def test_an_empty_result_launches_nothing(M, N, K, device):
    t = lab.trace(lambda: matmul(torch.empty(M, K, device=device), torch.empty(K, N, device=device)))
    assert t.result.shape == (M, N) and t.launches == ()


def test_infinities_and_nan_spread_as_in_torch(device):
    inf, nan = float("inf"), float("nan")
    a = torch.tensor([[inf, 1.0, 0.0], [nan, 0.0, 0.0], [1.0, -inf, 2.0], [1.0, 2.0, 3.0]], device=device)
    b = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]], device=device)
    torch.testing.assert_close(matmul(a, b, **TILE), torch.matmul(a, b), rtol=0, atol=0, equal_nan=True)


def test_what_is_too_large_for_the_result_is_infinite(device):
    a = torch.full((4, 16), 200.0, device=device, dtype=torch.float16)
    assert (matmul(a, a.t(), **TILE) == float("inf")).all()
    assert (matmul(a, a.t(), out_dtype=torch.float32, **TILE) == 640000).all()


def test_ones_are_counted_past_what_float16_can_hold(device):
    ones = torch.ones(2, 4096, device=device, dtype=torch.float16)
    assert (matmul(ones, ones.t(), out_dtype=torch.float32, BLOCK_M=16, BLOCK_N=16, BLOCK_K=256) == 4096).all()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_every_input_precision(precision, device, rand, agrees):
    a, b = rand(20, 100, device=device), rand(100, 18, device=device)
    kind = "tf32" if precision == "tf32" and device == "cuda" else "ieee"
    limit = {"K": 100, "scale": 8.0 if precision == "tf32x3" else 1.0}  # three products leave about 2^-20 of a term
    agrees("matmul", matmul(a, b, input_precision=precision, **TILE), reference.matmul(a, b), input_precision=kind, **limit)


def test_each_element_of_the_result_is_stored_once_and_operands_once_for_each_tile_beside_them(rand):
    a, b = rand(40, 50), rand(50, 70)
    t = lab.trace(lambda: matmul(a, b, BLOCK_M=16, BLOCK_N=32, BLOCK_K=16))
    assert (t.launch.kernel, t.launch.grid) == ("matmul_kernel", (3, 3, 1))
    assert output_coverage(t, "c_ptr").complete
    traffic = bytes_moved(t)
    assert (traffic.arg("a_ptr").redundancy, traffic.arg("b_ptr").redundancy, traffic.arg("c_ptr").redundancy) == (3, 3, 1)
    assert traffic.ideal == matmul_cost(a, b)[0] == 4 * (2000 + 3500 + 2800)


def test_axis_0_of_the_grid_goes_down_the_rows_of_tiles(rand):
    t = lab.trace(lambda: matmul(rand(33, 5), rand(5, 16), **TILE))
    assert t.launch.grid == (3, 1, 1)


def test_cost_counts_a_repeated_row_once(rand):
    a, b = rand(1, 30).expand(20, 30), rand(30, 10)
    assert matmul_cost(a, b) == (4 * (30 + 300 + 200), 2 * 20 * 10 * 30)
    assert matmul_cost(torch.empty(3, 0), torch.empty(0, 4)) == (48, 0)


@pytest.fixture
def far_apart():
    """``far_apart(rows, cols, stride)``: rows of float16 more than 2 GiB apart, in memory that is there only where it is touched."""
    held = []

    def make(rows, cols, stride):
        held.append(mmap.mmap(-1, 2 * ((rows - 1) * stride + cols)))
        return torch.frombuffer(held[-1], dtype=torch.float16).as_strided((rows, cols), (stride, 1))

    return make


def test_offsets_past_two_to_the_31_elements(far_apart, rand, agrees):
    rows = far_apart(4, 10, 2**30)  # the last row begins at element 3 · 2^30
    rows.copy_(rand(4, 10))
    b = rand(10, 7, dtype=torch.float16)
    agrees("matmul", matmul(rows, b, **TILE), reference.matmul(rows, b), K=10)
    agrees("matmul", matmul(b.t(), rows.t(), **TILE), reference.matmul(b.t(), rows.t()), K=10)  # and as columns of b
    left = rand(7, 4, dtype=torch.float16)
    agrees("matmul", matmul(left, rows, **TILE), reference.matmul(left, rows), K=4)  # and along K


def test_steps_along_k_past_two_to_the_31_elements(far_apart, rand, agrees):
    rows = far_apart(20, 10, 2**27)  # a step of 16 rows
    rows.copy_(rand(20, 10))
    left = rand(7, 20, dtype=torch.float16)
    agrees("matmul", matmul(left, rows, **TILE), reference.matmul(left, rows), K=20)
    agrees("matmul", matmul(rows.t(), left.t(), **TILE), reference.matmul(rows.t(), left.t()), K=20)


ok = torch.zeros(6, 8)


@pytest.mark.parametrize(
    "a, b, more, error, words",
    [
        ([1.0], ok, {}, TypeError, "a must be a torch.Tensor; got list"),
        (ok, None, {}, TypeError, "b must be a torch.Tensor; got NoneType"),
        (ok[0], ok, {}, ValueError, r"a must have 2 dimensions; got shape \[8\]"),
        (ok, ok.view(2, 3, 8), {}, ValueError, r"b must have 2 dimensions; got shape \[2, 3, 8\]"),
        (ok, ok, {}, ValueError, r"as many columns of a as rows of b; got shapes \[6, 8\] and \[6, 8\]"),
        (ok, ok.t().half(), {}, TypeError, "b must have the dtype of a, torch.float32; got torch.float16"),
        (ok.double(), ok.t().double(), {}, TypeError, "a must be one of float32, float16, bfloat16; got torch.float64"),
        (ok, ok.t().to("meta"), {}, ValueError, "all tensors must be on one device; a is on cpu and b on meta"),
        (ok.to_sparse(), ok.t(), {}, TypeError, "a must be a dense tensor; got layout torch.sparse_coo"),
        (ok, ok.t(), {"out_dtype": torch.float64}, TypeError, "out_dtype must be one of float32, float16, bfloat16; got torch.float64"),
        (ok, ok.t(), {"input_precision": "fp16"}, ValueError, "input_precision must be one of ieee, tf32, tf32x3; got 'fp16'"),
        (ok, ok.t(), {"BLOCK_M": 48}, ValueError, "BLOCK_M must be a power of two, .*; got 48"),
        (ok, ok.t(), {"BLOCK_N": 0}, ValueError, "BLOCK_N must be a power of two, .*; got 0"),
        (ok, ok.t(), {"BLOCK_K": 16.0}, TypeError, "BLOCK_K must be an int; got 16.0"),
    ],
)
def test_wrong_arguments_are_named_with_what_they_are(a, b, more, error, words):
    with pytest.raises(error, match=words):
        matmul(a, b, **more)


def test_more_columns_of_tiles_than_a_grid_holds_are_refused():
    a, b = torch.zeros(1, 1), torch.zeros(1, 1).expand(1, 2**20)
    with pytest.raises(ValueError, match="BLOCK_N must be larger: 8 makes 131,072 columns of tiles of N = 1,048,576, and axis 1 .* 65,535"):
        matmul(a, b, BLOCK_N=8)


def test_sizes_that_do_not_fit_32_bits_are_refused():
    one = torch.zeros(1, 1)
    with pytest.raises(ValueError, match="K must be at most 2,147,483,583 with blocks of 64, as the kernel counts in 32 bits; got 2,147,483,584"):
        matmul(one.expand(1, 2**31 - 64), one.expand(2**31 - 64, 1), BLOCK_K=64)
    with pytest.raises(ValueError, match="M must be at most .*; got 4,294,967,296"):
        matmul(one.expand(2**32, 1), one)


@pytest.mark.gpu
def test_tensors_on_two_devices_are_named(only_gpu):
    with pytest.raises(ValueError, match="a is on cpu and b on cuda:0"):
        matmul(ok, ok.t().to(only_gpu))


@pytest.mark.parametrize("itemsize, precision", [(2, "ieee"), (4, "ieee"), (4, "tf32")])
@pytest.mark.parametrize("size", [(1, 1, 1), (512, 512, 512), (1000, 1000, 1000), (8192, 8192, 8192), (16, 16384, 64), (16384, 16, 64)], ids=str)
def test_the_table_gives_a_tile_and_options_that_a_program_can_have(size, itemsize, precision):
    chosen = launch_shape(*size, itemsize, precision)
    assert list(chosen) == ["BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages"]
    buffers = (chosen["BLOCK_M"] + chosen["BLOCK_N"]) * chosen["BLOCK_K"] * itemsize * chosen["num_stages"]
    assert buffers <= 227 * 1024 and chosen["num_warps"] in (1, 2, 4, 8)
    assert chosen["BLOCK_M"] * chosen["BLOCK_N"] <= chosen["num_warps"] * 32 * 128  # an accumulator of 128 registers a thread


def test_the_table_gives_small_tiles_where_loads_are_scalar_unless_copies_are_padded():
    for size in ((1001, 1001, 1001), (4096, 4097, 2049)):
        assert tuple(launch_shape(*size, 2).values()) == (64, 64, 64, 4, 4)
        assert tuple(launch_shape(*size, 4, "tf32").values()) == (64, 64, 32, 4, 3)
    for size in ((4097, 4096, 4096), (4096, 4097, 4096), (4096, 4096, 4097)):  # one operand is still read widely
        assert launch_shape(*size, 2)["BLOCK_M"] == 128
    assert tuple(launch_shape(8191, 4097, 2049, 2, padded=True).values())[:2] == (128, 256)


def test_the_table_gives_large_tiles_where_there_are_enough_of_them():
    tiles = [tuple(launch_shape(n, n, n, 2).values())[:3] for n in (512, 1024, 1280, 2048, 8192)]
    assert tiles == [(64, 64, 128), (64, 128, 128), (128, 128, 64), (128, 256, 64), (128, 256, 64)]


@pytest.mark.parametrize("implementation", ["grouped", "2-D grid", "2-D grid, axes swapped"])
def test_what_the_sweeps_launch_is_right(implementation, device, rand, agrees):
    a, b = rand(40, 24, device=device), rand(24, 50, device=device)
    for group in (1, 2, "whole column") if implementation == "grouped" else (None,):
        config = {**TILE, **({"GROUP_M": group} if group else {}), "num_warps": 4, "num_stages": 2}
        launch = Launch(implementation, config)
        agrees("matmul", launch(a, b), reference.matmul(a, b), K=24)
        assert (launch.loaded is None) == (device == "cpu")


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [(512, 512, 512), (1000, 777, 333), (4099, 65, 2049), (33, 4100, 4097)], ids=str)
def test_large_shapes_compiled(dtype, size, only_gpu, agrees):
    M, N, K = size
    a, b = torch.randn(M, K, device=only_gpu).to(dtype), torch.randn(K, N, device=only_gpu).to(dtype)
    for precision in PRECISIONS[:2] if dtype is torch.float32 else PRECISIONS[:1]:
        out = matmul(a, b, input_precision=precision)
        agrees("matmul", out, reference.matmul(a, b), K=K, input_precision=precision)


@pytest.mark.gpu
def test_more_than_two_to_the_31_elements_compiled(only_gpu):
    a = torch.zeros(2**16 + 1, 2**15 + 64, device=only_gpu, dtype=torch.bfloat16)
    a[-1, -1] = a[0, 0] = 1
    b = torch.zeros(2**15 + 64, 16, device=only_gpu, dtype=torch.bfloat16)
    b[-1], b[0] = 3, 2
    out = matmul(a, b)
    assert (out[-1] == 3).all() and (out[0] == 2).all() and (out[1:-1] == 0).all()
    out = matmul(b.t(), a.t())
    assert (out[:, -1] == 3).all() and (out[:, 0] == 2).all()
