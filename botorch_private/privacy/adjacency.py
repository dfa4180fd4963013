"""Which two tables a guarantee compares, in words."""

from __future__ import annotations

from typing import Any

from botorch_private.privacy.units import in_own_units

FEATURES_ADJACENCY = (
    "two tables are neighbours when they differ in the features of one record, by at most D units "
    "of distance; the number of records, the outcomes and all other records are the same"
)
OUTCOME_ADJACENCY = (
    "two tables are neighbours when they differ in the outcome of one record, by any amount within "
    "the declared range; the number of records, all features and all other outcomes are the same"
)
ALL_OUTCOMES_ADJACENCY = (
    "two tables are neighbours when they differ in outcomes alone: the outcomes of all records may "
    "differ, by any amount; the number of records and all features are the same"
)
RECORD_ADJACENCY = (
    "two tables are neighbours when they differ in one record: in its features by at most D units of "
    "distance, and in its outcome by any amount within the declared range; the number of records and "
    "all other records are the same"
)
SHARED_ADJACENCY = (
    "two tables are neighbours when they differ in one record, in its features by at most D units of "
    "distance; the outcomes of all records may differ, by any amount; the number of records and all "
    "other features are the same"
)
BOTH_KINDS_ADJACENCY = (
    "; outcomes that may depend on other records as well may differ in all records, by any amount"
)

BEFORE_QUESTIONS = (
    "it is about what is released before the first question: an answer is the outcome of the record "
    "behind a row, and who knows a person's outcome may recognise the row; from then on the "
    "guarantee of "
    "the labels themselves holds, and no other"
)
UNITS = "at most D units of distance"
ANY_AMOUNT = "any amount"
_SEVERAL = (  # where a record has several outcomes
    (
        "in the outcome of one record, by any amount within the declared range",
        "in the outcomes of one record, each by any amount within its declared range",
    ),
    (
        "in its outcome by any amount within the declared range",
        "in its outcomes, each by any amount within its declared range",
    ),
)
OWN_UNITS = "at most D units of distance in each release, measured in the units of that release"


def adjacency(guarantee: Any) -> str:
    """Say which two tables a `PrivacyGuarantee` compares.

    A change of one record changes its own outcome at most, or, where outcomes may depend on other
    records (``shared_outcomes``), those of all records: then the answers of all of them are compared,
    each at the whole width of its range.
    """
    said = _adjacency(guarantee)
    if guarantee.outcome_names and guarantee.covers_outcomes:
        for one, several in _SEVERAL:
            said = said.replace(one, several)
    if of_whole_records(guarantee):
        return said.replace(UNITS, ANY_AMOUNT)
    return said.replace(UNITS, OWN_UNITS) if in_own_units(guarantee) else said


def _adjacency(guarantee: Any) -> str:
    own, shared = kinds_of_outcomes(guarantee)
    if not own and not shared:
        return FEATURES_ADJACENCY
    if shared and not own:
        return SHARED_ADJACENCY if guarantee.covers_features else ALL_OUTCOMES_ADJACENCY
    one = RECORD_ADJACENCY if guarantee.covers_features else OUTCOME_ADJACENCY
    return one + BOTH_KINDS_ADJACENCY if shared else one


def changes(guarantee: Any) -> list[str]:
    """Say what is changed between the two tables that `adjacency` compares, at one unit."""
    own, shared = kinds_of_outcomes(guarantee)
    unit = "1 unit in each release" if in_own_units(guarantee) else "1 unit"
    moved = f"moving one record by {unit}"
    if of_whole_records(guarantee):
        moved = "changing one record to any other"
    said = [moved] if guarantee.covers_features else []
    if own and guarantee.outcome_names:
        said.append("changing its outcomes to any others" if said else "changing one record's outcomes")
    elif own:
        said.append("changing its outcome to any other" if said else "changing one outcome")
    if shared:
        said.append("changing any outcomes of any records" + (" that depend on others" if own else ""))
    return said


def of_whole_records(guarantee: Any) -> bool:
    """Whether it covers features, and all of what is released of them are labels of cells."""
    parts = [part for part in guarantee.parts or (guarantee,) if part.outcome_range is None]
    return bool(parts) and all(
        getattr(part.law, "kind", None) == "response" or BEFORE_QUESTIONS in part.assumptions
        for part in parts
    )


def kinds_of_outcomes(guarantee: Any) -> tuple[bool, bool]:
    """Whether outcomes of a record alone are covered, and such that may depend on other records."""
    parts = (guarantee.parts or (guarantee,)) if guarantee.covers_outcomes else ()
    answers = [part for part in parts if part.outcome_range is not None]
    return any(not each.shared_outcomes for each in answers), any(
        each.shared_outcomes for each in answers
    )
