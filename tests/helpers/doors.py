"""Every door of Python that a table, or a piece of one, can be pushed through."""

import secrets

import torch
from helpers.marked_tables import N

from botorch_private import (
    Category,
    Curator,
    Encoding,
    History,
    Ledger,
    Modeler,
    NoisyProjection,
    Number,
    OutcomeMechanism,
    PrivacyGuarantee,
    PrivateProjectionTransform,
    PublicScaling,
    Release,
    SpectralProjection,
    YesNo,
    audit,
    compose,
    make_model,
)
from botorch_private.curator.publish import publish
from botorch_private.curator.service.make_folder import make_folder
from botorch_private.report import report

SCALING = PublicScaling([0.0, 0.0], [100.0, 1.0], names=["age", "dose"])
RIGHT = torch.stack([20.0 + torch.arange(N), torch.arange(N) / 16], dim=1).double()
OUTCOMES = torch.arange(N).double()
MECHANISM = NoisyProjection(3.0)
WORDS = Encoding([Category("age", ("41", "42")), Number("dose", 0.0, 1.0)])
ANSWERS = Encoding([YesNo("age", yes="J", no="N"), Number("dose", 0.0, 1.0)])
RANGES = Encoding([Number("age", 0.0, 100.0), Number("dose", 0.0, 1.0)])


def curator(records=RIGHT, objective=OUTCOMES, **options):
    return Curator(records, SCALING, MECHANISM, objective, **options)


def _failing(table):
    def measure(record):
        raise ValueError(f"nothing for {table}")

    return curator(objective=measure).query(0)


def _returning(table):
    return curator(objective=lambda record: table).query(0)


def _noised(table):
    noise = OutcomeMechanism(5.0, 0.0, bound=(0.0, 7.0))
    return curator(objective=lambda record: table, outcome_mechanism=noise).query(0)


def _transform():
    return PrivateProjectionTransform(RIGHT, SCALING, MECHANISM)


def records_doors():
    """Doors for a whole table: name -> function of it."""
    made, transform = curator(), _transform()
    return {
        "transform": SCALING.transform,
        "check": SCALING.check,
        "clipped": SCALING.clipped,
        "inverse": SCALING.inverse,
        "without names": PublicScaling([0.0, 0.0], [100.0, 1.0]).transform,
        "from_data": PublicScaling.from_data,
        "Curator": lambda table: curator(table),
        "add": lambda table: curator().add(table, OUTCOMES),
        "publish": lambda table: publish(table, SCALING, MECHANISM),
        "PrivateProjectionTransform": lambda t: PrivateProjectionTransform(t, SCALING, MECHANISM),
        "calling a transform": transform,
        "from_release": lambda table: PrivateProjectionTransform.from_release(
            made.release, table, SCALING, made.permutation
        ),
        "encode numbers": RANGES.encode,
        "encode categories": WORDS.encode,
        "encode yes and no": ANSWERS.encode,
        "decode": RANGES.decode,
        "report": lambda table: report(
            made.release, scaling=SCALING, records=table, trials=100, progress=False
        ),
        "replay": lambda table: audit.replay(MECHANISM, table, table),
        "order_audit": lambda table: audit.order_audit(made.release, table, progress=False),
    }


def column_doors():
    """Doors for one column, or outcomes, or identifiers."""
    made = curator()
    return {
        "outcomes": lambda value: curator(objective=value),
        "outcomes of joining": lambda value: curator().add(RIGHT + 0.25, value),
        "permutation": lambda value: PrivateProjectionTransform.from_release(
            made.release, RIGHT, SCALING, value
        ),
        "lower": lambda value: PublicScaling(value, [1e9, 1e9]),
        "upper": lambda value: PublicScaling([0.0, 0.0], value, names=["age", "dose"]),
        "lengthscale": lambda value: PublicScaling([0.0, 0.0], [1.0, 1.0], value),
        "what an objective returns": _returning,
        "what an objective says": _failing,
        "what is noised": _noised,
        "history": History,
        "history of a Modeler": lambda value: Modeler(made.release, history=value),
        "told values": lambda value: Modeler(made.release).tell(0, value),
        "outcomes of a model": lambda value: make_model(made.release, [0, 1], value),
        "indices of a model": lambda value: make_model(made.release, value, [0.0, 1.0]),
        "candidates": lambda value: Release(value, made.release.guarantee, 0.0, 1, False),
    }


def setting_doors(folder):
    """Doors for a setting: what happens where a table is given by mistake, as in a swapped argument."""
    made = curator()

    def folder_of(**options):
        return make_folder(
            folder / secrets.token_hex(8), curator(objective=lambda record: 0.0), **options
        )

    return {
        "scaling": lambda value: Curator(RIGHT, value, MECHANISM, OUTCOMES),
        "mechanism": lambda value: Curator(RIGHT, SCALING, value, OUTCOMES),
        "max_queries": lambda value: curator(max_queries=value),
        "outcome_mechanism": lambda value: curator(outcome_mechanism=value),
        "shared_outcomes": lambda value: curator(shared_outcomes=value),
        "privacy_budget": lambda value: curator(privacy_budget=value),
        "ledger": lambda value: curator(ledger=value),
        "generator": lambda value: curator(generator=value),
        "query": made.query,
        "repeats": lambda value: curator().add(RIGHT + 0.25, OUTCOMES, repeats=value),
        "radius": lambda value: PublicScaling([0.0, 0.0], [1.0, 1.0], radius=value),
        "choices": lambda value: PublicScaling([0.0], [1.0], names=["age"], choices=value),
        "epsilon": NoisyProjection,
        "delta": lambda value: NoisyProjection(3.0, value),
        "projection_dim": lambda value: NoisyProjection(3.0, projection_dim=value),
        "noise": lambda value: NoisyProjection(3.0, noise=value),
        "epsilon of Algorithm 1": lambda value: SpectralProjection(value, 1e-5, 2),
        "omega of Algorithm 1": lambda value: SpectralProjection(1.0, 1e-5, value),
        "bound": lambda value: OutcomeMechanism(5.0, 0.0, bound=value),
        "budget of a ledger": Ledger,
        "spend": lambda value: Ledger().spend(value, start=0, stop=2),
        "start of spend": lambda value: Ledger().spend(made.guarantee, start=value, stop=2),
        "features": Encoding,
        "radius of features": lambda value: Encoding([Number("age", 0.0, 1.0)], value),
        "guarantee as JSON": PrivacyGuarantee.from_json,
        "distance": made.guarantee.at,
        "records of a person": lambda value: made.guarantee.at(1.0, records=value),
        "compose": lambda value: compose([made.guarantee, value]),
        "budget": PrivacyGuarantee.budget,
        "release of a Modeler": Modeler,
        "n_initial": lambda value: Modeler(made.release, n_initial=value),
        "ask": Modeler(made.release).ask,
        "told index": lambda value: Modeler(made.release).tell(value, 1.0),
        "skip": lambda value: Modeler(made.release).skip(value),
        "skipped": lambda value: Modeler(made.release, skipped=value),
        "identifiers": lambda value: folder_of(identifiers=value),
        "objective of a folder": lambda value: folder_of(objective=value),
        "time_limit": lambda value: folder_of(time_limit=value),
        "outcome_name": lambda value: folder_of(outcome_name=value),
        "plausible": lambda value: folder_of(plausible=value),
        "release of a report": lambda value: report(value),
        "scaling of a report": lambda value: report(made.release, scaling=value),
        "trials": lambda value: report(made.release, trials=value),
        "release of a transform": lambda value: PrivateProjectionTransform.from_release(
            value, RIGHT, SCALING, made.permutation
        ),
    }
