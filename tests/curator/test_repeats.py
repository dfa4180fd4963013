"""People who join although they are in the table: refused, or charged for both of their rows."""

import warnings

import numpy as np
import pytest
import torch

from botorch_private import (
    BudgetError,
    Curator,
    NoisyProjection,
    OutcomeMechanism,
    PrivacyGuarantee,
    PrivacyLeakWarning,
    PublicScaling,
)
from botorch_private.curator import repeats
from botorch_private.curator.mechanisms.entropy import OSEntropy
from botorch_private.curator.publish import JOINED_AGAIN, JOINED_LATER
from botorch_private.curator.repeats import refuse_repeats
from botorch_private.privacy.noise_law import GRID

N, D = 30, 3
SCALING = PublicScaling([0.0] * D, [10.0] * D)
SOURCE = torch.Generator().manual_seed(0)
RECORDS = 10 * torch.rand(N, D, generator=SOURCE, dtype=torch.float64)
OTHERS = 10 * torch.rand(5, D, generator=SOURCE, dtype=torch.float64)
REFUSED = r"^records must be of people who are not in the table, but "


def make_curator(records=RECORDS, **options):
    return Curator(records, SCALING, NoisyProjection(1.0), records[:, 0], **options)


def moved(units):
    """Records of the table, each moved by so many units in its first coordinate, towards the middle."""
    away = RECORDS[:4].clone()
    away[:, 0] += torch.where(away[:, 0] > 5.0, -1.0, 1.0) * units * SCALING.unit[0]
    return away


@pytest.mark.parametrize("units", [0.0, 1e-12, GRID / 2, 0.999 * GRID])
def test_records_of_the_table_are_refused_before_anything_is_drawn_or_spent(units, monkeypatch):
    curator = make_curator(privacy_budget=PrivacyGuarantee.budget(1.0))  # exhausted
    before = curator.release

    def words(self, count):
        raise AssertionError("something was drawn")

    monkeypatch.setattr(OSEntropy, "words", words)
    again = torch.cat([OTHERS[:2], moved(units)])
    with pytest.raises(ValueError, match=REFUSED + "that in row 2 and 3 more are the same, after clip"):
        curator.add(again, again[:, 0])
    with pytest.raises(BudgetError, match="of that 1 is spent, and with this epsilon would be 2"):
        curator.add(again, again[:, 0], repeats=True)
    assert curator.release is before
    assert len(curator.ledger.entries) == 1
    assert len(curator.records) == N


def test_what_is_clipped_to_the_same_end_is_the_same():
    records = torch.cat([RECORDS, torch.full((1, D), 10.0, dtype=torch.float64)])
    with pytest.raises(ValueError, match=f"{REFUSED}that in row 0 is the same"):
        make_curator(records).add(torch.full((1, D), 99.0, dtype=torch.float64), [1.0])


@pytest.mark.parametrize(("units", "warned"), [(5e-4, True), (0.999e-3, True), (2e-3, False)])
def test_records_that_nearly_are_in_the_table_are_warned_of(units, warned):
    curator = make_curator()
    near = moved(units)
    if warned:
        with pytest.warns(PrivacyLeakWarning, match="that in row 0 and 3 more are within 0.001 units"):
            curator.add(near, near[:, 0])
    else:
        curator.add(near, near[:, 0])
    assert len(curator.records) == N + 4


@pytest.mark.filterwarnings("error")
def test_records_are_compared_with_all_that_were_ever_released_but_not_with_each_other():
    curator = make_curator(privacy_budget=PrivacyGuarantee.budget(2.0))
    curator.add(OTHERS[[0, 0]], OTHERS[[0, 0], 0])  # two people may look the same
    curator.rerelease()
    for known in (RECORDS[3:4], OTHERS[:1]):
        with pytest.raises(ValueError, match=REFUSED):
            curator.add(known, known[:, 0])
    curator.add(OTHERS[1:], OTHERS[1:, 0])


