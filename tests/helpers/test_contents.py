"""The search that tests/test_marker.py relies on finds a number wherever it is put."""

import functools
import io
import pickle
import weakref

import numpy as np
import pandas as pd
import pytest
import torch
from helpers.contents import Contents

MARK = 41731905.26
WHOLE = torch.tensor([1.0, MARK, 3.0], dtype=torch.float64)


class Holder:
    def __init__(self, value):
        self.value = value

    def method(self):
        return self.value

    def __repr__(self):
        return "Holder"


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Talkative:
    def __repr__(self):
        return f"Talkative(at {MARK})"


HOLDER = Holder(MARK)


def raised(error, cause=None):
    try:
        raise error from cause
    except type(error) as caught:
        return caught


def while_handling():
    try:
        try:
            raise KeyError(MARK)
        except KeyError:
            raise ValueError("the context is hidden, not gone") from None
    except ValueError as caught:
        return caught


def annotated():
    error = ValueError("no")
    error.add_note(f"record {MARK}")
    return error


def saved(value):
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


PLACES = {
    "attribute": Holder(MARK),
    "slot": Slotted(MARK),
    "deep": Holder([{"a": (Slotted({MARK}),)}]),
    "key": {MARK: 0},
    "repr": Talkative(),
    "text": f"the record is at {MARK:.2f} units",
    "rounded text": f"{MARK:.4e}",
    "with underscores": f"{41731905:_}",
    "closure": (lambda value: lambda: value)(MARK),
    "default": lambda value=MARK: value,
    "partial": functools.partial(print, MARK),
    "bound method": HOLDER.method,
    "weak reference": weakref.ref(HOLDER),
    "iterator": iter([MARK]),
    "tensor": WHOLE,
    "float32": WHOLE.float(),
    "view that leaves it out": WHOLE[2:],
    "attribute of a tensor": torch.zeros(1),
    "parameter": torch.nn.Linear(1, 1),
    "gradient": torch.zeros(3, dtype=torch.float64, requires_grad=True),
    "array": np.array([[1.0, MARK]]),
    "base of an array": np.array([1.0, MARK, 3.0])[2:],
    "object array": np.array([Holder(MARK)], dtype=object),
    "frame": pd.DataFrame({"a": [1.0, MARK]}),
    "pickle": pickle.dumps(Holder(MARK)),
    "saved": saved({"a": WHOLE}),
    "argument of an exception": ValueError("no", MARK),
    "cause": raised(ValueError("no"), KeyError(MARK)),
    "hidden context": while_handling(),
    "note": annotated(),
}
PLACES["attribute of a tensor"].secret = MARK
torch.nn.init.constant_(PLACES["parameter"].weight, MARK)
PLACES["gradient"].grad = WHOLE.clone()


@pytest.mark.parametrize("place", PLACES)
def test_a_number_is_found_wherever_it_is(place):
    contents = Contents(Holder(PLACES[place]))
    assert contents.finds(MARK, tolerance=1e-4)
    assert not contents.finds(MARK * 1.01, tolerance=1e-4)


@pytest.mark.parametrize("place", ["attribute", "tensor", "view that leaves it out", "pickle", "saved"])
def test_an_exact_copy_is_found_exactly(place):
    assert Contents(PLACES[place]).finds(MARK)


def test_a_seed_is_found_as_an_integer_and_behind_a_generator():
    seed = 7_654_321_987
    for thing in (Holder(seed), pickle.dumps(seed), f"{seed}", torch.Generator().manual_seed(seed)):
        assert Contents(thing).finds(seed)
        assert not Contents(thing).finds(seed + 1)


def test_cycles_end():
    first, second = Holder(None), Holder(None)
    first.value, second.value = second, first
    assert not Contents(first).finds(MARK)
