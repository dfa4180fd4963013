"""Records that join later: their rows, and parallel composition over disjoint records."""

import math

import pytest
import torch

from botorch_private import (
    BudgetError,
    Curator,
    Ledger,
    Modeler,
    NoisyProjection,
    NoPrivacy,
    OutcomeMechanism,
    PrivacyGuarantee,
    PublicScaling,
    SpectralProjection,
    run,
)
from botorch_private.audit.bounds import certified_epsilon
from botorch_private.audit.likelihood import log_ratio
from botorch_private.curator.publish import JOINED_LATER, publish, publish_more

N, D = 20, 3
SCALING = PublicScaling([0.0] * D, [1.0] * D)
SOURCE = torch.Generator().manual_seed(0)
RECORDS = torch.rand(N, D, generator=SOURCE, dtype=torch.float64)
LATER = torch.rand(7, D, generator=SOURCE, dtype=torch.float64)
ALMOST_NOISELESS = NoisyProjection(1e6)


def make_curator(mechanism=None, objective=None, **options):
    return Curator(
        RECORDS,
        SCALING,
        NoisyProjection(1.0) if mechanism is None else mechanism,
        RECORDS[:, 0] if objective is None else objective,
        **options,
    )


def test_rows_indices_and_answers_so_far_stay_as_they_are():
    curator = make_curator(max_queries=30)
    before, order = curator.release, curator.permutation
    answers = [curator.query(row) for row in range(5)]
    after = curator.add(LATER, LATER[:, 0])
    assert after is curator.release
    assert after.candidates.shape == (N + 7, D)
    assert torch.equal(after.candidates[:N], before.candidates)
    assert torch.equal(curator.permutation[:N], order)
    assert sorted(curator.permutation[N:].tolist()) == list(range(N, N + 7))
    assert [curator.query(row) for row in range(5)] == answers
    assert len(before.candidates) == N  # the old release is as it was
    assert after.identity != before.identity


@pytest.mark.parametrize("mechanism", [ALMOST_NOISELESS, NoPrivacy()])
def test_new_rows_belong_to_new_records(mechanism):
    curator = make_curator(mechanism, lambda record: float(record[1]))
    curator.add(LATER)
    scaled = SCALING.transform(torch.cat([RECORDS, LATER]))[curator.permutation]
    assert torch.allclose(curator.release.candidates, scaled, atol=1e-3)
    for row in range(N, N + 7):
        assert curator.query(row).value == float(LATER[curator.permutation[row] - N, 1])


@pytest.mark.parametrize(
    "mechanism",
    [
        NoisyProjection(1e6, projection_dim=5),
        NoisyProjection(1e6, projection_dim=3),
        NoisyProjection(1e6, projection_dim=2, noise="laplace"),
    ],
)
def test_new_rows_go_through_the_projection_of_the_old_ones(mechanism):
    curator = make_curator(mechanism)
    curator.add(LATER, LATER[:, 0])
    rows = curator.release.candidates
    scaled = SCALING.transform(torch.cat([RECORDS, LATER]))[curator.permutation]
    linear = torch.linalg.lstsq(scaled[:N], rows[:N]).solution
    assert torch.allclose(scaled @ linear, rows, atol=1e-2)


def test_records_join_one_by_one_in_random_order_within_their_group():
    curator = make_curator()
    for i in range(3):
        curator.add(LATER[i : i + 1], LATER[i : i + 1, 0])
        assert curator.permutation[-1] == N + i
    orders = set()
    for _ in range(20):
        curator = make_curator()
        curator.add(LATER, LATER[:, 0])
        orders.add(tuple(curator.permutation[N:].tolist()))
    assert len(orders) > 10


def test_new_records_are_charged_alone_and_old_ones_nothing():
    curator = make_curator(privacy_budget=PrivacyGuarantee.budget(2.0))
    for i in range(4):
        curator.add(LATER[i : i + 1], LATER[i : i + 1, 0])
    assert curator.guarantee.epsilon == pytest.approx(1.0)
    assert curator.guarantee.records == N + 4
    assert JOINED_LATER in curator.guarantee.assumptions
    assert curator.guarantee == curator.release.guarantee
    assert curator.guarantee.holds
    curator.rerelease()  # everybody once more
    assert curator.release.candidates.shape == (N + 4, D)
    assert curator.guarantee.epsilon == pytest.approx(2.0)
    curator.add(LATER[4:5], LATER[4:5, 0])
    assert [round(each.epsilon, 6) for each in curator.ledger.totals] == [2.0, 1.0]
    with pytest.raises(BudgetError, match="of that 2 is spent"):
        curator.rerelease()


def test_answers_about_new_records_are_charged_to_them_alone():
    curator = make_curator(
        outcome_mechanism=OutcomeMechanism(2.0, 0.0, (0.0, 1.0)),
        privacy_budget=PrivacyGuarantee.budget(3.0),
    )
    curator.add(LATER, LATER[:, 0])
    assert curator.guarantee.epsilon == pytest.approx(3.0)
    assert all(each.epsilon == pytest.approx(3.0) for each in curator.ledger.totals)
    records = [(entry.start, entry.stop) for entry in curator.ledger.entries]
    assert records == [(0, N)] * 2 + [(N, N + len(LATER))] * 2  # a release and answers, each time


