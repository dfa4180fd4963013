"""Cells by a model of other people: a private linear score of a history, cut into cells.

A curator may hold labelled records of *other* people: last year's stays, with their costs. A score
that was learned from them is a public function of a record of the pool, so that the pool's people keep
all of their promise. What the score tells about the people of the history is paid for in
`curator.history.moments`, and everything here is post-processing: ridge regression on the noisy moments,
with a penalty of the noise's own size (as in Wang 2018, AdaSSP, whose penalty is of this order), and
cuts at the normal quantiles of the score's mean and variance, which follow from the same moments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy.special import ndtri

from botorch_private._base import validate
from botorch_private.curator.cells.history_score import HistoryScore
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.curator.history.moments import Moments, release_moments, ridge

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
    levels = _checked_cuts(cuts)
    moments = release_moments(
        records,
        outcomes,
        scaling,
        learned="cells",
        outcome_range=outcome_range,
        epsilon=epsilon,
        delta=delta,
        public=public,
        generator=generator,
    )
    weights, mean, deviation = _score(moments)
    return HistoryScore(
        tuple(scaling.lower.tolist()),
        tuple(scaling.upper.tolist()),
        moments.norm,
        tuple(weights.tolist()),
        tuple((mean + ndtri(levels) * deviation).tolist()),
        moments.promise,
        scaling.names,
        scaling.log_columns,
    )


def _score(moments: Moments) -> tuple[np.ndarray, float, float]:
    """Weights, and the mean and deviation of scores on the history; all from the moments."""
    weights, inner, n = (
        ridge(moments.sums, moments.penalty),
        moments.sums[:-1, :-1],
        moments.promise.people,
    )
    mean = float(weights @ inner[:, -1]) / n
    variance = float(weights @ inner @ weights) / n - mean**2
    floor = (_TINY * (abs(mean) + 1)) ** 2
    return weights, mean, math.sqrt(max(variance, floor))


def _checked_cuts(cuts: Sequence[float]) -> np.ndarray:
    levels = validate.vector(cuts=cuts).numpy()
    if not len(levels) or not ((levels > 0) & (levels < 1)).all() or not (np.diff(levels) > 0).all():
        raise ValueError("cuts must be rising shares in (0, 1), such as [0.9, 0.97]")
    return levels
