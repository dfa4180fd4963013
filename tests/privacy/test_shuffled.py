"""The central guarantee of shuffled labels: never below the truth, and as tight as the notes say."""

import itertools
import math
from collections import defaultdict

import pytest

from botorch_private.privacy.response_law import ResponseLaw
from botorch_private.privacy.shuffled import LEAST_DELTA, shuffled_delta, shuffled_epsilon


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


@pytest.mark.parametrize(
    ("local", "cells", "n"),
    [(2.0, 3, 4), (1.0, 4, 4), (3.0, 2, 6), (4.0, 4, 5), (0.3, 3, 6), (6.0, 2, 1)],
)
def test_delta_is_never_below_the_largest_over_all_tables(local, cells, n):
    law = ResponseLaw.at_most(local, cells)
    for share in (0.0, 0.1, 0.3, 0.6, 0.9, 0.999):
        exact = true_delta(law, n, share * local)
        assert shuffled_delta(law, n, share * local) >= exact - 1e-15


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


def test_a_larger_crowd_hides_better_and_delta_0_gives_the_local_guarantee():
    law = ResponseLaw.at_most(3.0, 4)
    found = [shuffled_epsilon(law, n, 1e-6) for n in (1, 10, 100, 1_000, 10_000)]
    assert found == sorted(found, reverse=True)
    assert found[0] == law.epsilon(1.0)
    assert shuffled_epsilon(law, 10_000, LEAST_DELTA / 2) == law.epsilon(1.0)
    assert shuffled_delta(law, 100, law.epsilon(1.0)) == 0.0


def test_inner_sums_are_those_of_the_definition():
    """The closed form by binomial tails, against the double sum."""
    from scipy.stats import binom

    law, n, epsilon = ResponseLaw.at_most(2.5, 6), 60, 0.7
    total = 0.0
    for lies in range(n):
        inner = 0.0
        for x in range(lies + 2):
            before = law.p * binom.pmf(x - 1, lies, 0.5) + law.q * binom.pmf(x, lies, 0.5)
            after = law.q * binom.pmf(x - 1, lies, 0.5) + law.p * binom.pmf(x, lies, 0.5)
            inner += max(0.0, before - math.exp(epsilon) * after)
        total += binom.pmf(lies, n - 1, 2 * law.q) * inner
    assert shuffled_delta(law, n, epsilon) == pytest.approx(total, rel=1e-6)
    assert shuffled_delta(law, n, epsilon) >= total
