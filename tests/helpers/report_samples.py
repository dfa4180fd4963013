"""Small releases of many settings, with their scaling and records, and a report of each."""

import warnings
from functools import cache

import torch

from botorch_private import (
    Curator,
    NoisyProjection,
    NoPrivacy,
    NotDifferentiallyPrivate,
    PrivacyLeakWarning,
    PublicScaling,
    SpectralProjection,
)
from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.features.kinds import Category, Number, YesNo
from botorch_private.curator.ledger import Ledger
from botorch_private.curator.mechanisms import OutcomeMechanism
from botorch_private.curator.publish import publish
from botorch_private.report import report

NAMES = ["age", "weight", "diabetes", "<b>x</b> & y"]
LOWER, UPPER = [18.0, 0.0, 0.0, -1000.0], [100.0, 200.0, 1.0, 123456.0]
MECHANISMS = {
    "laplace": NoisyProjection(3.0),
    "gaussian": NoisyProjection(1.5, 1e-5, noise="gaussian"),
    "l2": NoisyProjection(1.5, 1e-5, noise="l2"),
    "rotated": NoisyProjection(2.0, 1e-6, 6),
    "projected": NoisyProjection(2.0, 1e-5, 2, noise="gaussian"),
    "far": NoisyProjection(0.07),
    "spectral": SpectralProjection(1.0, 1e-5, 4),
    "narrow spectral": SpectralProjection(1.0, 1e-5, 2),
    "none": NoPrivacy(),
}


def some_records(n=300, seed=5):
    """Return raw records: two skewed features, a yes/no, and one partly outside its range."""
    generator = torch.Generator().manual_seed(seed)
    records = torch.rand(n, 4, dtype=torch.float64, generator=generator).square()
    records = records * (torch.tensor(UPPER) - torch.tensor(LOWER)) + torch.tensor(LOWER)
    records[:, 2] = (records[:, 2] > 0.3).double()
    records[:7, 3] = 2e5
    return records


def make_release(kind, records=None, generator=None):
    """Release records by one of the mechanisms."""
    records = some_records() if records is None else records
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotDifferentiallyPrivate)
        return publish(records, declared(), MECHANISMS[kind], generator=generator).release


def declared():
    """Return the declared ranges of the records."""
    return PublicScaling(LOWER, UPPER, names=NAMES)


def stepped():
    """Return an encoding of a number, a yes/no and a category, records in it, and their release."""
    encoding = Encoding(
        [
            Number("age", 18.0, 100.0, 41.0),
            YesNo("diabetes", 0.5),
            Category("ward", ("a", "b", "c"), 1.0),
        ]
    )
    ward = torch.eye(3, dtype=torch.float64).repeat(100, 1)
    records = torch.cat([some_records()[:, [0, 2]], ward], dim=1)
    return encoding, records, publish(records, encoding.scaling, MECHANISMS["laplace"]).release


def unusual(kind):
    """Return a release whose guarantee is voided, has no raw units, or covers outcomes."""
    records = some_records()
    if kind == "seeded":
        return make_release("laplace", generator=torch.Generator().manual_seed(1))
    if kind == "learned":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyLeakWarning)
            scaling = PublicScaling.from_data(records)
        return publish(records, scaling, MECHANISMS["laplace"]).release
    assert kind == "outcomes"
    outcomes = OutcomeMechanism(5.0, 0.0, (0.0, 10.0))
    curator = Curator(
        records, declared(), MECHANISMS["laplace"], records[:, 0], outcome_mechanism=outcomes
    )
    return curator.release


KINDS = [
    *MECHANISMS,
    "seeded",
    "learned",
    "outcomes",
    "two",
    "table",
    "rotated table",
    "ledger",
    "ranges",
    "steps",
]


@cache
def reports_of(kind):
    """Make a report; it is not changed by its users."""
    if kind in MECHANISMS:
        return report(make_release(kind), trials=200, progress=False)
    if kind == "two":
        return report([make_release("laplace"), make_release("far")], trials=200, progress=False)
    if kind in ("table", "rotated table"):
        release = make_release("gaussian" if kind == "table" else "rotated")
        return report(release, scaling=declared(), records=some_records(), trials=200, progress=False)
    if kind == "ranges":
        return report(make_release("laplace"), scaling=declared(), trials=200, progress=False)
    if kind == "steps":
        return report(stepped()[2], trials=200, progress=False)
    if kind == "ledger":
        release = make_release("laplace")
        ledger = Ledger(release.guarantee.budget(7.5, 1e-6))
        ledger.spend(release.guarantee, start=0, stop=len(release.candidates))
        return report(release, ledger=ledger, trials=200, progress=False)
    return report(unusual(kind), trials=200, progress=False)
