"""What a kernel prints is told apart by program, readable, and capped."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

import tritonlab as lab
from tritonlab.errors import LaunchTypeError


@triton.jit
def prints_kernel(x_ptr, n, BLOCK: tl.constexpr, HOW: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    if HOW == "values":
        print("x is", x, "of", n, x > 1)
    elif HOW == "pointers":
        print(x_ptr, x_ptr + offs, x_ptr + n)
    elif HOW == "device":
        tl.device_print("offs: ", offs, x)
    elif HOW == "hex":
        tl.device_print("offs", offs, hex=True)
    elif HOW == "static":
        tl.static_print("BLOCK", BLOCK)
    elif HOW == "f-string":
        print(f"{pid}: {offs}")
    elif HOW == "lines":
        print("a\nb", sep="-", end="")
    elif HOW == "many":
        for i in range(30):
            print(i)
    elif HOW == "2d":
        print(x[None, :] + offs[:, None])


def said(capsys, how, grid=(1,), dtype=torch.float32):
    x = torch.tensor([1.5, 2.5]).repeat(grid[0]).to(dtype)
    prints_kernel[grid](x, 7, BLOCK=2, HOW=how)
    return capsys.readouterr().out.splitlines()


def test_values_and_programs(capsys):
    assert said(capsys, "values", grid=(2,)) == [
        "[program 0] x is [1.5 2.5] of 7 [ True  True]",
        "[program 1] x is [1.5 2.5] of 7 [ True  True]",
    ]


def test_bf16_prints_as_numbers(capsys):
    assert said(capsys, "values", dtype=torch.bfloat16) == ["[program 0] x is [1.5 2.5] of 7 [ True  True]"]


def test_pointers_print_as_arguments_and_offsets(capsys):
    assert said(capsys, "pointers") == ["[program 0] x_ptr + 0 x_ptr + [0 1] x_ptr + 7"]


@pytest.mark.parametrize(
    "how, expected",
    [
        ("device", ["[program 0] offs: [0 1] [1.5 2.5]"]),
        ("hex", ["[program 0] offs: [0x00000000 0x00000001]"]),
        ("static", ["[program 0] BLOCK 2"]),
        ("f-string", ["[program 0] 0: [0 1]"]),
        ("lines", ["[program 0] a", "[program 0] b"]),
        ("2d", ["[program 0] [[1.5 2.5]", "[program 0]  [2.5 3.5]]"]),
    ],
)
def test_ways_to_print(capsys, how, expected):
    assert said(capsys, how) == expected


def test_several_axes(capsys):
    x = torch.zeros(4)
    two_axes_kernel[(2, 2)](x)
    assert capsys.readouterr().out.splitlines() == ["[program 0] here", "[program 1] here", "[program (0, 1)] here", "[program (1, 1)] here"]


@triton.jit
def two_axes_kernel(x_ptr):
    print("here")


def test_printing_is_capped(capsys):
    with lab.limits(lines=5):
        lines = said(capsys, "many", grid=(3,))
    assert lines[:5] == [f"[program 0] {i}" for i in range(5)] and len(lines) == 6
    assert "more than 5 printed lines; the rest is left out (lab.limits(lines=...)" in lines[5]
    with lab.limits(lines=float("inf")):
        assert len(said(capsys, "many", grid=(4,))) == 120
    assert len(said(capsys, "many", grid=(4,))) == 101


@pytest.mark.parametrize("name", ["programs", "seconds", "lines"])
@pytest.mark.parametrize("value", [-1, "many", True, float("nan")])
def test_limits_are_numbers(name, value):
    with pytest.raises(LaunchTypeError, match=rf"limits\({name}=...\) takes a number of at least 0"):
        with lab.limits(**{name: value}):
            pass


def test_limits_nest_and_end():
    with lab.limits(programs=5) as outer:
        with lab.limits(seconds=2) as inner:
            assert (inner.programs, inner.seconds) == (5, 2)
        assert (outer.programs, outer.seconds) == (5, 60.0)
        with pytest.raises(lab.errors.BudgetError):
            two_axes_kernel[(6,)](torch.zeros(1))
    two_axes_kernel[(6,)](torch.zeros(1))
