"""response_audit: whether labels of cells are true and false as often as the guarantee says."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from scipy.stats import chi2, norm

from botorch_private._base import validate
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.audit.findings import LEVEL, Check, Findings
from botorch_private.audit.forked import in_two_copies
from botorch_private.audit.order_of_labels import order_checks, released_by
from botorch_private.audit.told_apart import alike_checks, neighbour_checks, repeat_checks
from botorch_private.audit.two_sided import two_sided
from botorch_private.curator.mechanisms.base import Mechanism
from botorch_private.privacy.response_law import ResponseLaw

if TYPE_CHECKING:
    from botorch_private.curator.curator import Curator

_RECORDS = 500_000  # of a table: beyond a block of the sampler
_FEW = 20  # cells of a table in which each pair of a cell and a label is frequent
_FREQUENT, _OFTEN, _MANY = 50, 5, 200  # expected counts from which chi-square is near enough
_NEEDED = ("draw", "guarantee", "isotropic")
_FORKED_ROWS, _CHANCE = 100_000, 1e-12


class Told(NamedTuple):
    """A made-up table and what was told of it: ``n`` cells and ``n`` labels, whole numbers."""

    name: str
    true: np.ndarray
    labels: np.ndarray

    @property
    def honest(self) -> np.ndarray:
        """Which records were told truly."""
        return self.labels == self.true


@on_cpu_by_default
def response_audit(
    mechanism: Mechanism,
    *,
    curator: Callable[..., Curator] | None = None,
    records: int = _RECORDS,
    level: float = LEVEL,
    seed: int = 0,
) -> Findings:
    """Test whether a randomized response tells the truth, and lies, with the stated probabilities.

    Made-up tables are told by the operating system's entropy, and what comes out is compared with the
    law of the guarantee:

    - the true cell is told with probability ``p``, in each table and of each cell (exact binomial
      tests, as in Clopper & Pearson 1934);
    - a lie is each other cell equally often: no label, no distance from the truth, and no pair of a
      cell and a label is favoured (exact binomial tests, and chi-square);
    - a label does not depend on other records: neither truths nor lies go with the cells of records
      any number of rows before or after, and a table of one other cell gives labels of the same law;
    - no block of rows, no two releases, no rows that join later and no two forked processes are told
      by the same random numbers: truths and lies do not go together at any number of rows apart
      (Bernstein's inequality for each, all of them counted);
    - a curator releases the labels of its records in an order of their own: not in the table's, and no
      order twice; they are labels of the records that its order says (made-up cells of the same law);
    - what is stated as epsilon is at least ``log(p / q)``, also for a whole record.

    **What it sees.** `Findings.sees` has the number for the mechanism at hand: with four cells at
    epsilon 3, a truth that is 0.2 % too likely. Random numbers that are used again are seen from some
    thousands of rows on. In tables of a few records it looks at nothing.

    Args:
        mechanism: A `CellResponse`, or what has its `draw` and a `ResponseLaw` in its guarantee.
        curator: None: `Curator`. Or what takes its arguments and has its `release` and `permutation`.
        records: How many made-up records a table has, >= 1,000. There are five tables.
        level: Chance, in (0, 1), that an honest mechanism is refuted.
        seed: Of the auditor's random choices; not of the labels.

    Returns:
        What was looked at and found.

    Raises:
        TypeError: If it is no mechanism.
        ValueError: If its guarantee states no randomized response, or a number is out of range.

    Example:
        >>> whole = CellResponse(3.0, Cells({"age": [18, 40, 65, 100], "weight": [0, 80, 200]}))
        >>> audit.response_audit(whole, records=20_000).problems
        ()
    """
    if isinstance(mechanism, type) or not all(hasattr(mechanism, name) for name in _NEEDED):
        raise TypeError(
            "mechanism must be a mechanism such as CellResponse(3.0, cells): it needs "
            + ", ".join(_NEEDED)
        )
    validate.count(minimum=1000, records=records)
    validate.probability(level=level)
    validate.count(minimum=0, seed=seed)
    guarantee = mechanism.guarantee(int(records), 1)
    law = guarantee.law
    if not isinstance(law, ResponseLaw):
        raise ValueError(
            "mechanism must state a randomized response in its guarantee, as CellResponse does; "
            "noise_audit is for noise"
        )
    stated = min(guarantee.epsilon, guarantee.whole_record)
    checks = [
        Check.exact(
            "epsilon is at least log(p / q) of the stated law",
            stated >= law.epsilon(1.0),
            f"{stated:.9g}",
            f"{law.epsilon(1.0):.9g}",
        )
    ]
    tables = _told_tables(mechanism, law, int(records), np.random.default_rng(seed))
    cells = all(((t.labels >= 0) & (t.labels < law.cells)).all() for t in tables)
    checks.append(Check.exact("every label is one of the cells", bool(cells)))
    unseen = ["what is told in tables of a few records"]
    if cells:
        checks += order_checks(*released_by(law, tables[0].true, curator), law)
        checks += _truths(tables, law)
        checks += _lies(tables, law)
        checks += neighbour_checks(tables[0].true, tables[0].labels, law)
        checks += repeat_checks(tables[0].true, tables[0].labels, law)
        for other in tables[1:]:
            checks += alike_checks(other.name, tables[0], other, law)
        if (copies := _copies(mechanism, law)) is None:
            unseen.append("what forked processes do: this system has none, or lies are too rare")
        else:
            checks.append(copies)
    return Findings(
        tuple(checks),
        _seen(law, len(tables) * int(records), level / len(checks)),
        tuple(unseen),
        level,
    )


def _told_tables(mechanism: Any, law: ResponseLaw, records: int, rng: np.random.Generator) -> list[Told]:
    true = rng.integers(law.cells, size=records)
    drawn = mechanism.draw(_as_scaled(true))
    tables = [Told("the first release", true, _labels(drawn.rows))]
    if getattr(drawn, "more", None) is not None:
        tables.append(Told("rows that join later", true, _labels(drawn.more(_as_scaled(true)))))
    few = np.unique([0, law.cells - 1, *rng.permutation(law.cells)[: _FEW - 2]])
    alone = np.zeros_like(true)
    alone[::2] = true[::2]
    for name, table in (
        ("a second release of the same table", true),
        ("a table of few cells", few[rng.integers(len(few), size=records)]),
        ("a table whose every second record is in one cell", alone),
    ):
        tables.append(Told(name, table, _labels(mechanism.draw(_as_scaled(table)).rows)))
    return tables


def _as_scaled(cells: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(cells).double().unsqueeze(-1)


def _labels(rows: torch.Tensor) -> np.ndarray:
    numbers = rows[:, 0].numpy()
    whole = np.where(np.isfinite(numbers) & (numbers == np.rint(numbers)), numbers, -1.0)
    return whole.astype(np.int64)


def _truths(tables: list[Told], law: ResponseLaw) -> Iterator[Check]:
    told = np.array([int(t.honest.sum()) for t in tables])
    asked = np.array([len(t.true) for t in tables])
    yield _rate("the truth is told with probability p", told.sum(), asked.sum(), law.p)
    # Near 1 the truths do not show a lie that is too rare: the lies do.
    lies = (asked - told).sum()
    yield _rate("lies are told with probability 1 - p", lies, asked.sum(), (law.cells - 1) * law.q)
    yield Check(
        "in each table the truth is told with probability p", _least(two_sided(told, asked, law.p))
    )
    cells = sum(np.bincount(t.true, minlength=law.cells) for t in tables)
    honest = sum(np.bincount(t.true[t.honest], minlength=law.cells) for t in tables)
    yield Check(
        "the truth of each cell is told with probability p", _least(two_sided(honest, cells, law.p))
    )


def _rate(name: str, found: Any, of: Any, share: float) -> Check:
    chance = float(two_sided(found, of, share))
    return Check(name, chance, f"{found / of:.7g} ({found} of {of})", f"{share:.7g}")


def _lies(tables: list[Told], law: ResponseLaw) -> Iterator[Check]:
    if law.cells == 2:
        return
    true = np.concatenate([t.true for t in tables])
    labels = np.concatenate([t.labels for t in tables])
    lied = labels != true
    cells = np.bincount(true, minlength=law.cells)
    by_label = np.bincount(labels[lied], minlength=law.cells)
    yield Check(
        "each label is told as a lie with probability q",
        _least(two_sided(by_label, len(true) - cells, law.q)),
    )
    # Given that it is a lie, it is as far from the truth as a uniform one.
    shifts = np.bincount((labels[lied] - true[lied]) % law.cells, minlength=law.cells)[1:]
    yield from _uniform("lies are as far from the truth as uniform ones", shifts)
    few = next(t for t in tables if t.name == "a table of few cells")
    asked, place = np.unique(few.true, return_inverse=True)
    lied = few.labels != few.true
    which = few.labels[lied] - (few.labels[lied] > few.true[lied])  # among the others, in their order
    pairs = np.bincount(place[lied] * (law.cells - 1) + which, minlength=len(asked) * (law.cells - 1))
    yield from _uniform(
        "of each cell every other one is told equally often", pairs.reshape(len(asked), -1)
    )


def _uniform(name: str, counts: np.ndarray) -> Iterator[Check]:
    """Whether the counts of each row are multinomial with equal shares."""
    rows = np.atleast_2d(counts)
    totals, width = rows.sum(axis=1), rows.shape[1]
    yield Check(name, _least(two_sided(rows, np.broadcast_to(totals[:, None], rows.shape), 1 / width)))
    expected = totals / width
    if expected.min() >= (_OFTEN if rows.size >= _MANY else _FREQUENT):
        statistic = float((np.square(rows - expected[:, None]) / expected[:, None]).sum())
        chance = float(chi2.sf(statistic, len(rows) * (width - 1)))
        yield Check(f"{name}, taken together", chance)


def _least(chances: np.ndarray) -> float:
    """The least of several p-values, as a p-value (Bonferroni)."""
    return float(min(1.0, chances.min() * chances.size))


def _copies(mechanism: Any, law: ResponseLaw) -> Check | None:
    same = law.p**2 + (law.cells - 1) * law.q**2  # of two labels of one record
    if _FORKED_ROWS * math.log(same) > math.log(_CHANCE):
        return None
    table = _as_scaled(np.zeros(_FORKED_ROWS, dtype=np.int64))
    found = in_two_copies(lambda: _labels(mechanism.draw(table).rows).tobytes())
    if found is None:
        return None
    return Check.exact("two copies of this process lie about records of their own", found[0] != found[1])


def _seen(law: ResponseLaw, told: int, level: float) -> tuple[str, ...]:
    width = float(norm.isf(level / 2) + norm.isf(1e-3))  # with 99.9 % probability
    apart = 100 * width * math.sqrt(law.p * (1 - law.p) / told)
    lies = (1 - law.p) * told
    sees = [
        f"a truth that is told {apart / law.p:.2g} % too often or too rarely, with 99.9 % probability "
        f"({told} labels)"
    ]
    if lies >= 1000:
        sees.append("a favoured lie, a label that goes with another record, labels told again")
    else:
        sees.append(f"of lies next to nothing, since only {lies:.3g} of so many labels are expected")
    return tuple(sees)
