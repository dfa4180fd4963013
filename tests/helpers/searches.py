"""Searches of the command line, each a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

from helpers import optimizer as program


class Optimizer:
    """Starts searches, each a process of its own."""

    def __init__(self, folder):
        self.output = folder / "output.txt"
        command = [sys.executable, "-W", "ignore", str(Path(program.__file__))]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self, *arguments):
        self.output.write_text("")
        self.child = self._say(json.dumps([list(map(str, arguments)), str(self.output)]))

    def wait(self):
        return self._say("")

    def _say(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
