"""When a token ends, from what people type."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta


def expiry(text: str, now: datetime | None = None) -> str:
    """Turn ``2027-03-31`` (its end, UTC) or ``90d`` into a time, UTC, ISO 8601.

    Raises:
        ValueError: If it is neither, or over already.
    """
    now = datetime.now(UTC) if now is None else now
    days = re.fullmatch(r"(\d{1,5})d", text)
    try:
        if days:
            end = now + timedelta(days=int(days[1]))
        else:
            end = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=1)
    except ValueError:
        raise ValueError(
            f"must be a date such as 2027-03-31, or days such as 90d, got {text!r}"
        ) from None
    if end <= now:
        raise ValueError(f"must be in the future, got {text!r}")
    return end.isoformat(timespec="microseconds")
