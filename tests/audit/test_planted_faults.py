"""Faults, planted one at a time, are caught by an audit that ships; the honest package passes.

Each fault replaces one function by a wrong one, and names the audit that must see it and a part of what
it must say. The audits run at their own sizes; an honest run is refuted once in a million.
"""

import math
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.draws import seeded

from botorch_private import (
    Curator,
    NoisyProjection,
    OutcomeMechanism,
    PrivacyGuarantee,
    PublicScaling,
)
from botorch_private.audit import (
    answers_audit,
    clipping_audit,
    empirical_epsilon,
    guarantee_audit,
    noise_audit,
    one_run_audit,
)
from botorch_private.curator.mechanisms import entropy, noise, projection
from botorch_private.curator.mechanisms.entropy import OSEntropy, SeededEntropy
from botorch_private.curator.noised_answers import NoisedAnswers
from botorch_private.privacy import outcome_grid

SAMPLER, GRID, SUBSPACE = noise.sample_on_grid, noise.on_grid, projection.subspace_projection
MECHANISMS = "botorch_private.curator.mechanisms."
LAPLACE = NoisyProjection(3.0)
GAUSSIAN = NoisyProjection(3.0, 1e-5, noise="gaussian")
IN_SUBSPACE = NoisyProjection(3.0, 1e-5, 4, noise="gaussian")
ROTATED = NoisyProjection(3.0, projection_dim=60)
OUTCOMES = OutcomeMechanism(5.0, 0.0, (0.0, 10.0))
SCALING = PublicScaling([0.0, -5.0, 100.0], [1.0, 5.0, 300.0])


def records(d, n=300):
    return 5 * torch.randn(n, d, dtype=torch.float64, generator=seeded(d))


def plant(monkeypatch, name, function):
    """Replace a function wherever a module of the mechanisms has it."""
    for module in list(sys.modules.values()):
        if module.__name__.startswith("botorch_private.curator") and hasattr(module, name):
            monkeypatch.setattr(module, name, function)


# --- faults of the sampler: what is drawn for `count` rows ---


def narrower(share):
    return lambda law, count, source: SAMPLER(replace(law, scale=share * law.scale), count, source)


def one_exponential_short(law, count, source):
    """Radius Gamma(k - 1)."""
    steps = SAMPLER(law, count, source).astype(float)
    lengths = np.linalg.norm(steps, axis=1)
    short = entropy.gammas(source, count, law.dim - 1) * law.scale / law.grid
    return np.rint(steps * (short / lengths)[:, None]).astype(np.int64)


def coordinate_by_coordinate(law, count, source):
    """A Laplace variable in each coordinate, of the right variance."""
    sizes = entropy.exponentials(source, count * law.dim) * math.sqrt(law.variance / 2)
    signs = np.sign(entropy.normals(source, count * law.dim))
    return np.rint(sizes * signs / law.grid).astype(np.int64).reshape(count, law.dim)


def direction_not_normalised(law, count, source):
    directions = entropy.normals(source, count * law.dim).reshape(count, law.dim)
    radius = entropy.gammas(source, count, law.dim) * law.scale / law.grid / math.sqrt(law.dim)
    return np.rint(directions * radius[:, None]).astype(np.int64)


def every_other_row_again(law, count, source):
    steps = SAMPLER(law, count, source)
    steps[1::2] = steps[: len(steps[1::2]) * 2 : 2]
    return steps


