"""What lab.compile says without a GPU is what a GPU has, once the kernel is loaded there."""

import ctypes

import pytest
import torch
from compiler_kernels import add_kernel, matmul_kernel, row_sum_kernel, scaled_kernel
from triton.runtime.jit import JITFunction

import tritonlab as lab
from tritonlab.kernels.bias_gelu import bias_gelu
from tritonlab.kernels.grouped_matmul import autotuned_matmul, grouped_matmul
from tritonlab.kernels.matmul import matmul
from tritonlab.kernels.rmsnorm import rmsnorm
from tritonlab.kernels.softmax import softmax
from tritonlab.kernels.vector_add import vector_add
from tritonlab.runtime import route

pytestmark = pytest.mark.gpu

MATMULS = [
    dict(BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, num_warps=8, num_stages=1),
    dict(BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, num_warps=8, num_stages=3),
    dict(BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, num_warps=8, num_stages=4),
    dict(BLOCK_M=128, BLOCK_N=128, BLOCK_K=32, num_warps=4, num_stages=4),
    dict(BLOCK_M=128, BLOCK_N=256, BLOCK_K=64, num_warps=8, num_stages=3),
    dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, num_warps=2, num_stages=5),
    dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, num_warps=4, num_stages=3),
    dict(BLOCK_M=64, BLOCK_N=128, BLOCK_K=32, num_warps=4, num_stages=4),
    dict(BLOCK_M=32, BLOCK_N=64, BLOCK_K=32, num_warps=2, num_stages=4),
    dict(BLOCK_M=256, BLOCK_N=128, BLOCK_K=32, num_warps=16, num_stages=3),
    dict(BLOCK_M=256, BLOCK_N=256, BLOCK_K=32, num_warps=8, num_stages=2),
    dict(BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, num_warps=1, num_stages=2),
]


def _target() -> str:
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}"


def _launched(work):
    """The compiled kernels of the launches in ``work``, as Triton loaded them on this GPU."""
    kernels = []
    plain = route._plain["run"]

    def run(self: JITFunction, *args, **kwargs):
        kernels.append(plain(self, *args, **kwargs))
        return kernels[-1]

    route._plain["run"] = run
    try:
        work()
        torch.cuda.synchronize()
    finally:
        route._plain["run"] = plain
    return kernels


def _resident(kernel) -> int:
    """Programs per SM, asked of the CUDA driver."""
    count = ctypes.c_int()
    driver = ctypes.CDLL("libcuda.so.1")
    status = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
        ctypes.byref(count),
        ctypes.c_void_p(kernel.function),
        ctypes.c_int(kernel.metadata.num_warps * 32),
        ctypes.c_size_t(kernel.metadata.shared),
    )
    assert status == 0
    return count.value


def _agree(work):
    said = lab.compile(work, _target())
    said = [said] if hasattr(said, "registers") else list(said)
    kernels = _launched(work)
    assert len(kernels) == len(said) > 0
    for c, kernel in zip(said, kernels):
        print(
            f"{c!r} {c.num_warps} warps; driver: {kernel.n_regs} registers, {kernel.n_spills * 4} B local, {_resident(kernel)} resident; {c.occupancy!r}"
        )
        assert (c.registers, c.stack, c.shared) == (kernel.n_regs, kernel.n_spills * 4, kernel.metadata.shared)
        assert c.occupancy.programs == _resident(kernel)
        assert c.asm["ttgir"].count("tt.load") == kernel.asm["ttgir"].count("tt.load")
        code = [line.split("//")[0].strip() for line in kernel.asm["ptx"].splitlines()]
        own = [line.split("//")[0].strip() for line in c.asm["ptx"].splitlines()]
        keep = lambda lines: [t for t in lines if t and not t.startswith((".", "$", "//"))]  # noqa: E731
        assert keep(own) == keep(code)[: len(keep(own))]


@pytest.mark.parametrize("n", [98432, 98433])
@pytest.mark.parametrize("offset", [0, 1])
def test_vector_add_agrees_with_the_loaded_kernel(n, offset):
    x = torch.randn(n + 1, device="cuda")[offset : offset + n]
    out = torch.empty(n + 1, device="cuda")[offset : offset + n]
    _agree(lambda: add_kernel[(97,)](x, x, out, n, BLOCK_SIZE=1024))
    _agree(lambda: vector_add(x, x))


