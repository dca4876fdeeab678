"""What the compiler refuses is said at the learner's line."""

import dataclasses
import os
import subprocess
import sys

import pytest
import torch
import triton
import triton.language as tl

import tritonlab as lab
from tritonlab.compiler import LIMITS, CompileError, Refusal, refusals
from tritonlab.errors import KernelError, render
from tritonlab.runtime import capture

x = torch.empty(4096, device="meta")
half = torch.empty(4096, dtype=torch.float16, device="meta")
SIZE = 16


@triton.jit
def helper(a):
    return tl.dot(a, a)  # HERE nested


@triton.jit
def broken_kernel(x_ptr, n, WHAT: tl.constexpr):
    offs = tl.arange(0, 16)
    if WHAT == "break":
        for i in range(n):
            if i > 3:
                break  # HERE break
    elif WHAT == "return":
        for i in range(n):
            tl.store(x_ptr + i, 0.0)
            return  # HERE return
    elif WHAT == "global":
        tl.store(x_ptr + offs, SIZE)  # HERE global
    elif WHAT == "carried":
        acc = 0  # HERE carried
        for i in range(n):
            acc += tl.load(x_ptr + i)
        tl.store(x_ptr, acc)
    elif WHAT == "arange":
        tl.store(x_ptr + tl.arange(0, 20), 0.0)  # HERE arange
    elif WHAT == "run-time arange":
        tl.store(x_ptr + tl.arange(0, n), 0.0)  # HERE run-time arange
    elif WHAT == "undefined":
        tl.store(x_ptr, nothing)  # noqa: F821  # HERE undefined
    elif WHAT == "tanh":
        tl.store(x_ptr, tl.tanh(tl.load(x_ptr)))  # HERE tanh
    elif WHAT == "index":
        tl.store(x_ptr, tl.load(x_ptr + offs)[0])  # HERE index
    elif WHAT == "if block":
        if offs > 3:  # HERE if block
            tl.store(x_ptr, 0.0)
    elif WHAT == "parentheses":
        tl.store(x_ptr + offs, 0.0, mask=offs >= 0 & offs < n)  # HERE parentheses
    elif WHAT == "nested":
        small = tl.arange(0, 4)
        tl.store(x_ptr + small[:, None] * 4 + small[None, :], helper(tl.load(x_ptr + small[:, None] * 4 + small[None, :])))
    elif WHAT == "library":
        tl.store(x_ptr, tl.sum(tl.load(x_ptr + offs), axis=3))  # HERE library
    elif WHAT == "assert":
        tl.static_assert(WHAT == "good", "not good")  # HERE assert
    else:
        tl.store(x_ptr + offs, 0.0)


def here(what):
    """The number of the line marked with a comment in this file."""
    with open(__file__, encoding="utf-8") as f:
        return next(n for n, text in enumerate(f, 1) if text.rstrip().endswith(f"# HERE {what}"))


def work(what, tensor=x):
    return lambda: broken_kernel[(1,)](tensor, 10, WHAT=what)


@pytest.mark.parametrize(
    "what, said, way_out",
    [
        ("break", "`break` cannot be compiled", "mask"),
        ("return", "`return` inside a loop", "mask"),
        ("global", "Python variable SIZE", "tl.constexpr"),
        ("carried", "acc begins as int32, and the loop makes it fp32", "0.0"),
        ("arange", "power of two", "next_power_of_2"),
        ("run-time arange", "constants", "BLOCK_SIZE: tl.constexpr"),
        ("undefined", "nothing is not defined", "every path"),
        ("tanh", "tl.tanh does not exist", "sigmoid"),
        ("index", "a block cannot be indexed", "tl.where"),
        ("if block", "this condition is a block", "tl.where"),
        ("library", "invalid axis 3", ""),
        ("assert", "not good", ""),
        (
            "nested",
            "tl.dot needs K of at least 16 on sm_80" if triton.__version__ < "3.8" else "tl.dot needs K of at least",
            "other=0.0",
        ),
    ],
)
def test_a_refused_kernel_is_explained_at_its_line(what, said, way_out):
    with pytest.raises(CompileError) as caught:
        lab.compile(work(what, half if what == "nested" else x), "sm_80")
    error = caught.value
    assert said in error.message and way_out in error.hint
    assert (error.line, error.kernel, error.target) == (here(what), "broken_kernel", "sm_80")
    assert error.text.endswith(f"# HERE {what}")
    assert error.function == ("helper" if what == "nested" else "broken_kernel")
    assert isinstance(error, KernelError)


