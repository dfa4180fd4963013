"""SearchPrior: what a modeler may expect of a search before the first answer, and its file."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path

from botorch_private._base import validate
from botorch_private._base.foreign import or_refuse
from botorch_private._base.versioned import FileFormat
from botorch_private._base.whole_file import write_whole

FORMAT = FileFormat("botorch-private search prior", 1, "a whole file of SearchPrior.save")


@dataclass(frozen=True)
class SearchPrior:
    """Length-scales and scatter to start a search from, learned from a history of other people.

    It is post-processing of what `choose_features` released of the history, so that it costs nobody
    anything more, and a curator may send it to the modeler.

    Args:
        lengthscales: Of each of ``d`` scaled features, > 0, in units of distance: what a fit with a
            length-scale each starts from (``ard=True``).
        lengthscale: The same, where all features share one.
        outcome_noise: Share of the outcome's variance that the features do not explain, in (0, 1).
        names: Names of the ``d`` columns, where they were declared.

    Raises:
        ValueError: If a number is not positive, or the names are of another number of columns.

    Example:
        >>> SearchPrior((3.0, 9.0), 5.0, outcome_noise=0.4).save("prior.json")
        >>> SearchPrior.load("prior.json").lengthscales
        (3.0, 9.0)
    """

    lengthscales: tuple[float, ...]
    lengthscale: float
    outcome_noise: float
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscales", tuple(map(float, self.lengthscales)))
        if not self.lengthscales:
            raise ValueError("lengthscales must have at least 1 entry, got 0")
        for position, each in enumerate(self.lengthscales):
            validate.positive(**{f"lengthscales[{position}]": each})
        validate.positive(lengthscale=self.lengthscale)
        validate.probability(outcome_noise=self.outcome_noise)
        if self.names is not None:
            object.__setattr__(self, "names", tuple(map(str, self.names)))
            if len(self.names) != len(self.lengthscales):
                raise ValueError(
                    f"names must have {len(self.lengthscales)} entries, got {len(self.names)}"
                )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a JSON file, whole or not at all."""
        write_whole(Path(path), self.to_bytes())

    def to_bytes(self) -> bytes:
        """What `save` writes."""
        return FORMAT.dumps(asdict(self), indent=2)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SearchPrior:
        """Read a file of `save`.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If it is another file, damaged, or changed.
        """
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(f"path must be a file of a search prior, but there is none: {path}")
        values = FORMAT.loads(path.read_bytes(), path)
        return or_refuse(lambda: cls(**values), lambda: FORMAT.refusal(path, "is truncated or damaged"))
