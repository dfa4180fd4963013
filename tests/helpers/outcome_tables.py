"""Eight small tables of records with outcomes: real ones, skewed, tied, counted and noisy ones."""

import math

import torch
from helpers.draws import seeded

from botorch_private import NoisyProjection, PublicScaling
from botorch_private.curator.publish import publish
from botorch_private.datasets import hospital, property_prices


def branin():
    u = torch.rand(300, 2, generator=seeded(1), dtype=torch.float64)
    x, y = 15 * u[:, 0] - 5, 15 * u[:, 1]
    bowl = (y - 5.1 / (4 * math.pi**2) * x.square() + 5 / math.pi * x - 6).square()
    return u, -(bowl + 10 * (1 - 1 / (8 * math.pi)) * x.cos() + 10)


def equal_rows():
    rows, outcomes = branin()
    return rows[:25].repeat(6, 1), outcomes[:25].repeat(6)


def sine():
    rows = torch.rand(400, 5, generator=seeded(2), dtype=torch.float64)
    return rows, torch.sin(6 * rows[:, 0]) * rows[:, 1] - (rows[:, 2] - 0.3).square()


def skewed():
    rows = torch.rand(400, 3, generator=seeded(3), dtype=torch.float64)
    return rows, (4 * rows[:, 0] * rows[:, 1]).exp()


def counts():
    rows = torch.rand(300, 2, generator=seeded(4), dtype=torch.float64)
    return rows, (5 * rows.sum(dim=1)).round()


def noisy():
    rows, outcomes = sine()
    return rows, outcomes + 0.3 * torch.randn(len(rows), generator=seeded(5), dtype=torch.float64)


def of_data(data):
    rows = torch.as_tensor(data.records)[:2000].double()
    return (rows - rows.mean(dim=0)) / rows.std(dim=0), torch.as_tensor(data.outcomes)[:2000].double()


TABLES = {
    "hospital": lambda: of_data(hospital()),
    "property prices": lambda: of_data(property_prices()),
    "branin": branin,
    "equal rows": equal_rows,
    "sine": sine,
    "skewed": skewed,
    "counts": counts,
    "noisy": noisy,
}


def released(rows):
    scaling = PublicScaling((rows.amin(dim=0) - 1).tolist(), (rows.amax(dim=0) + 1).tolist())
    return publish(rows, scaling, NoisyProjection(8.0, delta=1e-5), generator=seeded(6)).release
