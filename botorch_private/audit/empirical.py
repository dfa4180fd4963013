"""empirical_epsilon: an epsilon from below, by releasing two neighbouring tables many times."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.floating_point import quiet_arithmetic
from botorch_private._base.memory import require_memory
from botorch_private.audit.bounds import (
    certified_epsilon,
    epsilon_from_rates,
    gaussian_epsilon_from_rates,
)
from botorch_private.audit.likelihood import log_ratio
from botorch_private.audit.result import AuditResult
from botorch_private.audit.tables import Neighbours, neighbours
from botorch_private.curator.mechanisms import Mechanism

_AT_ONCE = 100_000  # rows of one release
_COPIES = 6  # of all trials: the noise under both tables, parts of it, and what the likelihood takes
_SAME_SUBSPACE = 1e-6  # relative residual


@quiet_arithmetic
def empirical_epsilon(
    mechanism: Mechanism,
    records: Any,
    neighbour: Any,
    trials: int = 100_000,
    *,
    confidence: float = 0.95,
    generator: torch.Generator | None = None,
) -> AuditResult:
    """Certify an epsilon from below by guessing which of two tables was released.

    Each table is released many times, and a test of the hypothesis "it was `records`" is run on each
    release. Its error rates, bounded by Clopper and Pearson, refute every smaller epsilon. The threshold
    of the test is chosen on one half of the releases and judged on the other.

    - A mechanism with a noise law (`NoisyProjection`) is tested by the likelihood ratio of the law that
      it claims, at the record that differs, by an adversary who knows everything else, the projection
      included (with a projection, the record is put at the origin: its noise must not depend on where
      it is, which `replay` checks). For Gaussian noise without a projection onto fewer dimensions the
      rates go through its ``mu``: a bound for Gaussian mechanisms.
    - Any other (`SpectralProjection`) is tested by whether the released columns lie in the column space
      of the centred `records`.

    Args:
        mechanism: What is audited.
        records: ``n x d`` *scaled* records.
        neighbour: The same with one row changed.
        trials: Releases of each table, >= 100. Without a projection the record is released so often in
            one table of copies, since rows get noise of their own; with one, or without a noise law,
            each is a release of its own: 1,000 take about a second.
        confidence: Of the bound, in (0, 1).
        generator: Where the seeds of the releases come from. None: random. Releases are seeded, so that
            the arithmetic is audited, not the operating system's entropy.

    Returns:
        The bound, beside what the guarantee claims at this distance.

    Raises:
        ValueError: If the tables do not differ in exactly one row, or a number is out of range.

    Example:
        >>> scaled = scaling.transform(records)
        >>> moved = scaled.clone()
        >>> moved[0, 0] += 1.0  # one record, by one unit
        >>> found = audit.empirical_epsilon(mechanism, scaled, moved, trials=1000)
        >>> round(found.claimed, 2)  # promised; found.lower_bound is what the test certifies
        3.0
    """
    tables = neighbours(records, neighbour)
    validate.count(minimum=100, trials=trials)
    validate.probability(confidence=confidence)
    validate.generator(generator=generator)
    width = max(tables.records.shape[1], getattr(mechanism, "projection_dim", None) or 0)
    require_memory(
        _COPIES * 8 * trials * width,
        what=f"an audit of {trials} trials, each of a row of {width} numbers,",
        remedy="take fewer trials",
    )
    if generator is None:
        generator = torch.Generator()
        generator.seed()
    guarantee = mechanism.guarantee(*tables.records.shape)
    law_of = getattr(mechanism, "law", None)
    law = None if law_of is None else law_of(tables.records.shape[1])
    if law is None:
        scores = _residual_scores(mechanism, tables, trials, generator)
        rule, method = epsilon_from_rates, "residual from the column space"
    else:
        scores = _likelihood_scores(mechanism, law, tables, trials, generator)
        rule, method = epsilon_from_rates, "likelihood ratio"
        if law.kind == "gaussian" and law.dim == law.features:  # a mixture of them has no mu
            rule, method = gaussian_epsilon_from_rates, "likelihood ratio, by mu"
    return AuditResult(
        lower_bound=certified_epsilon(*scores, guarantee.delta, confidence, rule),
        claimed=guarantee.at(tables.distance),
        delta=guarantee.delta,
        distance=tables.distance,
        confidence=confidence,
        trials=trials,
        method=method,
    )


# --- scores: larger where it was `records` ---


def _likelihood_scores(
    mechanism: Any, law: Any, tables: Neighbours, trials: int, generator: torch.Generator
) -> tuple[np.ndarray, np.ndarray]:
    own, other = tables.records[tables.row], tables.neighbour[tables.row]
    step = other - own
    if mechanism.projection_dim is None:
        steps = step, step
        errors = [_copies(mechanism, row, trials, generator) - own for row in (own, other)]
    else:
        (noise, first), (again, second) = (
            _one_by_one(mechanism, step, trials, generator) for _ in range(2)
        )
        steps, errors = (first, second), [noise, again + second]
    ratios = [log_ratio(law, *each).numpy() for each in zip(errors, steps, strict=True)]
    return ratios[0], ratios[1]


def _copies(mechanism: Any, row: Tensor, trials: int, generator: torch.Generator) -> Tensor:
    """Release a record ``trials`` times, as so many rows."""
    parts = []
    for start in range(0, trials, _AT_ONCE):
        count = max(2, min(_AT_ONCE, trials - start))
        parts.append(mechanism.apply(row.expand(count, -1).clone(), generator=generator))
    return torch.cat(parts)[:trials]


def _one_by_one(
    mechanism: Any, step: Tensor, trials: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Release with a fresh projection each time.

    Equal seeds draw equal projections and equal noise, so that the origin shows the noise of a release,
    and the difference to it where a step leads.

    Returns:
        ``trials x k`` noise, and ``trials x k`` released steps.
    """
    tables = torch.zeros(2, 2, len(step), dtype=step.dtype)
    tables[1, 1] = step
    noise, moved = [], []
    for seed in torch.randint(2**62, (trials,), generator=generator).tolist():
        still, gone = (
            mechanism.apply(table, generator=torch.Generator().manual_seed(seed))[1] for table in tables
        )
        noise.append(still)
        moved.append(gone - still)
    return torch.stack(noise), torch.stack(moved)


def _residual_scores(
    mechanism: Any, tables: Neighbours, trials: int, generator: torch.Generator
) -> tuple[np.ndarray, np.ndarray]:
    centred = tables.records - tables.records.mean(dim=0)
    basis, values, _ = torch.linalg.svd(centred, full_matrices=False)
    basis = basis[:, values > 1e-9 * values[0]]
    found = []
    for table in (tables.records, tables.neighbour):
        scores = np.empty(trials)
        for i in range(trials):
            rows = mechanism.apply(table, generator=generator)
            outside = rows - basis @ (basis.mT @ rows)
            scores[i] = -float(outside.norm() / rows.norm())
        found.append((scores > -_SAME_SUBSPACE).astype(float))
    return found[0], found[1]
