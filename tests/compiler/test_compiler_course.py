"""Every kernel of the course compiles for GPUs that are not here, in a process that has interpreted it before."""

import importlib
import pkgutil

import pytest
import torch
import triton

import tritonlab as lab
from tritonlab import kernels
from tritonlab.compiler import TARGETS, Compiled
from tritonlab.kernels import bias_gelu as gelu
from tritonlab.kernels import grouped_matmul as grouped
from tritonlab.kernels.matmul import matmul
from tritonlab.kernels.rmsnorm import rmsnorm
from tritonlab.kernels.softmax import softmax
from tritonlab.kernels.vector_add import vector_add

ROWS, COLUMNS = 3, 64


def given(*shapes, dtype=torch.float32):
    return [torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(dtype) for shape in shapes]


SMALL = dict(BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, num_warps=1, num_stages=2)
HALF = given((16, 32), (32, 16), dtype=torch.float16)
WORK = {
    "vector_add": lambda: vector_add(*given((200,), (200,))),
    "vector_add strided": lambda: vector_add(torch.ones(400)[::2], torch.ones(200)),
    **{f"bias_gelu {form}": lambda form=form: gelu.bias_gelu(*given((ROWS, COLUMNS), (COLUMNS,)), form=form) for form in gelu.FORMS},
    "bias_gelu op by op": lambda: gelu.bias_gelu_op_by_op(*given((ROWS, COLUMNS), (COLUMNS,))),
    **{f"softmax {form}": lambda form=form: softmax(*given((ROWS, COLUMNS)), form=form) for form in ("row", "wide")},
    **{f"rmsnorm {form}": lambda form=form: rmsnorm(*given((ROWS, COLUMNS), (COLUMNS,)), form=form) for form in ("row", "wide")},
    "matmul": lambda: matmul(*HALF, **SMALL),
    "matmul fp32": lambda: matmul(*given((16, 32), (32, 16)), **SMALL),
    "grouped_matmul": lambda: grouped.grouped_matmul(*HALF, **SMALL),
    "grouped_matmul filled up": lambda: grouped.grouped_matmul(*given((15, 31), (31, 15), dtype=torch.float16), **SMALL, pad=True),
    "autotuned_matmul": lambda: grouped.autotuned_matmul(*HALF),
}
FROM = ("sm_80", "sm_90", "sm_100")
"""The targets that the course shows."""


@pytest.fixture(scope="module", autouse=True)
def interpreted():
    """Run all of it once, in this process: Triton's language is patched and put back dozens of times."""
    for work in WORK.values():
        work()


@pytest.mark.parametrize("target", FROM)
@pytest.mark.parametrize("name", WORK)
def test_every_kernel_of_the_course_compiles_after_interpreted_launches(name, target):
    made = lab.compile(WORK[name], target)
    for c in [made] if isinstance(made, Compiled) else made:
        assert c.fits and c.target == target and c.instructions > 10 and c.registers > 0, c
        assert c.sass.kinds.get("global store", 0) + c.sass.kinds.get("TMA", 0) > 0
        assert {stage for stage, text in c.asm.items() if text} == {"ttir", "ttgir", "llir", "ptx", "sass"}
        assert any(line.line for line in c.lines["sass"]) and c.occupancy.programs >= 1


def test_no_kernel_of_the_course_is_left_out():
    """Each ``@triton.jit`` function of the kernels whose name ends in _kernel is launched by some work above (those of sweeps aside)."""
    there = set()
    for entry in pkgutil.iter_modules(kernels.__path__):
        if entry.name.endswith("_sweeps"):
            continue
        module = importlib.import_module(f"{kernels.__name__}.{entry.name}")
        there |= {
            name for name, value in vars(module).items() if name.endswith("_kernel") and isinstance(value, triton.JITFunction)
        }
    launched = set()
    for work in WORK.values():
        made = lab.compile(work)
        launched |= {c.kernel for c in ([made] if isinstance(made, Compiled) else made)}
    assert there <= launched, there - launched


def test_the_targets_of_the_course_are_known():
    assert set(FROM) <= set(TARGETS)
