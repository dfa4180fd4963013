"""noise_audit: whether the noise of a mechanism is what its guarantee says, and new in each release."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import beta, kstest, norm, ortho_group, rankdata

from botorch_private._base import validate
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.audit.findings import LEVEL, Check, Findings
from botorch_private.audit.forked import in_two_copies
from botorch_private.audit.goodness_of_fit import (
    direction_checks,
    length_checks,
    lengths_of,
    unit_rows,
    visible_error,
)
from botorch_private.audit.independent_rows import pair_checks, repeated_rows, row_checks
from botorch_private.audit.recovered_noise import Recovered, frame_of, recovered_noise, released
from botorch_private.audit.responses import refuse_responses
from botorch_private.curator.mechanisms import Mechanism
from botorch_private.privacy.noise_law import NoiseLaw

# A table must be longer than a block of the sampler: 2^18 numbers in this package.
_ENTRIES = 5 * 2**16
_NUMBERS_OF_NOISE, _MOST_ENTRIES = 2**16, 2**23
_RELEASES = 2  # of each kind: by the operating system's entropy, and by seeds
_MAP_ENTRIES, _FEWEST_MAPS, _MOST_MAPS = 2**22, 20, 400
_FORKED_ROWS = 64
_NEEDED = ("apply", "guarantee", "isotropic")
_OFF_GRID = 0.01  # of a step: what float64 may add


@on_cpu_by_default
def noise_audit(mechanism: Mechanism, records: Any, *, level: float = LEVEL, seed: int = 0) -> Findings:
    """Test whether a mechanism's noise has the law that its guarantee states, and is new each time.

    The likelihood ratio of `empirical_epsilon` is the wrong tool for a wrong scale: in many dimensions
    it does not see noise of half the size. Here the noise itself is recovered, by an auditor who
    knows the records and the seed, and compared with what is known of it:

    - length over scale is Gamma(k) (l2 Laplace) or chi(k) (Gaussian), in mean, shape and tail;
    - directions are uniform: squared cosines are Beta(1/2, (k-1)/2); coordinates are centred, equally
      wide, and uncorrelated;
    - rows are independent of each other at every distance between two rows, so that no block of the
      sampler repeats another; no two rows, no two releases and no two forked processes have the same
      noise, or noise that goes together;
    - noise is independent of the record: the same seed gives it the same noise as a record at the
      origin, and lengths and directions do not go with those of the record;
    - the map of a rotation keeps lengths, that of a subspace is ``sqrt(d/r)`` times a frame, and both
      are Haar distributed and new in each release.

    Lengths and freshness are tested by the operating system's entropy as well, the rest by seeds.

    **What it sees.** The records are repeated until a table is longer than a block of the sampler:
    327,680 numbers, and 65,536 of noise where a subspace has few columns. For a table of 8,126
    records, noise that is 5 % too narrow or too wide is seen at a level of 1e-8 with 99.9 %
    probability in every d from 1 to 1,000, subspaces included (computed from the variance of the mean
    length). `Findings.sees` has the number for the mechanism at hand. It sees no fault that shows
    only in a rare record, or only outside of this process and its copies. With a rotation of 1,000
    features it takes ten seconds.

    Args:
        mechanism: What is audited. Its guarantee must state a law of noise.
        records: ``n x d`` *scaled* records.
        level: Chance, in (0, 1), that an honest mechanism is refuted.
        seed: Of the seeded releases and of the auditor's random choices.

    Returns:
        What was looked at and found.

    Raises:
        ValueError: If the mechanism states no law of noise, or a number is out of range.
        TypeError: If it is no mechanism.

    Example:
        >>> audit.noise_audit(mechanism, scaling.transform(records)).problems
        ()
    """
    if isinstance(mechanism, type) or not all(hasattr(mechanism, name) for name in _NEEDED):
        raise TypeError(
            "mechanism must be a mechanism such as NoisyProjection(epsilon=1.0): it needs "
            + ", ".join(_NEEDED)
        )
    refuse_responses(mechanism)
    scaled = validate.matrix(records=records, minimum_rows=2).numpy()
    validate.probability(level=level)
    validate.count(minimum=0, seed=seed)
    d = scaled.shape[1]
    law = mechanism.guarantee(len(scaled), d).law
    if not isinstance(law, NoiseLaw):
        raise ValueError("mechanism must state a law of noise in its guarantee, and this one adds none")
    rng = np.random.default_rng(seed)
    table = _long_table(scaled, law, d + 2 if mechanism.isotropic else 2)
    seeds = [int(each) for each in rng.integers(2**62, size=_RELEASES)]
    known = [recovered_noise(mechanism, table, law, each) for each in seeds]
    releases = _RELEASES if law.dim * len(table) >= _NUMBERS_OF_NOISE else 3 * _RELEASES
    fresh = [_fresh(mechanism, table.shape, law, rng) for _ in range(releases)]
    # First that rows are independent: every check after it takes that for granted.
    checks = list(_independence(known, fresh, law, rng))
    noise = np.concatenate([each.noise for each in known])
    rotated = mechanism.isotropic and law.dim == d
    drawn = np.concatenate([lengths_of(noise), *(lengths_of(each) for each in fresh)])
    checks += length_checks(drawn, law, rng)
    checks += direction_checks(noise if rotated else np.concatenate([noise, *fresh]), law, rng)
    checks += _record_checks(known, table, law, rng)
    unseen = []
    if repeated := repeated_rows([each.noise for each in known], law):
        checks.append(repeated)
    else:
        unseen.append(
            "a single pair of rows with the same noise: in so few dimensions chance makes such pairs"
        )
    if (copies := _copies(mechanism, d, law)) is None:
        unseen.append("what forked processes do: this system has none, or the noise is below its grid")
    else:
        checks.append(copies)
    if mechanism.isotropic:
        checks += _map_checks(mechanism, d, law, rng)
    visible = visible_error(law, len(drawn), level / len(checks))
    sees = (
        f"noise {100 * visible:.2g} % too narrow or too wide, with 99.9 % probability ({len(drawn)} "
        f"rows of noise in {law.dim} dimensions)",
        f"a block of rows, or a release, that uses noise again (tables of {len(table)} rows)",
    )
    return Findings(tuple(checks), sees, tuple(unseen), level)


def _long_table(scaled: np.ndarray, law: NoiseLaw, fewest: int) -> np.ndarray:
    """The records, repeated until a table is long enough to show blocks, small errors and the map."""
    n, d = scaled.shape
    wanted = max(math.ceil(_ENTRIES / d), min(_NUMBERS_OF_NOISE // law.dim, _MOST_ENTRIES // d), fewest)
    rows = max(wanted, min(n, _MOST_ENTRIES // d))
    return np.resize(scaled, (rows, d))


def _fresh(
    mechanism: Mechanism, shape: tuple[int, ...], law: NoiseLaw, rng: np.random.Generator
) -> np.ndarray:
    """The noise of a table of zeros, by the operating system's entropy; a rotation stays in it."""
    rows = released(mechanism, np.zeros(shape))
    if not mechanism.isotropic:
        return rows.reshape(-1, law.dim)
    if rows.shape[1] == law.dim:
        return rows
    # An image in more dimensions. Its space is that of the map alone, and so is a random basis of it.
    basis = np.linalg.eigh(rows.T @ rows)[1][:, -law.dim :]
    return rows @ (basis @ ortho_group.rvs(law.dim, random_state=rng) if law.dim > 1 else basis)


