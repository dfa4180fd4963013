"""What several draws of noise on the same records cost together."""

from __future__ import annotations

import math
from collections.abc import Sequence

from botorch_private._base.floating_point import quiet_arithmetic
from botorch_private.privacy.gaussian import gaussian_epsilon
from botorch_private.privacy.noise_law import DELTA_FP, NoiseLaw

_LARGEST_ACCOUNTED = 100.0
Shift = tuple[NoiseLaw, float]  # noise, and how far it has to hide


@quiet_arithmetic
def composed_epsilon(shifts: Sequence[Shift], delta: float) -> float:
    """Epsilon of independent draws of noise on the same record, at a total ``delta``.

    Pure draws (l2 Laplace) add. Gaussian draws without a projection into a subspace are one Gaussian
    draw with ``mu^2 = sum mu_i^2``, exactly. Any mixture goes through dp-accounting's privacy loss
    distributions, or through basic composition where that costs less: l2 Laplace as a pure-epsilon
    event (no one-dimensional Laplace pair is proved to dominate it), a projected Gaussian as an
    ``(epsilon, delta)`` event.

    Args:
        shifts: The law of each draw, with the distance of the two values of the record that it
            hides, >= 0, in units of that law.
        delta: The total delta.

    Returns:
        epsilon, the samplers' arithmetic included; infinite where ``delta`` is too small.

    Raises:
        ImportError: If dp-accounting is needed and not installed.
    """
    shifts = [(law, distance) for law, distance in shifts if distance > 0]
    if all(law.kind == "laplace" for law, _ in shifts):
        return sum(law.epsilon(distance, delta) for law, distance in shifts)
    if len(shifts) == 1:
        ((law, distance),) = shifts
        return law.epsilon(distance, delta)
    slack = sum(law.arithmetic_slack(distance) for law, distance in shifts)
    ideal_delta = (delta - len(shifts) * DELTA_FP) * math.exp(-slack)
    if ideal_delta <= 0:
        return math.inf
    if all(law.kind == "gaussian" and law.dim == law.features for law, _ in shifts):
        mu = math.sqrt(sum(((distance + law.rounding) / law.scale) ** 2 for law, distance in shifts))
        return gaussian_epsilon(ideal_delta, mu) + slack
    noisy = sum(law.kind == "gaussian" for law, _ in shifts)
    basic = sum(law.epsilon(distance, ideal_delta / noisy + DELTA_FP) for law, distance in shifts)
    if basic > _LARGEST_ACCOUNTED:  # there the accountant takes minutes to find the same
        return basic + slack
    return min(basic, _mixture_epsilon(shifts, ideal_delta)) + slack


def _mixture_epsilon(shifts: Sequence[Shift], delta: float) -> float:
    try:
        from dp_accounting.pld import common
        from dp_accounting.pld import privacy_loss_distribution as pld
    except ImportError as error:
        raise ImportError(
            "composing different kinds of noise needs dp-accounting: "
            "pip install 'botorch-private[accounting]'"
        ) from error
    # Half of delta pays for the events that have a delta of their own, half is left for the rest.
    events = sum(law.kind == "gaussian" and law.dim < law.features for law, _ in shifts)
    event_delta = delta / (2 * events) if events else 0.0
    try:
        total = pld.identity()
        for law, distance in shifts:
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
    except (MemoryError, OverflowError):  # too far apart for its grid: basic composition decides
        return math.inf
