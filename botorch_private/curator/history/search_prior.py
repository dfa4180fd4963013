"""Length-scales and scatter from the moments of a history, for a modeler to start from."""

from __future__ import annotations

import math

import numpy as np

from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.curator.history.moments import Moments, ridge
from botorch_private.exchange.search_prior import SearchPrior

_TYPICAL = 2.0  # of what a slope says: as in `ReleasedInputKernel.of`, where all features matter alike
_LONGEST = 4.0  # times what is typical: a feature without a slope still counts for something
_PENALTY = 2.0  # deviations of the noise: the columns are few
_EXPLAINED = (0.05, 0.95)  # shares that are believed
_TINY = 1e-9


def prior_of_moments(moments: Moments, columns: list[int], scaling: PublicScaling) -> SearchPrior:
    r"""What a linear fit of the outcome on some columns says of a Gaussian process on them.

    An RBF process with output scale ``s`` and length-scales ``l_j`` has slopes of mean square ``s /
    l_j^2``. With the slopes ``g_j`` of the fit, in deviations of the outcome for each unit of distance,
    and the share ``s`` of the variance that it explains, ``l_j = 2 sqrt(s) / |g_j|``; one for all ``k``
    columns is ``2 sqrt(s k) / |g|``. Where all matter alike, both are the median of the prior in
    `ReleasedInputKernel.of`. What is not explained, ``1 - s``, is the scatter.

    Args:
        moments: Of all columns.
        columns: Which of them are released.
        scaling: Of these.
    """
    d, n = len(moments.sums) - 2, moments.promise.people
    sums = moments.sums[np.ix_([*columns, d, d + 1], [*columns, d, d + 1])]
    weights = ridge(sums, max(_PENALTY * moments.deviation, _TINY * n))
    mean = sums[-2] / n
    variance = max(float(sums[-1, -1] / n - mean[-1] ** 2), moments.deviation / n, math.ulp(1.0))
    # What is left of the variance, by the same moments: of a fit that is drawn to 0, as of the best one.
    residual = np.append(-weights, 1.0)
    left = float(residual @ sums @ residual / n - (residual @ mean) ** 2)
    explained = float(np.clip(1 - left / variance, *_EXPLAINED))
    # One unit of distance in units of the moments, in which half of a range is 1.
    unit = 2 / scaling.widths.numpy()
    slopes = np.abs(weights[:-1]) * unit / math.sqrt(variance)
    steepest = max(float(np.linalg.norm(slopes)), math.ulp(1.0))
    shared = _TYPICAL * math.sqrt(explained * len(columns)) / steepest
    shared = float(np.clip(shared, scaling.radius / _LONGEST, scaling.radius * _LONGEST))
    each = _TYPICAL * math.sqrt(explained) / np.maximum(slopes, math.ulp(1.0))
    each = np.clip(each, shared / _LONGEST, shared * _LONGEST)
    return SearchPrior(tuple(each.tolist()), shared, 1 - explained, scaling.names)
