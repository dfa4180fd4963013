"""Whether rows of noise follow the law that is claimed: lengths, directions, coordinates.

The claimed law is sampled anew, by NumPy's own generators, and rounded to the same grid: a reference
that shares no line with the sampler under test, and that a coarse grid cannot put at odds with it. The
noise of an honest mechanism and the reference are two samples of one law.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.stats import chi, gamma, ks_2samp, norm

from botorch_private.audit.findings import Check
from botorch_private.privacy.noise_law import NoiseLaw

_MOST_REFERENCE_ENTRIES = 2**22
_MOST_COMPARED = 2**17  # rows of each sample, where whole distributions are compared
_MOST_COORDINATES = 300  # of which every two are compared
_SURE = 0.999


def reference(law: NoiseLaw, count: int, rng: np.random.Generator) -> np.ndarray:
    """Sample the claimed law, ``count x law.dim``, on its grid."""
    rows = rng.standard_normal((count, law.dim))
    if law.exponential:
        rows *= (rng.gamma(law.dim, size=count) / np.linalg.norm(rows, axis=1))[:, None]
    return np.rint(rows * (law.scale / law.grid)) * law.grid


def lengths_of(rows: np.ndarray) -> np.ndarray:
    """Euclidean norm of each row."""
    return np.linalg.norm(rows, axis=1)


def unit_rows(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Direction of each row; a row of zeros, which a coarse grid allows, gets a random one."""
    zero = ~rows.any(axis=1)
    if zero.any():
        rows = rows.copy()
        rows[zero] = rng.standard_normal((int(zero.sum()), rows.shape[1]))
    return rows / lengths_of(rows)[:, None]


def visible_error(law: NoiseLaw, rows: int, level: float) -> float:
    """Relative error of the noise's scale that is seen with 99.9 % probability.

    The mean length of `rows` rows is compared with that of a reference, at a two-sided `level`. The
    variance of a length is ``k`` times the squared scale for l2 Laplace (Gamma), and that of the chi
    distribution for Gaussian noise.

    Args:
        law: The claimed law.
        rows: Rows of noise, >= 1.
        level: Of the one check, in (0, 1).
    """
    spread = law.dim**-0.5 if law.exponential else float(chi.std(law.dim) / chi.mean(law.dim))
    each = 1 / rows + 1 / _reference_rows(law, rows)
    return float(norm.isf(level / 2) + norm.ppf(_SURE)) * spread * each**0.5


def length_checks(lengths: np.ndarray, law: NoiseLaw, rng: np.random.Generator) -> Iterator[Check]:
    """Length over scale against Gamma(k) (l2 Laplace) or chi(k) (Gaussian).

    Args:
        lengths: Of rows of noise that are independent.
        law: The claimed law.
        rng: Of the reference.
    """
    honest = lengths_of(reference(law, _reference_rows(law, len(lengths)), rng))
    # Squared lengths are whole numbers of steps, also after a rotation, which adds a last digit.
    lengths, honest = (
        np.sqrt(np.rint(np.square(each / law.grid))) * law.grid for each in (lengths, honest)
    )
    spread = honest.std() * (1 / len(lengths) + 1 / len(honest)) ** 0.5
    z = (lengths.mean() - honest.mean()) / max(spread, np.finfo(float).tiny)
    ratio, margin = lengths.mean() / honest.mean(), spread / honest.mean()
    yield Check(
        "the noise is as wide as claimed",
        _two_sided(z),
        f"{ratio:.4g} times the claimed width",
        f"1 ± {margin:.1g}",
    )
    yield Check("the lengths of the noise have the claimed law", _same_law(lengths, honest, rng))
    # Rounding moves a length by at most half a diagonal of a cell.
    slack = law.dim**0.5 * law.grid / 2
    lasting = chi(law.dim, scale=law.scale)
    if law.exponential:
        lasting = gamma(law.dim, scale=law.scale)
    largest, count = lengths.max(), len(lengths)
    at_most = float(np.exp(count * lasting.logcdf(largest + slack)))
    at_least = min(1.0, count * float(lasting.sf(max(0.0, largest - slack))))
    yield Check("the tail of the noise is as long as claimed", min(1.0, 2 * min(at_most, at_least)))


def direction_checks(noise: np.ndarray, law: NoiseLaw, rng: np.random.Generator) -> Iterator[Check]:
    """Directions uniform on the sphere, coordinates alike, centred and uncorrelated.

    The squared cosine between a row and any fixed direction is Beta(1/2, (k-1)/2) if directions are
    uniform. One coordinate of each row, chosen at random, and one random direction are compared.

    Args:
        noise: ``m x k`` rows that are independent.
        law: The claimed law.
        rng: Of the reference and the choices.
    """
    k = law.dim
    own = unit_rows(noise, rng)
    honest_rows = reference(law, _reference_rows(law, len(noise)), rng)
    honest = unit_rows(honest_rows, rng)
    places = [rng.integers(k, size=len(each)) for each in (own, honest)]
    cosines = [each[np.arange(len(each)), at] for each, at in zip((own, honest), places, strict=True)]
    yield Check(
        "no coordinate is preferred by the noise's directions", _same_law(cosines[0], cosines[1], rng)
    )
    if k > 1:
        axis = rng.standard_normal(k)
        axis /= np.linalg.norm(axis)
        yield Check("directions of the noise are uniform", _same_law(own @ axis, honest @ axis, rng))
    spread = honest_rows.std() / len(noise) ** 0.5
    z = np.abs(noise.mean(axis=0)) / max(spread, np.finfo(float).tiny)
    yield Check("no coordinate of the noise is off centre", min(1.0, k * _two_sided(z.max())))
    sizes, honest_sizes = np.abs(noise), np.abs(honest_rows)
    spread = honest_sizes.std() * (1 / len(noise) + 1 / honest_sizes.size) ** 0.5
    z = np.abs(sizes.mean(axis=0) - honest_sizes.mean()) / max(spread, np.finfo(float).tiny)
    worst = int(z.argmax())
    yield Check(
        "each coordinate of the noise is as wide as claimed",
        min(1.0, k * _two_sided(z[worst])),
        f"{sizes[:, worst].mean() / honest_sizes.mean():.4g} times as wide in coordinate {worst}",
        f"1 ± {spread / honest_sizes.mean():.1g}",
    )
    if k > 1:
        some = own[:, rng.permutation(k)[:_MOST_COORDINATES]]
        # Of a uniform direction u, the mean of u_i u_j is 0 and its variance 1 / (k (k + 2)).
        z = np.abs(some.T @ some) * (k * (k + 2) / len(own)) ** 0.5
        np.fill_diagonal(z, 0.0)
        pairs = some.shape[1] * (some.shape[1] - 1) / 2
        yield Check("coordinates of the noise are uncorrelated", min(1.0, pairs * _two_sided(z.max())))


def _reference_rows(law: NoiseLaw, rows: int) -> int:
    return max(rows, min(4 * rows, _MOST_REFERENCE_ENTRIES // law.dim))


def _two_sided(z: float) -> float:
    return float(2 * norm.sf(abs(z)))


def _same_law(one: np.ndarray, other: np.ndarray, rng: np.random.Generator) -> float:
    """P-value of the Kolmogorov-Smirnov test for two samples; ties make it larger, never smaller."""
    first, second = (
        each if len(each) <= _MOST_COMPARED else rng.choice(each, _MOST_COMPARED, replace=False)
        for each in (one, other)
    )
    return float(ks_2samp(first, second, method="asymp").pvalue)  # pyright: ignore[reportAttributeAccessIssue]
