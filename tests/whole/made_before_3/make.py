"""What made `clinic` and `expected.json`, with the code of commit a055aa4; it runs with nothing later.

    git worktree add ../old a055aa4
    PYTHONPATH=../old python tests/whole/made_before_3/make.py

Its folders had version 2: questions with a day, a note and somebody who took them, days and comments of
measurements, sheets that wait, and events without hashes.
"""

import json
import shutil
import sqlite3
from dataclasses import asdict
from pathlib import Path

import torch
from starlette.testclient import TestClient

from botorch_private import Curator, NoisyProjection, OutcomeMechanism, PublicScaling
from botorch_private.curator.service.agenda import ALL
from botorch_private.curator.service.app import create_app
from botorch_private.curator.service.console.sessions import Sessions
from botorch_private.curator.service.drafts import Draft
from botorch_private.curator.service.make_folder import make_folder
from botorch_private.curator.service.sheet import SheetForm
from botorch_private.curator.service.take_in import take_in

HERE = Path(__file__).parent
N = 10
RECORDS = torch.rand(N, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
WAITING = "identifier,value,date,comment\nstay 00,2.5,2026-11-20,by hand\nstay 01,7,,\n"


def main():
    curator = Curator(
        RECORDS,
        PublicScaling([0.0, 0.0], [1.0, 1.0], names=["age", "weight"]),
        NoisyProjection(3.0),
        lambda record: 0.0,
        outcome_mechanism=OutcomeMechanism(5.0, 0.0, (0.0, 10.0)),
        max_queries=9,
    )
    shutil.rmtree(HERE / "clinic", ignore_errors=True)
    known = [float("nan")] * (N - 1) + [4.5]
    folder = make_folder(
        HERE / "clinic",
        curator,
        identifiers=[f"stay {i:02d}" for i in range(N)],
        outcome_name="cost",
        outcome_unit="k$",
        plausible=(0.0, 9.0),
        known=known,
    )
    store = folder.open()
    roles = {"modeler": "modeler", "staff": "staff", "other": "staff", "gone": "modeler"}
    tokens = {name: store.tokens.make(role, name).result() for name, role in roles.items()}
    store.tokens.revoke(4).result()
    row_of = {store.identifier(row): row for row in range(N)}
    asked = [9, 0, 1, 2, 3, 4, 5, 6]  # records; the first one is known
    questions = {}
    for record in asked:
        row = row_of[f"stay {record:02d}"]
        questions[record] = store.ask(f"first-row-{row}", row, 1).result().query.id
    sheet = "identifier,value,date,comment\nstay 02,3.5,2026-11-21,twice\nstay 03,4,2026-11-22,\n"
    take_in(store, sheet, SheetForm(), token=2, dry=False)
    store.measure(questions[4], 5.25, 2).result()
    store.correct(questions[4], 5.5, "read the wrong line", 2).result()
    store.withdraw(questions[5], "left the study", 3).result()
    store.agenda.take(questions[0], 2, 8760 * 100).result()
    store.agenda.arrange(questions[0], 2, "2026-12-24", "fasting").result()
    store.agenda.arrange(questions[6], 3, None, "call first").result()
    store.drafts.keep("value", questions[6], 2, Draft("6.75")).result()
    store.drafts.keep("correction", questions[3], 3, Draft("4.5", "a typing error")).result()
    store.sheets.keep(3, WAITING, SheetForm(accepted=True)).result()
    cookie = Sessions(store).begin(store.tokens.find(tokens["staff"]))
    with TestClient(create_app(folder, store)) as client:
        headers = {"Authorization": f"Bearer {tokens['modeler']}"}
        shown = [client.get(f"/v1/queries/{number}", headers=headers).json() for number in (1, 4)]
    expected = {
        "tokens": tokens,
        "cookie": cookie,
        "answers": shown,
        "queries": [asdict(query) for query in store.queries()],
        "identifiers": [store.identifier(row) for row in range(N)],
        "events": [list(event) for event in store.events()],
        "open": [
            [item.query.id, item.identifier, list(item.arranged)] for item in store.agenda.page(ALL, 2)
        ],
        "drafts": {number: [list(each) for each in store.drafts.all(number)] for number in (2, 3)},
        "sheet": [WAITING, asdict(store.sheets.find(3).form)],
        "words": store.facts.guarantee_words,
        "queries_left": store.queries_left(),
    }
    store.close()
    with sqlite3.connect(folder.database) as connection:
        expected["measured_how"] = [
            list(each) for each in connection.execute("SELECT id, measured_on, comment FROM query")
        ]
    connection.close()
    for path in folder.path.glob("*.lock"):
        path.unlink()
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
