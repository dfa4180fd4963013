"""LabelPosterior: exact posterior of all rows of a release of labels, by way of its K labels."""

from __future__ import annotations

from typing import Any

import torch
from botorch.models.transforms.outcome import Standardize
from torch import Tensor

from botorch_private.modeler.models.exactness import kernel_parts
from botorch_private.modeler.models.label_kernel import LabelKernel
from botorch_private.modeler.models.observed import Observed
from botorch_private.modeler.models.outcome_units import (
    Ranking,
    joint_moments,
    outcome_moments,
    ranking,
)
from botorch_private.modeler.models.own_variance import own_variance
from botorch_private.modeler.models.posterior import DiscretePosterior
from botorch_private.modeler.models.prior import prior_of
from botorch_private.modeler.models.rows_of_labels import RowsOfLabels
from botorch_private.modeler.models.snapshot import Snapshot
from botorch_private.modeler.models.sweep import CandidateSweep

_LEAST_SHARE = 1e-12  # of the largest variance, as in `ranking`
_NO_ROW = -1.0  # number of a row that is not there: equal to no other


class LabelPosterior(DiscretePosterior):
    """A `DiscretePosterior` for a model with a `LabelKernel`: O(K t) a round, at any number of rows.

    All rows with one label that were not observed have the same posterior. So it is kept for one row
    of each label that is not there, and looked up.

    Args:
        model: As for `DiscretePosterior`, with a `LabelKernel`, bare or in a ``ScaleKernel``.
        candidates: ``n x 2`` rows: the label, and the number of the row.
        max_memory: As for `DiscretePosterior`; of ``K x t`` numbers.

    Example:
        >>> posterior = LabelPosterior(model, release.candidates)  # release of a CellResponse
    """

    rows: RowsOfLabels

    def _take_hyperparameters(self, model: Any, observed: Observed, snapshot: Snapshot) -> None:
        kernel = label_kernel(model)
        assert kernel is not None
        count = kernel.space.count
        if "rows" not in vars(self):
            self.rows = RowsOfLabels.of(self.candidates, count)
        with torch.no_grad():
            labels = torch.arange(count).to(self.candidates)
            unseen = torch.stack([labels, torch.full_like(labels, _NO_ROW)], dim=1)
            observed.transform_again()
            self._sweep = CandidateSweep(model.transform_inputs(unseen), prior_of(model))
        self._unseen, self._Z, self._snapshot = unseen, self.candidates, snapshot

    def label_moments(self) -> tuple[Tensor, Tensor]:
        """Posterior mean and variance of a new row of each label, ``K`` numbers each."""
        self._update()
        variance = self._sweep.variance.clamp_min(0)
        return outcome_moments(self.model, self._sweep.mean, variance, self._unseen)

    def label_ranking(self, *, shared: bool = False) -> Ranking:
        """What rows that were not observed are compared by, one for each label."""
        self._update()
        own = own_variance(self.model, self._unseen) if shared else None
        return ranking(self.model, self._sweep, self._unseen, own=own)

    def ranking(self, *, shared: bool = False) -> Ranking:
        """What rows are compared by; of those that were observed as well."""
        labels = self.label_ranking(shared=shared)
        mean, variance = labels.mean[self.rows.labels], labels.variance[self.rows.labels]
        seen = self._seen()
        if len(seen):
            mean_there, variance_there = self.moments_of(seen, in_outcome_units=False)
            own = own_variance(self.model, self.candidates[seen]) if shared else None
            if own is not None:
                variance_there = variance_there - own
            least = float(labels.variance.max()) * _LEAST_SHARE
            mean[seen], variance[seen] = mean_there, variance_there.clamp_min(least)
        return labels._replace(mean=mean, variance=variance)

    def moments(self) -> tuple[Tensor, Tensor]:
        """Posterior mean and variance of each row, two fresh vectors of ``n`` numbers."""
        mean, variance = (part[self.rows.labels] for part in self.label_moments())
        seen = self._seen()
        if len(seen):
            mean[seen], variance[seen] = self.moments_of(seen, in_outcome_units=True)
        return mean, variance

    def moments_of(self, rows: Tensor, *, in_outcome_units: bool) -> tuple[Tensor, Tensor]:
        """Posterior mean and variance of some rows, which may have been observed."""
        X = self.candidates[rows]
        with torch.no_grad():
            mean, covariance = joint_moments(self.model, self._sweep, X)
        mean, variance = mean.to(X), covariance.diagonal().clamp_min(0).to(X)
        transform = getattr(self.model, "outcome_transform", None)
        if not in_outcome_units and (transform is None or type(transform) is Standardize):
            return mean, variance
        return outcome_moments(self.model, mean, variance, X)

    def assume(self, rows: list[int]) -> None:
        """Count rows as observed with their posterior mean, in place: for copies."""
        X = self.candidates[rows]
        with torch.no_grad():
            mean, _ = joint_moments(self.model, self._sweep, X)
        self._observed.assume(X, mean.double().tolist())

    def _fork(self) -> LabelPosterior:
        twin = super()._fork()
        assert isinstance(twin, LabelPosterior)
        twin.rows, twin._unseen = self.rows, self._unseen
        return twin

    def _seen(self) -> Tensor:
        """Rows that were observed, once each."""
        numbers = self._observed.rows().X[:, 1].round().long().unique()
        return numbers[(numbers >= 0) & (numbers < len(self.candidates))]


def label_kernel(model: Any) -> LabelKernel | None:
    """The `LabelKernel` of a model, bare or in a ``ScaleKernel``; None if it has another one."""
    kernel = kernel_parts(getattr(model, "covar_module", None))[-1]
    return kernel if type(kernel) is LabelKernel else None


def discrete_posterior(
    model: Any, candidates: Tensor, *, max_memory: int | None = None
) -> DiscretePosterior:
    """The fastest exact posterior of all rows; see `DiscretePosterior`."""
    plain = getattr(model, "input_transform", None) is None  # candidates are what the kernel takes
    if plain and label_kernel(model) is not None and candidates.shape[-1] == 2:
        return LabelPosterior(model, candidates, max_memory=max_memory)
    return DiscretePosterior(model, candidates, max_memory=max_memory)
