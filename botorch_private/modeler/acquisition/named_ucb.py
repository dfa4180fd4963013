"""NamedUCB: the next row where records have several outcomes, some with limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import torch
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
from torch import Tensor

from botorch_private.exchange.goals.several import NamedGoal
from botorch_private.modeler.acquisition.ties import best_index
from botorch_private.modeler.models.named_posterior import NamedPosteriors
from botorch_private.modeler.models.outcome_units import Ranking

RULES = ("weighted", "optimistic", "cei", "both", "unconstrained")


class NamedUCB:
    def __init__(self, posteriors, goal, beta, *, shared, rule="weighted", told=()):
        self.posteriors, self.goal, self.beta, self.shared, self.rule, self.told = posteriors, goal, beta, shared, rule, told

    def select(self, q, exclude, generator):
        chosen, posteriors = [], self.posteriors
        while True:
            closed = {*exclude, *chosen}
            scores = self._scores(posteriors, closed)
            chosen.append(best_index(scores.clone(), closed, generator, 1e-10))
            if len(chosen) == q:
                return chosen
            posteriors = posteriors.hallucinate(chosen[-1:])

    def _scores(self, posteriors, closed):
        shared = posteriors.rankings(shared=self.shared)
        full = posteriors.rankings(shared=False)
        goal = self.goal
        a = {k: w * shared[k].scale for k, w in goal.weights.items()}
        size = math.sqrt(sum(x * x for x in a.values()))
        mean = sum(x / size * shared[k].mean for k, x in a.items())
        dev = sum((x / size) ** 2 * shared[k].variance for k, x in a.items()).sqrt()
        root = math.sqrt(self.beta)
        ucb = mean + root * dev
        pf = torch.ones_like(ucb)
        opt = torch.ones_like(ucb, dtype=torch.bool)
        for limits, sign in ((goal.at_least, 1.0), (goal.at_most, -1.0)):
            for name, limit in limits.items():
                level = (limit - full[name].origin) / full[name].scale
                lik = posteriors[name].model.likelihood
                noise = float(lik.second_noise if isinstance(lik, FixedNoiseGaussianLikelihood) else lik.noise)
                pf = pf * torch.special.ndtr(sign * (full[name].mean - level) / (full[name].variance + noise).sqrt())
                opt &= sign * (shared[name].mean - level) + root * shared[name].variance.sqrt() >= 0
        open_ = torch.ones_like(opt); open_[list(closed)] = False
        if self.rule == "unconstrained":
            return ucb
        if self.rule == "weighted":
            return pf * (ucb - ucb[open_].min())
        if self.rule == "optimistic":
            if not (opt & open_).any():
                return pf
            return torch.where(opt, ucb, ucb.min() - 1)
        if self.rule == "both":
            s = pf * (ucb - ucb[open_].min())
            return torch.where(opt, s, -1.0) if (opt & open_).any() else pf
        if self.rule == "cei":
            good = [v for v in self.told if goal.allows(v)]
            if not good:
                return pf
            b = max(goal.gain(v) for v in good)
            # standardized gain
            b = (b - sum(w * shared[k].origin for k, w in goal.weights.items())) / size
            fm = mean
            fv = sum((x / size) ** 2 * (full[k].variance) for k, x in a.items()).sqrt()
            z = (fm - b) / fv
            ei = fv * (z * torch.special.ndtr(z) + torch.exp(-z * z / 2) / math.sqrt(2 * math.pi))
            return pf * ei
