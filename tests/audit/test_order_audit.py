from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.draws import seeded

from botorch_private import NoisyProjection, NotDifferentiallyPrivate, PublicScaling, SpectralProjection
from botorch_private.audit import order_audit
from botorch_private.curator.publish import publish

SCALING = PublicScaling([-4.0] * 3, [4.0] * 3)
RECORDS = torch.randn(200, 3, dtype=torch.float64, generator=seeded())
SCALED = SCALING.transform(RECORDS)
MECHANISMS = [
    NoisyProjection(1.0),
    NoisyProjection(3.0, 1e-5, 2),
    NoisyProjection(3.0, projection_dim=7),
    SpectralProjection(3.0, 1e-5, 5),
]
NAMES = ["noise", "subspace", "rotation", "algorithm 1"]
pytestmark = pytest.mark.filterwarnings(
    f"ignore::{NotDifferentiallyPrivate.__module__}.NotDifferentiallyPrivate"
)


def ordered(mechanism, order, seed=0):
    """A release whose row ``i`` is that of record ``order[i]``."""
    release = publish(RECORDS, SCALING, mechanism, generator=seeded(seed)).release
    return replace(release, candidates=mechanism.apply(SCALED[order], generator=seeded(seed)))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=NAMES)
def test_a_random_order_shows_no_sign(mechanism):
    """40 releases: the chance that more than 6 have p <= 0.05 is 0.01 (binomial), seeds are fixed."""
    results = []
    for seed in range(40):
        release = publish(RECORDS, SCALING, mechanism, generator=seeded(seed)).release
        results.append(order_audit(release, SCALED, permutations=99, seed=seed))
    assert sum(result.p_value <= 0.05 for result in results) <= 6
    assert 0.3 < np.mean([result.p_value for result in results]) < 0.7  # uniform: 0.5, error 0.05
    assert "no sign of the table's order" in str(results[0])


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=NAMES)
@pytest.mark.parametrize(
    ("order", "name"),
    [
        (torch.arange(200), "the table's order"),
        (torch.arange(200).flip(0), "the table's order, reversed"),
        (torch.argsort(RECORDS[:, 1]), "the order of feature 1"),
        (torch.argsort(RECORDS[:, 2]).flip(0), "the order of feature 2, reversed"),
    ],
    ids=["own", "reversed", "sorted", "sorted down"],
)
def test_an_order_that_the_table_gives_away_is_found(mechanism, order, name):
    result = order_audit(ordered(mechanism, order), SCALED)
    assert result.found
    assert result.order == name
    assert result.p_value == 1 / 200
    assert str(result).startswith(f"the rows were left in {name} (p = 0.005")


def test_rows_shuffled_in_blocks_are_found():
    table = RECORDS + torch.linspace(-2, 2, 200, dtype=torch.float64).unsqueeze(-1)  # a trend
    scaled = SCALING.transform(table)
    blocks = torch.cat([torch.randperm(20, generator=seeded(i)) + 20 * i for i in range(10)])
    release = publish(table, SCALING, NoisyProjection(1.0), generator=seeded()).release
    rows = NoisyProjection(1.0).apply(scaled[blocks], generator=seeded())
    assert order_audit(replace(release, candidates=rows), scaled).found
    assert not order_audit(release, scaled).found


def test_a_fixed_shuffle_is_found_by_who_knows_it():
    shuffle = torch.randperm(200, generator=seeded(5))
    release = ordered(NoisyProjection(1.0), shuffle)
    assert not order_audit(release, SCALED).found
    assert order_audit(release, SCALED[shuffle]).found


def test_the_statistic_ignores_rotation_place_and_scale():
    release = ordered(NoisyProjection(1.0), torch.arange(200))
    rotation = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64, generator=seeded(1)))[0]
    moved = replace(release, candidates=7 * release.candidates @ rotation + 3)
    one, other = order_audit(release, SCALED), order_audit(moved, 2 * SCALED - 1)
    assert other.statistic == pytest.approx(one.statistic, rel=1e-9)
    assert other.p_value == one.p_value


def test_statistic_and_p_value_equal_those_of_plain_loops():
    release = publish(RECORDS[:30], SCALING, NoisyProjection(3.0), generator=seeded(11)).release
    X, Z = SCALED[:30].numpy(), release.candidates.numpy()
    up = [np.argsort(X[:, j], kind="stable") for j in range(3)]
    orders = [np.arange(30), np.arange(30)[::-1], *(o for u in up for o in (u, u[::-1]))]

    def best(rows):
        fits = []
        for order in orders:
            z, x = rows - rows.mean(axis=0), X[order] - X.mean(axis=0)
            fits.append(np.linalg.norm(z.T @ x) ** 2 / (np.linalg.norm(z) * np.linalg.norm(x)) ** 2)
        return max(fits)

    generator = seeded(4)
    others = [best(Z[torch.randperm(30, generator=generator).numpy()]) for _ in range(99)]
    result = order_audit(release, SCALED[:30], permutations=99, seed=4)
    assert result.statistic == pytest.approx(best(Z), rel=1e-9)
    assert result.p_value == (1 + sum(other >= best(Z) for other in others)) / 100


def test_bad_input_is_refused():
    release = publish(RECORDS, SCALING, NoisyProjection(1.0)).release
    with pytest.raises(ValueError, match="records must have a row for each of 200 released rows, got 5"):
        order_audit(release, SCALED[:5])
    with pytest.raises(ValueError, match="permutations must be an integer >= 99, got 10"):
        order_audit(release, SCALED, permutations=10)
    with pytest.raises(ValueError, match="records must hold at least two different rows"):
        order_audit(release, torch.ones(200, 3, dtype=torch.float64))
    with pytest.raises(ValueError, match="seed must be an integer >= 0"):
        order_audit(release, SCALED, seed=-1)
