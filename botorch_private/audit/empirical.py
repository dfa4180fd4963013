"""empirical_epsilon: an epsilon from below, by releasing two neighbouring tables many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.floating_point import quiet_arithmetic
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private._base.memory import require_memory
from botorch_private.audit.bounds import (
    certified_epsilon,
    epsilon_from_rates,
    gaussian_epsilon_from_rates,
)
from botorch_private.audit.goodness_of_fit import reference
from botorch_private.audit.honest import counterpart
from botorch_private.audit.independent_rows import dependence
from botorch_private.audit.likelihood import log_ratio
from botorch_private.audit.responses import refuse_responses
from botorch_private.audit.result import AuditResult
from botorch_private.audit.tables import Neighbours, neighbours
from botorch_private.curator.mechanisms import Mechanism
from botorch_private.privacy.noise_law import NoiseLaw

_AT_ONCE = 100_000  # rows of one release
_COPIES = 6  # of all trials: the noise under both tables, parts of it, and what the likelihood takes
_SAME_SUBSPACE = 1e-6  # relative residual


@quiet_arithmetic
@on_cpu_by_default
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
        The bound, beside what the guarantee claims at this distance, what the same test finds for
        honest noise, and how narrow noise must be for it to refute the claim. In many dimensions that is
        far narrower than claimed: `noise_audit` sees a wrong width.

    Raises:
        ValueError: If the tables do not differ in exactly one row, a number is out of range, or the
            mechanism is a randomized response.

    Example:
        >>> scaled = scaling.transform(records)
        >>> moved = scaled.clone()
        >>> moved[0, 0] += 1.0  # one record, by one unit
        >>> found = audit.empirical_epsilon(mechanism, scaled, moved, trials=1000)
        >>> round(found.claimed, 2)  # promised; found.lower_bound is what the test certifies
        3.0
    """
    refuse_responses(mechanism)
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
    claimed = guarantee.at(tables.distance)
    rule: Callable[[float, float, float], float] = epsilon_from_rates
    honest, sees, problems = None, None, ()
    if law is None:
        scores = _residual_scores(mechanism, tables, trials, generator)
        method = "residual from the column space"
    else:
        method = "likelihood ratio"
        if law.kind == "gaussian" and law.dim == law.features:  # a mixture of them has no mu
            rule, method = gaussian_epsilon_from_rates, "likelihood ratio, by mu"
        found = _trials(mechanism, tables, trials, generator)
        # Each trial must have noise of its own, or error rates say nothing: that comes first.
        problems = dependence(torch.cat([found.noise, found.more_noise]).numpy())
        scores = _likelihood_scores(law, found)
        rng = np.random.default_rng(int(torch.randint(2**62, (1,), generator=generator)))
        as_claimed = found.as_claimed(
            law, tables.neighbour[tables.row] - tables.records[tables.row], rng
        )
        honest, sees = counterpart(
            lambda share: certified_epsilon(
                *_likelihood_scores(law, as_claimed, share), guarantee.delta, confidence, rule
            ),
            claimed,
        )
    bound = 0.0 if problems else certified_epsilon(*scores, guarantee.delta, confidence, rule)
    return AuditResult(
        lower_bound=bound,
        claimed=claimed,
        delta=guarantee.delta,
        distance=tables.distance,
        confidence=confidence,
        trials=trials,
        method=method,
        honest=honest,
        sees=sees,
        problems=problems,
    )


# --- scores: larger where it was `records` ---


class _Trials(NamedTuple):
    """Noise of releases of both tables, and the released step from the one record to the other.

    All are ``trials x k``; a step that is the same in all trials is one row.
    """

    noise: Tensor
    step: Tensor
    more_noise: Tensor
    more_step: Tensor

    def as_claimed(self, law: NoiseLaw, step: Tensor, rng: np.random.Generator) -> _Trials:
        """The same with noise of the claimed law. A rotation changes no angle, and is left out."""
        steps = (step, step) if law.dim == len(step) else (self.step, self.more_step)
        shape = len(self.noise), steps[0].shape[-1]
        noise = [
            torch.from_numpy(reference(law, shape[0] * shape[1] // law.dim, rng).reshape(shape))
            for _ in range(2)
        ]
        return _Trials(noise[0], steps[0], noise[1], steps[1])


def _trials(mechanism: Any, tables: Neighbours, trials: int, generator: torch.Generator) -> _Trials:
    own, other = tables.records[tables.row], tables.neighbour[tables.row]
    step = other - own
    if mechanism.projection_dim is None:
        one, more = (_copies(mechanism, row, trials, generator) - row for row in (own, other))
        return _Trials(one, step, more, step)
    one, more = (_one_by_one(mechanism, step, trials, generator) for _ in range(2))
    return _Trials(*one, *more)


def _likelihood_scores(
    law: NoiseLaw, found: _Trials, share: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of releases of both tables, with so much of the noise."""
    own = log_ratio(law, share * found.noise, found.step)
    other = log_ratio(law, share * found.more_noise + found.more_step, found.more_step)
    return own.numpy(), other.numpy()


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
