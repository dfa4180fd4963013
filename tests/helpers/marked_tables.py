"""Tables that are wrong in one way each, with a mark in the place that is wrong or beside it."""

import numpy as np
import pandas
import polars
import pyarrow
import torch
from helpers.planted import BYTES, DATE, DECIMAL, MOMENT, NUMBER, TEXT, WHOLE

N = 12
_AGES = [float(20 + i) for i in range(N)]
_DOSES = [i / 16 for i in range(N)]


def _first(value, rest=None):
    return [value, *(_AGES if rest is None else rest)[1:]]


CELLS = {
    "text": _first(TEXT, ["41"] * N),
    "texts of numbers": _first(str(NUMBER), ["41"] * N),
    "object": _first(TEXT),
    "missing": [NUMBER, None, *_AGES[2:]],
    "infinite": [NUMBER, float("inf"), *_AGES[2:]],
    "bytes": [BYTES] * N,
    "date": [DATE] * N,
    "moment": [MOMENT] * N,
    "decimal": [DECIMAL] * N,
    "list": [[NUMBER]] * N,
    "record": [{TEXT: NUMBER}] * N,
    "whole": _first(WHOLE, [41] * N),
    "out of range": _first(NUMBER),
}


def _pandas():
    plain = pandas.DataFrame({"age": _AGES, "dose": _DOSES})
    with_text = plain.assign(age=CELLS["text"])
    tables = {
        f"cell: {name}": pandas.DataFrame({"age": pandas.Series(cells), "dose": _DOSES})
        for name, cells in CELLS.items()
    }
    twice = pandas.concat([plain, with_text[["age"]]], axis=1)
    levels = pandas.MultiIndex.from_tuples([("age", TEXT), ("dose", TEXT)])
    rows = pandas.MultiIndex.from_tuples([(TEXT, i) for i in range(N)])
    return tables | {
        "renamed": plain.rename(columns={"age": TEXT}),
        "near miss": plain.rename(columns={"age": " AGE"}).assign(**{TEXT: 1.0}),
        "more columns": plain.assign(**{TEXT: NUMBER}),
        "fewer columns": plain[["age"]].rename(columns={"age": TEXT}),
        "other order": plain[["dose", "age"]].set_index(pandas.Index([TEXT] * N)),
        "numerals as names": plain.set_axis([str(NUMBER), "41"], axis=1),
        "numbers as names": plain.set_axis([NUMBER, DATE], axis=1),
        "duplicated": twice,
        "levels of names": plain.set_axis(levels, axis=1),
        "levels of rows": with_text.set_axis(rows),
        "categories": with_text.astype({"age": "category"}),
        "categories of numbers": plain.assign(age=_first(NUMBER)).astype({"age": "category"}),
        "missing in nullable": plain.assign(age=pandas.array([8417263, None] * 6, dtype="Int64")),
        "string dtype": with_text.astype({"age": "string"}),
        "arrow string": with_text.astype({"age": pandas.ArrowDtype(pyarrow.string())}),
        "arrow decimal": plain.assign(
            age=pandas.array([DECIMAL] * N, dtype=pandas.ArrowDtype(pyarrow.decimal128(12, 2)))
        ),
        "sparse": plain.assign(age=pandas.arrays.SparseArray(_first(NUMBER))),
        "complex": plain.assign(age=np.array(_first(NUMBER)) + 1j),
        "zoned": plain.assign(age=pandas.Timestamp("2041-07-13", tz="UTC")),
        "periods": plain.assign(age=pandas.Period("2941-07-13", "D")),
        "intervals": plain.assign(age=pandas.Interval(NUMBER, NUMBER + 1)),
        "empty": with_text[:0].set_axis([TEXT, "dose"], axis=1),
        "one row": plain.assign(age=NUMBER)[:1].set_index(pandas.Index([TEXT])),
        "row labels": plain.assign(age=_first(NUMBER)).set_index(pandas.Index([TEXT] * N)),
        "series": pandas.Series(CELLS["text"], name=TEXT),
        "series by labels": pandas.Series(_AGES, index=[f"{TEXT}{i}" for i in range(N)], name=TEXT),
        "series of two": pandas.Series([1.0, NUMBER], index=[TEXT, "dose"]),
        "groups": plain.assign(age=_first(NUMBER)).groupby("age"),
    }


def _polars():
    tables = {}
    for name, cells in CELLS.items():
        column = polars.Series(
            "age", cells, dtype=polars.Object if name == "object" else None, strict=False
        )
        tables[f"cell: {name}"] = polars.DataFrame([column, polars.Series("dose", _DOSES)])
    plain = polars.DataFrame({"age": _AGES, "dose": _DOSES})
    text = polars.Series("age", CELLS["text"])
    return tables | {
        "renamed": plain.rename({"age": TEXT}),
        "query": plain.rename({"age": TEXT}).lazy(),
        "categories": plain.with_columns(text.cast(polars.Categorical)),
        "enum": plain.with_columns(text.cast(polars.Enum([TEXT, "41"]))),
        "128 bits": plain.with_columns(polars.Series("age", [WHOLE] * N, dtype=polars.Int128)),
        "duration": plain.with_columns(polars.Series("age", [MOMENT - MOMENT.min] * N)),
        "series": text.alias(TEXT),
    }


