r"""What several records of one person cost together, where a random projection stretches them.

Each of ``m`` records of a person moves by up to ``D``. The noise of the rows is independent, so that the
``m`` released rows are one draw of Gaussian noise, and the shift is the Euclidean norm of all moves
together. Without a projection into fewer dimensions that is ``sqrt(m) D`` in the worst case, exactly.

A projection ``P`` onto a random subspace is the same for all rows. With moves ``v_i`` the squared shift
``mu^2`` is at most ``sum_i S_i``, where ``S_i = (|v_i P| + rounding)^2 / scale^2`` has the same law for
all ``i``, whatever the directions are (`subspace_shrinkage`). How the ``S_i`` depend on each other does
matter, and which directions are worst depends on ``delta``, so they are bounded. As a function of
``s = mu^2``, delta of Gaussian noise (`gaussian_delta`) has the slope
``phi(sqrt(s) / 2 - epsilon / sqrt(s)) / (2 sqrt(s))``, which rises up to
``s* = 2 (sqrt(1 + epsilon^2) - 1)`` and falls from there on. So delta is below its convex majorant
``c``, which goes on straight from ``s*``, and by Jensen's inequality
``E delta <= E c(sum_i S_i) <= (1 / m) sum_i E c(m S_i) = E c(m S_1)``: all moves in one direction.
``c`` falls where epsilon rises, so that the smallest epsilon is a root.
"""

from __future__ import annotations

import math

import numpy as np

from botorch_private._base import validate
from botorch_private.privacy.gaussian import gaussian_delta, least_epsilon


def majorant_delta(epsilon: float, squares: np.ndarray, weights: np.ndarray) -> float:
    """Mean of the convex majorant ``c`` of delta as a function of ``mu^2``.

    Args:
        epsilon: Privacy parameter, >= 0.
        squares: Values of ``mu^2``, > 0.
        weights: Their probabilities.

    Returns:
        A bound on delta; it may exceed 1.
    """
    bend = 2 * epsilon**2 / (math.sqrt(1 + epsilon**2) + 1)  # s*, without cancellation
    if bend == 0:  # at epsilon 0 delta is concave, and infinitely steep at 0
        return 1.0
    convex = gaussian_delta(epsilon, np.sqrt(np.minimum(squares, bend)), weights)
    root = math.sqrt(bend)
    slope = math.exp(-((root / 2 - epsilon / root) ** 2) / 2) / math.sqrt(2 * math.pi) / (2 * root)
    return convex + float(np.dot(weights, np.maximum(squares - bend, 0.0))) * slope


def majorant_epsilon(delta: float, squares: np.ndarray, weights: np.ndarray) -> float:
    """Smallest epsilon at which `majorant_delta` is at most ``delta``, rounded up.

    Args:
        delta: Privacy parameter in (0, 1).
        squares: Values of ``mu^2``, > 0.
        weights: Their probabilities.
    """
    validate.probability(delta=delta)
    return least_epsilon(lambda epsilon: majorant_delta(epsilon, squares, weights), delta)
