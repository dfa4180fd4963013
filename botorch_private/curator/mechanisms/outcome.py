"""OutcomeMechanism: noise on the answers, so that what an outcome says of its record is bounded too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private.curator.mechanisms.base import SEEDED, plain_numbers
from botorch_private.curator.mechanisms.entropy import entropy_from
from botorch_private.curator.mechanisms.noise import NOISES, calibrate, sample_on_grid
from botorch_private.privacy.guarantee import (
    CHOSEN_BLIND,
    ONE_RECORD,
    OUTCOME_MISSING,
    OWN_OUTCOME,
    SHARED_OUTCOMES,
    TRUE_ENTROPY,
    PrivacyGuarantee,
)
from botorch_private.privacy.noise_law import DELTA_FP, NoiseLaw
from botorch_private.privacy.outcome_grid import noised_answer
from botorch_private.privacy.spending import compose

_WIDEST = 1e150  # its square, and answers far outside, are still numbers


@dataclass(frozen=True)
class OutcomeMechanism:
    """Clip an outcome to a public range, and add calibrated noise on a grid.

    A change of one record's outcome to any other changes the law of its answer by at most ``(epsilon,
    delta)``. A `Curator` draws the noise once for each record and keeps it, so that asking again tells
    nothing new: where an outcome is a matter of its own record, answers about different records
    compose in parallel (McSherry 2009, Theorem 4; the choice of the next question may depend on all
    answers before), and the cost of a record stays ``epsilon`` however many are asked.

    Args:
        epsilon: Privacy parameter for outcomes at opposite ends of the range, > 0.
        delta: Privacy parameter in [0, 1). 0 asks for a pure guarantee: Laplace noise.
        bound: Smallest and largest outcome, in raw units: public, from what the outcome means, never
            from the table. What lies outside is clipped, and nobody is told.
        noise: ``"laplace"``, ``"l2"`` (Laplace at a delta) or ``"gaussian"`` (both need ``delta > 0``),
            or ``"auto"``: the smallest variance.

    Raises:
        ValueError: If a parameter is outside its range.

    Example:
        >>> mechanism = OutcomeMechanism(epsilon=5.0, delta=0.0, bound=(0.0, 10.0))
        >>> round(math.sqrt(mechanism.noise_variance), 1)
        2.8
    """

    epsilon: float
    delta: float
    bound: Sequence[float]
    noise: str = "auto"

    def __post_init__(self) -> None:
        validate.positive(epsilon=self.epsilon)
        validate.probability_or_zero(delta=self.delta)
        validate.one_of(NOISES, noise=self.noise)
        ends = validate.vector(bound=self.bound, length=2).tolist()
        low, high = ends
        if not low < high:
            raise ValueError(f"bound must be a smallest and a larger outcome, got {low:g} and {high:g}")
        if high - low > _WIDEST:
            raise ValueError(f"bound must be at most {_WIDEST:g} wide, got {high - low:g}")
        object.__setattr__(self, "bound", (low, high))
        plain_numbers(self)
        calibrate(self.noise, self.epsilon, self.delta, dim=1, features=1)  # refuses what it cannot

    @property
    def law(self) -> NoiseLaw:
        """Law of the noise on an outcome; one unit is the width of the range."""
        return calibrate(self.noise, self.epsilon, self.delta, dim=1, features=1)

    @property
    def noise_variance(self) -> float:
        """Variance of the noise, in squared raw units of the outcome; public."""
        low, high = self.bound
        return self.law.variance * (high - low) ** 2

    def guarantee(self, *, answers: int | None = None, seeded: bool = False) -> PrivacyGuarantee:
        """What is promised about a record's outcome, before any is measured.

        Args:
            answers: None: an outcome is a matter of its own record. A number: an outcome may depend on
                other records as well (a rank, a difference to a mean), so that one record bears on
                that many answers, which compose.
            seeded: Whether the noise comes from a reproducible generator.
        """
        law = self.law
        low, high = self.bound
        one = PrivacyGuarantee(
            mechanism="OutcomeMechanism",
            epsilon=self.epsilon,
            delta=DELTA_FP if law.pure else self.delta,
            delta_fp=DELTA_FP,
            holds=True,
            assumptions=(
                OWN_OUTCOME if answers is None else SHARED_OUTCOMES,
                OUTCOME_MISSING,
                ONE_RECORD,
                CHOSEN_BLIND,
                TRUE_ENTROPY,
            ),
            law=law,
            seeded=seeded,
            outcome_range=(low, high),
        )
        if seeded:
            one = one.voided(SEEDED)
        if answers is None:
            return one
        validate.count(answers=answers)
        return compose([one] * answers, delta=max(one.delta, answers * one.delta_fp))

    def draw(self, outcomes: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
        """Answer outcomes with fresh noise: keep the answers, and never draw for a record again.

        Args:
            outcomes: Finite outcomes in raw units, one of each record.
            generator: None: operating-system entropy. A generator voids the guarantee.

        Returns:
            As many float64 answers: the lower end of the range plus whole grid steps, not clipped.
        """
        values = validate.vector(outcomes=outcomes).numpy()
        low, high = self.bound
        grid_noise = self.draw_grid_noise(len(values), generator=generator)
        answers = noised_answer(values, grid_noise, low=low, high=high, grid=self.law.grid)
        return torch.from_numpy(answers)

    def draw_grid_noise(self, count: int, *, generator: torch.Generator | None = None) -> np.ndarray:
        """Fresh noise for so many records, in whole steps of the grid (`noised_answer`).

        Noise may be drawn and stored before its outcome is known. It is as secret as the outcome.

        Args:
            count: Number of records, >= 1.
            generator: None: operating-system entropy. A generator voids the guarantee.

        Returns:
            ``count`` integers, int64.
        """
        validate.count(count=count)
        return sample_on_grid(self.law, count, entropy_from(generator))[:, 0]
