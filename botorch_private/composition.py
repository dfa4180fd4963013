"""What several draws of noise on the same records cost together."""

from __future__ import annotations

import math
from collections.abc import Sequence

from botorch_private.noise_law import DELTA_FP, NoiseLaw
from botorch_private.privacy_curve import gaussian_epsilon


def composed_epsilon(laws: Sequence[NoiseLaw], distance: float, delta: float) -> float:
    """Epsilon of independent releases of the same record, at a total ``delta``.

    Pure releases (l2 Laplace) add. Gaussian releases without a projection into a subspace are one
    Gaussian release with ``mu^2 = sum mu_i^2``, exactly. Any mixture goes through dp-accounting's
    privacy loss distributions, or through basic composition where that costs less: l2 Laplace as a
    pure-epsilon event (no one-dimensional Laplace pair is proved to dominate it), a projected
    Gaussian as an ``(epsilon, delta)`` event.

    Args:
        laws: Laws of the noise of each release.
        distance: Distance of the two records in units, > 0.
        delta: The total delta.

    Returns:
        epsilon, the samplers' arithmetic included; infinite where ``delta`` is too small.

    Raises:
        ImportError: If dp-accounting is needed and not installed.
    """
    if all(law.kind == "laplace" for law in laws):
        return sum(law.epsilon(distance, delta) for law in laws)
    if len(laws) == 1:
        return laws[0].epsilon(distance, delta)
    slack = sum(law.arithmetic_slack(distance) for law in laws)
    ideal_delta = (delta - len(laws) * DELTA_FP) * math.exp(-slack)
    if ideal_delta <= 0:
        return math.inf
    if all(law.kind == "gaussian" and law.dim == law.features for law in laws):
        mu = math.sqrt(sum(((distance + law.rounding) / law.scale) ** 2 for law in laws))
        return gaussian_epsilon(ideal_delta, mu) + slack
    noisy = sum(law.kind == "gaussian" for law in laws)
    basic = sum(law.epsilon(distance, ideal_delta / noisy + DELTA_FP) for law in laws)
    return min(basic, _mixture_epsilon(laws, distance, ideal_delta)) + slack


def _mixture_epsilon(laws: Sequence[NoiseLaw], distance: float, delta: float) -> float:
    try:
        from dp_accounting.pld import common
        from dp_accounting.pld import privacy_loss_distribution as pld
    except ImportError as error:
        raise ImportError(
            "composing different kinds of noise needs dp-accounting: "
            "pip install 'botorch-private[accounting]'"
        ) from error
    # Half of delta pays for the events that have a delta of their own, half is left for the rest.
    events = sum(law.kind == "gaussian" and law.dim < law.features for law in laws)
    event_delta = delta / (2 * events) if events else 0.0
    try:
        total = pld.identity()
        for law in laws:
            if law.kind == "gaussian" and law.dim == law.features:
                loss = pld.from_gaussian_mechanism(law.scale / (distance + law.rounding))
            else:
                part_delta = 0.0 if law.kind == "laplace" else event_delta
                part = law.epsilon(distance, part_delta + DELTA_FP)
                loss = pld.from_privacy_parameters(
                    common.DifferentialPrivacyParameters(part, part_delta)
                )
            total = total.compose(loss)
        return float(total.get_epsilon_for_delta(delta))
    except OverflowError:  # too far apart for the accountant's grid: basic composition decides
        return math.inf
