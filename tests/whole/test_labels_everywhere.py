"""A release of labels works behind each door, or is refused in one line that says what to do."""

import inspect
from dataclasses import fields, replace

import pytest
import torch
from botorch.models import SingleTaskGP

from botorch_private import (
    CellResponse,
    Cells,
    Curator,
    DenoisedRelease,
    Modeler,
    PrivacyGuarantee,
    PrivateProjectionTransform,
    PublicScaling,
    ReleasedInputKernel,
    audit,
    compose,
    make_model,
    theory,
)
from botorch_private.curator.mechanisms.base import Mechanism
from botorch_private.modeler.models import build
from botorch_private.modeler.models.label_kernel import LabelKernel

N = 300
RECORDS = torch.rand(N, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
RECORDS = 20 + 80 * RECORDS
OUTCOMES = RECORDS.sum(dim=1)
CELLS = Cells({"age": [18, 40, 65, 100], "weight": [0, 60, 200]})
RESPONSE = CellResponse(4.0, CELLS)
SCALING = PublicScaling([18.0, 0.0], [100.0, 200.0], names=["age", "weight"])
NUMBERS = CELLS.of_records(RECORDS).double().unsqueeze(-1)
MOVED = NUMBERS.clone()
MOVED[0] = (MOVED[0] + 1) % CELLS.count


@pytest.fixture(scope="module")
def curator():
    return Curator(RECORDS, None, RESPONSE, OUTCOMES)


@pytest.fixture(scope="module")
def release(curator):
    return curator.release


# --- refused in one line ---


LABELS = "release must be one of noisy records, got labels of cells: "
RESPONDS = "mechanism must add noise, got a randomized response: "
OF_RELEASES = {
    "denoised": (lambda r: DenoisedRelease.of(r), "as it is \\(denoise=False\\)"),
    "denoise": (lambda r: Modeler(r, denoise=True), "as it is \\(denoise=False\\)"),
    "kernel": (lambda r: ReleasedInputKernel.of(r), "take LabelKernel.of"),
    "registration": (
        lambda r: audit.registration_attack(r, RECORDS, SCALING, progress=False),
        "response_audit tests it",
    ),
    "known sample": (
        lambda r: audit.known_sample_attack(r, [0, 1, 2], RECORDS[:3], SCALING),
        "response_audit tests it",
    ),
}
OF_MECHANISMS = {
    "empirical": lambda m: audit.empirical_epsilon(m, NUMBERS, MOVED, trials=100),
    "one run": lambda m: audit.one_run_audit(m, NUMBERS, (NUMBERS + 1) % CELLS.count),
    "replay": lambda m: audit.replay(m, NUMBERS, MOVED),
    "noise": lambda m: audit.noise_audit(m, NUMBERS),
    "clipping": lambda m: audit.clipping_audit(SCALING, m),
}


@pytest.mark.parametrize("door", OF_RELEASES)
def test_what_needs_noisy_rows_refuses_labels_and_says_what_to_do(door, release):
    through, says = OF_RELEASES[door]
    with pytest.raises(ValueError, match=LABELS) as error:
        through(release)
    assert error.match(says)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("door", OF_MECHANISMS)
def test_audits_of_noise_refuse_a_response_and_name_what_fits(door):
    with pytest.raises(ValueError, match=RESPONDS) as error:
        OF_MECHANISMS[door](RESPONSE)
    assert error.match("response_audit" if door != "clipping" else "cells have no unit")


@pytest.mark.parametrize("door", OF_MECHANISMS)
def test_they_refuse_a_response_of_ones_own(door):
    class Own:
        law = RESPONSE.law
        isotropic = True
        apply, draw, guarantee = RESPONSE.apply, RESPONSE.draw, RESPONSE.guarantee
        noise_variance, noise_dim = RESPONSE.noise_variance, RESPONSE.noise_dim

    assert isinstance(Own(), Mechanism)
    with pytest.raises(ValueError, match=RESPONDS):
        OF_MECHANISMS[door](Own())


def test_no_noise_awareness_is_refused_before_the_first_question(release):
    with pytest.raises(ValueError, match="noise_aware must be True"):
        Modeler(release, noise_aware=False)


def test_float32_is_refused_where_it_cannot_count_the_rows(release, monkeypatch):
    """A release of so many rows in small: float32 holds whole numbers up to the limit."""
    assert float(torch.tensor(float(build._WHOLE_IN_FLOAT32 + 1), dtype=torch.float32)) == 2**24
    monkeypatch.setattr(build, "_WHOLE_IN_FLOAT32", N - 1)
    with pytest.raises(ValueError, match="dtype must be torch.float64"):
        Modeler(release, dtype=torch.float32)
    with pytest.raises(ValueError, match="dtype must be torch.float64"):
        make_model(release, [0, 1, 2], [1.0, 2.0, 3.0], dtype=torch.float32)
    Modeler(release)
    monkeypatch.setattr(build, "_WHOLE_IN_FLOAT32", N)
    Modeler(release, dtype=torch.float32)


# --- works ---


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_modeler_searches_labels(dtype, curator):
    modeler = Modeler(curator.release, dtype=dtype, generator=torch.Generator().manual_seed(1))
    for _ in range(8):
        row = modeler.ask()
        modeler.tell(row, curator.query(row).value)
    assert len({index for index, _ in modeler.history}) == 8


def test_guessing_needs_no_shape(release):
    assert audit.guess(release, RECORDS).records.shape == (N, 2)


def test_repeats_and_answers_are_audited_as_ever(curator):
    assert not audit.repeats_audit(curator.query, [0, 5]).problems


def test_the_stated_numbers_of_labels_are_audited(release):
    assert not audit.guarantee_audit(release.guarantee).refuted
    both = compose([release.guarantee, RESPONSE.guarantee(N, 2)])
    assert not audit.guarantee_audit(both).refuted


def test_a_stated_epsilon_below_the_odds_is_refuted(release):
    class Less(PrivacyGuarantee):
        def at(self, distance, records=1):
            return super().at(distance, records) * (1 - 1e-6)

    stated = {f.name: getattr(release.guarantee, f.name) for f in fields(PrivacyGuarantee)}
    found = audit.guarantee_audit(Less(**stated))
    assert "covers what the labels cost" in found.problems[0]


def test_labels_of_the_curator_are_told_as_stated():
    assert not audit.response_audit(RESPONSE, records=20_000).refuted


def test_theory_is_about_numbers_and_takes_no_release():
    for name in theory.__all__:
        assert "release" not in inspect.signature(getattr(theory, name)).parameters


# --- the order of rows ---


def in_order(release, order):
    """The release as if its rows were left in an order of the records."""
    labels = RESPONSE.apply(NUMBERS[order])[:, 0]
    rows = torch.stack([labels, torch.arange(N, dtype=torch.float64)], dim=1)
    return replace(release, candidates=rows)


def test_a_lost_permutation_of_labels_is_found(release):
    for order, name in (
        (torch.arange(N), "the table's order"),
        (torch.argsort(RECORDS[:, 0]), "the order of feature 0"),
        (torch.argsort(RECORDS[:, 1]).flip(0), "the order of feature 1, reversed"),
    ):
        found = audit.order_audit(in_order(release, order), RECORDS, progress=False)
        assert found.found
        assert found.order == name


def test_a_table_that_is_sorted_is_no_alarm():
    """Rows are numbered, and so is a sorted table: that is no order that was left."""
    table = RECORDS[torch.argsort(RECORDS[:, 0])]
    found = [
        audit.order_audit(
            Curator(table, None, RESPONSE, OUTCOMES).release, table, permutations=99, progress=False
        ).p_value
        for _ in range(12)
    ]
    assert sum(p <= 0.05 for p in found) <= 5  # more: 2e-5 (binomial)


def test_a_sorted_table_that_was_not_shuffled_is_found(release):
    order = torch.argsort(RECORDS[:, 0])
    table = RECORDS[order]
    assert audit.order_audit(in_order(release, order), table, progress=False).found


@pytest.mark.parametrize("count", [3, 40])
def test_cells_without_an_order_show_a_lost_permutation(count):
    """Cells by a function: numbers mean nothing, and yet equal labels are equal records."""
    scattered = torch.randperm(count, generator=torch.Generator().manual_seed(2))
    cells = Cells.of(
        lambda r: int(scattered[min(count - 1, int((r[0] - 20) / 80 * count))]), count, features=2
    )
    mechanism = CellResponse(9.0, cells)
    kept = Curator(RECORDS, None, mechanism, OUTCOMES).release
    true = cells.of_records(RECORDS).double()
    rows = torch.stack([mechanism.apply(true.unsqueeze(-1))[:, 0], kept.candidates[:, 1]], dim=1)
    assert audit.order_audit(replace(kept, candidates=rows), RECORDS, progress=False).found


# --- the transform ---


def test_a_transform_of_labels_feeds_a_model():
    transform = PrivateProjectionTransform(RECORDS, scaling=None, mechanism=RESPONSE)
    kernel = LabelKernel.of(transform.release)
    model = SingleTaskGP(RECORDS[:6], OUTCOMES[:6, None], input_transform=transform, covar_module=kernel)
    assert model.posterior(RECORDS[:10]).mean.shape == (10, 1)


def test_a_transform_of_labels_that_exist_costs_nothing_and_gives_the_same_rows(curator):
    again = PrivateProjectionTransform.from_release(curator.release, RECORDS, CELLS, curator.permutation)
    assert torch.equal(again.release.candidates, curator.release.candidates)
    rows = again.transform(RECORDS[:5])
    places = torch.argsort(curator.permutation)[:5]
    assert torch.equal(rows, curator.release.candidates[places])


def test_another_scaling_another_order_or_other_cells_are_refused(curator):
    def built(scaling=CELLS, permutation=curator.permutation, records=RECORDS):
        return PrivateProjectionTransform.from_release(curator.release, records, scaling, permutation)

    with pytest.raises(TypeError, match="must be the Cells of a release of labels, got PublicScaling"):
        built(SCALING)
    with pytest.raises(ValueError, match="its grid or its names are others"):
        built(Cells({"age": [18, 40, 65, 100], "weight": [0, 50, 60, 200]}))
    with pytest.raises(ValueError, match="its grid or its names are others"):
        built(Cells({"age": [18, 40, 65, 100], "size": [0, 60, 200]}))
    with pytest.raises(ValueError, match="far fewer labels are their cells"):
        built(permutation=torch.arange(N))
    with pytest.raises(ValueError, match="far fewer labels are their cells"):
        built(records=RECORDS.flip(0))
