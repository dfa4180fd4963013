"""Four bugs, planted in the package, are caught by an audit that the honest package passes."""

import sys

import numpy as np
import pytest
import torch
from helpers.draws import seeded

from botorch_private import (
    Curator,
    NoisyProjection,
    OutcomeMechanism,
    PrivateProjectionTransform,
    PublicScaling,
)
from botorch_private.audit import empirical_epsilon, order_audit, repeats_audit, replay
from botorch_private.curator.answers import Answers
from botorch_private.curator.mechanisms.base import Drawn
from botorch_private.curator.mechanisms.noise import calibrate
from botorch_private.curator.noised_answers import NoisedAnswers
from botorch_private.curator.publish import publish

LAPLACE, GAUSSIAN = {"noise": "laplace"}, {"noise": "gaussian", "delta": 1e-5}
L2 = {"noise": "l2", "delta": 1e-5}
BOTH = pytest.mark.parametrize("noise", [LAPLACE, L2, GAUSSIAN], ids=["laplace", "l2", "gaussian"])


SCALING = PublicScaling([0.0, -5.0, 100.0], [1.0, 5.0, 300.0])
RECORDS = SCALING.lower + (SCALING.upper - SCALING.lower) * torch.rand(
    40, 3, dtype=torch.float64, generator=seeded(7)
)


# --- 1: noise that is too small ---


class TooLittle(NoisyProjection):
    """Noise 20 % narrower than claimed."""

    def draw(self, scaled, *, generator=None):
        rows = super().draw(scaled, generator=generator).rows
        law = self.law(scaled.shape[1])
        noise = torch.round((rows - scaled) * 0.8 / law.grid) * law.grid
        return Drawn(torch.round(scaled / law.grid) * law.grid + noise)


@BOTH
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_noise_that_is_a_fifth_too_small_is_refuted(tables, noise, epsilon):
    """100,000 releases a side. The true epsilon is 1.25 epsilon or more."""
    mutant, honest = (
        empirical_epsilon(kind(epsilon, **noise), *tables(2), trials=100_000, generator=seeded(8))
        for kind in (TooLittle, NoisyProjection)
    )
    assert mutant.refuted
    assert 1.1 * epsilon < mutant.lower_bound < 1.3 * epsilon
    assert "REFUTES" in str(mutant)
    assert not honest.refuted


# --- 2: the sensitivity of the projection is forgotten ---


class ForgottenSensitivity(NoisyProjection):
    """Noise calibrated in the projected space, as if projecting did not stretch.

    Most projections shrink the difference, so that an audit of many releases, such as
    `empirical_epsilon`, would need very many of them to see it.
    """

    def law(self, d):
        dim = self.noise_dim(d)
        return calibrate(self.noise, self.epsilon, self.delta, dim=dim, features=dim)


@BOTH
def test_a_forgotten_sensitivity_is_found_by_replay(tables, noise):
    mutant, honest = (
        replay(kind(3.0, projection_dim=2, **noise), *tables(8))
        for kind in (ForgottenSensitivity, NoisyProjection)
    )
    assert any("calibrated for a sensitivity of 1" in problem for problem in mutant.problems)
    assert honest.problems == ()


# --- 3: noise that is drawn again for each question ---


class RedrawingTransform(PrivateProjectionTransform):
    """Publishes the table again for each batch of records."""

    def transform(self, X):
        again = PrivateProjectionTransform(RECORDS, SCALING, NoisyProjection(1.0))
        return again.transform(X)


class RedrawingCurator(Curator):
    """Publishes the table again at each query."""

    def query(self, index):
        self._published = publish(self._records, self._scaling, self._mechanism)
        return super().query(index)


class ForgetfulCurator(Curator):
    """Draws the noise on an outcome anew at each query."""

    def query(self, index):
        old = self._answers
        noised = NoisedAnswers(self.outcome_mechanism, len(RECORDS), answers=None, generator=None)
        self._answers = Answers(old.objective, noised, old.max_queries)
        return super().query(index)


def test_noise_redrawn_for_each_batch_is_found_by_repeats():
    mutant, honest = (
        repeats_audit(kind(RECORDS, SCALING, NoisyProjection(1.0)), RECORDS[:5].split(1))
        for kind in (RedrawingTransform, PrivateProjectionTransform)
    )
    assert len(mutant.problems) == 5
    assert honest.problems == ()


def test_a_curator_that_publishes_at_each_query_is_found_by_repeats():
    def asked(curator):
        def query_and_look(index):
            curator.query(index)
            return curator.release

        return repeats_audit(query_and_look, range(5)), repeats_audit(curator.query, range(40))

    mutant, honest = (
        asked(kind(RECORDS, SCALING, NoisyProjection(1.0), RECORDS.sum(dim=1)))
        for kind in (RedrawingCurator, Curator)
    )
    assert len(mutant[0].problems) == 5
    assert len(mutant[1].problems) > 30  # a row index means another record each time
    assert honest[0].problems == honest[1].problems == ()


def test_noise_on_outcomes_that_is_redrawn_is_found_by_repeats():
    mutant, honest = (
        repeats_audit(
            kind(
                RECORDS,
                SCALING,
                NoisyProjection(1.0),
                RECORDS[:, 0],
                outcome_mechanism=OutcomeMechanism(1.0, 0.0, (0.0, 1.0)),
            ).query,
            range(5),
        )
        for kind in (ForgetfulCurator, Curator)
    )
    assert len(mutant.problems) == 5
    assert honest.problems == ()


# --- 4: rows that stay in the table's order ---


@pytest.mark.parametrize("projection_dim", [None, 2, 5], ids=["plain", "subspace", "rotation"])
def test_rows_left_in_the_tables_order_are_found(monkeypatch, projection_dim):
    mechanism = NoisyProjection(1.0, 1e-5, projection_dim)
    scaled = SCALING.transform(RECORDS)
    honest = order_audit(publish(RECORDS, SCALING, mechanism, generator=seeded(1)).release, scaled)
    monkeypatch.setattr(
        sys.modules["botorch_private.curator.publish"], "permutation", lambda _, n: np.arange(n)
    )
    mutant = order_audit(publish(RECORDS, SCALING, mechanism, generator=seeded(1)).release, scaled)
    assert str(mutant).startswith("the rows were left in the table's order")
    assert not honest.found
