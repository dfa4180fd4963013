"""Checks of single settings, which need no PyTorch: see `validate`, which has them as well."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from numbers import Integral, Real
from types import NoneType
from typing import Any

import numpy as np

_LONGEST = 30  # characters of a setting that is shown


def positive(**values: Any) -> None:
    """Refuse each named value that is not a finite real number above 0."""
    for name, value in values.items():
        if not _is_finite(value) or value <= 0:
            raise ValueError(f"{name} must be a finite number > 0, got {shown(value)}")


def non_negative(**values: Any) -> None:
    """Refuse each named value that is not a finite real number, 0 or above."""
    for name, value in values.items():
        if not _is_finite(value) or value < 0:
            raise ValueError(f"{name} must be a finite number >= 0, got {shown(value)}")


def finite(**values: Any) -> None:
    """Refuse each named value that is not a finite real number."""
    for name, value in values.items():
        if not _is_finite(value):
            raise ValueError(f"{name} must be a finite number, got {shown(value)}")


def probability(**values: Any) -> None:
    """Refuse each named value outside the open interval (0, 1)."""
    for name, value in values.items():
        if not _is_real(value) or not 0 < value < 1:
            raise ValueError(f"{name} must be a number in (0, 1), got {shown(value)}")


def probability_or_zero(**values: Any) -> None:
    """Refuse each named value outside [0, 1)."""
    for name, value in values.items():
        if not _is_real(value) or not 0 <= value < 1:
            raise ValueError(f"{name} must be a number in [0, 1), got {shown(value)}")


def count(*, minimum: int = 1, **values: Any) -> None:
    """Refuse each named value that is not an integer of at least ``minimum``."""
    for name, value in values.items():
        if not is_integer(value) or value < minimum:
            raise ValueError(f"{name} must be an integer >= {minimum}, got {shown(value)}")


def one_of(options: Iterable[str], **values: Any) -> None:
    """Refuse each named value that is not among ``options``."""
    options = list(options)
    for name, value in values.items():
        if not isinstance(value, str) or value not in options:
            wanted = ", ".join(repr(option) for option in options)
            word = isinstance(value, str) and len(value) <= _LONGEST and value.isidentifier()
            found = repr(value) if word else shown(value)
            raise ValueError(f"{name} must be one of {wanted}, got {found}")


def flag(**values: Any) -> None:
    """Refuse each named value that is neither True nor False."""
    for name, value in values.items():
        if not isinstance(value, (bool, np.bool_)):
            raise ValueError(f"{name} must be True or False, got {shown(value)}")


def number(**values: Any) -> float:
    """Return the one named value as a finite ``float``, or refuse it; one-element tensors count."""
    ((name, value),) = values.items()
    torch = sys.modules.get("torch")  # where it is not loaded, nothing is a tensor
    arrays = (np.ndarray,) if torch is None else (np.ndarray, torch.Tensor)
    if isinstance(value, arrays) and math.prod(value.shape) == 1:
        value = value.item()
    finite(**{name: value})
    return float(value)


def shown(value: Any) -> str:
    """A setting, if it is one number; of anything else, which may be a table, its kind."""
    if isinstance(value, (Real, NoneType)):
        text = repr(value)
        return text if len(text) <= _LONGEST else f"one of {len(text)} characters"
    if isinstance(value, str):
        return repr(value) if len(value) <= _LONGEST and _is_numeral(value) else "a text"
    shape = getattr(value, "shape", None)
    of = f" of shape {tuple(shape)}" if isinstance(shape, tuple) else ""
    return f"a {type(value).__name__}{of}"


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _is_finite(value: Any) -> bool:
    try:
        return _is_real(value) and math.isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False


def is_integer(value: Any) -> bool:
    """Whether it is an integer, which yes and no are not."""
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def _is_numeral(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
