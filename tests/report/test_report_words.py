"""What the report says in each case, and what it must never say."""

import re

import pytest
import torch
from helpers.report_samples import (
    KINDS,
    NAMES,
    declared,
    make_release,
    reports_of,
    some_records,
    unusual,
)

from botorch_private import Curator, NoisyProjection, OutcomeMechanism, PrivacyGuarantee, PublicScaling
from botorch_private.curator.ledger import Ledger
from botorch_private.curator.publish import planned_guarantee
from botorch_private.privacy.words import promised
from botorch_private.report import report

GOOD = ["laplace", "gaussian", "l2", "rotated", "projected", "far", "outcomes", "two", "table", "ledger"]
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


# Report: + what it says, or - what it does not.
SAID = """
laplace: + outcomes are not covered
laplace: + declared ranges: with the file of ranges
laplace: + This is the total if, and only if, nothing else of these records was ever released
laplace: - seed
laplace: - nearer end
seeded: + whoever knows the seed subtracts the noise, and errs by zero
spectral: + Whoever knows 5 records computes all others by least squares
spectral: + This release (NOT KEPT)
laplace: - NOT KEPT
narrow spectral: + as many exact combinations
none: + error of a perfect attacker is zero
none: + unlimited
outcomes: + outcomes are covered as well, by noise of their own
outcomes: + Outcomes are clipped to 0 ... 10
outcomes: + standard deviation 2.82 in the outcome's own unit
outcomes: + With the answers about outcomes
outcomes: - outcomes are not covered
outcomes: - counted once for each file
learned: + The release has no raw units
learned: + in units of scaled space
learned: - One unit, in each feature's own unit
ranges: + Declared
ranges: - Features with two values only
table: + Features with two values only
table: + 7 have a value outside its declared range
rotated table: + 7 have a value outside its declared range
steps: + Whoever takes the nearer end is off by nothing
l2: + There are two promises, and both hold. The first one is at a delta of 1e-05.
l2: + Its epsilon is 1.518 at one unit
gaussian: - two promises
laplace: - two promises
projected: + errors cannot be told feature by feature
rotated: + The rotation is not in the release, but it is taken to be known here
two: + if they are releases of the same records
two: - counted once for each file
ledger: + All entries of the ledger 3 20.09
ledger: + Budget of the ledger 7.5 1,809
ledger: + The ledger after one more such release 6 403.5
ledger: - The ledger has no entry like
"""


@pytest.mark.parametrize("line", SAID.strip().splitlines())
def test_each_case_is_told_as_it_is(line):
    kind, sign, phrase = re.fullmatch(r"(.+?): ([+-]) (.+)", line).groups()
    assert (phrase in words(kind)) == (sign == "+")


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_is_secret_if_made_with_records_and_holds_no_infinite_number(kind):
    text = words(kind)
    assert reports_of(kind).secret == ("FOR THE CURATOR'S EYES ONLY" in text) == ("table" in kind)
    assert reports_of(kind).secret != ("no record was read" in text)
    assert not re.search(r"\b(inf|nan)\b", text)


def test_what_few_records_of_a_linear_image_leave_was_not_computed():
    few = words(report(make_release("spectral", some_records(7)[:4]), trials=200, progress=False))
    assert "DOES NOT HOLD: the paper's proof is for exact real numbers only" in few
    assert "what it leaves to an attacker was not computed" in few


@pytest.mark.parametrize("kind", ["laplace", "outcomes", "spectral", "two", "none"])
def test_the_guarantee_stands_in_the_report_as_it_is_printed(kind):
    text, facts = words(kind).lower(), reports_of(kind).facts
    answers = [each.outcome_guarantee for each in facts.releases if each.outcome_guarantee]
    for guarantee in (facts.total, *answers):
        for sentence in (*promised(guarantee), *guarantee.assumptions):
            assert sentence.lower() in text


def test_kept_noise_on_answers_is_counted_for_each_file_and_the_report_says_so():
    records, budget = some_records(), PrivacyGuarantee.budget(epsilon=12.0)
    noised = {"outcome_mechanism": OutcomeMechanism(2.0, 0.0, (0.0, 10.0)), "privacy_budget": budget}
    curator = Curator(records, declared(), NoisyProjection(3.0), records[:, 0], **noised)
    releases = [curator.release, curator.rerelease()]
    text = words(report(releases, ledger=curator.ledger, trials=100, progress=False))
    assert curator.guarantee.epsilon == pytest.approx(8.0, rel=1e-6)
    assert "With the answers about outcomes 10 " in text
    assert "All entries of the ledger 8 " in text
    assert "Noise on answers is counted once for each file" in text


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
    other = planned_guarantee(300, scaling, NoisyProjection(1.0))
    ledger.spend(other, start=0, stop=300)
    with pytest.raises(ValueError, match="another unit"):
        report(make_release("laplace"), ledger=ledger, trials=100)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scaling": PublicScaling([0.0] * 4, [1.0] * 4, names=NAMES)}, "whose unit is"),
        ({"scaling": PublicScaling([0.0] * 4, [1.0] * 4, names=list("abcd"))}, "with the features"),
        ({"scaling": PublicScaling([0.0], [1.0])}, "with 4 features, got 1"),
        ({"scaling": PublicScaling([0.0] * 4, [1.0] * 4, radius=9.0)}, "with radius 25, got 9"),
        ({"records": some_records()}, "scaling must be given with records"),
        ({"scaling": declared(), "records": some_records(10)}, "10 of them and the release has 300"),
        ({"scaling": declared(), "records": torch.zeros(300, 3)}, "must have 4 columns, got 3"),
        ({"trials": 99}, "trials must be an integer >= 100"),
        ({"names": ["a", "b"]}, "names must have 1 entries"),
        ({"releases": []}, "at least one Release, got none"),
    ],
)
def test_what_does_not_belong_to_the_release_is_refused(change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        report(**{"releases": make_release("laplace"), **change})


def test_ranges_of_a_release_without_raw_units_are_refused():
    with pytest.raises(ValueError, match="scaling was not declared"):
        report(unusual("learned"), scaling=declared())
