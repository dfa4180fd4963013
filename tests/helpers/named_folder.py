"""A table whose records have a cost and a safety, and a folder of it."""

import torch

from botorch_private import Constrained, Curator, NoisyProjection, OutcomeMechanism, PublicScaling
from botorch_private.curator.service.make_folder import make_folder

N = 40
NAMES = ("cost", "safety")
RECORDS = torch.rand(N, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
OUTCOMES = {
    "cost": 10 * RECORDS[:, 0] + RECORDS[:, 1],
    "safety": 1 - (RECORDS[:, 0] - 0.6).square(),
}
GOAL = Constrained(minimize="cost", at_least={"safety": 0.95})
NOISE = {
    "cost": OutcomeMechanism(5.0, 0.0, (0.0, 12.0)),
    "safety": OutcomeMechanism(2.0, 0.0, (0.0, 1.0)),
}
PLAUSIBLE = {"cost": (0.0, 12.0)}


def nobody(record):
    raise AssertionError("people measure, at the server")


def named_curator(*, known=False, noised=False, **options):
    if noised:
        options["outcome_mechanism"] = NOISE
    return Curator(
        RECORDS,
        PublicScaling([0.0, 0.0], [1.0, 1.0]),
        NoisyProjection(100.0),
        OUTCOMES if known else nobody,
        **{"outcome_names": NAMES, **options},
    )


def named_folder(path, curator=None, **options):
    curator = named_curator() if curator is None else curator
    settings = {"goal": GOAL, "outcome_unit": {"cost": "EUR"}, "plausible": PLAUSIBLE, **options}
    objective = "column" if curator.outcomes is not None else "person"
    return make_folder(path, curator, objective=objective, **settings)
