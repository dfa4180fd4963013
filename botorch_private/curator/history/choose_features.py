"""choose_features: which features to release, from a labelled history of other people, in private."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from botorch_private._base import validate
from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.curator.history.moments import Moments, release_moments
from botorch_private.curator.history.search_prior import prior_of_moments
from botorch_private.exchange.search_prior import SearchPrior
from botorch_private.privacy.history_promise import HistoryPromise

_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class FeatureChoice:
    """Features that a history found to matter, and what its people are promised.

    All of it follows from one private release of the history's moments, and from nothing of the table
    that is released later.

    Args:
        features: Names of the chosen features, the most correlated first; ``"feature 0"`` and so on
            where the scaling has no names.
        correlations: Noisy correlation of each with the outcome, in [-1, 1]; of a category that of its
            most correlated value.
        columns: Positions of their columns among those of the history, rising: the columns that
            `scaling` takes.
        scaling: Declared ranges of the chosen features, for `Curator`. One unit of distance is what it
            was with all features, so that an epsilon promises for each feature what it did.
        promise: To the people of the history.
        prior: What the same moments tell a modeler: `Modeler(prior=...)`.

    Example:
        >>> choice = choose_features(
        ...     records, outcomes, scaling, count=1, outcome_range=(-2.0, 2.0), epsilon=1.0, delta=1e-5
        ... )
        >>> Curator(records[:, choice.columns], choice.scaling, mechanism, outcomes)
        Curator(...)
    """

    features: tuple[str, ...]
    correlations: tuple[float, ...]
    columns: tuple[int, ...]
    scaling: PublicScaling
    promise: HistoryPromise
    prior: SearchPrior

    def encoding(self, declared: Encoding) -> Encoding:
        """The chosen ones of declared features, in their order; `scaling` is that of the result.

        Args:
            declared: Whose ``scaling`` the features were chosen by.

        Raises:
            ValueError: If they were chosen by other ranges.
        """
        kept = [each for each in declared.features if each.name in self.features]
        if len(kept) != len(self.features):
            raise ValueError("declared must be the features that were chosen from")
        return Encoding(kept, self.scaling.radius, history=self.promise)

    def __repr__(self) -> str:
        return f"FeatureChoice(features={list(self.features)}, people={self.promise.people})"


def choose_features(
    history: Any,
    outcomes: Any,
    scaling: PublicScaling,
    count: int,
    *,
    outcome_range: tuple[float, float],
    epsilon: float = 1.0,
    delta: float = 1e-5,
    public: bool = False,
    generator: torch.Generator | None = None,
) -> FeatureChoice:
    """Choose the features that go with the outcome, from *other* people whose outcomes are known.

    Noise for 22 features is so wide that a search learns little; with the few that matter it learns
    much. The choice is private for each person of the history, for any change of the whole record,
    outcome included: means, products and squares of their rows, cut to a norm, are released once with
    Gaussian noise, and the features are ranked by the size of their correlation with the outcome there.
    The people of the table keep all of their promise, since the choice is no function of their records.

    A yes/no counts by its correlation as 0 and 1. A category counts by the value of its that is most
    correlated, and is chosen with all of its values. A correlation is linear: a feature that matters in
    another way, or only together with others, is not found. With 300 people at epsilon 1 the noise is
    larger than what can be found; some thousands are needed.

    Args:
        history: ``m x d`` raw records, ``m >= 50``; the first 100,000 count, or fewer of many features.
            Nobody among them may be in the table that is released. Each is taken for a person: who has
            several is protected less.
        outcomes: Their ``m`` outcomes.
        scaling: Declared ranges of all features.
        count: How many features to choose, in 1..the number of features; a category is one.
        outcome_range: Declared smallest and largest outcome.
        epsilon: For a record of the history, > 0. Each call spends it anew on the same history.
        delta: In (0, 1).
        public: True: the history is public, or its people agree. No noise is added then, and
            ``epsilon`` and ``delta`` do nothing; the guarantee says so.
        generator: None: operating-system entropy. A generator voids the promise to the history.

    Raises:
        ValueError: If an argument is unusable; nothing has been drawn then.

    Example:
        >>> choice = choose_features(records, outcomes, scaling, 1, outcome_range=(-2.0, 2.0))
        >>> len(choice.features)
        1
    """
    if not isinstance(scaling, PublicScaling):
        raise TypeError(f"scaling must be a PublicScaling, got a {type(scaling).__name__}")
    groups = _groups(scaling)
    validate.count(count=count)
    if count > len(groups):
        raise ValueError(f"count must be at most the {len(groups)} features of scaling, got {count}")
    moments = release_moments(
        history,
        outcomes,
        scaling,
        learned="features",
        outcome_range=outcome_range,
        epsilon=epsilon,
        delta=delta,
        public=public,
        generator=generator,
    )
    found = correlations(moments)
    best = {name: max((found[c] for c in places), key=abs) for name, places in groups.items()}
    chosen = sorted(groups, key=lambda name: -abs(best[name]))[:count]  # stable: the order of ranges
    columns = sorted(column for name in chosen for column in groups[name])
    kept = _subset(scaling, columns, moments.promise)
    return FeatureChoice(
        tuple(chosen),
        tuple(best[name] for name in chosen),
        tuple(columns),
        kept,
        moments.promise,
        prior_of_moments(moments, columns, kept),
    )


def correlations(moments: Moments) -> list[float]:
    """Correlation of each of ``d`` features with the outcome, by noisy moments.

    A variance that noise has drowned counts as the deviation of that noise: who divided by less would
    rank features by their noise.
    """
    n, sums = moments.promise.people, moments.sums / moments.promise.people
    mean = sums[-2]
    covariance = sums[:-2, -1] - mean[:-2] * mean[-1]
    least = max(moments.deviation / n, _TINY)
    variance = np.maximum(np.delete(sums.diagonal() - mean**2, -2), least)
    found = covariance / np.sqrt(variance[:-1] * variance[-1])
    return np.clip(found, -1.0, 1.0).tolist()


def _groups(scaling: PublicScaling) -> Mapping[str, list[int]]:
    """Features in the order of their first columns, and the columns of each."""
    names = scaling.names or tuple(f"feature {column}" for column in range(scaling.features))
    feature_of = {column: step.name for step in scaling.steps for column in step.columns}
    groups: dict[str, list[int]] = {}
    for place, column in enumerate(names):
        groups.setdefault(feature_of.get(column, column), []).append(place)
    return groups


def _subset(scaling: PublicScaling, columns: list[int], promise: HistoryPromise) -> PublicScaling:
    """Ranges of some columns, in the same unit: the ball is as much smaller as they are fewer."""
    lower, upper, widths = (each[columns] for each in (scaling.lower, scaling.upper, scaling.widths))
    scale = [scaling.scale[column] for column in columns]
    log = torch.tensor([each == "log" for each in scale])
    unit = scaling.unit[columns]
    names = scaling.names and [scaling.names[column] for column in columns]
    kept = set(names or ())
    return PublicScaling(
        lower,
        upper,
        torch.where(log, unit.exp(), unit),
        math.hypot(*(widths / 2).tolist()),
        names=names,
        choices={step.name: step.columns for step in scaling.steps if kept.issuperset(step.columns)},
        scale=scale,
        history=promise,
    )
