"""What the bodies of requests must look like."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

LARGEST_ID = 2**62


class _Strict(BaseModel):
    """No number from a text, no index from a truth value, no infinity, and nothing beside."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class AskBody(_Strict):
    """A question: the index of a released row."""

    row: int = Field(ge=0, le=LARGEST_ID)


def _is_of_several(value: Any) -> str:
    return "several" if isinstance(value, dict) else "one"


Value = Annotated[
    Annotated[float, Tag("one")] | Annotated[dict[str, float], Tag("several")],
    Discriminator(_is_of_several),
    Field(description="a number; where records have several outcomes, one for each name"),
]


class MeasurementBody(_Strict):
    """A measured value; outside the plausible range it must be confirmed."""

    value: Value
    confirm: bool = False
    date: str | None = Field(default=None, max_length=20, description="when it was measured, YYYY-MM-DD")
    instrument: str | None = Field(default=None, max_length=500, description="what measured it")
    comment: str | None = Field(default=None, max_length=500)


class CorrectionBody(MeasurementBody):
    """Another value for a measured query, or another date, instrument or comment, and why.

    What is left out stays; an empty text removes what is stored.
    """

    reason: str = Field(min_length=1, max_length=500)
    revision: int | None = Field(
        default=None, ge=0, le=LARGEST_ID, description="which value was seen; another one is a conflict"
    )


class WithdrawalBody(_Strict):
    """Why a record will not be measured."""

    reason: str = Field(min_length=1, max_length=500)


class KnownOutcomeBody(_Strict):
    """An outcome that is known, by what staff call its record."""

    identifier: str = Field(min_length=1, max_length=500)
    value: Value


class KnownOutcomesBody(_Strict):
    """Outcomes that are known, asked for or not; all of them are stored or none."""

    outcomes: list[KnownOutcomeBody] = Field(min_length=1, max_length=1000)
    confirm: bool = Field(default=False, description="values outside the plausible range are right")
    replace: bool = Field(default=False, description="replace known outcomes that nobody asked for yet")


class KnownBody(BaseModel):
    """What became of known outcomes."""

    kept: int = Field(description="how many wait for their question")
    answered: int = Field(description="how many open questions have their answers now")


class QueryBody(BaseModel):
    """A query as a modeler sees it."""

    id: int
    row: int
    state: Literal["pending", "measured", "withdrawn"]
    value: float | dict[str, float] | None = Field(
        description="the answer, once measured; one number for each name where there are several"
    )
    revision: int = Field(description="how often the value was corrected")


class QueriesBody(BaseModel):
    """Queries in the order in which they were asked."""

    queries: list[QueryBody]


class EarlierReleaseBody(BaseModel):
    """A release that is the first rows of the present one."""

    identity: str = Field(description="SHA-256 of that release")
    rows: int


class OutcomeBody(BaseModel):
    """One of several outcomes."""

    name: str
    unit: str


class PartsBody(BaseModel):
    """The parts of a release, which `/v1/release/manifest` names."""

    count: int
    bytes: int


class ReleaseBody(BaseModel):
    """What the release is."""

    identity: str = Field(description="SHA-256 of the release")
    rows: int
    projection_dim: int
    outcome: str
    unit: str
    outcomes: list[OutcomeBody] = Field(description="where records have several outcomes, those")
    goal: dict[str, Any] = Field(description="what the curator declared that it is after")
    max_queries: int | None
    queries_left: int | None
    restored: str | None = Field(
        description="of when the backup is that the folder was put back from last; null: it never was"
    )
    earlier: list[EarlierReleaseBody] = Field(
        description="what was served before records joined; their rows are the first of this release"
    )
    parts: PartsBody | None = Field(description="null: the release is in one piece")


class GuaranteeBody(BaseModel):
    """What release and answers promise together."""

    guarantee: dict[str, Any]
    words: str
    max_queries: int | None
    queries_left: int | None


class StaffQueryBody(BaseModel):
    """A query as staff see it."""

    id: int
    identifier: str
    state: Literal["pending", "measuring", "failed", "measured", "withdrawn"]
    value: float | dict[str, float] | None
    revision: int
    reason: str | None
    asked: str
    settled: str | None
    date: str | None = Field(description="when it was measured")
    instrument: str | None
    comment: str | None


class StaffQueriesBody(BaseModel):
    """Queries with the identifiers of their records."""

    queries: list[StaffQueryBody]


class _Problem(BaseModel):
    code: str
    message: str
    details: list[dict[str, str]] | None = None


class ErrorBody(BaseModel):
    """Why a request was not met: a word for programs, and a sentence for people."""

    error: _Problem


_WHEN = {
    400: "the body cannot be read",
    401: "no valid token",
    403: "a token of another role, or a spent budget",
    404: "no such query",
    409: "a conflict with what is stored",
    413: "a body that is too large",
    422: "a request of another form",
    429: "too many requests: see Retry-After",
    503: "nothing was stored: see the curator's disk",
}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody, "description": when} for status, when in _WHEN.items()
}

Number = Annotated[int, Path(ge=1, le=LARGEST_ID, description="number of the query")]
After = Annotated[int, Query(ge=0, le=LARGEST_ID, description="only queries with a larger number")]
Limit = Annotated[int, Query(ge=1, le=1000, description="at most so many")]
