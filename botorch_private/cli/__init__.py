"""The command line: thin, nothing imports it, and nothing else knows `argparse`.

An option stands in the file of its command: ``ranges.py``; ``curator/serve.py`` for ``curator serve``.
"""
