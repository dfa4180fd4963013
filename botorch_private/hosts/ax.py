"""ModelerNode: Ax keeps the experiment, and asks a `Modeler` for the next row (extra ``ax``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from botorch_private._base import validate
from botorch_private.exchange.goals import Goal, Maximize, Minimize
from botorch_private.exchange.named_goals import Constrained, Scalarized
from botorch_private.exchange.release import Release
from botorch_private.modeler.modeler import Modeler

try:
    from ax.core.data import Data
    from ax.core.experiment import Experiment
    from ax.core.optimization_config import OptimizationConfig
    from ax.core.parameter import ChoiceParameter, Parameter, ParameterType, RangeParameter
    from ax.core.types import ComparisonOp
    from ax.generation_strategy.external_generation_node import ExternalGenerationNode
except ImportError as error:
    raise ImportError("ModelerNode needs Ax: pip install 'botorch-private[ax]'") from error

_ROW = "row"


class ModelerNode(ExternalGenerationNode):
    """A node of Ax's generation strategy that chooses rows of a release.

    The experiment has one parameter, the row: ``RangeParameterConfig(name="row", parameter_type="int",
    bounds=(0, n - 1))``. Whenever Ax asks, the node builds a `Modeler` from the experiment's trials.
    Those with data are told, in the order of their numbers. Those that failed or were given up are
    skipped, and all others are pending. So it goes on from an experiment that has trials already, and
    several trials may be open.

    What is looked for is what Ax was told by ``configure_optimization``: one metric, to be large or
    small, or a weighted sum of several, with outcome constraints that are each on one metric. Where
    there are several metrics, the curator answers with numbers of these names.

    Args:
        release: What the curator released.
        goal: What is looked for, instead of what Ax was told.
        name: Of the node.
        seed: Makes its choices reproducible, those after a restart as well. None: random.
        transition_criteria: As for any node of Ax.
        **settings: Of the `Modeler`, such as ``outcome_noise``.

    Raises:
        ImportError: If Ax is not installed: on import of this module.

    Example:
        >>> node = ModelerNode(release, seed=0)
    """

    def __init__(
        self,
        release: Release,
        *,
        goal: Goal | None = None,
        name: str = "rows of a release",
        seed: int | None = None,
        transition_criteria: Sequence[Any] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(name=name, transition_criteria=transition_criteria)
        generator = torch.Generator()
        if seed is None:
            generator.seed()
        else:
            validate.count(minimum=0, seed=seed)
            generator.manual_seed(seed)
        self._seed = generator.initial_seed()
        self.release, self.goal, self.settings = release, goal, settings
        self.modeler: Modeler | None = None
        if goal is not None or not release.outcome_names:
            Modeler(release, goal=goal, **settings)  # refuses what cannot be used before it is asked

    def update_generator_state(self, experiment: Experiment, data: Data) -> None:
        """Build a modeler of the trials so far.

        Raises:
            ValueError: If the parameter is not the row, a whole number in 0..n-1, or a trial is about
                another point, or what is looked for is not there.
        """
        n = len(self.release.candidates)
        if not _is_rows(experiment.search_space.parameters, n):
            raise ValueError(
                f"experiment must have one parameter, {_ROW}, the row of the release: "
                f"an int in 0..{n - 1}"
            )
        goal = goal_of(experiment.optimization_config) if self.goal is None else self.goal
        values = _values(data, experiment, goal)
        told, pending, skipped = {}, [], []
        for index, trial in sorted(experiment.trials.items()):
            for row in (validate.index(n, row=arm.parameters[_ROW]) for arm in trial.arms):
                if index in values:
                    told[row] = values[index]
                elif trial.status.is_terminal:
                    skipped.append(row)
                else:
                    pending.append(row)
        self.modeler = Modeler(
            self.release,
            goal=goal,
            history=told.items(),
            pending=[row for row in pending if row not in told],
            skipped=[row for row in skipped if row not in told],
            generator=torch.Generator().manual_seed(self._seed),
            **self.settings,
        )

    def get_next_candidate(self, pending_parameters: list[Any]) -> dict[str, int]:  # type: ignore[override]
        """A row that was not asked for yet."""
        assert self.modeler is not None
        return {_ROW: self.modeler.ask(len(self.modeler.pending) + 1)[-1]}


def goal_of(config: OptimizationConfig | None) -> Goal:
    """What Ax was told to look for, as a `Goal`.

    Raises:
        ValueError: If it is nothing, several objectives at once, or has a constraint on several metrics
            or relative to a baseline.
    """
    if config is None:
        raise ValueError("the experiment must say what it looks for: configure_optimization(objective)")
    objective = config.objective
    if objective.is_multi_objective:
        raise ValueError("objective must be one, or a weighted sum: several at once are not there")
    weights = dict(zip(objective.metric_names, (w for _, w in objective.metric_weights), strict=True))
    least: dict[str, float] = {}
    most: dict[str, float] = {}
    for constraint in config.outcome_constraints:
        if constraint.relative or len(constraint.metric_weights) != 1:
            raise ValueError(
                "outcome_constraints must each be about one metric, and not relative to a baseline"
            )
        (name,), ((_, weight),) = constraint.metric_names, constraint.metric_weights
        up = (constraint.op == ComparisonOp.GEQ) == (weight > 0)
        (least if up else most)[name] = constraint.bound / weight
    if least or most:
        return Constrained(maximize=weights, at_least=least, at_most=most)
    if len(weights) > 1:
        return Scalarized(weights)
    ((_, weight),) = weights.items()
    return Maximize() if weight > 0 else Minimize()


def _is_rows(parameters: Mapping[str, Parameter], n: int) -> bool:
    """Whether the space is the rows 0..n-1.

    In a wider one Ax itself may choose what is no row; of a narrower one the node chooses beside it.
    """
    parameter = parameters.get(_ROW)
    if len(parameters) != 1 or parameter is None or parameter.parameter_type != ParameterType.INT:
        return False
    if isinstance(parameter, RangeParameter):
        return (parameter.lower, parameter.upper) == (0, n - 1)
    return isinstance(parameter, ChoiceParameter) and set(parameter.values) == set(range(n))


def _values(data: Data, experiment: Experiment, goal: Goal) -> dict[int, Any]:
    """The answer of each trial that has all numbers."""
    names = goal.names
    if not names:
        assert experiment.optimization_config is not None
        names = tuple(experiment.optimization_config.objective.metric_names)
        if len(names) != 1:
            raise ValueError("goal must be about the metrics that Ax was told to optimize")
    found: dict[int, dict[str, float]] = {}
    frame = data.df
    for index, name, mean in zip(frame["trial_index"], frame["metric_name"], frame["mean"], strict=True):
        if name in names:
            found.setdefault(int(index), {})[name] = float(mean)
    whole = {index: each for index, each in found.items() if len(each) == len(names)}
    return whole if goal.names else {index: each[names[0]] for index, each in whole.items()}
