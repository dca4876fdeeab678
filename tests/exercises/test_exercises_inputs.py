"""The tensors of a case: layouts, guard bands, values, and what is noticed to have changed."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from exercise_tools import problem

from tritonlab.exercises.inputs import BAND, build, poison
from tritonlab.exercises.problem import Case, Problem, Tolerance, sizes, spec
from tritonlab.exercises.run import compare

LAYOUTS = {
    ((6,), "contiguous"): (1,),
    ((6,), "every second"): (2,),
    ((6,), "column"): (3,),
    ((6,), "expanded"): (0,),
    ((4, 6), "contiguous"): (6, 1),
    ((4, 6), "every second"): (12, 2),
    ((4, 6), "wide rows"): (9, 1),
    ((4, 6), "transposed"): (1, 4),
    ((4, 6), "expanded"): (0, 1),
}


@pytest.mark.parametrize("shape, layout", LAYOUTS)
def test_a_layout_has_its_strides_and_nan_everywhere_around(shape, layout):
    built = build(Case((spec(*shape, layout=layout, values="ones"),)))
    tensor, base = built.args[0], built.bases[0]
    assert tuple(tensor.shape) == shape and tensor.stride() == LAYOUTS[shape, layout]
    assert (tensor == 1).all()
    inside = torch.zeros(base.numel(), dtype=torch.bool)
    inside.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).fill_(True)
    assert base[~inside].isnan().all() and not base[inside].isnan().any()
    assert base[:BAND].isnan().all() and base[-BAND:].isnan().all()


def test_a_layout_that_does_not_fit_a_shape_is_refused():
    with pytest.raises(ValueError, match=r"layout 'transposed' does not fit the shape \(6,\)"):
        build(Case((spec(6, layout="transposed"),)))
    with pytest.raises(ValueError, match="layout 'diagonal'"):
        build(Case((spec(6, layout="diagonal"),)))
    with pytest.raises(ValueError, match="values 'odd' is none of"):
        build(Case((spec(6, values="odd"),)))


def test_guard_bands_of_integers_hold_the_largest_value():
    base = build(Case((spec(3, dtype="int32"),))).bases[0]
    assert base[0] == torch.iinfo(torch.int32).max == poison(torch.int32)


def test_the_same_seed_gives_the_same_values_and_two_arguments_differ():
    case = Case((spec(9), spec(9), 2.5))
    one, two, other = build(case, 3), build(case, 3), build(case, 4)
    assert torch.equal(one.args[0], two.args[0]) and one.args[2] == 2.5
    assert not torch.equal(one.args[0], one.args[1]) and not torch.equal(one.args[0], other.args[0])


def test_special_values_hold_infinities_and_nan_among_ordinary_ones():
    x = build(Case((spec(65, values="special"),))).args[0]
    assert x.isnan().any() and (x == float("inf")).any() and (x == float("-inf")).any() and x.isfinite().any()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32"])
def test_a_changed_input_is_told_from_a_changed_neighbour_and_nan_counts_as_itself(dtype):
    case = Case((spec(5, layout="every second", dtype=dtype), spec(5, dtype=dtype)))
    built = build(case)
    assert built.changed() == ()
    built.args[0][2] += 1
    built.bases[1][BAND + 5] = 0
    assert built.changed() == ((0, True), (1, False))
    assert not torch.equal(built.pristine()[0], built.args[0]) and built.pristine()[0].stride() == (2,)


def test_an_empty_tensor_can_be_built_in_every_layout():
    for layout in ("contiguous", "every second", "column", "expanded"):
        assert build(Case((spec(0, layout=layout),))).args[0].shape == (0,)


def test_sizes_meet_the_places_where_a_tiled_kernel_goes_wrong():
    assert sizes(64) == (64, 192, 1, 63, 65, 197, 0)
    assert sizes(1) == (1, 3, 0, 2, 5)


def test_compare_takes_nan_as_equal_infinities_only_as_themselves_and_the_sum_of_both_tolerances():
    nan, inf = float("nan"), float("inf")
    seen = np.array([nan, inf, -inf, inf, 1.0, 1.02, 1.021, nan, 1.0])
    want = np.array([nan, inf, inf, 1.0, inf, 1.0, 1.0, 1.0, nan])
    assert compare(seen, want, Tolerance(0.01, 0.0101, "")).tolist() == [False, False, True, True, True, False, True, True, True]


def test_a_case_says_what_it_is():
    case = Case((2.0, spec(64, layout="every second"), spec(3, 4, dtype="float16", values="special")), note="odd")
    assert case.label(("a", "x", "y")) == "a = 2.0, x: 64 every second element ([::2]), y: 3×4 float16, special values (odd)"
    assert case.strided and case.special and case.numel == 64
    assert not Case((spec(3),)).strided


def test_a_problem_without_two_hints_or_a_launcher_is_refused():
    with pytest.raises(ValueError, match="needs at least two hints, got 1"):
        problem(None, (), hints=("only one",))
    with pytest.raises(TypeError, match="the last of solution must be the launcher"):
        Problem("a.b", "", "", (), None, (), ("a", "b"), Tolerance(0, 0, ""))


def test_a_tolerance_by_dtype_names_what_it_has():
    given = problem(None, (), tolerance={"float32": Tolerance(1, 1, "")})
    assert given.tolerance_for("float32").rtol == 1
    with pytest.raises(KeyError, match="no tolerance for float16; it has float32"):
        given.tolerance_for("float16")
