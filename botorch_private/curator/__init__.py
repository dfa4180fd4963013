"""The curator's side: holds the records, releases rows, answers indices."""

from botorch_private.curator.curator import Curator
from botorch_private.curator.ledger import BudgetError, Entry, Ledger
from botorch_private.curator.objective import MeasurementError
from botorch_private.curator.publish import Published, planned_guarantee, publish, publish_more

__all__ = [
    "BudgetError",
    "Curator",
    "Entry",
    "Ledger",
    "MeasurementError",
    "Published",
    "planned_guarantee",
    "publish",
    "publish_more",
]
