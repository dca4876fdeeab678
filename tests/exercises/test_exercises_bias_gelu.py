"""Chapter 2's exercises: what is special to them; solutions and kept answers are tested with those of all chapters."""

from __future__ import annotations

import numpy as np
import torch
import triton
import triton.language as tl
from exercise_tools import kept_answers, load

import tritonlab as lab
from tritonlab.exercises import names
from tritonlab.exercises.problems import bias_gelu as chapter


def test_the_chapter_has_five_exercises_from_easy_to_hard():
    found = [n for n in names() if n.startswith("bias_gelu.")]
    assert found == [f"bias_gelu.{n}" for n in ("leaky_relu", "scale_bias_relu", "gate", "any_strides", "dropout")]


def test_a_missing_mask_a_wrong_fill_and_a_wrong_precision_are_among_the_kept_answers():
    codes = {k.code for k in kept_answers() if k.exercise.startswith("bias_gelu.")}
    assert {"out_of_bounds", "fill", "precision", "strides", "special", "rule", "raises", "known_wrong"} <= codes


@triton.jit
def rand_kernel(out_ptr, seed, BLOCK_SIZE: tl.constexpr):
    offs = tl.arange(0, BLOCK_SIZE)
    tl.store(out_ptr + offs, tl.rand(seed, offs))


def test_the_oracles_random_numbers_are_those_of_tl_rand():
    for seed in (0, 17, 2**31 - 5, 2**40 + 3):
        out = torch.empty(256)
        rand_kernel[(1,)](out, seed, BLOCK_SIZE=256)
        torch.testing.assert_close(out.double(), chapter.uniform(seed, np.arange(256)), rtol=1e-6, atol=1e-9)
    assert not torch.equal(chapter.uniform(0, np.arange(256)), chapter.uniform(1, np.arange(256)))


def test_what_goes_through_memory_between_two_launches_is_named():
    kept = next(k for k in kept_answers() if k.id == "bias_gelu.scale_bias_relu-two_launches")
    result = lab.exercise(kept.exercise).check(load(kept.path).scale_bias_relu)
    assert "scale_bias_kernel writes t_ptr to memory and relu_kernel reads it again" in " ".join(str(result).split())
