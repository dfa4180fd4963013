import dataclasses
import itertools
from collections import Counter

import numpy as np
import pytest
import torch
from helpers.draws import seeded
from scipy import stats

from botorch_private import (
    Curator,
    Ledger,
    NoisyProjection,
    NoPrivacy,
    NotDifferentiallyPrivate,
    OutcomeMechanism,
    PrivacyGuarantee,
    PrivacyLeakWarning,
    PrivateProjectionTransform,
    PublicScaling,
    Release,
    SpectralProjection,
    compose,
)
from botorch_private.curator.mechanisms import Drawn
from botorch_private.curator.publish import Published, planned_guarantee, publish
from botorch_private.privacy.guarantee import OUTCOMES_NOISED

D = 3
SCALING = PublicScaling([0.0] * D, [1.0] * D, names=["age", "weight", "pulse"])
ALMOST_NOISELESS = NoisyProjection(epsilon=1e6)


def make_records(n, seed=0):
    return torch.rand(n, D, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("mechanism", [NoisyProjection(1.0), NoisyProjection(1.0, 1e-5, 2), NoPrivacy()])
def test_the_guarantee_is_known_before_the_records_are(mechanism):
    planned = planned_guarantee(20, SCALING, mechanism)
    for seed in range(3):
        assert publish(make_records(20, seed), SCALING, mechanism).release.guarantee == planned


def test_the_guarantee_carries_the_unit_names_and_radius_of_the_scaling():
    guarantee = planned_guarantee(20, SCALING, NoisyProjection(1.0))
    assert guarantee.unit == tuple(SCALING.unit.tolist())
    assert guarantee.names == ("age", "weight", "pulse")
    assert guarantee.radius == 25.0
    assert guarantee.records == 20
    assert guarantee.holds
    assert not guarantee.seeded


def test_the_release_carries_the_public_settings_of_the_mechanism():
    mechanism = NoisyProjection(1.0, 1e-5, projection_dim=2)
    release = publish(make_records(20), SCALING, mechanism).release
    assert release.candidates.shape == (20, 2)
    assert release.candidates.dtype == torch.float64
    assert release.noise_variance == mechanism.noise_variance(D)
    assert release.noise_dim == 2
    assert release.isotropic


def test_the_permutation_maps_released_rows_to_records():
    records = make_records(50)
    published = publish(records, SCALING, ALMOST_NOISELESS)
    scaled = SCALING.transform(records)
    assert torch.allclose(published.release.candidates, scaled[published.permutation], atol=1e-3)
    assert published.permutation.sort().values.tolist() == list(range(50))
    inverse = published.rows_of_records
    assert torch.allclose(published.release.candidates[inverse], scaled, atol=1e-3)


def test_rows_belong_to_their_records_under_a_rotation():
    records = make_records(50)
    published = publish(records, SCALING, dataclasses.replace(ALMOST_NOISELESS, projection_dim=5))
    kept = torch.cdist(published.release.candidates, published.release.candidates)
    scaled = SCALING.transform(records)[published.permutation]
    assert torch.allclose(kept, torch.cdist(scaled, scaled), atol=1e-2)


def test_every_order_of_the_rows_is_equally_likely():
    # 2,400 releases of 4 records, 24 orders, 100 expected each; chi-square with 23 degrees of
    # freedom: 49.7 is its 0.999 quantile
    records, source = make_records(4), seeded(5)
    orders = Counter(
        tuple(publish(records, SCALING, NoPrivacy(), generator=source).permutation.tolist())
        for _ in range(2400)
    )
    counts = [orders[order] for order in itertools.permutations(range(4))]
    assert stats.chisquare(counts).pvalue > 1e-3


def test_every_record_is_equally_likely_in_every_row():
    # 400 releases of 30 records: each record is in each row 400/30 = 13.3 times on average;
    # row and column sums are fixed, which leaves (30 - 1)^2 degrees of freedom
    n, releases = 30, 400
    records, source = make_records(n), seeded(6)
    table = np.zeros((n, n))
    for _ in range(releases):
        order = publish(records, SCALING, NoPrivacy(), generator=source).permutation
        table[np.arange(n), order.numpy()] += 1
    expected = releases / n
    # a cell has variance expected (1 - 1/n), so the sum has mean n (n - 1): bring it to (n - 1)^2
    statistic = ((table - expected) ** 2 / expected).sum() * (n - 1) / n
    assert 1e-3 < stats.chi2((n - 1) ** 2).sf(statistic) < 1 - 1e-3


def test_the_order_does_not_follow_the_order_of_the_records():
    # 200 releases of a sorted table of 30 records: the mean rank correlation of row and record has
    # standard error 1 / sqrt(29 * 200) = 0.013; 4 of them
    source = seeded(7)
    records = make_records(30).sort(dim=0).values
    correlations = [
        stats.spearmanr(
            range(30), publish(records, SCALING, NoPrivacy(), generator=source).permutation
        ).statistic
        for _ in range(200)
    ]
    assert abs(np.mean(correlations)) < 4 * 0.0131


def test_order_and_rows_are_fresh_with_every_release():
    records = make_records(50)  # two equal orders have probability 1 / 50!
    first, second = (publish(records, SCALING, NoisyProjection(1.0)) for _ in range(2))
    assert not torch.equal(first.permutation, second.permutation)
    of_records = [each.release.candidates[each.rows_of_records] for each in (first, second)]
    assert not (of_records[0] == of_records[1]).all(dim=1).any()


def test_a_learned_scaling_and_a_seed_are_both_named():
    with pytest.warns(PrivacyLeakWarning, match=r"learned from the records"):
        scaling = PublicScaling.from_data(make_records(20))
    guarantee = publish(
        make_records(20), scaling, NoisyProjection(1.0), generator=seeded(1)
    ).release.guarantee
    assert guarantee.holds is False
    assert guarantee.unit is None
    assert ["learned" in r for r in guarantee.reasons].count(True) == 1
    assert ["seeded" in r for r in guarantee.reasons].count(True) == 1


def test_the_paper_s_algorithm_warns_and_does_not_hold():
    with pytest.warns(NotDifferentiallyPrivate, match=r"20 records of 3 features"):
        published = publish(make_records(20), SCALING, SpectralProjection(1.0, 1e-5, 2))
    assert published.release.guarantee.holds is False
    assert published.row_map is not None


@pytest.mark.parametrize(
    "records",
    [
        torch.tensor([[0.5] * D, [0.1] * D]),  # n = 2 < d
        torch.full((4, D), 0.5),  # equal records
        torch.tensor([[0.5, 0.1, 0.2], [0.5, 0.3, 0.2], [0.5, 0.9, 0.2]]),  # constant columns
        torch.tensor([[1e9] * D, [-1e9] * D]),  # clipped to opposite corners
    ],
)
@pytest.mark.parametrize("mechanism", [NoisyProjection(1.0), NoisyProjection(1.0, 1e-5, 2)])
def test_degenerate_tables_are_released(records, mechanism):
    published = publish(records, SCALING, mechanism)
    assert torch.isfinite(published.release.candidates).all()
    assert published.release.guarantee.holds
    equal = published.release.candidates.unsqueeze(0) == published.release.candidates.unsqueeze(1)
    assert int(equal.all(dim=-1).sum()) == len(records)  # each row has noise of its own


def test_one_feature_and_two_records_are_released():
    published = publish([[0.2], [0.9]], PublicScaling([0.0], [1.0]), NoisyProjection(1.0))
    assert published.release.candidates.shape == (2, 1)


def test_repr_shows_no_row_and_no_order():
    published = publish(make_records(20), SCALING, NoisyProjection(1.0))
    assert repr(published) == f"Published({published.release!r})"
    assert isinstance(published, Published)
    assert isinstance(published.release, Release)


class CountingMechanism:
    """A mechanism of one's own, which counts its draws."""

    isotropic = False

    def __init__(self):
        self.draws = 0

    def guarantee(self, n, d):
        return NoPrivacy().guarantee(n, d)

    def noise_variance(self, d):
        return 0.0

    def noise_dim(self, d):
        return d

    def draw(self, scaled, *, generator=None):
        self.draws += 1
        return Drawn(scaled.clone())

    def apply(self, scaled, *, generator=None):
        return self.draw(scaled).rows


def test_promised_answers_are_charged_with_the_release_unless_they_were_before():
    ledger, promised = Ledger(), OutcomeMechanism(2.0, 0.0, (0.0, 1.0)).guarantee()
    for promised_before, total in ((False, 3.0), (True, 4.0)):
        options = {"answers_promised": True} if promised_before else {}  # False unless said
        release = publish(
            make_records(20),
            SCALING,
            NoisyProjection(1.0),
            outcome_guarantee=promised,
            ledger=ledger,
            **options,
        ).release
        assert release.outcome_guarantee == promised
        assert OUTCOMES_NOISED in release.guarantee.assumptions
        assert ledger.total.epsilon == pytest.approx(total)


class Twice(NoisyProjection):
    """A mechanism of one's own, which draws noise twice and says so."""

    def guarantee(self, n, d):
        return compose([super().guarantee(n, d)] * 2)


def test_the_parts_of_a_guarantee_carry_what_the_whole_carries():
    whole = planned_guarantee(20, SCALING, Twice(1.0))
    assert {part.unit for part in whole.parts} == {whole.unit} == {tuple(SCALING.unit.tolist())}
    assert {part.names for part in whole.parts} == {SCALING.names}
    once = planned_guarantee(20, SCALING, NoisyProjection(1.0))
    assert compose([whole, once]).epsilon == pytest.approx(3.0)
    with_seed = planned_guarantee(20, SCALING, Twice(1.0), seeded=True)
    assert not any(part.holds for part in (with_seed, *with_seed.parts))


def test_a_mechanism_of_one_s_own_draws_once_a_release():
    mechanism = CountingMechanism()
    published = publish(make_records(20), SCALING, mechanism)
    assert mechanism.draws == 1
    assert published.row_map is None


def test_rows_are_shuffled_before_the_mechanism_sees_them():
    # Matrix products round a row in ways that depend on its place, which must not be its place in
    # the table.
    seen = []

    class Spy(NoPrivacy):
        def draw(self, scaled, *, generator=None):
            seen.append(scaled.clone())
            return super().draw(scaled, generator=generator)

    records = make_records(40)
    published = publish(records, SCALING, Spy())
    assert torch.equal(seen[0], SCALING.transform(records)[published.permutation])
    assert not torch.equal(seen[0], SCALING.transform(records))


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        (NoisyProjection(1.0, 0.01, noise="gaussian"), {}),
        (
            NoisyProjection(1.0),
            {"outcome_mechanism": OutcomeMechanism(1.0, 0.01, (0.0, 1.0), "gaussian")},
        ),
        (NoisyProjection(1.0), {"privacy_budget": PrivacyGuarantee.budget(3.0, 0.01)}),
    ],
    ids=["release", "answers", "budget"],
)
def test_a_delta_not_far_below_1_over_n_is_warned_of_when_a_release_is_made(mechanism, options):
    with pytest.warns(
        PrivacyLeakWarning, match=r"delta 0\.01 is large for a table of 30 records"
    ) as found:
        curator = Curator(make_records(30), SCALING, mechanism, [1.0] * 30, **options)
    assert found[0].filename == __file__
    with pytest.warns(PrivacyLeakWarning, match="delta 0.01"):
        PrivateProjectionTransform(
            make_records(30), SCALING, NoisyProjection(1.0, 0.01, noise="gaussian"), ledger=Ledger()
        )
    assert curator.release.guarantee.holds


def test_a_delta_far_below_1_over_n_is_not_warned_of():
    Curator(make_records(30), SCALING, NoisyProjection(1.0, 1e-3, noise="gaussian"), [1.0] * 30)
