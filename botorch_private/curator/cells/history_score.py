"""HistoryScore: a linear score of records that was learned from other people, and its cuts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from botorch_private.privacy.rounding import round_up

_TINY = 1e-9


@dataclass(frozen=True)
class HistoryPromise:
    """What is promised to the people of a history, who have one record each.

    Args:
        people: How many records there were; public.
        epsilon: For any change of one whole record; infinite where the history is public.
        delta: In [0, 1).
        seeded: Whether the noise came from a generator.
    """

    people: int
    epsilon: float
    delta: float
    seeded: bool = False

    @property
    def sentence(self) -> str:
        """For a guarantee of the pool, whose cells were made from this history."""
        who = (
            f"cells were made from records of {self.people} people of a history, none of whom is in "
            f"this table"
        )
        if math.isinf(self.epsilon):
            return (
                f"{who}; the history was used as it is, because the curator says that it is public or "
                f"that its people agree: nothing is promised to them"
            )
        seeded = ", but with noise from a seed, so that it does not hold" if self.seeded else ""
        return (
            f"{who}; to each of these another promise holds: any change of their whole record, outcome "
            f"included, changes the chance of any cells by at most epsilon {round_up(self.epsilon)} and "
            f"delta {round_up(self.delta, 2)}{seeded}; who has several records there is protected less, "
            f"and every further score of the same history adds to it"
        )


@dataclass(frozen=True, eq=False)
class HistoryScore:
    """A linear score of records, and where it is cut.

    Args:
        lower: Smallest value of each feature, ``d`` floats in raw units.
        upper: Largest value of each.
        norm: What scaled records are cut to, ``R``.
        weights: ``d + 1`` floats: of the scaled features, and a constant.
        cuts: Scores between cells, rising.
        promise: To the people of the history.
        names: Names of the features.
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    norm: float
    weights: tuple[float, ...]
    cuts: tuple[float, ...]
    promise: HistoryPromise
    names: tuple[str, ...] | None = None

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Cell of each of ``n x d`` raw records: how many cuts its score reaches."""
        scores = _with_one(self.scaled(rows)) @ np.array(self.weights)
        return np.searchsorted(np.array(self.cuts), scores, side="right")

    def scaled(self, rows: np.ndarray) -> np.ndarray:
        """``n x d`` rows in [-1, 1], cut to the norm."""
        return cut_to_norm(to_unit(rows, np.array(self.lower), np.array(self.upper)), self.norm)


def to_unit(rows: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Clip ``n x d`` rows to a range, and map it to [-1, 1]."""
    centre, half = lower / 2 + upper / 2, upper / 2 - lower / 2
    return np.clip((np.clip(rows, lower, upper) - centre) / half, -1.0, 1.0)


def cut_to_norm(rows: np.ndarray, norm: float) -> np.ndarray:
    """Shorten rows that are longer than the norm."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.minimum(1.0, norm / np.maximum(lengths, _TINY))


def _with_one(rows: np.ndarray) -> np.ndarray:
    return np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
