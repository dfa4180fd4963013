r"""Cells by a model of other people: a private linear score of a history, cut into cells.

A curator may hold labelled records of *other* people: last year's stays, with their costs. A score
that was learned from them is a public function of a record of the pool, so that the pool's people keep
all of their promise. What the score tells about the people of the history is paid for here.

*The release.* One row of the history is ``v = (x, 1, y)``: features scaled to [-1, 1] by declared
ranges and cut to the norm ``R``, and the outcome scaled to [-R, R] by its declared range. What is
released is ``M = sum v v'``, once, with Gaussian noise. Let ``u = (x, y)``, ``|u|^2 <= B^2 = 2 R^2``.
Replacing one row changes ``M`` by ``|v v' - w w'|_F <= sqrt(2) (B^2 + 1)``: the maximum of ``2 B^4
- 2 c^2 + 4 B^2 - 4 c`` over ``c = u . u'`` is at ``c = -1``. As a vector, entries off the diagonal count
``sqrt(2)`` each, once.

*The score.* Everything else is post-processing: ridge regression on the noisy moments, with a penalty
of the noise's own size (as in Wang 2018, AdaSSP, whose penalty is of this order), and cuts at the normal
quantiles of the score's mean and variance, which follow from the same moments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy.special import ndtri

from botorch_private._base import validate
from botorch_private._base.frames import require_labels
from botorch_private.curator.cells.history_score import (
    HistoryPromise,
    HistoryScore,
    cut_to_norm,
    to_unit,
)
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.curator.mechanisms.entropy import entropy_from
from botorch_private.curator.mechanisms.noise import calibrate, noised
from botorch_private.privacy.noise_law import NoiseLaw

# Moments in units of their sensitivity are up to ``people / sqrt(2)`` long. Three operations of float64
# on them err by less than `NoiseLaw.rounding` charges for so many people.
MOST_PEOPLE = 100_000
LEAST_PEOPLE = 50
_STEP = 2.0**-14  # rows are rounded to it, so that sums of their products are exact in any order,
_LARGEST_SUM = 2.0**53 * _STEP**2  # up to this one
_PENALTY = 1.5  # of the spectral norm of the noise, 2 deviations times the root of the width
_TINY = 1e-9


def fit_score(
    records: Any,
    outcomes: Any,
    scaling: PublicScaling,
    *,
    outcome_range: tuple[float, float],
    cuts: Sequence[float] = (0.97,),
    epsilon: float = 1.0,
    delta: float = 1e-5,
    public: bool = False,
    generator: torch.Generator | None = None,
) -> HistoryScore:
    """Learn a score from a history; see `Cells.from_history`, which takes the same arguments."""
    table = scaling.check(records, minimum_rows=LEAST_PEOPLE)
    require_labels("outcomes", outcomes, records, "records")
    y = validate.vector(outcomes=outcomes, length=len(table))
    low, high = outcome_range
    validate.finite(outcome_range_low=low, outcome_range_high=high)
    if not low < high:
        raise ValueError(f"outcome_range must be two rising numbers, got {low:g} and {high:g}")
    levels = _checked_cuts(cuts)
    if not isinstance(public, bool):
        raise ValueError("public must be True or False")
    entropy = entropy_from(generator)
    d = scaling.features
    norm = max(1.0, math.sqrt(d) / 2)
    n = min(len(table), _most_people(norm))
    lower, upper = scaling.lower.numpy(), scaling.upper.numpy()
    x = cut_to_norm(to_unit(table[:n].numpy(), lower, upper), norm)
    outcome = to_unit(y[:n, None].numpy(), np.array([low]), np.array([high])) * norm
    rows = np.concatenate(
        [np.rint(x / _STEP) * _STEP, np.ones((n, 1)), np.rint(outcome / _STEP) * _STEP], 1
    )
    moments, size = rows.T @ rows, 0.0
    if not public:
        validate.positive(epsilon=epsilon)
        validate.probability(delta=delta)
        law = _law(epsilon, delta, d + 2)
        # Rounding moves a row by at most half a step in each coordinate.
        radius = 2 * (norm + _STEP * math.sqrt(d + 1)) ** 2
        sensitivity = math.sqrt(2) * (radius + 1)
        moments = _noised(moments, sensitivity, law, entropy)
        size = 2 * law.scale * sensitivity / math.sqrt(2) * math.sqrt(d + 2)
    moments[d, d] = n  # the number of people is public
    promise = HistoryPromise(
        n, math.inf if public else float(epsilon), 0.0 if public else float(delta), entropy.seeded
    )
    weights, mean, deviation = _ridge(moments, n, _PENALTY * size + _TINY * n)
    return HistoryScore(
        tuple(lower.tolist()),
        tuple(upper.tolist()),
        norm,
        tuple(weights.tolist()),
        tuple((mean + ndtri(levels) * deviation).tolist()),
        promise,
        scaling.names,
    )


def _most_people(norm: float) -> int:
    """So many that no sum of products is too large to be exact; fewer where rows are long."""
    return min(MOST_PEOPLE, int(_LARGEST_SUM / (norm + 1) ** 2))


def _ridge(moments: np.ndarray, n: int, penalty: float) -> tuple[np.ndarray, float, float]:
    """Weights, and the mean and deviation of scores on the history; all from the moments."""
    inner, by_outcome = moments[:-1, :-1], moments[:-1, -1]
    # The constant is not punished: it is no effect of a feature.
    punished = penalty * np.eye(len(inner))
    punished[-1, -1] = 0.0
    weights = np.linalg.lstsq(inner + punished, by_outcome, rcond=None)[0]
    mean = float(weights @ inner[:, -1]) / n
    variance = float(weights @ inner @ weights) / n - mean**2
    floor = (_TINY * (abs(mean) + 1)) ** 2
    return weights, mean, math.sqrt(max(variance, floor))


def _law(epsilon: float, delta: float, width: int) -> NoiseLaw:
    size = width * (width + 1) // 2
    return calibrate("gaussian", float(epsilon), float(delta), dim=size, features=size)


def _noised(moments: np.ndarray, sensitivity: float, law: NoiseLaw, entropy: Any) -> np.ndarray:
    """Symmetric moments with noise: as one record, of which any person moves at most one unit."""
    upper = np.triu_indices(len(moments))
    root = np.where(upper[0] == upper[1], 1.0, math.sqrt(2))
    noisy = noised((moments[upper] * root / sensitivity)[None, :], law, entropy)[0] * sensitivity / root
    made = np.empty_like(moments)
    made[upper] = noisy
    made.T[upper] = noisy
    return made


def _checked_cuts(cuts: Sequence[float]) -> np.ndarray:
    levels = validate.vector(cuts=cuts).numpy()
    if not len(levels) or not ((levels > 0) & (levels < 1)).all() or not (np.diff(levels) > 0).all():
        raise ValueError("cuts must be rising shares in (0, 1), such as [0.9, 0.97]")
    return levels
