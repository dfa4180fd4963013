"""The curator's side: holds the records, releases rows, answers indices."""

from botorch_private.curator.curator import BudgetError, Curator
from botorch_private.curator.publish import Published, planned_guarantee, publish

__all__ = ["BudgetError", "Curator", "Published", "planned_guarantee", "publish"]
