import itertools

import numpy as np
import pytest
import torch

from botorch_private import Curator, NoisyProjection
from botorch_private.audit import repeats_audit
from botorch_private.curator.publish import publish


def test_answers_that_are_kept_are_no_problem():
    kept = {0: 1.5, 1: torch.ones(2), 2: np.zeros(3), 3: None}
    result = repeats_audit(kept.get, [0, 1, 2, 3], times=4)
    assert result.problems == ()
    assert str(result) == "4 questions got one answer each, asked 4 times"


@pytest.mark.parametrize(
    "answer", [float, lambda t: torch.tensor([0.0, t]), lambda t: np.array([t]), lambda t: (1, t)]
)
def test_another_answer_is_a_problem_whatever_its_kind(answer):
    clock = itertools.count()
    result = repeats_audit(lambda _: answer(next(clock)), ["a", "b"])
    assert result.problems == (
        "question 0 got another answer 2 of 2 times that it was asked again",
        "question 1 got another answer 2 of 2 times that it was asked again",
    )
    assert "2 of 2 questions got other answers" in str(result)


@pytest.mark.parametrize("buffer", [np.zeros(2), torch.zeros(2)], ids=["array", "tensor"])
def test_an_answer_that_is_redrawn_in_place_is_another_answer(buffer):
    def ask(_):
        buffer[0] += 1
        return buffer

    assert len(repeats_audit(ask, [0]).problems) == 1


def test_a_release_that_is_redrawn_in_place_is_another_answer(records, scaling):
    release = publish(records, scaling, NoisyProjection(1.0)).release

    def ask(_):
        release.candidates[0, 0] += 1
        return release

    assert len(repeats_audit(ask, [0]).problems) == 1


def test_questions_are_asked_in_rounds():
    """A cache of the last answer only would pass otherwise."""
    last, clock = {}, itertools.count()

    def ask(question):
        if question not in last:
            last.clear()
            last[question] = next(clock)
        return last[question]

    assert len(repeats_audit(ask, [0, 1], times=2).problems) == 2
    assert repeats_audit(ask, [0], times=5).problems == ()


def test_a_shape_that_changes_is_another_answer():
    answers = iter([torch.zeros(2), torch.zeros(3)])
    assert repeats_audit(lambda _: next(answers), [0], times=2).problems


def test_a_curator_answers_and_releases_once(records, scaling):
    curator = Curator(records, scaling, NoisyProjection(1.0), lambda record: float(record.sum()))
    assert repeats_audit(curator.query, range(len(records))).problems == ()
    assert repeats_audit(lambda _: curator.release, ["release"]).problems == ()


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="questions must hold at least 1 question, got 0"):
        repeats_audit(float, [])
    with pytest.raises(ValueError, match="times must be an integer >= 2, got 1"):
        repeats_audit(float, [1], times=1)
