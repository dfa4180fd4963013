"""HistoryScore: a linear score of records that was learned from other people, and its cuts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from botorch_private.curator.history.moments import cut_to_norm, to_unit
from botorch_private.privacy.history_promise import HistoryPromise


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
        log_columns: Positions of features that are taken by their logarithms.
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    norm: float
    weights: tuple[float, ...]
    cuts: tuple[float, ...]
    promise: HistoryPromise
    names: tuple[str, ...] | None = None
    log_columns: tuple[int, ...] = ()

    @property
    def scale(self) -> list[str]:
        """The scale of each feature, "linear" or "log", as in `PublicScaling`."""
        return ["log" if i in self.log_columns else "linear" for i in range(len(self.lower))]

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Cell of each of ``n x d`` raw records: how many cuts its score reaches."""
        scores = _with_one(self.scaled(rows)) @ np.array(self.weights)
        return np.searchsorted(np.array(self.cuts), scores, side="right")

    def scaled(self, rows: np.ndarray) -> np.ndarray:
        """``n x d`` rows in [-1, 1], cut to the norm."""
        lower, upper = np.array(self.lower), np.array(self.upper)
        if log := list(self.log_columns):
            rows, inside = rows.copy(), np.clip(rows[:, log], lower[log], upper[log])
            rows[:, log], lower[log], upper[log] = map(np.log, (inside, lower[log], upper[log]))
        return cut_to_norm(to_unit(rows, lower, upper), self.norm)


def _with_one(rows: np.ndarray) -> np.ndarray:
    return np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
