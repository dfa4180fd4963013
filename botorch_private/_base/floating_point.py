"""Arithmetic that does what its formula says, whatever the program around it told NumPy or warnings."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def quiet_arithmetic(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Compute under NumPy's error state of our own, which warns of nothing and raises nothing.

    A program may say ``np.seterr(all="raise")``, or make errors of warnings. In the formulas here 0 is
    the right value of a density far out, and an infinity that of what has no bound: both are values,
    and what must not be one is checked by name. Every public door to NumPy's or SciPy's floating-point
    arithmetic has this decorator; the state of the caller is back when it returns.
    """

    @wraps(function)
    def computed(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        # A fresh context for each call: before NumPy 2 one that is shared forgets what it must restore.
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return computed
