"""registration_attack: what a modeler learns who knows no record, but where such records lie."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.spatial import KDTree
from scipy.stats import ortho_group

from botorch_private._base import validate
from botorch_private._base.floating_point import quiet_arithmetic
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private._base.progress import tqdm
from botorch_private.audit.reconstruction import Reconstruction
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.exchange.release import Release
from botorch_private.modeler.denoised_release import DenoisedRelease

MOST_FEATURES = 5
_ROWS_PER_FEATURE = 10
_ANGLES = 180
_RANDOM_ROTATIONS = 500
_SEARCHED_ROWS = 500  # of each cloud, where all starts are compared
_REFINED = 8
_ITERATIONS = 60
_TRIMMED = 0.1
_CONVERGED = 1e-6
_NO_SHAPE = (
    "they have no shape to be laid on records; what a label says of its record is bounded by "
    "guarantee.at, and response_audit tests it"
)
_LEAST_SHARE = 0.01  # of a direction's variance that noise is not held to explain


@quiet_arithmetic
@on_cpu_by_default
def registration_attack(
    release: Release, sample: Any, scaling: PublicScaling, *, seed: int = 0, progress: bool = True
) -> Reconstruction:
    """Rebuild all records from a public sample of the same population; no record is known.

    Released rows are an affine image of the records, plus noise. So the cloud of rows and the cloud of
    public records have the same shape, and laying one on the other tells where each row belongs:

    1. Centre and whiten both clouds; known noise is subtracted from the covariance of the rows. What
       is left of the affine map is a rotation or reflection.
    2. Try many: those that align the axes of the fourth moments (Tyler et al. 2009, Invariant
       co-ordinate selection), and a grid of angles in two dimensions or random ones in three.
    3. Refine the best by affine iterated closest points (Besl & McKay 1992; Feldmar & Ayache 1996),
       with matches both ways and the worst of them left out, and keep the one whose clouds are
       closest: mean distance to the nearest point of the other, both ways.

    Against noise the attack is left with the noise. Where that is wide, matching draws rows towards
    the sample, which is what a prior may do to any private release.

    Args:
        release: As the curator released it; at least as many columns as features (with fewer, no map
            leads back to records).
        sample: ``m x d`` raw records of the same population, ``d <= 5``. The fewer they are, and the
            rounder their cloud, the worse the fit.
        scaling: The declared ranges, which are public.
        seed: Of the attacker's random choices.
        progress: Whether to show a progress bar (on a terminal, after two seconds).

    Returns:
        The estimates. Their judged error is the known noise, together with how far apart the maps are
        that two halves of rows and sample give. A cloud that fits in a wrong position equally well
        (a symmetric one) can deceive both halves.

    Raises:
        ValueError: If features are too many, rows too few, or columns fewer than features, or if rows
            are labels of cells.
        TypeError: If the release is denoised.

    Example:
        >>> sample = torch.rand(200, 2, dtype=torch.float64)  # people like those in the table
        >>> found = audit.registration_attack(release, sample, scaling)
        >>> found.true_error(records[curator.permutation]).shape
        torch.Size([2])
    """
    if not isinstance(release, Release) or isinstance(release, DenoisedRelease):
        raise TypeError(f"release must be a Release as it came, got {type(release).__name__}")
    release.refuse_labels(_NO_SHAPE)
    validate.count(minimum=0, seed=seed)
    public = scaling.transform(sample).numpy()
    rows = _in_own_space(release, scaling.features)
    _enough(release=rows, sample=public)
    rng = np.random.default_rng(seed)
    halves = [np.array_split(rng.permutation(len(cloud)), 2) for cloud in (rows, public)]
    parts = [(rows, public), *((rows[i], public[j]) for i, j in zip(*halves, strict=True))]
    noise = float(release.noise_variance)  # pyright: ignore[reportArgumentType]
    with tqdm(desc="registering", delay=2, disable=None if progress else True) as bar:
        whole, one, other = (_register(from_, to, noise, rng, bar.update)(rows) for from_, to in parts)
    # Maps of halves have twice the variance of the whole's, and their difference four times.
    map_error = np.sqrt(np.square(one - other).mean(axis=0)) / 2
    error = scaling.unit * torch.from_numpy(np.hypot(np.sqrt(noise), map_error))
    return Reconstruction(scaling.inverse(torch.from_numpy(whole)), error)


@quiet_arithmetic
def guess(release: Release, sample: Any, *, seed: int = 0) -> Reconstruction:
    """Guess each record as a random one of the public sample: what an attack has to beat.

    Args:
        release: Whose rows are guessed.
        sample: ``m x d`` raw records of the same population, ``m >= 2``.
        seed: Of the guesses.

    Returns:
        The guesses; two independent records differ by the root of twice the sample's variance, which
        is the judged error.

    Example:
        >>> sample = torch.rand(200, 2, dtype=torch.float64)
        >>> audit.guess(release, sample).records.shape
        torch.Size([60, 2])
    """
    public = validate.matrix(sample=sample, minimum_rows=2)
    validate.count(minimum=0, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.randint(len(public), (len(release.candidates),), generator=generator)
    return Reconstruction(public[chosen], (2 * public.var(dim=0)).sqrt())


# --- two clouds in d dimensions ---


@dataclass(frozen=True)
class _Affine:
    """Rows ``x`` to ``x @ matrix + shift``."""

    matrix: np.ndarray  # d x d
    shift: np.ndarray  # d

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return rows @ self.matrix + self.shift

    def inverse(self) -> _Affine:
        matrix = np.linalg.inv(self.matrix)
        return _Affine(matrix, -self.shift @ matrix)


def _register(
    rows: np.ndarray, public: np.ndarray, noise: float, rng: np.random.Generator, tick: Callable[[], Any]
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the map that lays ``n x d`` rows on ``m x d`` public records."""
    from_rows, from_public = _whitening(rows, noise), _whitening(public, 0.0)
    A, B = from_rows(rows), from_public(public)
    few, others = (cloud[rng.permutation(len(cloud))[:_SEARCHED_ROWS]] for cloud in (A, B))
    tree = KDTree(others)
    ranked = []
    for rotation in _rotations(A, B, rng):
        ranked.append((_misfit(few @ rotation, others, tree), rotation))
        tick()
    ranked.sort(key=lambda entry: entry[0])
    tree, origin = KDTree(B), np.zeros(A.shape[1])
    refined = []
    for _, rotation in ranked[:_REFINED]:
        refined.append(_closest_points(A, B, tree, _Affine(rotation, origin)))
        tick()
    best = min(refined, key=lambda fit: _misfit(fit(A), B, tree))
    to_public = from_public.inverse()
    return lambda cloud: to_public(best(from_rows(cloud)))


