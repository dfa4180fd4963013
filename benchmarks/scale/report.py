"""The results as a page."""

from __future__ import annotations

import json
import math
import textwrap
from pathlib import Path
from typing import Any

from model import COLUMNS, STAGES, ReleaseModel, SearchModel, shuffled_bytes

GIB = 2**30
OUTPUT = RAW = Path()
_BYTES = {"float64": 8, "float32": 4, "cells": 2}
_BUCKET = 2**28
_NUMBERS = ("start", "fixed", "services", *STAGES, "driver", "total")
_SHOWN = (*STAGES, "identity")


def write(found: Any) -> None:
    """Write what is there so far."""
    parts = [_head(), _releases(found), _stages(found), _searches(found), _model(found)]
    RAW.write_text(json.dumps(vars(found), indent=1) + "\n", "utf-8")
    OUTPUT.write_text("\n".join(line for lines in parts for line in lines).rstrip() + "\n", "utf-8")


def _head() -> list[str]:
    return [
        "# Tables beyond one machine",
        *_prose(
            "`python benchmarks/scale`. Files of 10^6 records with 10 features in float64, sorted by",
            "the first one. CPU is that of all processes together; with Ray, of its start and its",
            "services too, but not of the imports of the first process. *A core each*: CPU of the",
            "driver, and in each stage that of the busiest worker: the time where nobody waits for a",
            "core. Memory is what processes have written (RssAnon): the largest of one, and all",
            "together with Ray's services. The machine has 2 cores, which others used too: the wall",
            "clock says little.",
        ),
    ]


def _prose(*sentences: str) -> list[str]:
    return ["", *textwrap.wrap(" ".join(sentences), 110, break_long_words=False, break_on_hyphens=False)]


def _where(each: dict) -> str:
    if each["engine"] == "process":
        return "one process"
    return f"Ray, {each['workers']} worker{'s' if each['workers'] > 1 else ''}"


def _table(head: str, rows: list[list[str]]) -> list[str]:
    names = head.split(" | ")
    lines = [names, ["---"] * len(names), *rows]
    return ["", *("| " + " | ".join(line) + " |" for line in lines)]


def _releases(found: Any) -> list[str]:
    floors, rows = found.floors, []
    copy = floors["copy"] / floors["rows"]
    for each in found.releases:
        drawn = floors["cells" if each["kind"] == "cells" else "float64"] / floors["rows"]
        n = each["rows"]
        rows.append(
            [
                f"{n:,}",
                each["kind"],
                _where(each),
                f"{each['wall']:.0f}",
                f"{each['cpu']:.0f}",
                f"{1e6 * each['cpu'] / n:.2f}",
                f"{each['cpu'] / n / drawn:.1f}",
                f"{each['cpu'] / n / copy:.0f}",
                f"{each['path']:.1f}",
                f"{each['peak'] / GIB:.2f}",
                f"{each['peak_of_all'] / GIB:.2f}",
                str(each["parts"]),
                f"{each['order']:+.5f} ({each['chance']:.5f})",
            ]
        )
    return [
        "",
        "## Release",
        *_prose(
            f"Floors, CPU s per 10^6 records: a plain copy of the files {1e6 * copy:.3f}; the same",
            f"noise drawn in memory {1e6 * floors['float64'] / floors['rows']:.2f}, labels",
            f"{1e6 * floors['cells'] / floors['rows']:.2f}. *Order*: correlation of a row's place with",
            "its record's place in the sorted source, in up to 8 parts; in brackets, one standard",
            "deviation of chance.",
        ),
        *_table(
            "records | release | where | wall s | CPU s | CPU s per 10^6 | over the noise | "
            "over the copy | a core each, s | memory of one, GiB | of all, GiB | parts | order",
            rows,
        ),
    ]


def _stages(found: Any) -> list[str]:
    rows = []
    for each in found.releases:
        stages = [each["stages"][name]["cpu"] for name in _SHOWN]
        other = each["cpu"] - sum(stages)
        millions = each["rows"] / 1e6
        rows.append(
            [
                f"{each['rows']:,}",
                each["kind"],
                _where(each),
                *(f"{stage / millions:.2f}" for stage in (*stages, other)),
            ]
        )
    starts = ", ".join(f"{_where(each)} {each['cpu']:.1f}" for each in found.small)
    return [
        *_prose(
            "CPU s per 10^6 records by stage. The start of Ray's workers is in the first one.",
            "*Identity*: the digest of all rows in their order, which one process finds alone.",
        ),
        *_table("records | release | where | check | noise | order | identity | other", rows),
        "",
        f"The start, as CPU s of a release of 8,000 records: {starts}.",
    ]


