"""Exact two-sided chances of counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import binom


def two_sided(found: Any, of: Any, share: float) -> np.ndarray:
    """Exact chance of a binomial count as far out as this one, on both sides."""
    low, high = binom.cdf(found, of, share), binom.sf(np.asarray(found) - 1, of, share)
    return np.minimum(1.0, 2 * np.minimum(low, high))
