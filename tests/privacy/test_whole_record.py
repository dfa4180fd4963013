"""Each sentence of the guarantee of labels is true: by brute force over all neighbours of tiny tables.

Labels are told here by the definition, with whole fractions: no number is rounded but epsilon.
"""

import itertools
import math
from fractions import Fraction

import mpmath
import pytest
import torch

from botorch_private import (
    BudgetError,
    CellResponse,
    Cells,
    Curator,
    Ledger,
    NoisyProjection,
    NoPrivacy,
    OutcomeMechanism,
    PrivacyGuarantee,
    PublicScaling,
    SpectralProjection,
    compose,
)
from botorch_private.privacy.adjacency import of_whole_records
from botorch_private.privacy.guarantee import JOINED_AGAIN, JOINED_LATER
from botorch_private.privacy.response_law import WHOLE, ResponseLaw
from botorch_private.privacy.shuffled import shuffled_delta

pytestmark = pytest.mark.filterwarnings("ignore::botorch_private.ManyCellsWarning")

TINY = [(1, 2, 1.0), (4, 2, 0.3), (3, 3, 1.0), (2, 4, 2.0), (3, 4, 4.0), (4, 3, 2.0)]
RECORDS = torch.rand(40, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
CELLS = Cells({"one": [0.0, 0.3, 0.6, 1.0], "two": [0.0, 0.5, 1.0]})


def tell(cell, label, law):
    """Chance of a label, exactly."""
    truth = Fraction(law.truth, WHOLE)
    return truth if label == cell else (1 - truth) / (law.cells - 1)


def in_order(table, law):
    """Chance of all labels in the order of the records."""
    return {
        labels: math.prod(tell(c, z, law) for c, z in zip(table, labels, strict=True))
        for labels in itertools.product(range(law.cells), repeat=len(table))
    }


def permuted(table, law):
    """Chance of what is released: the rows in a uniformly random order."""
    orders = list(itertools.permutations(range(len(table))))
    found = {}
    for labels, chance in in_order(table, law).items():
        for order in orders:
            row = tuple(labels[i] for i in order)
            found[row] = found.get(row, 0) + chance / len(orders)
    return found


def neighbours(n, cells, moved=1):
    """All pairs of tables that differ in the cells of the first `moved` records; places are alike."""
    for others in itertools.product(range(cells), repeat=n - moved):
        for one, other in itertools.permutations(itertools.product(range(cells), repeat=moved), 2):
            yield (*one, *others), (*other, *others)


def largest_ratio(n, law, tell_all, moved=1):
    tables = {t: tell_all(t, law) for t in itertools.product(range(law.cells), repeat=n)}
    return max(
        max(tables[one][z] / tables[other][z] for z in tables[one])
        for one, other in neighbours(n, law.cells, moved)
    )


def promise(n, cells, epsilon):
    edges = [list(range(cells + 1))]
    return CellResponse(epsilon, Cells(edges)).guarantee(max(n, 2), 1)


# --- "Changing one record to any other changes the chance of anything ... by a factor of at most" ---


@pytest.mark.parametrize(("n", "cells", "epsilon"), TINY)
def test_the_ratio_of_all_neighbours_is_at_most_e_to_the_epsilon(n, cells, epsilon):
    guarantee = promise(n, cells, epsilon)
    law = guarantee.law
    exact = largest_ratio(n, law, in_order)
    # It is p / q, and what is stated is its logarithm, rounded up by a unit in the last place at most.
    assert exact == tell(0, 0, law) / tell(0, 1, law)
    assert guarantee.epsilon <= epsilon
    assert guarantee.epsilon == pytest.approx(math.log(exact), rel=1e-14)
    assert guarantee.delta == 0.0


@pytest.mark.parametrize(("n", "cells", "epsilon"), TINY[:-1])
def test_the_ratio_of_shuffled_rows_is_no_larger(n, cells, epsilon):
    law = ResponseLaw.at_most(epsilon, cells)
    assert largest_ratio(n, law, permuted) <= tell(0, 0, law) / tell(0, 1, law)


def test_the_promise_is_no_better_than_the_truth():
    """A pure epsilon that is smaller is refuted by the labels themselves."""
    law = ResponseLaw.at_most(1.0, 3)
    assert math.log(largest_ratio(2, law, in_order)) > 1.0 - 1e-12


# --- "in the features of one record, by any amount" ---


def test_any_change_of_a_record_costs_the_same_and_none_costs_nothing():
    guarantee = promise(10, 4, 3.0)
    assert "differ in the features of one record, by any amount" in guarantee.adjacency
    assert guarantee.at(1e-9) == guarantee.at(1.0) == guarantee.at(1e9) == guarantee.epsilon
    assert guarantee.at(0.0) == 0.0
    assert guarantee.whole_record == guarantee.epsilon
    assert "Changing one record to any other" in str(guarantee)
    assert " unit" not in str(guarantee)


def test_two_records_in_one_cell_are_told_alike():
    records = torch.tensor([[0.1, 0.2], [0.2, 0.4]], dtype=torch.float64)
    cells = CELLS.of_records(records)
    assert cells[0] == cells[1]  # so no label says more of one than of the other


# --- "Epsilon of a person with several records" ---


@pytest.mark.parametrize(("n", "cells", "epsilon", "moved"), [(2, 3, 1.0, 2), (3, 2, 0.7, 3)])
def test_several_records_cost_what_brute_force_finds(n, cells, epsilon, moved):
    guarantee = promise(n, cells, epsilon)
    exact = largest_ratio(n, guarantee.law, in_order, moved)
    assert guarantee.at(1.0, moved) == pytest.approx(math.log(exact), rel=1e-14)
    assert guarantee.at(1.0, moved) >= math.log(exact) * (1 - 1e-15)


# --- "Before the first question: epsilon = ..., delta = ..." ---


def true_delta(n, law, epsilon, moved=1):
    """The largest delta over all neighbours, of the rows in random order."""
    tables = {t: permuted(t, law) for t in itertools.product(range(law.cells), repeat=n)}
    factor = Fraction(math.exp(epsilon))
    return max(
        sum(max(0, tables[one][z] - factor * tables[other][z]) for z in tables[one])
        for one, other in neighbours(n, law.cells, moved)
    )


@pytest.mark.parametrize(("n", "cells", "epsilon"), TINY[:-1])
def test_the_central_delta_is_never_below_brute_force(n, cells, epsilon):
    law = ResponseLaw.at_most(epsilon, cells)
    for share in (0.0, 0.25, 0.5, 0.9):
        assert shuffled_delta(law, n, share * epsilon) >= float(true_delta(n, law, share * epsilon))


@pytest.mark.parametrize("delta", [0.3, 0.1, 0.03])
@pytest.mark.parametrize(("n", "cells", "epsilon"), [(4, 2, 0.3), (3, 3, 1.0), (3, 4, 4.0)])
def test_the_central_epsilon_keeps_its_delta(n, cells, epsilon, delta):
    guarantee = promise(n, cells, epsilon)
    central = guarantee.shuffled(delta)
    assert central.epsilon <= guarantee.epsilon
    assert central.delta == delta
    assert float(true_delta(n, guarantee.law, central.epsilon)) <= delta


def test_the_central_promise_says_that_it_ends_with_the_first_question():
    central = promise(10_000, 4, 3.0).shuffled(1e-6)
    assert of_whole_records(central)
    assert central.whole_record == central.epsilon < 0.5
    assert central.holds
    assert "before the first question" in str(central)
    assert "known to the curator alone" in str(central)
    assert central.at(1.0, 2) > central.epsilon  # several records cost more here as well
    printed = str(promise(10_000, 4, 3.0))
    assert "Before the first question: epsilon = " in printed
    assert "the labels of 10,000 records are shuffled" in printed


def test_several_records_of_a_person_are_chained_centrally():
    """Two records of three, by brute force: delta at the chained epsilon is kept."""
    guarantee = promise(3, 2, 1.0)
    central = guarantee.shuffled(0.1)
    chained = 0.1 * (1 + math.exp(central.epsilon))
    assert float(true_delta(3, guarantee.law, 2 * central.epsilon, moved=2)) <= chained
    assert central.at(1.0, 2) == math.inf  # at the delta of one record nothing is promised


# --- questions: "Always, whatever is asked and answered", and "before the first question" ---


def transcripts(table, outcomes, law, ask):
    """Chance of all that a modeler sees: labels in random order, and the answers to what it asks.

    Outcomes stay those of their records. `ask` says which row is next from all that was seen so far, or
    None for no more.
    """
    orders = list(itertools.permutations(range(len(table))))
    found = {}
    for labels, chance in in_order(table, law).items():
        for order in orders:
            seen = [tuple(labels[i] for i in order)]
            while (row := ask(seen)) is not None:
                seen.append((row, outcomes[order[row]]))
            found[tuple(seen)] = found.get(tuple(seen), 0) + chance / len(orders)
    return found


def asks_all(seen):
    return len(seen) - 1 if len(seen) <= len(seen[0]) else None


def asks_one(seen):
    return 0 if len(seen) == 1 else None


def asks_what_looks_best(seen):
    """A search: the first row, then a row with the largest label if that was poor, else the least."""
    labels, asked = seen[0], [row for row, _ in seen[1:]]
    left = [row for row in range(len(labels)) if row not in asked]
    if len(asked) == 2 or not left:
        return None
    return (min if asked and seen[-1][1] > 0 else max)(left, key=lambda row: labels[row])


ASKING = [asks_one, asks_all, asks_what_looks_best]


@pytest.mark.parametrize("ask", ASKING)
@pytest.mark.parametrize("outcomes", [(0, 1, 2), (1, 0, 0), (0, 0, 0)])
def test_whatever_is_asked_the_ratio_stays_that_of_the_labels(ask, outcomes):
    law = ResponseLaw.at_most(1.0, 3)
    tables = {
        t: transcripts(t, outcomes, law, ask) for t in itertools.product(range(law.cells), repeat=3)
    }
    for one, other in neighbours(3, law.cells):
        assert tables[one].keys() == tables[other].keys()
        assert all(
            tables[one][z] <= tables[other][z] * tell(0, 0, law) / tell(0, 1, law) for z in tables[one]
        )


def largest_delta(n, law, epsilon, tell_all):
    factor = Fraction(math.exp(epsilon))
    worst = Fraction(0)
    for one, other in neighbours(n, law.cells):
        before, after = tell_all(one), tell_all(other)
        worst = max(worst, sum(max(0, before[z] - factor * after.get(z, 0)) for z in before))
    return worst


def test_the_central_promise_ends_with_the_first_question():
    """Whose outcome is known is recognised: what held of the labels alone is broken by one answer.

    So it is said to hold before the first question, and no longer. Where all outcomes are equal, an
    answer says nothing, and it goes on.
    """
    n, law = 4, ResponseLaw.at_most(1.0, 2)
    delta = 0.1
    central = promise(n, 2, 1.0).shuffled(delta).epsilon
    assert central < 0.8

    def after(outcomes, ask):
        return largest_delta(n, law, central, lambda t: transcripts(t, outcomes, law, ask))

    assert after((1, 0, 0, 0), lambda seen: None) <= delta
    assert after((1, 0, 0, 0), asks_all) > delta
    assert after((0, 0, 0, 0), asks_all) <= delta


def test_who_was_not_measured_is_not_promised_more_than_the_labels():
    """The middle statement is not claimed: the guarantee of the labels is the only one that is left."""
    text = str(promise(10_000, 4, 3.0))
    assert "From then on the promise above is what holds." in text
    central = promise(10_000, 4, 3.0).shuffled(1e-6)
    said = " ".join(central.assumptions)
    assert "from then on the guarantee of the labels themselves holds, and no other" in said
    assert "not measured" not in text + said


# --- records that joined ---


def test_joined_records_have_the_local_promise_before_the_first_question():
    outcomes = torch.arange(40.0)
    curator = Curator(RECORDS, None, CellResponse(3.0, CELLS), outcomes)
    alone = curator.release.guarantee
    assert alone.shuffled(1e-3).epsilon < alone.epsilon
    joined = curator.add(RECORDS[:3] / 2, outcomes[:3]).guarantee
    assert {JOINED_LATER, JOINED_AGAIN} & {*joined.assumptions}
    assert joined.shuffled(1e-3).epsilon == joined.epsilon == alone.epsilon
    assert joined.at(1.0) == alone.at(1.0)
    assert "Before the first question" not in str(joined)


def test_brute_force_says_why_a_record_that_joins_alone_is_not_hidden():
    """Its row is known, so that the order hides nothing: the local ratio is reached."""
    law = ResponseLaw.at_most(1.0, 2)
    before, after = ({z: tell(cell, z, law) for z in range(2)} for cell in (0, 1))
    assert max(before[z] / after[z] for z in range(2)) == tell(0, 0, law) / tell(0, 1, law)


def in_groups(table, law, first):
    """Chance of what is released where the records after the first so many joined later."""
    return {
        (*one, *two): chance * other
        for one, chance in permuted(table[:first], law).items()
        for two, other in permuted(table[first:], law).items()
    }


def test_what_is_said_where_records_joined_holds_by_brute_force():
    """In either group: pure local epsilon always, and nothing better is said of a small group."""
    law = ResponseLaw.at_most(1.0, 2)
    assert largest_ratio(4, law, lambda t, law: in_groups(t, law, 3)) <= tell(0, 0, law) / tell(
        0, 1, law
    )
    alone = promise(4, 2, 1.0).shuffled(0.1)

    def delta(first):
        return largest_delta(4, law, alone.epsilon, lambda t: in_groups(t, law, first))

    assert delta(4) <= alone.delta  # all four were there at first
    assert delta(0) <= alone.delta
    # `neighbours` moves the first record: with three others it is hidden, beside three that joined not.
    assert delta(1) > alone.delta


# --- several releases, and other mechanisms ---


def test_two_releases_add_up_as_brute_force_says():
    one, two = promise(2, 3, 1.0), promise(2, 2, 0.5)
    both = compose([one, two])
    exact = [largest_ratio(2, each.law, in_order) for each in (one, two)]
    assert both.at(5.0) == pytest.approx(math.log(exact[0] * exact[1]), rel=1e-14)
    assert both.at(5.0) >= math.log(exact[0] * exact[1]) * (1 - 1e-15)
    assert both.whole_record == both.epsilon
    assert "by any amount" in both.adjacency


def test_two_shuffled_releases_share_delta_and_add_up():
    one = promise(8_000, 4, 3.0)
    central = compose([one, one]).shuffled(1e-5)
    assert central.epsilon == pytest.approx(2 * one.shuffled(0.5e-5).epsilon, rel=1e-5)
    assert central.epsilon >= 2 * one.shuffled(0.5e-5).epsilon * (1 - 1e-12)


def test_two_shuffled_releases_cost_no_more_than_is_said_by_brute_force():
    """Each in an order of its own: the joint distribution, over all neighbours."""
    guarantee = promise(3, 2, 1.0)

    def twice(table):
        once = permuted(table, guarantee.law)
        return {(one, two): once[one] * once[two] for one in once for two in once}

    for delta in (0.05, 0.2):
        both = compose([guarantee, guarantee]).shuffled(delta)
        assert largest_delta(3, guarantee.law, both.epsilon, twice) <= delta
        assert both.epsilon <= 2 * guarantee.epsilon


def test_a_label_and_a_noised_answer_cost_what_both_tell_together():
    """Exact chances: p / q of the label, and the law of the answers on their grid."""
    told = promise(2, 3, 2.0)
    curator = Curator(
        RECORDS,
        None,
        CellResponse(2.0, CELLS),
        torch.arange(40.0),
        outcome_mechanism=OutcomeMechanism(1.0, 0.0, (0.0, 40.0)),
    )
    answers = curator.release.outcome_guarantee
    both = compose([told, answers])
    law = answers.law
    mpmath.mp.dps = 40

    def below(x):  # of Laplace noise
        tail = mpmath.exp(-abs(x) / mpmath.mpf(law.scale)) / 2
        return tail if x < 0 else 1 - tail

    def chance(step, value):
        here, half = step * law.grid - value, mpmath.mpf(law.grid) / 2
        return below(here + half) - below(here - half)

    width = round(1 / law.grid)
    steps = [-20 * width, -1, 0, width // 2, width, 20 * width]
    answer = max(chance(step, 0) / chance(step, 1) for step in steps)
    label = tell(0, 0, told.law) / tell(0, 1, told.law)
    exact = mpmath.log(answer * label.numerator / label.denominator)
    assert exact <= both.at(1e9) == both.epsilon == both.whole_record
    assert both.epsilon == pytest.approx(float(exact), rel=1e-2)


def test_labels_and_noise_are_measured_in_units_again():
    scaling = PublicScaling([0.0, 0.0], [1.0, 1.0], names=["one", "two"])
    noisy = Curator(RECORDS, scaling, NoisyProjection(1.0), torch.arange(40.0)).release.guarantee
    told = CellResponse(2.0, CELLS).guarantee(40, 2)
    both = compose([told, noisy])
    assert not of_whole_records(both)
    assert both.at(1.0) == pytest.approx(told.epsilon + noisy.at(1.0), rel=1e-9)
    far = told.epsilon + noisy.whole_record
    assert both.whole_record == pytest.approx(far, rel=1e-9)
    with pytest.raises(ValueError, match="shuffled needs releases of labels"):
        both.shuffled(1e-5)


def test_noised_outcomes_add_to_labels_for_any_change_of_a_record():
    told = CellResponse(2.0, CELLS).guarantee(40, 2)
    answers = OutcomeMechanism(1.0, 0.0, (0.0, 40.0))
    curator = Curator(
        RECORDS, None, CellResponse(2.0, CELLS), torch.arange(40.0), outcome_mechanism=answers
    )
    both = compose([curator.release.guarantee, curator.release.outcome_guarantee])
    assert both.covers_features
    assert both.covers_outcomes
    assert "in its features by any amount" in both.adjacency
    assert "its outcome by any amount" in both.adjacency
    assert both.at(100.0) == both.whole_record == both.epsilon >= told.epsilon + 1.0 - 1e-9
    assert both.epsilon == pytest.approx(told.epsilon + 1.0, rel=1e-6)
    # Before the first question there are no answers.
    assert both.shuffled(1e-3).epsilon == told.shuffled(1e-3).epsilon


# --- files and ledgers ---


def of_many_kinds():
    told = CellResponse(2.0, CELLS).guarantee(1_000, 2)
    return {
        "labels": told,
        "two releases": compose([told, told]),
        "shuffled": told.shuffled(1e-5),
        "with noise": compose([told, NoisyProjection(1.0).guarantee(1_000, 2)]),
        "void": told.voided("a reason"),
    }


@pytest.mark.parametrize("kind", of_many_kinds())
def test_a_guarantee_comes_back_from_its_file(kind):
    guarantee = of_many_kinds()[kind]
    again = PrivacyGuarantee.from_json(guarantee.to_json())
    assert again == guarantee
    assert str(again) == str(guarantee)
    assert again.adjacency == guarantee.adjacency
    assert again.at(3.0, 2) == guarantee.at(3.0, 2)
    assert again.whole_record == guarantee.whole_record


def test_a_ledger_with_a_budget_counts_labels(tmp_path):
    budget = PrivacyGuarantee.budget(5.0)
    told = CellResponse(2.0, CELLS).guarantee(40, 2)
    path = tmp_path / "ledger.json"
    ledger = Ledger(budget=budget, path=path)
    outcomes = torch.arange(40.0)
    for _ in range(2):
        Curator(RECORDS, None, CellResponse(2.0, CELLS), outcomes, ledger=ledger)
    with pytest.raises(BudgetError):
        Curator(RECORDS, None, CellResponse(2.0, CELLS), outcomes, ledger=ledger)
    again = Ledger(budget=budget, path=path)
    assert len(again.entries) == 2
    assert again.total.epsilon == pytest.approx(2 * told.epsilon, rel=1e-14)
    assert again.total.whole_record == again.total.epsilon
    assert "by any amount" in again.total.adjacency


# --- whole_record of every mechanism ---


def test_the_whole_record_of_noise_is_that_of_the_ball():
    scaling = PublicScaling([0.0, 0.0], [1.0, 1.0])
    for mechanism in (NoisyProjection(1.0), NoisyProjection(1.0, 1e-5, noise="gaussian")):
        found = Curator(RECORDS, scaling, mechanism, torch.arange(40.0)).release.guarantee
        assert found.whole_record == found.at(2 * scaling.radius) > found.epsilon


@pytest.mark.filterwarnings("ignore::botorch_private.NotDifferentiallyPrivate")
def test_the_whole_record_is_infinite_where_nothing_is_known():
    assert NoisyProjection(1.0).guarantee(40, 2).whole_record == math.inf  # of no declared ball
    assert NoPrivacy().guarantee(40, 2).whole_record == math.inf
    assert SpectralProjection(1.0, 1e-5, 2).guarantee(40, 2).whole_record == math.inf


def test_the_whole_record_of_answers_alone_is_that_of_the_outcome():
    curator = Curator(
        RECORDS,
        None,
        CellResponse(2.0, CELLS),
        torch.arange(40.0),
        outcome_mechanism=OutcomeMechanism(1.0, 0.0, (0.0, 40.0)),
    )
    answers = curator.release.outcome_guarantee
    assert answers.whole_record == answers.at(1.0) == pytest.approx(answers.epsilon, rel=1e-9)


# --- "Labels: one of K cells is told of each record, the true one with probability" ---


@pytest.mark.parametrize(("cells", "epsilon"), [(2, 0.3), (4, 3.0), (1000, 7.0)])
def test_the_stated_probabilities_are_those_of_the_draw(cells, epsilon):
    guarantee = promise(10, cells, epsilon)
    law = guarantee.law
    assert f"one of {cells} cells is told" in str(guarantee)
    assert f"probability {law.p:.4g} and each other one with {law.q:.4g}" in str(guarantee)
    assert law.p == float(tell(0, 0, law))
    assert law.q == float(tell(0, 1, law))
    assert sum(tell(0, label, law) for label in range(cells)) == 1
