"""Ledger: what is added up, what is refused, and what survives the process."""

import json
import math
import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch
from helpers.forks import in_forked_workers, needs_fork

from botorch_private import (
    BudgetError,
    Curator,
    Ledger,
    NoisyProjection,
    OutcomeMechanism,
    PrivacyGuarantee,
    PrivateProjectionTransform,
    PublicScaling,
    SpectralProjection,
    compose,
)
from botorch_private.curator.publish import planned_guarantee

N, D = 30, 2
SCALING = PublicScaling([0.0] * D, [1.0] * D)
RECORDS = torch.rand(N, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
LAPLACE = planned_guarantee(N, SCALING, NoisyProjection(1.0))
GAUSSIAN = planned_guarantee(N, SCALING, NoisyProjection(1.0, 1e-5, noise="gaussian"))
OUTCOME = OutcomeMechanism(2.0, 0.0, (0.0, 1.0)).guarantee()


def budget(epsilon, delta=0.0):
    return PrivacyGuarantee.budget(epsilon, delta)


def test_nothing_is_spent_at_first():
    ledger = Ledger(budget(3.0))
    assert ledger.total is None
    assert (ledger.entries, ledger.totals, ledger.records) == ((), [], 0)
    assert repr(ledger) == "Ledger(entries=0, records=0, epsilon=0 of 3)"


def test_one_release_is_its_own_total():
    ledger = Ledger()
    ledger.spend(LAPLACE, start=0, stop=N)
    assert ledger.total == LAPLACE
    assert ledger.records == N


def test_releases_of_the_same_records_compose():
    ledger = Ledger()
    for _ in range(10):
        ledger.spend(GAUSSIAN, start=0, stop=N)
    assert ledger.total == compose([GAUSSIAN] * 10, delta=1e-5)


def test_records_that_joined_later_are_charged_for_what_came_after():
    ledger = Ledger(budget(3.0))
    ledger.spend(LAPLACE, start=0, stop=N)
    ledger.spend(LAPLACE, start=0, stop=N)
    later = replace(LAPLACE, epsilon=1.0, records=N + 5)
    ledger.spend(later, start=N, stop=N + 5)
    assert [round(each.epsilon, 6) for each in ledger.totals] == [2.0, 1.0]
    assert ledger.total.epsilon == pytest.approx(2.0)
    ledger.spend(later, start=0, stop=N + 5)  # the old ones reach 3, the new ones 2
    assert [round(each.epsilon, 6) for each in ledger.totals] == [3.0, 2.0]
    with pytest.raises(BudgetError, match=r"of that 3 is spent, and with this epsilon would be 4"):
        ledger.spend(later, start=0, stop=N + 5)
    ledger.spend(later, start=N + 5, stop=N + 6)  # yet others have spent nothing
    with pytest.raises(ValueError, match="ledger must be of this table"):
        ledger.spend(later, start=N + 9, stop=N + 12)
    assert ledger.records == N + 6


def test_what_is_refused_is_not_entered():
    ledger = Ledger(budget(1.5))
    ledger.spend(LAPLACE, start=0, stop=N)
    for _ in range(2):
        with pytest.raises(BudgetError):
            ledger.spend(LAPLACE, start=0, stop=N)
    assert len(ledger.entries) == 1
    assert ledger.total == LAPLACE


def test_what_would_be_refused_is_known_before_and_a_look_spends_nothing():
    ledger = Ledger(budget(1.5))
    for _ in range(3):
        ledger.require(LAPLACE, start=0, stop=N)
    ledger.spend(LAPLACE, start=0, stop=N)
    with pytest.raises(BudgetError, match="of that 1 is spent, and with this epsilon would be 2"):
        ledger.require(LAPLACE, start=0, stop=N)
    with pytest.raises(ValueError, match="ledger must be of this table"):
        ledger.require(LAPLACE, start=0, stop=N - 1)
    ledger.require(LAPLACE, start=N, stop=N + 1)
    assert len(ledger.entries) == 1


def test_release_and_answers_are_entered_together_or_not_at_all():
    ledger = Ledger(budget(2.9))
    with pytest.raises(BudgetError, match=r"of that 0 is spent, and with this epsilon would be 3"):
        ledger.spend(LAPLACE, OUTCOME, start=0, stop=N)
    assert ledger.entries == ()
    Ledger(budget(3.0)).spend(LAPLACE, OUTCOME, start=0, stop=N)


def test_a_pure_budget_allows_for_the_samplers_arithmetic_and_refuses_gaussians():
    Ledger(budget(1.0)).spend(LAPLACE, start=0, stop=N)
    with pytest.raises(
        BudgetError, match="no delta, and Gaussian noise needs 1e-05.*budget.100, delta=1e-05"
    ):
        Ledger(budget(100.0)).spend(GAUSSIAN, start=0, stop=N)
    Ledger(budget(1.0, 1e-5)).spend(GAUSSIAN, start=0, stop=N)
    with pytest.raises(BudgetError, match=r"would be"):
        Ledger(budget(1.0, 1e-6)).spend(GAUSSIAN, start=0, stop=N)


def test_a_budget_can_be_spent_to_the_last_bit_and_no_further():
    claimed = PrivacyGuarantee("of its own", epsilon=3.0, delta=0.0, holds=True)
    ledger = Ledger(budget(6.0))
    for _ in range(2):
        ledger.spend(claimed, start=0, stop=N)
    with pytest.raises(BudgetError, match=r"of that 6 is spent, and with this epsilon would be 9"):
        ledger.spend(claimed, start=0, stop=N)
    a_bit_less = Ledger(budget(math.nextafter(6.0, 0.0)))
    a_bit_less.spend(claimed, start=0, stop=N)
    with pytest.raises(BudgetError, match=r"of that 3 is spent"):
        a_bit_less.spend(claimed, start=0, stop=N)


def test_the_delta_of_what_is_known_by_its_claim_alone_is_spent_in_any_case():
    claimed = PrivacyGuarantee("of its own", epsilon=1.0, delta=1e-6, holds=True)
    with pytest.raises(BudgetError, match="a delta of 1e-07 only, and what is asked for needs 1e-06"):
        Ledger(budget(9.0, 1e-7)).spend(claimed, start=0, stop=N)
    ledger = Ledger(budget(9.0, 2e-6))
    for _ in range(2):
        ledger.spend(claimed, start=0, stop=N)
    with pytest.raises(
        BudgetError, match="a delta of 2e-06 only, .* with what was released before, needs 3e-06"
    ):
        ledger.spend(claimed, start=0, stop=N)


def test_releases_are_charged_at_the_delta_of_the_budget_though_each_claims_a_larger_one():
    expected = compose([GAUSSIAN] * 2, delta=1e-6).epsilon
    assert expected > compose([GAUSSIAN] * 2, delta=1e-5).epsilon
    for epsilon, fits in ((1.001 * expected, True), (0.999 * expected, False)):
        ledger = Ledger(budget(epsilon, 1e-6))
        ledger.spend(GAUSSIAN, start=0, stop=N)
        if fits:
            ledger.spend(GAUSSIAN, start=0, stop=N)
        else:
            with pytest.raises(BudgetError, match="would be"):
                ledger.spend(GAUSSIAN, start=0, stop=N)


def test_a_guarantee_that_does_not_hold_has_no_place_in_a_budget():
    spectral = planned_guarantee(N, SCALING, SpectralProjection(1.0, 1e-5, 2))
    with pytest.raises(
        BudgetError, match=r"without a guarantee that holds, but that of Spectral.*column"
    ):
        Ledger(budget(1e9, 0.5)).spend(spectral, start=0, stop=N)
    ledger = Ledger()
    ledger.spend(spectral, start=0, stop=N)
    assert not ledger.total.holds


def test_other_tables_are_refused():
    ledger = Ledger()
    ledger.spend(LAPLACE, start=0, stop=N)
    with pytest.raises(ValueError, match=r"ledger must be of this table, got one of 30 records for 29"):
        ledger.spend(LAPLACE, start=0, stop=N - 1)
    with pytest.raises(ValueError, match="ledger must be of this table"):
        Ledger().spend(LAPLACE, start=3, stop=N)
    assert len(ledger.entries) == 1


@pytest.mark.parametrize(("start", "stop"), [(-1, 3), (0, 0), (3, 3), (0.5, 3), (0, True)])
def test_records_that_are_none_are_refused(start, stop):
    with pytest.raises(ValueError, match="must be an integer >="):
        Ledger().spend(LAPLACE, start=start, stop=stop)


def test_releases_of_different_columns_and_ranges_share_a_ledger_and_its_budget():
    ledger = Ledger(budget(3.5))
    columns = PublicScaling([0.0], [1.0], names=["age"]), PublicScaling([0.0], [9.0], names=["weight"])
    for scaling, column in zip(columns, RECORDS.mT, strict=True):
        Curator(column[:, None], scaling, NoisyProjection(1.0), RECORDS[:, 0], ledger=ledger)
    total = ledger.total
    assert total.epsilon == pytest.approx(2.0)
    assert "in each release, measured in the units of that release" in total.adjacency
    Curator(RECORDS, SCALING, NoisyProjection(1.0), RECORDS[:, 0], ledger=ledger)  # both of them again
    assert ledger.total.epsilon == pytest.approx(3.0)
    with pytest.raises(BudgetError, match="of that 3 is spent, and with this epsilon would be 4"):
        Curator(RECORDS[:, :1], columns[0], NoisyProjection(1.0), RECORDS[:, 0], ledger=ledger)


def test_totals_are_compared_at_one_delta_and_what_does_not_hold_comes_first():
    ledger = Ledger()
    wide = planned_guarantee(N, SCALING, NoisyProjection(0.99, 1e-2, noise="gaussian"))
    ledger.spend(LAPLACE, start=0, stop=N)
    ledger.spend(wide, start=N, stop=N + 5)
    assert {each.delta for each in ledger.totals} == {1e-2}
    ledger.spend(LAPLACE.voided("leaked"), start=N + 5, stop=N + 6)
    assert not ledger.total.holds


@pytest.mark.parametrize("epsilon", [math.nan, -100.0, 0.0, "1", True])
def test_nothing_slips_through_a_budget_by_its_kind(epsilon):
    with pytest.raises(ValueError, match="epsilon must be a number > 0 or infinite"):
        replace(LAPLACE, epsilon=epsilon)
    with pytest.raises(ValueError, match="text must be the JSON of a PrivacyGuarantee"):
        PrivacyGuarantee.from_json(LAPLACE.to_json().replace('"epsilon": 1.0', '"epsilon": NaN'))


# --- curators and transforms ---


def test_asking_for_the_release_again_is_free():
    curator = Curator(RECORDS, SCALING, NoisyProjection(1.0), RECORDS[:, 0])
    for _ in range(3):
        assert curator.release is curator.release
        curator.query(0)
    assert len(curator.ledger.entries) == 1


def test_curators_and_transforms_of_one_table_share_a_budget():
    ledger = Ledger(budget(2.5))
    Curator(RECORDS, SCALING, NoisyProjection(1.0), RECORDS[:, 0], ledger=ledger)
    PrivateProjectionTransform(RECORDS, SCALING, NoisyProjection(1.0), ledger=ledger)
    with pytest.raises(BudgetError, match=r"of that 2 is spent"):
        Curator(RECORDS, SCALING, NoisyProjection(1.0), RECORDS[:, 0], ledger=ledger)
    with pytest.raises(BudgetError, match=r"of that 2 is spent"):
        PrivateProjectionTransform(RECORDS, SCALING, NoisyProjection(1.0), ledger=ledger)
    assert ledger.total.epsilon == pytest.approx(2.0)


def test_a_budget_beside_a_ledger_is_refused():
    with pytest.raises(ValueError, match="privacy_budget must be None beside a ledger"):
        Curator(
            RECORDS,
            SCALING,
            NoisyProjection(1.0),
            RECORDS[:, 0],
            ledger=Ledger(),
            privacy_budget=budget(3.0),
        )
    with pytest.raises(TypeError, match="ledger must be a Ledger, got str"):
        Curator(RECORDS, SCALING, NoisyProjection(1.0), RECORDS[:, 0], ledger="ledger.json")


# --- the file ---


@pytest.fixture
def path(tmp_path):
    return tmp_path / "table.ledger.json"


def test_entries_survive_the_process(path):
    first = Ledger(budget(3.0, 1e-5), path)
    first.spend(LAPLACE, OUTCOME, start=0, stop=N)
    again = Ledger(path=path)
    assert again.budget == budget(3.0, 1e-5)
    assert again.entries == first.entries
    assert again.total == first.total
    assert again.total.adjacency == first.total.adjacency
    with pytest.raises(BudgetError):
        again.spend(LAPLACE, start=0, stop=N)


def test_a_file_is_made_at_the_first_entry(path):
    ledger = Ledger(path=path)
    assert not path.exists()
    ledger.spend(LAPLACE, start=0, stop=N)
    assert path.exists()
    assert [name for name in os.listdir(path.parent) if not name.endswith(".lock")] == [path.name]


def test_a_budget_is_in_the_file_before_anything_is_spent(path):
    Ledger(budget(2.0), path)
    with pytest.raises(BudgetError):
        Ledger(path=path).spend(LAPLACE, LAPLACE, LAPLACE, start=0, stop=N)
    with pytest.raises(ValueError, match="budget must be the one that"):
        Ledger(budget(9.0), path)


def test_a_file_is_the_same_by_any_name(path, monkeypatch):
    Ledger(budget(2.0), path).spend(LAPLACE, start=0, stop=N)
    link = path.with_name("link.json")
    link.symlink_to(path)
    Ledger(budget(2.0), link).spend(LAPLACE, start=0, stop=N)
    assert link.is_symlink()
    with pytest.raises(BudgetError):
        Ledger(budget(2.0), path).spend(LAPLACE, start=0, stop=N)
    monkeypatch.chdir(path.parent)
    relative = Ledger(path="other.json")
    (path.parent / "sub").mkdir()
    monkeypatch.chdir(path.parent / "sub")
    relative.spend(LAPLACE, start=0, stop=N)
    assert (path.parent / "other.json").exists()


def test_two_ledgers_of_one_file_see_each_other(path):
    one, other = Ledger(budget(2.0), path), Ledger(budget(2.0), path)
    one.spend(LAPLACE, start=0, stop=N)
    other.spend(LAPLACE, start=0, stop=N)
    assert one.total.epsilon == pytest.approx(2.0)
    with pytest.raises(BudgetError):
        one.spend(LAPLACE, start=0, stop=N)


def allowed(ledger):
    try:
        ledger.spend(LAPLACE, start=0, stop=N)
    except BudgetError:
        return False
    return True


@needs_fork
def test_processes_together_do_not_exceed_the_budget(path):
    Ledger(budget(10.0), path).spend(LAPLACE, start=0, stop=N)
    together = multiprocessing.get_context("fork").Barrier(4)

    def spend():
        together.wait()
        return sum(allowed(Ledger(path=path)) for _ in range(5))

    assert sum(in_forked_workers(spend, workers=4)) == 9
    assert Ledger(path=path).total.epsilon == pytest.approx(10.0)


def test_threads_together_do_not_exceed_the_budget():
    ledger = Ledger(budget(5.0))
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(allowed, [ledger] * 20)) == 5


