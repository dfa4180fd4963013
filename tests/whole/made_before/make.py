"""What made the files of this folder, with version 0.1.0 at commit b35f807; it runs with nothing later.

    git worktree add ../old b35f807
    PYTHONPATH=../old python tests/whole/made_before/make.py

It is kept to say what is in the files. Noise came from the operating system, so that a second run would
make others: what the code of then read from these is in `expected.json`.
"""

import json
import shutil
import tempfile
from pathlib import Path

import pandas as pd
import torch
from botorch_private.encoding import Encoding
from botorch_private.feature_kinds import Category, Number, YesNo
from botorch_private.optimize.state import RunState, Settings
from botorch_private.service.app import create_app
from botorch_private.service.folder import Folder
from botorch_private.service.make_folder import make_folder
from starlette.testclient import TestClient

from botorch_private import (
    Curator,
    Ledger,
    Modeler,
    NoisyProjection,
    OutcomeMechanism,
    PrivacyGuarantee,
    PublicScaling,
    Release,
)

HERE = Path(__file__).parent
DISTANCES = (0.5, 1.0, 7.0)
RECORDS = torch.rand(30, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
OUTCOMES = torch.sin(6 * RECORDS).sum(dim=1)
SCALING = PublicScaling([0.0, 0.0], [1.0, 1.0], names=["x", "y"])
ENCODING = Encoding(
    [Number("age", 18, 100), YesNo("diabetes"), Category("ward", ("surgery", "icu", "other"))]
)
STAYS = pd.DataFrame(
    {
        "age": [20 + 6 * i for i in range(12)],
        "diabetes": ["yes", "no", "no"] * 4,
        "ward": ["surgery", "icu", "other", "icu"] * 3,
    }
)


def promised(guarantee):
    return {
        "json": json.loads(guarantee.to_json()),
        "epsilon": [guarantee.at(distance) for distance in DISTANCES],
        "holds": guarantee.holds,
    }


def released(release):
    outcomes = release.outcome_guarantee
    return {
        "identity": release.identity,
        "first_row": release.candidates[0].tolist(),
        "noise_variance": release.noise_variance,
        "outcome_variance": release.outcome_variance,
        "guarantee": promised(release.guarantee),
        "outcome_guarantee": None if outcomes is None else promised(outcomes),
    }


def make_search():
    """A release with l2 Laplace noise, and a search of it that was stopped in the middle."""
    curator = Curator(RECORDS, SCALING, NoisyProjection(50.0), OUTCOMES)
    curator.release.save(HERE / "laplace.safetensors")
    release = Release.load(HERE / "laplace.safetensors")
    settings = Settings(seed=7, n_initial=4, beta_scale=0.2)
    generator = torch.Generator().manual_seed(settings.seed)
    modeler = Modeler(release, n_initial=4, beta_scale=0.2, generator=generator)
    for _ in range(7):
        row = modeler.ask()
        modeler.tell(row, curator.query(row).value)
    modeler.skip(modeler.ask())
    (pending,) = modeler.ask(1)
    RunState.of(modeler, settings).save(HERE / "run.json")
    state = RunState.load(HERE / "run.json")
    again = state.modeler(release)
    answer = curator.query(pending).value
    again.tell(pending, answer)
    return released(release), {
        "history": state.history,
        "pending": state.pending,
        "skipped": state.skipped,
        "answer": answer,
        "next": again.ask(3),
    }


def make_ledger():
    """Releases of both kinds of noise, answers, and records that joined, under a budget."""
    path = HERE / "ledger.json"
    path.unlink(missing_ok=True)
    ledger = Ledger(PrivacyGuarantee.budget(12.0, 1e-5), path)
    curator = Curator(
        RECORDS[:20],
        SCALING,
        NoisyProjection(1.0),
        OUTCOMES[:20],
        outcome_mechanism=OutcomeMechanism(2.0, 0.0, (-2.0, 2.0)),
        ledger=ledger,
    )
    curator.add(RECORDS[20:], OUTCOMES[20:])
    gaussian = NoisyProjection(1.0, 1e-6, projection_dim=1, noise="gaussian")
    Curator(RECORDS, SCALING, gaussian, OUTCOMES, ledger=ledger)
    Path(f"{path}.lock").unlink(missing_ok=True)
    return read_ledger(path)


def read_ledger(path):
    ledger = Ledger(path=path)
    found = {
        "budget": None if ledger.budget is None else [ledger.budget.epsilon, ledger.budget.delta],
        "records": ledger.records,
        "entries": [
            [each.start, each.stop, each.time, each.guarantee.epsilon] for each in ledger.entries
        ],
        "total": [ledger.total.epsilon, ledger.total.delta],
    }
    Path(f"{path}.lock").unlink(missing_ok=True)
    return found


def make_clinic():
    """A folder that was served: questions that are answered, open and withdrawn, and three tokens."""
    curator = Curator(
        ENCODING.encode(STAYS),
        ENCODING.scaling,
        NoisyProjection(3.0),
        lambda record: 0.0,
        outcome_mechanism=OutcomeMechanism(5.0, 0.0, (0.0, 10.0)),
        max_queries=5,
    )
    shutil.rmtree(HERE / "clinic", ignore_errors=True)
    folder = make_folder(
        HERE / "clinic",
        curator,
        identifiers=[f"stay {i:02d}" for i in range(12)],
        outcome_name="cost",
        outcome_unit="k$",
        plausible=(0.0, 9.0),
    )
    store = folder.open()
    tokens = {
        name: store.tokens.make(role, name).result()
        for name, role in (("modeler", "modeler"), ("staff", "staff"), ("gone", "modeler"))
    }
    store.tokens.revoke(3).result()
    with TestClient(create_app(folder, store)) as client:
        for row in (4, 7, 1):
            ask(client, tokens, row)
        measure(client, tokens, 1, 6.5)
        shown = [read(client, tokens, number) for number in (1, 2)]
        reason = {"reason": "left the study"}
        client.put("/v1/staff/queries/3/withdrawal", json=reason, headers=bearer(tokens["staff"]))
        shown.append(read(client, tokens, 3))
    store.close()
    found = {
        "tokens": tokens,
        "questions": shown,
        "identifiers": [store_identifier(folder, row) for row in range(12)],
        "ledger": read_ledger(folder.ledger),
        "words": words(folder),
    }
    return released(Release.load(folder.release)), {**found, "later": later(folder, tokens)}


def later(folder, tokens):
    """What the code of then answers where the search goes on; on a copy."""
    with tempfile.TemporaryDirectory() as place:
        copy = Folder(Path(shutil.copytree(folder.path, Path(place, "clinic"))))
        store = copy.open()
        with TestClient(create_app(copy, store)) as client:
            measure(client, tokens, 2, 3.25)
            answer = read(client, tokens, 2)
            again = client.post(
                "/v1/queries",
                json={"row": 1},
                headers={**bearer(tokens["modeler"]), "Idempotency-Key": "again-row-1"},
            ).json()
            left = client.get("/v1/release", headers=bearer(tokens["modeler"])).json()["queries_left"]
        store.close()
    return {"entered": 3.25, "answer": answer, "asked_again": again, "queries_left": left}


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def ask(client, tokens, row):
    headers = {**bearer(tokens["modeler"]), "Idempotency-Key": f"first-row-{row}"}
    assert client.post("/v1/queries", json={"row": row}, headers=headers).status_code == 201


def measure(client, tokens, number, value):
    path = f"/v1/staff/queries/{number}/measurement"
    assert client.put(path, json={"value": value}, headers=bearer(tokens["staff"])).status_code == 200


def read(client, tokens, number):
    return client.get(f"/v1/queries/{number}", headers=bearer(tokens["modeler"])).json()


def store_identifier(folder, row):
    store = folder.open()
    try:
        return store.identifier(row)
    finally:
        store.close()


def words(folder):
    store = folder.open()
    try:
        return store.facts.guarantee_words
    finally:
        store.close()


def main():
    laplace, search = make_search()
    kinds, clinic = make_clinic()
    expected = {
        "distances": DISTANCES,
        "laplace": laplace,
        "kinds": kinds,
        "ledger": make_ledger(),
        "search": search,
        "clinic": clinic,
    }
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
