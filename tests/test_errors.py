"""How errors look to a learner: their own lines with their numbers, the message and the way out, and nothing of the machinery."""

from __future__ import annotations

import re
import traceback

import pytest
import torch
import triton
import triton.language as tl

import tritonlab as lab
from tritonlab import errors
from tritonlab.errors import BudgetError, ExpectedError, KernelError, KernelInterrupted, LaunchError, LaunchTypeError, OutOfBoundsError, TritonlabError, UnsupportedError, expect_error, render
from tritonlab.runtime import hints

MACHINERY = re.compile(r"site-packages|/tmp/|runtime/|interpreter\.py|route\.py|launch\.py|jit\.py|Traceback|0x[0-9a-f]{6}")


@triton.jit
def double_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, helper(x))


@triton.jit
def helper(x):
    y = x * 2
    return y + undefined_name  # noqa: F821


def double(x):
    out = torch.empty_like(x)
    double_kernel[(1,)](x, out, BLOCK=8)
    return out


def caught(work):
    with pytest.raises(BaseException) as info:
        work()
    return info.value


# rendering


def test_out_of_bounds_in_full():
    error = caught(lambda: double(torch.zeros(5)))
    first = double_kernel.starting_line_number
    lines = render(error).splitlines()
    assert lines[:10] == [
        f"OutOfBoundsError in double_kernel, line {first + 3}, program 0 of 1",
        "",
        f"    {first + 1}  def double_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):",
        f"    {first + 2}      offs = tl.arange(0, BLOCK)",
        f"--> {first + 3}      x = tl.load(x_ptr + offs)",
        f"    {first + 4}      tl.store(out_ptr + offs, helper(x))",
        "",
        "load from x_ptr: lane 5 of 8 has offset 5, but x_ptr holds offsets 0 … 4. 3 of 8 lanes are out of range (offsets 5 … 7)",
        "Way out: the lanes past the end must be off: mask = offs < n, and tl.load(..., mask=mask, other=...)",
        "",
    ]
    assert [line.split(", line")[0] for line in lines[10:]] == ["test_errors.py"] * 3
    assert "in double: double_kernel[(1,)](x, out, BLOCK=8)" in lines[-1] and not MACHINERY.search("\n".join(lines))


def test_an_error_in_a_device_function():
    error = caught(lambda: double(torch.zeros(8)))
    first = helper.starting_line_number
    text = render(error)
    assert text.startswith(f"KernelError in helper (called by double_kernel), line {first + 3}, program 0 of 1\n")
    assert f"--> {first + 3}      return y + undefined_name" in text and "NameError: name 'undefined_name' is not defined" in text
    assert "Way out: undefined_name is not known in the kernel" in text and not MACHINERY.search(text)
    assert isinstance(error.original, NameError)


def test_a_launch_error():
    text = render(caught(lambda: double_kernel[(1.5,)](torch.zeros(8), torch.zeros(8), BLOCK=8)))
    assert text.startswith("LaunchTypeError: grid[0] of double_kernel is 1.5, a float\nWay out: use triton.cdiv(n, BLOCK_SIZE)") and not MACHINERY.search(text)


def test_an_error_of_the_learners_own():
    def work():
        return [][1]

    text = render(caught(work))
    assert text.startswith("IndexError: list index out of range\n") and text.endswith("in work: return [][1]") and "Way out" not in text


def test_errors_without_a_message_and_not_yet_placed():
    assert render(ValueError()) == "ValueError"
    assert render(KernelError("it broke", "mend it")) == "KernelError: it broke\nWay out: mend it"
    assert str(KernelError("it broke", "mend it")) == "it broke\nmend it" and str(TritonlabError("only this")) == "only this"


def test_the_plain_message_has_the_place_and_the_way_out():
    error = caught(lambda: double(torch.zeros(5)))
    assert str(error).startswith(f"double_kernel, line {error.line}, program 0 of 1: load from x_ptr: lane 5 of 8")
    assert str(error).splitlines()[-1] == error.hint
    two = caught(lambda: double_kernel[(2, 3)](torch.zeros(5), torch.zeros(8), BLOCK=8))
    assert ", program 0 of grid (2, 3): " in str(two)


