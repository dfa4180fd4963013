"""ModelerRecommender: a BayBE campaign keeps the experiments, and asks a `Modeler` for the next rows."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import torch

from botorch_private._base import validate
from botorch_private.exchange.goals import Goal, Maximize, Minimize
from botorch_private.exchange.release import Release
from botorch_private.modeler.modeler import Modeler

if TYPE_CHECKING:
    import pandas as pd
    from baybe.searchspace import SearchSpace  # pyright: ignore[reportMissingImports]

_ROW = "row"


class ModelerRecommender:
    """BayBE's ``RecommenderProtocol`` over the rows of a release.

    The campaign's search space is `search_space`: one parameter, the row. Whenever the campaign asks, a
    `Modeler` is built from its measurements, in their order. Pending experiments are pending, and rows
    that the campaign excludes are skipped.

    Args:
        release: What the curator released.
        goal: What is looked for. None: the campaign's target, if it is one numerical target without a
            transformation. With several targets, measurements have a column for each of ``goal.names``.
        seed: Makes its choices reproducible. None: random.
        **settings: Of the `Modeler`, such as ``outcome_noise``.

    Raises:
        ImportError: If BayBE is not installed.

    Example:
        >>> recommender = ModelerRecommender(release, seed=0)
        >>> campaign = Campaign(recommender.search_space, objective, recommender)
    """

    def __init__(
        self, release: Release, *, goal: Goal | None = None, seed: int | None = None, **settings: Any
    ) -> None:
        if find_spec("baybe") is None:
            raise ImportError("ModelerRecommender needs BayBE: pip install 'botorch-private[baybe]'")
        generator = torch.Generator()
        if seed is None:
            generator.seed()
        else:
            validate.count(minimum=0, seed=seed)
            generator.manual_seed(seed)
        self._seed = generator.initial_seed()
        self.release, self.goal, self.settings = release, goal, settings
        if goal is not None or not release.outcome_names:
            Modeler(release, goal=goal, **settings)  # refuses what cannot be used before it is asked

    @property
    def search_space(self) -> SearchSpace:
        """A discrete space of the rows 0..n-1."""
        from baybe.parameters import NumericalDiscreteParameter  # pyright: ignore[reportMissingImports]
        from baybe.searchspace import SearchSpace  # pyright: ignore[reportMissingImports]

        return SearchSpace.from_product(
            [NumericalDiscreteParameter(_ROW, list(range(len(self.release.candidates))))]
        )

    def recommend(
        self,
        batch_size: int,
        searchspace: SearchSpace,
        objective: Any = None,
        measurements: pd.DataFrame | None = None,
        pending_experiments: pd.DataFrame | None = None,
    ) -> pd.DataFrame:
        """Choose rows, as BayBE's protocol has it.

        Args:
            batch_size: How many.
            searchspace: The campaign's, or what it left of it.
            objective: The campaign's.
            measurements: What came out: a column for the row and one for each target.
            pending_experiments: Rows that are being measured.

        Returns:
            As many rows of the search space.

        Raises:
            ValueError: If the space is another one, or has a point that is no row, or what is looked for
                is not there.
        """
        n = len(self.release.candidates)
        if [parameter.name for parameter in searchspace.parameters] != [_ROW]:
            raise ValueError(
                f"searchspace must have one parameter, {_ROW}: ModelerRecommender.search_space"
            )
        goal = _goal(objective) if self.goal is None else self.goal
        names = goal.names or tuple(target.name for target in objective.targets)
        told: dict[int, Any] = {}
        if measurements is not None and len(measurements):  # an empty one has no columns
            columns = [measurements[name].tolist() for name in names]
            for row, *numbers in zip(_rows(measurements, n), *columns, strict=True):
                told[row] = dict(zip(names, numbers, strict=True)) if goal.names else numbers[0]
        pending = [] if pending_experiments is None else _rows(pending_experiments, n)
        candidates, _ = searchspace.discrete.get_candidates()
        open_rows = set(_rows(candidates, n)).union(told, pending)
        modeler = Modeler(
            self.release,
            goal=goal,
            history=told.items(),
            pending=[row for row in pending if row not in told],
            skipped=[row for row in range(n) if row not in open_rows],
            generator=torch.Generator().manual_seed(self._seed),
            **self.settings,
        )
        waiting = len(modeler.pending)
        chosen = modeler.ask(waiting + batch_size)[waiting:]
        index = dict(zip(_rows(candidates, n), candidates.index, strict=True))
        return searchspace.discrete.exp_rep.loc[[index[row] for row in chosen], :]


def _rows(frame: pd.DataFrame, n: int) -> list[int]:
    """The rows of a frame, where BayBE keeps them as floats."""
    if not len(frame):
        return []
    values = [float(value) for value in frame[_ROW]]
    if not all(value.is_integer() and 0 <= value < n for value in values):
        raise ValueError(f"{_ROW} must be a row of the release, a whole number in 0..{n - 1}")
    return [int(value) for value in values]


def _goal(objective: Any) -> Goal:
    """What the campaign looks for.

    Raises:
        ValueError: If it is not one numerical target, as it is measured.
    """
    from baybe.objectives import SingleTargetObjective  # pyright: ignore[reportMissingImports]
    from baybe.transformations import IdentityTransformation  # pyright: ignore[reportMissingImports]

    if not isinstance(objective, SingleTargetObjective):
        raise ValueError("goal must be given where the objective is not one numerical target")
    (target,) = objective.targets
    transformation = getattr(target, "transformation", None)
    if not isinstance(transformation, IdentityTransformation):
        raise ValueError("goal must be given where the target has a transformation")
    return Minimize() if target.minimize else Maximize()
