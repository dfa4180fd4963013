"""The words of the report, one question of a reader a file.

No sentence here holds a digit, and no code a number beyond an index: numbers come from facts, through
`shown`. A test reads the source and checks it.
"""

from botorch_private.report.chapters.attack import attack
from botorch_private.report.chapters.distance import distance
from botorch_private.report.chapters.limits import limits
from botorch_private.report.chapters.promise import promise
from botorch_private.report.chapters.summary import summary
from botorch_private.report.chapters.sure import sure
from botorch_private.report.chapters.total import total
from botorch_private.report.chapters.unit import unit

__all__ = ["attack", "distance", "limits", "promise", "summary", "sure", "total", "unit"]