def test_an_entry_is_on_the_disk_before_anything_is_drawn(path, monkeypatch):
    seen = []

    def draw(*_, **__):
        seen.append(len(json.loads(path.read_text())["entries"]))
        raise MemoryError

    monkeypatch.setattr(NoisyProjection, "draw", draw)
    with pytest.raises(MemoryError):
        Curator(RECORDS, SCALING, NoisyProjection(1.0), RECORDS[:, 0], ledger=Ledger(path=path))
    assert seen == [1]
    assert len(Ledger(path=path).entries) == 1  # charged, though nothing left: rounded against us


def test_another_budget_than_the_one_of_the_file_is_refused(path):
    Ledger(budget(3.0), path).spend(LAPLACE, start=0, stop=N)
    with pytest.raises(
        ValueError, match=r"budget must be the one .* epsilon 3, delta 0, got epsilon 30"
    ):
        Ledger(budget(30.0), path)
    other = path.with_name("unlimited.json")
    Ledger(path=other).spend(LAPLACE, start=0, stop=N)
    with pytest.raises(ValueError, match=r"was begun with, none, got epsilon 3"):
        Ledger(budget(3.0), other)


@pytest.mark.parametrize("content", ["", "[]", "{}", "null", '{"format": "x"}', "\x00"])
def test_a_file_that_is_no_ledger_is_refused_and_left_alone(path, content):
    path.write_text(content)
    with pytest.raises(
        ValueError,
        match="path must be a ledger, but .* is (empty|not one|truncated.*); restore it",
    ):
        Ledger(budget(3.0), path)
    assert path.read_text() == content


