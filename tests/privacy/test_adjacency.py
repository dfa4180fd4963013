"""Adjacency and promise say the same of which outcomes differ, and the theorem covers it."""

import itertools

import numpy as np
import pytest

from botorch_private import NoisyProjection, OutcomeMechanism, compose

RELEASE = NoisyProjection(1.0).guarantee(n=100, d=2)
MECHANISM = OutcomeMechanism(2.0, 0.0, (0.0, 1.0))
OWN, SHARED = MECHANISM.guarantee(), MECHANISM.guarantee(answers=3)
ONE_OUTCOME = "in the outcome of one record"
ALL = "the outcomes of all records may differ"
BOTH = "outcomes that may depend on other records as well may differ in all records"


@pytest.mark.parametrize(
    ("parts", "compared", "changed"),
    [
        (
            [RELEASE],
            "in the features of one record, by at most D",
            "Moving one record by 1 unit changes",
        ),
        ([OWN], ONE_OUTCOME, "Changing one outcome changes"),
        ([SHARED], f"in outcomes alone: {ALL}", "Changing any outcomes of any records changes"),
        (
            [RELEASE, OWN],
            "and in its outcome by any amount",
            "Moving one record by 1 unit and changing its outcome to any other changes",
        ),
        (
            [RELEASE, SHARED],
            f"in its features by at most D units of distance; {ALL}",
            "Moving one record by 1 unit and changing any outcomes of any records changes",
        ),
        (
            [OWN, SHARED],
            BOTH,
            "one outcome and changing any outcomes of any records that depend on others",
        ),
        (
            [RELEASE, OWN, SHARED],
            BOTH,
            "its outcome to any other and changing any outcomes of any records that depend on others",
        ),
    ],
)
def test_adjacency_and_promise_say_the_same(parts, compared, changed):
    guarantee = compose(parts) if len(parts) > 1 else parts[0]
    assert compared in guarantee.adjacency
    assert compared in str(guarantee)
    assert changed in str(guarantee)
    assert (ALL in guarantee.adjacency or BOTH in guarantee.adjacency) == (SHARED in parts)


def test_shared_answers_cost_what_a_change_of_all_outcomes_costs():
    """Twin: the log ratio of three answers, over the corners of two tables of outcomes, on the grid."""
    law = MECHANISM.law
    largest = 0.0
    for one, other in itertools.product(itertools.product((0.0, 1.0), repeat=3), repeat=2):
        for answers in itertools.product((-5.0, 0.0, 0.5, 1.0, 6.0), repeat=3):
            ratio = np.abs(np.subtract(answers, other)) - np.abs(np.subtract(answers, one))
            largest = max(largest, ratio.sum() / law.scale)
    assert largest == pytest.approx(3 / law.scale)
    assert largest <= SHARED.epsilon <= largest * 1.001
    assert OWN.epsilon < largest  # one answer's cost would not cover it
    assert SHARED.at(0.0) == pytest.approx(SHARED.epsilon)
    assert compose([RELEASE, SHARED]).at(0.0) == pytest.approx(SHARED.epsilon)
