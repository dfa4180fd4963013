r"""Moments of a labelled history: released once, private for each record of it.

One row of the history is ``v = (x, 1, y)``: features scaled to [-1, 1] by declared ranges and cut to
the norm ``R``, and the outcome scaled to [-R, R] by its declared range. What is released is ``M = sum v
v'``: the number of people, means, products and squares, once, with Gaussian noise. Let ``u = (x, y)``,
``|u|^2 <= B^2 = 2 R^2``. Replacing one row changes ``M`` by ``|v v' - w w'|_F <= sqrt(2) (B^2 + 1)``:
the maximum of ``2 B^4 - 2 c^2 + 4 B^2 - 4 c`` over ``c = u . u'`` is at ``c = -1``. As a vector, entries
off the diagonal count ``sqrt(2)`` each, once.

What is learned from them, a score for `Cells` or a choice of features, is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from botorch_private._base import validate
from botorch_private._base.frames import require_labels
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.curator.mechanisms.entropy import entropy_from
from botorch_private.curator.mechanisms.noise import calibrate, noised
from botorch_private.privacy.history_promise import HistoryPromise
from botorch_private.privacy.noise_law import NoiseLaw

# Moments in units of their sensitivity are up to ``people / sqrt(2)`` long. Three operations of float64
# on them err by less than `NoiseLaw.rounding` charges for so many people.
MOST_PEOPLE = 100_000
LEAST_PEOPLE = 50
_STEP = 2.0**-14  # rows are rounded to it, so that sums of their products are exact in any order,
_LARGEST_SUM = 2.0**53 * _STEP**2  # up to this one
_PENALTY = 1.5  # of the spectral norm of the noise, 2 deviations times the root of the width
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Moments:
    """Noisy sums of products of the columns ``(x, 1, y)``.

    Args:
        sums: ``(d + 2) x (d + 2)``, symmetric; the number of people is exact.
        deviation: Of the noise on a square, in units of the sums; that of a product is ``sqrt(2)``
            times less. 0 for a public history.
        norm: ``R``.
        promise: To the people of the history.
    """

    sums: np.ndarray
    deviation: float
    norm: float
    promise: HistoryPromise

    @property
    def penalty(self) -> float:
        """Of a ridge regression on all features: of the size of the noise."""
        width = math.sqrt(len(self.sums))
        return _PENALTY * math.sqrt(2) * self.deviation * width + _TINY * self.promise.people


def release_moments(
    records: Any,
    outcomes: Any,
    scaling: PublicScaling,
    *,
    learned: str,
    outcome_range: tuple[float, float],
    epsilon: float,
    delta: float,
    public: bool,
    generator: torch.Generator | None,
) -> Moments:
    """Check a history, and release its moments once; see `Cells.from_history` for the arguments.

    Args:
        records: ``m x d`` raw records.
        outcomes: ``m`` outcomes.
        scaling: Declared ranges.
        learned: What for, as `HistoryPromise` says it.
        outcome_range: Declared smallest and largest outcome.
        epsilon: For any change of one record, outcome included, > 0.
        delta: In (0, 1).
        public: True: no noise.
        generator: None: operating-system entropy.

    Raises:
        ValueError: If an argument is unusable; nothing has been drawn then.
    """
    if scaling.history is not None:
        raise ValueError(
            "scaling must be of declared features, not of chosen ones: what is learned twice from "
            "people of a history adds up, and no guarantee would say so"
        )
    if not scaling.public:
        raise ValueError(
            "scaling must be declared, PublicScaling(lower, upper), not learned from records"
        )
    table = scaling.check(records, minimum_rows=LEAST_PEOPLE)
    require_labels("outcomes", outcomes, records, "records")
    y = validate.vector(outcomes=outcomes, length=len(table))
    low, high = outcome_range
    validate.finite(outcome_range_low=low, outcome_range_high=high)
    if not low < high:
        raise ValueError(f"outcome_range must be two rising numbers, got {low:g} and {high:g}")
    validate.flag(public=public)
    d = scaling.features
    law = None
    if not public:
        validate.positive(epsilon=epsilon)
        validate.probability(delta=delta)
        law = law_of_moments(epsilon, delta, d + 2)
    entropy = entropy_from(generator)
    norm = max(1.0, math.sqrt(d) / 2)
    n = min(len(table), _most_people(norm))
    x = cut_to_norm(scaling.to_interval(table[:n]).numpy(), norm)
    outcome = to_unit(y[:n, None].numpy(), np.array([low]), np.array([high])) * norm
    rows = np.concatenate(
        [np.rint(x / _STEP) * _STEP, np.ones((n, 1)), np.rint(outcome / _STEP) * _STEP], 1
    )
    sums, deviation = rows.T @ rows, 0.0
    if law is not None:
        # Rounding moves a row by at most half a step in each coordinate.
        radius = 2 * (norm + _STEP * math.sqrt(d + 1)) ** 2
        sensitivity = math.sqrt(2) * (radius + 1)
        sums = _noised(sums, sensitivity, law, entropy)
        deviation = law.scale * sensitivity
    sums[d, d] = n  # the number of people is public
    told = (math.inf, 0.0) if public else (float(epsilon), float(delta))
    return Moments(sums, deviation, norm, HistoryPromise(n, *told, entropy.seeded, learned))


def _most_people(norm: float) -> int:
    """So many that no sum of products is too large to be exact; fewer where rows are long."""
    return min(MOST_PEOPLE, int(_LARGEST_SUM / (norm + 1) ** 2))


def law_of_moments(epsilon: float, delta: float, width: int) -> NoiseLaw:
    """Noise on all sums of ``width`` columns, of which any person moves at most one unit."""
    size = width * (width + 1) // 2
    return calibrate("gaussian", float(epsilon), float(delta), dim=size, features=size)


def ridge(sums: np.ndarray, penalty: float) -> np.ndarray:
    """Weights of ``(x, 1)`` for ``y``, from sums of products of ``(x, 1, y)``."""
    inner, by_outcome = sums[:-1, :-1], sums[:-1, -1]
    # The constant is not punished: it is no effect of a feature.
    punished = penalty * np.eye(len(inner))
    punished[-1, -1] = 0.0
    return np.linalg.lstsq(inner + punished, by_outcome, rcond=None)[0]


def to_unit(rows: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Clip ``n x d`` rows to a range, and map it to [-1, 1]."""
    centre, half = lower / 2 + upper / 2, upper / 2 - lower / 2
    return np.clip((np.clip(rows, lower, upper) - centre) / half, -1.0, 1.0)


def cut_to_norm(rows: np.ndarray, norm: float) -> np.ndarray:
    """Shorten rows that are longer than the norm."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.minimum(1.0, norm / np.maximum(lengths, _TINY))


def _noised(sums: np.ndarray, sensitivity: float, law: NoiseLaw, entropy: Any) -> np.ndarray:
    """Symmetric sums with noise: as one record, of which any person moves at most one unit."""
    upper = np.triu_indices(len(sums))
    root = np.where(upper[0] == upper[1], 1.0, math.sqrt(2))
    noisy = noised((sums[upper] * root / sensitivity)[None, :], law, entropy)[0] * sensitivity / root
    made = np.empty_like(sums)
    made[upper] = noisy
    made.T[upper] = noisy
    return made
