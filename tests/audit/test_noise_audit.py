"""The audit of noise sees 5 % in every dimension, and seldom refutes an honest mechanism."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.draws import seeded

from botorch_private import (
    NoiseLaw,
    NoisyProjection,
    NoPrivacy,
    PrivacyGuarantee,
    PublicScaling,
    add_noise,
)
from botorch_private.audit import answers_audit, clipping_audit, guarantee_audit, noise, noise_audit
from botorch_private.audit.goodness_of_fit import length_checks, reference, visible_error
from botorch_private.audit.independent_rows import repeated_rows, row_checks

PAPER = 8126  # records
KINDS = pytest.mark.parametrize("kind", ["laplace", "l2", "gaussian"])


def law(kind, dim, features=None, scale=0.3):
    return NoiseLaw(kind, dim, scale, dim if features is None else features)


def rows_of(law_, d):
    """Rows of noise that an audit of the paper's table looks at: seeded releases, and others."""
    table = noise._long_table(np.zeros((PAPER, d)), law_, 2)
    enough = law_.dim * len(table) >= noise._NUMBERS_OF_NOISE
    return len(table) * (2 + (2 if enough else 6))


@KINDS
@pytest.mark.parametrize("d", [1, 2, 3, 5, 10, 22, 50, 100, 300, 1000])
@pytest.mark.parametrize("subspace", [False, True])
def test_five_percent_is_far_from_chance_in_every_dimension(kind, d, subspace):
    """By computation: a level of 1e-8 for the one check, and a power of 99.9 %."""
    for dim in {1, max(1, d // 2)} if subspace else {d}:
        law_ = law(kind, dim, d)
        assert visible_error(law_, rows_of(law_, d), level=1e-8) < 0.05


@KINDS
@pytest.mark.parametrize("dim", [1, 2, 22, 300])
def test_five_percent_has_a_p_value_below_one_in_a_hundred_million(kind, dim):
    """Measured, on no more rows than the paper has records, four releases together."""
    claimed, rng = law(kind, dim), np.random.default_rng(dim)
    found = reference(replace(claimed, scale=0.95 * claimed.scale), 4 * PAPER, rng)
    width = next(length_checks(np.linalg.norm(found, axis=1), claimed, rng))
    assert width.name == "the noise is as wide as claimed"
    assert width.p_value < 1e-8
    assert width.found.startswith("0.9")


@KINDS
@pytest.mark.parametrize("dim", [1, 5, 60])
def test_the_smallest_error_that_is_seen_is_seen_in_nearly_all_cases(kind, dim):
    """40 samples whose noise is too narrow by just the error that is said to be seen."""
    claimed, rng, level = law(kind, dim), np.random.default_rng(1), 1e-4
    share = 1 - visible_error(claimed, 2000, level)
    seen = 0
    for _ in range(40):
        found = reference(replace(claimed, scale=share * claimed.scale), 2000, rng)
        seen += next(length_checks(np.linalg.norm(found, axis=1), claimed, rng)).p_value < level
    assert seen >= 39


@pytest.mark.parametrize("epsilon", [0.05, 3.0, 300.0, 20_000.0])
@pytest.mark.parametrize(
    ("d", "settings"),
    [
        (1, {}),
        (2, {"noise": "gaussian", "delta": 1e-5}),
        (22, {}),
        (1, {"projection_dim": 3}),
        (6, {"projection_dim": 12}),
        (22, {"projection_dim": 10, "noise": "gaussian", "delta": 1e-5}),
        (22, {"projection_dim": 10, "noise": "l2", "delta": 1e-5}),
        (2, {"projection_dim": 1, "noise": "laplace"}),
    ],
)
def test_honest_noise_is_not_refuted_at_any_width(monkeypatch, epsilon, d, settings):
    """Two audits each, of smaller tables: some 1,400 p-values over all cases, none below 1e-6."""
    monkeypatch.setattr(noise, "_ENTRIES", 2**12)
    monkeypatch.setattr(noise, "_NUMBERS_OF_NOISE", 2**11)
    monkeypatch.setattr(noise, "_MAP_ENTRIES", 2**10)
    mechanism = NoisyProjection(epsilon, **settings)
    records = torch.randn(50, d, dtype=torch.float64, generator=seeded(d))
    for seed in range(2):
        found = noise_audit(mechanism, records, seed=seed)
        assert found.problems == ()
        assert min(check.p_value for check in found.checks) > 1e-6


def test_one_pair_of_rows_with_the_same_noise_is_seen_where_chance_makes_none():
    claimed = law("laplace", 22)
    rows = reference(claimed, 10_000, np.random.default_rng(3))
    assert repeated_rows([rows], claimed).p_value == 1.0
    for sign in (1, -1):
        twice = rows.copy()
        twice[17] = sign * twice[4004]
        assert repeated_rows([twice], claimed).p_value < 1e-20
    assert repeated_rows([rows[:, :1]], law("laplace", 1)) is None  # chance makes many


@pytest.mark.parametrize("lag", [1, 7, 4_999])
def test_rows_that_go_together_are_seen_at_any_distance(lag):
    """One in five of the rows repeats an earlier one, up to the sign of half of its coordinates."""
    rng = np.random.default_rng(5)
    rows = reference(law("gaussian", 6), 10_000, rng)
    assert min(check.p_value for check in row_checks(rows, rng)) > 1e-4
    again = np.arange(lag, 10_000, 5 if lag < 4_000 else 1)
    rows[again, :3] = rows[again - lag, :3]
    assert min(check.p_value for check in row_checks(rows, rng)) < 1e-20


@pytest.mark.parametrize(
    "table", [torch.zeros(2, 1), torch.ones(2, 3), torch.tensor([[1.0, 2.0], [2.0, 1.0]])]
)
def test_few_equal_or_constant_records_are_enough(monkeypatch, table):
    monkeypatch.setattr(noise, "_ENTRIES", 2**12)
    assert noise_audit(NoisyProjection(3.0), table).problems == ()


def test_what_an_audit_cannot_take_is_refused():
    for given in (NoisyProjection, PublicScaling([0.0], [1.0]), "laplace"):
        with pytest.raises(TypeError, match="mechanism must be a mechanism such as"):
            noise_audit(given, torch.zeros(3, 2, dtype=torch.float64))
    with pytest.raises(TypeError, match="scaling must be a PublicScaling, got NoisyProjection"):
        clipping_audit(NoisyProjection(1.0), PublicScaling([0.0], [1.0]))
    with pytest.raises(TypeError, match="guarantee must be a PrivacyGuarantee, got NoisyProjection"):
        guarantee_audit(NoisyProjection(1.0))
    with pytest.raises(TypeError, match="mechanism must be an OutcomeMechanism, got NoisyProjection"):
        answers_audit(NoisyProjection(1.0))
    with pytest.raises(ValueError, match="mechanism must state a law of noise"):
        noise_audit(NoPrivacy(), torch.zeros(3, 2, dtype=torch.float64))
    with pytest.raises(ValueError, match="level must be a number in"):
        noise_audit(NoisyProjection(1.0), torch.zeros(3, 2, dtype=torch.float64), level=0.0)


class ByCoordinate:
    """A mechanism of somebody's own: Laplace noise on each coordinate, twice as wide as for one."""

    isotropic = False

    def __init__(self, share=1.0):
        self.share = share

    def guarantee(self, n, d):
        return PrivacyGuarantee(
            "ByCoordinate", epsilon=3.0, delta=1e-14, holds=True, law=law("laplace", 1, 1, 2 / 3)
        )

    def apply(self, scaled, *, generator=None):
        claimed = law("laplace", 1, 1, self.share * 2 / 3)
        return add_noise(scaled, claimed, generator=generator)


def test_a_mechanism_of_ones_own_is_audited_piece_by_piece():
    records = torch.randn(100, 4, dtype=torch.float64, generator=seeded(4))
    assert noise_audit(ByCoordinate(), records).problems == ()
    (only,) = noise_audit(ByCoordinate(0.98), records).failed[:1]
    assert only.name == "the noise is as wide as claimed"
