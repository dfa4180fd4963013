"""DiscreteUCB: GP-UCB over the rows of a fixed candidate set."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.analytic import AnalyticAcquisitionFunction
from botorch.acquisition.objective import PosteriorTransform
from botorch.exceptions import UnsupportedError
from botorch.models import SingleTaskGP
from botorch.models.gpytorch import GPyTorchModel
from botorch.models.model import Model, ModelList
from botorch.utils.transforms import average_over_ensemble_models, t_batch_mode_transform
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.frames import column_names
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private._base.record_index import RecordIndex
from botorch_private.modeler.acquisition.schedule import EXPLORATIONS, SHARED, beta_of
from botorch_private.modeler.acquisition.ties import best_index
from botorch_private.modeler.models.exactness import why_not_exact
from botorch_private.modeler.models.label_posterior import LabelPosterior, discrete_posterior
from botorch_private.modeler.models.memory import DEFAULT_MEMORY, NOTHING_KEPT
from botorch_private.modeler.models.outcome_units import Ranking, no_least_variance
from botorch_private.modeler.models.own_variance import own_variance
from botorch_private.modeler.models.posterior import DiscretePosterior

_CHUNK = 2048


class DiscreteUCB(AnalyticAcquisitionFunction):
    """Upper confidence bound ``mean + sqrt(beta_t) * std`` over a fixed candidate set.

    With ``exploration="theory"`` it is Algorithm 2 of Kharkovskii et al. (2020), with `ucb_beta` of the
    round and of the number of candidates: equal to BoTorch's ``UpperConfidenceBound`` at the same beta,
    with beta in float64. The regret bounds of the theory are about this rule.

    By default the deviation is that of the part which records share. With a noise-aware kernel
    (`ReleasedInputKernel`, and that of labels) the variance of an unmeasured row is this part's and a
    constant of the record's own, which no question elsewhere makes smaller. The constant flattens the
    bonus, and a search then stays near its first good rows. Without it, and with beta at its theoretical
    value for 10 rounds and a fifth of it afterwards, a search finds better records; no regret bound is
    claimed for it. A record's own part is unknown to other kernels, and to outcome transforms other than
    `Standardize`: there the deviation is the whole one.

    It works with ``optimize_acqf_discrete(acqf, q, choices=candidates)``. `select` is the direct
    way: it returns row indices, which floating-point copies of a row cannot confuse. Points that are
    not among the candidates are refused: one that moves in a continuous space ends at none of them.

    `select` compares scores without unit and origin, where the model has `Standardize` or no outcome
    transform: the choice is the same for outcomes in another unit.

    Pending rows (``X_pending``, set by the optimizer for ``q > 1`` or by the user) are hallucinated:
    the model is conditioned on its own posterior mean there, so that the mean stays and the
    deviation shrinks (GP-BUCB, Desautels et al. 2014).

    Speed: `select` and `scores` use a `DiscretePosterior`, which is built here for any exact
    single-output GP, and costs O(n t (r + t)). Pass one instead of a model to keep it from round to
    round: O(n (r + t)) each. Models that it does not do (several outputs, ensembles, other
    likelihoods, a ``posterior_transform``) are scored in chunks by their own ``posterior``.

    Repeats: nothing is excluded unless `select` is told so with ``exclude``. The acquisition
    function does not know what was asked, and with a noisy objective a repeat can be right; a
    `Curator`, however, answers a repeat from memory, so `Modeler` always excludes what it asked.

    Args:
        model: A `DiscretePosterior`, any single-outcome BoTorch model with a posterior, or a
            multi-output one with a ``posterior_transform``.
        candidates: ``n x d`` inputs, of the model's dtype and on its device: raw records for a model
            with a `PrivateProjectionTransform`, released rows for a model without. None: those of the
            `DiscretePosterior`.
        t: Round, counted from 1: the modeler's own rounds, not the warm-up points.
        failure_probability: The paper's ``delta'``, in (0, 1).
        beta: Overrides the schedule by a number >= 0; `beta_scale` then does nothing.
        beta_scale: Factor of `ucb_beta`, > 0, in all rounds. Srinivas et al. (2010), section 6, took 1/5
            in their experiments. Below 1 the regret bounds do not hold. None: 1, and with
            ``exploration="shared"`` 0.2 after 10 rounds.
        exploration: ``"shared"``: the deviation of the part that records share. ``"theory"``: the whole
            posterior deviation.
        posterior_transform: As in BoTorch.
        maximize: False: look for small outcomes.
        chunk_size: Candidates scored at once by a model without a `DiscretePosterior`.
        max_memory: Bytes that a `DiscretePosterior` built here may keep; 1 GiB by default.
        X_pending: As for `set_X_pending`.

    Raises:
        ValueError: If an argument is out of range, `candidates` are not finite, or they are not those
            of the `DiscretePosterior`.

    Example:
        >>> acqf = DiscreteUCB(model, candidates=release.candidates, t=1)
        >>> index = acqf.select(q=1, exclude=asked)
    """

    _built: DiscretePosterior | None
    _index: RecordIndex | None

    @on_cpu_by_default
    def __init__(
        self,
        model: Model,
        candidates: Tensor | None,
        t: int,
        failure_probability: float = 0.025,
        *,
        beta: float | None = None,
        beta_scale: float | None = None,
        exploration: str = SHARED,
        posterior_transform: PosteriorTransform | None = None,
        maximize: bool = True,
        chunk_size: int = _CHUNK,
        max_memory: int = DEFAULT_MEMORY,
        X_pending: Tensor | None = None,
    ) -> None:
        candidates = _checked(candidates, model)
        validate.count(chunk_size=chunk_size, max_memory=max_memory)
        validate.one_of(EXPLORATIONS, exploration=exploration)
        beta = beta_of(
            t,
            len(candidates),
            failure_probability,
            beta=beta,
            beta_scale=beta_scale,
            exploration=exploration,
        )
        super().__init__(model=model, posterior_transform=posterior_transform)
        self.candidates = candidates
        self.beta = beta
        self.exploration = exploration
        self.maximize = maximize
        self.chunk_size = chunk_size
        self.max_memory = max_memory
        self._unconditioned = model
        object.__setattr__(self, "_built", None)  # beside the modules: not part of the state
        object.__setattr__(self, "_index", None)
        self.set_X_pending(X_pending)

    @on_cpu_by_default
    def forward(self, X: Tensor) -> Tensor:
        """Score candidates.

        Args:
            X: ``batch_shape x 1 x d`` candidates, of their dtype and with exactly their values (not
                rounded through float32): any other point would have a score, but no row to measure.

        Returns:
            ``batch_shape`` scores.

        Raises:
            ValueError: If a point is not one of the candidates (naming its position).
        """
        if X.dtype != self.candidates.dtype:
            # BoTorch would cast the whole model to the dtype of X, for good.
            raise ValueError(f"X must be {self.candidates.dtype} like the candidates, got {X.dtype}")
        self._refuse_other_points(X)
        return self._score(X)

    @t_batch_mode_transform(expected_q=1)
    @average_over_ensemble_models  # pyright: ignore[reportArgumentType]
    def _score(self, X: Tensor) -> Tensor:
        # The floors of BoTorch, 1e-12, and of GPyTorch, 1e-10, have a unit: with outcomes of 1e-9 they
        # would be all that is left.
        with no_least_variance():
            mean, std = self._mean_and_sigma(X, min_var=torch.finfo(X.dtype).tiny)
        assert std is not None  # it is None only where it was not asked for
        own = self._own_variance(X)
        if own is not None:
            std = (std.square() - own.reshape_as(std)).clamp_min(torch.finfo(X.dtype).tiny).sqrt()
        return self._combined(mean, std).squeeze(-1)

    def _combined(self, mean: Tensor, deviation: Tensor) -> Tensor:
        """Scores of moments in outcome units."""
        return (mean if self.maximize else -mean) + math.sqrt(self.beta) * deviation

    def _own_variance(self, X: Tensor) -> Tensor | None:
        """What to leave out of the variances of ``batch_shape x 1 x d`` points, in outcome units."""
        model: Any = self.model.model if isinstance(self.model, DiscretePosterior) else self.model
        if self.exploration != SHARED or self.posterior_transform is not None:
            return None
        if not isinstance(model, SingleTaskGP):
            return None
        own = own_variance(model, model.transform_inputs(X.reshape(-1, X.shape[-1])))
        if own is None:
            return None
        transform: Any = getattr(model, "outcome_transform", None)
        scale = 1.0 if transform is None else float(transform.stdvs)
        return own * scale**2

    def _refuse_unlike_candidates(self, X_pending: Any) -> None:
        d, kind = self.candidates.shape[-1], self.candidates.dtype
        shaped = isinstance(X_pending, Tensor) and X_pending.ndim == 2 and X_pending.shape[1] == d
        if not shaped or X_pending.dtype != kind:
            found = (
                f"{X_pending.dtype} of shape {tuple(X_pending.shape)}"
                if isinstance(X_pending, Tensor)
                else type(X_pending).__name__
            )
            raise ValueError(
                f"X_pending must be an m x {d} tensor of {kind} like the candidates, such as "
                f"candidates[rows], got {found}"
            )

    def _refuse_other_points(self, X: Tensor) -> None:
        d = self.candidates.shape[-1]
        if X.ndim < 2 or X.shape[-1] != d:
            raise ValueError(f"X must be batch_shape x 1 x {d} candidates, got shape {tuple(X.shape)}")
        if self._index is None:
            object.__setattr__(self, "_index", RecordIndex(_on_cpu(self.candidates)))
        assert self._index is not None
        other = torch.from_numpy(self._index.find(_on_cpu(X.reshape(-1, d))) < 0)
        if other.any():
            first = tuple(other.reshape(X.shape[:-1]).nonzero()[0].tolist())
            raise ValueError(
                f"X must hold candidates only, with exactly their values, but {int(other.sum())} of "
                f"{len(other)} points are none (first: position {first}): choose by select(), or by "
                f"optimize_acqf_discrete(choices=candidates), not by an optimizer that moves points or "
                f"rounds them"
            )

    @on_cpu_by_default
    def set_X_pending(self, X_pending: Tensor | None = None) -> None:  # noqa: N802
        """Condition on the posterior mean at pending points, or on nothing.

        Args:
            X_pending: ``m x d`` points that were asked and not yet answered, in the place of earlier
                ones; None: forget those. They are copied, without their gradients.

        Warns:
            BotorchWarning: If they require gradients, which they do not get.
        """
        model: Any = self._unconditioned
        if X_pending is not None:
            self._refuse_unlike_candidates(X_pending)
        if X_pending is not None and len(X_pending) > 0:
            with torch.no_grad():
                model = _hallucinate(self._exact(once=False) or model, X_pending.detach())
        AcquisitionFunction.set_X_pending(self, X_pending)  # that of analytic functions refuses
        self.model = model

    @on_cpu_by_default
    def scores(self) -> Tensor:
        """Scores of all candidates, ``n`` numbers, without gradients.

        Raises:
            ValueError: If the model gives a score that is not finite.
        """
        scores, ranking = self._scores(self._conditioned(once=True))
        if ranking is None:
            return scores
        return self._in_outcome_units(scores, ranking)

    def ranked_scores(self) -> tuple[Tensor, Ranking]:
        """Scores of all candidates in the units of the posterior's ranking, and that ranking.

        For whoever compares them with scores of other candidates under the same model.

        Raises:
            ValueError: If the model has no `DiscretePosterior`, or gives a score that is not finite.
        """
        posterior = self._conditioned(once=True)
        if posterior is None:
            raise ValueError("model must be one that a DiscretePosterior can be made of")
        scores, ranking = self._scores(posterior)
        assert ranking is not None
        return scores, ranking

    def __getstate__(self) -> dict[str, Any]:
        """Without the fast posterior and the index, which are large and are built again."""
        return {**vars(self), "_built": None, "_index": None}

    def _exact(self, *, once: bool) -> DiscretePosterior | None:
        """Posterior of the candidates without pending points, where there is a fast one.

        Args:
            once: Nothing will be added to it, so that keeping V would only cost time.
        """
        model = self._unconditioned
        if isinstance(model, DiscretePosterior):
            return model
        if why_not_exact(model):
            return None
        if self._built is None or (self._built.max_memory == NOTHING_KEPT and not once):
            memory = NOTHING_KEPT if once else self.max_memory
            built = discrete_posterior(model, self.candidates, max_memory=memory)
            object.__setattr__(self, "_built", built)
        return self._built

    def _conditioned(self, *, once: bool) -> DiscretePosterior | None:
        """The same given the pending points, where it scores candidates as they are."""
        if self.posterior_transform is not None:
            return None
        if self.model is self._unconditioned:
            return self._exact(once=once)
        return self.model if isinstance(self.model, DiscretePosterior) else None

    def _scores(self, posterior: DiscretePosterior | None) -> tuple[Tensor, Ranking | None]:
        """Scores by a fast posterior, in the units of its ranking, or in chunks by the model; fresh."""
        ranking = None
        if posterior is None:
            with torch.no_grad():
                chunks = self.candidates.unsqueeze(-2).split(self.chunk_size)
                scores = torch.cat([self._score(chunk) for chunk in chunks])
        else:
            ranking = posterior.ranking(shared=self.exploration == SHARED)
            scores = self._bound(ranking)
        return self._finite(scores, ranking), ranking

    def _bound(self, ranking: Ranking) -> Tensor:
        """The same in the units of a ranking, up to a constant; in its place."""
        mean, deviation = ranking.mean, ranking.variance.sqrt_()
        return (mean if self.maximize else mean.neg_()).add_(deviation, alpha=math.sqrt(self.beta))

    def _in_outcome_units(self, scores: Tensor, ranking: Ranking) -> Tensor:
        return scores.mul_(ranking.scale).add_(ranking.origin if self.maximize else -ranking.origin)

    @staticmethod
    def _finite(scores: Tensor, ranking: Ranking | None) -> Tensor:
        scale, origin = (1.0, 0.0) if ranking is None else (ranking.scale, ranking.origin)
        if not all(map(math.isfinite, [*map(float, scores.aminmax()), scale, origin])):
            bad = ~torch.isfinite(scores * scale + origin)
            raise ValueError(
                f"model must give finite scores, got {int(bad.sum())} of {len(scores)} that are not "
                f"(first: candidate {int(bad.nonzero()[0])}): check its data and hyperparameters"
            )
        return scores

    @on_cpu_by_default
    def select(
        self,
        q: int = 1,
        exclude: Iterable[int] | Tensor | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Choose candidates by index.

        Args:
            q: How many different candidates. After the first, each is chosen as if the earlier ones
                had been answered with their posterior mean (GP-BUCB).
            exclude: Row indices that must not be chosen, such as those asked before.
            generator: Breaks ties at random. None: the lowest index wins, and a tie is reported by
                a `TiedScoresWarning`.

        Returns:
            ``q`` different row indices, int64.

        Raises:
            ValueError: If fewer than ``q`` candidates are left, an index is out of range, or the
                model gives a score that is not finite.
        """
        validate.count(q=q)
        n = len(self.candidates)
        if exclude is not None and not _is_collection(exclude):
            raise ValueError(
                f"exclude must be a collection of row indices, got {type(exclude).__name__}: of a data "
                f"frame, take the column"
            )
        closed = {
            index if type(index) is int and 0 <= index < n else validate.index(n, exclude=index)
            for index in (() if exclude is None else exclude)
        }
        if n - len(closed) < q:
            raise ValueError(f"q must be at most the {n - len(closed)} candidates left, got {q}")
        pending, posterior = self.X_pending, self._conditioned(once=q == 1)
        chosen: list[int] = []
        try:
            while True:
                shut = closed.union(chosen)
                if isinstance(posterior, LabelPosterior):
                    chosen.append(self._best_of_labels(posterior, shut, generator))
                else:
                    scores, ranking = self._scores(posterior)
                    resolution = 0.0 if ranking is None else ranking.resolution
                    chosen.append(best_index(scores, shut, generator, resolution))
                if len(chosen) == q:
                    return torch.tensor(chosen)
                if posterior is not None and len(chosen) == 1:
                    posterior = posterior.hallucinate(chosen)
                elif posterior is not None:
                    posterior.assume(chosen[-1:])
                else:
                    batch = self.candidates[chosen]
                    self.set_X_pending(batch if pending is None else torch.cat([pending, batch]))
        finally:
            if posterior is None and q > 1:
                self.set_X_pending(pending)

    def _best_of_labels(
        self, posterior: LabelPosterior, closed: set[int], generator: torch.Generator | None
    ) -> int:
        """A row of the best label that has one left: rows of one label do not differ."""
        ranking = posterior.label_ranking(shared=self.exploration == SHARED)
        scores = self._finite(self._bound(ranking), ranking)
        used_up = (posterior.rows.left(closed) == 0).nonzero().squeeze(-1).tolist()
        label = best_index(scores, used_up, generator, ranking.resolution)
        return posterior.rows.one_of(label, closed, generator)


