"""ReportDocument: what `report --json` prints, the figures of the report without its sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from botorch_private.cli.documents.document import Document
from botorch_private.cli.documents.promise import Promise
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.rounding import round_down, round_up
from botorch_private.privacy.units import as_factor
from botorch_private.report import Report
from botorch_private.report.audit_facts import AuditFacts
from botorch_private.report.facts import Change, Cost, Feature, ReleaseFacts
from botorch_private.report.table_facts import TableFacts


@dataclass(frozen=True)
class ReportedCost:
    """What is promised about two records."""

    distance: Annotated[float | None, "of the two, in units; null: any"]
    epsilon: Annotated[float | None, "for that; null: no limit"]
    delta: Annotated[float, "the same at all distances"]
    told_apart: Annotated[
        float, "chance, at most, that a spy tells the two apart who holds both equally likely"
    ]

    @classmethod
    def of(cls, cost: Cost) -> ReportedCost:
        """That of the report."""
        return cls(cost.distance, cost.epsilon, cost.delta, cost.guess)


@dataclass(frozen=True)
class ReportedRelease:
    """A release."""

    name: Annotated[str, "of its file"]
    sha256: Annotated[str, "of its content"]
    rows: Annotated[int, "released rows"]
    numbers: Annotated[int, "in a row; 1 where rows are labels"]
    guarantee: Annotated[Promise, "of the release"]
    outcomes: Annotated[Promise | None, "of its answers; null where they are answered as they are"]
    whole_record: Annotated[ReportedCost, "of replacing a whole record by any other"]

    @classmethod
    def of(cls, facts: ReleaseFacts) -> ReportedRelease:
        """That of the report."""
        return cls(
            facts.name,
            facts.identity,
            facts.rows,
            facts.width,
            Promise.of(facts.guarantee),
            _promise(facts.outcome_guarantee),
            ReportedCost.of(facts.whole_record),
        )


@dataclass(frozen=True)
class ReportedFeature:
    """A numeric column of the records."""

    name: Annotated[str, "of the column"]
    scale: Annotated[str, '"linear", or "log" where distance is counted in factors']
    unit: Annotated[
        float | None, "one unit of distance, in raw units or as a factor; null: there are no raw units"
    ]
    lower: Annotated[float | None, "end of the declared range; null without --ranges"]
    upper: Annotated[float | None, "the other end"]
    width: Annotated[float | None, "of the range, in units"]
    whole: Annotated[ReportedCost | None, "from end to end; null also where that takes too long"]

    @classmethod
    def of(cls, feature: Feature) -> ReportedFeature:
        """That of the report."""
        low, high = feature.ends or (None, None)
        unit = as_factor(feature.unit) if feature.log and feature.unit is not None else feature.unit
        scale = "log" if feature.log else "linear"
        return cls(feature.name, scale, unit, low, high, feature.width, _cost(feature.whole))


@dataclass(frozen=True)
class ReportedStep:
    """A change of a yes/no or a category, from any value to any other."""

    name: Annotated[str, "of the feature"]
    width: Annotated[float, "how far it moves a record, in units"]
    cost: Annotated[ReportedCost | None, "of that; null where it takes too long"]

    @classmethod
    def of(cls, change: Change) -> ReportedStep:
        """That of the report."""
        return cls(change.step.name, change.step.width, _cost(change.cost))


@dataclass(frozen=True)
class ReportedPerson:
    """What is promised at one unit to a person with several records."""

    records: Annotated[int, "of that person"]
    cost: Annotated[ReportedCost, "when all of them move by one unit"]


@dataclass(frozen=True)
class ReportedAudit:
    """What the test attack on the mechanism of a release found."""

    name: Annotated[str, "of the release"]
    refuted: Annotated[bool, "whether the promise was refuted by it"]
    lower_bound: Annotated[float | None, "epsilon is at least this; null: not tested, or no limit"]
    claimed: Annotated[float | None, "epsilon that is promised for the same two tables"]
    confidence: Annotated[float | None, "that the bound is right"]
    trials: Annotated[int | None, "releases of each of the two tables"]
    honest: Annotated[float | None, "bound that the same attack finds for honest noise"]
    untested: Annotated[str, "why there is no bound; empty where there is one"]
    problems: Annotated[list[str], "faults that were found, in sentences"]

    @classmethod
    def of(cls, facts: AuditFacts) -> ReportedAudit:
        """That of the report."""
        result = facts.result
        tests = (facts.result, facts.noise, facts.claim, facts.labels)
        return cls(
            facts.name,
            facts.refuted,
            None if result is None else result.lower_bound,
            None if result is None else result.claimed,
            None if result is None else result.confidence,
            None if result is None else result.trials,
            None if result is None else result.honest,
            facts.untested,
            [problem for test in tests if test is not None for problem in test.problems],
        )


@dataclass(frozen=True)
class ReportedLedger:
    """What the ledger says."""

    entries: Annotated[int, "releases and answers that were entered"]
    total: Annotated[Promise | None, "the most that was spent on a record; null: nothing"]
    budget: Annotated[Promise | None, "the most that may be; null: no limit"]
    one_more: Annotated[Promise | None, "the total after one more release like the last one"]
    unknown: Annotated[list[str], "releases of the report that no entry is like"]


@dataclass(frozen=True)
class ReportedSpread:
    """A feature of the records, in raw units, rounded as in the page."""

    name: Annotated[str, "of the feature"]
    spread: Annotated[float, "standard deviation in the table, after clipping"]
    error: Annotated[float | None, "root mean square error of who knows all records; null: not computed"]


@dataclass(frozen=True)
class ReportedTable:
    """What was computed from the records: for the curator's eyes only."""

    name: Annotated[str, "of the release"]
    records: Annotated[int, "in the table"]
    clipped: Annotated[int, "of them with a value outside its declared range"]
    features: Annotated[list[ReportedSpread], "of the records"]
    refuted: Annotated[bool, "whether a test with the records found a fault"]

    @classmethod
    def of(cls, facts: TableFacts) -> ReportedTable:
        """That of the report."""
        features = [
            # No more digits than the page shows: each tells a little more of the records.
            ReportedSpread(
                each.name,
                float(round_up(each.spread)),
                None if each.error is None else float(round_down(each.error)),
            )
            for each in facts.features
        ]
        return cls(facts.name, facts.records, facts.clipped, features, facts.refuted)


