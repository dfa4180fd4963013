"""Lines under HOLDS: what is kept to the letter, and protects next to nobody."""

import math

import numpy as np
import pytest

from botorch_private import NoisyProjection, OutcomeMechanism, PrivacyGuarantee, compose
from botorch_private.privacy.cautions import cautions, delta_caution, guess


@pytest.mark.parametrize("n", [2, 30, 1000, 8126])
def test_delta_is_cautioned_of_from_a_tenth_of_1_over_n_on_and_loudly_from_1_over_n_on(n):
    assert delta_caution(0.0, n) is None
    assert delta_caution(0.999 / (10 * n), n) is None
    assert "is large for a table of" in delta_caution(1.001 / (10 * n), n)
    assert "is large for a table of" in delta_caution(0.999 / n, n)
    assert "is 1 / n or more, TOO LARGE" in delta_caution(1.001 / n, n)
    assert "at most 1 / (10 n) = " in delta_caution(0.9, n)


def test_without_a_known_table_only_what_is_too_large_for_any_is_cautioned_of():
    assert delta_caution(0.05, None) is None
    assert "is large for any table" in delta_caution(0.051, None)
    assert "TOO LARGE for any table" in delta_caution(0.5, None)


def test_publishing_each_record_with_a_chance_of_delta_is_what_the_caution_says():
    """Its privacy is computed from its two laws, and the records that come out are counted: 4 s.e."""
    n, delta = 50, 0.03
    # Two values of one record: with delta the value itself is told, else nothing.
    one, other = np.array([1 - delta, delta, 0.0]), np.array([1 - delta, 0.0, delta])
    assert np.maximum(one - other, 0).sum() == pytest.approx(delta)  # (epsilon 0, delta)
    told = np.random.default_rng(1).random((20_000, n)) < delta
    mean = told.sum(axis=1).mean()
    assert abs(mean - n * delta) < 4 * math.sqrt(n * delta / 20_000)
    assert f"would publish {n * delta:g} whole records on average" in delta_caution(delta, n)
    few = 0.005
    least = 1 - (1 - few) ** n
    assert least <= n * few
    assert f"at least one with a chance of up to {100 * n * few:g} %" in delta_caution(few, n)


def lines(guarantee):
    return str(guarantee).splitlines()


def test_a_delta_of_one_half_is_said_right_under_holds():
    text = lines(NoisyProjection(1.0, 0.5, noise="gaussian").guarantee(n=100, d=2))
    assert text[0].endswith("HOLDS")
    assert text[1].startswith(
        "  CAUTION: delta 0.5 is 1 / n or more, TOO LARGE for a table of 100 records"
    )
    assert "CAUTION" not in str(NoisyProjection(1.0, 1e-5, noise="gaussian").guarantee(n=100, d=2))


def test_compositions_budgets_and_outcomes_say_it_too():
    release = NoisyProjection(1.0, 0.009, noise="gaussian").guarantee(n=10, d=2)
    assert "CAUTION" not in str(release)
    assert "CAUTION: delta 0.018 is large for a table of 10 records" in str(compose([release, release]))
    answers = OutcomeMechanism(1.0, 0.3, (0.0, 1.0), noise="gaussian").guarantee()
    assert "is large for any table" in lines(answers)[1]
    both = compose([NoisyProjection(1.0).guarantee(n=1000, d=2), answers])
    assert "TOO LARGE for a table of 1,000 records" in str(both)
    budget = PrivacyGuarantee.budget(1.0, 0.5)
    assert "CAUTION: delta 0.5 is 1 / n or more, TOO LARGE for any table" in str(budget)
    assert "CAUTION" not in str(PrivacyGuarantee.budget(1.0, 1e-5))


def test_the_largest_table_of_a_composition_counts():
    few, many = (NoisyProjection(1.0, 1e-3, noise="gaussian").guarantee(n, 2) for n in (20, 2000))
    assert compose([few, many], delta=1e-3).records == 2000
    assert "TOO LARGE for a table of 2,000" in str(compose([few, many], delta=1e-3))


@pytest.mark.parametrize(("epsilon", "said"), [(9.9, False), (10.0, True), (100.0, True)])
def test_an_epsilon_that_hides_nothing_is_said_at_one_unit(epsilon, said):
    text = lines(NoisyProjection(epsilon).guarantee(n=100, d=2))
    assert ("HIDES NOTHING" in text[1]) == said
    answers = lines(OutcomeMechanism(epsilon, 0.0, (0.0, 1.0)).guarantee())
    assert ("HIDES NOTHING" in answers[1] and "two outcomes far apart" in answers[1]) == said
    if said:
        assert guess(epsilon, 0.0) > 0.9999


def test_what_promises_nothing_or_does_not_hold_is_not_cautioned_of_twice():
    bare = PrivacyGuarantee("none", epsilon=math.inf, delta=0.0, holds=False, reasons=("no noise",))
    assert list(cautions(bare)) == []
