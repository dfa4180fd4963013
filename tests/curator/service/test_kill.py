"""A server that is killed again and again loses nothing that it acknowledged, and repeats nothing."""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import httpx2
import pytest
from helpers import launcher
from helpers.staff_browser import console_folder

from botorch_private.curator.service.trail_check import check_database

KILLS = 200
MODELERS, STAFF = 3, 2
N, BUDGET = 900, 700
LAUNCHER = Path(launcher.__file__)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def value_of(identifier):
    """What staff measure: a function of the record alone."""
    return int(identifier.split()[1]) / 7


class Party(threading.Thread):
    """A client that goes on through every failure of the server, and notes what was acknowledged."""

    def __init__(self, address, token, stop):
        super().__init__(daemon=True)
        self.client = httpx2.Client(
            base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=5
        )
        self.stop = stop
        self.problems = []
        self.requests = 0

    def send(self, method, path, **more):
        """Repeat a request until there is an answer."""
        while True:
            self.requests += 1
            try:
                return self.client.request(method, path, **more)
            except httpx2.TransportError:
                if self.stop.is_set():
                    raise
                time.sleep(0.01)

    def run(self):
        try:
            self.work()
        except Exception as error:
            if not self.stop.is_set():
                self.problems.append(repr(error))


class ModelerParty(Party):
    def __init__(self, *arguments, rows):
        super().__init__(*arguments)
        self.rows = rows
        self.asked = {}  # row -> query, acknowledged
        self.answers = {}  # row -> value, acknowledged
        self.refused = 0
        self.finished = False

    def work(self):
        waiting = []
        for row in self.rows:
            if self.stop.is_set():
                return
            response = self.send(
                "POST", "/v1/queries", json={"row": row}, headers={"Idempotency-Key": f"row-{row:08d}"}
            )
            if response.status_code == 403:
                self.refused += 1
                continue
            query = response.json()
            if row in self.asked and self.asked[row] != query["id"]:
                self.problems.append(f"row {row} was two queries")
            self.asked[row] = query["id"]
            waiting.append(row)
            if len(waiting) > 5:
                self.read(waiting.pop(random.randrange(len(waiting))))
        for row in waiting:
            self.read(row)
        self.finished = True

    def read(self, row):
        while not self.stop.is_set():
            query = self.send("GET", f"/v1/queries/{self.asked[row]}", params={"wait": 0.2}).json()
            if query["row"] != row:
                self.problems.append(f"query {query['id']} changed its row")
            if query["state"] == "measured":
                if self.answers.setdefault(row, query["value"]) != query["value"]:
                    self.problems.append(f"row {row} was answered differently")
                return


class StaffParty(Party):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.entered = {}

    def work(self):
        while not self.stop.is_set():
            found = self.send("GET", "/v1/staff/queries", params={"state": "pending", "limit": 20})
            queries = found.json()["queries"]
            random.shuffle(queries)
            wrong = self.send("GET", "/v1/release", headers={"Authorization": "Bearer nobody's"})
            self.problems += [] if wrong.status_code in (401, 429) else [f"{wrong.status_code}, refused"]
            for query in queries[:5]:
                value = value_of(query["identifier"])
                path = f"/v1/staff/queries/{query['id']}/measurement"
                more = {"instrument": f"scale {query['id']}", "comment": "as it should be"}
                response = self.send("PUT", path, json={"value": value, **more})
                if response.status_code != 200:
                    self.problems.append(f"{response.status_code} for {query['id']}")
                self.entered[query["id"]] = value
            if not queries:
                time.sleep(0.01)


@pytest.mark.slow
def test_kills_at_random_points_lose_nothing_and_repeat_nothing(tmp_path):
    seed = random.Random(0)
    names = [f"record {i + 1}" for i in range(N)]
    folder = console_folder(tmp_path / "curator", identifiers=names, max_queries=BUDGET, plausible=None)
    with closing(folder.open()) as store:
        tokens = [store.tokens.make("modeler", "m").result() for _ in range(MODELERS)]
        staff = [store.tokens.make("staff", "s").result() for _ in range(STAFF)]

    port, stop = free_port(), threading.Event()
    address = f"http://127.0.0.1:{port}"
    # The first two ask for the same rows: one question each, whoever comes first.
    orders = [seed.sample(range(N), N) for _ in range(MODELERS)]
    orders[1] = orders[0]
    modelers = [
        ModelerParty(address, token, stop, rows=rows) for token, rows in zip(tokens, orders, strict=True)
    ]
    parties = [*modelers, *(StaffParty(address, token, stop) for token in staff)]
    kills = 0
    with subprocess.Popen(
        [sys.executable, str(LAUNCHER), str(folder.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as launcher:

        def start():
            launcher.stdin.write(f"{port}\n")
            launcher.stdin.flush()
            return int(launcher.stdout.readline())

        server = start()
        for party in parties:
            party.start()
        while kills < KILLS:
            time.sleep(0.05 + 0.25 * seed.random())
            os.kill(server, signal.SIGKILL)
            kills += 1
            server = start()
        deadline = time.monotonic() + 120
        while not all(modeler.finished for modeler in modelers) and time.monotonic() < deadline:
            time.sleep(0.05)
        stop.set()
        for party in parties:
            party.join(timeout=20)
        os.kill(server, signal.SIGTERM)
        launcher.stdin.close()
    for party in parties:
        party.client.close()

    assert [party.problems for party in parties] == [[]] * len(parties)
    assert all(modeler.finished for modeler in modelers)
    assert all(modeler.asked for modeler in modelers)
    with closing(folder.open()) as store:
        stored = {query.id: query for query in store.queries(limit=10**6)}
        identifiers = {row: store.identifier(row) for row in range(N)}
        events = [event["query"] for event in store.events() if event["kind"] == "measured"]
        assert store._all("PRAGMA integrity_check")[0][0] == "ok"
        # However often it was killed: each event follows from the one before, and tells what is stored.
        assert check_database(store).problem == ""
        assert {event["kind"] for event in store.events()} >= {"asked", "measured", "refused"}
    # Every acknowledged question and value is there, once, and is what an undisturbed run gives.
    for modeler in modelers:
        for row, number in modeler.asked.items():
            assert stored[number].row == row
        for row, value in modeler.answers.items():
            assert value == value_of(identifiers[row]) == stored[modeler.asked[row]].answer
        assert modeler.answers.keys() == modeler.asked.keys()
    for party in parties[MODELERS:]:
        for number, value in party.entered.items():
            assert stored[number].outcome == value
            assert stored[number].circumstances.instrument == f"scale {number}"
    # The budget was spent to the last, and not exceeded.
    assert len(stored) == BUDGET
    assert len({query.row for query in stored.values()}) == BUDGET
    assert sorted(events) == sorted(stored)
    assert all(modeler.refused > 0 for modeler in modelers)
