"""Declared features, and tables of them."""