def test_a_torn_or_altered_file_is_refused(path):
    Ledger(budget(3.0), path).spend(LAPLACE, start=0, stop=N)
    whole = path.read_text()
    for damaged in (whole[:-20], whole.replace('"stop"', '"end"'), whole.replace('"law"', '"lore"')):
        path.write_text(damaged)
        with pytest.raises(ValueError, match=r"restore it rather than starting anew"):
            Ledger(path=path)
    newer = whole.replace('"format_version": 1', '"format_version": 3')
    path.write_text(newer.replace('"entries"', '"spendings"'))
    with pytest.raises(ValueError, match=r"is of another version: upgrade"):
        Ledger(path=path)


@pytest.mark.parametrize(("noise", "version"), [("laplace", 1), ("gaussian", 1), ("l2", 2)])
def test_a_ledger_is_of_the_first_version_where_its_programs_know_the_noise(path, noise, version):
    guarantee = NoisyProjection(1.0, 1e-6, noise=noise).guarantee(N, 2)
    Ledger(path=path).spend(guarantee, start=0, stop=N)
    assert json.loads(path.read_text())["format_version"] == version
    assert Ledger(path=path).entries[0].guarantee == guarantee


def test_a_file_in_another_format_is_refused_though_it_has_the_same_fields(path):
    Ledger(budget(3.0), path).spend(LAPLACE, start=0, stop=N)
    path.write_text(path.read_text().replace('"botorch-private ledger"', '"another ledger"'))
    with pytest.raises(ValueError, match="is not one"):
        Ledger(budget(3.0), path)


