"""Start servers from a process that has imported everything: ``launcher.py FOLDER``.

For each line with a port on its input it forks a server, a process of its own, and prints the number of
that process. So a server can be killed and started hundreds of times in a minute.
"""

import logging
import os
import sys
from pathlib import Path

from botorch_private.curator.service.server import serve


def main() -> None:
    folder = Path(sys.argv[1])
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            logging.disable(logging.CRITICAL)
            try:
                serve(folder, port=int(line), rate=1e6)
            finally:
                os._exit(0)
        print(child, flush=True)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
