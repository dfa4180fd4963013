"""Attack the mechanism of a release when the report is made: a lower bound of epsilon."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import torch

from botorch_private.audit import AuditResult, empirical_epsilon
from botorch_private.curator.mechanisms import SpectralProjection
from botorch_private.exchange.release import Release
from botorch_private.privacy.warnings import NotDifferentiallyPrivate
from botorch_private.report.mechanism_of import mechanism_of

# Rows of one table each get noise of their own; a projection is drawn once for a whole table. Many
# features have fewer trials, so that the attack takes seconds.
_TRIALS, _ENTRIES = 100_000, 30_000_000
_TRIALS_OF_TABLES = 1_000
_FEWEST_TRIALS = 100
# A sound release must seldom be refuted by chance: many reports are made.
CONFIDENCE = 0.999
_SMALL_FEATURES, _SPARE_ROWS = 20, 10  # of the table for the attack on column spaces


@dataclass(frozen=True)
class AuditFacts:
    """What the attack found.

    Attributes:
        name: Of the release.
        result: The bound, beside the claim; None where nothing was tested.
        untested: Why not.
    """

    name: str
    result: AuditResult | None
    untested: str = ""


def audit(release: Release, name: str, trials: int | None = None) -> AuditFacts:
    """Test the mechanism that the guarantee of a release states, on invented records.

    It tests this machine's software at the settings of the release, one unit apart, not the numbers in
    the file: those are one draw.

    Args:
        release: As the curator released it.
        name: What to call it.
        trials: Releases of each of two tables; None: 100,000, or 1,000 where each needs a projection,
            and fewer with many features.
    """
    mechanism, why_not = mechanism_of(release)
    if mechanism is None:
        return AuditFacts(name, None, why_not)
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
    if trials is None and mechanism.projection_dim is None:
        trials = max(_FEWEST_TRIALS, min(_TRIALS, _ENTRIES // features))
    elif trials is None:
        assert mechanism.projection_dim is not None
        affordable = _ENTRIES // (features * mechanism.projection_dim)
        trials = max(_FEWEST_TRIALS, min(_TRIALS_OF_TABLES, affordable))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotDifferentiallyPrivate)  # the report says so
        result = empirical_epsilon(mechanism, records, neighbour, trials, confidence=CONFIDENCE)
    return AuditFacts(name, result)
