r"""What noise of density ``exp(-|z| / scale)`` costs at an epsilon and a delta: a certified upper bound.

The l2 mechanism (Joseph, Kulesza & Yu 2025, arXiv 2502.15929) draws the noise of l2 Laplace, and pays
for it by an epsilon *and* a delta. Its privacy loss is never above ``m``, the shift over the scale:
that is the pure bound. In many dimensions the loss is far smaller, but for a chance of delta. So in few
dimensions it is l2 Laplace, in many it is as good as a Gaussian, and between it is better than both.

*The loss.* Let lengths be in units of the scale, and ``e`` the direction of the shift. Under the noise
``z`` of one record the loss is ``L = |z - m e| - |z|``. For a fixed ``z``, ``L`` is convex in ``m``, and
0 at ``m = 0``: where it is above ``epsilon >= 0`` it rises with ``m``. So
``delta = E (1 - e^(epsilon - L))_+`` rises with the distance, and the largest distance is the worst
case. By reflection the loss has the same law in both directions.

*Spheres.* ``|z| = r`` has the law ``Gamma(k)``, and ``c = cos(angle)`` that of a uniform direction:
``(1 + c) / 2`` is ``Beta((k-1)/2, (k-1)/2)``, with distribution function ``F``. ``L > epsilon`` holds on
a spherical cap, and so it does under the noise of the other record, around its own centre:

``delta = E h(r)``, ``h(r) = F(x1) - e^epsilon F(x2)``,
``x1 = (m - epsilon) (m + epsilon + 2 r) / (4 m r)``,
``x2 = (m - epsilon) (2 r - m - epsilon) / (4 m r)``,

cut to [0, 1]. ``x1`` falls where ``r`` grows, and ``x2`` rises, so that ``h`` falls.

*Shells.* Radii are cut into shells, and ``h`` is taken at the inner end of each: the sum is a bound of
delta, whatever the shells are. It exceeds delta by at most the sum of the drops of ``h``, each times the
mass of its shell: shells are cut where that is most. Both caps are taken at the same radius, so that
little is lost where they nearly cancel.

*Arithmetic.* SciPy's incomplete beta and gamma functions are taken to be right to `_FLOAT`, which the
tests hold against mpmath, and all terms are moved up by it. Nothing is below 1e-300 where delta is
above 1e-16; where ``e^epsilon`` would overflow the second cap is left out, which only adds.

A random projection makes ``m`` random: delta is then a mean over it, and values are rounded up to
the largest of their bin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import root_scalar
from scipy.special import betainc, gammainc, gammaincc, gammainccinv, gammaincinv

from botorch_private._base.floating_point import quiet_arithmetic

LARGEST_L2_DIM = 100_000
"""Dimensions up to which the functions of SciPy were tested. Beyond them noise costs its pure bound."""
_FLOAT, _FLOAT_PER_DIM = 1e-11, 1e-14
_LARGEST_EXPONENT = 600.0  # e^epsilon times a chance above 1e-300 is a number
_LOW, _HIGH = 1e-24, 1e-40  # chances of radii outside of all shells but the first and the last
_COARSE, _MIDDLE, _FINE, _FINEST = 96, 256, 1024, 4096  # shells
_FEW_DIMS = 5  # in which caps nearly cancel, and are fast to compute
_FEW_SHELLS = 256  # where the shift is random as well
_SHELLS_OF_LOSSES = 512
_FEW_BINS, _BINS = 24, 48
_ROUGH, _NEAR, _TOLERANCE = 1e-2, 0.02, 1e-7
_TRIES = 8  # far out a first guess may be poor
_STEPS = (0.0, *(_TOLERANCE * 4**step for step in range(16)))  # away from a root, until it keeps delta


class Shifts(NamedTuple):
    """A discrete law of shift over scale.

    Args:
        values: Its values, > 0, rising.
        weights: Their probabilities.
    """

    values: np.ndarray
    weights: np.ndarray

    @classmethod
    def known(cls, shift: float) -> Shifts:
        """One value, with certainty."""
        return cls(np.array([shift]), np.ones(1))

    def times(self, factor: float) -> Shifts:
        """The law of so many times the shift."""
        return Shifts(self.values * factor, self.weights)


class _Cut(NamedTuple):
    """Where radii, and the values of a random shift, are cut."""

    radii: np.ndarray  # inner ends of the shells, rising from 0; the last one has no outer end
    masses: np.ndarray
    errors: np.ndarray  # of the masses
    bins: np.ndarray  # the last value of each bin, rising


@quiet_arithmetic
def l2_delta(epsilon: float, shifts: Shifts, dim: int) -> float:
    """An upper bound of delta at ``epsilon``.

    Args:
        epsilon: Privacy parameter, >= 0.
        shifts: Law of shift over scale.
        dim: Coordinates of the noise, >= 1.

    Returns:
        A bound in [0, 1].
    """
    return _bound(epsilon, shifts, dim, _cut(epsilon, shifts, dim))


@quiet_arithmetic
def l2_epsilon(delta: float, shifts: Shifts, dim: int) -> float:
    """An epsilon that the noise keeps at ``delta``: the smallest one, but for what the shells lose.

    Args:
        delta: Privacy parameter in (0, 1).
        shifts: Law of shift over scale.
        dim: Coordinates of the noise, >= 1.

    Returns:
        epsilon >= 0, at most the pure bound, which is the largest shift.
    """
    pure = float(shifts.values[-1])
    if dim > LARGEST_L2_DIM:
        return pure

    def excess(epsilon: float, cut: _Cut) -> float:
        return _log_ratio(_bound(epsilon, shifts, dim, cut), delta)

    guess = _root(partial(excess, cut=_coarse_cut(pure, shifts, dim)), 0.0, pure, _ROUGH)
    best = pure
    for tried in range(_TRIES):
        near = cache(partial(excess, cut=_cut(guess, shifts, dim, rough=not tried)))
        root = _root_near(near, guess, 0.0, pure)
        kept = (root * (1 + step) for step in _STEPS)
        best = min(best, next((x for x in kept if x < pure and near(x) <= 0), pure))
        if tried and abs(root - guess) <= _NEAR * guess:
            break
        guess = root
    return best


@quiet_arithmetic
def l2_scale(epsilon: float, delta: float, dim: int, sensitivity: Shifts) -> float:
    """A scale at which the noise keeps ``(epsilon, delta)``: the smallest, but for what the shells lose.

    Args:
        epsilon: Privacy parameter, > 0.
        delta: Privacy parameter in (0, 1).
        dim: Coordinates of the noise, >= 1.
        sensitivity: Law of the shift itself.

    Returns:
        The scale, in units of ``sensitivity``: at most that of a pure guarantee.
    """
    largest = float(sensitivity.values[-1])
    pure = epsilon / largest  # all of it in terms of 1 / scale
    if dim > LARGEST_L2_DIM:
        return 1 / pure

    def excess(inverse: float, cut: _Cut) -> float:
        return -_log_ratio(_bound(epsilon, sensitivity.times(inverse), dim, cut), delta)

    rough = partial(excess, cut=_coarse_cut(epsilon, sensitivity, dim))
    high = 1.5 * pure
    while rough(high) > 0:
        high *= 1.5
    guess = _root(rough, pure, high, _ROUGH)
    best = pure
    for tried in range(_TRIES):
        near = cache(partial(excess, cut=_cut(epsilon, sensitivity.times(guess), dim, rough=not tried)))
        root = _root_near(near, guess, pure, math.inf)
        kept = (root * (1 - step) for step in _STEPS)
        best = max(best, next((x for x in kept if x > pure and near(x) >= 0), pure))
        if tried and abs(root - guess) <= _NEAR * guess:
            break
        guess = root
    return 1 / best


@lru_cache(maxsize=32)
@quiet_arithmetic
def l2_losses(shift: float, dim: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """A law of the privacy loss that is never below the loss of the noise, in distribution.

    Where ``L <= L'`` in distribution, ``E (1 - e^(epsilon - L))_+`` rises, and so it does for sums of
    independent losses: the law may be composed with any other.

    Args:
        shift: Shift over scale, > 0.
        dim: Coordinates of the noise, 1..`LARGEST_L2_DIM`.
        steps: How many losses there are, each rounded up to the next.

    Returns:
        Losses, rising to ``shift``, and their probabilities.
    """
    losses = np.linspace(-shift, shift, steps + 1)
    if dim == 1:  # L = m - 2 z, cut to [-m, m]
        beyond = 1 - np.exp((losses - shift) / 2) / 2
    else:
        cut = _coarse_cut(shift, Shifts.known(shift), dim)
        cut = _of_radii(_divided(cut.radii, np.sqrt(cut.masses), _SHELLS_OF_LOSSES), dim, cut.bins)
        chances = (_first_cap(each, np.array([[shift]]), cut.radii, dim) for each in losses)
        beyond = np.array([float(each[0] @ (cut.masses + cut.errors)) for each in chances])
    beyond[0], beyond[-1] = 1.0, 0.0  # what is as large as it can be is in the last step
    beyond = np.maximum.accumulate(np.minimum(beyond, 1.0)[::-1])[::-1]
    return losses[1:], -np.diff(beyond)


def _bound(epsilon: float, shifts: Shifts, dim: int, cut: _Cut) -> float:
    """The bound of delta by these shells and bins."""
    values, weights = _binned(shifts, cut.bins)
    if dim == 1:  # E (1 - e^(epsilon - L))_+ of Laplace noise, by hand
        return float(weights @ -np.expm1(np.minimum(epsilon - values, 0.0) / 2)) * (1 + _FLOAT)
    share = _heights(epsilon, values[:, None], dim, cut.radii)
    terms = share @ cut.masses + np.abs(share) @ cut.errors
    return min(1.0, max(0.0, float(weights @ terms)))


def _heights(epsilon: float, shift: np.ndarray, dim: int, radii: np.ndarray) -> np.ndarray:
    """``h`` at radii, rounded up, ``K x N`` for ``K x 1`` shifts."""
    height = _first_cap(epsilon, shift, radii, dim)
    if epsilon > _LARGEST_EXPONENT:
        return height
    x2 = np.maximum(shift - epsilon, 0.0) * (2 * radii - shift - epsilon) / (4 * shift * radii)
    x2 = np.where(shift > epsilon, x2, 0.0)  # also at radius 0
    second = _sphere_share(x2, dim) * (1 - _float_error(dim))
    return height - np.exp(epsilon + np.log(second))


def _first_cap(epsilon: float, shift: np.ndarray, radii: np.ndarray, dim: int) -> np.ndarray:
    """Chance at radii that the loss is above an epsilon of any sign, rounded up."""
    x1 = np.maximum(shift - epsilon, 0.0) * (shift + epsilon + 2 * radii) / (4 * shift * radii)
    return np.minimum(_sphere_share(x1, dim) * (1 + _float_error(dim)), 1.0)


def _sphere_share(x: np.ndarray, dim: int) -> np.ndarray:
    """``F``: share of a sphere on which ``(1 + cos) / 2 <= x``."""
    half = (dim - 1) / 2
    inside = np.where(np.isnan(x), 1.0, np.clip(x, 0.0, 1.0))  # at radius 0
    return betainc(half, half, inside)


def _float_error(dim: int) -> float:
    return _FLOAT + _FLOAT_PER_DIM * dim


def _cut(epsilon: float, shifts: Shifts, dim: int, *, rough: bool = False) -> _Cut:
    """Shells and bins that lose little at ``epsilon``; rough: fewer, to find where to look."""
    cut = _coarse_cut(epsilon, shifts, dim)
    if dim == 1:
        return cut
    random = len(shifts.values) > 1
    values, weights = _binned(shifts, cut.bins)
    finest = _FEW_SHELLS if random else _FINE if dim > _FEW_DIMS else _FINEST
    counts = (_MIDDLE // 2, finest) if random else (_MIDDLE, finest)
    for count in counts[:1] if rough else counts:
        height = _heights(epsilon, values[:, None], dim, cut.radii)
        drop = weights @ np.maximum(height - np.append(height[:, 1:], height[:, -1:], axis=1), 0.0)
        radii = _divided(cut.radii, np.sqrt(drop * cut.masses), count)
        cut = _of_radii(radii, dim, cut.bins)
    if random:
        rise = np.diff(_heights(epsilon, values[:, None], dim, cut.radii) @ cut.masses, prepend=0.0)
        cost = np.sqrt(np.maximum(rise, 0.0) * weights)
        starts = np.concatenate([[-1], cut.bins]).astype(np.float64)
        ends = np.unique(_divided(starts, np.append(cost, 0.0), _BINS).astype(np.int64))
        cut = cut._replace(bins=ends[ends >= 0])
    return cut


def _coarse_cut(epsilon: float, shifts: Shifts, dim: int) -> _Cut:
    low, middle, high = (
        float(gammaincinv(dim, _LOW)),
        float(gammaincinv(dim, 0.5)),
        float(gammainccinv(dim, _HIGH)),
    )
    few = _COARSE // 3
    far = high + min(epsilon, _LARGEST_EXPONENT)
    radii = np.concatenate(
        [
            [0.0],
            np.geomspace(low, middle, few, endpoint=False),
            np.linspace(middle, high, few, endpoint=False),
            np.linspace(high, far, few),
        ]
    )
    last = len(shifts.values) - 1
    bins = np.unique(np.linspace(0, last, min(_FEW_BINS, last + 1)).astype(np.int64))
    bins[-1] = last
    return _of_radii(np.unique(radii), dim, bins)


def _of_radii(radii: np.ndarray, dim: int, bins: np.ndarray) -> _Cut:
    below, above = gammainc(dim, radii), gammaincc(dim, radii)
    inner = radii < dim
    masses = np.append(np.where(inner[1:], np.diff(below), -np.diff(above)), above[-1])
    ends = np.where(inner, below, above)
    errors = _float_error(dim) * (ends + np.append(ends[1:], 0.0)) + 1e-300
    return _Cut(radii, np.maximum(masses, 0.0), errors, bins)


def _divided(starts: np.ndarray, costs: np.ndarray, count: int) -> np.ndarray:
    """Cut each interval into so many equal ones as its cost asks for; the last one has no end.

    A cost that falls in proportion to the number of pieces is least in all where they are shared out
    by its root.
    """
    total = costs[:-1].sum()
    if not total > 0:
        return starts
    pieces = np.ceil(count * costs[:-1] / total).astype(np.int64).clip(1)
    widths = np.repeat(np.diff(starts) / pieces, pieces)
    places = np.arange(len(widths)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    return np.append(np.repeat(starts[:-1], pieces) + places * widths, starts[-1])


def _binned(shifts: Shifts, bins: np.ndarray) -> Shifts:
    """A law with fewer values, rounded up."""
    if len(shifts.values) == 1:
        return shifts
    starts = np.append(0, bins[:-1] + 1)
    return Shifts(shifts.values[bins], np.add.reduceat(shifts.weights, starts))


def _log_ratio(bound: float, delta: float) -> float:
    return math.log(max(bound, 1e-300) / delta)


def _root_near(excess: Callable[[float], float], guess: float, least: float, most: float) -> float:
    """Where a falling excess is 0 between ``least`` and ``most``; fast if that is close to a guess."""
    low, high = max(least, guess * (1 - _NEAR)), min(most, guess * (1 + _NEAR))
    while low > least and excess(low) <= 0:
        low = max(least, low / 2) if low > 1e-12 * guess else least
    while high < most and excess(high) > 0:
        high = min(2 * high, most)
    return _root(excess, low, high, _TOLERANCE)


def _root(excess: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Where a falling excess is 0, or the end of the interval that is next to it."""
    if excess(low) <= 0:
        return low
    if excess(high) > 0:
        return high
    root = root_scalar(excess, bracket=(low, high), method="brentq", rtol=tolerance, xtol=1e-300)
    return float(root.root)
