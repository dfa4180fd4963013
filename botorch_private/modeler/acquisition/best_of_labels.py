"""BestOfLabels: upper bound of the best record that each label of a release may still hold."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from botorch_private.modeler.acquisition.discrete_ucb import DiscreteUCB
from botorch_private.modeler.models.label_posterior import LabelPosterior
from botorch_private.modeler.models.outcome_units import Ranking

EXPLORED = 0.2  # share of the schedule: Srinivas et al. (2010), section 6
_LIKE_ALL_OTHERS = 4.0  # answers that the model's own variance of a label counts as


class BestOfLabels(DiscreteUCB):
    r"""Choose rows by the best record that their label may hold, not by its mean.

    A new row of label ``z`` has the posterior mean ``m_z``, and a deviation in two parts. One is shared
    by all rows of the label, ``d_z``: asking makes it less. The other is each row's own, ``o_z``: no
    answer about other rows makes it less, and it is why the best of many rows is above their mean.
    A search for the best single record is a bandit with the maximum for its goal (Cicirello and Smith
    2005): what it may find under a label is the mean, the doubt about the mean, and the upper tail.

    ``score_z = m_z + sqrt(beta) (d_z + o_z)``

    (The usual bound, ``m_z + sqrt(beta (d_z^2 + o_z^2))``, hardly explores where ``o`` is large, and it
    takes rows of all labels to scatter alike.)

    How much rows of one label differ is judged from its own answers, since labels with wide tails are
    where the best records are: with ``v_z`` the model's own variance, noise included, and residuals
    ``e`` of the ``k`` answers of the label, ``o_z^2 = v_z (4 + sum e^2 / v_z) / (4 + k)``.

    Args:
        As for `DiscreteUCB`. Its ``scores`` and ``forward`` are still the usual bound.
    """

    def _bound_of_labels(self, posterior: LabelPosterior, ranking: Ranking) -> Tensor:
        own = posterior.own_variance()
        answers = posterior.answers()
        expected = own[answers.labels] + answers.noise
        surprise = (answers.targets - ranking.mean.to(own)[answers.labels]).square() / expected
        count = torch.bincount(answers.labels, minlength=len(own))
        total = torch.zeros_like(own).index_add_(0, answers.labels, surprise)
        wide = (_LIKE_ALL_OTHERS + total) / (_LIKE_ALL_OTHERS + count)
        noise = answers.noise.mean() if len(answers.noise) else 0.0
        shared = (ranking.variance.to(own) - own).clamp_min(0.0).sqrt()
        deviation = shared + ((own + noise) * wide).sqrt()
        mean = ranking.mean.to(own)
        return (mean if self.maximize else -mean) + math.sqrt(self.beta) * deviation
