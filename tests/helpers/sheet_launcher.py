"""Store one sheet into one folder after another: ``sheet_launcher.py SHEET``.

For each line with a folder on its input it forks a process that stores the sheet, and prints the number
of that process. At the next line, an empty one, it waits for its end and prints "ended". So it can be
killed hundreds of times in a minute.
"""

import os
import sys
from pathlib import Path

from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.sheet import SheetForm
from botorch_private.curator.service.take_in import take_in


def main() -> None:
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    for line in iter(sys.stdin.readline, ""):
        child = os.fork()
        if child == 0:
            try:
                store = Folder(Path(line.strip())).open()
                take_in(store, text, SheetForm(), token=None, dry=False)
                store.close()
            finally:
                os._exit(0)
        print(child, flush=True)
        sys.stdin.readline()  # until then its number stays its own, ended or not
        os.waitpid(child, 0)
        print("ended", flush=True)


if __name__ == "__main__":
    main()
