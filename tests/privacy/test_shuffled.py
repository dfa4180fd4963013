"""The central guarantee of shuffled labels: never below the truth, and as tight as the notes say."""

import itertools
import math
from collections import defaultdict

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from botorch_private.privacy import shuffled
from botorch_private.privacy.response_law import WHOLE, ResponseLaw
from botorch_private.privacy.shuffled import shuffled_delta, shuffled_epsilon


def histograms(true_cells, law):
    """Probability of each histogram of labels: record by record, the slow and obvious way."""
    found = {(0,) * law.cells: 1.0}
    for cell in true_cells:
        after = defaultdict(float)
        for counts, probability in found.items():
            for label in range(law.cells):
                told = tuple(count + (i == label) for i, count in enumerate(counts))
                after[told] += probability * (law.p if label == cell else law.q)
        found = after
    return found


def true_delta(law, n, epsilon):
    """The largest delta over all neighbouring tables."""
    worst = 0.0
    for others in itertools.combinations_with_replacement(range(law.cells), n - 1):
        before, after = histograms((*others, 0), law), histograms((*others, 1), law)
        loss = sum(max(0.0, before[h] - math.exp(epsilon) * after.get(h, 0.0)) for h in before)
        worst = max(worst, loss)
    return worst


@pytest.mark.parametrize("local", [0.3, 2.0, 5.0])
@pytest.mark.parametrize("cells", [2, 3, 4])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_delta_is_never_below_the_largest_over_all_tables(n, cells, local):
    """All pairs: which two cells the record moves between does not matter, only who else is there."""
    law = ResponseLaw.at_most(local, cells)
    tables = []
    for others in itertools.combinations_with_replacement(range(cells), n - 1):
        before, after = histograms((*others, 0), law), histograms((*others, 1), law)
        tables.append([(before[h], after.get(h, 0.0)) for h in before])
    for share in (0.0, 0.3, 0.6, 0.9, 0.999):
        factor = math.exp(share * local)
        exact = max(sum(max(0.0, one - factor * other) for one, other in pairs) for pairs in tables)
        assert shuffled_delta(law, n, share * local) >= exact - 1e-15


@given(
    n=st.integers(1, 5),
    cells=st.integers(2, 4),
    local=st.floats(0.01, 40.0),
    share=st.floats(0.0, 1.0),
)
@settings(deadline=None, max_examples=60)
def test_no_epsilon_has_a_delta_below_brute_force(n, cells, local, share):
    law = ResponseLaw.at_most(local, cells)
    exact = true_delta(law, n, share * local)
    assert shuffled_delta(law, n, share * local) >= exact * (1 - 1e-12) - 1e-15


def test_for_two_cells_the_bound_is_close_to_the_truth():
    law = ResponseLaw.at_most(2.0, 2)
    assert shuffled_delta(law, 6, 0.5) <= 1.35 * true_delta(law, 6, 0.5)


@pytest.mark.parametrize(
    ("n", "cells", "local", "most"),
    [
        (1_000, 2, 3.0, 0.705),
        (8_126, 2, 3.0, 0.216),
        (8_126, 4, 5.0, 0.73),
        (36_000, 4, 6.0, 0.55),
        (10**6, 40, 9.0, 0.46),
        (10**6, 2, 10.0, 0.82),
    ],
)
def test_central_epsilon_is_what_the_notes_have(n, cells, local, most):
    found = shuffled_epsilon(ResponseLaw.at_most(local, cells), n, 1e-5)
    assert 0.9 * most < found <= most


def test_epsilon_and_delta_agree_and_round_up():
    law = ResponseLaw.at_most(4.0, 5)
    epsilon = shuffled_epsilon(law, 5_000, 1e-5)
    assert shuffled_delta(law, 5_000, epsilon) <= 1e-5
    assert shuffled_delta(law, 5_000, epsilon * 0.999) > 1e-5


