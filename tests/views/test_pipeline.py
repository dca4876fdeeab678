"""The timeline's data are the facts of the compiled kernels."""

from __future__ import annotations

import dataclasses
import json

import pytest

from tritonlab.compiler.record import Compilations, Failed
from tritonlab.views import specimens_compiled as s
from tritonlab.views.pipeline import pipeline, samples


def item(view, i=0):
    return json.loads(json.dumps(view.data))["items"][i]


def test_a_kernel_is_shown_with_what_its_pipeline_says():
    c = s.pipelined(3)
    one, p = item(pipeline(c)), c.pipeline
    for name in ("stages", "how", "dot", "running", "before", "inside", "loads", "bytes"):
        assert one[name] == getattr(p, name)
    assert one["waits"] == [2] and (one["shared"], one["most_shared"]) == (96 * 1024, 227 * 1024)
    assert one["groups"] == [
        {"ahead": 2, "slots": 3, "bytes": 32 * 1024, "tiles": [["a", "128×64", "fp16"], ["b", "64×128", "fp16"]]}
    ]
    assert (one["label"], one["asked"], one["programs"]) == ("", 3, c.occupancy.programs)


def test_tiles_that_are_copied_and_tiles_that_are_not_stand_apart():
    groups = item(pipeline(s.pipelined(3, part=True)))["groups"]
    assert [(g["ahead"], g["slots"], g["tiles"][0][0]) for g in groups] == [(2, 3, "b"), (0, 1, "a")]


def test_a_list_is_labelled_by_what_differs_and_a_dict_by_its_keys():
    assert [i["label"] for i in pipeline([s.pipelined(n) for n in (1, 2)]).data["items"]] == ["1 stage", "2 stages"]
    assert [i["label"] for i in pipeline(Compilations((s.pipelined(3), s.pipelined(3, "sm_80")))).data["items"]] == ["sm_90", "sm_80"]
    assert [i["label"] for i in pipeline({"mine": s.pipelined(3), "yours": s.pipelined(4)}).data["items"]] == ["mine", "yours"]
    assert [i["label"] for i in pipeline([s.pipelined(3), s.pipelined(3)]).data["items"]] == ["(1)", "(2)"]


def test_repr_says_stages_and_buffers():
    view = pipeline([s.pipelined(1), s.pipelined(3)])
    assert repr(view) == "<PipelineView matmul_kernel sm_90: 1 stage, not pipelined; 3 stages, 3 × 32 KiB>"
    assert repr(pipeline(s.pipelined(3, "sm_80"))) == "<PipelineView matmul_kernel sm_80: 3 stages, 2 × 32 KiB>"


def test_what_does_not_compile_or_fit_is_kept_and_said():
    failed = Failed("matmul_kernel", "sm_90", "3.7.1", options={"num_stages": 9}, message="out of patience")
    view = pipeline([failed, s.pipelined(8)])
    assert view.data["start"] == 1 and item(view)["compiled"] is False and item(view)["problems"] == ["out of patience"]
    assert item(view, 1)["problems"] == ["needs 256 KiB of shared memory, and a program on sm_90 gets at most 227 KiB"]
    assert "does not compile; 8 stages" in repr(view)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (lambda: None, TypeError, "lab.compile"),
        ("x", TypeError, "got str"),
        ([s.pipelined(2), 3], TypeError, "got list"),
        ({"a": 3}, TypeError, "got dict"),
        ([], ValueError, "nothing to show"),
        (s.vector_add(), ValueError, "vector_add_kernel for sm_90 has no loop that loads tiles"),
        ({"add": s.vector_add()}, ValueError, r"\(add\)"),
    ],
)
def test_what_has_no_pipeline_is_refused(given, error, words):
    with pytest.raises(error, match=words):
        pipeline(given)


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"steps": 17}, {"steps": 2.0}, {"load": 7}, {"load": True}])
def test_steps_and_load_are_checked(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name} must be a whole number from 1 to"):
        pipeline(s.pipelined(2), **wrong)


def test_the_first_shown_can_be_chosen_by_its_label():
    many = [s.pipelined(n) for n in (1, 2, 3)]
    assert pipeline(many).data["start"] == 0 and pipeline(many, start="3 stages").data["start"] == 2
    with pytest.raises(ValueError, match="start is '4 stages'; the kernels are labelled '1 stage', '2 stages', '3 stages'"):
        pipeline(many, start="4 stages")
    with pytest.raises(ValueError, match=r"start is \[1\]; the kernels are labelled"):
        pipeline(many, start=[1])


def test_a_loop_that_holds_its_tiles_in_registers_has_no_buffer():
    c = s.pipelined(1, dot=False)
    bare = dataclasses.replace(c, pipeline=dataclasses.replace(c.pipeline, buffers=(), loads=1), shared=0)
    assert item(pipeline(bare))["groups"] == []


def test_samples_have_names_of_their_own():
    names = [name for name, _ in samples()]
    assert len(set(names)) == len(names) >= 4
