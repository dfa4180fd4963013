"""Reproduce the paper's tables and figures: the same as ``botorch-private reproduce``."""

import sys

from command import main

if __name__ == "__main__":
    sys.exit(main())
