"""The best of some scores, where several may tie."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable

import torch
from torch import Tensor

_TIE_ULPS = 64


class TiedScoresWarning(UserWarning):
    """Several candidates have the best score, so that the model does not tell them apart."""


def best_index(
    scores: Tensor,
    closed: Iterable[int],
    generator: torch.Generator | None,
    resolution: float = 0.0,
) -> int:
    """Index of the best open score; scores within rounding of it are ties.

    Args:
        scores: ``n`` finite numbers; those of closed candidates are overwritten.
        closed: Candidates that must not be chosen.
        generator: Breaks ties at random. None: the lowest index wins, and a `TiedScoresWarning` points
            at the caller of a decorated caller, as `select` is.
        resolution: Difference up to which scores tie, beside 64 units of rounding.
    """
    scores[list(closed)] = -math.inf
    best, index = scores.max(dim=0)
    close = scores >= best - tolerance(float(best), resolution, scores.dtype)
    if int(close.sum()) == 1:
        return int(index)
    tied = close.nonzero().squeeze(-1)
    if generator is not None:
        return int(tied[torch.randint(len(tied), (), generator=generator)])
    warnings.warn(
        f"{len(tied)} candidates tie for the best score, the lowest index {int(tied[0])} is taken: "
        f"pass generator= to choose among them at random, and check the model if it should tell "
        f"them apart",
        TiedScoresWarning,
        stacklevel=4,
    )
    return int(tied[0])


def tolerance(best: float, resolution: float, dtype: torch.dtype) -> float:
    """How far below the best score another one ties with it; arguments as in `best_index`."""
    return max(resolution, _TIE_ULPS * torch.finfo(dtype).eps * abs(best))