def _searches(found: Any) -> list[str]:
    lines = [
        "",
        "## Search",
        "",
        "After 5 random rows, with a fit in each round. The start of Ray is in *open*.",
    ]
    rows = []
    for each in found.searches:
        one = _one_process(found, each)
        same = one is not None and each["picks"] == one["picks"]
        stages = each["stages"]
        rows.append(
            [
                f"{each['rows']:,}",
                each["name"].split("-")[0],
                _where(each).replace("worker", "actor"),
                str(each["rounds"]),
                f"{each['max_memory'] / GIB:.0f}",
                f"{stages['open']['cpu']:.1f}",
                f"{stages['search']['cpu']:.1f}",
                f"{each['cpu'] / one['cpu']:.2f}" if one else "",
                f"{stages['search']['driver'] + stages['search']['busiest']:.1f}",
                f"{each['wall']:.0f}",
                f"{each['peak'] / GIB:.2f}",
                f"{each['peak_of_all'] / GIB:.2f}",
                ("the same" if same else "OTHERS") if one and one is not each else "",
            ]
        )
    head = (
        "rows | release | where | rounds | max_memory, GiB | open, CPU s | rounds, CPU s | all over one "
        "process | rounds, a core each, s | wall s | memory of one, GiB | of all, GiB | picks"
    )
    return [*lines, *_table(head, rows)] if rows else []


def _one_process(found: Any, each: dict) -> dict | None:
    key = ("name", "rows", "rounds")
    same = [
        other
        for other in found.searches
        if other["engine"] == "process" and all(other[name] == each[name] for name in key)
    ]
    return same[0] if same else None


def _model(found: Any) -> list[str]:
    small = next((each for each in found.small if _where(each) == "Ray, 1 worker"), None)
    models = {}
    for each in found.releases:
        if small is not None and _where(each) == "Ray, 1 worker":
            models[each["kind"]] = ReleaseModel.of(small, each)  # the largest table, which comes last
    if not models:
        return []
    kinds = [
        [kind, *(f"{getattr(each, name):.2f}" for name in _NUMBERS)] for kind, each in models.items()
    ]
    checked = []
    for each in found.releases:
        model = models.get(each["kind"])
        if model is None or each["engine"] != "ray":
            continue
        n, workers = each["rows"], each["workers"]
        path, cpu = model.path(n, workers, each["files"], each["parts"]), model.cpu(n, workers)
        checked.append([f"release, {each['kind']}", f"{n:,}", str(workers), *_held(each["path"], path)])
        checked[-1] += _held(each["cpu"], cpu)
    searches = [each for each in found.searches if each["engine"] == "ray" and _one_process(found, each)]
    search = SearchModel.of(searches[0]) if searches else None
    for each in searches:
        stage = each["stages"]["search"]
        held = _held(stage["driver"] + stage["busiest"], search.path(each["rows"], each["workers"]))
        checked.append(["20 rounds", f"{each['rows']:,}", str(each["workers"]), *held, "", "", ""])
    return [
        "",
        "## What more workers would do",
        *_prose(
            "The model: a worker starts; the busiest one has ceil(tasks / workers) of the tasks of a",
            "stage, one a file or one a bucket; the driver's own work is not divided. In a search,",
            "what the shards do is divided by their number, O(n t (r + t)) in a round with a new fit;",
            "the driver fits, O(t^3), sends each shard the model, O(t r) numbers, and gets one score",
            "back. The numbers come from the runs with one worker, of the largest table that has one.",
        ),
        *_table(
            "release | start, s | driver, s | Ray, s | check | noise | order, s per 10^6 | driver | all",
            kinds,
        ),
        "",
        "Held against what was measured:",
        *_table(
            "what | records | workers | a core each, s | model | error | CPU s | model | error", checked
        ),
        *_prose(
            "On paper, with 32 workers on as many cores, files of 10^6 records, and disks and memory",
            "that keep up. *Shuffled*: bytes written between the two stages, and read again. *Memory",
            "of a shard*: its rows and V of 50 answers.",
        ),
        *_table(
            "records | release | a core each, s | of it the driver, s | times as fast as one worker | "
            "shuffled, GB | 20 rounds, s | memory of a shard, GiB",
            [_paper(models[kind], search, kind, n) for n in (10**8, 10**9) for kind in models],
        ),
    ]


def _held(measured: float, model: float) -> list[str]:
    return [f"{measured:.1f}", f"{model:.1f}", f"{100 * (model / measured - 1):+.0f} %"]


def _paper(model: ReleaseModel, search: SearchModel | None, kind: str, n: int) -> list[str]:
    labels = kind == "cells"
    width = 1 if labels else COLUMNS
    files, buckets = n // 1_000_000, max(1, math.ceil(n * (8 * width + 8) / _BUCKET))
    path = model.path(n, 32, files, buckets)
    rounds, memory = "", ""
    if not labels:
        rounds = f"{search.path(n, 32):.0f}" if search and kind == "float64" else ""
        memory = f"{n / 32 * (COLUMNS + 50) * _BYTES[kind] / GIB:.1f}"
    return [
        f"{n:,}",
        kind,
        f"{path:.0f}",
        f"{model.fixed + n / 1e6 * model.driver:.0f}",
        f"{model.path(n, 1, files, buckets) / path:.1f}",
        f"{n * shuffled_bytes(width, _BYTES[kind]) / 1e9:.1f}",
        rounds,
        memory,
    ]
