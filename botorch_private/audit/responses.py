"""What audits of noise say of a mechanism that adds none: a randomized response."""

from __future__ import annotations

from typing import Any

from botorch_private.privacy.response_law import ResponseLaw


def refuse_responses(mechanism: Any, instead: str = "response_audit tests labels of cells") -> None:
    """Refuse a `CellResponse`, or what has its law, where noise is looked at."""
    if isinstance(getattr(mechanism, "law", None), ResponseLaw):
        raise ValueError(f"mechanism must add noise, got a randomized response: {instead}")
