"""A table with marker values planted, what only its curator may know, and ears for what is said."""

import contextlib
import io
import logging
import warnings

import numpy as np
import torch

from botorch_private import NoisyProjection, PublicScaling, SpectralProjection

N, D = 24, 3
SEED = 7_654_321_987
MARK = 41731905.26
LOUD, EXACT = 1e-4, 1e-12  # tolerances
SCALING = PublicScaling([0.0, -5.0, 100.0], [1e8, 5.0, 300.0], names=["mark", "age", "dose"])
RECORDS = torch.rand(N, D, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
RECORDS = SCALING.lower + RECORDS * (SCALING.upper - SCALING.lower)
RECORDS[:, 0] = MARK + 173_190.526 * torch.arange(N, dtype=torch.float64)
OUTCOMES = torch.rand(N, dtype=torch.float64, generator=torch.Generator().manual_seed(4)) * 7
MECHANISMS = {
    "laplace": NoisyProjection(3.0),
    "rotated": NoisyProjection(3.0, projection_dim=5),
    "projected": NoisyProjection(3.0, 1e-5, projection_dim=2),
    "algorithm 1": SpectralProjection(1.0, 1e-5, 2),
}


def secrets_of(records):
    """Numbers that only the curator may know, each with the tolerance to look for it."""
    table = records.numpy()
    scaled = SCALING.transform(records).numpy()
    found = [(value, LOUD) for value in table[:, 0].tolist()]
    exact = [*table[:, 1:].ravel(), *scaled.ravel()]
    for each in (table, scaled):
        centred = each - each.mean(axis=0)
        exact += [*each.mean(axis=0), *each.max(axis=0), *each.std(axis=0), *centred.ravel()]
        exact += [*np.linalg.norm(each, axis=1), *np.linalg.norm(centred, axis=1)]
        exact += [*np.linalg.svd(each)[1], *np.linalg.svd(centred)[1]]
    return found + [(float(value), EXACT) for value in exact] + [(SEED, EXACT)]


SECRETS = secrets_of(RECORDS)


class Listener(logging.Handler):
    """Keeps every line that is logged, at any level."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.lines, self.records = [], []

    def emit(self, record):
        self.records.append(record)
        self.lines.append((self.format(record), vars(record)))


@contextlib.contextmanager
def listening():
    """Everything that is logged, warned of, or written to the two standard streams."""
    said, listener, log = {}, Listener(), logging.getLogger()
    level = log.level
    log.addHandler(listener)
    log.setLevel(logging.DEBUG)
    printed = io.StringIO()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                yield said
    finally:
        log.removeHandler(listener)
        log.setLevel(level)
        said |= {"log": listener.lines, "warnings": [str(each.message) for each in caught]}
        said |= {"printed": printed.getvalue(), "records": listener.records}


def refusal(wrong):
    """Return the exception that a wrong use raises."""
    try:
        wrong()
    except Exception as error:
        return error
    raise AssertionError(f"{wrong} was not refused")