@pytest.mark.skipif(triton.__version__ >= "3.9", reason="Triton 3.9 compiles it")
def test_missing_parentheses_are_explained():
    with pytest.raises(CompileError, match="put each comparison in parentheses") as caught:
        lab.compile(work("parentheses"))
    assert caught.value.line == here("parentheses")


def test_an_error_is_shown_at_a_learners_size(capsys):
    with lab.expect_error(CompileError):
        lab.compile(work("tanh"))
    shown = capsys.readouterr().out
    assert shown.startswith(f"CompileError in broken_kernel, line {here('tanh')}, compiled for sm_90\n")
    assert f"--> {here('tanh')}  " in shown and "Way out: " in shown and "triton/compiler" not in shown
    assert len(shown.splitlines()) < 14


def test_a_python_function_in_a_kernel_is_found():
    with pytest.raises(CompileError) as caught:
        lab.compile(lambda: calling_kernel[(1,)](x))
    assert caught.value.line == here("calling") and "<function plain_function>" in caught.value.message
    assert " at 0x" not in render(caught.value)


def plain_function(a):
    return a


@triton.jit
def calling_kernel(x_ptr):
    tl.store(x_ptr, plain_function(1.0))  # HERE calling


def test_a_good_kernel_is_refused_by_no_target():
    assert refusals(work("good")) == ()


def test_refusals_name_target_line_and_way_out():
    found = refusals(work("nested", half))
    assert [r.target for r in found] == ["sm_80", "sm_90"]
    assert found[0].line == here("nested") and found[0].kernel == "broken_kernel" and found[0].text.startswith("return tl.dot")
    assert "tl.dot needs K" in found[0].message and "other=0.0" in found[0].hint
    assert str(found[0]).startswith(f"broken_kernel on sm_80: line {here('nested')}, `return tl.dot(a, a)")


def test_refusals_take_captured_launches_and_say_each_thing_once():
    with capture() as launches:
        work("tanh")()
        work("tanh")()
        work("good")()
    found = refusals(launches, targets=["sm_90"])
    assert len(found) == 1 and found[0].line == here("tanh")
    assert refusals(launches[2], targets=["sm_90"]) == ()


def test_options_that_a_target_lacks_are_refused_there_only():
    found = refusals(lambda: broken_kernel[(1,)](x, 10, WHAT="good", num_ctas=2), targets=["sm_80"])
    assert len(found) == 1 and found[0].line == 0 and "num_ctas" in found[0].message and isinstance(found[0], Refusal)


@triton.jit
def summing_kernel(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, BLOCK)), axis=0))


def test_too_much_shared_memory_is_refused_though_it_compiles(monkeypatch):
    sum_work = lambda: summing_kernel[(1,)](x, BLOCK=1024)  # noqa: E731
    assert refusals(sum_work, targets=["sm_80"]) == ()
    monkeypatch.setitem(LIMITS, "sm_80", dataclasses.replace(LIMITS["sm_80"], shared_program=8))
    found = refusals(sum_work, targets=["sm_80"])
    assert len(found) == 1 and found[0].message == "needs 16 B of shared memory, and a program on sm_80 gets at most 8 B"
    assert found[0].text.startswith("def summing_kernel(") and "smaller blocks" in found[0].hint


def test_a_static_assert_fails_also_after_interpreted_launches():
    """The code generator knows tl.static_assert by identity, so it must not be imported while a launch replaces it."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import torch, tritonlab as lab, test_compiler_errors as t\n"
        "t.broken_kernel[(1,)](torch.zeros(64), 1, WHAT='good')\n"
        "with lab.expect_error(t.CompileError): lab.compile(t.work('assert'))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code, os.path.dirname(__file__)], capture_output=True, text=True)
    assert ran.returncode == 0 and "not good" in ran.stdout, ran.stderr
