"""The assembly view's data are the compiled lines, each with the source line that it came from."""

from __future__ import annotations

import dataclasses
import json

import pytest

from tritonlab.compiler.record import AsmLine, Compilations, FunctionSource
from tritonlab.views import specimens_compiled as s
from tritonlab.views.assembly import assembly, samples


def rows(view, stage):
    return json.loads(json.dumps(view.data))["stages"][stage]["rows"]


@pytest.mark.parametrize("stage", ["sass", "ptx"])
def test_every_instruction_stands_beside_its_line(stage):
    c = s.vector_add()
    told = rows(assembly(c), stage)
    assert [(r[1], r[3] or None, r[4]) for r in told if r[1]] == [
        (line.kind, line.line, line.bytes) for line in c.lines[stage] if line.opcode
    ]
    assert assembly(c).data["stages"][stage]["total"] == getattr(c, stage).total
    assert all(r[2] == 0 for r in told)
    wrong = dataclasses.replace(c, lines={**c.lines, stage: c.lines[stage][1:]})
    assert rows(assembly(wrong), stage) != told


def test_text_is_tidied_and_labels_stay():
    lines = (
        AsmLine(1, "\tld.global.v4.b32 \t{%r1}, [%rd1];   // note", "ld.global.v4.b32", "global load", "k", 3),
        AsmLine(2, "$L__BB0_2:   // %.lr.ph"),
        AsmLine(3, "$L__tmp4:"),
        AsmLine(4, "\t.loc 1 2 3"),
        AsmLine(5, ""),
    )
    c = dataclasses.replace(s.vector_add(), lines={"ptx": lines, "sass": ()})
    assert [r[0] for r in rows(assembly(c, "ptx"), "ptx")] == ["ld.global.v4.b32 {%r1}, [%rd1]", "$L__BB0_2:"]


def test_the_source_is_numbered_as_in_the_learners_file():
    c = s.vector_add()
    (function,) = assembly(c).data["functions"]
    assert (function["name"], function["first"]) == ("vector_add_kernel", c.functions[0].first_line)
    assert function["lines"] == c.functions[0].source.rstrip().split("\n")


def test_a_kernel_written_inside_a_function_loses_its_indentation():
    c = s.vector_add()
    inner = FunctionSource("vector_add_kernel", "    @triton.jit\n    def k(x_ptr):\n        pass\n", 40)
    assert assembly(dataclasses.replace(c, functions=(inner,))).data["functions"][0]["lines"] == [
        "@triton.jit",
        "def k(x_ptr):",
        "    pass",
    ]


def test_device_functions_are_shown_when_something_came_from_them():
    c = s.vector_add()
    helper, idle = (
        FunctionSource("helper", "def helper(x):\n    return x\n", 3),
        FunctionSource("idle", "def idle(x):\n    return x\n", 8),
    )
    lines = tuple(
        dataclasses.replace(line, function="helper", line=4) if line.kind == "floating point" else line
        for line in c.lines["sass"]
    )
    view = assembly(dataclasses.replace(c, functions=(*c.functions, idle, helper), lines={**c.lines, "sass": lines}))
    assert [f["name"] for f in view.data["functions"]] == ["vector_add_kernel", "helper"]
    assert {tuple(r[2:4]) for r in rows(view, "sass") if r[1] == "floating point"} == {(1, 4)}


def test_it_begins_at_the_first_load_or_where_it_is_told_to():
    c = s.vector_add()
    first = c.functions[0].first_line
    assert assembly(c).data["start"] == {"stage": "sass", "place": [0, first + 5]}
    assert assembly(c, "ptx", line=first + 7).data["start"] == {"stage": "ptx", "place": [0, first + 7]}
    with pytest.raises(ValueError, match=rf"line is 3, and no SASS came from there; it came from line {first + 2}, "):
        assembly(c, line=3)


def test_repr_counts_instructions_and_lines():
    assert (
        repr(assembly(s.vector_add()))
        == "<AssemblyView vector_add_kernel sm_90: 24 SASS and 18 PTX instructions of 7 source lines>"
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (Compilations((s.vector_add(), s.matmul())), r"choose one of them, as in assembly\(c\[0\]\)"),
        (lambda: None, r"hand it to lab.compile\(...\) first"),
        ("LDG", "got str"),
    ],
)
def test_what_is_no_single_compiled_kernel_is_refused(given, words):
    with pytest.raises(TypeError, match=words):
        assembly(given)


def test_an_unknown_stage_is_refused():
    with pytest.raises(ValueError, match="stage is 'llir'; it can be 'sass' or 'ptx'"):
        assembly(s.vector_add(), "llir")


def test_samples_have_names_of_their_own():
    names = [name for name, _ in samples()]
    assert len(set(names)) == len(names) >= 2
