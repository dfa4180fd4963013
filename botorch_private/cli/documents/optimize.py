"""OptimizeDocument: what `optimize --json` prints when its search has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from botorch_private.cli.documents.document import Document
from botorch_private.cli.documents.promise import Promise
from botorch_private.cli.words import shown_path

if TYPE_CHECKING:
    from pathlib import Path

    from botorch_private.modeler.modeler import Modeler
    from botorch_private.modeler.remote.client import RemoteCurator


@dataclass(frozen=True)
class Answered:
    """A measured row."""

    row: Annotated[int, "of the release, from 0"]
    value: Annotated[float, "what the curator answered, in its unit"]


@dataclass(frozen=True)
class OptimizeDocument(Document):
    """What a search has found."""

    FORMAT: ClassVar[str] = "optimize"
    release: Annotated[str, "SHA-256 of the release that was searched"]
    guarantee: Annotated[
        Promise, "numbers of the release; the words are of release and answers together"
    ]
    outcome: Annotated[str, "what is measured"]
    unit: Annotated[str, "of the outcome; may be empty"]
    state: Annotated[str, "file that holds the search"]
    rounds: Annotated[int, "measurements that were asked for"]
    measured: Annotated[list[Answered], "what is known, in the order in which it was told"]
    skipped: Annotated[list[int], "rows that the curator withdrew"]
    best: Annotated[Answered, "the best answer"]
    noised: Annotated[bool, "whether answers are noised, so that the best one is mostly the luckiest"]
    recommended: Annotated[int, "row to act on: by the posterior mean where answers are noised"]

    @classmethod
    def of(
        cls, modeler: Modeler, curator: RemoteCurator, *, rounds: int, state: Path
    ) -> OptimizeDocument:
        """That of a search that has ended."""
        best, noised = modeler.best, bool(modeler.release.outcome_variance)
        return cls(
            release=curator.identity,
            guarantee=Promise.of(modeler.release.guarantee, curator.guarantee),
            outcome=curator.outcome_name,
            unit=curator.outcome_unit,
            state=shown_path(state),
            rounds=rounds,
            measured=[Answered(index, value) for index, value in modeler.history],
            skipped=list(modeler.skipped),
            best=Answered(best.index, best.value),
            noised=noised,
            recommended=modeler.recommend() if noised else best.index,
        )
