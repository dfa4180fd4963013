"""Random isometries and subspaces, drawn independently of the data."""

from __future__ import annotations

import numpy as np

from botorch_private._base.floating_point import quiet_arithmetic
from botorch_private.curator.mechanisms.entropy import Entropy, normals


@quiet_arithmetic
def haar_frame(long: int, short: int, entropy: Entropy) -> np.ndarray:
    """Orthonormal frame of a Haar-random ``short``-dimensional subspace of ``R^long``.

    The Q factor of a Gaussian matrix, with the signs of R's diagonal moved into it, is Haar
    distributed (Mezzadri 2007).

    Args:
        long: Dimension of the space.
        short: Number of columns, at most ``long``.
        entropy: Source of randomness.

    Returns:
        ``long x short`` array with orthonormal columns.
    """
    gaussian = normals(entropy, long * short).reshape(long, short)
    q, r = np.linalg.qr(gaussian)
    return q * np.sign(np.diag(r))


def frame_entries(long: int, short: int) -> int:
    """Numbers that `haar_frame` holds at its peak, in the QR of its Gaussian matrix (measured: 5.5)."""
    return 6 * long * short


def isometry(features: int, projection_dim: int, entropy: Entropy) -> np.ndarray:
    """Random ``d x r`` matrix, ``r >= d``, that keeps every distance: ``|x A| = |x|``."""
    return haar_frame(projection_dim, features, entropy).T


def subspace_projection(features: int, projection_dim: int, entropy: Entropy) -> np.ndarray:
    """Random ``d x r`` matrix, ``r < d``: coordinates in a Haar-random subspace, rescaled.

    ``sqrt(d/r)`` times an orthonormal frame, so that squared distances are kept on average. A
    difference grows by at most ``sqrt(d/r)``; the law of its length is in
    `privacy_curve.subspace_shrinkage`.
    """
    frame = haar_frame(features, projection_dim, entropy)
    return np.sqrt(features / projection_dim) * frame
