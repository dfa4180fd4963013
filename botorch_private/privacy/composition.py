"""What several draws of noise on the same records cost together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from botorch_private._base.floating_point import quiet_arithmetic
from botorch_private.privacy.gaussian import gaussian_epsilon
from botorch_private.privacy.group_privacy import majorant_epsilon
from botorch_private.privacy.random_shift import Squares, summed

_LARGEST_ACCOUNTED = 100.0
_LOSSES = 2000  # of one draw
_ACCOUNTED_STEP = 1e-4  # what dp-accounting rounds losses to where nothing else is said


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

    def pure_epsilon(self, distance: float, records: int = 1) -> float:
        """The same at no delta but ``records * delta_fp``; infinite where there is no such bound."""
        ...

    def gaussian_squares(self, distance: float, records: int = 1) -> Squares | None:
        """Law of the squared shift over standard deviation, where the noise is Gaussian."""
        ...

    def losses(self, distance: float, steps: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Losses no smaller than those of one draw, and their chances; None where it has no such law."""
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

    Pure draws (l2 Laplace) add. Gaussian draws are one draw with ``mu^2 = sum mu_i^2``, averaged over
    random subspaces (`random_shift`). A mixture of both goes through dp-accounting's privacy loss
    distributions, or through basic composition where that costs less: l2 Laplace as a pure-epsilon
    event (no one-dimensional Laplace pair is proved to dominate it), l2 noise by losses that are no
    smaller than its own (`l2_noise`), and Gaussian draws through random subspaces together, and each
    draw of l2 noise through one, as an ``(epsilon, delta)`` event. Where each draw has a pure bound,
    the total is at most their sum. Where several records move under one draw of l2 noise for each,
    these are as many draws.

    Every law says itself what it costs; nothing here knows its kind, so that a law of another kind
    needs no change here.

    Args:
        shifts: The law of each draw, with the distance of the two values of the record that it
            hides, >= 0, in units of that law, and how many records move so far at once.
        delta: The total delta.

    Returns:
        epsilon, the samplers' arithmetic included; infinite where ``delta`` is too small.

    Raises:
        ImportError: If dp-accounting is not installed, and needed: for a Gaussian beside other noise.
            For l2 noise the sum of the pure bounds, or of the parts with delta shared, is taken instead.
    """
    shifts = [each for each in shifts if each.distance > 0]
    if all(law.pure for law, _, _ in shifts):
        return sum(law.epsilon(distance, delta, records) for law, distance, records in shifts)
    if len(shifts) == 1:
        ((law, distance, records),) = shifts
        if records == 1 or law.losses(distance, _LOSSES) is None:
            return law.epsilon(distance, delta, records)
    least = sum(
        law.epsilon(distance, delta, records) if law.pure else law.pure_epsilon(distance, records)
        for law, distance, records in shifts
    )
    slack = sum(records * law.arithmetic_slack(distance) for law, distance, records in shifts)
    ideal_delta = (delta - sum(records * law.delta_fp for law, _, records in shifts)) * math.exp(-slack)
    if ideal_delta <= 0:
        return least
    squares = [law.gaussian_squares(distance, records) for law, distance, records in shifts]
    gaussian = [each for each in squares if each is not None]
    others = [each for each, square in zip(shifts, squares, strict=True) if square is None]
    together = (
        _Gaussian(summed(gaussian), any(each.records > 1 for each in shifts)) if gaussian else None
    )
    if together is not None and not others:
        return together.epsilon(ideal_delta) + slack
    noisy = sum(not each.law.pure for each in others) + len(gaussian[:1])
    basic = sum(_event(each, ideal_delta / noisy) for each in others)
    if together is not None:
        basic += together.epsilon(ideal_delta / noisy)
    bounded, least = math.isfinite(least), min(least, basic + slack)
    if basic > _LARGEST_ACCOUNTED:  # there the accountant takes minutes to find the same
        return least
    try:
        return min(least, _mixture_epsilon(together, others, ideal_delta) + slack)
    except ImportError:
        if not bounded:
            raise
        return least


class _Gaussian(NamedTuple):
    """All Gaussian draws together.

    Where ``m`` records move and projections are random, ``mu^2`` is at most ``sum_k sum_i S_ki``: the
    ``S_ki`` of draw ``k`` have one law for all records ``i``, and different draws are independent. By
    Jensen's inequality for the convex majorant ``c`` of `group_privacy`, in one draw after the other,
    ``E c(sum_k sum_i S_ki) <= E c(sum_k m S_k1)``, which is a mean over ``squares``.
    """

    squares: Squares
    several: bool  # whether more than one record moves

    @property
    def projected(self) -> bool:
        """Whether the shift is random."""
        return len(self.squares.values) > 1

    def epsilon(self, delta: float) -> float:
        if self.several and self.projected:
            return majorant_epsilon(delta, *self.squares)
        return gaussian_epsilon(delta, np.sqrt(self.squares.values), self.squares.weights)


def _event(shift: Shift, delta: float) -> float:
    """Epsilon of one draw as an ``(epsilon, delta)`` event, its sampler's delta beside."""
    law, distance, records = shift
    return law.epsilon(distance, delta + records * law.delta_fp, records)


def _mixture_epsilon(gaussian: _Gaussian | None, others: Sequence[Shift], delta: float) -> float:
    try:
        from dp_accounting.pld import common
        from dp_accounting.pld import privacy_loss_distribution as pld
    except ImportError as error:
        raise ImportError(
            "composing different kinds of noise needs dp-accounting: "
            "pip install 'botorch-private[accounting]'"
        ) from error
    projected = gaussian if gaussian is not None and gaussian.projected else None
    losses = [None if each.law.pure else each.law.losses(each.distance, _LOSSES) for each in others]
    # Half of delta pays for the events that have a delta of their own, half is left for the rest.
    events = sum(not each.law.pure and law is None for each, law in zip(others, losses, strict=True)) + (
        projected is not None
    )
    event_delta = delta / (2 * events) if events else 0.0

    def event(epsilon: float, own_delta: float) -> Any:
        return pld.from_privacy_parameters(common.DifferentialPrivacyParameters(epsilon, own_delta))

    try:
        total = pld.identity()
        if projected is not None:
            total = event(projected.epsilon(event_delta), event_delta)
        elif gaussian is not None:
            total = pld.from_gaussian_mechanism(1 / math.sqrt(gaussian.squares.values[0]))
        for each, law in zip(others, losses, strict=True):
            if law is None:
                own_delta = 0.0 if each.law.pure else event_delta
                total = total.compose(event(_event(each, own_delta), own_delta))
            else:
                one = pld.PrivacyLossDistribution(_rounded_up(*law))
                total = total.compose(one.self_compose(each.records) if each.records > 1 else one)
        return float(total.get_epsilon_for_delta(delta))
    except (MemoryError, OverflowError):  # too far apart for its grid: basic composition decides
        return math.inf


def _rounded_up(losses: np.ndarray, chances: np.ndarray) -> Any:
    """A law of losses on the accountant's grid."""
    from dp_accounting.pld import pld_pmf

    places = np.ceil(losses / _ACCOUNTED_STEP).astype(np.int64)
    grid, where = np.unique(places, return_inverse=True)
    together = np.bincount(where, chances)
    masses = dict(zip(grid.tolist(), together.tolist(), strict=True))
    return pld_pmf.create_pmf(masses, _ACCOUNTED_STEP, 0.0, True)
