"""Cells of records, and the release that tells them: a promise about a whole record."""
