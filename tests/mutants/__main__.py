"""``python -m tests.mutants``: see `runner`."""

import sys

from tests.mutants.runner import main

sys.exit(main())