def _checked(candidates: Tensor | None, model: Model) -> Tensor:
    """Candidates that fit the model."""
    if isinstance(model, DiscretePosterior):
        known = model.candidates
        if candidates is None or candidates is known:
            return known  # checked before
        if not isinstance(candidates, Tensor) or not torch.equal(candidates, known):
            raise ValueError("candidates must be those of the DiscretePosterior: pass None to take them")
        return known
    candidates = validate.points(candidates=candidates)
    for name, parameter in model.named_parameters():
        # BoTorch would cast the whole model to the dtype of the candidates, for good.
        if parameter.dtype != candidates.dtype:
            raise ValueError(
                f"candidates must have the dtype of the model, got {candidates.dtype} for a model "
                f"whose {name} is {parameter.dtype}"
            )
    return candidates


def _on_cpu(points: Tensor) -> Any:
    return points.detach().to(device="cpu", dtype=torch.float64).numpy()


def _is_collection(value: Any) -> bool:
    """Whether a value holds row indices: a Series does, and a frame, whose items are names, does not."""
    several = isinstance(value, Iterable) and getattr(value, "ndim", 1) == 1
    return several and not isinstance(value, str) and column_names(value) is None


def _hallucinate(model: Any, X: Tensor) -> Model:
    """Model that counts ``m x d`` points as observed with its posterior mean there.

    Raises:
        UnsupportedError: If the model cannot be conditioned on observations.
    """
    if isinstance(model, ModelList):
        return type(model)(*[_hallucinate(part, X) for part in model.models])
    if isinstance(model, DiscretePosterior):
        return model.hallucinate_points(X)
    if not isinstance(model, GPyTorchModel) or not hasattr(model, "get_fantasy_model"):
        raise UnsupportedError(
            f"pending rows and q > 1 need a model that can be conditioned on observations, got "
            f"{type(model).__name__}: choose one row at a time"
        )
    # The prediction also fills the caches that conditioning builds on.
    mean = model.posterior(X).mean
    likelihood = getattr(model, "likelihood", None)
    if not isinstance(likelihood, FixedNoiseGaussianLikelihood):
        return model.condition_on_observations(X, mean)
    # As in `fantasize`: a new observation has the average noise of the known ones.
    noise = likelihood.noise.mean(dim=-1).expand_as(mean)
    return model.condition_on_observations(X, mean, noise=noise)
