"""What the records add: the exact Bayes error with the table as the prior, by quadrature and rivals."""

import math

import numpy as np
import pytest
import torch
from helpers.report_samples import declared, make_release, some_records, stepped
from scipy.integrate import quad
from scipy.stats import norm

from botorch_private import PublicScaling
from botorch_private.privacy.noise_law import NoiseLaw
from botorch_private.report.table_facts import bayes_error, one_unit_away, table_facts


def seeded():
    return torch.Generator().manual_seed(8)


@pytest.mark.parametrize("std", [0.6, 1.0, 3.0])
def test_the_error_of_a_yes_or_no_is_that_of_the_posterior(std):
    """Half -1 and half 1 under Gaussian noise: 4,000 draws, within 4 standard errors."""
    table = torch.tensor([[-1.0], [1.0]], dtype=torch.float64).repeat(2000, 1)
    error, standard_error = bayes_error(table, NoiseLaw("gaussian", 1, std, 1), 4000, generator=seeded())

    def integrand(z):
        return norm.pdf(z, 1, std) * (1 - np.tanh(z / std**2)) ** 2

    expected = math.sqrt(quad(integrand, 1 - 12 * std, 1 + 12 * std, points=[0, 1])[0])
    assert abs(float(error) - expected) < 4 * float(standard_error) + 1e-3
    assert 0 < float(standard_error) < 0.05


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_no_guess_beats_it(kind):
    """The linear guess, the row and the mean are guesses, too: no better, within 4 standard errors."""
    table = declared().transform(some_records(3000))
    law = NoiseLaw(kind, 4, 2.0, 4)
    error, standard_error = bayes_error(table, law, 2000, generator=seeded())
    std = math.sqrt(law.variance)
    sigma = torch.cov(table.mT)
    left = sigma - sigma @ torch.linalg.inv(sigma + std**2 * torch.eye(4)) @ sigma
    linear = left.diagonal().sqrt()
    assert bool((error <= linear + 4 * standard_error).all())
    assert bool((error <= std + 4 * standard_error).all())
    assert bool((error <= table.std(dim=0) + 4 * standard_error).all())


def test_without_noise_to_speak_of_every_record_is_found():
    table = declared().transform(some_records(50))
    error, _ = bayes_error(table, NoiseLaw("gaussian", 4, 1e-3, 4), 50)
    assert float(error.max()) < 1e-6


def test_chunks_do_not_change_it(monkeypatch):
    import botorch_private.report.table_facts as module

    table, law = declared().transform(some_records(100)), NoiseLaw("laplace", 4, 2.0, 4)
    at_once = bayes_error(table, law, 100, generator=seeded())
    monkeypatch.setattr(module, "_CHUNK_ENTRIES", 700)  # 7 draws at a time, and 2 in the end
    in_chunks = bayes_error(table, law, 100, generator=seeded())
    for one, other in zip(at_once, in_chunks, strict=True):
        assert one.shape == (4,)
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize(("kind", "one_run"), [("gaussian", True), ("rotated", False)])
def test_spreads_clipping_and_steps_are_those_of_the_table(kind, one_run):
    records, scaling = some_records(), declared()
    release = make_release(kind)
    found = table_facts(release, "it", records, scaling, progress=False)
    clipped = records.clone()
    clipped[:, 3] = clipped[:, 3].clamp(max=123456.0)
    for j, feature in enumerate(found.features):
        assert feature.spread == pytest.approx(float(clipped[:, j].std(correction=0)))
        assert 0 < feature.error <= feature.spread * 1.3
    assert found.clipped == 7
    assert found.records == found.draws == 300
    assert [feature.step is not None for feature in found.features] == [False, False, True, False]
    step = found.features[2].step
    assert step.distance == pytest.approx(1 / float(scaling.unit[2]))
    assert step.epsilon == release.guarantee.at(step.distance)
    assert (found.one_run is not None) == one_run
    if one_run:
        # A bound that is wrong by chance, once in a thousand times, is not wrong by much.
        assert found.one_run.lower_bound < 1.2 * found.one_run.claimed
        assert found.one_run.distance == pytest.approx(1.0)


def test_columns_of_a_category_have_no_step_of_their_own():
    encoding, records, release = stepped()
    found = table_facts(release, "it", records, encoding.scaling, progress=False)
    assert [feature.step for feature in found.features] == [None] * 5
    plain = PublicScaling(
        encoding.scaling.lower,
        encoding.scaling.upper,
        [each.shape for each in encoding.features for _ in each.columns],
        names=encoding.names,
    )
    assert torch.equal(plain.unit, encoding.scaling.unit)
    found = table_facts(release, "it", records, plain, progress=False)
    assert [feature.step for feature in found.features] == [None] * 5


@pytest.mark.parametrize("kind", ["projected", "spectral", "none"])
def test_errors_are_left_out_where_they_cannot_be_told(kind):
    found = table_facts(make_release(kind), "it", some_records(), declared(), progress=False)
    assert found.draws == 0
    assert all(feature.error is None for feature in found.features)
    assert found.one_run is None


def test_alternatives_are_one_unit_away_inside_the_ball():
    table = declared().transform(some_records())
    table[0] = 0
    table[1] = 1e-9
    moved = one_unit_away(table)
    torch.testing.assert_close((moved - table).norm(dim=1), torch.ones(300, dtype=torch.float64))
    assert float(moved.norm(dim=1).max()) <= 25
