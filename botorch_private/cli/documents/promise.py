"""Promise: a privacy guarantee, as the documents of several commands tell it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    from botorch_private.privacy.guarantee import PrivacyGuarantee

_UNIT, _WHOLE = "one unit", "whole record"


@dataclass(frozen=True)
class Promise:
    """A guarantee: its numbers, and all of it in words."""

    holds: Annotated[bool, "whether the promise is a theorem for what was released"]
    protects: Annotated[
        str, 'what epsilon is for: "one unit" of distance, or "whole record", any change of one'
    ]
    epsilon: Annotated[float | None, "for that; null where nothing is promised"]
    delta: Annotated[float, "in [0, 1)"]
    words: Annotated[str, "the guarantee as it is printed, with what it rests on"]

    @classmethod
    def of(cls, guarantee: PrivacyGuarantee, words: str | None = None) -> Promise:
        """That of a guarantee; ``words`` where they come from elsewhere."""
        from botorch_private.privacy.adjacency import of_whole_records

        return cls(
            guarantee.holds,
            _WHOLE if of_whole_records(guarantee) else _UNIT,
            guarantee.epsilon,
            guarantee.delta,
            str(guarantee) if words is None else words,
        )

    @classmethod
    def stored(cls, guarantee: Mapping[str, Any], words: str) -> Promise:
        """That of a guarantee as a folder keeps it, without loading what computes with it."""
        return cls(
            guarantee["holds"],
            _UNIT if cells(guarantee) is None else _WHOLE,
            guarantee["epsilon"],
            guarantee["delta"],
            words,
        )


def cells(guarantee: Mapping[str, Any]) -> int | None:
    """Labels that a row may be, by a stored guarantee; None where rows are numbers."""
    for part in guarantee.get("parts") or [guarantee]:
        if "truth" in (part.get("law") or {}):
            return part["law"]["cells"]
    return None
