"""Definition 3: records so far apart that each one's variance outweighs its covariances."""

from __future__ import annotations

import math

from botorch_private.theory._covariance import Covariance, square


def is_diagonally_dominant(covariance: Covariance) -> bool:
    """Say whether the covariance of a set of records is diagonally dominant.

    Regret bounds need more than Theorem 3 says. Its proof (Lemma 10) uses dominance for the
    measured records *together with* the record whose posterior is compared, which is stronger than
    dominance for the measured ones. If records are asked at most once, it is enough to check
    the `T` measured records with the maximizer of the objective added. Subsets of a dominant set
    are dominant, so earlier rounds need no check of their own. Duplicates are never dominant.

    Args:
        covariance: `m x m` prior covariance of the records, without observation noise.

    Raises:
        ValueError: If the covariance is not a finite symmetric matrix with a diagonal >= 0.

    Source: Kharkovskii et al. (2020), Definition 3.

    Example:
        >>> theory.is_diagonally_dominant([[1.0, 0.4], [0.4, 1.0]])
        True
    """
    return diagonal_dominance_margin(covariance) >= 0


def diagonal_dominance_margin(covariance: Covariance) -> float:
    """Return by how much the worst record meets (>= 0) or misses (< 0) Definition 3.

    The definition sums covariances as they are, for a kernel that is nowhere negative. Absolute
    values are summed here, as Gershgorin's theorem needs; for the squared exponential kernel it is
    the same.

    Args:
        covariance: `m x m` prior covariance of the records, without observation noise.

    Returns:
        The smallest value, over records, of the variance minus `sqrt(m - 1) + 1` times the sum of
        absolute covariances with the other records. Units of the objective squared.

    Raises:
        ValueError: If the covariance is not a finite symmetric matrix with a diagonal >= 0.

    Source: Kharkovskii et al. (2020), Definition 3.

    Example:
        >>> round(theory.diagonal_dominance_margin([[1.0, 0.4], [0.4, 1.0]]), 3)
        0.2
    """
    K = square(covariance)
    others = K.abs()
    others.fill_diagonal_(0)
    factor = math.sqrt(K.shape[0] - 1) + 1
    return float((K.diagonal() - factor * others.sum(dim=1)).min())