def opposite_noise(law, count, source):
    """The second half of a block has the noise of the first with the other sign."""
    steps = SAMPLER(law, count, source)
    steps[count - count // 2 :] = -steps[: count // 2]
    return steps


def one_radius_a_block(law, count, source):
    steps = SAMPLER(law, count, source).astype(float)
    lengths = np.linalg.norm(steps, axis=1, keepdims=True)
    return np.rint(steps * lengths[0] / lengths).astype(np.int64)


def second_block_again():
    kept = {}

    def sampler(law, count, source):
        if source not in kept:
            kept.clear()
            kept[source] = SAMPLER(law, count, source)
        return kept[source][:count].copy()

    return sampler


def second_release_again():
    kept = {}

    def sampler(law, count, source):
        return kept.setdefault((law, count), SAMPLER(law, count, source)).copy()

    return sampler


def a_coordinate_without_noise(law, count, source):
    steps = SAMPLER(law, count, source)
    steps[:, -1] = 0
    return steps


def tail_cut_off(law, count, source):
    """No noise longer than what holds 99.99 % of it."""
    steps = SAMPLER(law, count, source).astype(float)
    lengths = np.linalg.norm(steps, axis=1, keepdims=True) * law.grid
    return np.rint(steps * np.minimum(1, law.radius(0.9999) / lengths)).astype(np.int64)


def off_centre(law, count, source):
    return SAMPLER(law, count, source) + int(0.05 * law.scale / law.grid)


@pytest.mark.parametrize(
    ("fault", "mechanism", "d", "said"),
    [
        pytest.param(narrower(0.95), GAUSSIAN, 22, "as wide", id="gaussian 5 % too narrow"),
        pytest.param(
            narrower(0.95), NoisyProjection(3.0, 1e-5, noise="l2"), 22, "as wide", id="l2 5 % too narrow"
        ),
        pytest.param(narrower(0.95), LAPLACE, 2, "as wide", id="laplace 5 % too narrow"),
        pytest.param(narrower(1.05), LAPLACE, 22, "as wide", id="laplace 5 % too wide"),
        pytest.param(narrower(0.5), LAPLACE, 22, "as wide", id="halved, 22"),
        pytest.param(narrower(0.5), LAPLACE, 50, "as wide", id="halved, 50"),
        pytest.param(narrower(0.95), IN_SUBSPACE, 22, "as wide", id="subspace 5 % too narrow"),
        pytest.param(narrower(0.95), ROTATED, 22, "as wide", id="rotation 5 % too narrow"),
        pytest.param(one_exponential_short, LAPLACE, 22, "as wide", id="radius Gamma(k - 1)"),
        pytest.param(coordinate_by_coordinate, LAPLACE, 5, "directions", id="Laplace by coordinate"),
        pytest.param(direction_not_normalised, LAPLACE, 22, "lengths", id="direction not normalised"),
        pytest.param(every_other_row_again, LAPLACE, 22, "no two rows", id="two rows, one noise"),
        pytest.param(opposite_noise, LAPLACE, 22, "no two rows", id="opposite noise"),
        pytest.param(one_radius_a_block, LAPLACE, 22, "lengths", id="one radius a block"),
        pytest.param(second_block_again(), LAPLACE, 22, "no two rows", id="second block, 22"),
        pytest.param(second_block_again(), LAPLACE, 2, "no two rows", id="second block, 2"),
        pytest.param(second_release_again(), LAPLACE, 22, "two releases", id="second release"),
        pytest.param(second_release_again(), ROTATED, 22, "two releases", id="second release, rotated"),
        pytest.param(a_coordinate_without_noise, GAUSSIAN, 50, "each coordinate", id="no noise in one"),
        pytest.param(tail_cut_off, LAPLACE, 5, "tail", id="tail cut off"),
        pytest.param(off_centre, GAUSSIAN, 22, "off centre", id="off centre"),
    ],
)
def test_a_wrong_sampler_is_seen_by_the_audit_of_noise(monkeypatch, fault, mechanism, d, said):
    plant(monkeypatch, "sample_on_grid", fault)
    found = noise_audit(mechanism, records(d))
    assert any(said in problem for problem in found.problems), str(found)


@pytest.mark.parametrize("d", [1, 2, 5, 22, 50])
@pytest.mark.parametrize(
    "mechanism",
    [LAPLACE, GAUSSIAN, IN_SUBSPACE, ROTATED],
    ids=["laplace", "gaussian", "subspace", "rotated"],
)
def test_honest_noise_passes(mechanism, d):
    found = noise_audit(mechanism, records(d))
    assert found.problems == ()
    assert "does not refute" in str(found)


# --- faults beside the sampler ---


def scaled_by_the_record(rows, law, source):
    steps = SAMPLER(law, len(rows), source)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (GRID(rows, law) + np.rint(steps * (0.8 + 0.02 * lengths)).astype(np.int64)) * law.grid


def pulled_to_the_record(rows, law, source):
    """Noise turned to where the record is, in every tenth row."""
    steps = SAMPLER(law, len(rows), source)
    steps[::10] *= np.where((steps * rows).sum(axis=1) < 0, -1, 1)[::10, None]
    return (GRID(rows, law) + steps) * law.grid


@pytest.mark.parametrize("fault", [scaled_by_the_record, pulled_to_the_record])
def test_noise_that_depends_on_the_record_is_seen(monkeypatch, fault):
    plant(monkeypatch, "noised", fault)
    problems = noise_audit(LAPLACE, records(22)).problems
    assert any("the noise does not go with the record" in problem for problem in problems)
    assert any("the same seed gives every record" in problem for problem in problems)


def fixed_subspace(d, r, source):
    return SUBSPACE(d, r, SeededEntropy(seeded(0)))


def some_coordinates(d, r, source):
    return math.sqrt(d / r) * np.eye(d)[:, entropy.permutation(source, d)[:r]]


def uneven_subspace(d, r, source):
    """A Gaussian matrix that was not made orthonormal."""
    return entropy.normals(source, d * r).reshape(d, r) / math.sqrt(r)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (fixed_subspace, "a map of its own"),
        (some_coordinates, "Haar"),
        (uneven_subspace, "a map keeps lengths"),
        (lambda d, r, source: 2 * SUBSPACE(d, r, source), "a map keeps lengths"),
    ],
    ids=["fixed", "coordinates", "Gaussian", "scaled"],
)
def test_a_wrong_subspace_is_seen(monkeypatch, fault, said):
    plant(monkeypatch, "subspace_projection", fault)
    found = noise_audit(IN_SUBSPACE, records(22))
    assert any(said in problem for problem in found.problems), str(found)


