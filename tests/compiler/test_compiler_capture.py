"""Launches that are captured are checked, and not run."""

import threading

import pytest
import torch
import triton
import triton.language as tl
from compiler_kernels import add_kernel

from tritonlab.errors import LaunchError, LaunchTypeError
from tritonlab.runtime import capture


def test_a_captured_launch_is_not_run():
    x, out = torch.ones(100), torch.full((100,), 7.0)
    with capture() as launches:
        add_kernel[lambda meta: (triton.cdiv(100, meta["BLOCK_SIZE"]),)](x, x, out, 100, BLOCK_SIZE=64, num_warps=2)
    assert torch.equal(out, torch.full((100,), 7.0))
    (launch,) = launches
    assert (launch.jit, launch.grid, launch.options, launch.device) == (add_kernel, (2, 1, 1), {"num_warps": 2}, "cpu")
    assert launch.arguments["x_ptr"] is x and launch.arguments["n_elements"] == 100 and launch.arguments["BLOCK_SIZE"] == 64
    assert repr(launch) == "<Captured add_kernel[2, 1, 1]>"
    add_kernel[(2,)](x, x, out, 100, BLOCK_SIZE=64)
    assert torch.equal(out, 2 * x), "after the block launches run again"


def test_meta_tensors_are_captured_and_never_interpreted():
    x = torch.empty(1 << 40, device="meta")
    with capture() as launches:
        add_kernel[(1 << 30,)](x, x, x, 1 << 40, BLOCK_SIZE=1024)
    assert launches[0].device == "meta"
    with pytest.raises(LaunchError, match="device meta"):
        add_kernel[(1,)](x, x, x, 100, BLOCK_SIZE=64)


def test_wrong_launches_are_refused_as_ever():
    x = torch.empty(100)
    with capture() as launches:
        with pytest.raises(LaunchTypeError, match="num_wraps"):
            add_kernel[(1,)](x, x, x, 100, BLOCK_SIZE=64, num_wraps=4)
        with pytest.raises(LaunchTypeError, match="grid"):
            add_kernel[1.5](x, x, x, 100, BLOCK_SIZE=64)
    assert launches == []


def test_only_this_threads_launches_are_captured():
    x, out = torch.ones(64), torch.zeros(64)
    with capture() as launches:
        other = threading.Thread(target=lambda: add_kernel[(1,)](x, x, out, 64, BLOCK_SIZE=64))
        other.start()
        other.join()
    assert launches == [] and torch.equal(out, 2 * x)


@triton.autotune(configs=[triton.Config({"BLOCK": 32}, num_warps=2), triton.Config({"BLOCK": 64})], key=["n"], reset_to_zero=["x_ptr"])
@triton.heuristics({"EVEN": lambda given: given["n"] % given["BLOCK"] == 0})
@triton.jit
def tuned_kernel(x_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, 1.0, mask=offs < n)


def test_the_first_config_is_captured_without_touching_tensors(capsys):
    x = torch.full((96,), 7.0)
    with capture() as launches:
        tuned_kernel[lambda meta: (triton.cdiv(96, meta["BLOCK"]),)](x, 96)
    (launch,) = launches
    assert (launch.arguments["BLOCK"], launch.arguments["EVEN"], launch.options["num_warps"], launch.grid) == (32, True, 2, (3, 1, 1))
    assert torch.equal(x, torch.full((96,), 7.0))
    assert capsys.readouterr().err == ""
