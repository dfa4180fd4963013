"""CandidateSweep: V for all candidates, grown row by row; the arithmetic of DiscretePosterior."""

from __future__ import annotations

import copy
import logging
import math
from typing import Any

import torch
from torch import Tensor

from botorch_private._base.memory import free_memory, in_words
from botorch_private.modeler.models.candidate_block import SLAB, CandidateBlock
from botorch_private.modeler.models.cholesky import extend_cholesky
from botorch_private.modeler.models.memory import MUCH
from botorch_private.modeler.models.observed import Rows
from botorch_private.modeler.models.prior import ForwardPrior

_log = logging.getLogger(__name__)
_GROWTH = 2.0**-52 / 1e-10  # how far rounding of float64 lies under the usual resolution
_LEAST_NOISE = 1e-15  # deviation, as a share of the prior's
_BLOCK = 2**16  # candidates of a block on the CPU; a GPU takes all at once


class CandidateSweep:
    """Posterior mean and variance of all candidates under fixed hyperparameters, in model units.

    `update` brings it to any set of observations, and keeps what the present and the wanted set
    begin with in common. All of it runs on the candidates' device; the ``t x t`` part in float64.

    Args:
        Z: ``n x r`` candidates, as the kernel takes them.
        prior: Prior of the model.
    """

    def __init__(self, Z: Tensor, prior: ForwardPrior) -> None:
        n = len(Z)
        self.Z, self.prior = Z, prior
        prior.prepare(Z)
        self.mean, self.variance = Z.new_empty(n), Z.new_empty(n)
        size = n if Z.is_cuda else _BLOCK
        self._columns = [slice(start, min(start + size, n)) for start in range(0, n, size)]
        self._blocks = [
            CandidateBlock(Z[c], prior, self.mean[c], self.variance[c]) for c in self._columns
        ]
        self.prior_deviation = math.sqrt(float(self.variance.max()))
        empty = Z.new_empty(0, dtype=torch.float64)
        self.rows = Rows(Z[:0], empty, empty)
        self.factor = Z.new_empty(0, 0, dtype=torch.float64)
        self.weights = empty
        self._whole = True  # no update was cut off
        self._weighed = True  # the mean counts the rows of V, and only them
        self._jittered = False

    @property
    def memory(self) -> int:
        """Bytes that V takes."""
        return sum(block.bytes(block.rows) for block in self._blocks)

    @property
    def rounding_growth(self) -> float:
        """How much more than usually rounding weighs in the means, >= 1.

        A mean is V times the weights. Rounding of V grows with the condition of the factor, of which
        ``prior deviation / noise deviation`` is the usual size, and counts as weights are large.
        """
        if not len(self.weights):
            return 1.0
        noise = math.sqrt(max(float(self.rows.noise.min()), 0.0)) / (self.prior_deviation or 1.0)
        return max(1.0, _GROWTH / max(noise, _LEAST_NOISE) * float(self.weights.norm()))

    def fork(self) -> CandidateSweep:
        """Copy that shares V; both can go on without disturbing each other."""
        twin = copy.copy(self)
        twin.mean, twin.variance = self.mean.clone(), self.variance.clone()
        twin._blocks = [
            block.fork(twin.mean[columns], twin.variance[columns])
            for block, columns in zip(self._blocks, self._columns, strict=True)
        ]
        return twin

    def __setstate__(self, state: dict[str, Any]) -> None:
        """After unpickling, which copies the parts of a vector that blocks write to."""
        vars(self).update(state)
        for block, columns in zip(self._blocks, self._columns, strict=True):
            block.Z = self.Z[columns]
            block.mean, block.variance = self.mean[columns], self.variance[columns]

    def follow(self, prior: ForwardPrior) -> None:
        """Take over an equal prior of another model, so that the old one may change."""
        prior.near = self.prior.near
        self.prior = prior
        for block in self._blocks:
            block.follow(prior)

    def update(self, rows: Rows, max_memory: int | None) -> None:
        """Bring mean and variance to these observations."""
        if not self._whole:
            self._start_over()
        t = self._common(rows)
        if t == len(self.rows.X) == len(rows.X) and torch.equal(rows.targets, self.rows.targets):
            return
        self._make_room(len(rows.X), max_memory)
        rows = Rows(*(part.clone() for part in rows))  # the model's own may change in place
        self._whole = False
        self._shorten(t)
        if len(rows.X) > t:
            self._extend(rows)
        else:
            self._reweigh(rows)
        self._whole = True

    def _start_over(self) -> None:
        """Forget what an interrupt left half-done."""
        X, noise, targets = self.rows
        self.rows = Rows(X[:0], noise[:0], targets[:0])
        self.factor, self.weights = self.factor[:0, :0], self.weights[:0]
        self._weighed = False
        for block in self._blocks:
            block.reset(self.prior)

    def _common(self, rows: Rows) -> int:
        """How many observations the present V and the wanted one begin with in common."""
        X, noise, _ = self.rows
        t = min(len(rows.X), len(X))
        if torch.equal(rows.X[:t], X[:t]) and torch.equal(rows.noise[:t], noise[:t]):
            return t
        same = (rows.X[:t] == X[:t]).all(dim=1) & (rows.noise[:t] == noise[:t])
        return int(same.long().cumprod(dim=0).sum())

    def _shorten(self, t: int) -> None:
        if t == len(self.rows.X):
            return
        X, noise, targets = self.rows
        self.rows = Rows(X[:t], noise[:t], targets[:t])
        self._weighed = False
        self.factor = self.factor[:t, :t]
        for block in self._blocks:
            block.truncate(t)

    def _extend(self, rows: Rows) -> None:
        t = len(self.rows.X)
        new = rows.X[t:]
        cross = self.prior.covariance64(new, rows.X)
        below, triangle, jitter = extend_cholesky(
            self.factor, cross[:, :t], cross[:, t:], rows.noise[t:], eps=self.prior.eps
        )
        self._report(jitter)
        upper = self.factor.new_zeros(t, len(new))
        self.factor = torch.cat(
            [torch.cat([self.factor, upper], dim=1), torch.cat([below, triangle], dim=1)]
        )
        residuals = self._residuals(rows)
        # Where the old targets stay, so do the old weights, to the last digit.
        reweigh = not self._weighed or not torch.equal(rows.targets[:t], self.rows.targets)
        if reweigh:
            self.weights = _solve(self.factor, residuals)
        else:
            kept = self.weights
            self.weights = torch.cat([kept, _solve(triangle, residuals[t:] - below @ kept)])
        self.rows, self._weighed = rows, True
        for block in self._blocks:
            if block.keep:
                block.extend(new, below, triangle, self.weights, reweigh=reweigh)
            else:
                block.recompute(rows.X, self.factor, self.weights)

    def _reweigh(self, rows: Rows) -> None:
        self.weights = _solve(self.factor, self._residuals(rows))
        self.rows, self._weighed = rows, True
        for block in self._blocks:
            if block.keep:
                block.reweigh(self.weights)
            else:
                block.recompute(rows.X, self.factor, self.weights)

    def _residuals(self, rows: Rows) -> Tensor:
        return rows.targets - self.prior.mean(rows.X).double()

    def _report(self, jitter: float) -> None:
        if jitter and not self._jittered:
            self._jittered = True
            _log.warning(
                "observations determine each other up to rounding: a noise variance of %.2g was "
                "added to at least one of them",
                jitter,
            )

    def _make_room(self, rows: int, max_memory: int | None) -> None:
        """Before V grows: say how much is needed, free blocks or refuse."""
        slabs, had = (math.ceil(t / SLAB) * SLAB for t in (rows, len(self.rows.X)))
        kept = [block for block in self._blocks if block.keep]
        if max_memory is not None:
            while kept and sum(block.bytes(slabs) for block in kept) > max_memory:
                kept.pop().free()
                _log.info("V is kept for %d of %d blocks of candidates", len(kept), len(self._blocks))
            return
        need = sum(block.bytes(max(0, slabs - had)) for block in kept)
        if need < MUCH:
            return
        free = free_memory(self.Z.device)
        _log.info("V grows to %d x %d: %s more", rows, len(self.Z), in_words(need))
        if need > free:
            raise MemoryError(
                f"V of {len(self.Z)} candidates and {rows} observations needs {in_words(need)} more, "
                f"and {in_words(free)} are free: set max_memory to the bytes it may take, so that the "
                f"rest is recomputed for each observation, or use float32 candidates and model"
            )


def _solve(factor: Tensor, vector: Tensor) -> Tensor:
    return torch.linalg.solve_triangular(factor, vector.unsqueeze(-1), upper=False).squeeze(-1)