@pytest.mark.parametrize(
    ("n", "local", "delta", "published"),
    [
        (100, 2.0, 1e-3, (0.8296266, 0.8296268)),
        (1_000, 2.0, 1e-5, (0.3395092, 0.3395094)),
        (1_000, 3.0, 1e-5, (0.7037519, 0.7037522)),
        (8_126, 3.0, 1e-5, (0.2148283, 0.2148287)),
        (36_000, 5.0, 1e-5, (0.3063070, 0.3063083)),
        (100_000, 4.0, 1e-6, (0.1181528, 0.1181610)),
    ],
)
def test_two_cells_agree_with_published_code(n, local, delta, published):
    """Lower and upper bound of amplificationLB and amplificationUB, 24 steps.

    Wang, Peng, Li et al., "Privacy Amplification via Shuffling: Unified, Simplified, and Tightened",
    VLDB 2024, github.com/wangsw/PrivacyAmplification at 34ca048; p = q0 = q1 = e^local, beta =
    (e^local - 1) / (e^local + 1). For two cells it bounds the same two distributions.
    """
    low, high = published
    found = shuffled_epsilon(ResponseLaw.at_most(local, 2), n, delta)
    assert low <= found <= high * (1 + 2e-6)


@pytest.mark.parametrize(
    ("n", "local", "elsewhere"),
    [(1_000, 3.0, 0.6819885), (8_126, 4.0, 0.3905585), (36_000, 5.0, 0.3051515)],
)
def test_three_cells_are_not_below_the_table_whose_others_are_in_the_third(n, local, elsewhere):
    """The same code with beta = (e^local - 1) / (e^local + 2), at delta 1e-5.

    That is the truth for the table whose other records are all in the third cell, but for other tables
    it is too small: see the next test. So it is no number to promise, and this bound is above it.
    """
    found = shuffled_epsilon(ResponseLaw.at_most(local, 3), n, 1e-5)
    assert elsewhere <= found <= 1.12 * elsewhere


def test_a_record_that_hides_elsewhere_would_be_promised_too_much():
    """What the published code finds for n = 8, three cells, local 2, epsilon 1.9: below brute force."""
    published = 6.545518e-05
    law = ResponseLaw.at_most(2.0, 3)
    assert published < true_delta(law, 8, 1.9) <= shuffled_delta(law, 8, 1.9)


@pytest.mark.parametrize(
    ("n", "cells", "local", "clones"),
    [
        (1_000, 4, 3.0, 1.0639),
        (8_126, 2, 3.0, 0.3067),
        (8_126, 4, 5.0, 1.1232),
        (36_000, 4, 6.0, 0.8155),
    ],
)
def test_it_is_tighter_than_what_holds_for_any_local_mechanism(n, cells, local, clones):
    """Lower end of numericalanalysis at delta 1e-5: any mechanism of this local epsilon.

    Feldman, McMillan & Talwar, "Hiding Among the Clones", FOCS 2021,
    github.com/apple/ml-shuffling-amplification at 993d285, 20 steps.
    """
    assert shuffled_epsilon(ResponseLaw.at_most(local, cells), n, 1e-5) < clones


@pytest.mark.parametrize("cells", [2, 3, 40])
def test_a_larger_crowd_hides_better_and_one_record_alone_is_not_hidden(cells):
    law = ResponseLaw.at_most(3.0, cells)
    found = [shuffled_epsilon(law, n, 1e-6) for n in (1, 2, 10, 100, 1_000, 10_000, 10**6)]
    assert found == sorted(found, reverse=True)
    assert found[0] <= law.epsilon(1.0) <= found[0] + 1e-5  # (all that delta gives)
    assert shuffled_epsilon(law, 10_000, 1e-18) == law.epsilon(1.0)
    assert shuffled_delta(law, 100, law.epsilon(1.0)) == 0.0


def test_a_crowd_beyond_what_scipy_can_count_hides_as_well_as_the_largest(monkeypatch):
    law = ResponseLaw.at_most(3.0, 4)
    monkeypatch.setattr(shuffled, "_MOST", 5_000)
    assert shuffled_epsilon(law, 10**12, 1e-6) == shuffled_epsilon(law, 5_000, 1e-6)


