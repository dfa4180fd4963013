"""add_noise: what a mechanism of one's own draws its noise with."""

import numpy as np
import pytest
import torch
from scipy import stats

from botorch_private import NoiseLaw, NoisyProjection, add_noise
from botorch_private.privacy.noise_law import GRID


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_noise_on_whole_records_is_that_of_noisy_projection():
    scaled = torch.randn(50, 3, generator=seeded(1), dtype=torch.float64)
    mechanism = NoisyProjection(epsilon=2.0)
    rows = add_noise(scaled, mechanism.law(3), generator=seeded())
    assert torch.equal(rows, mechanism.apply(scaled, generator=seeded()))


@pytest.mark.parametrize(("kind", "law"), [("laplace", "laplace"), ("gaussian", "norm")])
def test_pieces_get_independent_noise_of_the_law_on_the_grid(kind, law):
    # 40,000 draws of each of 2 coordinates. Kolmogorov-Smirnov at 1e-4; correlation, of noise and of its
    # size, within 4 standard errors of 1 / sqrt(n).
    n, scale = 40_000, 0.7
    noise = NoiseLaw(kind, dim=1, scale=scale, features=1)
    rows = add_noise(torch.zeros(n, 2, dtype=torch.float64), noise, generator=seeded(2)).numpy()
    assert (rows / GRID == np.rint(rows / GRID)).all()
    for column in rows.T:
        assert stats.kstest(column, law, (0, scale)).pvalue > 1e-4
    for table in (rows, np.abs(rows)):
        assert abs(np.corrcoef(table.T)[0, 1]) < 4 / np.sqrt(n)


def test_records_stay_in_their_places_and_are_rounded_to_the_grid():
    scaled = torch.arange(12, dtype=torch.float64).reshape(3, 4) + 0.4 * GRID
    tiny = NoiseLaw("gaussian", dim=2, scale=GRID / 100, features=2)
    expected = torch.arange(12, dtype=torch.float64).reshape(3, 4)
    assert torch.equal(add_noise(scaled, tiny, generator=seeded()), expected)


def test_noise_is_fresh_unless_it_is_seeded():
    scaled, law = torch.zeros(20, 2, dtype=torch.float64), NoiseLaw("laplace", 2, 1.0, 2)
    assert not torch.equal(add_noise(scaled, law), add_noise(scaled, law))
    assert len(add_noise(scaled, law).unique(dim=0)) == 20


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="a dim that divides the 3 columns of scaled, got 2"):
        add_noise(torch.zeros(5, 3), NoiseLaw("laplace", 2, 1.0, 2))
    with pytest.raises(ValueError, match="map the records through PublicScaling first"):
        add_noise(torch.full((5, 2), 1e5), NoiseLaw("laplace", 2, 1.0, 2))
