"""Noised answers: drawn once and kept, known to the model, and within the stated epsilon."""

import dp_accounting
import numpy as np
import pytest
import torch
from dp_accounting import pld
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
from helpers.forks import in_forked_workers, needs_fork

from botorch_private import (
    BudgetError,
    Curator,
    DiscretePosterior,
    Ledger,
    MeasurementError,
    Modeler,
    NoisyProjection,
    OutcomeMechanism,
    PrivacyGuarantee,
    PublicScaling,
    Release,
    compose,
    make_model,
    run,
)
from botorch_private.audit.bounds import certified_epsilon, gaussian_epsilon_from_rates
from botorch_private.audit.likelihood import log_ratio
from botorch_private.curator.publish import planned_guarantee
from botorch_private.report.facts import public_facts

N, D = 40, 2
SCALING = PublicScaling([0.0] * D, [1.0] * D)
RECORDS = torch.rand(N, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
OUTCOMES = 10 * RECORDS[:, 0]
NOISED = OutcomeMechanism(2.0, 0.0, (0.0, 10.0))


def make_curator(objective=OUTCOMES, *, mechanism=None, outcome_mechanism=NOISED, **options):
    mechanism = NoisyProjection(3.0) if mechanism is None else mechanism
    return Curator(
        RECORDS, SCALING, mechanism, objective, outcome_mechanism=outcome_mechanism, **options
    )


def test_the_same_question_gets_the_same_noised_answer_from_one_measurement():
    measured = []

    def measure(record):
        measured.append(record)
        return 5.0

    curator = make_curator(measure)
    answers = {curator.query(3).value for _ in range(10)}
    assert len(answers) == 1
    assert answers != {5.0}
    assert len(measured) == 1


def test_different_records_have_different_noise():
    curator = make_curator(lambda record: 5.0)
    assert len({curator.query(row).value for row in range(N)}) > N // 2


def test_answers_stay_those_of_their_records_after_another_release():
    curator = make_curator(privacy_budget=PrivacyGuarantee.budget(8.0))
    before = {int(curator.permutation[row]): curator.query(row).value for row in range(N)}
    curator.rerelease()
    after = {int(curator.permutation[row]): curator.query(row).value for row in range(N)}
    assert before == after
    # Two releases, and answers once.
    assert curator.guarantee.at(0.0) == pytest.approx(2.0, rel=1e-6)
    assert curator.guarantee.epsilon == pytest.approx(3 + 3 + 2, rel=1e-6)
    with pytest.raises(BudgetError, match="of that 8 is spent"):
        curator.rerelease()


def test_the_answer_is_clipped_noise_around_the_outcome_and_nothing_else():
    curator = make_curator(OUTCOMES * 100, outcome_mechanism=OutcomeMechanism(1e4, 0.0, (0.0, 10.0)))
    for row in range(N):
        outcome = float(OUTCOMES[curator.permutation[row]]) * 100
        assert curator.query(row).value == pytest.approx(min(outcome, 10.0), abs=0.05)


def test_what_is_promised_is_known_before_anything_is_measured():
    curator = make_curator()
    assert curator.release.guarantee == planned_guarantee(
        N, SCALING, NoisyProjection(3.0), noised_outcomes=True
    )
    assert curator.release.outcome_guarantee == NOISED.guarantee()
    assert not any("answered as they are" in each for each in curator.release.guarantee.assumptions)
    total = curator.guarantee
    assert total.holds
    assert total.epsilon == pytest.approx(5.0)
    assert total.at(0.0) == pytest.approx(2.0)
    assert total.at(2.0) == pytest.approx(8.0, abs=2e-3)


def test_the_joint_promise_in_words():
    text = str(make_curator().guarantee)
    for sentence in (
        "composition of 1 release and an answer about each outcome: HOLDS",
        "differ in one record: in its features by at most D units of distance, and in its outcome by an",
        "Moving one record by 1 unit and changing its outcome to any other changes the chance of",
        "Outcomes are clipped to 0 ... 10, a range that is public",
        "the outcome of a record is a matter of that record alone",
    ):
        assert sentence in text
    assert "answered as they are" not in text
    assert "guarantee adds to this one" not in text


def test_without_a_mechanism_nothing_covers_the_outcomes():
    curator = make_curator(outcome_mechanism=None)
    assert curator.release.outcome_guarantee is None
    assert curator.release.outcome_variance == 0.0
    assert "answered as they are" in str(curator.guarantee)
    assert curator.query(0).value == float(OUTCOMES[curator.permutation[0]])


def test_outcomes_that_another_curator_answers_as_they_are_are_not_said_to_be_covered():
    """Two curators of one table: the noise of one hides nothing of what the other one tells."""
    ledger = Ledger()
    make_curator(outcome_mechanism=None, ledger=ledger)
    total = make_curator(ledger=ledger).guarantee
    text = str(total)
    assert not total.covers_outcomes
    assert total.holds
    assert "the number of records, the outcomes and all other records are the same" in total.adjacency
    assert "changing its outcome" not in text
    assert "Outcomes are clipped" not in text
    assert "with noise beside one release, and as they are beside another" in text
    assert total.epsilon == pytest.approx(3 + 3 + 2)  # what the noised answers cost is not taken back
    assert compose([total, NOISED.guarantee()]).covers_outcomes is False
    assert make_curator(ledger=Ledger()).guarantee.covers_outcomes
    assert PrivacyGuarantee.from_json(total.to_json()) == total


def test_a_report_of_both_says_that_outcomes_are_not_covered():
    releases = [make_curator(outcome_mechanism=each).release for each in (None, NOISED)]
    facts = public_facts([(release, f"{i}") for i, release in enumerate(releases)])
    assert facts.with_outcomes is None
    assert public_facts([(releases[1], "1")]).with_outcomes.covers_outcomes


def test_a_budget_is_for_release_and_answers_together():
    make_curator(privacy_budget=PrivacyGuarantee.budget(5.0))
    with pytest.raises(BudgetError, match="with this epsilon would be 5"):
        make_curator(privacy_budget=PrivacyGuarantee.budget(4.9))


def test_shared_outcomes_add_up_over_the_answers_that_may_be_given():
    curator = make_curator(shared_outcomes=True, max_queries=7)
    assert curator.release.outcome_guarantee.epsilon == pytest.approx(14.0)
    assert curator.guarantee.epsilon == pytest.approx(17.0)
    assert curator.release.outcome_variance == pytest.approx(NOISED.noise_variance)
    assert "the outcomes of all records may differ" in curator.guarantee.adjacency
    assert "the outcomes of all records may differ" in curator.release.outcome_guarantee.adjacency
    with pytest.raises(ValueError, match="max_queries must be given with shared_outcomes=True"):
        make_curator(shared_outcomes=True)
    with pytest.raises(ValueError, match="shared_outcomes must be False without an outcome_mechanism"):
        make_curator(shared_outcomes=True, outcome_mechanism=None)
    with pytest.raises(ValueError, match="records can only be added where outcomes are a matter of"):
        curator.add(RECORDS[:2] / 2, OUTCOMES[:2])


def test_a_seeded_generator_voids_the_answers_too():
    curator = make_curator(generator=torch.Generator().manual_seed(0))
    assert not curator.release.outcome_guarantee.holds
    assert not curator.guarantee.holds


@pytest.mark.parametrize("mechanism", [NoisyProjection(1.0), 3.0, OutcomeMechanism])
def test_another_object_is_no_outcome_mechanism(mechanism):
    with pytest.raises(TypeError, match="outcome_mechanism must be an OutcomeMechanism, got"):
        make_curator(outcome_mechanism=mechanism)


# --- failures, and copies ---


@pytest.mark.parametrize(
    "bad", [lambda: 1 / 0, lambda: float("nan"), lambda: None, lambda: "MARKER", lambda: {}["MARKER"]]
)
def test_a_failure_says_nothing_but_that_and_counts(bad):
    tried = []

    def measure(record):
        tried.append(record)
        return bad() if record[0] > 0.5 else 5.0

    curator = make_curator(measure, max_queries=N)
    messages, values = set(), 0
    for row in range(N):
        try:
            curator.query(row)
            values += 1
        except MeasurementError as error:
            chained = (error.__cause__, error.__context__)
            messages.add((str(error).replace(f"row {row} ", "row "), chained))
    assert messages == {("released row cannot be measured", (None, None))}
    assert curator.queries_left == 0  # failures are no free questions
    assert 0 < values < N
    before = len(tried)
    row = int((RECORDS[curator.permutation][:, 0] > 0.5).nonzero()[0])
    with pytest.raises(MeasurementError, match=f"released row {row} cannot be measured"):
        curator.query(row)
    assert len(tried) == before
    assert any("not covered" in each for each in curator.guarantee.assumptions if "measured" in each)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_attempt_counts_however_it_ends(raised):
    """Ctrl-C in the middle of it, too: how an objective ends may depend on the record."""

    def measure(record):
        if record[0] > 0.5:
            raise raised
        return 5.0

    curator = make_curator(measure, max_queries=N)
    ended = 0
    for row in range(N):
        try:
            curator.query(row)
        except (MeasurementError, KeyboardInterrupt, SystemExit):
            ended += 1
            with pytest.raises(MeasurementError, match=f"released row {row} cannot be measured"):
                curator.query(row)  # not tried again
        assert curator.queries_left == N - 1 - row
    assert 0 < ended < N


def test_infinite_outcomes_are_clipped_like_others():
    curator = make_curator(
        lambda record: float("inf"), outcome_mechanism=OutcomeMechanism(1e4, 0.0, (0.0, 10.0))
    )
    assert curator.query(0).value == pytest.approx(10.0, abs=0.05)


def test_the_limit_that_a_guarantee_rests_on_cannot_be_moved():
    curator = make_curator(shared_outcomes=True, max_queries=2)
    with pytest.raises(AttributeError):
        curator.max_queries = 12


@needs_fork
def test_a_forked_copy_answers_nothing():
    curator = make_curator(privacy_budget=PrivacyGuarantee.budget(50.0))

    def refused():
        for attempt in (
            lambda: curator.query(0),
            curator.rerelease,
            lambda: curator.add(RECORDS[:1], [1.0]),
        ):
            with pytest.raises(RuntimeError, match="in the process that made it"):
                attempt()
        return True

    assert in_forked_workers(refused, workers=1) == [True]
    curator.query(0)


def test_a_curator_that_a_server_took_over_answers_no_more(tmp_path):
    from botorch_private.curator.service.make_folder import make_folder

    curator = make_curator(objective=lambda record: 1.0)
    make_folder(tmp_path / "one", curator)
    for attempt in (lambda: curator.query(0), lambda: make_folder(tmp_path / "two", curator)):
        with pytest.raises(RuntimeError, match="handed over to a server"):
            attempt()
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


# --- the modeler's side ---


def test_the_noise_travels_with_the_release(tmp_path):
    curator = make_curator()
    curator.release.save(tmp_path / "release.safetensors")
    loaded = Release.load(tmp_path / "release.safetensors")
    assert loaded.outcome_guarantee == NOISED.guarantee()
    assert loaded.outcome_variance == NOISED.noise_variance
    assert loaded.identity == curator.release.identity
    assert loaded.identity != make_curator(outcome_mechanism=None).release.identity


def test_the_model_knows_the_variance_of_the_answers():
    curator = make_curator()
    rows = list(range(8))
    values = [curator.query(row).value for row in rows]
    model = make_model(curator.release, rows, values)
    likelihood = model.likelihood
    assert isinstance(likelihood, FixedNoiseGaussianLikelihood)
    known = NOISED.noise_variance / np.var(values, ddof=1)
    assert likelihood.noise_covar.noise.tolist() == pytest.approx([known] * 8)
    prior = likelihood.second_noise_covar.noise_prior
    assert (float(prior.loc), float(prior.scale)) == (-4.0, 1.0)
    again = make_model(curator.release, rows, values, outcome_noise=0.4)
    assert float(again.likelihood.second_noise_covar.noise_prior.loc) == pytest.approx(np.log(0.4))


def test_one_answer_is_enough_for_a_model():
    curator = make_curator()
    model = make_model(curator.release, [3], [2.0])
    assert torch.isfinite(model.posterior(curator.release.candidates).mean).all()


def test_a_modeler_works_on_noised_answers_and_its_posterior_is_the_model_s():
    curator = make_curator(outcome_mechanism=OutcomeMechanism(10.0, 0.0, (0.0, 10.0)), max_queries=15)
    modeler = Modeler(curator.release, generator=torch.Generator().manual_seed(0))
    history = run(curator, modeler, 15)
    assert len(history) == 15
    model = modeler.model()
    posterior = modeler.posterior()
    exact = model.posterior(curator.release.candidates)
    torch.testing.assert_close(posterior.mean, exact.mean.squeeze(-1).detach(), rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(
        posterior.variance, exact.variance.squeeze(-1).detach(), rtol=1e-6, atol=1e-8
    )


def test_batches_and_denoised_rows_work_on_noised_answers():
    curator = make_curator()
    modeler = Modeler(curator.release, n_initial=4, denoise=True)
    for _ in range(3):
        for row in modeler.ask(q=4):
            modeler.tell(row, curator.query(row).value)
    assert len(modeler.history) == 12


def test_the_recommendation_is_the_best_measured_row_by_posterior_mean():
    curator = make_curator(mechanism=NoisyProjection(1e3))
    modeler = Modeler(curator.release, generator=torch.Generator().manual_seed(1))
    with pytest.raises(ValueError, match="at least one"):
        modeler.recommend()
    run(curator, modeler, 12)
    told = modeler.history.indices
    row = modeler.recommend()
    assert row in told
    means = DiscretePosterior(modeler.model(), curator.release.candidates).mean
    assert float(means[row]) == pytest.approx(float(means[told].max()))


def test_recommendations_beat_the_luckiest_answer():
    """Averaged over tables: choose by the posterior mean, not by the best noisy number."""
    gains = []
    for seed in range(12):
        generator = torch.Generator().manual_seed(seed)
        records = torch.rand(60, 1, generator=generator, dtype=torch.float64)
        outcomes = 10 * torch.exp(-20 * (records[:, 0] - 0.5) ** 2)
        curator = Curator(
            records,
            PublicScaling([0.0], [1.0]),
            NoisyProjection(100.0),
            outcomes,
            outcome_mechanism=OutcomeMechanism(3.0, 0.0, (0.0, 10.0)),
            generator=generator,
        )
        modeler = Modeler(curator.release, n_initial=25, generator=generator)
        run(curator, modeler, 25)
        true = outcomes[curator.permutation]
        gains.append(float(true[modeler.recommend()] - true[modeler.best.index]))
    assert np.mean(gains) > 1.0


# --- the whole transcript: a release and T answers, by audit and by accounting ---


def transcripts(mechanism, outcome_mechanism, trials, *, moved):
    """Scores of whole transcripts: log likelihood ratio of record 0 and its outcome."""
    law, outcome_law = mechanism.law(D), outcome_mechanism.law
    table, other = RECORDS[:4].clone(), RECORDS[:4].clone()
    other[0, 0] += float(SCALING.unit[0])  # one unit away
    if other[0, 0] > 1:
        other[0, 0] -= 2 * float(SCALING.unit[0])
    outcomes = torch.tensor([0.0, 3.0, 5.0, 7.0], dtype=torch.float64)
    other_outcomes = outcomes.clone()
    other_outcomes[0] = 10.0
    scaled, other_scaled = SCALING.transform(table)[0], SCALING.transform(other)[0]
    rows, answers = [], []
    for seed in range(trials):
        curator = Curator(
            other if moved else table,
            SCALING,
            mechanism,
            other_outcomes if moved else outcomes,
            outcome_mechanism=outcome_mechanism,
            generator=torch.Generator().manual_seed(2 * seed + moved),
        )
        row = int((curator.permutation == 0).nonzero())
        rows.append(curator.release.candidates[row])
        # Adaptive and repeated questions: what is asked next depends on what was answered.
        first = curator.query(row).value
        for index in (row, (row + 1) % 4 if first > 5 else (row + 2) % 4, row):
            last = curator.query(index).value
        assert last == first
        answers.append((first - 0.0) / 10.0)
    error = torch.stack(rows) - scaled
    shift = (other_scaled - scaled).expand_as(error)
    outcome_error = torch.tensor(answers, dtype=torch.float64).unsqueeze(-1)
    outcome_shift = torch.ones_like(outcome_error)
    return (log_ratio(law, error, shift) + log_ratio(outcome_law, outcome_error, outcome_shift)).numpy()


TRIALS = 2000
PAIRS = {
    "laplace": (NoisyProjection(1.0), OutcomeMechanism(1.0, 0.0, (0.0, 10.0))),
    "gaussian": (
        NoisyProjection(3.0, 1e-5, noise="gaussian"),
        OutcomeMechanism(3.0, 1e-5, (0.0, 10.0), noise="gaussian"),
    ),
}


@pytest.fixture(scope="module", params=PAIRS)
def transcript(request):
    mechanism, outcome_mechanism = PAIRS[request.param]
    scores = [transcripts(*PAIRS[request.param], TRIALS, moved=moved) for moved in (False, True)]
    curator = Curator(RECORDS, SCALING, mechanism, OUTCOMES, outcome_mechanism=outcome_mechanism)
    return request.param, curator.guarantee, scores


@pytest.mark.slow
def test_whole_transcripts_are_within_the_stated_epsilon_by_audit(transcript):
    kind, guarantee, scores = transcript
    rule = {} if kind == "laplace" else {"rule": gaussian_epsilon_from_rates}
    bound = certified_epsilon(*scores, guarantee.delta, **rule)
    assert bound <= guarantee.at(1.0)
    # The audit is no formality: it refutes half of the claim, and that features alone are covered.
    assert bound > 0.5 * guarantee.at(1.0)


@pytest.mark.slow
def test_an_audit_of_transcripts_refutes_a_claim_that_forgets_the_answers(transcript):
    kind, guarantee, scores = transcript
    rule = {} if kind == "laplace" else {"rule": gaussian_epsilon_from_rates}
    assert certified_epsilon(*scores, guarantee.delta, **rule) > guarantee.parts[0].at(1.0)


def test_whole_transcripts_are_within_the_stated_epsilon_by_accounting():
    pure = make_curator(mechanism=PAIRS["laplace"][0], outcome_mechanism=PAIRS["laplace"][1]).guarantee
    assert pure.at(1.0) == pytest.approx(2.0, rel=1e-6)
    gaussian = make_curator(
        mechanism=PAIRS["gaussian"][0], outcome_mechanism=PAIRS["gaussian"][1]
    ).guarantee
    accountant = pld.PLDAccountant()
    for part in gaussian.parts:
        scale = part.law.scale / (1 + part.law.rounding)
        accountant.compose(dp_accounting.GaussianDpEvent(scale))
    assert gaussian.at(1.0) == pytest.approx(accountant.get_epsilon(1e-5), rel=1e-4)
    assert gaussian.at(1.0) == pytest.approx(4.46, abs=5e-3)


def test_the_old_name_of_the_noise_on_the_grid_is_deprecated():
    curator = Curator(
        torch.zeros(3, 1),
        PublicScaling([0.0], [1.0]),
        NoisyProjection(1.0),
        torch.zeros(3),
        outcome_mechanism=OutcomeMechanism(1.0, 0.0, (0.0, 1.0)),
    )
    with pytest.warns(DeprecationWarning, match="now called grid_noise"):
        assert torch.equal(curator.noise_steps, curator.grid_noise)