def _independence(
    known: list[Recovered],
    fresh: list[np.ndarray],
    law: NoiseLaw,
    rng: np.random.Generator,
) -> Iterator[Check]:
    for each in (known[0].noise, fresh[0]):
        yield from row_checks(each, rng)
    yield from pair_checks(
        known[0].noise, known[1].noise, law, rng, directions=True, who="two releases by different seeds"
    )
    # Each rotation puts the same noise in other directions; in a subspace noise has no rotation.
    rotated = known[0].frame is not None and len(known[0].frame) == law.dim
    yield from pair_checks(
        fresh[0], fresh[1], law, rng, directions=not rotated, who="two releases by the system's entropy"
    )


def _record_checks(
    known: list[Recovered], table: np.ndarray, law: NoiseLaw, rng: np.random.Generator
) -> Iterator[Check]:
    """Noise against the record that it hides."""
    # Where the map is known up to the grid only, a record may be rounded to the neighbouring cell.
    slack = 1.5 * law.grid
    off_grid = max(each.off_grid for each in known)
    yield Check.exact("the noise lies on the public grid", off_grid <= _OFF_GRID)
    apart = max(float(np.abs(each.noise - each.at_zero).max()) for each in known)
    yield Check.exact("the same seed gives every record the noise of one at the origin", apart <= slack)
    noise = known[0].noise
    if len(noise) != len(table):
        return
    lengths = rankdata(lengths_of(noise))
    ranks = np.apply_along_axis(rankdata, 0, np.column_stack([lengths_of(table), table]))
    varied = ranks[:, ranks.min(axis=0) < ranks.max(axis=0)]
    if varied.shape[1]:
        centred = (varied - varied.mean(axis=0)) / varied.std(axis=0)
        z = np.abs((lengths - lengths.mean()) / lengths.std() @ centred) / len(noise) ** 0.5
        chance = min(1.0, varied.shape[1] * 2 * float(norm.sf(z.max())))
        yield Check("the length of the noise does not go with the record", chance)
    if noise.shape[1] == table.shape[1]:
        cosines = (unit_rows(noise, rng) * unit_rows(table, rng)).sum(axis=1)
        squared = float(cosines.sum()) ** 2 * noise.shape[1] / len(noise)
        chance = min(1.0, 2 * math.exp(-squared / 2))  # Hoeffding: directions are sub-Gaussian
        yield Check("the direction of the noise does not go with the record", chance)


