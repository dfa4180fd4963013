"""What a guarantee promises about two records at a distance, and how often a spy tells them apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

from botorch_private.privacy.guarantee import PrivacyGuarantee


@dataclass(frozen=True)
class Cost:
    """What is promised about two records at a distance.

    Attributes:
        distance: In units.
        epsilon: At this distance; infinite where nothing is promised.
        guess: Chance, at most, that a spy tells the two apart who holds both equally likely.
    """

    distance: float
    epsilon: float
    guess: float


def cost_at(guarantee: PrivacyGuarantee, distance: float) -> Cost:
    """What a guarantee promises about two records at a distance, in units."""
    epsilon = guarantee.at(distance)
    return Cost(distance, epsilon, guess(epsilon, guarantee.delta))


def guess(epsilon: float, delta: float) -> float:
    """Largest chance to tell two equally likely tables apart under ``(epsilon, delta)`` privacy.

    ``(e^epsilon + delta) / (1 + e^epsilon)``: half of one plus the largest total variation distance
    (Kairouz, Oh & Viswanath 2015: the corner of the privacy region).
    """
    odds = math.exp(-epsilon)
    return min(1.0, (1 + delta * odds) / (1 + odds))


def mixed(guarantee: PrivacyGuarantee) -> bool:
    """Whether different kinds of noise are added up, which takes seconds at each distance."""
    return len({None if part.law is None else part.law.kind for part in guarantee.parts}) > 1
