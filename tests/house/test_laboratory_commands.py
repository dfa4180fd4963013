"""The commands of the guide's page for laboratories run as they stand there."""

import csv
import re
import shlex
from contextlib import closing
from pathlib import Path

from helpers.staff_browser import IDENTIFIERS, console_folder

from botorch_private.cli.main import main

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "laboratory.md"
BLOCK = re.compile(r"<!-- these commands are run by .*?-->\n```\n(.*?)```", re.DOTALL)


def blocks():
    """The arguments of each command of each block."""
    for block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        commands = [shlex.split(line, comments=True) for line in block.splitlines()]
        assert {command[0] for command in commands} == {"botorch-private"}
        yield [command[1:] for command in commands]


def test_a_worklist_goes_out_and_measurements_come_in(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = console_folder(tmp_path / "clinic")
    with closing(folder.open()) as store:
        store.tokens.make("modeler", "m").result()
        for row in range(5):
            store.ask(f"key-{row:08d}", row, 1).result()
    out, back, unasked, audit = blocks()
    for command in out:
        assert main(command) == 0
    with open("worklist.csv", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with open("values.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "value": 3.5} for row in rows)
    capsys.readouterr()
    for command, words in zip(back, ("would be stored: 5", "Stored values: 5"), strict=True):
        assert main(command) == 0
        assert words in capsys.readouterr().out
    asked = {row["identifier"] for row in rows}
    more = [f"{name},4.5\n" for name in IDENTIFIERS if name not in asked][:2]
    Path("more.csv").write_text("identifier,value\n" + "".join(more), encoding="utf-8")
    said = ("would be kept until somebody asks: 2", "Kept until somebody asks: 2", "unasked: 2")
    for command, words in zip(unasked, said, strict=True):
        assert main(command) == 0
        assert words in capsys.readouterr().out
    with closing(folder.open()) as store:
        assert [query.outcome for query in store.queries()] == [3.5] * 5 + [4.5] * 2
        last = store.last_hash()
    for command in audit:
        assert main(command) == 0
        assert last in capsys.readouterr().out
