"""A program by its number or ids, as every view of accesses takes it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tritonlab as lab
from tritonlab.kernels.matmul import matmul
from tritonlab.views.touches import program_given


@pytest.fixture(scope="module")
def product():
    return lab.trace(lambda: matmul(torch.randn(20, 33), torch.randn(33, 18), BLOCK_M=16, BLOCK_N=16, BLOCK_K=16))


@pytest.mark.parametrize("view", [lab.views.tiles, lab.views.pointers])
@pytest.mark.parametrize("program", [1.5, float("nan"), True, "", "x", [], (), [None], (0, 0, 0, 0), {1: 2}, object(), np.zeros(2)])
def test_what_names_no_program_is_told_so(view, program, product):
    with pytest.raises(TypeError, match="program must be a number or a program's ids, such as 5 or"):
        view(product, program=program)


@pytest.mark.parametrize("view", [lab.views.tiles, lab.views.pointers])
@pytest.mark.parametrize("program", [4, -1, (2, 0), (0, -1), np.int64(4)])
def test_a_program_that_the_grid_does_not_have_is_told_so(view, program, product):
    with pytest.raises(ValueError, match="the grid of matmul_kernel has 4 programs"):
        view(product, program=program)


def test_numbers_of_numpy_and_ids_name_the_same_program(product):
    launch = product.launch
    assert {program_given(p, launch) for p in (3, np.int64(3), (1, 1), [1, 1], np.array([3])[0], (np.int32(1), 1, 0))} == {(1, 1, 0)}
    for view in (lab.views.tiles, lab.views.pointers):
        assert view(product, program=np.int64(3)).text == view(product, program=(1, 1)).text
