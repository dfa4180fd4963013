"""HistoryPromise: what is promised to people of a history, none of whom is in the released table."""

from __future__ import annotations

import math
from dataclasses import dataclass

from botorch_private.privacy.rounding import round_up

# What was learned of a history -> how a sentence begins, and what a person of it may change.
LEARNED = {
    "cells": ("cells were made from", "the chance of any cells"),
    "features": ("features were chosen from", "the chance of any choice"),
}


@dataclass(frozen=True)
class HistoryPromise:
    """What is promised to the people of a history, who have one record each.

    Args:
        people: How many records there were; public.
        epsilon: For any change of one whole record; infinite where the history is public.
        delta: In [0, 1).
        seeded: Whether the noise came from a generator.
        learned: What was learned: ``"cells"`` or ``"features"``.
    """

    people: int
    epsilon: float
    delta: float
    seeded: bool = False
    learned: str = "cells"

    def __post_init__(self) -> None:
        if self.learned not in LEARNED:
            raise ValueError(f"learned must be one of {', '.join(LEARNED)}")

    @property
    def public(self) -> bool:
        """Whether the history was used as it is."""
        return math.isinf(self.epsilon)

    @property
    def sentence(self) -> str:
        """For a guarantee of the pool: to whom another promise holds, and which."""
        made, changed = LEARNED[self.learned]
        who = f"{made} records of {self.people} people of a history, none of whom is in this table"
        if self.public:
            return (
                f"{who}; the history was used as it is, because the curator says that it is public or "
                f"that its people agree: nothing is promised to them"
            )
        seeded = ", but with noise from a seed, so that it does not hold" if self.seeded else ""
        return (
            f"{who}; to each of these another promise holds: any change of their whole record, outcome "
            f"included, changes {changed} by at most epsilon {round_up(self.epsilon)} and "
            f"delta {round_up(self.delta, 2)}{seeded}; who has several records there is protected less, "
            f"and everything else that is learned from the same history adds to it"
        )

    @property
    def said(self) -> str:
        """The same by itself."""
        return f"{self.sentence[0].upper()}{self.sentence[1:]}."

    def to_table(self) -> dict[str, int | float | bool]:
        """Entries of a table in a TOML file, for `from_table`."""
        told = {"people": self.people, "public": self.public, "seeded": self.seeded}
        return told if self.public else {**told, "epsilon": self.epsilon, "delta": self.delta}

    @classmethod
    def from_table(cls, entries: object, learned: str) -> HistoryPromise:
        """Restore what `to_table` said; anything else is a ValueError without words of its own."""
        if not isinstance(entries, dict):
            raise ValueError
        people, public, seeded = (entries.get(name) for name in ("people", "public", "seeded"))
        epsilon, delta = entries.get("epsilon", math.inf), entries.get("delta", 0.0)
        wanted = {"people", "public", "seeded"} | (set() if public else {"epsilon", "delta"})
        if set(entries) != wanted or not isinstance(public, bool) or not isinstance(seeded, bool):
            raise ValueError
        if type(people) is not int or people < 1:
            raise ValueError
        if not all(type(each) in (int, float) for each in (epsilon, delta)):
            raise ValueError
        if not 0 <= delta < 1 or not epsilon > 0 or (math.isinf(epsilon) and not public):
            raise ValueError
        return cls(people, float(epsilon), float(delta), seeded, learned)
