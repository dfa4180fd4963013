"""What several draws of noise on the same records cost together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Protocol

from botorch_private._base.floating_point import quiet_arithmetic
from botorch_private.privacy.gaussian import gaussian_epsilon

_LARGEST_ACCOUNTED = 100.0


class Law(Protocol):
    """What is asked of a law of noise, of whatever kind; see `NoiseLaw`."""

    delta_fp: ClassVar[float]

    @property
    def pure(self) -> bool:
        """Whether epsilon needs no delta, but for `delta_fp`."""
        ...

    def epsilon(self, distance: float, delta: float, records: int = 1) -> float:
        """Epsilon for so many records that move by a distance > 0 each, `arithmetic_slack` included."""
        ...

    def gaussian_mu(self, distance: float, records: int = 1) -> float | None:
        """Shift over standard deviation, where the noise is one Gaussian with a known shift."""
        ...

    def arithmetic_slack(self, distance: float) -> float:
        """What the sampler's floating-point arithmetic can add to epsilon, for each record."""
        ...


class Shift(NamedTuple):
    """Noise, how far it has to hide, and on how many records at once.

    Where the value of more than one record moves, each has a draw of its own.
    """

    law: Law
    distance: float
    records: int = 1


@quiet_arithmetic
def composed_epsilon(shifts: Sequence[Shift], delta: float) -> float:
    """Epsilon of independent draws of noise on the same record, at a total ``delta``.

    Pure draws (l2 Laplace) add. Gaussian draws without a projection into a subspace are one Gaussian
    draw with ``mu^2 = sum mu_i^2``, exactly. Any mixture goes through dp-accounting's privacy loss
    distributions, or through basic composition where that costs less: l2 Laplace as a pure-epsilon
    event (no one-dimensional Laplace pair is proved to dominate it), a projected Gaussian as an
    ``(epsilon, delta)`` event.

    Every law says itself what it costs; nothing here knows its kind, so that a law of another kind
    needs no change here.

    Args:
        shifts: The law of each draw, with the distance of the two values of the record that it
            hides, >= 0, in units of that law, and how many records move so far at once.
        delta: The total delta.

    Returns:
        epsilon, the samplers' arithmetic included; infinite where ``delta`` is too small.

    Raises:
        ImportError: If dp-accounting is needed and not installed.
    """
    shifts = [each for each in shifts if each.distance > 0]
    if all(law.pure for law, _, _ in shifts):
        return sum(law.epsilon(distance, delta, records) for law, distance, records in shifts)
    if len(shifts) == 1:
        ((law, distance, records),) = shifts
        return law.epsilon(distance, delta, records)
    slack = sum(records * law.arithmetic_slack(distance) for law, distance, records in shifts)
    ideal_delta = (delta - sum(records * law.delta_fp for law, _, records in shifts)) * math.exp(-slack)
    if ideal_delta <= 0:
        return math.inf
    shifted = [law.gaussian_mu(distance, records) for law, distance, records in shifts]
    known = [mu for mu in shifted if mu is not None]
    if len(known) == len(shifts):
        return gaussian_epsilon(ideal_delta, math.hypot(*known)) + slack
    noisy = sum(not law.pure for law, _, _ in shifts)
    basic = sum(_event(each, ideal_delta / noisy) for each in shifts)
    if basic > _LARGEST_ACCOUNTED:  # there the accountant takes minutes to find the same
        return basic + slack
    return min(basic, _mixture_epsilon(shifts, ideal_delta)) + slack


def _event(shift: Shift, delta: float) -> float:
    """Epsilon of one draw as an ``(epsilon, delta)`` event, its sampler's delta beside."""
    law, distance, records = shift
    return law.epsilon(distance, delta + records * law.delta_fp, records)


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
    known = [law.gaussian_mu(distance, records) for law, distance, records in shifts]
    events = sum(not each.law.pure and mu is None for each, mu in zip(shifts, known, strict=True))
    event_delta = delta / (2 * events) if events else 0.0
    try:
        total = pld.identity()
        for each, mu in zip(shifts, known, strict=True):
            if mu is not None:
                loss = pld.from_gaussian_mechanism(1 / mu)
            else:
                part_delta = 0.0 if each.law.pure else event_delta
                part = _event(each, part_delta)
                loss = pld.from_privacy_parameters(
                    common.DifferentialPrivacyParameters(part, part_delta)
                )
            total = total.compose(loss)
        return float(total.get_epsilon_for_delta(delta))
    except (MemoryError, OverflowError):  # too far apart for its grid: basic composition decides
        return math.inf
