"""What the bodies of requests must look like."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field

LARGEST_ID = 2**62


class _Strict(BaseModel):
    """No number from a text, no index from a truth value, no infinity, and nothing beside."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class AskBody(_Strict):
    """A question: the index of a released row."""

    row: int = Field(ge=0, le=LARGEST_ID)


class MeasurementBody(_Strict):
    """A measured value; outside the plausible range it must be confirmed."""

    value: float
    confirm: bool = False


class CorrectionBody(MeasurementBody):
    """Another value for a measured query, and why."""

    reason: str = Field(min_length=1, max_length=500)


class WithdrawalBody(_Strict):
    """Why a record will not be measured."""

    reason: str = Field(min_length=1, max_length=500)


Number = Annotated[int, Path(ge=1, le=LARGEST_ID, description="number of the query")]
After = Annotated[int, Query(ge=0, le=LARGEST_ID, description="only queries with a larger number")]
Limit = Annotated[int, Query(ge=1, le=1000, description="at most so many")]
