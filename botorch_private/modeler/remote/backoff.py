"""Pauses between requests: every loop of requests on the modeler's side takes its pauses from here.

The rule is that no loop of requests goes without a pause, whatever the server says.
"""

from __future__ import annotations

import random
import time
from email.utils import parsedate_to_datetime

_SHORTEST, _LONGEST = 0.2, 30.0  # seconds
_LONGEST_ADVICE = 3600.0


class Backoff:
    """Pauses that double from 0.2 to 30 s, each shortened at random so that clients do not come at once.

    Attributes:
        tries: How many pauses there were.
    """

    def __init__(self) -> None:
        self.tries = 0

    def next(self, *, at_least: float = 0.0) -> float:
        """Seconds of the next pause."""
        longest = min(_LONGEST, _SHORTEST * 2.0 ** min(self.tries, 20))
        self.tries += 1
        return max(at_least, random.uniform(0.5, 1.0) * longest)

    def reset(self) -> None:
        """Begin with the shortest pause again."""
        self.tries = 0


def retry_after(text: str | None) -> float:
    """Seconds that a server asks for in ``Retry-After``, a number or a date; at most an hour.

    What is neither, negative or over is 0: then the pauses of `Backoff` are all that there is.
    """
    if text is None:
        return 0.0
    try:
        if text.isascii() and text.isdigit():
            seconds = float(text)
        else:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError, OSError):
        return 0.0
    return min(max(seconds, 0.0), _LONGEST_ADVICE)
