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
    value: Annotated[
        float | dict[str, float],
        "what the curator answered, in its unit; of several outcomes a number for each name",
    ]


@dataclass(frozen=True)
class Gain:
    """What measuring on is expected to add to the answer that is to be beaten."""

    next_measurement: Annotated[float, "by the best of all next rows"]
    rest: Annotated[float, "by all unmeasured rows together, at most"]


@dataclass(frozen=True)
class OptimizeDocument(Document):
    """What a search has found."""

    FORMAT: ClassVar[str] = "optimize"
    release: Annotated[str, "SHA-256 of the release that was searched"]
    guarantee: Annotated[
        Promise, "numbers of the release; the words are of release and answers together"
    ]
    goal: Annotated[
        str, "what is looked for: maximize, minimize, above, top_k or target; scalarized or constrained"
    ]
    wanted: Annotated[float | None, "threshold, value or number of rows of the goal, where it has one"]
    outcome: Annotated[str, "what is measured"]
    unit: Annotated[str, "of the outcome; may be empty"]
    state: Annotated[str, "file that holds the search"]
    rounds: Annotated[int, "measurements that were asked for"]
    measured: Annotated[list[Answered], "what is known, in the order in which it was told"]
    skipped: Annotated[list[int], "rows that the curator withdrew"]
    best: Annotated[Answered | None, "the best answer; null where none keeps the limits"]
    noised: Annotated[bool, "whether answers are noised, so that the best one is mostly the luckiest"]
    recommended: Annotated[
        list[int], "rows to act on, one for most goals: by the posterior mean where answers are noised"
    ]
    unmeasured_above: Annotated[
        list[int], "with the goal above: unmeasured rows that are above, more likely than not"
    ]
    bound: Annotated[
        float | None,
        "by how much an unmeasured record may answer better; with above, how many are missing",
    ]
    sentence: Annotated[str | None, "what may be said of the bound, and no more"]
    expected_gain: Annotated[Gain | None, "of measuring on; not for the goals above and target"]
    outcome_names: Annotated[list[str], "where records have several outcomes, those; else empty"]
    weights: Annotated[dict[str, float], "of several outcomes, in the sum that is to be large"]
    at_least: Annotated[dict[str, float], "smallest allowed numbers of several outcomes"]
    at_most: Annotated[dict[str, float], "largest ones"]

    @classmethod
    def of(
        cls,
        modeler: Modeler,
        curator: RemoteCurator,
        *,
        rounds: int,
        state: Path,
        bound: float | None,
        sentence: str | None,
    ) -> OptimizeDocument:
        """That of a search that has ended."""
        from botorch_private.cli.optimize.result import best_that_is_allowed
        from botorch_private.exchange.goals import Above, Target

        goal, several = modeler.goal.to_dict(), bool(modeler.goal.names)
        wanted = [value for name, value in goal.items() if name not in ("version", "kind")]
        wanted = [] if several else wanted
        chosen = modeler.recommend()
        above = modeler.above().unmeasured if isinstance(modeler.goal, Above) else []
        gains = not several and not isinstance(modeler.goal, (Above, Target))
        best = best_that_is_allowed(modeler)
        noised = modeler.release.outcome_guarantee is not None
        return cls(
            release=curator.identity,
            guarantee=Promise.of(modeler.release.guarantee, curator.guarantee),
            goal=str(goal["kind"]),
            wanted=float(wanted[0]) if wanted else None,
            outcome=curator.outcome_name,
            unit=curator.outcome_unit,
            state=shown_path(state),
            rounds=rounds,
            measured=[Answered(index, value) for index, value in modeler.history],
            skipped=list(modeler.skipped),
            best=None if best is None else Answered(best.index, best.value),
            noised=noised,
            recommended=_rows(
                chosen if noised or best is None or not isinstance(chosen, int) else best.index
            ),
            unmeasured_above=above,
            bound=bound,
            sentence=sentence,
            expected_gain=Gain(**modeler.expected_gain()._asdict()) if gains else None,
            outcome_names=list(curator.outcome_names),
            **{name: getattr(modeler.goal, name, {}) for name in ("weights", "at_least", "at_most")},
        )


def _rows(chosen: int | list[int]) -> list[int]:
    return [chosen] if isinstance(chosen, int) else chosen
