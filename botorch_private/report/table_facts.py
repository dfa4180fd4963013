"""What the records add to the report: true spreads, and the error of an attacker who knows them all.

These numbers depend on the table, so that a report that shows them must stay with the curator.

The attacker knows every record of the table, but not which released row belongs to which: the table
itself is the prior. Given a released row, the posterior of a record is proportional to the density of
the noise between the two, and the posterior mean is the guess with the least mean squared error. Its
error is averaged over records drawn at random, with fresh noise (Monte Carlo).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import torch
from torch import Tensor

from botorch_private._base.progress import tqdm
from botorch_private.audit import (
    AuditResult,
    Findings,
    OrderResult,
    answers_audit,
    clipping_audit,
    one_run_audit,
    order_audit,
)
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.curator.mechanisms import NoisyProjection, OutcomeMechanism
from botorch_private.curator.mechanisms.entropy import entropy_from
from botorch_private.curator.mechanisms.noise import sample_on_grid
from botorch_private.exchange.release import Release
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.noise_law import NoiseLaw
from botorch_private.report.attacker import feature_names, in_raw_unit
from botorch_private.report.audit_facts import CONFIDENCE, stated_mechanism
from botorch_private.report.facts import Cost

_DRAWS, _FEWEST_DRAWS, _ENTRIES = 400, 50, 3_000_000_000
_CHUNK_ENTRIES = 2**22
_CANARIES = 20_000
_PERMUTATIONS, _MANY_ENTRIES = 4_999, 2**17
ORDER_LEVEL = 1e-3  # a sound release must seldom be accused by chance: many reports are made
_SILENT_SECONDS = 2


@dataclass(frozen=True)
class TableFeature:
    """A feature, in raw units, after values outside the declared range were moved to its ends.

    `step` is what is promised about the step between the only two values of the feature. It is None
    where the feature takes others, and for columns of a declared yes/no or category.
    """

    name: str
    spread: float  # standard deviation in the table
    error: float | None  # root mean square, of who knows all records; None where it was not computed
    standard_error: float | None  # of that, by Monte Carlo
    step: Cost | None


@dataclass(frozen=True)
class TableFacts:
    """What was computed from the records, for one release."""

    name: str  # of the release
    records: int
    clipped: int  # records that have a value outside its declared range
    draws: int  # records that the error was averaged over
    features: tuple[TableFeature, ...]
    one_run: AuditResult | None  # of one fresh release of these records; None where none was possible
    order: OrderResult | None  # of the released rows; None where all rows or all records are equal
    clipping: Findings | None  # by these ranges; None where the mechanism cannot be rebuilt
    answers: Findings | None  # None where outcomes are answered as they are

    @property
    def order_left(self) -> bool:
        """Whether the released rows are in an order that the table gives away."""
        return self.order is not None and self.order.p_value <= max(
            ORDER_LEVEL, 1 / (1 + self.order.permutations)
        )

    @property
    def refuted(self) -> bool:
        """Whether one of the tests found a fault."""
        if self.order_left:
            return True
        found = (self.one_run, self.clipping, self.answers)
        return any(each is not None and each.refuted for each in found)


def table_facts(
    release: Release, name: str, records: Tensor, scaling: PublicScaling, *, progress: bool = True
) -> TableFacts:
    """Compute what needs the ``n x d`` raw records of a release, with the scaling it was made by.

    Nothing of it is private. A bar shows its progress where it takes long.
    """
    table = scaling.check(records)
    scaled = scaling.scale_rows(table)
    noisy = None
    with suppress(ValueError):
        noisy = stated_mechanism(release)
    unit, log = scaling.unit, scaling.log_columns
    errors = standard_errors = [None] * scaling.features
    draws, one_run = 0, None
    if isinstance(noisy, NoisyProjection):
        law = noisy.law(scaling.features)
        # A rotation keeps all distances, and so the error. A projection is not in the release.
        if law.dim == scaling.features:
            draws = min(_DRAWS, max(_FEWEST_DRAWS, _ENTRIES // scaled.numel()), len(scaled))
            found = bayes_error(scaled, law, draws, progress)
            errors, standard_errors = ((each * unit).tolist() for each in found)
            errors = [in_raw_unit(each, i in log) for i, each in enumerate(errors)]
            # Of a factor, to first order.
            standard_errors = [
                each * (errors[i] if i in log else 1.0) for i, each in enumerate(standard_errors)
            ]
        if noisy.projection_dim is None and scaling.radius >= 1:
            some = scaled[torch.randperm(len(scaled))[:_CANARIES]]
            one_run = one_run_audit(noisy, some, one_unit_away(some), confidence=CONFIDENCE)
    names = feature_names(release.guarantee)
    spreads = (scaled.std(dim=0, correction=0) * unit).tolist()
    spreads = [in_raw_unit(each, i in log) for i, each in enumerate(spreads)]
    declared = {column for s in (*release.guarantee.steps, *scaling.steps) for column in s.columns}
    steps = [
        None if name in declared else _step(release, column)
        for name, column in zip(names, scaled.mT, strict=True)
    ]
    order = None
    with suppress(ValueError):  # equal rows have no order
        order = order_audit(release, scaled, progress=progress)
        if order.found:  # once in a hundred reports by chance: look again, more closely
            more = _PERMUTATIONS if scaled.numel() < _MANY_ENTRIES else order.permutations
            order = order_audit(release, scaled, permutations=more, seed=1, progress=progress)
    columns = zip(names, spreads, errors, standard_errors, steps, strict=True)
    return TableFacts(
        name=name,
        records=len(table),
        clipped=int(scaling.clipped(table).sum()),
        draws=draws,
        features=tuple(TableFeature(*each) for each in columns),
        one_run=one_run,
        order=order,
        clipping=clipping_audit(scaling, noisy) if isinstance(noisy, NoisyProjection) else None,
        answers=_answers(release),
    )


def bayes_error(
    scaled: Tensor,
    law: NoiseLaw,
    draws: int,
    progress: bool = False,
    *,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Root mean square error of the posterior mean, with the table as the prior.

    Args:
        scaled: ``n x d`` scaled records.
        law: Of the noise, in all ``d`` dimensions.
        draws: Records to average over, 2..n, drawn without replacement.
        progress: Whether to show a bar where it takes long.
        generator: Of records and noise. None: random.

    Returns:
        ``d`` errors and their ``d`` standard errors, in units.
    """
    if generator is None:
        generator = torch.Generator()
        generator.seed()
    truth = scaled[torch.randperm(len(scaled), generator=generator)[:draws]]
    rows = truth + torch.from_numpy(sample_on_grid(law, draws, entropy_from(generator)) * law.grid)
    step = max(1, _CHUNK_ENTRIES // len(scaled))
    squared = torch.empty_like(truth)
    starts = range(0, draws, step)
    for start in tqdm(starts, desc="attacker", disable=not progress, delay=_SILENT_SECONDS, leave=False):
        some = slice(start, start + step)
        distances = torch.cdist(rows[some], scaled, compute_mode="donot_use_mm_for_euclid_dist")
        if law.exponential:
            weights = torch.softmax(-distances / law.scale, dim=1)
        else:
            weights = torch.softmax(-distances.square() / (2 * law.scale**2), dim=1)
        squared[some] = (weights @ scaled - truth[some]).square()
    mean = squared.mean(dim=0)
    root = mean.sqrt()
    # By the delta method; 0 where every guess is right.
    spread = squared.std(dim=0) / math.sqrt(draws) / (2 * root).clamp_min(torch.finfo(root.dtype).tiny)
    return root, spread


def one_unit_away(scaled: Tensor) -> Tensor:
    """Move every record one unit towards the centre, or past it: inside a ball of radius 1 or more."""
    lengths = scaled.norm(dim=1, keepdim=True)
    first = torch.zeros_like(scaled)
    first[:, 0] = 1.0
    return scaled - torch.where(lengths > 0, scaled / lengths.clamp_min(1e-300), first)


def _answers(release: Release) -> Findings | None:
    """Test the answers that the release promises, by a curator of made-up records."""
    promised = release.outcome_guarantee
    if promised is None:
        return None
    found = [answers_audit(each) for each in _outcome_mechanisms(promised)]
    if len(found) < 2:
        return found[0] if found else None
    checks = tuple(check for each in found for check in each.checks)
    return Findings(checks, found[0].sees, found[0].unseen)


def _outcome_mechanisms(promised: PrivacyGuarantee) -> Iterator[OutcomeMechanism]:
    """The mechanism of the answers, or of each outcome where records have several."""
    for one in {part.outcome_name: part for part in promised.parts or (promised,)}.values():
        if one.law is not None and one.outcome_range is not None:
            settings = one.settings
            yield OutcomeMechanism(
                settings["epsilon"], settings["delta"], one.outcome_range, noise=settings["noise"]
            )


def _step(release: Release, column: Tensor) -> Cost | None:
    values = column.unique()
    if len(values) != 2:
        return None
    return Cost.at(release.guarantee, float(values[1] - values[0]))
