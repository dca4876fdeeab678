"""A captured launch is specialised as Triton would specialise it."""

import pytest
import torch
import triton
import triton.language as tl
from compiler_kernels import add_kernel, matmul_kernel
from compiler_work import add_work, matmul_work
from triton.backends.compiler import GPUTarget
from triton.compiler import make_backend
from triton.runtime import jit as tjit

from tritonlab.compiler.compiling import launches_of
from tritonlab.compiler.request import request
from tritonlab.errors import LaunchError, LaunchTypeError


def signature(work, override=None):
    return request(launches_of(work)[0], "sm_90", override).signature


def test_pointers_and_integers_that_16_divides_are_marked():
    assert signature(add_work(4096)) == {"x_ptr": "*fp32:16", "y_ptr": "*fp32:16", "out_ptr": "*fp32:16", "n_elements": "i32:16"}


def test_an_odd_length_is_not_marked():
    assert signature(add_work(4097))["n_elements"] == "i32"


def test_a_view_that_begins_between_boundaries_is_not_marked():
    assert signature(add_work(4096, offset=1))["x_ptr"] == "*fp32"
    assert signature(add_work(4096, offset=4))["x_ptr"] == "*fp32:16"


def test_the_allocation_counts_as_aligned_wherever_the_cpu_put_it():
    raw = torch.empty(4096 * 4 + 4, dtype=torch.uint8)
    start = next(i for i in range(4) if (raw.data_ptr() + i) % 4 == 0)
    x = torch.from_numpy(raw.numpy()[start : start + 4096 * 4].view("float32"))
    assert signature(lambda: add_kernel[(4,)](x, x, x, 4096, BLOCK_SIZE=1024))["x_ptr"] == "*fp32:16"


def test_a_stride_of_1_is_compiled_in():
    found = signature(matmul_work(512))
    assert (found["stride_am"], found["stride_ak"], found["K"]) == ("i32:16", "=1", "i32:16")


@triton.jit(do_not_specialize=["n"], do_not_specialize_on_alignment=["m"])
def many_kernel(x_ptr, n, m, f, flag, none, big, pair, C: tl.constexpr, D: tl.constexpr = 3):
    tl.store(x_ptr, f)


def test_the_specialisation_is_tritons_own():
    x = torch.empty(64, dtype=torch.bfloat16)
    given = (x, 16, 16, 2.5, True, None, 2**40, (16, 3, 1))
    launch = launches_of(lambda: many_kernel[(1,)](*given, C="text"))[0]
    made = request(launch, "sm_90")
    backend = make_backend(GPUTarget("cuda", 90, 32))
    binder = tjit.create_function_from_signature(many_kernel.signature, many_kernel.params, backend)
    options = {
        "debug": False,
        "instrumentation_mode": "",
        **({"fpsan_homomorphic_casts": False} if triton.__version__ >= "3.9" else {}),
    }
    bound, specialization, _ = binder(*given, C="text", **options)
    parsed, own, constants, attributes = many_kernel._pack_args(backend, options, bound, specialization, options)
    assert made.source.signature == own
    assert made.source.constants == constants
    assert made.source.attrs == attributes
    assert made.parsed == parsed
    assert made.signature["n"] == "i32" and made.signature["m"] == "i32"
    assert made.signature["none"] == "=None" and made.signature["f"] == "fp32" and made.signature["big"] == "i64:16"
    assert made.signature["pair"] == "(i32:16, i32, =1)"
    assert made.meta == {"C": "text", "D": 3}


def test_override_changes_parameters_and_options():
    launch = launches_of(matmul_work(512))[0]
    made = request(launch, "sm_90", {"BLOCK_M": 64, "num_stages": 5, "K": 17})
    assert made.meta["BLOCK_M"] == 64 and made.meta["BLOCK_N"] == 128
    assert made.options == {"num_warps": 8, "num_stages": 5, "num_ctas": 1, "maxnreg": None}
    assert made.signature["K"] == "i32"
    assert launch.arguments["BLOCK_M"] == 128, "the launch itself stays as it was"


def test_override_of_what_the_kernel_has_not_is_refused():
    launch = launches_of(add_work())[0]
    with pytest.raises(LaunchTypeError, match="(?s)BLOCK_SIZ.*did you mean BLOCK_SIZE"):
        request(launch, "sm_90", {"BLOCK_SIZ": 64})
    with pytest.raises(LaunchTypeError, match="cannot change x_ptr"):
        request(launch, "sm_90", {"x_ptr": 64})
    with pytest.raises(LaunchError, match="num_warps=3"):
        request(launch, "sm_90", {"num_warps": 3})
    with pytest.raises(LaunchError, match="num_ctas"):
        request(launch, "sm_80", {"num_ctas": 2})


def test_a_constant_global_that_changed_is_compiled_anew():
    from tritonlab.compiler.request import key_of

    x = torch.empty(16)
    constant_kernel.fn.__globals__["FACTOR"] = tl.constexpr(2)
    work = lambda: constant_kernel[(1,)](x)  # noqa: E731
    first = key_of(request(launches_of(work)[0], "sm_90"))
    assert key_of(request(launches_of(work)[0], "sm_90")) == first
    constant_kernel.fn.__globals__["FACTOR"] = tl.constexpr(3)
    assert key_of(request(launches_of(work)[0], "sm_90")) != first


FACTOR = tl.constexpr(2)


@triton.jit
def constant_kernel(x_ptr):
    tl.store(x_ptr, FACTOR * 1.0)


def test_the_matmul_kernel_has_no_unknown_parameters():
    assert set(signature(matmul_work(512))) | {"BLOCK_M", "BLOCK_N", "BLOCK_K"} == set(matmul_kernel.arg_names)