def _whitening(cloud: np.ndarray, noise: float) -> _Affine:
    """Map to mean 0 and covariance 1, of what is left without noise of that variance."""
    centre = cloud.mean(axis=0)
    variances, axes = np.linalg.eigh(np.cov(cloud.T, bias=True).reshape(len(centre), -1))
    left = np.maximum(variances - noise, _LEAST_SHARE * variances)
    if not left[0] > 1e-12 * left[-1]:
        raise ValueError("release and sample must vary in all features, got a constant or dependent one")
    matrix = axes / np.sqrt(left) @ axes.T
    return _Affine(matrix, -centre @ matrix)


def _misfit(moved: np.ndarray, target: np.ndarray, tree: KDTree) -> float:
    """Mean distance to the nearest point of the other cloud, both ways."""
    there, back = _nearest(moved, tree)[0], _nearest(target, KDTree(moved))[0]
    return float(there.mean() + back.mean())


def _nearest(points: np.ndarray, tree: KDTree) -> tuple[np.ndarray, np.ndarray]:
    """Distance to the nearest point of the tree, and its row."""
    gap, row = tree.query(points)
    return np.asarray(gap), np.asarray(row)


def _closest_points(A: np.ndarray, B: np.ndarray, tree: KDTree, start: _Affine) -> _Affine:
    """Alternate nearest matches, both ways, and affine least squares on the best of them."""
    fit = start
    for _ in range(_ITERATIONS):
        moved = fit(A)
        there, nearest = _nearest(moved, tree)
        back, nearest_back = _nearest(B, KDTree(moved))
        kept, kept_back = (gap <= np.quantile(gap, 1 - _TRIMMED) for gap in (there, back))
        source = np.concatenate([A[kept], A[nearest_back[kept_back]]])
        target = np.concatenate([B[nearest[kept]], B[kept_back]])
        solved = np.linalg.lstsq(np.column_stack([source, np.ones(len(source))]), target, rcond=None)[0]
        last, fit = fit, _Affine(solved[:-1], solved[-1])
        if np.abs(fit.matrix - last.matrix).max() < _CONVERGED:
            break
    return fit


# --- where to start ---


def _rotations(A: np.ndarray, B: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Rotations and reflections worth a try, of whitened ``A`` onto whitened ``B``."""
    d = A.shape[1]
    own, other = _fourth_moment_axes(A), _fourth_moment_axes(B)
    found = [own * signs @ other.T for signs in itertools.product((1.0, -1.0), repeat=d)]
    if d == 2:
        for angle in np.linspace(0, 2 * np.pi, _ANGLES, endpoint=False):
            c, s = np.cos(angle), np.sin(angle)
            found += [np.array([[c, -s], [s, c]]), np.array([[c, s], [s, -c]])]
    if d == 3:
        found += list(ortho_group.rvs(3, size=_RANDOM_ROTATIONS, random_state=rng))
    return found


def _fourth_moment_axes(white: np.ndarray) -> np.ndarray:
    """Columns: eigenvectors of the covariance of a white cloud weighted by squared length."""
    weighted = white * np.square(white).sum(axis=1, keepdims=True)
    return np.linalg.eigh(weighted.T @ white / len(white))[1]


# --- at the door ---


def _in_own_space(release: Release, d: int) -> np.ndarray:
    """Released rows in the d-dimensional space in which they lie, ``n x d``."""
    rows = release.candidates
    if d > MOST_FEATURES:
        raise ValueError(f"scaling must have at most {MOST_FEATURES} features, got {d}")
    if rows.shape[1] < d:
        raise ValueError(f"release must have at least d={d} columns, got {rows.shape[1]}")
    centred = rows - rows.mean(dim=0)
    axes = torch.linalg.svd(centred, full_matrices=False)[2][:d]
    return (centred @ axes.mT).numpy()


def _enough(**clouds: np.ndarray) -> None:
    for name, cloud in clouds.items():
        needed = _ROWS_PER_FEATURE * (cloud.shape[1] + 1)
        if len(cloud) < needed:
            raise ValueError(f"{name} must have at least {needed} rows, got {len(cloud)}")
