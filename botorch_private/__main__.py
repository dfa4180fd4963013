"""python -m botorch_private: the command line."""

import sys

from botorch_private.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
