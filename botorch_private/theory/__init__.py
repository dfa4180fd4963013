"""The paper's formulas, bounds on any private mechanism, and what chance finds."""

from botorch_private.theory.covariance_error import covariance_error
from botorch_private.theory.diagonal_dominance import diagonal_dominance_margin, is_diagonally_dominant
from botorch_private.theory.distance import distance_inflation
from botorch_private.theory.impossibility import (
    minimum_additive_distance_error,
    minimum_delta_for_multiplicative_distances,
)
from botorch_private.theory.information_gain import (
    greedy_information_gain,
    information_gain,
    information_gain_bound,
)
from botorch_private.theory.johnson_lindenstrauss import distortion, projection_dim
from botorch_private.theory.posterior_error import mean_constant, variance_constant
from botorch_private.theory.random_choice import expected_random_regret, expected_random_regret_curve
from botorch_private.theory.regret import (
    RegretBound,
    Theorem3Parameters,
    simple_regret_bound,
    theorem3_parameters,
)
from botorch_private.theory.spectral import (
    largest_projection_dim,
    singular_value_floor,
    smallest_singular_value,
)

__all__ = [
    "RegretBound",
    "Theorem3Parameters",
    "covariance_error",
    "diagonal_dominance_margin",
    "distance_inflation",
    "distortion",
    "expected_random_regret",
    "expected_random_regret_curve",
    "greedy_information_gain",
    "information_gain",
    "information_gain_bound",
    "is_diagonally_dominant",
    "largest_projection_dim",
    "mean_constant",
    "minimum_additive_distance_error",
    "minimum_delta_for_multiplicative_distances",
    "projection_dim",
    "simple_regret_bound",
    "singular_value_floor",
    "smallest_singular_value",
    "theorem3_parameters",
    "variance_constant",
]
