"""Run `botorch-private optimize` in processes that are forked from one that has imported everything.

For a line with a JSON list of arguments and a file for the output it forks one and prints its number;
for an empty line it waits for its end and prints the exit status. Until then the number stays the
child's, so that a signal to it cannot meet another process, or none. So a search can be killed and
started many times in a few seconds.
"""

import json
import os
import signal
import sys

import botorch_private.cli.optimize.search  # noqa: F401
from botorch_private.cli import main as cli


def main():
    child = 0
    for line in sys.stdin:
        if not line.strip():
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
            continue
        arguments, output = json.loads(line)
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(file, 1)
            os.dup2(file, 2)
            status = 70
            try:
                status = cli.main(["optimize", *arguments])
            except SystemExit as stopped:
                status = stopped.code
            finally:
                sys.stdout.flush()
                os._exit(status)
        print(child, flush=True)


if __name__ == "__main__":
    main()
