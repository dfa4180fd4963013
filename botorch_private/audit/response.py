"""response_audit: whether labels of cells are true and false as often as the guarantee says."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from scipy.stats import binomtest, chi2_contingency, chisquare

from botorch_private._base import validate
from botorch_private.audit.findings import LEVEL, Check, Findings
from botorch_private.curator.mechanisms.base import Mechanism
from botorch_private.privacy.response_law import ResponseLaw

_RECORDS = 500_000  # of a table: beyond a block of the sampler
_WIDEST = 20  # cells of which each one is looked at alone
_SHIFTS = (1, 2, 3, 2**18)


def response_audit(
    mechanism: Mechanism, *, records: int = _RECORDS, level: float = LEVEL, seed: int = 0
) -> Findings:
    """Test whether a randomized response tells the truth, and lies, with the stated probabilities.

    Made-up tables are told by the operating system's entropy, and what comes out is compared with the
    law of the guarantee by exact binomial tests (Clopper & Pearson 1934 give the same limits):

    - the true cell is told with probability ``p``, over all cells and for each of the first 20;
    - a lie is each other cell equally often;
    - a label does not depend on the records beside it: a table of one other cell gives labels of the
      same law, and neighbours' truths and lies do not go together;
    - no two releases, and no two forked blocks, tell the same;
    - what is stated as epsilon is ``log(p / q)`` of the law.

    **What it sees.** With 500,000 records a truth that is 1 % too likely, or a lie that is told one
    and a half times too rarely, is seen with p < 1e-8 where ``p`` is below 0.9; nearer to 1 the lies
    show it.

    Args:
        mechanism: A `CellResponse`, or what has its `draw` and a `ResponseLaw` in its guarantee.
        records: How many made-up records, >= 1,000.
        level: Chance, in (0, 1), that an honest mechanism is refuted.
        seed: Of the auditor's random choices; not of the labels.

    Returns:
        What was looked at and found.

    Raises:
        ValueError: If the mechanism's guarantee states no randomized response.
    """
    validate.count(minimum=1000, records=records)
    validate.probability(level=level)
    validate.count(minimum=0, seed=seed)
    guarantee = mechanism.guarantee(records, 1)
    law = guarantee.law
    if not isinstance(law, ResponseLaw):
        raise ValueError("mechanism must state a randomized response in its guarantee")
    rng = np.random.default_rng(seed)
    true = rng.integers(law.cells, size=records)
    labels = _told(mechanism, true)
    again = _told(mechanism, true)
    honest = labels == true
    checks = [*_truths(true, honest, law), *_lies(true, labels, law)]
    checks += _independence(mechanism, true, honest, again == true, law)
    checks.append(
        Check.exact(
            "epsilon is at least log(p / q) of the stated law",
            guarantee.epsilon >= math.log(law.p / law.q) * (1 - 1e-12),
            f"{guarantee.epsilon:.6g}",
            f"{law.epsilon(1.0):.6g}",
        )
    )
    error = 6 * math.sqrt(law.p * (1 - law.p) / records)
    sees = (
        f"a truth that is told {100 * error / law.p:.2g} % too often or too rarely ({records} records)",
        "a lie that is not uniform, a label that depends on a neighbour, labels that are told again",
    )
    return Findings(tuple(checks), sees, ("faults that show in a rare cell only",), level)


def _told(mechanism: Any, true: np.ndarray) -> np.ndarray:
    rows = mechanism.draw(torch.from_numpy(true).double().unsqueeze(-1)).rows
    return rows[:, 0].numpy().astype(np.int64)


def _truths(true: np.ndarray, honest: np.ndarray, law: ResponseLaw) -> Iterator[Check]:
    for cell in (None, *range(min(law.cells, _WIDEST))):
        asked = np.ones(len(true), dtype=bool) if cell is None else true == cell
        found, n = int(honest[asked].sum()), int(asked.sum())
        test = binomtest(found, n, law.p)
        low, high = test.proportion_ci(confidence_level=0.99, method="exact")
        where = "" if cell is None else f" of cell {cell}"
        yield Check(
            f"the truth{where} is told with probability p",
            float(test.pvalue),
            f"{low:.6f} to {high:.6f} (99 %)",
            f"{law.p:.6f}",
        )
    # Near 1 the truths do not show a lie that is too rare: the lies do.
    lies = int((~honest).sum())
    share = binomtest(lies, len(true), 1 - law.p)
    yield Check(
        "lies are told with probability 1 - p",
        float(share.pvalue),
        f"{lies}",
        f"{(1 - law.p) * len(true):.1f}",
    )


def _lies(true: np.ndarray, labels: np.ndarray, law: ResponseLaw) -> Iterator[Check]:
    if law.cells == 2:
        return
    lied = labels != true
    # Which of the other cells, in their order: uniform whatever the true one is.
    which = labels[lied] - (labels[lied] > true[lied])
    counts = np.bincount(which, minlength=law.cells - 1)
    if counts.sum() >= 5 * (law.cells - 1):
        yield Check("a lie is each other cell equally often", float(chisquare(counts).pvalue))
    shift = np.bincount((labels[lied] - true[lied]) % law.cells, minlength=law.cells)[1:]
    if shift.sum() >= 5 * (law.cells - 1):
        yield Check("lies are as far from the truth as uniform ones", float(chisquare(shift).pvalue))


def _independence(
    mechanism: Any, true: np.ndarray, honest: np.ndarray, again: np.ndarray, law: ResponseLaw
) -> Iterator[Check]:
    for shift in _SHIFTS:
        if shift < len(honest):
            yield _apart(
                f"whether two records {shift} apart are told truly is independent",
                honest[shift:],
                honest[:-shift],
            )
            yield _apart(
                f"whether a record is told truly does not depend on the cell of the one {shift} "
                f"before it",
                honest[shift:],
                true[:-shift] % min(law.cells, _WIDEST) == 0,
            )
    yield _apart("two releases lie about different records", honest, again)
    # One table in which all other records are in one cell: the labels of the rest keep their law.
    alone = np.zeros_like(true)
    alone[::2] = true[::2]
    kept = _told(mechanism, alone)[::2] == true[::2]
    test = binomtest(int(kept.sum()), len(kept), law.p)
    yield Check("a label does not depend on what other records are", float(test.pvalue))


def _apart(name: str, one: np.ndarray, other: np.ndarray) -> Check:
    table = np.array(
        [[(one & other).sum(), (one & ~other).sum()], [(~one & other).sum(), (~one & ~other).sum()]]
    )
    if (table.sum(axis=0) == 0).any() or (table.sum(axis=1) == 0).any():
        return Check(name, 1.0)
    test: Any = chi2_contingency(table, correction=False)
    return Check(name, float(test.pvalue))