def _copies(mechanism: Mechanism, d: int, law: NoiseLaw) -> Check | None:
    if law.scale < law.grid:
        return None
    small = np.zeros((_FORKED_ROWS, d))
    found = in_two_copies(lambda: released(mechanism, small).tobytes())
    if found is None:
        return None
    return Check.exact("two copies of this process draw noise of their own", found[0] != found[1])


def _map_checks(
    mechanism: Mechanism, d: int, law: NoiseLaw, rng: np.random.Generator
) -> Iterator[Check]:
    """The random maps of many releases: frames, new each time, and Haar distributed."""
    first = frame_of(mechanism, d + 2, d, 0)
    r = first.shape[1]
    count = min(_MOST_MAPS, max(_FEWEST_MAPS, _MAP_ENTRIES // (d * max(d, r))))
    stretch = math.sqrt(d / law.dim)
    direction = rng.standard_normal(d)
    direction /= np.linalg.norm(direction)
    images, corners, worst, marks = [], [], 0.0, []
    for seed in rng.integers(2**62, size=count).tolist():
        frame = frame_of(mechanism, d + 2, d, seed) / stretch
        gram = frame @ frame.T if law.dim == d else frame.T @ frame
        worst = max(worst, float(np.abs(gram - np.eye(len(gram))).max()))
        images.append([frame[0], direction @ frame])
        corners.append([frame[0, 0], frame[-1, -1], frame[rng.integers(d), rng.integers(r)]])
        marks.append(round(float(corners[-1][0]), 6))
    # A subspace is seen through the grid, whose rounding grows with the map.
    yield Check.exact("a map keeps lengths, up to the stretch that is charged", worst < 1e-5 * stretch)
    longest = max(d, r)
    if longest > 1:
        yield Check.exact("each release draws a map of its own", len(set(marks)) > count / 2)
        for i, place in enumerate(("first", "last", "random")):
            entries = np.array(corners)[:, i]
            # (1 + x) / 2 of a coordinate x of a uniform unit vector is Beta((L-1)/2, (L-1)/2).
            chance = kstest((1 + entries) / 2, beta((longest - 1) / 2, (longest - 1) / 2).cdf).pvalue
            yield Check(f"the {place} entry of a map has its Haar law", float(chance))
        lengths = np.square(np.array(images)).sum(axis=2)  # count x 2
        if law.dim < d:
            shares = beta(law.dim / 2, (d - law.dim) / 2)
            for i, what in enumerate(("the first feature", "a random direction")):
                chance = kstest(lengths[:, i], shares.cdf).pvalue
                yield Check(f"how much of {what} lies in the subspace has its law", float(chance))
