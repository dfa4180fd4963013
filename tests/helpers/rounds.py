"""A release of given rows, and rounds of asking and telling."""

import torch

from botorch_private import NoisyProjection, Release


def release_of(rows, noise_variance=0.3, *, isotropic=False):
    """Return a release of given rows, as a modeler receives it."""
    rows = torch.as_tensor(rows, dtype=torch.float64)
    n, d = rows.shape
    return Release(rows, NoisyProjection(3.0).guarantee(n, d), noise_variance, d, isotropic)


def go_on(modeler, outcomes, rounds):
    """Ask and tell, and return the asked rows."""
    asked = []
    for _ in range(rounds):
        asked.append(modeler.ask())
        modeler.tell(asked[-1], float(outcomes[asked[-1]]))
    return asked
