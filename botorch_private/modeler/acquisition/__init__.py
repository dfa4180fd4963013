"""Acquisition: a posterior in, the next row index out."""

from botorch_private.modeler.acquisition import input_constructor as _registered  # noqa: F401  (for hosts)
from botorch_private.modeler.acquisition.discrete_ucb import DiscreteUCB
from botorch_private.modeler.acquisition.schedule import ucb_beta
from botorch_private.modeler.acquisition.straddle import DiscreteStraddle
from botorch_private.modeler.acquisition.ties import TiedScoresWarning

__all__ = ["DiscreteStraddle", "DiscreteUCB", "TiedScoresWarning", "ucb_beta"]