def test_a_copy_goes_on_from_what_was_entered(path):
    Ledger(budget(2.0)).copy(path)
    assert (Ledger(path=path).budget, Ledger(path=path).entries) == (budget(2.0), ())
    first = Ledger(budget(2.0))
    first.spend(LAPLACE, start=0, stop=N)
    first.copy(path)
    copy = Ledger(path=path)
    assert copy.entries == first.entries
    copy.spend(LAPLACE, start=0, stop=N)
    with pytest.raises(BudgetError, match="of that 2 is spent"):
        copy.spend(LAPLACE, start=0, stop=N)
    assert len(first.entries) == 1


def test_a_file_that_vanished_is_not_begun_anew(path):
    ledger = Ledger(budget(3.0), path)
    ledger.spend(LAPLACE, start=0, stop=N)
    path.unlink()
    with pytest.raises(ValueError, match="is gone: restore it"):
        ledger.spend(LAPLACE, start=0, stop=N)
    assert not path.exists()


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="path must be in a folder that exists"):
        Ledger(path=tmp_path / "no" / "ledger.json")


def test_the_file_holds_no_record(path):
    curator = Curator(RECORDS, SCALING, NoisyProjection(1.0), RECORDS[:, 0], ledger=Ledger(path=path))
    text = path.read_text()
    content = json.loads(text)
    assert content.keys() == {"format", "format_version", "budget", "entries"}
    assert content["entries"][0].keys() == {"time", "start", "stop", "guarantee"}
    rows = [*RECORDS.flatten().tolist(), *curator.release.candidates.flatten().tolist()]
    assert not any(repr(value) in text for value in rows)


def test_a_total_at_a_distance_is_that_of_the_costliest_history():
    ledger = Ledger()
    ledger.spend(LAPLACE, start=0, stop=N)
    ledger.spend(GAUSSIAN, start=0, stop=N)
    ledger.spend(LAPLACE, start=N, stop=N + 1)
    assert ledger.total.at(5.0) == max(each.at(5.0) for each in ledger.totals)
    assert ledger.total.at(0.0) == 0.0
    assert math.isfinite(ledger.total.at(50.0))
