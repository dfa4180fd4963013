"""Honest mechanisms pass every audit, and blunders do not (more: test_audit_matrix, test_mutants)."""

import dataclasses

import pytest
import torch
from helpers.draws import seeded

from botorch_private import NoisyProjection, NotDifferentiallyPrivate, SpectralProjection
from botorch_private.audit import empirical_epsilon, one_run_audit, replay
from botorch_private.curator.mechanisms.base import Drawn

LAPLACE, GAUSSIAN = {"noise": "laplace"}, {"noise": "gaussian", "delta": 1e-5}


# --- honest mechanisms ---


@pytest.mark.parametrize("distance", [0.3, 2.0])
def test_the_claim_is_that_at_the_distance(tables, distance):
    mechanism = NoisyProjection(1.0)
    result = empirical_epsilon(mechanism, *tables(2, distance=distance), 20_000, generator=seeded(1))
    assert result.claimed == pytest.approx(distance, rel=1e-3)
    assert result.distance == pytest.approx(distance)
    assert 0.4 * distance < result.lower_bound < 1.1 * distance


@pytest.mark.parametrize("dim", [3, 12])
def test_a_projected_mechanism_is_not_refuted(tables, dim):
    mechanism = NoisyProjection(3.0, 1e-5, dim, noise="gaussian")
    result = empirical_epsilon(mechanism, *tables(6), 1_000, generator=seeded(2))
    assert 0.1 < result.lower_bound <= result.claimed


@pytest.mark.parametrize(("noise", "expected"), [(LAPLACE, 0.65), (GAUSSIAN, 0.25)])
def test_one_release_of_many_rows_is_an_audit(noise, expected):
    records = torch.randn(20_000, 2, dtype=torch.float64, generator=seeded(3))
    steps = torch.randn(20_000, 2, dtype=torch.float64, generator=seeded(4))
    other = records + steps / steps.norm(dim=1, keepdim=True)
    result = one_run_audit(NoisyProjection(1.0, **noise), records, other, generator=seeded(5))
    assert expected < result.lower_bound <= result.claimed
    assert result.trials == 20_000


@pytest.mark.parametrize("dim", [None, 3, 12])
@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("distance", [0.001, 1.0, 40.0])
def test_replay_finds_nothing_in_an_honest_mechanism(tables, noise, dim, distance):
    mechanism = NoisyProjection(2.0, projection_dim=dim, **noise)
    found = replay(mechanism, *tables(6, distance=distance))
    assert found.problems == ()
    assert 0 < found.moved <= found.allowed


# --- blunders ---


class OffTheGrid(NoisyProjection):
    """Noise that keeps the low-order bits of float64."""

    def draw(self, scaled, *, generator=None):
        rows = super().draw(scaled, generator=generator).rows
        return Drawn(rows + 1e-9 * scaled)


class OwnScale(NoisyProjection):
    """Records divided by the largest norm of the table."""

    def draw(self, scaled, *, generator=None):
        return super().draw(scaled / scaled.norm(dim=1).max(), generator=generator)


class OwnCentre(NoisyProjection):
    """Records centred at their mean."""

    def draw(self, scaled, *, generator=None):
        return super().draw(scaled - scaled.mean(dim=0), generator=generator)


class Fresh(NoisyProjection):
    """Randomness from elsewhere, whatever the generator."""

    def draw(self, scaled, *, generator=None):
        return super().draw(scaled)


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (OffTheGrid, "off the public grid"),
        (OwnCentre, "11 rows changed of records that did not"),
        (Fresh, "the same seed gave another release"),
    ],
)
def test_blunders_are_caught_by_replay(tables, kind, problem):
    found = replay(kind(1.0), *tables(3))
    assert any(problem in each for each in found.problems)


def test_scaling_by_the_largest_norm_is_caught_by_replay(tables):
    records, neighbour = tables(3)
    neighbour[6] = 3 * records.norm(dim=1).max() * torch.tensor([1.0, 0.0, 0.0])
    found = replay(OwnScale(1.0), records, neighbour)
    assert any("rows changed of records that did not" in each for each in found.problems)


def test_algorithm_1_is_caught_by_replay(tables):
    with pytest.warns(NotDifferentiallyPrivate):
        found = replay(SpectralProjection(1.0, 1e-5, 4), *tables(3, n=20))
    assert "19 rows changed of records that did not" in found.problems
    assert "no noise is added" in found.problems


# --- bad input ---


def test_tables_that_are_no_neighbours_are_refused(tables):
    records, neighbour = tables(2)
    for other, message in (
        (records, "in exactly one row, got 0"),
        (records + 1, "in exactly one row, got 12"),
        (neighbour[:5], r"neighbour must have the shape of records, \(12, 2\), got \(5, 2\)"),
    ):
        for audit in (empirical_epsilon, replay):
            with pytest.raises(ValueError, match=message):
                audit(NoisyProjection(1.0), records, other)


def test_bad_settings_are_refused(tables):
    mechanism, pair = NoisyProjection(1.0), tables(2)
    with pytest.raises(ValueError, match="trials must be an integer >= 100, got 5"):
        empirical_epsilon(mechanism, *pair, 5)
    with pytest.raises(ValueError, match="confidence must be a number in"):
        empirical_epsilon(mechanism, *pair, confidence=1.0)
    with pytest.raises(
        ValueError, match="alternatives must differ from records in every row, but not row 0"
    ):
        one_run_audit(mechanism, *pair)
    with pytest.raises(ValueError, match="projection_dim=None"):
        one_run_audit(dataclasses.replace(mechanism, projection_dim=2), pair[0], pair[0] + 1)
    with pytest.raises(ValueError, match="alternatives must have the shape"):
        one_run_audit(mechanism, pair[0], pair[0][:3])


def test_audits_are_reproducible(tables):
    results = [
        empirical_epsilon(NoisyProjection(1.0), *tables(2), 1_000, generator=seeded(9)) for _ in range(2)
    ]
    assert results[0] == results[1]


# --- records that replay chooses by itself ---


class BranchesOnTheLargest(NoisyProjection):
    """Centres at the record with the largest first feature, if that is larger than 2.5."""

    def draw(self, scaled, *, generator=None):
        largest = scaled[:, 0].max()
        return super().draw(scaled - largest if largest > 2.5 else scaled, generator=generator)


class SeesEqualRecords(NoisyProjection):
    """Another centre where two records are equal."""

    def draw(self, scaled, *, generator=None):
        equal = len(scaled.unique(dim=0)) < len(scaled)
        return super().draw(scaled + float(equal), generator=generator)


class SeesConstantColumns(NoisyProjection):
    """Leaves a column alone that is constant."""

    def draw(self, scaled, *, generator=None):
        constant = (scaled == scaled[0]).all(dim=0)
        return super().draw(torch.where(constant, 0.0, scaled), generator=generator)


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        (BranchesOnTheLargest, "where the record with the largest feature 0 was changed"),
        (SeesEqualRecords, "where a record became equal to another one"),
        (SeesConstantColumns, "where a column was constant but for one record"),
    ],
)
def test_replay_finds_what_only_some_records_show(tables, kind, where):
    records, neighbour = tables(3)
    other = int((records != neighbour).any(dim=1).nonzero())
    records[(other + 1) % 12, 0] = neighbour[(other + 1) % 12, 0] = 3.0
    records[(other + 2) % 12, 1] = neighbour[(other + 2) % 12, 1] = 9.0  # of the largest norm
    found = replay(kind(1.0), records, neighbour)
    assert any("rows changed" in problem and where in problem for problem in found.problems)
    assert replay(NoisyProjection(1.0), records, neighbour).problems == ()
