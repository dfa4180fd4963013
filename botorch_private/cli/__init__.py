"""The command line: thin, and nothing imports it."""
