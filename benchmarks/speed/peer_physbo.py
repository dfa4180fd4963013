"""PHYSBO, a library made for pools of candidates."""

from __future__ import annotations

import numpy as np
import physbo
from arm import Arm
from problem import KAPPA, NOISE_STD

RELEARN = 20  # questions between two fits, as in PHYSBO's tutorials


class Fixed(Arm):
    """Fixed hyperparameters; UCB from PHYSBO's posterior, as it has no such score itself."""

    def __init__(self, Z, indices, values, lengthscale) -> None:
        super().__init__(Z, indices, values, lengthscale)
        model = physbo.gp.core.Model(
            cov=physbo.gp.cov.Gauss(Z.shape[1], width=lengthscale, scale=1.0),
            mean=physbo.gp.mean.Zero(),
            lik=physbo.gp.lik.Gauss(std=NOISE_STD),
        )
        self.predictor = physbo.gp.Predictor(physbo.misc.SetConfig(), model)
        self.pool = physbo.Variable(X=Z)

    def ask(self, q: int) -> list[int]:
        """Best upper confidence bound."""
        measured = physbo.Variable(X=self.Z[self.asked], t=np.array(self.values))
        self.predictor.prepare(measured)
        mean = self.predictor.get_post_fmean(measured, self.pool)
        variance = self.predictor.get_post_fcov(measured, self.pool)
        return self.best(mean, np.sqrt(np.maximum(variance, 0.0)), KAPPA)


class Relearn(Arm):
    """PHYSBO's own policy: expected improvement, hyperparameters learned every 20 questions."""

    def __init__(self, Z, indices, values, lengthscale) -> None:
        super().__init__(Z, indices, values, lengthscale)
        self.policy = physbo.search.discrete.Policy(test_X=Z)
        self.policy.set_seed(0)
        self.policy.write(indices, np.array(values))
        self.questions = 0

    def ask(self, q: int) -> list[int]:
        """PHYSBO's choice."""
        # With one question a call, any interval that is not negative learns each time.
        interval = 0 if self.questions % RELEARN == 0 else -1
        self.questions += 1
        action = self.policy.bayes_search(
            max_num_probes=1, simulator=None, score="EI", interval=interval, is_disp=False
        )
        return [int(action[0])]

    def tell(self, index: int, value: float) -> None:
        """Write to PHYSBO's history."""
        super().tell(index, value)
        self.policy.write([index], np.array([value]))
