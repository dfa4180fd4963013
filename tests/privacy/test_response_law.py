"""The law of a randomized response: exact, and never above what was asked for."""

import math
from decimal import Decimal, getcontext
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private.privacy.response_law import MOST_CELLS, WHOLE, ResponseLaw

epsilons = st.floats(min_value=1e-3, max_value=40.0)
counts = st.integers(min_value=2, max_value=MOST_CELLS)


def exact_odds(law: ResponseLaw) -> mpmath.mpf:
    mpmath.mp.dps = 60
    return mpmath.log(mpmath.mpf(law.truth * (law.cells - 1)) / (WHOLE - law.truth))


@given(epsilon=epsilons, cells=counts)
@settings(deadline=None)
def test_odds_are_at_most_epsilon_and_the_next_step_is_above(epsilon, cells):
    law = ResponseLaw.at_most(epsilon, cells)
    assert exact_odds(law) <= mpmath.mpf(epsilon)
    if law.truth + 1 < WHOLE:
        assert exact_odds(ResponseLaw(cells, law.truth + 1)) > mpmath.mpf(epsilon)


@given(epsilon=epsilons, cells=counts)
@settings(deadline=None)
def test_stated_epsilon_is_rounded_up_and_not_above_what_was_asked(epsilon, cells):
    law = ResponseLaw.at_most(epsilon, cells)
    assert exact_odds(law) <= mpmath.mpf(law.epsilon(1.0)) <= epsilon
    assert law.epsilon(1.0) == pytest.approx(epsilon, abs=1e-2 if epsilon > 30 else 1e-4)


@given(epsilon=epsilons, cells=counts)
@settings(deadline=None)
def test_probabilities_add_up_exactly(epsilon, cells):
    law = ResponseLaw.at_most(epsilon, cells)
    truth = Fraction(law.truth, WHOLE)
    assert truth + (cells - 1) * Fraction(WHOLE - law.truth, WHOLE * (cells - 1)) == 1
    assert law.p + (cells - 1) * law.q == pytest.approx(1.0, rel=1e-12)


def test_epsilon_is_the_same_at_every_distance_and_nothing_at_0():
    law = ResponseLaw.at_most(3.0, 5)
    assert law.epsilon(0.0) == 0.0
    assert {law.epsilon(distance) for distance in (1e-9, 1.0, 50.0, 1e9)} == {law.epsilon(1.0)}


def test_two_cells_are_warners_randomized_response():
    getcontext().prec = 40
    law = ResponseLaw.at_most(math.log(3), 2)
    assert law.p == pytest.approx(0.75, abs=1e-15)
    assert Decimal(law.truth) / WHOLE <= Decimal("0.7500000000000001")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 4), "epsilon must be a finite number > 0"),
        ((41.0, 4), "epsilon must be at most 40"),
        ((3.0, 1), "cells must be an integer >= 2"),
        ((3.0, MOST_CELLS + 1), "cells must be at most"),
        ((1e-19, 3), "epsilon must be larger"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(ValueError, match=message):
        ResponseLaw.at_most(*arguments)


def test_a_law_whose_lies_are_likelier_is_refused():
    with pytest.raises(ValueError, match="no lie is likelier"):
        ResponseLaw(4, WHOLE // 5)
