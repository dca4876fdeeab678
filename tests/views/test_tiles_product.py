"""The data of the matmul picture: roles, K steps and counts by program, and when the picture is offered."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from tritonlab.analysis import tile_reuse
from tritonlab.trace.record import Trace
from tritonlab.views import specimens as s
from tritonlab.views.tiles import tiles
from tritonlab.views.tiles_product import OTHER, STORE, product_data
from tritonlab.views.tiles_product_specimens import BUGS, product
from tritonlab.views.touches import linear, unruns


def plan_of(data, number):
    return data["plans"][int(unruns(data["plan"])[number])]


@pytest.mark.parametrize("launch", [product(), product((40, 56, 50), (16, 32, 16)), product(programs=4), product(turned=True), product((20, 24, 0)), *(product(bug=b) for b in BUGS)])
def test_every_access_has_its_tile_and_step_and_every_step_its_counts(launch):
    data, reuse = json.loads(json.dumps(tiles(launch).data["product"], allow_nan=False)), tile_reuse(launch)
    belongs = {p: [t.nth, k] for t in reuse.tiles for k, step in enumerate(t.steps) for p in (*step.a, *step.b)}
    belongs |= {p: [t.nth, STORE] for t in reuse.tiles for p in t.stores}
    for program in {a.program for a in launch.accesses}:
        plan = plan_of(data, linear(program, launch.grid))
        own = [p for p, a in enumerate(launch.accesses) if a.program == program]
        assert plan["touches"] == [belongs[p] for p in own]
        assert [[s[:4] for s in t["steps"]] for t in plan["tiles"]] == [[[s.bytes_a, s.bytes_b, s.flop, s.useful] for s in t.steps] for t in reuse.of(program)]
        assert [[s[4:] for s in t["steps"]] for t in plan["tiles"]] == [[[*s.programs_a, *s.programs_b] for s in t.steps] for t in reuse.of(program)]


def test_a_program_that_touched_nothing_has_no_plan():
    data = tiles(product(bug="no mask on K")).data["product"]
    assert unruns(data["plan"]).tolist() == [0, 1, 2] + [-1] * 9 and data["strays"] == 8


def test_programs_that_do_alike_share_a_plan():
    view = tiles(product((160, 160, 8), (4, 4, 4)))
    assert len(view.data["product"]["plans"]) == 1
    edges = tiles(product((40, 56, 40))).data["product"]["plans"]
    assert len(edges) == 4, "inside, right edge, lower edge, corner"


def test_other_arguments_are_told_apart():
    launch = product((16, 32, 16))
    bias = dataclasses.replace(launch.accesses[0], arg="bias_ptr", offsets=np.arange(16), mask=np.ones(16, bool), values=None)
    from tritonlab.trace.record import TensorArg

    more = dataclasses.replace(launch, args=(*launch.args, TensorArg("bias_ptr", 3, "float32", 4, (16,), (1,))), accesses=(bias, *launch.accesses))
    data = product_data(more)
    assert data["others"] == ["bias_ptr"] and plan_of(data, 0)["touches"] == [[0, OTHER], [0, 0], [0, 0], [0, STORE]]


def test_a_product_is_shown_as_one_and_named_in_the_repr():
    view = tiles(product((64, 96, 32), (32, 32, 16), dtype=np.float16))
    assert view.data["picture"] == "product"
    assert repr(view) == "<TileView matmul_kernel 6 programs × 32×32 lanes, a_ptr[64, 32] @ b_ptr[32, 96] in 2 K steps>"
    assert repr(tiles(product(turned=True))).endswith("a_ptr[40, 40] @ b_ptr[56, 40].T in 3 K steps>")
    assert repr(tiles(product(), picture="matrix")) == "<TileView matmul_kernel 12 programs × 16×16 lanes, up to 2816 masked on a line>"
    assert tiles(product(), picture="matrix").data["product"] is not None, "the view still offers it"


@pytest.mark.parametrize("launch", [s.vector_add(), s.softmax_rows(), s.atomic_histogram(), s.vector_add(0, 64)])
def test_other_launches_keep_their_pictures_and_a_product_asked_for_is_refused(launch):
    view = tiles(launch)
    assert view.data["product"] is None and view.data["picture"] in ("memory", "matrix")
    with pytest.raises(ValueError, match=rf"^{launch.kernel} is no product"):
        tiles(launch, picture="product")


def test_the_access_that_ended_a_launch_is_part_of_its_step():
    launch = product(bug="no mask on K")
    failed = launch.accesses[-1]
    error = ValueError("out of range")
    for name in ("kind", "arg", "program", "line", "offsets", "mask", "function"):
        setattr(error, name, getattr(failed, name))
    error.kernel = launch.kernel
    view = tiles(Trace((dataclasses.replace(launch, accesses=launch.accesses[:-1]),), error=error))
    assert view.data["product"]["strays"] == 8 and view.data["start"] == 2
    assert plan_of(view.data["product"], 2)["touches"][-1] == [0, 2]


def test_thousands_of_programs_stay_small():
    launch = product((400, 400, 8), (4, 4, 8))
    view = tiles(launch)
    assert launch.programs == 10_000 and len(json.dumps(view.data["product"])) < 1000
