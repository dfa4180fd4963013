"""guarantee_audit: whether epsilon at a distance is what the stated noise costs there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial

import numpy as np
from scipy.optimize import root_scalar
from scipy.special import expit
from scipy.stats import beta, gamma, norm

from botorch_private._base import validate
from botorch_private.audit.findings import Check, Findings
from botorch_private.privacy.adjacency import of_whole_records
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.noise_law import NoiseLaw
from botorch_private.privacy.response_law import WHOLE, ResponseLaw

_DISTANCES = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
_TOLERANCE = 1e-9  # relative
_LARGEST = 1e6  # epsilon that is looked for
_NODES, _LOG_TAIL = 8001, 80.0
_FEW_NODES = 81  # where delta is an integral itself
_TAILS, _LARGEST_EXPONENT = 60.0, 600.0  # of the length of noise, in logits of its quantiles
_QUADRATURE, _CANCELLED = 0.99, 1e-4  # how far off quadrature may be, also where chances cancel


def guarantee_audit(guarantee: PrivacyGuarantee, distances: Sequence[float] | None = None) -> Findings:
    """Hold `guarantee.at` against the stated law of noise, at several distances.

    What the noise costs at least is computed here once more, with SciPy alone and in another way
    than guarantees compute it: l2 Laplace noise by its largest privacy loss, ``D sqrt(d/r) / scale``;
    l2 noise by quadrature over the length of the noise, of the chances that the loss is above epsilon;
    Gaussian noise by its exact trade-off (Balle & Wang 2018, Theorem 8) at ``mu = D / std``; through a
    random subspace the average of that over ``mu^2 = (D / std)^2 (d/r) B``, ``B ~ Beta(r/2, (d-r)/2)``.
    Labels of cells cost the logarithm of the odds of the truth, at any distance.
    A claim below it is false, such as one that grows in proportion to the distance where the noise is
    Gaussian, one for half the distance, or one that forgets how much a subspace stretches.

    It takes the stated law for granted: `noise_audit` tests whether the noise has it, and
    `response_audit` whether labels do.

    Args:
        guarantee: Of a release, of answers, or of several together.
        distances: In units, > 0. None: 0.1 to 10, and the diameter of the ball where that is known.

    Returns:
        For each distance the claimed epsilon and the least one that is true.

    Raises:
        ValueError: If a distance is out of range.
        TypeError: If it is no guarantee.

    Example:
        >>> audit.guarantee_audit(mechanism.guarantee(n=2004, d=2)).problems
        ()
    """
    if not isinstance(guarantee, PrivacyGuarantee):
        raise TypeError(f"guarantee must be a PrivacyGuarantee, got {type(guarantee).__name__}")
    whole = of_whole_records(guarantee)  # the distance does not matter then
    if distances is None:
        radius = guarantee.radius
        distances = (1.0,) if whole else (*_DISTANCES, *([2 * radius] if radius else []))
    for i, distance in enumerate(distances):
        validate.positive(**{f"distances[{i}]": distance})
    parts = guarantee.parts or (guarantee,)
    noisy = [part for part in parts if part.law is not None]
    unseen = []
    if len(noisy) < len(parts):
        unseen.append("what a part without noise for each record costs")
    checks: list[Check] = []
    if noisy:
        checks += _distance_checks(guarantee, noisy, distances)
    kinds = {(part.law.kind, _subspace(part)) for part in noisy if part.law is not None}
    if len(kinds) > 1 or (len(noisy) > 1 and any(_subspace(part) for part in noisy)):
        unseen.append("what noises of different kinds cost together: each kind was looked at by itself")
    if not math.isinf(guarantee.epsilon):
        claimed = guarantee.at(1.0)
        checks.append(
            Check.exact(
                f"the stated epsilon is that {'of a whole record' if whole else 'at one unit'}",
                claimed <= guarantee.epsilon * (1 + _TOLERANCE),
                f"{guarantee.epsilon:.6g} is stated",
                f"{claimed:.6g}",
            )
        )
    where = f"at {', '.join(f'{d:g}' for d in distances)} units"
    sees = (f"an epsilon below the least that is true {'of a whole record' if whole else where}",)
    return Findings(tuple(checks), sees, tuple(unseen))


_L2_TAIL = 1e-4  # how far the quadrature may be off close to the pure bound (measured: 2e-5)


def least_epsilon(parts: Sequence[PrivacyGuarantee], distance: float, delta: float) -> float:
    """A lower bound of what noise on one record costs, exact for one kind of noise.

    Args:
        parts: With a law of noise each.
        distance: Of the record's features, in units; its outcome changes from end to end.
        delta: Of all parts together.
    """
    pure, squared, least = 0.0, 0.0, [0.0]
    for part in parts:
        law = part.law
        if isinstance(law, ResponseLaw):
            # The true cell of one record is told with p, and with q of the other.
            lies = WHOLE - law.truth
            pure += math.log(law.truth) - math.log(lies) + math.log(law.cells - 1)
            continue
        assert isinstance(law, NoiseLaw)
        shift = (distance if part.outcome_range is None else 1.0) / law.scale
        if law.kind == "laplace":
            pure += shift * _stretch(part)
        elif law.kind == "l2":
            stretches, weights = np.ones(1), np.ones(1)
            if _subspace(part):
                stretches, weights = _stretches(part.projection_dim or 1, part.features or 1, _FEW_NODES)
            found = _least(partial(_l2_delta, dim=law.dim), stretches * shift, weights, delta)
            least.append((1 - _L2_TAIL) * found)
        elif _subspace(part):
            stretches = _stretches(part.projection_dim or 1, part.features or 1)
            least.append(_least(_delta, stretches[0] * shift, stretches[1], delta))
        else:
            squared += shift**2
    if squared:
        least.append(_least(_delta, np.array([math.sqrt(squared)]), np.ones(1), delta))
    return max(pure, *least)


def _distance_checks(
    guarantee: PrivacyGuarantee, parts: Sequence[PrivacyGuarantee], distances: Sequence[float]
) -> Iterator[Check]:
    whole = of_whole_records(guarantee)
    for distance in distances:
        where = "of a whole record" if whole else f"at {distance:g} units"
        claimed = guarantee.at(distance)
        least = least_epsilon(parts, distance, guarantee.delta)
        yield Check.exact(
            f"epsilon {where} covers what the {'labels cost' if whole else 'noise costs there'}",
            claimed >= least * (1 - _TOLERANCE),
            f"{claimed:.6g} is claimed",
            f"at least {least:.6g}",
        )


def _subspace(part: PrivacyGuarantee) -> bool:
    """Whether records went through a random subspace: by the numbers of columns, not by the law."""
    if isinstance(part.law, ResponseLaw):
        return False
    r, d = part.projection_dim, part.features
    return r is not None and d is not None and r < d


def _stretch(part: PrivacyGuarantee) -> float:
    if not _subspace(part):
        return 1.0
    return math.sqrt((part.features or 1) / (part.projection_dim or 1))


def _delta(epsilon: float, mu: np.ndarray) -> np.ndarray:
    upper, lower = norm.logcdf(mu / 2 - epsilon / mu), epsilon + norm.logcdf(-mu / 2 - epsilon / mu)
    return -np.exp(upper) * np.expm1(np.minimum(lower - upper, 0.0))


def _l2_delta(epsilon: float, shifts: np.ndarray, dim: int) -> np.ndarray:
    """Chance of a loss above epsilon, less ``e^epsilon`` times that under the other record.

    With noise of length ``r``, in scales, ``|z - m e| > r + epsilon`` says on which side of an angle it
    points, by the law of cosines; from the other record, ``|w + m e| < r - epsilon``.
    """
    if epsilon > _LARGEST_EXPONENT:  # what is far out in the tail is no number: nothing is found
        return np.zeros(len(shifts))
    # Quantiles of the length, by a rule that puts as many nodes in the tails.
    tails = _TAILS + epsilon
    places = np.linspace(-tails, tails, round((40 if len(shifts) == 1 else 4) * tails) + 1)
    length = gamma(dim)
    below = expit(places)
    r = np.where(places < 0, length.ppf(below), length.isf(expit(-places)))
    masses = below * expit(-places) * (places[1] - places[0])
    m = shifts[:, None]
    first = (m**2 - epsilon**2 - 2 * r * epsilon) / (2 * r * m)
    second = (epsilon**2 - m**2 - 2 * r * epsilon) / (2 * r * m)
    if dim == 1:
        near, far = ((0.5 * (c > -1) + 0.5 * (c > 1)) for c in (first, second))
    else:
        angle = beta((dim - 1) / 2, (dim - 1) / 2)
        near, far = angle.cdf((1 + first) / 2), angle.cdf((1 + second) / 2)
    with np.errstate(all="ignore"):
        other = np.where(far > 0, np.exp(epsilon + np.log(far)), 0.0)
    apart = np.where(m > epsilon, _QUADRATURE * (near - other) - _CANCELLED * near, 0.0)
    return np.maximum(apart @ masses, 0.0)


def _least(
    delta_at: Callable[[float, np.ndarray], np.ndarray],
    shifts: np.ndarray,
    weights: np.ndarray,
    delta: float,
) -> float:
    """Smallest epsilon at which the average delta over the shifts is at most `delta`."""

    def excess(epsilon: float) -> float:
        return float(weights @ delta_at(epsilon, shifts)) - delta

    if delta <= 0 or excess(0.0) <= 0:
        return 0.0
    high = 1.0
    while excess(high) > 0:
        high *= 2
        if high > _LARGEST:
            return math.inf
    return float(root_scalar(excess, bracket=(0.0, high), method="brentq", xtol=1e-13).root)


@lru_cache(maxsize=64)
def _stretches(r: int, d: int, nodes: int = _NODES) -> tuple[np.ndarray, np.ndarray]:
    """How much a random subspace stretches a step, with probabilities.

    Quantiles of the Beta law, evenly in the logarithm of the upper tail, which a small delta comes from.
    """
    log_tails = np.linspace(-_LOG_TAIL, 0.0, nodes)
    tails = np.exp(log_tails)
    shares = beta(r / 2, (d - r) / 2).isf(tails)
    kept = shares > 0
    weights = tails * (_LOG_TAIL / (nodes - 1))
    weights[[0, -1]] /= 2  # the trapezoidal rule
    return np.sqrt(d / r * shares[kept]), weights[kept]
