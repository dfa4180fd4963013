"""Attack the mechanism of a release when the report is made: a lower bound of epsilon."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from botorch_private.audit import (
    AuditResult,
    Findings,
    empirical_epsilon,
    guarantee_audit,
    noise_audit,
    response_audit,
)
from botorch_private.curator.cells.cell_response import CellResponse, ManyCellsWarning
from botorch_private.curator.cells.cells import Cells
from botorch_private.curator.mechanisms import NoisyProjection, SpectralProjection
from botorch_private.exchange.release import Release
from botorch_private.privacy.noise_law import NoiseLaw
from botorch_private.privacy.response_law import ResponseLaw
from botorch_private.privacy.warnings import NotDifferentiallyPrivate

# Rows of one table each get noise of their own; a projection is drawn once for a whole table. Many
# features have fewer trials, so that the attack takes seconds.
_TRIALS, _ENTRIES = 100_000, 30_000_000
_TRIALS_OF_TABLES = 1_000
FEWEST_TRIALS = 100
# A sound release must seldom be refuted by chance: many reports are made.
CONFIDENCE = 0.999
_SAME = 1e-9  # relative: calibration is root finding, and libraries differ in last digits
_INVENTED, _RADIUS, _MAP_ENTRIES = 300, 5.0, 2**20
_SMALL_FEATURES, _SPARE_ROWS = 20, 10  # of the table for the attack on column spaces


@dataclass(frozen=True)
class AuditFacts:
    """What the attack found, and what tests of the noise and of the stated epsilon did."""

    name: str  # of the release
    result: AuditResult | None  # the bound, beside the claim; None where nothing was tested
    untested: str = ""  # why not
    noise: Findings | None = None  # of the mechanism's noise; None where it adds none or was not tested
    claim: Findings | None = None  # of the numbers in the file
    labels: Findings | None = None  # of the draw of labels, where rows are labels

    @property
    def refuted(self) -> bool:
        """Whether any of them refutes the promise."""
        found = (self.result, self.noise, self.claim, self.labels)
        return any(each is not None and each.refuted for each in found)


def worst(audits: Sequence[AuditFacts]) -> AuditResult | None:
    """The result that comes nearest to refuting its claim, or refutes it most."""
    found = [audit.result for audit in audits if audit.result is not None]
    return max(found, key=lambda result: result.lower_bound - result.claimed, default=None)


def stated_mechanism(release: Release) -> NoisyProjection | SpectralProjection:
    """Make the mechanism that a guarantee states.

    Raises:
        ValueError: Why that cannot be done.
    """
    guarantee, law = release.guarantee, release.guarantee.law
    if math.isinf(guarantee.epsilon):
        raise ValueError("the records are released as they are, and there is nothing to test")
    records, features = guarantee.records, guarantee.features
    if records is None or features is None or guarantee.projection_dim is None:
        raise ValueError("the guarantee does not say by which settings the release was made")
    if isinstance(law, ResponseLaw):
        raise ValueError("labels of cells are no noise: response_audit tests them")
    settings = guarantee.settings
    if not release.isotropic:
        settings["projection_dim"] = None
    try:
        mechanism = SpectralProjection(**settings) if law is None else NoisyProjection(**settings)
        planned = mechanism.guarantee(records, features)
        if law is None and planned.mechanism != guarantee.mechanism:
            raise ValueError
    except ValueError:
        raise ValueError(f"{guarantee.mechanism} cannot be rebuilt from its guarantee") from None
    assert not isinstance(planned.law, ResponseLaw)
    if not _alike(planned.law, law):
        raise ValueError(
            "the noise that the release states is not the noise that its epsilon and delta call for in "
            "this version of the software"
        )
    return mechanism


def _alike(one: NoiseLaw | None, other: NoiseLaw | None) -> bool:
    if one is None or other is None:
        return one is other
    same_scale = math.isclose(one.scale, other.scale, rel_tol=_SAME)
    return same_scale and replace(one, scale=other.scale) == other


def audit(release: Release, name: str, trials: int | None = None) -> AuditFacts:
    """Test the mechanism that the guarantee of a release states, on invented records.

    It tests this machine's software at the settings of the release, one unit apart, not the numbers in
    the file: those are one draw. Without a number of `trials`, each of the two tables is released
    100,000 times, or 1,000 times where each needs a projection, and less often with many features.
    """
    claims = [each for each in (release.guarantee, release.outcome_guarantee) if each is not None]
    held = [guarantee_audit(each) for each in claims if each.law is not None]
    claim = None
    if held:
        checks = tuple(check for each in held for check in each.checks)
        claim = Findings(checks, held[0].sees)
    if isinstance(release.guarantee.law, ResponseLaw):
        return _of_labels(name, release.guarantee.law, claim)
    try:
        mechanism = stated_mechanism(release)
    except ValueError as error:
        return AuditFacts(name, None, str(error), claim=claim)
    features, rows = release.guarantee.features, release.guarantee.records
    assert features is not None
    assert rows is not None
    generator = torch.Generator()
    generator.seed()
    if isinstance(mechanism, SpectralProjection):
        # A small table leaks as a large one does, if it has as many rows more than features.
        spare = min(rows - features, _SPARE_ROWS)
        features = min(features, _SMALL_FEATURES)
        rows = max(2, features + spare)
        records = torch.randn(rows, features, dtype=torch.float64, generator=generator)
    else:
        records = torch.zeros(2, features, dtype=torch.float64)
    records[0, 0] = 0.0
    neighbour = records.clone()
    neighbour[0, 0] = 1.0  # one unit to the last bit: beyond it, some guarantees promise nothing
    if trials is None:
        width = mechanism.projection_dim
        most, entries = (_TRIALS, features) if width is None else (_TRIALS_OF_TABLES, features * width)
        trials = max(FEWEST_TRIALS, min(most, _ENTRIES // entries))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotDifferentiallyPrivate)  # the report says so
        result = empirical_epsilon(mechanism, records, neighbour, trials, confidence=CONFIDENCE)
    return AuditFacts(name, result, noise=_noise(mechanism, features), claim=claim)


def _of_labels(name: str, law: ResponseLaw, claim: Findings | None) -> AuditFacts:
    """Test the draw of labels: for as many cells, at the epsilon of the law."""
    cells = Cells.of(lambda record: int(record[0]), law.cells, features=1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ManyCellsWarning)
            mechanism = CellResponse(law.epsilon(1.0), cells)
    except ValueError:
        return AuditFacts(name, None, "the labels cannot be told again from its guarantee", claim=claim)
    if not math.isclose(mechanism.law.truth, law.truth, rel_tol=_SAME):
        return AuditFacts(name, None, "the labels cannot be told again from its guarantee", claim=claim)
    return AuditFacts(name, None, claim=claim, labels=response_audit(mechanism))


def _noise(mechanism: NoisyProjection | SpectralProjection, features: int) -> Findings | None:
    """Test the noise, on invented records all over the ball."""
    if isinstance(mechanism, SpectralProjection):
        return None
    if mechanism.isotropic and features * max(features, mechanism.projection_dim or 1) > _MAP_ENTRIES:
        return None  # drawing so large a map again and again takes minutes
    return noise_audit(mechanism, _RADIUS * torch.randn(_INVENTED, features, dtype=torch.float64))
