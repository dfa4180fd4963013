"""answers_audit: whether answers are clipped, noised by the stated law, and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.audit.claims import guarantee_audit
from botorch_private.audit.findings import LEVEL, Check, Findings
from botorch_private.audit.forked import in_two_copies
from botorch_private.audit.goodness_of_fit import direction_checks, length_checks, visible_error
from botorch_private.audit.independent_rows import pair_checks, row_checks
from botorch_private.audit.repeats import repeats_audit
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.curator.mechanisms import NoisyProjection, OutcomeMechanism
from botorch_private.privacy.noise_law import NoiseLaw

if TYPE_CHECKING:
    from botorch_private.curator.curator import Curator

_RECORDS = 40_000
_ASKED_AGAIN, _TIMES = 200, 3
_FAR = 1e6  # widths of the range
_FORKED = 64


@on_cpu_by_default
def answers_audit(
    mechanism: OutcomeMechanism,
    *,
    curator: Callable[..., Curator] | None = None,
    level: float = LEVEL,
    seed: int = 0,
) -> Findings:
    """Test what a curator answers: outcomes clipped, the stated noise, drawn once and kept.

    Two curators of 40,000 made-up records each are asked for every record. A quarter of the outcomes
    are at each end of the range, the others a million widths outside. What an answer is off the end of
    the range is its noise:

    - outcomes are clipped to the range: the same seed gives the same answers as outcomes at its ends;
    - the noise has the stated law, Laplace or Gaussian, in width, shape and tail, in units of the
      width of the range;
    - different records, different curators and forked processes have noise of their own;
    - a record that is asked for again gets the same answer, to the last bit;
    - what the guarantee says answers cost is what the law costs (`guarantee_audit`).

    Args:
        mechanism: Noise on the answers.
        curator: None: `Curator`. Or what takes its arguments and has its `query` and `permutation`.
        level: Chance, in (0, 1), that honest answers are refuted.
        seed: Of the auditor's random choices, and of the releases that are compared by seeds.

    Returns:
        What was looked at and found; noise 5 % too narrow or too wide is seen.

    Raises:
        TypeError: If the mechanism is something else.

    Example:
        >>> audit.answers_audit(OutcomeMechanism(5.0, 0.0, (0.0, 10.0))).problems
        ()
    """
    if not isinstance(mechanism, OutcomeMechanism):
        raise TypeError(f"mechanism must be an OutcomeMechanism, got {type(mechanism).__name__}")
    validate.probability(level=level)
    validate.count(minimum=0, seed=seed)
    if curator is None:
        # Late: who only reads releases need not have what a curator keeps.
        from botorch_private.curator import curator as home

        curator = home.Curator
    rng = np.random.default_rng(seed)
    guarantee = mechanism.guarantee()
    law = guarantee.law
    assert isinstance(law, NoiseLaw)
    low, high = mechanism.bound
    outside, ends = _outcomes(low, high)

    def made(outcomes: Tensor, generator: torch.Generator | None = None) -> _Asked:
        return _Asked(curator, mechanism, outcomes, generator)

    asked = [made(outside) for _ in range(2)]
    noises = [((each.answers() - ends).numpy() / (high - low))[:, None] for each in asked]
    checks = [*row_checks(noises[0], rng)]
    checks += pair_checks(
        noises[0], noises[1], law, rng, directions=True, who="the answers of two curators"
    )
    noise = np.concatenate(noises)
    checks += length_checks(np.abs(noise[:, 0]), law, rng)
    checks += direction_checks(noise, law, rng)
    checks += _exact_checks(mechanism, made, asked[0], outside, ends, seed)
    held = guarantee_audit(guarantee, (1.0,))
    checks += held.checks
    visible = visible_error(law, len(noise), level / len(checks))
    sees = (
        f"noise {100 * visible:.2g} % too narrow or too wide, with 99.9 % probability ({len(noise)} "
        f"answers)",
        f"an outcome that is not clipped, and an answer that changes when it is asked for again "
        f"({_ASKED_AGAIN} records, {_TIMES} times)",
    )
    unseen = ("whether an outcome is a matter of its own record alone",)
    return Findings(tuple(checks), sees, unseen, level)


class _Asked:
    """A curator of made-up records with the given outcomes, asked by record."""

    def __init__(
        self,
        curator: Callable[..., Curator],
        mechanism: OutcomeMechanism,
        outcomes: Tensor,
        generator: torch.Generator | None,
    ) -> None:
        n = len(outcomes)
        records = torch.linspace(0, 1, n, dtype=torch.float64).unsqueeze(-1)
        self._curator = curator(
            records,
            PublicScaling([-1.0], [2.0]),
            NoisyProjection(1.0),
            outcomes,
            outcome_mechanism=mechanism,
            generator=generator,
        )
        self._rows = torch.argsort(self._curator.permutation).tolist()

    def answer(self, record: int) -> float:
        return self._curator.query(self._rows[record]).value

    def answers(self) -> Tensor:
        found = [self.answer(record) for record in range(len(self._rows))]
        return torch.tensor(found, dtype=torch.float64)


def _outcomes(low: float, high: float) -> tuple[Tensor, Tensor]:
    """Outcomes at and far outside both ends of the range, and what they are clipped to."""
    far = _FAR * (high - low)
    each = torch.tensor([low, high, low - far, high + far], dtype=torch.float64)
    ends = torch.tensor([low, high, low, high], dtype=torch.float64)
    return each.repeat(_RECORDS // 4), ends.repeat(_RECORDS // 4)


def _exact_checks(
    mechanism: OutcomeMechanism,
    made: Callable[..., _Asked],
    asked: _Asked,
    outside: Tensor,
    ends: Tensor,
    seed: int,
) -> Iterator[Check]:
    some = slice(0, _ASKED_AGAIN)
    one, other = (
        made(outcomes[some], torch.Generator().manual_seed(seed)).answers()
        for outcomes in (outside, ends)
    )
    yield Check.exact(
        "outcomes outside their range are answered as the end of it", torch.equal(one, other)
    )
    again = repeats_audit(asked.answer, range(_ASKED_AGAIN), times=_TIMES)
    yield Check.exact(
        "a record that is asked for again gets the same answer",
        not again.problems,
        f"{len(again.problems)} of {again.questions} got another",
        "none",
    )
    stated = mechanism.guarantee().outcome_range
    yield Check.exact(
        "the stated range is the one that outcomes are clipped to", stated == mechanism.bound
    )
    if mechanism.law.scale >= mechanism.law.grid:
        found = in_two_copies(lambda: mechanism.draw_grid_noise(_FORKED).tobytes())
        if found is not None:
            own = found[0] != found[1]
            yield Check.exact("two copies of this process draw noise of their own", own)