def test_a_budget_refuses_new_records_before_anything_is_drawn():
    ledger = Ledger(PrivacyGuarantee.budget(1.0))
    curator = make_curator(ledger=ledger)
    curator.add(LATER[:1], LATER[:1, 0])
    before = curator.release
    # Somebody else spent on the records that are about to join.
    ledger.spend(before.guarantee, start=N + 1, stop=N + 2)
    with pytest.raises(BudgetError, match="of that 1 is spent, and with this epsilon would be 2"):
        curator.add(LATER[1:2], LATER[1:2, 0])
    assert curator.release is before


def test_a_curator_that_cannot_take_records_in_stays_as_it_was(monkeypatch):
    curator = make_curator(outcome_mechanism=OutcomeMechanism(2.0, 0.0, (0.0, 1.0)))
    before, answer = curator.release, curator.query(3)

    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(OutcomeMechanism, "draw_grid_noise", full)
    with pytest.raises(MemoryError):
        curator.add(LATER, LATER[:, 0])
    assert curator.release is before
    assert len(curator.records) == len(curator.permutation) == len(curator.outcomes) == N
    assert curator.query(3) == answer
    assert len(curator.ledger.entries) == 2  # the noise of the answers is drawn before anything is spent


def test_a_modeler_goes_on_from_the_history_of_the_old_release():
    curator = make_curator(NoisyProjection(100.0), lambda record: float(record.sum()))
    modeler = Modeler(curator.release, generator=torch.Generator().manual_seed(0))
    run(curator, modeler, 6)
    curator.add(torch.full((1, D), 0.999, dtype=torch.float64))
    with pytest.raises(ValueError, match="modeler must work on the curator's current release"):
        run(curator, modeler, 1)
    later = Modeler(curator.release, history=modeler.history, generator=torch.Generator().manual_seed(0))
    run(curator, later, 6)
    assert later.best.index == N  # the best record joined later


def test_a_seeded_order_of_new_rows_voids_the_release():
    published = publish(RECORDS, SCALING, NoisyProjection(1.0))
    grown = publish_more(published, LATER, generator=torch.Generator().manual_seed(0))
    assert not grown.release.guarantee.holds
    assert grown.release.guarantee.seeded
    assert publish_more(published, LATER).release.guarantee.holds


REFUSED = {
    "Gaussian subspace": NoisyProjection(1.0, 1e-5, projection_dim=2, noise="gaussian"),
    "Algorithm 1": SpectralProjection(1.0, 1e-5, 3),
}


@pytest.mark.parametrize("mechanism", REFUSED.values(), ids=REFUSED)
@pytest.mark.filterwarnings("ignore::botorch_private.NotDifferentiallyPrivate")
def test_a_release_that_cannot_grow_says_what_to_use(mechanism):
    curator = make_curator(mechanism)
    before = curator.release
    with pytest.raises(ValueError, match=r"rows cannot be added .* Use projection_dim=None"):
        curator.add(LATER, LATER[:, 0])
    assert curator.release is before
    assert len(curator.ledger.entries) == 1


@pytest.mark.parametrize(
    ("records", "outcomes", "message"),
    [
        (LATER[:, :2], LATER[:, 0], "records must have 3 columns, got 2"),
        (LATER[:0], LATER[:0, 0], "records must have at least 1 row"),
        (LATER * math.nan, LATER[:, 0], "records must be finite, got NaN in row 0, column 0"),
        (LATER, None, "outcomes must be given for new records, since the objective is a vector"),
        (LATER, LATER[:3, 0], "outcomes must have 7 entries, got 3"),
        (LATER, LATER[:, 0] * math.inf, "outcomes must be finite"),
    ],
)
def test_unusable_records_are_refused_and_nothing_is_spent(records, outcomes, message):
    curator = make_curator()
    before = curator.release
    with pytest.raises(ValueError, match=message):
        curator.add(records, outcomes)
    assert curator.release is before
    assert len(curator.ledger.entries) == 1


def test_outcomes_beside_a_callable_are_refused():
    curator = make_curator(objective=lambda record: 1.0)
    with pytest.raises(ValueError, match="outcomes must be None, since the objective is a callable"):
        curator.add(LATER, LATER[:, 0])


def test_a_seeded_release_stays_void_when_it_grows():
    curator = make_curator(generator=torch.Generator().manual_seed(0))
    curator.add(LATER, LATER[:, 0])
    assert not curator.release.guarantee.holds
    assert not curator.guarantee.holds


@pytest.mark.slow
def test_old_records_are_no_better_known_after_others_joined_and_new_ones_as_little():
    """Parallel composition, by audit: all that left about both groups, one record of either changed."""
    mechanism = NoisyProjection(2.0)
    law = mechanism.law(D)
    step = torch.zeros(D, dtype=torch.float64)
    step[0] = float(SCALING.unit[0])
    for changed in ("old", "new"):
        scores = []
        for moved in (False, True):
            found = []
            for seed in range(1000):
                first, second = RECORDS[:3].clone(), LATER[:3].clone()
                target = first if changed == "old" else second
                origin = SCALING.transform(target)[0]
                if moved:
                    target[0] += step
                curator = Curator(
                    first,
                    SCALING,
                    mechanism,
                    first[:, 0],
                    generator=torch.Generator().manual_seed(2 * seed + moved),
                )
                curator.add(second, second[:, 0])
                record = 0 if changed == "old" else 3
                row = int((curator.permutation == record).nonzero())
                found.append(curator.release.candidates[row] - origin)
            shift = (
                SCALING.transform((RECORDS[:1] if changed == "old" else LATER[:1]) + step)[0] - origin
            )
            scores.append(log_ratio(law, torch.stack(found), shift.expand(1000, -1)).numpy())
        bound = certified_epsilon(*scores, delta=0.0)
        assert 0.3 < bound <= 2.0