def test_python_shows_no_frames_of_the_interpreter():
    error = caught(lambda: double(torch.zeros(8)))
    frames = traceback.extract_tb(error.__traceback__)
    assert not any("interpreter" in f.filename or "language" in f.filename for f in frames)
    text = "".join(traceback.format_exception(error))
    assert "During handling" not in text and "direct cause" not in text


@pytest.mark.parametrize(
    "kind, bases",
    [
        (LaunchError, (TritonlabError, ValueError)), (LaunchTypeError, (TritonlabError, TypeError)), (KernelError, (TritonlabError, RuntimeError)),
        (OutOfBoundsError, (KernelError,)), (BudgetError, (KernelError,)), (UnsupportedError, (KernelError,)),
        (KernelInterrupted, (KernelError, KeyboardInterrupt)), (ExpectedError, (TritonlabError, AssertionError)),
    ],
)
def test_errors_are_what_python_expects_of_them(kind, bases):
    assert all(issubclass(kind, base) for base in bases) and kind.__name__ in errors.__all__


# in IPython


@pytest.fixture(scope="module")
def shell():
    shells = pytest.importorskip("IPython.core.interactiveshell")
    return shells.InteractiveShell(colors="nocolor" if "nocolor" in str(shells.InteractiveShell.colors.help).lower() else "NoColor")


CELL = """\
import torch, triton, triton.language as tl
import tritonlab as lab

@triton.jit
def cell_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x)

def run(n):
    x, out = torch.zeros(n), torch.zeros(n)
    cell_kernel[(1,)](x, out, BLOCK=8)
    return out
"""


def shown(shell, capsys, cell):
    capsys.readouterr()
    shell.run_cell(cell, store_history=True)
    return capsys.readouterr().out


def test_a_cell_shows_the_learners_lines_only(shell, capsys):
    assert shown(shell, capsys, CELL) == ""
    text = shown(shell, capsys, "y = 1\nrun(5)")
    assert text.splitlines()[:7] == [
        "OutOfBoundsError in cell_kernel, line 7, program 0 of 1",
        "",
        "    5  def cell_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):",
        "    6      offs = tl.arange(0, BLOCK)",
        "--> 7      x = tl.load(x_ptr + offs)",
        "    8      tl.store(out_ptr + offs, x)",
        "",
    ]
    assert "cell, line 2: run(5)" in text and "cell, line 12, in run: cell_kernel[(1,)](x, out, BLOCK=8)" in text
    assert not MACHINERY.search(text) and "ipython-input" not in text


def test_a_redefined_kernel_shows_its_new_lines(shell, capsys):
    shown(shell, capsys, CELL)
    shown(shell, capsys, CELL.replace("    offs = tl.arange(0, BLOCK)\n", "    # one line more\n    offs = tl.arange(0, BLOCK)\n"))
    text = shown(shell, capsys, "run(5)")
    assert "in cell_kernel, line 8," in text and "--> 8  x = tl.load(x_ptr + offs)" in text and "# one line more" in text
    assert shown(shell, capsys, "run(8);") == ""


def test_an_error_in_traced_work_and_in_a_helper_of_the_cell(shell, capsys):
    shown(shell, capsys, CELL)
    text = shown(shell, capsys, "lab.trace(lambda: run(5), step=0)")
    assert text.startswith("OutOfBoundsError in cell_kernel, line 7") and text.count("cell, line 1: lab.trace") == 1
    text = shown(shell, capsys, "cell_kernel[(1,)](torch.zeros(8), torch.zeros(8), BLOK=8)")
    assert text.startswith("LaunchTypeError: cell_kernel has no parameter 'BLOK'") and "did you mean BLOCK?" in text


def test_expect_error_in_a_cell(shell, capsys):
    shown(shell, capsys, CELL)
    text = shown(shell, capsys, "with lab.expect_error() as it:\n    run(5)\nprint(type(it.error).__name__, it.error.lane)")
    assert text.startswith("OutOfBoundsError in cell_kernel, line 7") and text.endswith("OutOfBoundsError 5\n") and not MACHINERY.search(text)


