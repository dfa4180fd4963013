"""Figures in print: spent is never shown too small, protected never too large."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private.privacy.rounding import round_down, round_up


@settings(derandomize=True)
@given(st.floats(1e-12, 1e12), st.integers(1, 6))
def test_shown_figures_bracket_the_number_within_one_last_digit(number, digits):
    up, down = float(round_up(number, digits)), float(round_down(number, digits))
    step = 10.0 ** (math.floor(math.log10(number)) - digits + 1)
    slack = 1e-8 * step  # what float noise may hide
    assert number - slack <= up <= number + step * (1 + 1e-9)
    assert number - step * (1 + 1e-9) <= down <= number + slack


@pytest.mark.parametrize(
    ("number", "up", "down"),
    [(1.0, "1", "1"), (2.0004, "2.001", "2"), (0.1 + 0.2, "0.3", "0.3"), (999.99, "1000", "999")],
)
def test_figures_that_round_badly(number, up, down):
    assert round_up(number) == up
    assert round_down(number) == down


@pytest.mark.parametrize("number", [0.0, math.inf])
def test_zero_and_infinity_are_themselves(number):
    assert float(round_up(number)) == number
