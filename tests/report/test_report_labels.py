"""The report of labels of cells: a promise for a whole record, in words, and no unit."""

import math
import re
from dataclasses import fields, replace

import pytest
import torch
from helpers.report_samples import declared, make_release, reports_of, some_records

from botorch_private import CellResponse, Cells, Curator, Ledger, OutcomeMechanism
from botorch_private.audit import Check, Findings
from botorch_private.cli.main import main
from botorch_private.curator.publish import publish
from botorch_private.report import audit_facts, report

CELLS = Cells({"age": [18, 40, 65, 100], "weight": [0, 60, 200]})
N = 3_000


def records_of(n=N):
    unit = torch.rand(n, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    return 20 + 80 * unit


def labels(epsilon=3.0, n=N, **options):
    return publish(records_of(n), None, CellResponse(epsilon, CELLS), **options).release


def words(page):
    return re.sub(r"\s+", " ", page.text())


@pytest.fixture(scope="module")
def release():
    return labels()


@pytest.fixture(scope="module")
def page(release):
    return report(release)


@pytest.fixture(scope="module")
def text(page):
    return words(page)


def test_the_promise_is_a_sentence_for_a_lawyer(text):
    sentence = (
        "Whatever one person's record is, the label that leaves looks the same up to a factor of "
        "e^epsilon."
    )
    assert text.count(sentence) == 2  # in short, and where it is promised
    assert "The privacy guarantee HOLDS." in text
    assert "Epsilon is 3, and the factor 20.09." in text
    assert "This holds of the labels, whatever is asked and answered later." in text


def test_outcomes_are_said_not_to_be_covered(text):
    assert "What an answered outcome says about its record comes on top, without a limit." in text


def test_both_numbers_are_there(page, release, text):
    central = page.facts.central
    assert central.epsilon == release.guarantee.shuffled(1e-5).epsilon < 0.5
    assert f"Before the first question epsilon is {central.epsilon:.3f}"[:-1] in text
    assert "up to an extra chance of 1e-05" in text
    assert "from the first question on the larger epsilon, 3, is what holds" in text


def test_what_questions_do_is_said_and_no_more_than_is_proved(text):
    assert "Always, whatever is asked and answered, outcomes apart: epsilon 3." in text
    assert "who knows a person's outcome may recognise the row" in text
    assert (
        "never measured, a number between the two may hold. None is proved, and none is claimed" in text
    )


def test_a_lie_is_at_least_as_likely_as_it_says(release, text):
    (shown,) = re.findall(r"a lie with a chance of at least ([\d.]+) %", text)
    assert float(shown) == pytest.approx(100 * (1 - release.guarantee.law.p), rel=1e-2)
    assert float(shown) <= 100 * (1 - release.guarantee.law.p)


def test_all_that_a_whole_record_costs_stands_on_one_axis(page, release, text):
    always, answered = page.facts.whole_record
    assert always.epsilon == release.guarantee.whole_record
    assert answered is None
    central = page.facts.central_cost
    assert central.epsilon == release.guarantee.shuffled(1e-5).epsilon
    assert "Epsilon of a whole record: What" in text
    assert f"Before the first question {central.epsilon:.3f}"[:-1] in text


@pytest.mark.parametrize(
    ("kind", "words_of_it"), [("laplace", "costs epsilon 150"), ("none", "unlimited")]
)
def test_noise_stands_on_the_same_axis(kind, words_of_it):
    made = reports_of(kind)
    always, _ = made.facts.whole_record
    assert always.epsilon == made.facts.total.whole_record
    text = words(made)
    assert words_of_it in text
    assert "Epsilon of a whole record: What" in text
    assert "Before the first question" not in text
    assert "How it goes on this table cannot be told from there." in text


def test_there_are_no_units(text):
    assert not re.search(r"\b(one|1|in|of) units?\b", re.sub("there is no unit", "", text))
    assert "What one unit is" not in text
    assert "of a whole record" in text
    assert "Spent on any change of a record" in text
    assert "takes epsilon of a whole record from 3 to 6" in text


def test_the_attack_chapter_says_what_a_perfect_attacker_is_left_with(release, text):
    law = release.guarantee.law
    assert f"it is with probability {100 * law.p:.2f} %" in text
    assert "one of 6 labels" in text
    assert "the label multiplies the odds of one record against another by at most 20.09" in text
    assert "Records in the same cell are not told apart at all" in text


def test_the_odds_that_it_states_are_those_of_bayes(release):
    """Whatever the odds were before, each label multiplies them by at most the stated factor."""
    law = release.guarantee.law
    likelihood = torch.full((6, 6), law.q, dtype=torch.float64) + (law.p - law.q) * torch.eye(
        6, dtype=torch.float64
    )
    prior = torch.rand(6, dtype=torch.float64)
    posterior = likelihood * prior / (likelihood @ prior)[:, None]
    after = posterior[:, :, None] / posterior[:, None, :]
    growth = after / (prior[:, None] / prior[None, :])
    assert float(growth.max()) == pytest.approx(law.p / law.q)
    assert float(growth.max()) <= math.exp(release.guarantee.epsilon) * (1 + 1e-9)


def test_several_records_are_charged(page):
    assert [count for count, _ in page.facts.several] == [1, 2, 5, 10]
    assert [round(cost.epsilon) for _, cost in page.facts.several] == [3, 6, 15, 30]


def test_the_draw_of_labels_is_tested(page, text):
    (found,) = page.audits
    assert found.labels is not None
    assert not found.refuted
    assert "A test of labels on this machine found nothing that an honest draw does not do" in text
    assert "The attack does not refute the promise." in text
    assert "was not tested" not in text


def test_a_refuted_draw_is_said_loudly(release, monkeypatch):
    bad = Findings((Check("lies are fair", 0.0),), ("much",))
    monkeypatch.setattr(audit_facts, "response_audit", lambda mechanism: bad)
    text = words(report(release))
    assert "REFUTES the promise. Do not use this release." in text
    assert "But a test REFUTES the promise" in text
    assert "does not refute" not in text


def test_an_epsilon_that_is_stated_too_small_is_refuted(release):
    class Less(type(release.guarantee)):
        def at(self, distance, records=1):
            return super().at(distance, records) * 0.9

    guarantee = release.guarantee
    values = {each.name: getattr(guarantee, each.name) for each in fields(guarantee)}
    assert report(replace(release, guarantee=Less(**values))).audits[0].refuted


def test_a_small_table_has_one_number(tmp_path):
    text = words(report(labels(n=10)))
    assert "no better number than this one is stated" in text
    assert "Before the first question epsilon is" not in text


def test_joined_records_have_one_number():
    outcomes = torch.arange(float(N))
    curator = Curator(records_of(), None, CellResponse(3.0, CELLS), outcomes)
    joined = curator.add(records_of(5) / 2 + 20, outcomes[:5])
    assert report(joined).facts.central is None


def test_a_seeded_release_promises_nothing():
    text = words(report(labels(generator=torch.Generator().manual_seed(1))))
    assert "DOES NOT HOLD" in text
    assert "Whatever one person's record is" not in text
    assert "whoever knows the seed knows which labels are true" in text
    assert "Before the first question" not in text


def test_two_releases_of_labels_add_up():
    text = words(report([labels(), labels()]))
    assert "Epsilon is 6," in text
    assert "the factors multiply" in text


def test_noised_outcomes_are_told_beside_the_labels():
    outcomes = torch.rand(N, dtype=torch.float64)
    noised = OutcomeMechanism(1.0, 0.0, (0.0, 1.0))
    curator = Curator(records_of(), None, CellResponse(3.0, CELLS), outcomes, outcome_mechanism=noised)
    text = words(report(curator.release))
    assert "outcomes are covered as well" in text
    assert "With all answered outcomes, its outcome changed to any other as well" in text


def test_a_ledger_is_told_in_the_same_terms(tmp_path):
    ledger = Ledger(path=tmp_path / "ledger.json")
    text = words(report(labels(ledger=ledger), ledger=tmp_path / "ledger.json"))
    assert "All entries of the ledger" in text
    assert " unit" not in text.replace("there is no unit", "")


@pytest.mark.parametrize(
    "more",
    [
        {"scaling": declared()},
        {"scaling": declared(), "records": some_records()},
        {"records": records_of()},
    ],
)
def test_what_needs_units_is_refused_in_one_line(release, more):
    with pytest.raises(ValueError, match="takes no scaling and no records"):
        report(release, **more)


def test_labels_and_noise_have_reports_of_their_own(release):
    with pytest.raises(ValueError, match="report on each kind alone"):
        report([release, make_release("laplace")])


def test_the_command_writes_a_page_and_prints_a_text(release, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    release.save("labels.safetensors")
    assert main(["report", "labels.safetensors"]) == 0
    told = capsys.readouterr()
    assert "Epsilon of a whole record: 3" in told.out + told.err
    assert "The test of labels does not refute it." in told.out + told.err
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Whatever one person&#39;s record is, the label that leaves looks the same" in page
    assert main(["report", "labels.safetensors", "--text"]) == 0
    assert "What a perfect attacker finds out" in capsys.readouterr().out
