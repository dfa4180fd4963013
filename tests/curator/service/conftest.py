"""A curator's folder, opened and served in one process."""

from dataclasses import dataclass

import pytest
import torch
from helpers.staff_browser import console_folder, logged_in
from starlette.testclient import TestClient

from botorch_private import Curator, NoisyProjection, OutcomeMechanism, PublicScaling
from botorch_private.curator.service.app import create_app
from botorch_private.curator.service.make_folder import make_folder

N = 20


def never_called(record):
    raise AssertionError("the server measures, not the curator in this process")


def new_curator(*, known=False, noised=False, **options):
    if noised:
        options["outcome_mechanism"] = OutcomeMechanism(5.0, 0.0, (0.0, 10.0))
    return Curator(
        torch.rand(N, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64),
        PublicScaling([0.0, 0.0], [1.0, 1.0]),
        NoisyProjection(3.0),
        torch.linspace(0.0, 9.5, N, dtype=torch.float64) if known else never_called,
        **options,
    )


@dataclass
class Service:
    """A folder with an open store, an application on it, and a token of each role."""

    folder: object
    store: object
    client: TestClient
    modeler: dict
    staff: dict

    def ask(self, row, key=None, **headers):
        key = f"key-of-row-{row}" if key is None else key
        return self.client.post(
            "/v1/queries", json={"row": row}, headers={**self.modeler, "Idempotency-Key": key, **headers}
        )

    def get(self, path, **headers):
        return self.client.get(path, headers={**self.modeler, **headers})

    def put(self, number, ending, **body):
        path = f"/v1/staff/queries/{number}/{ending}"
        return self.client.put(path, json=body, headers=self.staff)

    def measure(self, number, value, **more):
        return self.put(number, "measurement", value=value, **more)


@pytest.fixture
def serve(tmp_path):
    """Make and open services; they are closed at the end."""
    opened = []

    def make(*, rate=1e6, plausible=None, folder=None, **options):
        if folder is None:
            curator = new_curator(**options)
            objective = "column" if options.get("known") else "person"
            folder = make_folder(
                tmp_path / f"folder{len(opened)}", curator, objective=objective, plausible=plausible
            )
        store = folder.open()
        tokens = {role: store.tokens.make(role, "test").result() for role in ("modeler", "staff")}
        client = TestClient(create_app(folder, store, rate=rate), raise_server_exceptions=False)
        client.__enter__()
        opened.append((client, store))
        headers = {role: {"Authorization": f"Bearer {text}"} for role, text in tokens.items()}
        return Service(folder, store, client, headers["modeler"], headers["staff"])

    yield make
    for client, store in opened:
        client.__exit__(None, None, None)
        store.close()


@pytest.fixture
def service(serve, tmp_path):
    """A service whose records are measured by people at the console."""
    return serve(folder=console_folder(tmp_path / "folder"))


@pytest.fixture
def store(serve):
    """The database of a service."""
    return serve().store


@pytest.fixture
def browser(service):
    """Somebody at the console, where question 1 waits."""
    service.ask(0)
    return logged_in(service)
