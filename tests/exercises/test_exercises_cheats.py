"""Answers that try to get past the check, or to take it down with them."""

import sys
import time

import pytest
import torch
import triton
import triton.language as tl

import tritonlab as lab


@triton.jit
def double_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x + x, mask=mask)


@triton.jit
def copy_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=mask), mask=mask)


def launched(kernel, x):
    out = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK_SIZE=64)
    return out


def by_torch(x):
    out = launched(copy_kernel, x)
    out *= 2
    return out


def by_numpy(x):
    out = launched(copy_kernel, x)
    values = out.numpy()
    values += values
    return out


@pytest.mark.parametrize("cheat", [by_torch, by_numpy])
def test_values_changed_after_the_last_launch_are_not_the_kernels(cheat):
    result = lab.exercise("vector_add.offsets").check(cheat)
    assert not result.ok
    assert any(r.code == "not_by_launch" and "outside of a kernel" in r.text for r in result.reasons)


def test_the_honest_answer_is_accepted():
    assert lab.exercise("vector_add.offsets").check(lambda x: launched(double_kernel, x)).ok


def test_an_answer_that_ends_python_while_it_is_compiled_does_not_end_the_notebook(capsys):
    def ends(x):
        out = launched(double_kernel, x)
        print("LEAKED")
        if x.numel() and not (out != 0).any():  # so it is while launches are taken for the compiler, and not run
            sys.exit("gone")
        return out

    lab.exercise("vector_add.offsets").check(ends)
    assert "LEAKED" not in capsys.readouterr().out


def test_an_endless_loop_that_catches_everything_is_stopped():
    def stubborn(x):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                time.sleep(0.01)
            except BaseException:
                if time.monotonic() < end - 29:
                    continue
                raise
        return x

    result = lab.exercise("vector_add.offsets").check(stubborn)
    assert not result.ok and result.reasons[0].code == "budget"


def test_a_kernel_that_catches_the_guards_error_cannot_hide_it():
    @triton.jit
    def hiding_kernel(x_ptr):
        try:
            tl.store(x_ptr + 1000, 1.0)
        except:  # noqa: E722
            pass

    x = torch.zeros(8)
    with pytest.raises(lab.errors.UnsupportedError, match="try"):
        hiding_kernel[(1,)](x)
    assert x.tolist() == [0.0] * 8


def test_exit_in_a_kernel_is_an_error_in_a_kernel():
    @triton.jit
    def leaving_kernel(x_ptr):
        exit()

    with pytest.raises(lab.errors.KernelError, match="leaving_kernel"):
        leaving_kernel[(1,)](torch.zeros(8))
