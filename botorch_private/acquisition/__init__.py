"""Acquisition: a posterior in, the next row index out."""

from botorch_private.acquisition.discrete_ucb import DiscreteUCB, TiedScoresWarning
from botorch_private.acquisition.schedule import ucb_beta

__all__ = ["DiscreteUCB", "TiedScoresWarning", "ucb_beta"]
