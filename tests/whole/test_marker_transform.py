"""The public surface of PrivateProjectionTransform holds no marker; its secret part does, and stays."""

import copy
import io
import pickle

import pytest
import torch
from botorch.models import SingleTaskGP
from helpers.contents import Contents
from helpers.marked import (
    MARK,
    MECHANISMS,
    OUTCOMES,
    RECORDS,
    SCALING,
    SECRETS,
    SEED,
    D,
    listening,
    refusal,
)

from botorch_private import PrivateProjectionTransform, ReleasedInputKernel, fit_model

ASKED = [0, 3, 7, 11]


class Broken(PrivateProjectionTransform):
    def transform(self, X):
        raise AttributeError("no such attribute")


def transform_of(mechanism, kind=PrivateProjectionTransform):
    generator = torch.Generator().manual_seed(SEED)
    return kind(RECORDS, SCALING, mechanism, generator=generator)


def saved(state):
    file = io.BytesIO()
    torch.save(state, file)
    return file.getvalue()


def strangers():
    """Records with one value changed by one unit in the last place: the nearest that are not records."""
    nearest = RECORDS.clone()
    nearest[:, 2] = torch.nextafter(nearest[:, 2], torch.full_like(nearest[:, 2], torch.inf))
    return nearest


def wrong_uses(transform):
    """What anybody can do wrong with a transform on a table that they may know or not."""
    flag = copy.deepcopy(transform)
    flag.transform_on_train = False
    other = transform_of(MECHANISMS["rotated"]).state_dict()
    other["release_sha256"] = other["release_sha256"].flip(0)
    broken = transform_of(MECHANISMS["laplace"], Broken)
    uses = [
        lambda: transform(RECORDS[:, :2]),
        lambda: transform(RECORDS[0]),
        lambda: transform(RECORDS.long()),
        lambda: transform(RECORDS.numpy()),
        lambda: transform(RECORDS * float("nan")),
        lambda: transform.untransform(RECORDS),
        lambda: flag(RECORDS),
        lambda: transform.load_state_dict(other),
        lambda: transform.load_state_dict({}),
        lambda: pickle.dumps(transform),
        lambda: saved(transform),
        lambda: broken(RECORDS),
        lambda: PrivateProjectionTransform(RECORDS[:1], SCALING, MECHANISMS["laplace"]),
        lambda: PrivateProjectionTransform(RECORDS * float("inf"), SCALING, MECHANISMS["laplace"]),
        lambda: PrivateProjectionTransform(RECORDS, MECHANISMS["laplace"], SCALING),
    ]
    if transform._secret._row_map is None:  # otherwise any row is mapped
        uses += [
            lambda: transform(strangers()),
            lambda: transform(RECORDS.float()),
            lambda: transform(RECORDS.clone().requires_grad_()),
        ]
    return uses


@pytest.fixture(scope="module", params=MECHANISMS)
def surface(request):
    """Return a transform, and what may be shown of it and of a model with it."""
    with listening() as said:
        transform = transform_of(MECHANISMS[request.param])
        model = SingleTaskGP(
            RECORDS[ASKED],
            OUTCOMES[ASKED, None],
            input_transform=transform,
            covar_module=ReleasedInputKernel.of(transform.release),
        )
        fit_model(model)
        twins = [copy.copy(transform), copy.deepcopy(transform), copy.deepcopy(model).input_transform]
        public = {
            "release": transform.release,
            "state_dict": [transform.state_dict(), saved(transform.state_dict())],
            "state_dict of the model": [model.state_dict(), saved(model.state_dict())],
            "buffers": [list(transform.named_buffers()), list(transform.named_parameters())],
            "repr": [repr(transform), str(transform), transform.extra_repr(), repr(model)],
            "repr of the secret": repr(transform._secret),
            "attributes": {name: each for name, each in vars(transform).items() if name != "_secret"},
            "copies": [[twin.state_dict(), repr(twin), twin.release] for twin in twins],
            "rows of records": transform(RECORDS),
            "refusals": [refusal(wrong) for wrong in wrong_uses(transform)],
        }
    return transform, public | said


def found_in(thing):
    contents = Contents(thing)
    return [value for value, tolerance in SECRETS if contents.finds(value, tolerance)]


def test_no_marker_is_in_what_a_transform_shows(surface):
    _, public = surface
    assert {name: found for name, thing in public.items() if (found := found_in(thing))} == {}


def test_the_same_search_finds_every_record_behind_the_transform(surface):
    transform, _ = surface
    contents = Contents(transform)
    assert all(contents.finds(value) for value in RECORDS.flatten().tolist())


@pytest.mark.parametrize("place", ["state_dict", "refusals", "log"])
def test_a_planted_leak_is_found(surface, place):
    _, public = surface
    assert found_in([public[place], f"no record has {MARK:.1f}"])
    assert found_in([public[place], RECORDS[4, D - 1]])
    assert found_in([public[place], SEED])