def test_people_who_may_be_in_the_table_are_charged_for_both_of_their_rows():
    budget = PrivacyGuarantee.budget(6.0)
    answers = OutcomeMechanism(2.0, 0.0, (0.0, 10.0))
    curator = make_curator(privacy_budget=budget, outcome_mechanism=answers)
    curator.add(OTHERS, OTHERS[:, 0])
    assert JOINED_LATER in curator.release.guarantee.assumptions
    assert curator.guarantee.epsilon == pytest.approx(3.0)
    release = curator.add(RECORDS[:2], RECORDS[:2, 0], repeats=True)
    assert release.candidates.shape == (N + 7, D)
    # Two rows and two answers: what `at` says of a person with two records of one release.
    once = make_curator(outcome_mechanism=answers).guarantee
    assert curator.guarantee.epsilon == pytest.approx(once.at(1.0, records=2)) == pytest.approx(6.0)
    assert curator.guarantee.at(5.0) == pytest.approx(once.at(5.0, records=2))
    assert JOINED_AGAIN in release.guarantee.assumptions
    assert JOINED_LATER not in release.guarantee.assumptions
    assert JOINED_AGAIN in curator.add(OTHERS / 2, OTHERS[:, 0]).guarantee.assumptions
    with pytest.raises(BudgetError):
        curator.add(RECORDS[:1], RECORDS[:1, 0], repeats=True)


@pytest.mark.parametrize("word", ["no", None, 2])
def test_what_is_neither_true_nor_false_does_not_let_repeats_in(word):
    curator = make_curator()
    with pytest.raises(ValueError, match="repeats must be True or False"):
        curator.add(RECORDS[:2], RECORDS[:2, 0], repeats=word)
    assert len(curator.records) == N


def test_a_large_delta_is_warned_of_where_records_join():
    mechanism = NoisyProjection(1.0, 0.5, noise="gaussian")
    with pytest.warns(PrivacyLeakWarning, match="TOO LARGE for a table of 30 records") as made:
        curator = Curator(RECORDS, SCALING, mechanism, RECORDS[:, 0])
    with pytest.warns(PrivacyLeakWarning, match="TOO LARGE for a table of 35 records") as grown:
        curator.add(OTHERS, OTHERS[:, 0])
    assert [warning.filename for warning in (*made, *grown)] == [__file__] * 2


@pytest.mark.parametrize("chunk", [D, 7 * D, 2**21])
def test_what_is_found_is_what_comparing_all_pairs_finds(chunk, monkeypatch):
    monkeypatch.setattr(repeats, "_CHUNK_ENTRIES", chunk)
    source = torch.Generator().manual_seed(1)
    joining = RECORDS[torch.randint(N, (200,), generator=source)].clone()
    exponents = -5 + 4 * torch.rand(200, D, generator=source, dtype=torch.float64)
    joining += SCALING.unit * 10.0**exponents
    found = repeats._nearby(SCALING.transform(joining).numpy(), RECORDS, SCALING)
    pairs = SCALING.transform(joining)[:, None] - SCALING.transform(RECORDS)
    same = (pairs.abs().amax(dim=2) <= GRID).any(dim=1)
    close = (pairs.square().sum(dim=2).sqrt() <= 1e-3).any(dim=1)
    assert 0 < int(same.sum()) < int(close.sum()) < 200
    np.testing.assert_array_equal(found[0], same)
    np.testing.assert_array_equal(found[1], close)


@pytest.mark.slow
def test_a_million_records_are_searched_within_a_minute_whatever_their_values():
    """Whole years and yes/no in most columns: equal values are what trees are slow on."""
    source = torch.Generator().manual_seed(2)
    table = torch.randint(2, (1_000_000, 12), generator=source).double()
    table[:, 0] = torch.randint(100, (1_000_000,), generator=source).double()
    scaling = PublicScaling([0.0] * 12, [100.0] + [1.0] * 11)
    others = table[:1000] + 0.25
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refuse_repeats(others, table, scaling)
    with pytest.raises(ValueError, match="that in row 999 is the same"):
        refuse_repeats(torch.cat([others[:999], table[-1:]]), table, scaling)