@pytest.mark.parametrize("config", MATMULS, ids=lambda c: "x".join(str(v) for v in c.values()))
def test_matmul_agrees_with_the_loaded_kernel(config):
    a = torch.randn(512, 512, device="cuda", dtype=torch.float16)
    c = torch.empty_like(a)
    grid = (512 // config["BLOCK_M"], 512 // config["BLOCK_N"])
    _agree(lambda: matmul_kernel[grid](a, a, c, 512, 512, 512, *a.stride(), *a.stride(), *c.stride(), **config))


@pytest.mark.parametrize("num_warps", [1, 2, 4, 8, 16, 32])
def test_other_kernels_agree_with_the_loaded_kernel(num_warps):
    x = torch.randn(64, 4096, device="cuda")
    out = torch.empty(64 * 4096, device="cuda")
    _agree(lambda: row_sum_kernel[(64,)](x, out, x.stride(0), 1, 4096, True, BLOCK_SIZE=4096, num_warps=num_warps))
    _agree(lambda: scaled_kernel[(256,)](x, out, x.numel(), True, BLOCK_SIZE=1024, num_warps=num_warps))


def test_cpu_tensors_compile_to_what_a_gpu_launches():
    x = torch.randn(2000)
    on_cpu = lab.compile(lambda: add_kernel[(2,)](x, x, x, 2000, BLOCK_SIZE=1024), _target())
    g = x.cuda()
    on_gpu = lab.compile(lambda: add_kernel[(2,)](g, g, g, 2000, BLOCK_SIZE=1024), _target())
    assert on_cpu == on_gpu


BF16, FP32 = torch.bfloat16, torch.float32

COURSE = {
    "vector_add": (vector_add, [(98432,), (98432,)], BF16),
    "vector_add, odd": (vector_add, [(2**21 + 1,), (2**21 + 1,)], BF16),
    "bias_gelu flat": (lambda x, b: bias_gelu(x, b, form="flat"), [(256, 4096), (4096,)], BF16),
    "bias_gelu wrapped": (lambda x, b: bias_gelu(x, b, form="wrapped"), [(256, 4112), (4112,)], BF16),
    "bias_gelu 2d": (lambda x, b: bias_gelu(x, b, form="2d"), [(256, 4097), (4097,)], BF16),
    "softmax row": (softmax, [(64, 4096)], BF16),
    "softmax row, odd": (softmax, [(64, 12671)], FP32),
    "softmax wide": (softmax, [(16, 131072)], BF16),
    "rmsnorm row": (rmsnorm, [(64, 1024), (1024,)], BF16),
    "rmsnorm wide": (rmsnorm, [(16, 131072), (131072,)], BF16),
    "matmul": (matmul, [(512, 256), (256, 384)], BF16),
    "matmul ieee": (matmul, [(512, 256), (256, 384)], FP32),
    "matmul tf32": (lambda a, b: matmul(a, b, input_precision="tf32"), [(512, 256), (256, 384)], FP32),
    "matmul, odd": (matmul, [(511, 257), (257, 385)], BF16),
    "grouped_matmul": (grouped_matmul, [(512, 256), (256, 384)], BF16),
    "grouped_matmul padded": (lambda a, b: grouped_matmul(a, b, pad=True), [(511, 257), (257, 385)], BF16),
}


@pytest.mark.parametrize("name", COURSE)
def test_the_courses_kernels_agree_with_the_loaded_ones(name):
    launcher, shapes, dtype = COURSE[name]
    tensors = [torch.randn(shape, device="cuda").to(dtype) for shape in shapes]
    _agree(lambda: launcher(*tensors))


@pytest.mark.parametrize("config", MATMULS, ids=lambda c: "x".join(str(v) for v in c.values()))
@pytest.mark.parametrize("size", [512, 1000])
def test_grouped_matmul_agrees_with_the_loaded_kernel_in_every_config(config, size):
    a = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
    _agree(lambda: grouped_matmul(a, a, **config))


def test_what_autotuning_chose_agrees_with_the_loaded_kernel():
    a = torch.randn(512, 512, device="cuda", dtype=torch.bfloat16)
    autotuned_matmul(a, a)
    *_, kernel = _launched(lambda: autotuned_matmul(a, a))
    from tritonlab.kernels.grouped_matmul import tuned_matmul_kernel

    best = tuned_matmul_kernel.best_config
    said = lab.compile(lambda: grouped_matmul(a, a, **best.kwargs, num_warps=best.num_warps, num_stages=best.num_stages), _target())
    assert (said.registers, said.stack, said.shared) == (kernel.n_regs, kernel.n_spills * 4, kernel.metadata.shared)