def _pyarrow():
    tables = {}
    for name, cells in CELLS.items():
        if name != "object":
            tables[f"cell: {name}"] = pyarrow.table({"age": pyarrow.array(cells), "dose": _DOSES})
    plain = pyarrow.table({"age": _AGES, "dose": _DOSES})
    far = pyarrow.array([MOMENT] * N, type=pyarrow.timestamp("us"))
    return tables | {
        "renamed": plain.rename_columns([TEXT, "dose"]),
        "duplicated": pyarrow.table(
            [CELLS["text"], CELLS["text"], _DOSES], names=["age", "age", "dose"]
        ),
        "dictionary": pyarrow.table(
            {"age": pyarrow.array(CELLS["text"]).dictionary_encode(), "dose": _DOSES}
        ),
        "batch": pyarrow.record_batch(
            {"age": pyarrow.array(CELLS["text"]), "dose": pyarrow.array(_DOSES)}
        ),
        "time zone": pyarrow.table({"age": far.cast(pyarrow.timestamp("us", "UTC")), "dose": _DOSES}),
        "nanoseconds": pyarrow.table(
            {
                "age": pyarrow.array([8417263500000000001] * N).cast(pyarrow.timestamp("ns")),
                "dose": _DOSES,
            }
        ),
        "far date": pyarrow.table(
            {"age": pyarrow.array([8417263] * N, type=pyarrow.date32()), "dose": _DOSES}
        ),
        "no UTF-8": pyarrow.table(
            {
                "age": pyarrow.array([BYTES] * N).view(pyarrow.string()),
                "dose": _DOSES,
            }
        ),
        "column": pyarrow.chunked_array([CELLS["text"]]),
    }


class _Odd:
    """Something that says what it holds whenever it is asked."""

    def __repr__(self):
        return f"<{TEXT} {NUMBER}>"

    def __array__(self, *_, **__):
        raise ValueError(f"no array of {TEXT}")

    def __len__(self):
        raise TypeError(f"no length of {TEXT}")


def _arrays():
    fields = [(TEXT, "f8"), ("dose", "f8")]
    plain = np.column_stack([_first(NUMBER), _DOSES])
    return {
        "fields": np.array([(NUMBER, 1.0)] * N, dtype=fields),
        "records": np.rec.array([(NUMBER, 1.0)] * N, dtype=fields),
        "objects": np.array([[TEXT, 1.0]] * N, dtype=object),
        "objects with None": np.array([[TEXT, None]] * N, dtype=object),
        "texts": np.array([[TEXT, "1.0"]] * N),
        "bytes": np.array([[BYTES, b"1"]] * N),
        "masked": np.ma.masked_greater(plain, 1e6),
        "complex": plain + 1j,
        "dates": np.array([[MOMENT, MOMENT]] * N, dtype="datetime64[us]"),
        "NaN": np.where(plain == _DOSES[3], np.nan, plain),
        "whole": np.full((N, 2), WHOLE, dtype=object).astype(np.uint64),
        "vector": plain[:, 0],
        "three dimensions": plain[None],
        "wide": np.column_stack([plain, plain]),
        "longdouble": plain.astype(np.longdouble),
        "ragged": [[NUMBER, 1.0], [NUMBER]],
        "list": plain.tolist(),
        "list of texts": [[TEXT, "1"]] * N,
        "list of whole": [[WHOLE, 0.5]] * N,
        "list of dicts": [{TEXT: NUMBER}] * N,
        "list of tensors": [torch.tensor([NUMBER, 1.0]), torch.tensor([NUMBER])],
        "list of lists": [[[NUMBER], [1.0]], [[NUMBER, 2.0], [1.0]]],
        "tuple": (NUMBER, TEXT),
        "dict": {TEXT: NUMBER, "dose": [NUMBER]},
        "set": {TEXT, NUMBER},
        "text": f"{TEXT},{NUMBER}\n" * 40,
        "bytes alone": BYTES * 20,
        "odd": _Odd(),
        "list of odd": [_Odd()],
        "tensor of NaN": torch.tensor(plain) * float("nan"),
        "tensor of one row": torch.tensor(plain)[:1],
        "tensor of whole": torch.full((N, 2), 8417263 * 2**34),
        "complex tensor": torch.tensor(plain) + 1j,
        "vector tensor": torch.tensor(plain[:, 0]),
        "sparse tensor": torch.tensor(plain).to_sparse(),
        "tensor": torch.tensor(plain),
        "moment": MOMENT,
    }


TABLES = {
    f"{library}: {name}": table
    for library, made in (
        ("pandas", _pandas()),
        ("polars", _polars()),
        ("pyarrow", _pyarrow()),
        ("other", _arrays()),
    )
    for name, table in made.items()
}
