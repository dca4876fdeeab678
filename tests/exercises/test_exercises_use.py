"""An exercise as a learner meets it: names, hints, solution, wrong kinds, results."""

from __future__ import annotations

import dataclasses

import pytest
import torch
import triton
import triton.language as tl
from exercise_tools import cell

import tritonlab as lab
from tritonlab.exercises import result as result_module
from tritonlab.exercises.result import CheckResult, Reason


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)


def test_an_unknown_name_lists_close_matches_first():
    with pytest.raises(ValueError, match=r"no exercise 'vector_add.masks'. Did you mean vector_add.mask\b.*All: vector_add.mask,"):
        lab.exercise("vector_add.masks")
    with pytest.raises(ValueError, match="Did you mean .*vector_add.strided"):
        lab.exercise("strided")
    with pytest.raises(ValueError, match="there is no exercise 'qqq'. All: vector_add.offsets"):
        lab.exercise("qqq")
    with pytest.raises(ValueError, match="needs a name: vector_add.offsets"):
        lab.exercise()
    with pytest.raises(TypeError, match="takes a name such as"):
        lab.exercise(3)


def test_an_exercise_is_the_same_object_each_time_so_that_hints_go_on():
    exercise = lab.exercise("vector_add.offsets")
    assert exercise is lab.exercise("vector_add.offsets")
    exercise._given = 0
    total = len(exercise.problem.hints)
    first, second = exercise.hint(), lab.exercise("vector_add.offsets").hint()
    assert first.startswith(f"Hint 1 of {total}: ") and f"({total - 1} more: hint(2))" in first
    assert second.startswith(f"Hint 2 of {total}: ")
    for _ in range(total):
        last = exercise.hint()
    assert last == exercise.hint(total) and "last one; solution()" in last


@pytest.mark.parametrize("number", [0, 9, -1, True, "1", 1.0])
def test_a_hint_that_there_is_not_is_refused(number):
    with pytest.raises(ValueError, match="has hints 1 to 3; got"):
        lab.exercise("vector_add.mask").hint(number)


def test_hint_prompt_stub_and_solution_show_as_plain_text():
    exercise = lab.exercise("vector_add.mask")
    for text in (exercise.hint(1), exercise.prompt, exercise.stub, exercise.solution()):
        assert repr(text) == str(text) and isinstance(text, str)
    assert exercise.solution().startswith("@triton.jit\ndef multiply_kernel(")
    assert repr(exercise) == "<Exercise vector_add.mask: 3 hints, 9 cases>"


def test_inputs_are_new_and_the_same_each_time():
    exercise = lab.exercise("vector_add.strided")
    (x, y), (again, _) = exercise.inputs(7), exercise.inputs(7)
    assert torch.equal(x, again) and x.data_ptr() != again.data_ptr() and x.stride() == (2,)
    x.zero_()
    assert not torch.equal(x, exercise.inputs(7)[0])
    with pytest.raises(ValueError, match="has cases 0 to 11; got 12"):
        exercise.inputs(12)


@pytest.mark.parametrize(
    "answer, says",
    [
        (None, "check got None. Hand over the function itself, check(multiply)"),
        (copy_kernel, "check got a kernel. It takes the launcher"),
        (torch.ones(3), "check got a tensor: the launcher was called"),
        ("multiply", "check got a str"),
        (42, "check got an int"),
        (dict, "check got the class dict"),
        ([], "check got a list"),
    ],
    ids=["None", "kernel", "tensor", "str", "int", "class", "list"],
)
def test_a_wrong_kind_of_answer_is_named(answer, says):
    result = lab.exercise("vector_add.mask").check(answer)
    assert result.codes == ("wrong_kind",) and says in result.reasons[0].text and not result.tests


@pytest.mark.parametrize("answer", [lambda x: x, lambda x, y, z: x, lambda: None], ids=["too few", "too many", "none"])
def test_a_wrong_signature_is_named_and_nothing_is_called(answer):
    result = lab.exercise("vector_add.mask").check(answer)
    assert result.codes == ("wrong_signature",)
    assert "it must take multiply(x, y)" in result.reasons[0].text


def test_defaults_and_extra_keywords_of_a_launcher_are_fine(tmp_path):
    exercise = lab.exercise("vector_add.mask")
    text = exercise.solution().replace("def multiply(x, y):", "def multiply(x, y, *, BLOCK_SIZE=64, verbose=False):")
    assert exercise.check(cell(tmp_path, text).multiply).ok


STUBS = {
    "ellipsis": ("def multiply(x, y):\n    ...\n", "multiply still has a ... in line 7."),
    "pass": ('def multiply(x, y):\n    """Not yet."""\n    pass\n', "multiply does nothing yet."),
    "not implemented": ("def multiply(x, y):\n    raise NotImplementedError\n", "multiply raises NotImplementedError."),
    "nothing launched": ("def multiply(x, y):\n    n = x.numel()\n", "multiply launches nothing and returns None."),
    "in the kernel": (
        "@triton.jit\ndef k(x_ptr, B: tl.constexpr):\n    offs = ...\n\n\ndef multiply(x, y):\n    k[(1,)](x, B=64)\n    return x\n",
        "k still has a ... in line 8.",
    ),
    "kernel passes": ("@triton.jit\ndef k(x_ptr):\n    pass\n\n\ndef multiply(x, y):\n    k[(1,)](x)\n    return x\n", "k does nothing yet."),
    "kernel raises": (
        "@triton.jit\ndef k(x_ptr):\n    raise NotImplementedError\n\n\ndef multiply(x, y):\n    k[(1,)](x)\n    return x\n",
        "multiply raises NotImplementedError.",
    ),
}


