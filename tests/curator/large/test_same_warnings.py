"""A release in parts warns of what a release in one piece warns of, in the same words."""

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from botorch_private import (
    CellResponse,
    Cells,
    Curator,
    Ledger,
    NoisyProjection,
    OutcomeMechanism,
    PrivacyGuarantee,
    PublicScaling,
    release_parquet,
)

N = 90
GENERATOR = np.random.default_rng(0)
# Sorted: what a file alone would say is not what all say.
AGES, DOSES = np.sort(GENERATOR.uniform(20, 80, N)), GENERATOR.uniform(0.2, 0.9, N)
WIDE, PROJECTION = ([0, 0], [100, 2]), NoisyProjection(3.0)


@dataclass(frozen=True)
class Talking(NoisyProjection):
    """A mechanism of somebody's own, which has something to say."""

    def warn(self, n, d, *, stacklevel=2):
        warnings.warn(f"{n} records of {d} features", UserWarning, stacklevel=stacklevel)


def changed(values, **at):
    values = values.copy()
    for place, value in at.items():
        values[int(place[1:])] = value
    return values


STAND_INS = np.where(np.arange(N) % 3 == 0, -999.0, DOSES)
CASES = {
    "nothing": {},
    "ends of the table": {"ranges": ([AGES.min(), 0], [AGES.max(), 2])},
    "all ends of the table": {
        "ranges": ([AGES.min(), DOSES.min()], [AGES.max(), DOSES.max()]),
    },
    "a value among the records": {"ranges": ([AGES[7], 0], [100, 2])},
    "the mean in the middle": {"ranges": ([AGES.mean() - 50, 0], [AGES.mean() + 50, 2])},
    "clipped": {"ranges": ([0, 0], [50, 2])},
    "clipped in the last file": {"ranges": ([0, 0], [70, 2])},
    "stand-ins": {"doses": STAND_INS},
    "all the same": {"doses": np.full(N, 0.5)},
    "the same but for one": {"doses": changed(np.full(N, 0.5), _70=0.6)},
    "yes and no": {"doses": (np.arange(N) % 2).astype(float), "ranges": ([0, 0], [100, 1])},
    "a number in 0 to 1": {"doses": DOSES / DOSES.max(), "ranges": ([0, 0], [100, 1])},
    "a large delta": {"mechanism": NoisyProjection(3.0, delta=1e-2, projection_dim=1)},
    "a larger delta": {"mechanism": NoisyProjection(3.0, delta=0.1, projection_dim=1)},
    "a large delta of the budget": {"budget": PrivacyGuarantee.budget(6.0, delta=0.05)},
    "a large delta of answers": {"answers": OutcomeMechanism(1.0, 0.05, (0.0, 1.0))},
    "cells": {"mechanism": CellResponse(3.0, Cells({"age": [0, 50, 100], "dose": [0, 1, 2]}))},
    "cells that clip": {"mechanism": CellResponse(3.0, Cells({"age": [0, 30, 40], "dose": [0, 1, 2]}))},
    "cells at the ends of the table": {
        "mechanism": CellResponse(
            3.0, Cells({"age": [AGES.min(), 50, AGES.max()], "dose": [DOSES.min(), DOSES.max()]})
        )
    },
    "words of the mechanism": {"mechanism": Talking(3.0)},
}


QUIET = ("nothing", "yes and no", "cells", "the same but for one", "a number in 0 to 1")


def said(do):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        do()
    assert {each.filename for each in found} <= {__file__}
    return sorted((each.category.__name__, str(each.message)) for each in found)


def both(tmp_path, doses=DOSES, ranges=WIDE, mechanism=PROJECTION, budget=None, answers=None):
    frame = pd.DataFrame({"age": AGES, "dose": doses})
    (tmp_path / "stays").mkdir()
    for i in range(3):
        frame[30 * i : 30 * (i + 1)].to_parquet(tmp_path / "stays" / f"{i}.parquet")
    of_cells = isinstance(mechanism, CellResponse)
    scaling = None if of_cells else PublicScaling(*ranges, names=["age", "dose"])
    in_parts = said(
        lambda: release_parquet(
            tmp_path / "stays",
            tmp_path / "out",
            scaling,
            mechanism,
            outcome_guarantee=None if answers is None else answers.guarantee(),
            ledger=Ledger(budget),
            progress=False,
        )
    )
    in_one_piece = said(
        lambda: Curator(
            frame, scaling, mechanism, np.zeros(N), outcome_mechanism=answers, ledger=Ledger(budget)
        )
    )
    return in_parts, in_one_piece


@pytest.mark.parametrize("case", CASES)
def test_both_doors_say_the_same(tmp_path, case):
    in_parts, in_one_piece = both(tmp_path, **CASES[case])
    assert in_parts == in_one_piece
    assert bool(in_parts) == (case not in QUIET)
