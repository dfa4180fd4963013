"""What answers a row index: at once (`Oracle`), or some day (`OpenCurator`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from botorch_private.exchange.observation import Observation


class Oracle(Protocol):
    """What answers a row index: a `Curator`, a `RemoteCurator`, or anything with their interface."""

    @property
    def queries_left(self) -> int | None:
        """How many more records may be measured; None: no limit."""
        ...

    def query(self, index: int) -> Observation:
        """Measure the record behind a released row.

        Raises:
            WithdrawnError: If it will not be measured.
        """
        ...


@runtime_checkable
class OpenCurator(Protocol):
    """What takes questions without answering at once: a `RemoteCurator`, or its interface."""

    @property
    def queries_left(self) -> int | None:
        """How many more records may be measured; None: no limit."""
        ...

    @property
    def pending(self) -> list[int]:
        """Rows that were asked and have no answer yet."""
        ...

    @property
    def withdrawn(self) -> list[int]:
        """Rows that will not be measured."""
        ...

    def submit(self, index: int) -> int:
        """Ask for a row; asking again for an open one changes nothing."""
        ...

    def poll(self, wait: float = 0.0) -> list[Observation]:
        """Answers that are new, and earlier ones that were corrected."""
        ...

    def remember(self, observations: Iterable[tuple[int, float]]) -> None:
        """Say what was told earlier."""
        ...
