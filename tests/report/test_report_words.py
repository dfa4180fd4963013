"""What the report says in each case, and what it must never say."""

import re

import pytest
import torch
from helpers.report_samples import NAMES, declared, make_release, reports_of, some_records, unusual

from botorch_private import Curator, NoisyProjection, OutcomeMechanism, PrivacyGuarantee, PublicScaling
from botorch_private.curator.ledger import Ledger
from botorch_private.curator.publish import publish
from botorch_private.report import report

GOOD = ["laplace", "gaussian", "rotated", "projected", "far", "outcomes", "two", "table", "ledger"]
BAD = ["spectral", "narrow spectral", "none", "seeded", "learned"]


def words(kind):
    made = reports_of(kind) if isinstance(kind, str) else kind
    return re.sub(r"\s+", " ", made.text())


@pytest.mark.parametrize("kind", GOOD)
def test_a_guarantee_that_holds_is_said_to_hold(kind):
    assert "The privacy guarantee HOLDS." in words(kind)
    assert "DOES NOT HOLD" not in words(kind)
    assert "not what is kept" not in words(kind)


@pytest.mark.parametrize("kind", BAD)
def test_a_guarantee_that_does_not_hold_is_never_praised(kind):
    text = words(kind)
    assert "DOES NOT HOLD" in text
    assert "guarantee HOLDS" not in text
    for reason in reports_of(kind).facts.total.reasons:
        assert reason in text
    assert "No limit is guaranteed" in text
    assert "does not refute the promise" not in text
    assert "theorem, computed" not in text
    assert "[+]" not in reports_of(kind).text()


def test_who_knows_the_seed_errs_by_zero():
    assert "whoever knows the seed subtracts the noise, and errs by zero" in words("seeded")
    assert "seed" not in words("laplace")


def test_known_records_give_a_linear_image_away():
    assert "Whoever knows 5 records computes all others by least squares" in words("spectral")
    assert "as many exact combinations" in words("narrow spectral")
    assert "error of a perfect attacker is zero" in words("none")
    few = report(make_release("spectral", some_records(7)[:4]), trials=200, progress=False).text()
    assert "DOES NOT HOLD: the paper's proof is for exact real numbers only" in " ".join(few.split())
    assert "what it leaves to an attacker was not computed" in " ".join(few.split())


def test_adjacency_and_every_assumption_stand_in_the_report():
    for kind in ("laplace", "outcomes", "spectral"):
        text = words(kind).lower()
        made = reports_of(kind)
        assert made.facts.total.adjacency.lower() in text
        for release in made.facts.releases:
            for assumption in release.guarantee.assumptions:
                assert assumption.lower() in text


def test_outcomes_are_said_to_be_covered_or_not():
    assert "outcomes are not covered" in words("laplace")
    text = words("outcomes")
    assert "outcomes are covered as well, by noise of their own" in text
    assert "outcomes are not covered" not in text
    assert "Outcomes are clipped to 0 ... 10" in text
    assert "With the answers about outcomes" in text


def test_kept_noise_on_answers_is_counted_for_each_file_and_the_report_says_so():
    records, budget = some_records(), PrivacyGuarantee.budget(epsilon=12.0)
    noised = OutcomeMechanism(2.0, 0.0, (0.0, 10.0))
    curator = Curator(
        records,
        declared(),
        NoisyProjection(3.0),
        records[:, 0],
        outcome_mechanism=noised,
        privacy_budget=budget,
    )
    releases = [curator.release, curator.rerelease()]
    text = words(report(releases, ledger=curator.ledger, trials=100, progress=False))
    assert curator.guarantee.epsilon == pytest.approx(8.0, rel=1e-6)
    assert "With the answers about outcomes 10 " in text
    assert "All entries of the ledger 8 " in text
    assert "Noise on answers is counted once for each file" in text
    assert "counted once for each file" not in words("outcomes")
    assert "counted once for each file" not in words("two")


def test_without_raw_units_the_report_says_so():
    assert "The release has no raw units" in words("learned")
    assert "One unit, in each feature's own unit" not in words("learned")
    assert "in units of scaled space" in words("learned")


