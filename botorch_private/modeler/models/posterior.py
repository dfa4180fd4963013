"""DiscretePosterior: exact GP on a fixed candidate set, one Cholesky row per observation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from botorch.acquisition.objective import PosteriorTransform
from botorch.exceptions import UnsupportedError
from botorch.models.model import Model
from botorch.posteriors import Posterior
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.modeler.models.exactness import why_not_exact
from botorch_private.modeler.models.observed import Observed
from botorch_private.modeler.models.outcome_units import (
    Ranking,
    joint_moments,
    joint_posterior,
    outcome_moments,
    ranking,
)
from botorch_private.modeler.models.own_variance import own_variance
from botorch_private.modeler.models.prior import prior_of
from botorch_private.modeler.models.snapshot import Snapshot
from botorch_private.modeler.models.sweep import CandidateSweep


class DiscretePosterior(Model):
    r"""Exact GP posterior of all rows of a fixed candidate set, kept up to date.

    It keeps ``V = L^-1 K(X_t, Z)``, ``t x n``, for the Cholesky factor ``L`` of the covariance of the
    ``t`` observations. A further observation costs O(n (r + t)): one kernel row and one pass over
    ``V``. Other values of the same observations (a correction, a changed `Standardize`) cost O(n t).
    Only changed hyperparameters need a new ``V``, O(n t (r + t)).

    Each access compares the parameters, buffers and modules of the model with what they were. A plain
    attribute, such as the ``nu`` of a `MaternKernel`, is not looked at: after changing one in place,
    call `update` with the model.

    The numbers are those of ``model.posterior(candidates)``, without its ``n x n`` matrix. It is a
    BoTorch model itself: `posterior` gives the joint posterior at any points, and
    `condition_on_observations` a copy with more observations that shares ``V``.

    Memory: ``V`` takes ``n t`` numbers (8 bytes in float64: 0.8 GB for a million candidates and 100
    observations). Before more is allocated the need is logged, at level INFO, and refused where the
    machine does not have it; see ``max_memory``.

    Jitter: an observation that the earlier ones determine up to rounding (pivot below
    ``8 t eps k_max``, with ``eps`` of float64) gets that much noise, which is logged once. It takes
    nearly equal rows under a noise variance of about 1e-12 of the prior's to get there.

    float32: the ``t x t`` part is in float64, ``V`` is not. The error of the mean stays below
    ``1.2e-7 t / noise`` and that of the deviation below 0.003, in prior deviations and with the noise
    variance as a share of the prior variance: take float64 where that matters, as with a noise
    below 0.001.

    Args:
        model: A single-output exact GP of BoTorch with Gaussian noise, learned or known, without
            batch: any mean, kernel, input and outcome transform. Put into eval mode, as by its own
            ``posterior``.
        candidates: ``n x d`` inputs of the model, of its dtype and on its device. Kept, not copied.
        max_memory: Bytes that ``V`` may take. What does not fit is recomputed for each observation,
            O(n t (r + t)) for that share of the candidates. None: everything is kept, or refused.

    Raises:
        UnsupportedError: If the model has several outputs, a batch, or another likelihood.
        ValueError: If the candidates are not finite or do not fit the model.

    Example:
        >>> posterior = DiscretePosterior(model, release.candidates)
        >>> index = int(DiscreteUCB(posterior, release.candidates, t=1).select(exclude=asked))
        >>> posterior.append(index, 1.5)
    """

    @on_cpu_by_default
    def __init__(self, model: Any, candidates: Tensor, *, max_memory: int | None = None) -> None:
        super().__init__()
        _require_exact(model)
        validate.points(candidates=candidates)
        trained = model.train_inputs[0]
        if _kind(candidates) != _kind(trained):
            raise ValueError(
                f"candidates must have the dtype and device of the model, {_kind(trained)}, got "
                f"{_kind(candidates)}"
            )
        if max_memory is not None:
            validate.count(max_memory=max_memory)
        self.model = model
        self.candidates = candidates
        self.max_memory = max_memory
        self._observed = Observed(model)
        self._take_hyperparameters(model, self._observed, Snapshot(model))

    # --- what it says ---

    @property
    def num_outputs(self) -> int:
        """One."""
        return 1

    @property
    def batch_shape(self) -> torch.Size:
        """No batch."""
        return torch.Size([])

    @property
    def mean(self) -> Tensor:
        """Posterior mean of each candidate, ``n`` numbers, in outcome units."""
        return self.moments()[0]

    @property
    def variance(self) -> Tensor:
        """Posterior variance of each candidate's objective, without noise, in squared outcome units."""
        return self.moments()[1]

    @property
    def num_observations(self) -> int:
        """How many observations it is conditioned on."""
        self._notice_new_data()
        return self._observed.count

    @property
    def resolution(self) -> float:
        """Difference below which two scores are equal to rounding, in outcome units.

        1e-10 prior standard deviations in float64, 1e-5 in float32, and more where observations
        contradict a model that expects little noise. For outcome transforms other than `Standardize`:
        of the largest posterior deviation.
        """
        ranking = self.ranking()
        return ranking.resolution * ranking.scale

    @property
    def memory(self) -> int:
        """Bytes that ``V`` takes now."""
        return self._sweep.memory

    @on_cpu_by_default
    def moments(self) -> tuple[Tensor, Tensor]:
        """Posterior mean and variance of each candidate, two fresh vectors of ``n`` numbers."""
        self._update()
        variance = self._sweep.variance.clamp_min(0)
        return outcome_moments(self.model, self._sweep.mean, variance, self.candidates)

    @on_cpu_by_default
    def ranking(self, *, shared: bool = False) -> Ranking:
        """What candidates are compared by: moments without unit and origin, where the model has such.

        Args:
            shared: Leave a record's own part out of its variance (see `own_variance`), one number less
                for each: of an unmeasured row, the variance of the part that records share is left.
        """
        self._update()
        own = own_variance(self.model, self._Z) if shared else None
        return ranking(self.model, self._sweep, self.candidates, own=own)

    @on_cpu_by_default
    def posterior(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        X: Tensor,
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: PosteriorTransform | None = None,
    ) -> Posterior:
        """Joint posterior at any points, differentiable in them.

        Args:
            X: ``batch_shape x q x d`` points.
            output_indices: None or [0], as in BoTorch.
            observation_noise: True: of an observation rather than of the objective. A tensor,
                ``batch_shape x q x 1``: with these noise variances, in the model's units.
            posterior_transform: As in BoTorch.
        """
        if output_indices not in (None, [0]):
            raise ValueError(f"output_indices must be None or [0] for one output, got {output_indices}")
        self._update()
        X = self.model.transform_inputs(X)
        posterior = joint_posterior(self.model, self._sweep, X, observation_noise)
        return posterior if posterior_transform is None else posterior_transform(posterior, X=X)

    # --- what it learns ---

    @on_cpu_by_default
    def append(self, index: int, value: float, *, noise_variance: float | None = None) -> None:
        """Observe a candidate. The arithmetic waits for the next access.

        Args:
            index: Candidate in 0..n-1; it may be observed again.
            value: Outcome, finite.
            noise_variance: Variance of its noise, in squared outcome units, for a model with known
                noise (`FixedNoiseGaussianLikelihood`), and for no other.
        """
        row = validate.index(len(self.candidates), index=index)
        value = self._observed.checked_value(value=value)
        noise = self._observed.checked_noise(noise_variance)
        self._notice_new_data()
        self._observed.add(self.candidates[row : row + 1], [value], [noise])

    @on_cpu_by_default
    def correct(self, index: int, value: float) -> None:
        """Replace the value of an observed candidate, O(n t).

        Args:
            index: Candidate that was observed once, in the model's training data or by `append`.
            value: The right outcome, finite.

        Raises:
            ValueError: If the candidate was never observed, or more than once.
        """
        row = validate.index(len(self.candidates), index=index)
        value = self._observed.checked_value(value=value)
        self._notice_new_data()
        places = self._observed.positions(self._Z[row])
        if len(places) != 1:
            raise ValueError(
                f"index must be a candidate that was observed once, got {row}, which was observed "
                f"{len(places)} times: for repeated rows, give the model its data anew and call update"
            )
        self._observed.correct(places[0], value)

    @on_cpu_by_default
    def update(self, model: Any) -> None:
        """Go on with another model of the same candidates, keeping what still holds of ``V``.

        Its training data replace all observations, and appended ones are forgotten. Where its
        hyperparameters are equal, the observations that both begin with are not computed again: a
        model of one more observation, with a new `Standardize`, costs O(n (r + t)).

        Args:
            model: As for the constructor, of the same dtype, device and number of inputs.
        """
        _require_exact(model)
        ours, theirs = (_kind(each.train_inputs[0]) for each in (self.model, model))
        if ours != theirs:
            raise ValueError(f"model must stay {ours}, got {theirs}")
        observed, snapshot = Observed(model), Snapshot(model)
        if snapshot != self._snapshot:
            self._take_hyperparameters(model, observed, snapshot)
        else:
            _require_width(self._Z, model)
            with torch.no_grad():
                self._sweep.follow(prior_of(model))
        self.model, self._observed, self._snapshot = model, observed, snapshot

    @on_cpu_by_default
    def condition_on_observations(
        self, X: Tensor, Y: Tensor, noise: Tensor | None = None, **kwargs: Any
    ) -> DiscretePosterior:
        """Copy with more observations, which shares ``V``; this posterior is left as it is.

        Args:
            X: ``m x d`` points, candidates or not.
            Y: ``m x 1`` outcomes.
            noise: ``m x 1`` noise variances in squared outcome units for a model with known noise;
                None: the average of the known ones.
            **kwargs: Ignored, as BoTorch passes options of its own models.

        Raises:
            ValueError: If the shapes do not fit, or something is missing, infinite, or has no place in
                the model's units.
        """
        values, variances = self._checked(X, Y, noise)
        twin = self._fork()
        twin._observed.add(X, values, variances)
        return twin

    @on_cpu_by_default
    def hallucinate(self, indices: Sequence[int]) -> DiscretePosterior:
        """Copy that counts candidates as observed with their posterior mean.

        The mean stays as it is, in the model's units, and the variance shrinks: how GP-BUCB (Desautels
        et al. 2014) treats pending queries. O(n (r + t)) for each; the copy shares ``V``.

        Args:
            indices: Candidates in 0..n-1 that were asked and not answered yet.
        """
        rows = [validate.index(len(self.candidates), indices=index) for index in indices]
        twin = self._fork()
        if rows:
            twin.assume(rows)
        return twin

    @on_cpu_by_default
    def hallucinate_points(self, X: Tensor) -> DiscretePosterior:
        """The same for any finite ``m x d`` points, candidates or not."""
        self._require_points_like_candidates(X)
        twin = self._fork()
        with torch.no_grad():
            mean, _ = joint_moments(self.model, self._sweep, self.model.transform_inputs(X))
        twin._observed.assume(X, mean.tolist())
        return twin

    def assume(self, rows: list[int]) -> None:
        """Count candidates as observed with their posterior mean, in place: for copies.

        The mean is that of the last access: changes since are not looked for again.
        """
        self._observed.assume(self.candidates[rows], self._sweep.mean[rows].double().tolist())

    # --- how ---

    def _fork(self) -> DiscretePosterior:
        self._update()
        twin = type(self).__new__(type(self))
        Model.__init__(twin)
        twin.model, twin.candidates, twin.max_memory = self.model, self.candidates, self.max_memory
        twin._snapshot, twin._Z = self._snapshot, self._Z
        twin._observed, twin._sweep = self._observed.fork(), self._sweep.fork()
        return twin

    def _checked(self, X: Tensor, Y: Tensor, noise: Tensor | None) -> tuple[list[float], list[float]]:
        """Return outcomes and noise variances (NaN: not given) of ``m x d`` points."""
        given = [part for part in (X, Y, noise) if part is not None]
        if X.ndim != 2 or any(part.numel() != len(X) for part in given[1:]):
            raise ValueError(
                f"X and Y must be m x d points and m x 1 outcomes, and noise m x 1 variances of theirs, "
                f"got {[tuple(part.shape) for part in given]}"
            )
        if not len(X):
            return [], []
        self._require_points_like_candidates(X)
        values = validate.vector(Y=Y.reshape(-1)).tolist()
        for value in values:
            self._observed.checked_value(Y=value)
        if noise is None:
            return values, [math.nan] * len(X)
        variances = validate.vector(noise=noise.reshape(-1)).tolist()
        validate.non_negative(noise=min(variances))
        return values, variances

    def _require_points_like_candidates(self, X: Tensor) -> None:
        validate.points(X=X)
        d = self.candidates.shape[-1]
        if X.shape[-1] != d or _kind(X) != _kind(self.candidates):
            raise ValueError(
                f"X must have {d} columns like the candidates, {_kind(self.candidates)}, got "
                f"{X.shape[-1]}, {_kind(X)}"
            )

    def _notice_new_data(self) -> None:
        if self._observed.stale():
            self._observed = Observed(self.model)

    def _take_hyperparameters(self, model: Any, observed: Observed, snapshot: Snapshot) -> None:
        """Start from no observations, with a model's present hyperparameters."""
        with torch.no_grad():
            Z = model.transform_inputs(self.candidates).detach()
            _require_width(Z, model)
            observed.transform_again()
            self._sweep = CandidateSweep(Z, prior_of(model))
        self._Z, self._snapshot = Z, snapshot

    def _update(self) -> None:
        """Bring the sweep to the observations and hyperparameters of now."""
        with torch.no_grad():
            self._notice_new_data()
            if not self._snapshot.holds():
                self._take_hyperparameters(self.model, self._observed, Snapshot(self.model))
            self._sweep.update(self._observed.rows(), self.max_memory)


def _kind(tensor: Tensor) -> str:
    return f"{tensor.dtype} on {tensor.device}"


def _require_exact(model: Any) -> None:
    """Refuse a model whose posterior is not the one that is computed here."""
    reason = why_not_exact(model)
    if reason:
        raise UnsupportedError(f"DiscretePosterior needs {reason}")


def _require_width(Z: Tensor, model: Any) -> None:
    """Refuse transformed candidates that are not as wide as those inputs of a model in eval mode."""
    columns = model.train_inputs[0].shape[-1]
    if Z.shape[-1] != columns:
        raise ValueError(
            f"candidates must have {columns} columns like the inputs of the model, got {Z.shape[-1]}"
        )
