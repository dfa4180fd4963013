"""What an audit of epsilon finds for honest noise, and how narrow noise must be for it to refute."""

from __future__ import annotations

import bisect
from collections.abc import Callable

SHARES = (0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.25, 0.1)


def counterpart(bound_at: Callable[[float], float], claimed: float) -> tuple[float, float | None]:
    """Run an audit on noise of the claimed law, and on less of it.

    Args:
        bound_at: From a share of the claimed noise, in (0, 1], to the lower bound that the audit finds.
        claimed: Epsilon that is promised.

    Returns:
        The bound for the whole of the noise, and the largest of `SHARES` that the audit refutes; None if
        it refutes none of them.
    """
    # Less noise gives a larger bound: a bisection over the shares finds where it passes the claim.
    first = bisect.bisect_left(SHARES, True, key=lambda share: bound_at(share) > claimed)
    return bound_at(1.0), SHARES[first] if first < len(SHARES) else None
