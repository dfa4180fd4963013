"""How many records are in each cell, judged from labels that are partly lies."""

from __future__ import annotations

import torch
from torch import Tensor


def cell_frequencies(counts: Tensor, p: float, q: float) -> Tensor:
    """Frequencies of cells that make the labels likeliest: post-processing, at no cost.

    The maximum of ``sum_z counts_z log(q + (p - q) f_z)`` over probabilities ``f``. By its conditions of
    Karush, Kuhn and Tucker ``f_z = max(0, counts_z / lambda - q / (p - q))``, and ``lambda`` follows
    from their sum: what expectation maximization converges to, in one sort.

    Args:
        counts: How often each of ``K`` labels occurs.
        p: Probability of the true cell.
        q: Probability of each other cell, below ``p``.

    Returns:
        ``K`` probabilities, float64.
    """
    counts = counts.double()
    lie = q / (p - q)
    largest = counts.sort(descending=True).values
    used = torch.arange(1, len(counts) + 1, dtype=torch.float64)
    levels = largest.cumsum(0) / (1 + used * lie)  # lambda if the first so many are above 0
    kept = int((largest > levels * lie).nonzero().max()) + 1
    frequencies = (counts / levels[kept - 1] - lie).clamp_min(0.0)
    return frequencies / frequencies.sum()
