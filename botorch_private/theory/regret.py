"""Theorem 3: the parameters it sets, and its bound with each assumption beside the number."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from botorch_private._base import validate
from botorch_private.theory.covariance_error import theorem5_constant, theorem5_limit
from botorch_private.theory.johnson_lindenstrauss import LARGEST_DISTORTION, projection_dim
from botorch_private.theory.posterior_error import mean_constant, variance_constant
from botorch_private.theory.spectral import singular_value_floor


@dataclass(frozen=True)
class Theorem3Parameters:
    """What Theorem 3 sets, so that its bound holds with the offset and probability asked for.

    Attributes:
        distortion: nu, the relative error of squared distances, in (0, 1/2].
        projection_dim: r, the fewest released dimensions that Lemma 1 allows, rounded up.
        projection_failure_probability: mu, the half of the failure probability that Lemma 1 gets.
        ucb_failure_probability: delta', the half that the confidence bounds get: the
            `failure_probability` of `ucb_beta`.
    """

    distortion: float
    projection_dim: int
    projection_failure_probability: float
    ucb_failure_probability: float


def theorem3_parameters(
    *,
    regret_offset: float,
    failure_probability: float,
    n: int,
    diameter: float,
    lengthscale: float,
    observation_bound: float,
) -> Theorem3Parameters:
    """Return the parameters of Algorithms 1 and 2 that Theorem 3 prescribes.

    Args:
        regret_offset: epsilon_ucb, the part of the bound that does not vanish with more rounds,
            > 0, in the units of the objective.
        failure_probability: delta_ucb, the chance that the bound fails, in (0, 1).
        n: Number of records, at least 1.
        diameter: Largest distance between two records, > 0.
        lengthscale: Length-scale of the kernel, > 0, in the units of `diameter`.
        observation_bound: L, the largest absolute value of an observation, > 0.

    Raises:
        ValueError: If an argument is outside its range.

    Source: Kharkovskii et al. (2020), Theorem 3.

    Example:
        >>> parameters = theory.theorem3_parameters(
        ...     regret_offset=0.5,
        ...     failure_probability=0.05,
        ...     n=2004,
        ...     diameter=2.0,
        ...     lengthscale=1.0,
        ...     observation_bound=3.0,
        ... )
        >>> parameters.projection_dim
        1044801
    """
    validate.positive(
        regret_offset=regret_offset,
        diameter=diameter,
        lengthscale=lengthscale,
        observation_bound=observation_bound,
    )
    validate.probability(failure_probability=failure_probability)
    d, L = diameter / lengthscale, observation_bound
    mu = failure_probability / 2
    # Theorem 3: nu = min(epsilon_ucb / (2 sqrt(3) d^2 L), 2 / d^2, 1 / 2)
    nu = min(
        regret_offset / (2 * math.sqrt(3) * d * d * L),
        theorem5_limit(diameter, lengthscale),
        LARGEST_DISTORTION,
    )
    return Theorem3Parameters(
        distortion=nu,
        projection_dim=projection_dim(n, nu, mu),
        projection_failure_probability=mu,
        ucb_failure_probability=failure_probability / 2,
    )


@dataclass(frozen=True)
class RegretBound:
    """Theorem 3's bound on simple regret, and which of its assumptions are met.

    Attributes:
        bound: The bound as printed, in the units of the objective.
        repaired_bound: The same with the one slip of the proof repaired that changes the number.
        offset: The part that does not vanish with more rounds.
        failure_probability: Chance that the bound fails although all assumptions are met.
        observations_bounded: No observation exceeded `observation_bound`; the caller's word.
        diagonally_dominant: The covariance is diagonally dominant; the caller's word.
        singular_value_large_enough: The smallest singular value meets the floor.
        projection_dim_large_enough: There are as many dimensions as Lemma 1 needs.
        distortion_small_enough: The distortion is at most the one that Theorem 3 sets.
        outputscale_at_most_one: The prior variance is at most 1, as the paper assumes throughout.
        transfers_to_private_release: Always False. The bound is about Algorithm 1, which is not
            private, and it rests on Theorem 2, which no private mechanism satisfies
            (`minimum_delta_for_multiplicative_distances`).
    """

    bound: float
    repaired_bound: float
    offset: float
    failure_probability: float
    observations_bounded: bool
    diagonally_dominant: bool
    singular_value_large_enough: bool
    projection_dim_large_enough: bool
    distortion_small_enough: bool
    outputscale_at_most_one: bool
    transfers_to_private_release: bool = field(default=False, init=False)

    @property
    def holds(self) -> bool:
        """Whether every assumption is met: then `repaired_bound` holds for Algorithm 1."""
        return (
            self.observations_bounded
            and self.diagonally_dominant
            and self.singular_value_large_enough
            and self.projection_dim_large_enough
            and self.distortion_small_enough
            and self.outputscale_at_most_one
        )


def simple_regret_bound(
    *,
    regret_offset: float,
    failure_probability: float,
    rounds: int,
    beta: float,
    information_gain: float,
    n: int,
    diameter: float,
    lengthscale: float,
    outputscale: float,
    noise_variance: float,
    observation_bound: float,
    singular_value: float,
    epsilon: float,
    delta: float,
    projection_dim: int,
    distortion: float | None = None,
    diagonally_dominant: bool,
    observations_bounded: bool,
) -> RegretBound:
    """Return Theorem 3's bound on the simple regret of GP-UCB on rows released by Algorithm 1.

    The number is evaluated whether or not the assumptions are met; look at `holds` first. With a
    smallest singular value below the floor, the offset is the one of the paper's last remark on
    the theorem, which more dimensions do not make small.

    Slips in the proof, and what becomes of them:

    - A difference of standard deviations is replaced by one of variances, which needs the two
      standard deviations to add up to at least 1. Under diagonal dominance the posterior standard
      deviation of a record that was not measured is at least `sqrt(outputscale / 2)`, so that
      `sqrt(2 / outputscale) C_1` in the place of `C_1` repairs the step: `repaired_bound`.
    - The sum of `1 / |X_{t-1}|` starts by dividing by `|X_0| = 0`, and the sum of `1 / t` up to `T`
      exceeds `2 log T` for `T` = 1 and 2. Harmless: without measurements both posteriors are the
      prior, the sum starts at the second round, and `1 + ... + 1 / (T - 1) <= 2 log T` always.
    - `C_1` misses a division by `C` in one term; see `variance_constant`. Harmless.
    - Theorem 3 asks for dominance of the measured records; the proof uses it with an unmeasured
      record added, and only for records not measured yet. So no record may be asked twice,
      and the set to check is the measured records with the maximizer of the objective. (Had the
      maximizer been asked, the simple regret would be 0.)
    - Gaussian noise exceeds every `observation_bound` with positive probability, which is not part
      of `failure_probability`.
    - The footnote's non-isotropic kernel misses the factor -1/2; see `covariance_error`.

    Args:
        regret_offset: epsilon_ucb, > 0, in the units of the objective.
        failure_probability: delta_ucb, in (0, 1).
        rounds: T, at least 1.
        beta: beta_T, >= 0: `ucb_beta(rounds, n, failure_probability / 2)`.
        information_gain: gamma_T or an upper bound for it, >= 0, in nats:
            `information_gain_bound`.
        n: Number of records, at least 1.
        diameter: Largest distance between two records, > 0.
        lengthscale: Length-scale of the kernel, > 0, in the units of `diameter`.
        outputscale: Prior variance of the objective, > 0; the theorem needs at most 1.
        noise_variance: Variance of the observation noise, > 0.
        observation_bound: L, the largest absolute value of an observation, > 0.
        singular_value: Smallest singular value of the centred records, >= 0.
        epsilon: The epsilon given to Algorithm 1, > 0.
        delta: The delta given to Algorithm 1, in (0, 1).
        projection_dim: The dimensions that Algorithm 1 releases, at least 1.
        distortion: Relative error of squared distances, > 0. None: the one that Theorem 3 sets.
        diagonally_dominant: Whether `is_diagonally_dominant` is true of the measured records with
            the maximizer added.
        observations_bounded: Whether no observation exceeds `observation_bound`.

    Raises:
        ValueError: If an argument is outside its range.

    Source: Kharkovskii et al. (2020), Theorem 3, eq. (17), and Remark 6 (the case below the floor).

    Example:
        >>> bound = theory.simple_regret_bound(
        ...     regret_offset=0.5,
        ...     failure_probability=0.05,
        ...     rounds=50,
        ...     beta=ucb_beta(50, 2004),
        ...     information_gain=8.0,
        ...     n=2004,
        ...     diameter=2.0,
        ...     lengthscale=1.0,
        ...     outputscale=1.0,
        ...     noise_variance=0.1,
        ...     observation_bound=3.0,
        ...     singular_value=1000.0,
        ...     epsilon=3.0,
        ...     delta=1e-4,
        ...     projection_dim=10,
        ...     diagonally_dominant=True,
        ...     observations_bounded=True,
        ... )
        >>> bound.holds  # Lemma 1 needs far more than 10 dimensions
        False
    """
    parameters = theorem3_parameters(
        regret_offset=regret_offset,
        failure_probability=failure_probability,
        n=n,
        diameter=diameter,
        lengthscale=lengthscale,
        observation_bound=observation_bound,
    )
    validate.count(rounds=rounds)
    validate.non_negative(beta=beta, information_gain=information_gain)
    nu = parameters.distortion if distortion is None else distortion
    validate.positive(distortion=nu)
    omega = singular_value_floor(epsilon, delta, projection_dim)
    L, T, gamma = observation_bound, rounds, information_gain
    C = theorem5_constant(nu, diameter, lengthscale, singular_value, omega)
    C_1 = variance_constant(C, outputscale, noise_variance)
    C_2 = mean_constant(C, outputscale, noise_variance, L)
    offset = max(regret_offset, math.sqrt(12) * C * L)  # eq. (17): 12 C^2 L^2 <= epsilon_ucb^2
    vanishing = 24 * beta * gamma / math.log1p(1 / noise_variance) / T

    def bound(C_1: float) -> float:
        mismatch = 24 * (C_2 + C_1 * math.sqrt(beta)) ** 2 * math.log(T) / T
        return math.sqrt(offset**2 + mismatch + vanishing)  # Theorem 3

    return RegretBound(
        bound=bound(C_1),
        repaired_bound=bound(math.sqrt(2 / outputscale) * C_1),
        offset=offset,
        failure_probability=failure_probability,
        observations_bounded=bool(observations_bounded),
        diagonally_dominant=bool(diagonally_dominant),
        singular_value_large_enough=singular_value >= omega,
        projection_dim_large_enough=projection_dim >= _required_dim(n, nu, parameters),
        distortion_small_enough=nu <= parameters.distortion,
        outputscale_at_most_one=outputscale <= 1,
    )


def _required_dim(n: int, nu: float, parameters: Theorem3Parameters) -> int:
    largest = min(nu, LARGEST_DISTORTION)
    return projection_dim(n, largest, parameters.projection_failure_probability)