def test_delta_falls_with_epsilon_and_epsilon_with_delta():
    law = ResponseLaw.at_most(4.0, 5)
    deltas = [shuffled_delta(law, 300, 0.1 * step) for step in range(41)]
    assert deltas == sorted(deltas, reverse=True)
    found = [shuffled_epsilon(law, 300, 10.0**-power) for power in range(1, 18)]
    assert found == sorted(found)
    assert shuffled_epsilon(law, 300, 0.999) == 0.0


@pytest.mark.parametrize("local", [1e-6, 1.0, 36.0, 37.0, 40.0])
@pytest.mark.parametrize("cells", [2, 10_000])
def test_one_record_alone_loses_what_its_label_says(cells, local):
    """Exactly p - e^epsilon q, also where e^epsilon is beyond what float64 can add to 1."""
    law = ResponseLaw.at_most(local, cells)
    mpmath.mp.dps = 60
    p = mpmath.mpf(law.truth) / WHOLE
    q = mpmath.mpf(WHOLE - law.truth) / (WHOLE * (cells - 1))
    for share in (0.0, 0.5, 0.9, 0.95, 0.999, 1 - 1e-9):
        exact = max(0, p - mpmath.exp(mpmath.mpf(share * local)) * q)
        found = shuffled_delta(law, 1, share * local)
        assert exact <= found <= exact * (1 + mpmath.mpf(1e-6)) + mpmath.mpf(1e-14)


@pytest.mark.parametrize(("n", "local", "cells", "epsilon"), [(60, 2.5, 6, 0.7), (100, 2.0, 2, 1.9)])
def test_inner_sums_are_those_of_the_definition(n, local, cells, epsilon):
    """The closed form by binomial tails, against the double sum in 40 digits."""
    mpmath.mp.dps = 40
    law = ResponseLaw.at_most(local, cells)
    p, q, factor = mpmath.mpf(law.p), mpmath.mpf(law.q), mpmath.exp(mpmath.mpf(epsilon))
    total = mpmath.mpf(0)
    for lies in range(n):
        share = [mpmath.binomial(lies, x) / mpmath.mpf(2) ** lies for x in range(lies + 1)]
        share = [0, *share, 0]  # P(x - 1) is at x
        inner = sum(
            max(0, p * before + q * at - factor * (q * before + p * at))
            for before, at in itertools.pairwise(share)
        )
        total += mpmath.binomial(n - 1, lies) * (2 * q) ** lies * (1 - 2 * q) ** (n - 1 - lies) * inner
    assert total <= shuffled_delta(law, n, epsilon) <= total * (1 + 1e-5) + 1e-17


def test_probabilities_of_scipy_are_as_good_as_is_charged():
    """At the largest crowd as well: in 40 digits, by the sum of the tail and by the definition."""
    mpmath.mp.dps = 40
    for lies in (100, 60_000, 10**6, shuffled._MOST // 5):
        for deviations in (0.1, 3.0, 6.0):
            least = int(lies / 2 + deviations * math.sqrt(lies) / 2)
            term = mpmath.binomial(lies, least)
            exact, count = mpmath.mpf(0), least
            while term > exact * mpmath.mpf(10) ** -20:
                exact, term = exact + term, term * (lies - count) / (count + 1)
                count += 1
            exact /= mpmath.mpf(2) ** lies
            error = abs(mpmath.mpf(float(binom.sf(least - 1, lies, 0.5))) / exact - 1)
            assert error < shuffled._ROUNDING / 5
    for rate in (1e-7, 0.01, 0.9):
        mean = shuffled._MOST * rate
        for deviations in (-6.0, 0.0, 6.0):
            count = max(0, int(mean + deviations * math.sqrt(mean * (1 - rate))))
            others = shuffled._MOST - 1
            exact = mpmath.binomial(others, count) * mpmath.mpf(rate) ** count
            exact *= (1 - mpmath.mpf(rate)) ** (others - count)
            error = abs(mpmath.mpf(float(binom.pmf(count, others, rate))) / exact - 1)
            assert error < shuffled._ROUNDING / 5
