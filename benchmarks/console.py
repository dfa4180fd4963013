"""What pages of the console and sheets cost where many questions are open, in CPU.

    python benchmarks/console.py [--questions 10000]    # make bench runs it, too

The pages are asked for in one process, client and browser's form included, so a server pays less. The
sheet is read, checked and stored. Writes ``benchmarks/results/console.md``.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from openpyxl import Workbook
from starlette.testclient import TestClient

from botorch_private import Curator, NoisyProjection, PublicScaling
from botorch_private.curator.service.app import create_app
from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.make_folder import make_folder
from botorch_private.curator.service.sheet import SheetForm
from botorch_private.curator.service.sheet_file import read_file
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.take_in import take_in
from botorch_private.curator.service.written_sheet import written_sheet

RESULTS = Path(__file__).parent / "results" / "console.md"
PAGES = {
    "queue, first page": "/console",
    "queue, last page": "/console?page=100000",
    "found by a beginning that few have": "/console?find=record+99",
    "found by a beginning that all have": "/console?find=rec",
    "mine": "/console?view=mine",
    "late": "/console?view=late",
    "worklist": "/console/worklist",
    "sheet": "/console/sheet",
    "measured": "/console/measured",
}
_TRIES = 20


def open_questions(path: Path, n: int, *, asked: bool = True) -> Store:
    """A store in which ``n`` records are asked for, or none."""
    curator = Curator(
        torch.rand(n, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64),
        PublicScaling([0.0, 0.0], [1.0, 1.0]),
        NoisyProjection(3.0),
        lambda record: 0.0,
    )
    store = make_folder(path, curator, identifiers=[f"record {i}" for i in range(n)]).open()
    store.tokens.make("modeler", "m").result()
    for each in [store.ask(f"key-{row:08d}", row, 1) for row in range(n) if asked]:
        each.result()
    return store


def cost(work: Callable[[], Any]) -> float:
    """CPU milliseconds of a call, all threads: the least of some."""
    took = []
    for _ in range(_TRIES):
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    return 1000 * min(took)


def pages(path: Path, store: Store) -> dict[str, float]:
    """What each page costs."""
    token = store.tokens.make("staff", "Ann").result()
    number = store.tokens.all()[-1].id
    for query in range(1, 41):
        store.agenda.take(query, number, 8).result()
        store.agenda.arrange(query + 20, number, "2020-01-02", "fasting").result()
    with TestClient(create_app(Folder(path), store, rate=1e6)) as client:
        client.post("/console/login", data={"token": token})

        def page(address: str) -> None:
            answer = client.get(address)
            assert answer.status_code == 200
            assert answer.url.path != "/console/login"

        return {name: cost(lambda address=address: page(address)) for name, address in PAGES.items()}


def sheet(store: Store, n: int, unasked: str = "refuse") -> float:
    """CPU seconds to read, check and store a sheet of ``n`` rows, asked for or not."""
    text = written_sheet(_rows(n))
    began = time.process_time()
    taken = take_in(store, text, SheetForm(unasked=unasked), token=None, dry=False)
    assert taken.stored + taken.kept + taken.told == n
    return time.process_time() - began


def workbook(n: int) -> float:
    """CPU seconds to make the text of a sheet of a workbook of ``n`` rows."""
    book = Workbook(write_only=True)
    written = book.create_sheet()
    for row in _rows(n):
        written.append(row)
    content = BytesIO()
    book.save(content)
    began = time.process_time()
    text, _ = read_file(content.getvalue(), SheetForm(), most=2**26)
    assert text.count("\n") == n + 1
    return time.process_time() - began


def _rows(n: int) -> list[tuple[Any, ...]]:
    rows = [(f"record {i}", i % 90 + 0.5, "2020-01-02", "fine") for i in range(n)]
    return [("identifier", "value", "date", "comment"), *rows]


def main() -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=10_000)
    n = parser.parse_args().questions
    found = []
    with tempfile.TemporaryDirectory() as place:
        for count in (100, n):
            path = Path(place) / str(count)
            store = open_questions(path, count)
            found.append((pages(path, store), sheet(store, count)))
            store.close()
        unasked = {}
        for how in ("keep", "tell"):
            store = open_questions(Path(place) / how, n, asked=False)
            unasked[how] = sheet(store, n, how)
            store.close()
    few, many = found
    rows = [f"| {name} | {few[0][name]:.1f} | {many[0][name]:.1f} |" for name in PAGES]
    lines = [
        "# The console with many open questions",
        "",
        "`python benchmarks/console.py`: CPU in milliseconds for a page of at most 50 records (200 on",
        "the worklist), client included, one process. The least of "
        f"{_TRIES}, SQLite {sqlite3.sqlite_version}.",
        "",
        f"| page | 100 open | {n:,} open |",
        "| --- | ---: | ---: |",
        *rows,
        "",
        f"A sheet of {n:,} rows is read, checked and stored in {many[1]:.1f} s of CPU. Where nobody",
        f"asked for them it is kept in {unasked['keep']:.1f} s, and told in {unasked['tell']:.1f} s.",
        f"From Excel it takes {workbook(n):.1f} s more.",
    ]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
