"""Real servers, each a process of its own on this machine, for the modeler's side to talk to."""

import signal
import subprocess
import sys
import threading

import httpx2
import torch

from botorch_private import (
    CellResponse,
    Cells,
    Curator,
    Modeler,
    NoisyProjection,
    Observation,
    OutcomeMechanism,
    PublicScaling,
)
from botorch_private.curator.service.make_folder import make_folder

N = 40
RECORDS = torch.rand(N, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
OUTCOMES = torch.sin(6 * RECORDS).sum(dim=1)
SERVE = [sys.executable, "-W", "ignore", "-m", "botorch_private.cli.main", "curator", "serve"]


def make_modeler(release, seed=5, **options):
    generator = torch.Generator().manual_seed(seed)
    return Modeler(release, n_initial=3, generator=generator, **options)


class Here:
    """Answers in this process what the curator would, had it not been handed over to its server."""

    queries_left = None

    def __init__(self, curator):
        self.release, self.outcomes = curator.release, OUTCOMES[curator.permutation]

    def query(self, index):
        return Observation(index, float(self.outcomes[index]))


class Server:
    """A curator's folder and the process that serves it."""

    def __init__(self, path, curator, make=None, **options):
        self.curator = curator
        objective = "column" if curator.outcomes is not None else "person"
        if make is None:
            self.folder = make_folder(path, curator, objective=objective, **options)
        else:
            self.folder = make(path, curator, **options)
        store = self.folder.open()
        self.token, self.staff_token = (
            store.tokens.make(role, role).result() for role in ("modeler", "staff")
        )
        store.close()
        self.port, self.process, self.arguments = 0, None, ()
        self.log = path.with_suffix(".log")

    def start(self):
        """Start it, at the same port as before."""
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [*SERVE, str(self.folder.path), "--port", str(self.port), *self.arguments],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.log.read_text()
        self.port = int(self.url.rpartition(":")[2])
        return self

    def kill(self):
        """End it as a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self):
        """Tell it to stop, as a service manager does before a restart."""
        self._end(signal.SIGTERM)

    def _end(self, by):
        if self.process is not None:
            self.process.send_signal(by)
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    def start_later(self, seconds):
        """Start it again in a while, from a thread."""
        timer = threading.Timer(seconds, self.start)
        timer.start()
        return timer

    def staff(self, method, path, body=None):
        """Send what a person of the staff would."""
        headers = {"Authorization": f"Bearer {self.staff_token}"}
        url = f"{self.url}/v1/staff/queries{path}"
        response = httpx2.request(method, url, json=body, headers=headers, trust_env=False)
        assert response.status_code == 200, response.text
        return response.json()

    def measure(self, number, value):
        self.staff("PUT", f"/{number}/measurement", {"value": value})

    def withdraw(self, number):
        self.staff("PUT", f"/{number}/withdrawal", {"reason": "left"})

    def correct(self, number, value):
        self.staff("PUT", f"/{number}/correction", {"value": value, "reason": "typing"})

    def questions(self):
        return self.staff("GET", "")["queries"]


def make_curator(*, known=True, noised=False, labels=False, **options):
    """A curator whose release is almost without noise, or of labels that are mostly true."""
    if noised:
        options["outcome_mechanism"] = OutcomeMechanism(5.0, 0.0, (-2.0, 2.0))
    cells = Cells([[0.0, 0.3, 0.6, 1.0]] * 2)
    return Curator(
        RECORDS,
        None if labels else PublicScaling([0.0, 0.0], [1.0, 1.0]),
        CellResponse(5.0, cells) if labels else NoisyProjection(100.0),
        OUTCOMES if known else (lambda record: 0.0),
        **options,
    )