def a_fixed_stream(self, count):
    return np.random.default_rng(0).integers(2**64, size=count, dtype=np.uint64)


def a_stream_of_this_process():
    stream = np.random.default_rng()
    return lambda self, count: stream.integers(2**64, size=count, dtype=np.uint64)


@pytest.mark.parametrize(
    "mechanism", [LAPLACE, IN_SUBSPACE, ROTATED], ids=["plain", "subspace", "rotated"]
)
def test_a_fixed_stream_for_the_systems_entropy_is_seen(monkeypatch, mechanism):
    monkeypatch.setattr(OSEntropy, "words", a_fixed_stream)
    problems = noise_audit(mechanism, records(5)).problems
    assert any("two releases by the system's entropy" in problem for problem in problems)


def test_a_stream_that_forked_copies_share_is_seen(monkeypatch):
    monkeypatch.setattr(OSEntropy, "words", a_stream_of_this_process())
    for found in (noise_audit(LAPLACE, records(5)), answers_audit(OUTCOMES)):
        assert found.problems == (
            "it is not so that two copies of this process draw noise of their own",
        )


# --- faults of the claim ---


def test_epsilon_that_is_linear_in_the_distance_is_seen_for_gaussian_noise(monkeypatch):
    honest = guarantee_audit(GAUSSIAN.guarantee(300, 22))
    monkeypatch.setattr(PrivacyGuarantee, "at", lambda self, distance: distance * self.epsilon)
    assert guarantee_audit(LAPLACE.guarantee(300, 22)).problems == ()  # there it is true
    mutant = guarantee_audit(GAUSSIAN.guarantee(300, 22))
    assert [problem.split(" units")[0].split()[-1] for problem in mutant.problems] == ["2", "5", "10"]
    assert honest.problems == ()


@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN, IN_SUBSPACE, ROTATED])
def test_an_epsilon_for_half_a_unit_is_seen(mechanism):
    guarantee = mechanism.guarantee(300, 22)
    assert guarantee_audit(guarantee).problems == ()
    half = replace(guarantee, law=replace(guarantee.law, scale=guarantee.law.scale / 2))
    assert any(
        "the stated epsilon is that at one unit" in each for each in guarantee_audit(half).problems
    )


@pytest.mark.parametrize("noise_kind", ["laplace", "gaussian"])
def test_a_forgotten_stretch_of_the_subspace_is_seen(noise_kind):
    guarantee = NoisyProjection(3.0, 1e-5, 4, noise=noise_kind).guarantee(300, 22)
    assert guarantee_audit(guarantee).problems == ()
    forgotten = noise.calibrate(noise_kind, 3.0, 1e-5, dim=4, features=4)
    found = guarantee_audit(replace(guarantee, law=forgotten))
    assert any("epsilon at 1 units covers" in problem for problem in found.problems)


# --- faults before the noise ---


def no_clipping(self, rows):
    return (rows - self._centre) / self._unit


def finer_unit(self, rows):
    inside = torch.minimum(torch.maximum(rows, self._lower), self._upper)
    return (inside - self._centre) / self._unit / 2


class Unclipped(Curator):
    """Widens the declared ranges to those of the table."""

    def __init__(self, records, scaling, mechanism, objective, **rest):
        wide = PublicScaling.__new__(PublicScaling)
        wide.__dict__.update(scaling.__dict__)
        wide._lower, wide._upper = records.amin(dim=0), records.amax(dim=0)
        super().__init__(records, wide, mechanism, objective, **rest)