def test_ranges_are_public_and_only_records_make_a_report_secret():
    assert "declared ranges: with the file of ranges" in words("laplace")
    assert "Declared" in reports_of("ranges").text()
    assert not reports_of("ranges").secret
    assert "no record was read" in words("ranges")
    for kind in ("table", "rotated table"):
        assert reports_of(kind).secret
        assert "FOR THE CURATOR'S EYES ONLY" in words(kind)
        assert "no record was read" not in words(kind)
        assert "7 have a value outside its declared range" in words(kind)


def test_a_yes_or_no_with_a_huge_step_is_pointed_out_with_records():
    assert "Features with two values only" in words("table")
    assert "Features with two values only" not in words("ranges")


def test_errors_in_a_yes_or_no_are_said_to_be_less_for_who_takes_the_nearer_end():
    assert "Whoever takes the nearer end is off by nothing" in words("steps")
    assert "nearer end" not in words("laplace")


def test_mixed_coordinates_say_what_cannot_be_told():
    assert "errors cannot be told feature by feature" in words("projected")
    assert "The rotation is not in the release, but it is taken to be known here" in words("rotated")


def test_a_single_release_is_the_total_only_if_it_is_the_only_one():
    assert "This is the total if, and only if, nothing else of these records was ever released" in words(
        "laplace"
    )
    assert "if they are releases of the same records" in words("two")


def test_the_ledger_has_total_budget_and_what_one_more_costs():
    text = words("ledger")
    assert "All entries of the ledger 3 " in text
    assert "Budget of the ledger 7.5 " in text
    assert "The ledger after one more such release 6 " in text
    assert "The ledger has no entry like" not in text


def test_a_ledger_that_does_not_know_the_release_is_said_to_be_incomplete():
    release, other = make_release("laplace"), make_release("far")
    ledger = Ledger()
    empty = report(release, ledger=ledger, trials=100, progress=False)
    assert "The ledger has no entries" in words(empty)
    ledger.spend(other.guarantee, start=0, stop=300)
    made = report(release, ledger=ledger, trials=100, progress=False)
    assert "The ledger has no entry like the release" in words(made)


def test_a_ledger_of_another_table_is_refused():
    scaling = PublicScaling([0.0] * 4, [1.0] * 4)
    ledger = Ledger()
    ledger.spend(
        publish(some_records() * 0, scaling, NoisyProjection(1.0)).release.guarantee, start=0, stop=300
    )
    with pytest.raises(ValueError, match="another unit"):
        report(make_release("laplace"), ledger=ledger, trials=100)


def test_an_infinite_budget_needs_no_number():
    assert "unlimited" in words("none")
    assert not re.search(r"\b(inf|nan)\b", words("none"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scaling": PublicScaling([0.0] * 4, [1.0] * 4, names=NAMES)}, "whose unit is"),
        ({"scaling": PublicScaling([0.0] * 4, [1.0] * 4, names=list("abcd"))}, "with the features"),
        ({"scaling": PublicScaling([0.0], [1.0])}, "with 4 features, got 1"),
        ({"scaling": PublicScaling([0.0] * 4, [1.0] * 4, radius=9.0)}, "with radius 25, got 9"),
        ({"records": some_records()}, "scaling must be given with records"),
        (
            {"scaling": declared(), "records": some_records(10)},
            "there are 10 of them and the release has 300",
        ),
        ({"scaling": declared(), "records": torch.zeros(300, 3)}, "must have 4 columns, got 3"),
        ({"trials": 99}, "trials must be an integer >= 100"),
        ({"names": ["a", "b"]}, "names must have 1 entries"),
    ],
)
def test_what_does_not_belong_to_the_release_is_refused(change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        report(make_release("laplace"), **change)


def test_ranges_of_a_release_without_raw_units_are_refused():
    with pytest.raises(ValueError, match="scaling was not declared"):
        report(unusual("learned"), scaling=declared())


def test_no_release_is_refused():
    with pytest.raises(ValueError, match="at least one Release, got none"):
        report([])
