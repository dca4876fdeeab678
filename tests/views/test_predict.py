"""A prediction takes its answer as a value, refuses what cannot be right, and gives nothing away."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tritonlab.views.predict import predict, samples, unseal

Q = "How many lanes are masked?"


def test_the_repr_names_the_question_and_not_the_answer():
    assert repr(predict(Q, [0, 24, 40, 64], 24)) == '<Prediction "How many lanes are masked?" 4 choices>'
    assert repr(predict(Q, None, 24)) == '<Prediction "How many lanes are masked?" a number>'
    assert repr(predict(Q, [0, 24, 40, 64], 24)) == repr(predict(Q, [0, 24, 40, 64], 40))


def test_the_answer_is_the_position_of_the_equal_value():
    assert unseal(predict(Q, [0, 24, 40, 64], 24).data)["answer"] == 1
    assert unseal(predict(Q, {"none": 0, "the rest": 24}, np.int64(24)).data)["answer"] == 1
    assert unseal(predict(Q, [0.5, 1.5], np.float32(1.5)).data)["answer"] == 1
    assert unseal(predict("Is it?", {"yes": True, "no": False}, np.bool_(False)).data)["answer"] == 1
    assert unseal(predict("Which?", ["x_ptr", "out_ptr"], "out_ptr").data)["answer"] == 1
    assert unseal(predict("Which?", [(0, 1), (1, 0)], (1, 0)).data)["answer"] == 1


def test_a_tensor_of_one_element_is_its_value_and_a_larger_one_is_refused():
    torch = pytest.importorskip("torch")
    assert unseal(predict(Q, [0, 24], torch.tensor(24)).data)["answer"] == 1
    with pytest.raises(TypeError, match="answer is a Tensor with 3 elements; a choice is one value"):
        predict(Q, [0, 24], torch.zeros(3))
    with pytest.raises(TypeError, match="answer is a ndarray with 2 elements"):
        predict(Q, [0, 24], np.zeros(2))


def test_an_answer_that_is_no_choice_is_refused_naming_both():
    with pytest.raises(ValueError, match=r"answer is 25, which is none of the choices 0, 24, 40"):
        predict(Q, [0, 24, 40], 25)
    with pytest.raises(ValueError, match=r"answer is True, which is none of the choices 1, 2"):
        predict(Q, [1, 2], True)


def test_choices_that_repeat_or_are_too_few_are_refused():
    with pytest.raises(ValueError, match="the choices '1' and '1.0' are the same"):
        predict(Q, [1, 1.0], 1)
    with pytest.raises(ValueError, match="the choices 'a' and 'b' are the same"):
        predict(Q, {"a": 3, "b": 3}, 3)
    with pytest.raises(ValueError, match="at least two"):
        predict(Q, [1], 1)
    with pytest.raises(TypeError, match="choices is a str"):
        predict(Q, "abc", "a")
    with pytest.raises(ValueError, match="labels are texts"):
        predict(Q, {1: "a", 2: "b"}, "a")


def test_an_empty_question_is_refused():
    with pytest.raises(ValueError, match="question is '  '"):
        predict("  ", [1, 2], 1)


def test_reasons_belong_to_choices_by_value_or_label():
    by_value = predict(Q, {"none": 0, "the rest": 24}, 24, why={24: "because"})
    by_label = predict(Q, {"none": 0, "the rest": 24}, 24, why={"the rest": "because"})
    assert unseal(by_value.data)["why"] == unseal(by_label.data)["why"] == {"1": "because"}
    with pytest.raises(ValueError, match=r"why speaks of 7, which is none of the choices '0', '24'"):
        predict(Q, [0, 24], 24, why={7: "no"})
    with pytest.raises(ValueError, match="why speaks twice of the choice 'none'"):
        predict(Q, {"none": 0, "some": 1}, 0, why={0: "a", "none": "b"})


def test_a_number_to_enter_is_kept_exactly():
    assert unseal(predict(Q, None, 2**60 + 1).data)["answer"] == str(2**60 + 1)
    assert unseal(predict(Q, None, 0.1, why={0.2: "twice"}).data) == {"answer": "0.1", "why": {"0.2": "twice"}}
    for wrong in ("24", True, float("nan"), None):
        with pytest.raises(TypeError, match="without choices a number is entered"):
            predict(Q, None, wrong)


def test_what_is_stored_does_not_show_the_answer_or_the_reasons():
    view = predict(Q, [0, 24, 40, 64], 24, why={24: "sixteen programs", 40: "those are on"})
    stored = json.dumps(view.data) + view.page("q")
    assert "sixteen programs" not in stored and "those are on" not in stored and '"answer"' not in json.dumps(view.data)
    assert unseal(view.data) == {"answer": 1, "why": {"1": "sixteen programs", "2": "those are on"}}


def test_another_answer_is_remembered_under_another_key():
    keys = {predict(Q, [0, 24], a, why=w).data["key"] for a, w in [(0, None), (24, None), (24, {24: "so"})]}
    assert len(keys) == 3
    assert predict(Q, [0, 24], 24).data == predict(Q, [0, 24], 24).data


def test_samples_have_names_of_their_own():
    names = [name for name, _ in samples()]
    assert len(set(names)) == len(names) == 2
