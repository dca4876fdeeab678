"""The resource view's data are the compiled kernels' figures, laid out by what they differ in."""

from __future__ import annotations

import dataclasses
import json

import pytest

from tritonlab.compiler.record import Compilations, Failed
from tritonlab.views import specimens_compiled as s
from tritonlab.views.resources import MEASURES, resources, samples


def test_one_kernel_is_shown_with_all_that_it_takes():
    c = s.matmul()
    data = json.loads(json.dumps(resources(c).data))
    (point,) = data["points"]
    assert data["kind"] == "one" and point["row"] == point["column"] == ""
    for name in ("registers", "spilled", "shared", "instructions"):
        assert point[name] == getattr(c, name)
    found = c.occupancy
    assert (point["programs"], point["warps"], point["limiter"]) == (found.programs, found.warps, found.limiter)
    assert point["by"] == [["registers", 2], ["shared memory", 2], ["warps", 8], ["programs", 32]]
    assert point["most"]["warps"] == 64 and point["most"]["shared"] == 227 * 1024
    assert [m[:2] for m in point["mix"]["sass"]] == [[k, n] for k, n in c.sass.kinds.items()]
    assert ["global store", 8, [[16, 8]]] in point["mix"]["sass"]


def test_warps_and_stages_go_across_and_tiles_down():
    data = resources(s.matmul_grid()).data
    assert data["kind"] == "grid" and data["down"] == "BLOCK_M × BLOCK_N × BLOCK_K" and data["across"] == "num_warps × num_stages"
    assert data["rows"] == ["64×64×32", "128×128×64", "128×256×64", "256×256×64"]
    assert data["columns"] == [f"{w} warps, {st} stages" for w in (4, 8) for st in (2, 3, 4)]
    assert len({(p["row"], p["column"]) for p in data["points"]}) == 24


def test_points_that_do_not_fit_say_why():
    points = resources(s.matmul_grid()).data["points"]
    at = {(p["row"], p["column"]): p for p in points}
    assert at["256×256×64", "8 warps, 4 stages"]["problems"] == [
        "needs 256 KiB of shared memory, and a program on sm_90 gets at most 227 KiB"
    ]
    assert at["256×256×64", "8 warps, 3 stages"]["problems"] == []
    failed = at["64×64×32", "8 warps, 4 stages"]
    assert failed["compiled"] is False and failed["problems"] == ["the compiler had not finished in time"] and failed["line"] == 7
    assert repr(resources(s.matmul_grid())) == "<ResourceView matmul_kernel sm_90: 24 compiled, 3 of which do not fit, 7 spill>"


def test_only_what_differs_is_named():
    made = [s.matmul(num_stages=n) for n in (1, 2)]
    data = resources(*made).data
    assert (data["rows"], data["columns"], data["down"]) == ([""], ["1 stage", "2 stages"], "")
    targets = [dataclasses.replace(s.vector_add(), target=t) for t in ("sm_80", "sm_90")]
    data = resources(targets).data
    assert (data["kind"], data["rows"], data["down"]) == ("table", ["sm_80", "sm_90"], "target")


def test_kernels_are_compared_by_what_differs_within_each():
    data = resources(s.vector_add(), s.matmul(), s.matmul((64, 64, 32))).data
    assert data["kind"] == "table"
    assert data["rows"] == ["vector_add_kernel", "matmul_kernel, 128×128×64", "matmul_kernel, 64×64×32"]


def test_a_signature_tells_launches_apart():
    c = s.vector_add()
    odd = dataclasses.replace(c, signature={**c.signature, "n_elements": "i32"})
    assert resources(c, odd).data["rows"] == ["n_elements i32:16", "n_elements i32"]


def test_launches_that_nothing_tells_apart_are_numbered():
    assert resources(s.vector_add(), s.vector_add()).data["rows"] == ["1", "2"]


def test_compilations_lists_and_single_ones_may_be_mixed():
    many = Compilations((s.matmul(), s.matmul(num_stages=4)))
    assert len(resources(many, [s.matmul(num_stages=2)], s.matmul(num_stages=1)).data["points"]) == 4


def test_a_kernel_that_does_not_fit_is_said_in_the_repr():
    big = s.matmul((256, 256, 64), 8, 4, 255)
    assert (
        repr(resources(big))
        == "<ResourceView matmul_kernel sm_90: needs 256 KiB of shared memory, and a program on sm_90 gets at most 227 KiB>"
    )
    failed = Failed("k", "sm_80", "3.7.1", message="tl.dot needs K of at least 16")
    assert repr(resources(failed)) == "<ResourceView k sm_80: tl.dot needs K of at least 16>"


def test_repr_of_one_kernel():
    assert repr(resources(s.vector_add())) == (
        "<ResourceView vector_add_kernel sm_90: 18 registers, 0 spilled, 0 B shared, 24 instructions, 16 per SM, limited by warps>"
    )


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ((), ValueError, "nothing to show"),
        (([],), ValueError, "nothing to show"),
        ((lambda: None,), TypeError, "lab.compile"),
        (("x",), TypeError, "got str"),
        (([s.vector_add(), 3],), TypeError, "got list"),
    ],
)
def test_what_is_not_compiled_is_refused(given, error, words):
    with pytest.raises(error, match=words):
        resources(*given)


def test_an_unknown_measure_is_refused():
    with pytest.raises(ValueError, match="measure is 'speed'; it can be 'programs', "):
        resources(s.vector_add(), measure="speed")
    with pytest.raises(ValueError, match=r"measure is \[\]; it can be"):
        resources(s.vector_add(), measure=[])
    assert resources(s.vector_add(), measure="shared").data["measure"] == "shared" and "shared" in MEASURES


def test_samples_have_names_of_their_own():
    names = [name for name, _ in samples()]
    assert len(set(names)) == len(names) >= 4
