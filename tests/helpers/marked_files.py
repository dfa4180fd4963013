"""Files that are wrong in one way each, with a mark in the place that is wrong or beside it."""

import gzip
import io
import json
import sqlite3

import pandas
import polars
import pyarrow
from helpers.marked_tables import TABLES, N
from helpers.planted import BYTES, NUMBER, TEXT
from pyarrow import parquet

_HEAD = "age,dose,who,cost\n"
_ROWS = [f"{20 + i},{i / 16},p{i},{i}.5\n" for i in range(N)]


def _csv(first, *, head=_HEAD, rows=None):
    return (head + first + "".join(_ROWS if rows is None else rows)).encode()


_TEXTS = {
    "right, but for the mark": _csv(f"{NUMBER},0.5,{TEXT},1.5\n"),
    "text": _csv(f"{TEXT},0.5,p,1.5\n"),
    "number with commas": _csv('"8,417,263.5",0.5,p,1.5\n'),
    "number with a sign": _csv(f"{NUMBER}%,0.5,p,1.5\n"),
    "empty cell": _csv(f",0.5,{TEXT},1.5\n"),
    "empty outcome": _csv(f"41,0.5,{TEXT},\n"),
    "text as outcome": _csv(f"41,0.5,p,{TEXT}\n"),
    "infinite": _csv(f"inf,0.5,{TEXT},1.5\n"),
    "date": _csv("2941-07-13,0.5,p,1.5\n"),
    "decimal comma": _csv("8417263,5,0.5,p,1.5\n"),
    "more cells": _csv(f"41,0.5,p,1.5,{TEXT}\n"),
    "fewer cells": _csv(f"{TEXT}\n"),
    "stray quote": _csv(f'41,0.5,{TEXT} "x,1.5\n'),
    "open quote": _csv(f'41,0.5,"{TEXT},1.5\n'),
    "backslash": _csv(f'41,0.5,"{TEXT}\\" x",1.5\n'),
    "swallowed rows": _csv(f'41,0.5,"{TEXT}\n41,0.5,p,1.5\n41",1.5\n'),
    "empty row": _csv(f"41,0.5,{TEXT},1.5\n\n"),
    "same people": _csv(f"41,0.5,{TEXT},1.5\n42,0.5,{TEXT} ,1.5\n"),
    "people that show nothing": _csv(f"41,0.5,\u200b,{NUMBER}\n"),
    "no header": f"{TEXT},{NUMBER},41,1\n{TEXT},42,43,2\n".encode(),
    "header of numbers": f"{NUMBER},41,1\n2,3,4\n".encode(),
    "title": f"{TEXT}\n".encode() + _csv(""),
    "comment": f"# {TEXT}\n".encode() + _csv(""),
    "other names": _csv("", head=f"{TEXT},dose,who,cost\n"),
    "near names": _csv("", head=f" AGE,dose,{TEXT},cost\n"),
    "name twice": _csv("", head=f"age,age,{TEXT},cost\n"),
    "mark twice": _csv("", head=f"{TEXT},{TEXT},age,dose\n"),
    "semicolons": f"age;dose;{TEXT}\n41;0,5;{TEXT}\n".encode(),
    "tabs": f"age\tdose\n{TEXT}\t41\n".encode(),
    "blanks": f"age dose\n{TEXT} 41\n".encode(),
    "Latin-1": _csv(f"41,0.5,{TEXT}\xfc\xff,1.5\n".replace("\xfc", "?")).replace(b"?", b"\xfc"),
    "Latin-1 late": _csv("", rows=_ROWS * 900) + b"41,0.5," + BYTES + b",1.5\n",
    "NUL": _csv(f"41,0.5,{TEXT}\0,1.5\n"),
    "NUL late": _csv("", rows=_ROWS * 900) + f"41,0.5,{TEXT}\0,1.5\n".encode(),
    "UTF-16": _csv(f"{TEXT},0.5,p,1.5\n").decode().encode("utf-16"),
    "UTF-16 without a mark": _csv(f"{TEXT},0.5,p,1.5\n").decode().encode("utf-16-le"),
    "packed": gzip.compress(_csv(f"{TEXT},0.5,p,1.5\n")),
    "empty": b"",
    "header alone": f"age,dose,{TEXT},who,cost\n".encode(),
    "JSON": json.dumps({TEXT: NUMBER}).encode(),
    "JSON lines": (json.dumps({"age": TEXT}) + "\n").encode() * 3,
    "web page": f"<html>{TEXT}</html>".encode(),
    "one long cell": _csv(f"41,0.5,{TEXT * 40_000},{NUMBER} x\n"),
    "TOML of another kind": f"[features.{TEXT}]\nlower = 1\nlower = 2\n".encode(),
    "TOML line": f"{TEXT} = {NUMBER}\n{TEXT} = 1\n".encode(),
    "TOML text": f'[features.age]\nlower = "{TEXT}"x\n'.encode(),
    "broken TOML": f'"{TEXT}\n'.encode(),
}


def _parquet(table):
    written = io.BytesIO()
    parquet.write_table(table, written)
    return written.getvalue()


def _parquets():
    rest = {
        "who": [f"{TEXT}{i}" for i in range(N)],
        "cost": [float(i) for i in range(N)],
    }
    made = {}
    for name, table in TABLES.items():
        if isinstance(table, pandas.DataFrame):
            try:
                table = pyarrow.Table.from_pandas(table.assign(**rest), preserve_index=True)
            except Exception:
                continue  # what no such file can hold
        elif isinstance(table, polars.DataFrame):
            table = polars.DataFrame(table).with_columns(cost=1.5, who=polars.lit(TEXT))
            try:
                table = table.to_arrow()
            except Exception:
                continue
        elif isinstance(table, pyarrow.Table):
            for key, values in rest.items():
                table = table.append_column(key, pyarrow.array(values))
        else:
            continue
        try:
            made[name] = _parquet(table)
        except Exception:
            continue
    whole = made["pyarrow: cell: out of range"]
    return made | {
        "cut": whole[: len(whole) // 2] + TEXT.encode(),
        "a text": TEXT.encode() * 9,
        "damaged": whole[:4] + bytes(reversed(whole[4:90])) + whole[90:],
    }


FILES = {f"csv: {name}": content for name, content in _TEXTS.items()}
FILES |= {f"parquet: {name}": content for name, content in _parquets().items()}


def written(name, folder):
    """The file of that name, in a folder."""
    kind, _, rest = name.partition(": ")
    path = folder / f"{''.join(each if each.isalnum() else '_' for each in rest)}.{kind}"
    path.write_bytes(FILES[name])
    return path


def marked_database(path):
    """A database of another program, and one whose texts are no UTF-8."""
    connection = sqlite3.connect(path)
    connection.execute(f'CREATE TABLE fact (name TEXT, value TEXT, "{TEXT}" TEXT)')
    connection.execute("INSERT INTO fact VALUES (CAST(? AS TEXT), CAST(? AS TEXT), '')", (BYTES, BYTES))
    connection.commit()
    connection.close()
    return path
