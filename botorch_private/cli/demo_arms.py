"""What the demonstration compares: ways to release the same stays, by what each of them promises."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from botorch_private.curator.cells.cell_response import CellResponse
from botorch_private.curator.cells.cells import Cells
from botorch_private.curator.cells.suggest_cells import suggest_cells
from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.features.kinds import Number
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.curator.mechanisms import Mechanism, NoisyProjection, NoPrivacy, SpectralProjection
from botorch_private.curator.publish import Domain
from botorch_private.datasets import Dataset, hospital

DELTA = 1e-5
HISTORY_EPSILON = 1.0
_HISTORY, _SPLIT = 3_000, 0  # stays held out, by this seed
_DAY, _CARE = "hday", "avtisst"  # what cells without a history are told by
_LONGEST_STAY = 100.0  # days: on a log scale both ends of a stay matter
_COST_RANGE = (math.log(1e3), math.log(1e6))  # a thousand to a million dollars


class Stays(NamedTuple):
    """The table that is searched, and other people's stays, whose costs are known.

    Attributes:
        records: ``n x d`` raw records of the pool.
        outcomes: Their log costs.
        old_records: ``m x d`` records of the history; none of them is in the pool.
        old_outcomes: Their log costs.
    """

    records: Tensor
    outcomes: Tensor
    old_records: Tensor
    old_outcomes: Tensor


class Plan(NamedTuple):
    """What a curator needs beside the outcomes."""

    records: Tensor
    domain: Domain
    mechanism: Mechanism


@dataclass(frozen=True)
class Arm:
    """A way to release the pool.

    Args:
        plan: What it makes of the stays; a private history is drawn afresh each time.
        modeler: What the modeler knows without the table, as options of `Modeler`.
    """

    plan: Callable[[Stays], Plan]
    modeler: Mapping[str, Any] = field(default_factory=dict)


def hospital_stays() -> Stays:
    """Split the hospital table at random, the same way every time; 3,000 stays are the history."""
    data = hospital()
    order = torch.randperm(len(data.records), generator=torch.Generator().manual_seed(_SPLIT))
    old, new = order[:_HISTORY], order[_HISTORY:]
    return Stays(data.records[new], data.outcomes[new], data.records[old], data.outcomes[old])


def demo_scaling(data: Dataset) -> PublicScaling:
    """Public scaling of the demonstration's table, from its declared ranges."""
    kinds = zip(data.features, data.units, strict=True)
    return PublicScaling(
        data.lower,
        data.upper,
        names=data.features,
        choices={name: (name,) for name, unit in kinds if unit == "yes/no"},
    )


def _by_noise(mechanism: Mechanism, stays: Stays) -> Plan:
    return Plan(stays.records, demo_scaling(hospital()), mechanism)


def _by_cells(epsilon: float, stays: Stays) -> Plan:
    """Day of stay and intensity of care, in equal steps, as many as epsilon suggests."""
    scaling = _log_scaling()
    names = hospital().features
    columns = [names.index(_DAY), names.index(_CARE)]
    ends = zip(scaling.lower[columns].tolist(), scaling.upper[columns].tolist(), strict=True)
    told = zip((f"log {_DAY}", _CARE), ends, strict=True)
    numbers = [Number(name, lower, upper) for name, (lower, upper) in told]
    cells = Cells.of_encoding(suggest_cells(epsilon, Encoding(numbers)))
    return Plan(_logged(stays.records)[:, columns], cells, CellResponse(epsilon, cells))


def _by_history(epsilon: float, stays: Stays) -> Plan:
    """All features, by a score that was learned privately from other stays."""
    cells = Cells.from_history(
        _logged(stays.old_records),
        stays.old_outcomes,
        _log_scaling(),
        outcome_range=_COST_RANGE,
        epsilon=HISTORY_EPSILON,
        delta=DELTA,
    )
    return Plan(_logged(stays.records), cells, CellResponse(epsilon, cells))


def _log_scaling() -> PublicScaling:
    data = hospital()
    lower, upper = list(data.lower), list(data.upper)
    day = data.features.index(_DAY)
    lower[day], upper[day] = 0.0, math.log(_LONGEST_STAY)
    return PublicScaling(lower, upper, names=data.features)


def _logged(records: Tensor) -> Tensor:
    """Records with the day of stay on a log scale."""
    records = records.clone()
    day = hospital().features.index(_DAY)
    records[:, day] = records[:, day].log()  # the first day is day 1
    return records


def _noise(mechanism: Mechanism) -> Arm:
    # What the modeler knows: what a stay costs scatters, and 50 questions are few.
    return Arm(partial(_by_noise, mechanism), {"beta_scale": 0.2, "outcome_noise": 0.4})


# Algorithm 1 with as many dimensions as features; its claimed epsilon is that of the arm with noise.
PROMISES: dict[str, dict[str, Arm]] = {
    "A promise about a whole record, whatever it is": {
        "cells, epsilon 3": Arm(partial(_by_cells, 3.0)),
        "cells, epsilon 5": Arm(partial(_by_cells, 5.0)),
        "cells by a history, epsilon 3": Arm(partial(_by_history, 3.0)),
        "cells by a history, epsilon 5": Arm(partial(_by_history, 5.0)),
    },
    "A promise about one unit, a small step": {
        "noise, epsilon 8 a unit": _noise(NoisyProjection(8.0, DELTA)),
        "noise, epsilon 3 a unit": _noise(NoisyProjection(3.0, DELTA)),
        "noise, epsilon 1 a unit": _noise(NoisyProjection(1.0, DELTA)),
    },
    "No promise": {
        "original records": _noise(NoPrivacy()),
        "Algorithm 1, claims 3 a unit": _noise(SpectralProjection(3.0, DELTA, 22)),
    },
}
ARMS: dict[str, Arm] = {name: arm for arms in PROMISES.values() for name, arm in arms.items()}
