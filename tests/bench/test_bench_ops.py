"""The registry: what a kernel declares, and what is said when a declaration is wrong."""

import sys
import types

import pytest
import torch

from tritonlab.bench.errors import MeasureError
from tritonlab.bench.ops import cases_of, find_ops


def declared(**changes):
    case = {
        "shape": (8,),
        "dtype": torch.float32,
        "make": lambda device: (torch.randn(8, device=device),),
        "run": torch.neg,
        "baselines": {"torch": torch.negative},
        "cost": (64, 8),
    }
    return {k: v for k, v in {**case, **changes}.items() if v is not KeyError}


@pytest.fixture
def package(monkeypatch, tmp_path):
    """``package(negate=[...], other=[...])`` makes modules that declare these cases, and names their package."""
    folder = tmp_path / "declared_ops"
    folder.mkdir()
    (folder / "__init__.py").write_text("")

    def make(**modules):
        for name, cases in modules.items():
            (folder / f"{name}.py").write_text("")
            module = types.ModuleType(f"declared_ops.{name}")
            if cases is not None:
                module.bench_cases = lambda cases=cases: iter(cases)
            monkeypatch.setitem(sys.modules, f"declared_ops.{name}", module)
        monkeypatch.syspath_prepend(str(tmp_path))
        return "declared_ops"

    yield make
    sys.modules.pop("declared_ops", None)


def test_modules_that_declare_cases_are_found(package):
    assert list(find_ops(package(negate=[declared()], helper=None, add=[declared()]))) == ["add", "negate"]


def test_a_declaration_becomes_a_case_with_all_contenders(package):
    (case,) = cases_of(["negate"], package(negate=[declared()]))
    assert list(case.contenders) == ["tritonlab", "torch"] and case.own == ("tritonlab",)
    assert case.compiled is torch.negative
    assert (case.name, case.dtype_name, case.cost) == ("negate 8 float32", "float32", (64, 8))
    assert case.oracle is None and case.tolerance is None


def test_several_forms_of_the_courses_kernel_have_names(package):
    (case,) = cases_of([], package(negate=[declared(run={"flat": torch.neg, "2-D grid": torch.neg})]))
    assert list(case.contenders) == ["tritonlab flat", "tritonlab 2-D grid", "torch"]
    assert case.own == ("tritonlab flat", "tritonlab 2-D grid")


def test_what_is_compiled_can_be_named_or_left_out(package):
    cases = cases_of([], package(negate=[declared(compile=torch.abs), declared(compile=None), declared(baselines={"liger": torch.abs})]))
    assert [case.compiled for case in cases] == [torch.abs, None, None]


class Point:
    implementation = "negate"

    def __init__(self, **config):
        self.config = config

    def __call__(self, x):
        return -x


def test_the_points_of_a_sweep_are_told_apart_by_their_config(package):
    (case,) = cases_of([], package(negate=[declared(run=[Point(BLOCK=16), Point(BLOCK=32)])]))
    assert list(case.contenders) == ["negate BLOCK=16", "negate BLOCK=32", "torch"]
    assert case.swept["negate BLOCK=32"] == ("negate", (("BLOCK", 32),)) and case.own == tuple(case.swept)


def test_a_long_sweep_is_taken_only_by_name(package):
    name = package(negate=[declared()], long=[declared()])
    sys.modules["declared_ops.long"].ONLY_BY_NAME = True
    assert [case.op for case in cases_of([], name)] == ["negate"]
    assert [case.op for case in cases_of(["long"], name)] == ["long"]


def test_another_ops_oracle_and_tolerance_can_be_named(package):
    from tritonlab import reference
    from tritonlab.tolerances import tolerance

    (case,) = cases_of([], package(sweep=[declared(like="matmul", accuracy={"K": 64, "input_precision": "tf32"})]))
    wanted = tolerance("matmul", torch.float32, K=64, input_precision="tf32")
    assert case.oracle is reference.matmul and case.tolerance == (wanted.rtol, wanted.atol)


def test_the_sweeps_of_the_course_are_as_large_as_they_say():
    configs, groups = cases_of(["matmul_configs"]), cases_of(["group_m"])
    assert len(configs) == 4 and all(len(case.swept) >= 60 for case in configs)
    assert [case.shape[0] for case in groups] == [4096, 8192, 16384]
    for case in groups:
        tiles = {tuple(config[:3]) for _, config in case.swept.values()}
        found = {dict(config).get("GROUP_M") for _, config in case.swept.values()}
        assert len(tiles) == 3 and found == {1, 2, 4, 8, 16, 32, "whole column", None}


def test_the_oracle_and_tolerance_of_the_course_are_the_defaults(package):
    from tritonlab import reference
    from tritonlab.tolerances import tolerance

    first, second = cases_of(["vector_add"], package(vector_add=[declared(), declared(oracle=torch.abs, tolerance=(0.5, 0.25))]))
    wanted = tolerance("vector_add", torch.float32)
    assert first.oracle is reference.vector_add and first.tolerance == (wanted.rtol, wanted.atol)
    assert second.oracle is torch.abs and second.tolerance == (0.5, 0.25)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cost": KeyError}, r"case 0 of tritonlab.kernels.negate.bench_cases\(\) lacks cost"),
        ({"make": KeyError, "run": KeyError}, "lacks make, run"),
        ({"baseline": {}}, "has an unknown baseline"),
    ],
)
def test_a_declaration_that_lacks_something_or_has_too_much_is_named(package, change, message):
    with pytest.raises(MeasureError, match=message):
        cases_of([], package(negate=[declared(**change)]))


def test_an_unknown_op_names_those_there_are_close_ones_first(package):
    with pytest.raises(MeasureError, match="no op 'negat'; it knows negate, add") as caught:
        cases_of(["negat"], package(negate=[declared()], add=[declared()]))
    assert caught.value.hint == "did you mean 'negate'?"


def test_quick_keeps_every_fourth_size_and_the_largest_of_each_dtype(package):
    cases = [declared(shape=(n,), dtype=dtype) for dtype in (torch.float32, torch.float16) for n in range(1, 11)]
    kept = cases_of([], package(negate=cases), quick=True)
    assert [(case.dtype_name, case.shape[0]) for case in kept] == [(d, n) for d in ("float32", "float16") for n in (2, 6, 10)]


def test_the_course_declares_vector_add_as_the_record_needs_it():
    cases = cases_of(["vector_add"])
    assert {case.dtype_name for case in cases} == {"float32", "float16", "bfloat16"}
    assert {case.shape for case in cases} == {(2**power,) for power in range(12, 29)}
    assert all(case.oracle and case.tolerance and case.compiled for case in cases)


@pytest.mark.parametrize("op", list(find_ops()))
def test_every_op_of_the_course_is_declared_whole(op):
    rivals = {}  # a part of an op may be a case of its own, beside one with torch of the same shape and dtype
    for case in cases_of([op]):
        assert case.oracle and case.tolerance, case.name
        rivals.setdefault((case.shape, case.dtype), set()).update(case.contenders)
    assert all("torch" in names for names in rivals.values()), rivals
