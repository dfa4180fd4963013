"""RunState: what a search needs to go on after a crash, in a file that is whole or absent."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from botorch_private._base.versioned import FileFormat
from botorch_private._base.whole_file import write_whole
from botorch_private.exchange.goals import goal_from_dict
from botorch_private.exchange.release import Release
from botorch_private.modeler.modeler import Modeler

FORMAT = FileFormat(
    "botorch-private run",
    2,  # 1 had no exploration: it was that of the theory
    "a state that 'botorch-private optimize' wrote",
    "name another file to begin again (rows that were measured before are answered at once)",
)
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Settings:
    """What settles the picks of a search, beside the release and the answers.

    Args:
        seed: Of the modeler's generator.
        n_initial: As in `Modeler`, like the others.
        beta_scale: Factor of the schedule; None: that of ``exploration``.
        exploration: Which deviation counts; None: as is best for the release.
        outcome_noise: Share of the outcome's variance that no record explains.
        denoise: Whether to search denoised rows.
        goal: What is looked for, by its ``to_dict``; None: the largest outcome.
    """

    seed: int
    n_initial: int = 5
    beta_scale: float | None = None
    exploration: str | None = None
    outcome_noise: float | None = None
    denoise: bool = False
    goal: dict[str, Any] | None = None


@dataclass(frozen=True)
class RunState:
    """A search at one moment. It holds no token, no address, and no row of the release.

    Args:
        release: SHA-256 of the release that it is about.
        settings: What settles its picks.
        history: Pairs of row and value, in the order in which they were told.
        pending: Rows that were asked and not told, in their order.
        skipped: Rows that the curator withdrew.
    """

    release: str
    settings: Settings
    history: list[tuple[int, float]] = field(default_factory=list)
    pending: list[int] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, modeler: Modeler, settings: Settings) -> RunState:
        """The state of a modeler."""
        return cls(
            release=modeler.release.identity,
            settings=settings,
            history=[(index, value) for index, value in modeler.history],
            pending=modeler.pending,
            skipped=modeler.skipped,
        )

    def modeler(self, release: Release) -> Modeler:
        """Make the modeler that goes on from here.

        Raises:
            ValueError: If the state is about another release, or a setting is unusable.
        """
        if self.release != release.identity:
            raise ValueError(
                f"the state must be about the curator's release {release.identity[:12]}, but it is "
                f"about {self.release[:12]}: rows of one are not rows of the other; name another file"
            )
        settings = asdict(self.settings)
        goal = settings.pop("goal")
        generator = torch.Generator().manual_seed(settings.pop("seed"))
        return Modeler(
            release,
            goal=None if goal is None else goal_from_dict(goal),
            history=self.history,
            pending=self.pending,
            skipped=self.skipped,
            generator=generator,
            **settings,
        )

    def save(self, path: Path) -> None:
        """Write the file; it appears whole or not at all."""
        write_whole(path, FORMAT.dumps(asdict(self)))

    @classmethod
    def load(cls, path: Path) -> RunState:
        """Read a file that `save` wrote.

        Raises:
            ValueError: If it is damaged, something else, or from another version.
            OSError: If it cannot be read.
        """
        values = FORMAT.loads(path.read_bytes(), path)
        values["settings"] = Settings(**{"exploration": "theory", **values["settings"]})
        values["history"] = [(index, value) for index, value in values["history"]]
        return cls(**values)
