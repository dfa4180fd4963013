"""NoisedAnswers: the noise on each record's answer, drawn once and kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from botorch_private.curator.mechanisms.outcome import OutcomeMechanism
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.outcome_grid import noised_answer


class NoisedAnswers:
    """Noise for the answers about ``n`` records, all drawn before any is asked for.

    Args:
        mechanism: How outcomes are noised.
        n: Number of records.
        answers: None: the outcome of a record is a matter of that record alone. A number: so many
            answers may depend on other records as well.
        generator: None: operating-system entropy. A generator voids the guarantee.

    Attributes:
        mechanism: The same.
        guarantee: What the answers promise.
        grid_noise: ``n`` integers: the noise, in whole steps of the grid. For the curator's eyes only.
    """

    def __init__(
        self,
        mechanism: Any,
        n: int,
        *,
        answers: int | None,
        generator: torch.Generator | None,
    ) -> None:
        if not isinstance(mechanism, OutcomeMechanism):
            raise TypeError(
                f"outcome_mechanism must be an OutcomeMechanism, got {type(mechanism).__name__}"
            )
        self.mechanism = mechanism
        self.guarantee: PrivacyGuarantee = mechanism.guarantee(
            answers=answers, seeded=generator is not None
        )
        self._generator = generator
        self.grid_noise = self.draw(n)

    def draw(self, count: int) -> np.ndarray:
        """Noise of so many more records, before anything is spent on them; `join` takes it over."""
        return self.mechanism.draw_grid_noise(count, generator=self._generator)

    def join(self, noise: np.ndarray) -> None:
        """Take over what `draw` drew, once the records have joined."""
        self.grid_noise = np.concatenate([self.grid_noise, noise])

    def of(self, record: int, outcome: float) -> float:
        """The answer about a record with this outcome."""
        low, high = self.mechanism.bound
        value, grid_noise = np.array(outcome), self.grid_noise[record]
        return float(noised_answer(value, grid_noise, low=low, high=high, grid=self.mechanism.law.grid))
