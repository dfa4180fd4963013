"""The privacy report: what a release leaks, how sure that is, and what a second one would cost."""

from botorch_private.report.privacy_report import Report, report

__all__ = ["Report", "report"]