@dataclass(frozen=True)
class ReportDocument(Document):
    """The figures of a report."""

    FORMAT: ClassVar[str] = "report"
    secret: Annotated[bool, "whether it must stay with the curator: it was made with the records"]
    releases: Annotated[list[ReportedRelease], "each release"]
    total: Annotated[Promise, "what all releases promise together"]
    with_outcomes: Annotated[Promise | None, "that and all answers; null: answers are not covered"]
    costs: Annotated[list[ReportedCost], "at some distances, from near to far"]
    whole_record: Annotated[ReportedCost, "of replacing a whole record by any other"]
    whole_record_with_outcomes: Annotated[ReportedCost | None, "that and all answers"]
    before_questions: Annotated[
        ReportedCost | None, "before the first question; null where that is no better"
    ]
    several: Annotated[list[ReportedPerson], "people with several records"]
    most_records: Annotated[ReportedPerson | None, "the one with the most (--person)"]
    features: Annotated[list[ReportedFeature], "numeric columns"]
    changes: Annotated[list[ReportedStep], "each yes/no and category"]
    second: Annotated[ReportedCost | None, "at one unit after one more release like the last one"]
    audits: Annotated[list[ReportedAudit], "the test attack, of each release"]
    ledger: Annotated[ReportedLedger | None, "what it says; null without --ledger"]
    table: Annotated[list[ReportedTable], "from the records, of each release; empty without --records"]

    @classmethod
    def of(cls, report: Report) -> ReportDocument:
        """That of a report."""
        facts, spent, most = report.facts, report.spent, report.most_records
        return cls(
            secret=report.secret,
            releases=[ReportedRelease.of(each) for each in facts.releases],
            total=Promise.of(facts.total),
            with_outcomes=_promise(facts.with_outcomes),
            costs=[ReportedCost.of(each) for each in facts.costs],
            whole_record=ReportedCost.of(facts.whole_record[0]),
            whole_record_with_outcomes=_cost(facts.whole_record[1]),
            before_questions=_cost(facts.central_cost),
            several=[ReportedPerson(m, ReportedCost.of(cost)) for m, cost in facts.several],
            most_records=None if most is None else ReportedPerson(most[0], ReportedCost.of(most[1])),
            features=[ReportedFeature.of(each) for each in facts.features],
            changes=[ReportedStep.of(each) for each in facts.changes],
            second=None if isinstance(facts.second, str) else ReportedCost.of(facts.second),
            audits=[ReportedAudit.of(each) for each in report.audits],
            ledger=None
            if spent is None
            else ReportedLedger(
                spent.entries,
                _promise(spent.total),
                _promise(spent.budget),
                _promise(spent.one_more),
                list(spent.unknown),
            ),
            table=[ReportedTable.of(each) for each in report.table],
        )


def _promise(guarantee: PrivacyGuarantee | None) -> Promise | None:
    return None if guarantee is None else Promise.of(guarantee)


def _cost(cost: Cost | None) -> ReportedCost | None:
    return None if cost is None else ReportedCost.of(cost)
