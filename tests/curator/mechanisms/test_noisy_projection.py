"""NoisyProjection: on the grid, once per record, and only the changed record's row changes."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private import NoisyProjection, PrivacyGuarantee, SpectralProjection
from botorch_private.curator.mechanisms import noise as noise_on_grid
from botorch_private.curator.mechanisms import noisy_projection
from botorch_private.curator.mechanisms.entropy import SeededEntropy
from botorch_private.curator.mechanisms.noise import on_grid
from botorch_private.curator.mechanisms.projection import haar_frame, isometry, subspace_projection
from botorch_private.privacy.noise_law import DELTA_FP, GRID


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def ball(n, d, seed=0, radius=25.0):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d))
    rows *= radius * rng.uniform(size=(n, 1)) / np.linalg.norm(rows, axis=1)[:, None]
    return torch.from_numpy(rows)


MECHANISMS = [
    NoisyProjection(1.0),
    NoisyProjection(3.0, 1e-5, noise="gaussian"),
    NoisyProjection(1.0, projection_dim=9),
    NoisyProjection(1.0, 1e-5, projection_dim=2),
    NoisyProjection(1.0, projection_dim=2, noise="laplace"),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_releases_one_row_a_record_of_the_stated_width(mechanism):
    rows = mechanism.apply(ball(50, 4))
    assert rows.dtype == torch.float64
    assert rows.shape == (50, mechanism.guarantee(50, 4).projection_dim)
    assert torch.isfinite(rows).all()


@pytest.mark.parametrize("d", [1, 2, 5])
def test_isometry_keeps_every_distance(d):
    frame = isometry(d, 7, SeededEntropy(generator()))
    np.testing.assert_allclose(frame @ frame.T, np.eye(d), atol=1e-13)


def test_subspace_projection_stretches_by_at_most_its_sensitivity_and_keeps_squares_on_average():
    source = SeededEntropy(generator())
    lengths = []
    for _ in range(3000):
        matrix = subspace_projection(6, 2, source)
        assert np.linalg.norm(matrix, 2) == pytest.approx(math.sqrt(3), rel=1e-12)
        lengths.append((matrix[0] ** 2).sum())
    # 3,000 draws; the width is 4 standard errors.
    assert np.mean(lengths) == pytest.approx(1, abs=4 * np.std(lengths) / math.sqrt(3000))


def test_frames_are_haar_so_that_no_direction_is_preferred():
    source = SeededEntropy(generator(3))
    frames = np.array([haar_frame(3, 2, source) for _ in range(4000)])
    # E[frame] = 0 (the sign fix matters) and E[first column first column^T] = I / 3.
    assert np.abs(frames.mean(axis=0)).max() < 4 / math.sqrt(3 * 4000)
    second = np.einsum("ni,nj->ij", frames[:, :, 0], frames[:, :, 0]) / 4000
    assert np.abs(second - np.eye(3) / 3).max() < 4 * 0.35 / math.sqrt(4000)


class Recorder:
    """Replays a mechanism with frozen randomness and records what the noise is added to."""

    def __init__(self, monkeypatch):
        self.before = []
        original = noise_on_grid.sample_on_grid

        def spy(law, count, entropy):
            self.law = law
            return original(law, count, entropy)

        def on_grid_spy(rows, law):
            steps = on_grid(rows, law)
            self.before.append(steps.copy())
            return steps

        monkeypatch.setattr(noise_on_grid, "sample_on_grid", spy)
        monkeypatch.setattr(noise_on_grid, "on_grid", on_grid_spy)

    def replay(self, mechanism, scaled):
        self.before.clear()
        rows = mechanism.apply(scaled, generator=generator(11))
        return np.concatenate(self.before), rows


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@settings(derandomize=True, max_examples=25, deadline=None)
@given(
    kind=st.sampled_from(["plain", "extreme", "duplicates", "constant column", "tiny move"]),
    row=st.integers(0, 11),
    seed=st.integers(0, 1000),
)
def test_grey_box_replay_only_the_changed_row_differs_and_by_at_most_the_sensitivity(
    mechanism, kind, row, seed
):
    rng = np.random.default_rng(seed)
    scaled = ball(12, 4, seed)
    if kind == "extreme":
        scaled[row] *= 25 / scaled[row].norm()  # the record that a norm from the data would depend on
    if kind == "duplicates":
        scaled[:6] = scaled[0].clone()
    if kind == "constant column":
        scaled[:, 2] = 3.0
    move = rng.standard_normal(4)
    move *= (1e-6 if kind == "tiny move" else 1.0) / np.linalg.norm(move)
    neighbour = scaled.clone()
    neighbour[row] += torch.from_numpy(move)
    with pytest.MonkeyPatch.context() as monkeypatch:
        recorder = Recorder(monkeypatch)
        before, released = recorder.replay(mechanism, scaled)
        before_too, released_too = recorder.replay(mechanism, neighbour)
    law = recorder.law
    others = np.arange(12) != row
    assert (before[others] == before_too[others]).all()
    assert torch.equal(released[others], released_too[others])
    distance = float((neighbour[row] - scaled[row]).norm())
    change = np.linalg.norm((before[row] - before_too[row]) * law.grid)
    assert change <= distance * law.sensitivity + law.rounding


def test_a_projection_that_depended_on_the_data_would_be_caught_by_the_replay():
    # The replay's own mutant: scale by the largest norm in the table, as the paper does.
    scaled = ball(12, 4)
    neighbour = scaled.clone()
    longest = int(scaled.norm(dim=1).argmax())
    neighbour[longest] *= 1 - 1 / float(scaled[longest].norm())
    rows = [
        NoisyProjection(1.0).apply(25 * table / table.norm(dim=1).max(), generator=generator())
        for table in (scaled, neighbour)
    ]
    assert int((rows[0] != rows[1]).any(dim=1).sum()) > 1


def test_chunks_change_nothing(monkeypatch):
    # With one chunk or many, the same words give rows of the same law; here: the same projection.
    scaled = ball(100, 4)
    monkeypatch.setattr(noisy_projection, "_CHUNK_ENTRIES", 28)
    rows = NoisyProjection(1e6).apply(scaled)  # hardly any noise
    assert float((rows - scaled).norm(dim=1).max()) < 4 * GRID


@pytest.mark.parametrize("d", [2, 22])
def test_noise_variance_is_that_of_the_released_rows(d):
    mechanism = NoisyProjection(2.0, 1e-5)
    scaled = ball(30_000, d)
    noise = mechanism.apply(scaled, generator=generator()) - scaled
    assert float(noise.var()) == pytest.approx(mechanism.noise_variance(d), rel=0.03)
    assert mechanism.noise_dim(d) == d
    assert NoisyProjection(2.0, 1e-5, projection_dim=3).noise_dim(22) == 3
    assert NoisyProjection(2.0, projection_dim=50).noise_dim(22) == 22


@pytest.mark.parametrize(
    ("arguments", "delta", "kind"),
    [
        ({"epsilon": 1.0}, DELTA_FP, "laplace"),
        ({"epsilon": 1.0, "delta": 1e-5}, 1e-5, "l2"),
        ({"epsilon": 1.0, "delta": 1e-5, "noise": "gaussian"}, 1e-5, "gaussian"),
        ({"epsilon": 1.0, "delta": 1e-3, "projection_dim": 8}, 1e-3, "l2"),
        ({"epsilon": 1.0, "projection_dim": 2, "noise": "laplace"}, DELTA_FP, "laplace"),
    ],
)
def test_guarantee_is_known_before_any_data_and_holds(arguments, delta, kind):
    guarantee = NoisyProjection(**arguments).guarantee(n=100, d=10)
    assert guarantee.holds
    assert guarantee.epsilon == 1.0
    assert guarantee.delta == delta
    assert guarantee.delta_fp == DELTA_FP
    assert guarantee.law.kind == kind
    assert guarantee.law.epsilon(1.0, guarantee.delta) <= 1.0
    assert guarantee.records == 100
    assert guarantee.features == 10


@pytest.mark.parametrize("delta", [0.0, DELTA_FP])
def test_a_subspace_without_delta_is_refused_unless_laplace_is_asked_for(delta):
    mechanism = NoisyProjection(1.0, delta, projection_dim=5)
    with pytest.raises(ValueError, match=r"delta must be > 0 for projection_dim=5 < d=10 .* 1.41 times"):
        mechanism.guarantee(n=100, d=10)
    with pytest.raises(ValueError, match="delta must be > 0 for projection_dim=5 < d=10"):
        mechanism.apply(ball(10, 10))
    assert mechanism.guarantee(n=100, d=5).holds


@pytest.mark.parametrize(("n", "d"), [(2, 1), (2, 5), (3, 40)])
def test_small_and_wide_tables_work(n, d):
    assert NoisyProjection(1.0).apply(ball(n, d)).shape == (n, d)


@pytest.mark.parametrize(
    "mechanism",
    [
        NoisyProjection(np.float32(3.0), np.float64(1e-5), np.int64(2)),
        SpectralProjection(np.float32(3.0), np.float64(1e-5), np.int64(2)),
    ],
)
def test_numpy_settings_make_a_guarantee_that_a_file_can_hold(mechanism):
    guarantee = mechanism.guarantee(np.int64(3), np.int64(4))
    assert type(guarantee)(**vars(guarantee)) == PrivacyGuarantee.from_json(guarantee.to_json())


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_no_two_records_share_noise_within_a_chunk_or_across_chunks(mechanism, monkeypatch):
    monkeypatch.setattr(noisy_projection, "_CHUNK_ENTRIES", 63)  # 7 to 15 records a chunk
    same = torch.ones(300, 4, dtype=torch.float64)
    rows = mechanism.apply(same, generator=generator(2))
    assert len(rows.unique(dim=0)) == 300
    noise = (rows - rows.mean(dim=0)).numpy()
    for lag in range(1, 31):  # beyond two chunks; the width is 5 standard errors
        correlation = (noise[lag:] * noise[:-lag]).sum(axis=1).mean() / (noise**2).sum(axis=1).mean()
        assert abs(correlation) < 5 / math.sqrt(300 - lag)
