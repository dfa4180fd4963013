"""Errors of other libraries: what they say and hold may be a piece of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_Result = TypeVar("_Result")


def or_refuse(step: Callable[[], _Result], refusal: Callable[[], Exception]) -> _Result:
    """Do what another library does with cells, or raise an error of our own in place of its error.

    Theirs quote what they met: a byte, a date, a name. So none of them is repeated, and none is chained:
    ``from None`` would only hide it from a traceback, and whoever logs an error with its context would
    find it. That memory ran out says nothing of the cells, and stays what it is.

    Args:
        step: Without arguments; must raise no refusal of its own.
        refusal: Makes the error, only where it is needed.
    """
    try:
        return step()
    except MemoryError:
        raise
    except Exception:
        pass
    raise refusal()  # outside of the handler, where the other error would be its context