@pytest.mark.parametrize(
    "mechanism", [LAPLACE, IN_SUBSPACE, ROTATED], ids=["plain", "subspace", "rotated"]
)
def test_clipping_is_in_force(monkeypatch, mechanism):
    assert clipping_audit(SCALING, mechanism).problems == ()
    (only,) = clipping_audit(SCALING, mechanism, curator=Unclipped).problems
    assert "a curator releases values outside their range as the nearest end" in only
    monkeypatch.setattr(PublicScaling, "scale_tensor", no_clipping)
    found = clipping_audit(SCALING, mechanism).problems
    assert any("moved to its nearest end" in problem for problem in found)
    assert any("in the ball" in problem for problem in found)


def test_a_unit_that_is_not_the_stated_one_is_seen(monkeypatch):
    monkeypatch.setattr(PublicScaling, "scale_tensor", finer_unit)
    problems = clipping_audit(SCALING, LAPLACE).problems
    assert any("a step of one stated unit is one unit long: 0.5" in problem for problem in problems)


@pytest.mark.parametrize("order", [lambda _, n: np.arange(n), lambda _, n: np.arange(n)[::-1].copy()])
def test_an_order_that_is_no_secret_is_seen(monkeypatch, order):
    plant(monkeypatch, "permutation", order)
    problems = clipping_audit(SCALING, LAPLACE).problems
    assert any("two releases have orders of their own" in problem for problem in problems)


# --- faults of the answers ---


def answer_without_clipping(outcomes, grid_noise, *, low, high, grid):
    shares = (outcomes - low) / (high - low)
    return low + (high - low) * grid * (np.rint(shares / grid) + grid_noise)


def half_the_width(outcomes, grid_noise, *, low, high, grid):
    return outcome_grid.noised_answer(outcomes, np.rint(grid_noise / 2), low=low, high=high, grid=grid)


class Forgetful(Curator):
    """Draws the noise on an outcome anew at each query."""

    def query(self, index):
        noised = self._answers.noised
        noised.grid_noise = noised.mechanism.draw_grid_noise(len(noised.grid_noise))
        self._answers._values.clear()
        return super().query(index)


class Shared(Curator):
    """Every two records have the same noise on their outcomes."""

    def __init__(self, *given, **rest):
        super().__init__(*given, **rest)
        grid_noise = self._answers.noised.grid_noise
        grid_noise[1::2] = grid_noise[::2]


def test_honest_answers_pass():
    gaussian = OutcomeMechanism(1.0, 1e-6, (-5.0, 300.0), noise="gaussian")
    for mechanism in (OUTCOMES, gaussian):
        found = answers_audit(mechanism)
        assert found.problems == ()
        assert "too narrow or too wide" in str(found)


@pytest.mark.parametrize(
    ("fault", "said"),
    [(answer_without_clipping, "outcomes outside their range"), (half_the_width, "as wide as claimed")],
)
def test_wrong_answers_are_seen(monkeypatch, fault, said):
    module = sys.modules[NoisedAnswers.__module__]
    monkeypatch.setattr(module, "noised_answer", fault)
    found = answers_audit(OUTCOMES)
    assert any(said in problem for problem in found.problems), str(found)


def test_narrow_noise_on_answers_is_seen(monkeypatch):
    plant(monkeypatch, "sample_on_grid", narrower(0.95))
    assert any("as wide as claimed" in problem for problem in answers_audit(OUTCOMES).problems)


@pytest.mark.parametrize(
    ("curator", "said"), [(Forgetful, "gets the same answer"), (Shared, "no two rows")]
)
def test_noise_on_answers_that_is_drawn_again_or_shared_is_seen(monkeypatch, curator, said):
    monkeypatch.setattr("botorch_private.audit.outcome_answers._RECORDS", 2_000)
    found = answers_audit(OUTCOMES, curator=curator)
    assert any(said in problem for problem in found.problems), str(found)


# --- an audit that counts trials looks first whether they are independent ---


@pytest.mark.parametrize("fault", [every_other_row_again, one_radius_a_block, second_block_again()])
def test_no_bound_is_certified_from_rows_that_share_noise(monkeypatch, fault):
    table = torch.zeros(20_000, 22, dtype=torch.float64)
    moved = table[:2].clone()
    moved[0, 0] = 1.0

    def bounds():
        return (
            empirical_epsilon(LAPLACE, table[:2], moved, 20_000, generator=seeded(1)),
            one_run_audit(LAPLACE, table, table + 0.5, generator=seeded(2)),
        )

    for result in bounds():
        assert result.problems == ()
        assert not result.refuted
        assert 0.1 * result.claimed < result.honest < result.claimed
    plant(monkeypatch, "sample_on_grid", fault)
    several, one = bounds()
    assert several.refuted
    assert several.lower_bound == 0.0
    assert "no two rows" in str(several)
    assert one.refuted