def test_breaking_python_errors_keep_ipythons_own_form(shell, capsys):
    assert "ZeroDivisionError" in shown(shell, capsys, "1 / 0")


# expect_error


def test_expect_error_shows_and_goes_on(capsys):
    with expect_error() as it:
        double(torch.zeros(5))
    assert isinstance(it.error, OutOfBoundsError) and capsys.readouterr().out == render(it.error) + "\n"
    with expect_error(KernelError, ValueError) as it:
        double(torch.zeros(5))
    assert it.error.offset == 5


def test_expect_error_carries_the_trace(capsys):
    with expect_error(OutOfBoundsError) as it:
        lab.trace(lambda: double(torch.zeros(5)))
    assert it.trace is it.error.trace and it.trace.launch.error
    with expect_error() as it:
        double(torch.zeros(5))
    assert it.trace is None


def test_no_error_where_one_is_expected():
    with pytest.raises(ExpectedError, match="expected an error, but the block ran through"):
        with expect_error():
            pass
    with pytest.raises(ExpectedError, match="expected OutOfBoundsError or KernelError"):
        with expect_error(OutOfBoundsError, KernelError):
            pass


def test_another_error_than_the_expected_one_comes_through(capsys):
    with pytest.raises(OutOfBoundsError):
        with expect_error(LaunchError):
            double(torch.zeros(5))
    assert capsys.readouterr().out == ""


def test_an_interrupt_is_expected_only_by_name(capsys):
    with pytest.raises(KeyboardInterrupt):
        with expect_error():
            raise KeyboardInterrupt
    with pytest.raises(KernelInterrupted):
        with expect_error():
            raise KernelInterrupted("stopped")
    with expect_error(KernelInterrupted):
        raise KernelInterrupted("stopped")
    assert capsys.readouterr().out.startswith("KernelInterrupted: stopped")


@pytest.mark.parametrize("wrong", [5, "OutOfBoundsError", int, OutOfBoundsError("an instance")])
def test_expect_error_takes_exception_classes(wrong):
    with pytest.raises(TypeError, match="expect_error takes exception classes"):
        expect_error(wrong)


# the table of hints


@pytest.mark.parametrize(
    "error, text, says, way_out",
    [
        (ValueError("arange's range must be a power of 2"), "", "ValueError: arange's range must be a power of 2", "next_power_of_2"),
        (AttributeError("module 'triton.language' has no attribute 'tanh'"), "", "tl.tanh does not exist", "tl.sigmoid"),
        (AttributeError("module 'triton.language' has no attribute 'relu'"), "", "tl.relu does not exist", "triton.language"),
        (AttributeError("'NoneType' object has no attribute 'data'"), "", "the result of something that has no value is used", "tl.store"),
        (NameError("name 'np' is not defined", name="np"), "", "NameError: name 'np' is not defined", "np is not known in the kernel"),
        (ZeroDivisionError("integer division by zero"), "", "ZeroDivisionError: integer division by zero", "divisor is 0"),
        (RecursionError("maximum recursion depth exceeded"), "", "the kernel calls itself without end", "cannot recurse"),
        (ValueError("operands could not be broadcast together with shapes (4,) (8,)"), "", "broadcast", "x[:, None]"),
        (ValueError("something nobody has seen"), "", "ValueError: something nobody has seen", ""),
    ],
)
def test_messages_and_ways_out(error, text, says, way_out):
    message, hint = hints.hint_for(error, text)
    assert says in message and way_out in hint and (hint == "") == (way_out == "")


def test_an_assertion_without_words_shows_what_it_asked():
    try:
        assert 1 == 2, ""
    except AssertionError as e:
        assert hints.hint_for(AssertionError(), "") == ("AssertionError", "")
        e.args = ()
        assert hints.hint_for(e, "")[0] == 'AssertionError: assert 1 == 2, ""'


def test_every_pattern_is_a_pattern_with_a_way_out():
    for pattern, plain, hint in hints._TABLE:
        re.compile(pattern)
        assert hint and (plain is None or plain)