@pytest.mark.parametrize("kind", STUBS)
def test_an_unfinished_stub_is_not_yet_rather_than_wrong(kind, tmp_path):
    text, says = STUBS[kind]
    result = lab.exercise("vector_add.mask").check(cell(tmp_path, text).multiply)
    assert result.status == "not yet" and not result.ok and not result.reasons
    if kind != "ellipsis":
        assert says in result.note
    else:
        assert "multiply still has a ... in line" in result.note
    assert repr(result).startswith("… vector_add.mask: not yet\n") and 'lab.exercise("vector_add.mask").hint()' in result.note


def test_an_ellipsis_in_an_index_is_no_stub(tmp_path):
    exercise = lab.exercise("vector_add.mask")
    text = exercise.solution().replace("    out = torch.empty_like(x)\n", "    out = torch.empty_like(x)\n    x = x[..., :]\n")
    assert exercise.check(cell(tmp_path, text).multiply).ok


def test_a_result_is_frozen_compares_and_reads_the_same_each_time(tmp_path):
    exercise = lab.exercise("vector_add.mask")
    module = cell(tmp_path, exercise.stub)
    one, two = exercise.check(module.multiply), exercise.check(module.multiply)
    assert one == two and repr(one) == repr(two) and one.trace is not two.trace
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.status = "right"
    assert not one and exercise.check(cell(tmp_path, exercise.solution(), "right").multiply)


def test_the_text_of_a_result_names_place_case_and_how_to_see_it_again(tmp_path):
    exercise = lab.exercise("vector_add.mask")
    result = exercise.check(cell(tmp_path, exercise.stub).multiply)
    assert repr(result) == (
        "✗ vector_add.mask: not right yet (3 of 9 cases came out right)\n"
        "  Load out of bounds: program 0, lane 63 reads x_ptr[63], but x_ptr ends at\n"
        "  offset 62. 1 of its 64 lanes is out of range. This tl.load has no mask: lanes\n"
        "  past the end must be off.\n"
        "    line 10: x = tl.load(x_ptr + offs)\n"
        "  Smallest failing case: x: 63, y: 63\n"
        '  See it again: multiply(*lab.exercise("vector_add.mask").inputs(3))'
    )
    reason = result.reasons[0]
    assert (reason.program, reason.line, reason.lane, reason.arg, reason.offset) == ((0, 0, 0), 10, 63, "x_ptr", 63)
    assert (result.where.launch, result.where.program, result.where.lane) == (0, (0, 0, 0), 63)
    step = result.trace.launches[0].steps[result.where.program][result.where.step]
    assert step.line == 10, "the trace of the failing case is stepped, and opens at the line"


def test_see_it_again_really_shows_it_again(tmp_path):
    exercise = lab.exercise("vector_add.mask")
    module = cell(tmp_path, exercise.stub)
    again = exercise.check(module.multiply).reasons[0].again
    with pytest.raises(lab.errors.OutOfBoundsError, match="lane 63"):
        eval(again, {"lab": lab, "multiply": module.multiply})


def test_a_notebook_displays_the_text_and_then_what_the_hook_gives(monkeypatch):
    import IPython.display

    shown = []
    monkeypatch.setattr(IPython.display, "display", lambda what, **how: shown.append(what))
    result = CheckResult("a.b", "not right", (Reason("raises", "It raises."),))
    for hook, then in ((None, []), (lambda r: f"a view of {r.name}", ["a view of a.b"]), (lambda r: None, []), (_no_widgets, [])):
        shown.clear()
        monkeypatch.setattr(result_module, "show", hook)
        result._ipython_display_()
        assert shown == [{"text/plain": repr(result)}, *then]


def _no_widgets(result):
    raise ImportError("anywidget")


def test_several_reasons_are_numbered():
    result = CheckResult("a.b", "not right", (Reason("input_changed", "x was changed."), Reason("race", "Two programs.")), ("n = 1",), 0)
    assert repr(result).splitlines()[1:] == ["1. x was changed.", "2. Two programs."]


def test_what_an_answer_prints_is_kept_for_the_failing_case(tmp_path, capsys):
    exercise = lab.exercise("vector_add.mask")
    text = exercise.stub.replace("    return out\n", "").replace("    out = torch", "    print('n is', x.numel())\n    out = torch")
    result = exercise.check(cell(tmp_path, text + "    return out\n").multiply)
    assert capsys.readouterr().out == ""
    assert result.printed == "n is 63\n" and "It printed:\n    n is 63" in repr(result)
