"""StatusDocument: what `curator status --json` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from botorch_private.cli.documents.document import Document
from botorch_private.cli.documents.promise import Promise, cells

if TYPE_CHECKING:
    from botorch_private.curator.service.reading import Reading


@dataclass(frozen=True)
class Rows:
    """What was released."""

    sha256: Annotated[str, "of the release file's content, as modelers see it"]
    rows: Annotated[int, "released rows"]
    numbers: Annotated[int | None, "in a row; null where a row is a label"]
    labels: Annotated[int | None, "that a row may be; null where a row is numbers"]


@dataclass(frozen=True)
class Asked:
    """Questions, by how far they are."""

    pending: Annotated[int, "wait for a person or a program"]
    measuring: Annotated[int, "a program works on them"]
    failed: Annotated[int, "a program failed; staff may try again"]
    measured: Annotated[int, "are answered"]
    withdrawn: Annotated[int, "will not be measured"]
    failed_ids: Annotated[list[int], "numbers of the questions that failed"]


@dataclass(frozen=True)
class Known:
    """Outcomes that were there before they were asked for."""

    waiting: Annotated[int, "were not asked for yet: told to nobody, and not spent"]
    answered: Annotated[int, "answered a question at once; among those that are measured"]


@dataclass(frozen=True)
class EarlierRelease:
    """A release that was served before records joined."""

    sha256: Annotated[str, "of its content"]
    rows: Annotated[int, "that it had: the first ones of the release now"]


@dataclass(frozen=True)
class StatusDocument(Document):
    """What is asked, measured and left; nothing of any record."""

    FORMAT: ClassVar[str] = "status"
    guarantee: Annotated[Promise, "of release and answers together"]
    release: Annotated[Rows, "what was released"]
    measured_by: Annotated[str, '"person", "column", or a function ("module:function")']
    outcome: Annotated[str, "what is measured"]
    unit: Annotated[str, "of the outcome; may be empty"]
    questions: Annotated[Asked, "how many there are"]
    measurements_limit: Annotated[int | None, "most records that are measured; null: no limit"]
    measurements_left: Annotated[int | None, "how many more; null: no limit"]
    outcomes: Annotated[
        dict[str, str], "where records have several outcomes, their names and units; else empty"
    ]
    events: Annotated[int, "that were written"]
    last_hash: Annotated[str | None, "of the last event; null where an earlier version wrote them"]
    earlier: Annotated[Known, "outcomes that were measured earlier than they were asked for"]
    earlier_releases: Annotated[list[EarlierRelease], "before records joined, oldest first"]
    restored: Annotated[
        str | None, "of when the backup is that the folder was put back from, UTC; null: it never was"
    ]

    @classmethod
    def of(cls, store: Reading) -> StatusDocument:
        """That of a folder."""
        facts, found = store.facts, store.queries()
        labels, states = cells(facts.guarantee), [str(each.state) for each in found]
        return cls(
            guarantee=Promise.stored(facts.guarantee, facts.guarantee_words),
            release=Rows(
                facts.identity, facts.n, facts.projection_dim if labels is None else None, labels
            ),
            measured_by=facts.objective,
            outcome=facts.outcome_name,
            unit=facts.outcome_unit,
            questions=Asked(
                pending=states.count("pending"),
                measuring=states.count("measuring"),
                failed=states.count("failed"),
                measured=states.count("measured"),
                withdrawn=states.count("withdrawn"),
                failed_ids=[each.id for each in found if each.state == "failed"],
            ),
            measurements_limit=facts.max_queries,
            measurements_left=store.queries_left(),
            outcomes={each.name: each.unit for each in facts.outcomes},
            events=store.events_written(),
            last_hash=store.last_hash(),
            earlier=Known(store.known_waiting(), store.known_answered()),
            earlier_releases=[
                EarlierRelease(each["identity"], each["rows"]) for each in store.earlier_releases()
            ],
            restored=store.restored(),
        )
