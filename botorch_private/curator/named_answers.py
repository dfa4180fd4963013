"""NamedAnswers: noise on each of several outcomes of a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from botorch_private.curator.noised_answers import NoisedAnswers
from botorch_private.exchange.named_outcomes import require_names
from botorch_private.privacy.spending import total


class NamedAnswers:
    """Noise for the answers about ``n`` records with several outcomes, all drawn before any is asked.

    Each outcome has a mechanism and noise of its own. What the answers about a record say of it adds up
    (`compose`), also where one outcome follows from another.

    Args:
        mechanisms: An `OutcomeMechanism` for each name.
        n: Number of records.
        names: Names of the outcomes.
        answers: As for `NoisedAnswers`.
        generator: None: operating-system entropy. A generator voids the guarantee.

    Attributes:
        guarantee: What the answers promise together.
    """

    def __init__(
        self,
        mechanisms: Any,
        n: int,
        names: tuple[str, ...],
        *,
        answers: int | None,
        generator: torch.Generator | None,
    ) -> None:
        if not isinstance(mechanisms, Mapping):
            raise TypeError(
                f"outcome_mechanism must be a dict with an OutcomeMechanism for each of "
                f"{', '.join(names)}, got {type(mechanisms).__name__}"
            )
        require_names(names, outcome_mechanism=mechanisms)
        self._each = {
            name: NoisedAnswers(mechanisms[name], n, answers=answers, generator=generator)
            for name in names
        }
        self.guarantee = total([each.guarantee.naming(name) for name, each in self._each.items()])

    @property
    def mechanism(self) -> dict[str, Any]:
        """The mechanism of each outcome."""
        return {name: each.mechanism for name, each in self._each.items()}

    @property
    def grid_noise(self) -> np.ndarray:
        """``n x m`` integers: the noise, in steps of each grid. For the curator's eyes only."""
        return np.stack([each.grid_noise for each in self._each.values()], axis=1)

    def draw(self, count: int) -> np.ndarray:
        """Noise of so many more records, before anything is spent on them; `join` takes it over."""
        return np.stack([each.draw(count) for each in self._each.values()], axis=1)

    def join(self, noise: np.ndarray) -> None:
        """Take over what `draw` drew, once the records have joined."""
        for each, column in zip(self._each.values(), noise.T, strict=True):
            each.join(column)

    def of(self, record: int, outcome: dict[str, float]) -> dict[str, float]:
        """The answers about a record with these outcomes."""
        return {name: each.of(record, outcome[name]) for name, each in self._each.items()}
