"""Releases of tables that do not fit into memory: file by file, and bucket by bucket."""
