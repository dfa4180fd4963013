"""PrivacyGuarantee: sentences, distances, JSON, and what several releases cost together."""

import math
import time
from dataclasses import FrozenInstanceError, replace
from importlib import import_module

import dp_accounting
import numpy as np
import pytest
from dp_accounting import pld
from helpers.missing import without

from botorch_private import (
    NoisyProjection,
    NoPrivacy,
    OutcomeMechanism,
    PrivacyGuarantee,
    SpectralProjection,
    compose,
)
from botorch_private.privacy.gaussian import gaussian_epsilon
from botorch_private.privacy.noise_law import DELTA_FP, GRID
from botorch_private.privacy.random_shift import summed
from botorch_private.privacy.rounding import round_up
from botorch_private.privacy.steps import Step

LAPLACE = NoisyProjection(1.0).guarantee(n=2004, d=2)
GAUSSIAN = NoisyProjection(1.0, 1e-5, noise="gaussian").guarantee(n=2004, d=2)
PROJECTED = NoisyProjection(1.0, 1e-5, projection_dim=5, noise="gaussian").guarantee(n=2004, d=20)
PROJECTED_L2 = NoisyProjection(1.0, 1e-5, projection_dim=5, noise="l2").guarantee(n=2004, d=20)
WARD = Step("ward", ("ward=icu", "ward=other"), math.sqrt(2) / 0.1)
STEPPED = replace(LAPLACE, unit=(0.1, 0.1), names=WARD.columns, steps=(WARD,))
GUARANTEES = [
    LAPLACE,
    GAUSSIAN,
    PROJECTED,
    PROJECTED_L2,
    SpectralProjection(1.0, 1e-5, 3).guarantee(2004, 2),
    NoPrivacy().guarantee(2004, 2),
    replace(LAPLACE, unit=(1.0, 2.0), names=("a", "b"), radius=25.0).voided("because"),
    compose([LAPLACE, GAUSSIAN], delta=1e-4),
    compose([STEPPED, STEPPED]),
]


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda g: g.mechanism)
def test_json_round_trip_keeps_everything(guarantee):
    assert PrivacyGuarantee.from_json(guarantee.to_json()) == guarantee


@pytest.mark.parametrize(
    "mechanism",
    [
        NoisyProjection(1.0, projection_dim=5, noise="laplace"),
        NoisyProjection(1.0, 1e-5, projection_dim=2, noise="gaussian"),
        SpectralProjection(1.0, 1e-5, 2),
    ],
)
def test_the_settings_of_a_mechanism_are_told_from_its_guarantee_alone(mechanism):
    """A text of before there were settings holds them as well: they are no field."""
    guarantee = mechanism.guarantee(n=2004, d=3)
    assert "settings" not in guarantee.to_json()
    assert type(mechanism)(**PrivacyGuarantee.from_json(guarantee.to_json()).settings) == mechanism


def test_a_composition_says_how_much_of_delta_is_rounding():
    together = compose([GAUSSIAN, GAUSSIAN])
    assert f"(of which {round_up(2 * DELTA_FP, 2)} is floating-point error)" in str(together)


def test_without_steps_the_json_is_that_of_before_guarantees_had_them():
    """A release is known by the digest of this text, and folders of curators keep the digest."""
    for guarantee in (LAPLACE, compose([LAPLACE, LAPLACE])):
        assert "steps" not in guarantee.to_json()
    assert PrivacyGuarantee.from_json(STEPPED.to_json()).steps == (WARD,)


@pytest.mark.parametrize(
    ("old", "new"),
    [('"width": ', '"width": -'), ('["ward=icu", "ward=other"]', "[]"), ('"name"', '"n"')],
)
def test_steps_that_make_no_sense_are_refused(old, new):
    text = STEPPED.to_json()
    steps = text[text.index('"steps"') :]
    assert old in steps
    with pytest.raises(ValueError, match="text must be the JSON of a PrivacyGuarantee"):
        PrivacyGuarantee.from_json(text.replace(steps, steps.replace(old, new)))


def test_a_composition_has_the_steps_of_its_parts_once():
    assert compose([STEPPED, STEPPED]).steps == (WARD,)
    assert compose([replace(STEPPED, steps=()), STEPPED]).steps == (WARD,)
    outcome = OutcomeMechanism(5.0, 0.0, (0.0, 1.0)).guarantee()
    both = compose([outcome, STEPPED])
    epsilon = round_up(both.at(WARD.width))
    price = f"moves a record by 14.15 units, where epsilon is {epsilon}: that is not hidden."
    assert f"A change of ward, from any value to any other, {price}" in str(both)


@pytest.mark.parametrize(("epsilon", "said"), [(0.7, False), (0.71, True)])
def test_a_step_at_which_epsilon_reaches_10_is_said_not_to_be_hidden(epsilon, said):
    guarantee = replace(NoisyProjection(epsilon).guarantee(100, 3), unit=(1.0,) * 3, steps=(WARD,))
    assert (guarantee.at(WARD.width) >= 10) == said
    assert ("that is not hidden" in str(guarantee)) == said


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"epsilon": 1}', '{"secret": 1}'])
def test_a_text_that_is_no_guarantee_is_refused(text):
    with pytest.raises(ValueError, match="text must be the JSON of a PrivacyGuarantee"):
        PrivacyGuarantee.from_json(text)


def test_a_budget_is_a_limit_in_print_and_no_promise():
    text = str(PrivacyGuarantee.budget(6.0, 1e-5))
    assert text.startswith("Privacy budget: at most epsilon 6 at 1 unit and delta 1e-05 may be spent")
    assert "HOLDS" not in text
    assert "Promise" not in text


def test_a_guarantee_cannot_be_changed_by_assignment():
    with pytest.raises(FrozenInstanceError):
        LAPLACE.epsilon = 0.1  # type: ignore[misc]


@pytest.mark.parametrize("distance", [0.1, 0.5, 2.0, 5.0, 10.0, 50.0])
def test_pure_epsilon_is_linear_in_distance(distance):
    # What rounding to the grid adds is charged to every distance alike, 3.5e-4 units at d = 2.
    assert LAPLACE.at(distance) == pytest.approx(distance, abs=4e-4, rel=4e-4)


@pytest.mark.parametrize("distance", [0.1, 0.5, 2.0, 5.0, 10.0, 50.0])
def test_gaussian_epsilon_at_a_distance_equals_dp_accounting(distance):
    shift = (distance + math.sqrt(2) * GRID) / GAUSSIAN.law.scale
    expected = dp_accounting.get_epsilon_gaussian(1 / shift, 1e-5)
    assert GAUSSIAN.at(distance) == pytest.approx(expected, rel=1e-6)
    assert GAUSSIAN.at(distance) >= expected * (1 - 1e-9)


@pytest.mark.parametrize(
    "guarantee", [LAPLACE, GAUSSIAN, PROJECTED, PrivacyGuarantee("of its own", 1.0, 0.0, holds=True)]
)
def test_no_distance_costs_nothing_and_one_unit_what_is_promised(guarantee):
    assert guarantee.at(1.0) == pytest.approx(guarantee.epsilon, rel=1e-8)
    assert guarantee.at(1.0) <= guarantee.epsilon
    assert guarantee.at(0.0) == 0.0


def test_replacing_a_whole_record_costs_the_diameter():
    assert NoisyProjection(3.0).guarantee(2004, 2).at(50.0) == pytest.approx(150, rel=1e-3)
    gaussian = NoisyProjection(3.0, 1e-5, noise="gaussian").guarantee(2004, 2)
    assert gaussian.at(50.0) == pytest.approx(799, rel=5e-3)


@pytest.mark.parametrize("distance", [-1.0, math.nan, math.inf, "1", True])
def test_a_distance_that_is_none_is_refused(distance):
    with pytest.raises(ValueError, match="distance must be a finite number >= 0"):
        LAPLACE.at(distance)


def test_location_radius_in_the_plane():
    assert LAPLACE.location_radius(0.95) == pytest.approx(4.74, rel=1e-2)
    with pytest.raises(ValueError, match=r"probability must be a number in \(0, 1\), got 1"):
        LAPLACE.location_radius(1)


def test_adjacency_is_stated_in_words():
    for sentence in (
        "one record",
        "at most D units",
        "the number of records, the outcomes and all other",
    ):
        assert sentence in LAPLACE.adjacency
        assert sentence in str(LAPLACE)


def test_printed_guarantee_says_what_one_unit_is_and_what_a_whole_record_costs():
    text = str(replace(LAPLACE, unit=(3.9, 17.0), names=("age", "pressure"), radius=25.0))
    assert "HOLDS" in text
    assert "DOES NOT HOLD" not in text
    assert "3.9 of age, or 17 of pressure" in text
    assert "50 units: 49.99 (one record replaced by any other)" in text
    assert "factor of at most e^1 = 2.719" in text
    assert "In 95 % of cases a released row lies within 4.74 units of its record;" in text
    assert "outcomes are answered as they are" in text
    assert "several records at 1 unit each: 2 records: 2; 5 records: 5." in text
    assert len(text.splitlines()) <= 13


def test_a_void_guarantee_says_why_first():
    text = str(LAPLACE.voided("the moon was full"))
    assert text.splitlines()[0].endswith("DOES NOT HOLD")
    assert "Why not: the moon was full." in text
    assert not LAPLACE.voided("x").holds
    assert LAPLACE.holds


def test_printed_figures_are_rounded_against_ourselves():
    guarantee = replace(LAPLACE, epsilon=1.00001, unit=(3.999,), names=("age",), radius=25.0)
    text = str(guarantee)
    assert "epsilon = 1.001" in text
    assert "3.99 of age" in text
    shown = float(text.split("0.5 units: ")[1].split(";")[0])
    assert LAPLACE.at(0.5) <= shown < LAPLACE.at(0.5) + 1e-3


def test_unknown_scaling_is_said_rather_than_guessed():
    assert "no scaling was given" in str(LAPLACE)


def test_two_pure_releases_add():
    total = compose([LAPLACE, LAPLACE])
    assert total.epsilon == pytest.approx(2.0, rel=1e-9)
    assert total.delta == 2 * DELTA_FP
    assert total.at(3.0) == pytest.approx(2 * LAPLACE.at(3.0))
    assert total.holds


def test_ten_gaussian_releases_equal_published_and_dp_accounting_numbers():
    total = compose([GAUSSIAN] * 10, delta=1e-5)
    assert total.epsilon == pytest.approx(3.619, abs=2e-3)
    accountant = pld.PLDAccountant()
    accountant.compose(dp_accounting.GaussianDpEvent(GAUSSIAN.law.scale / (1 + math.sqrt(2) * GRID)), 10)
    assert total.epsilon == pytest.approx(accountant.get_epsilon(1e-5), rel=1e-4)
    # Exactly the Gaussian of 10 times the precision, at any distance.
    shift = math.sqrt(10) * (4 + math.sqrt(2) * GRID) / GAUSSIAN.law.scale
    assert total.at(4.0) == pytest.approx(dp_accounting.get_epsilon_gaussian(1 / shift, 1e-5), rel=1e-6)


def test_a_mixture_costs_less_than_the_sum_and_more_than_either():
    half, wide = NoisyProjection(0.5).guarantee(100, 2), replace(GAUSSIAN)
    total = compose([half, wide], delta=1e-5)
    assert max(half.epsilon, wide.epsilon) < total.epsilon < half.epsilon + wide.epsilon + 1e-9
    law = replace(GAUSSIAN.law, scale=5.0 * (1 + math.sqrt(2) * GRID))
    ours = compose([half, replace(GAUSSIAN, law=law)], delta=1e-5)
    pure = pld.common.DifferentialPrivacyParameters(0.5, 0.0)
    theirs = pld.privacy_loss_distribution.from_privacy_parameters(pure).compose(
        pld.privacy_loss_distribution.from_gaussian_mechanism(5.0)
    )
    assert ours.epsilon == pytest.approx(theirs.get_epsilon_for_delta(1e-5), abs=1e-5)


def test_composition_of_compositions_is_flat_and_inherits_doubts():
    inner = compose([LAPLACE, LAPLACE.voided("seeded")])
    outer = compose([inner, LAPLACE])
    assert len(outer.parts) == 3
    assert outer.epsilon == pytest.approx(3.0)
    assert not outer.holds
    assert outer.reasons == ("seeded",)
    assert outer.location_radius(0.5) == LAPLACE.location_radius(0.5)


def test_a_second_reason_stands_beside_the_first():
    twice = LAPLACE.voided("the key leaked").voided("a seed", "a learned range")
    assert twice.reasons == ("the key leaked", "a seed", "a learned range")
    assert not twice.holds


def test_the_delta_of_a_bare_claim_is_lost_to_what_it_is_composed_with():
    claim = PrivacyGuarantee("of its own", epsilon=0.5, delta=4e-6, holds=True)
    both = compose([claim, GAUSSIAN], delta=1e-5)
    assert both.epsilon == pytest.approx(0.5 + GAUSSIAN.law.epsilon(1.0, 6e-6), rel=1e-9)
    assert both.at(2.0) == math.inf  # a claim at one unit says nothing of two


def test_what_voids_a_composition_voids_what_it_is_composed_into():
    void = replace(compose([LAPLACE, LAPLACE]), seeded=True).voided("the key leaked")
    for again in (compose([void]), compose([void, LAPLACE]), compose([GAUSSIAN, void], delta=1e-5)):
        assert not again.holds
        assert again.reasons == ("the key leaked",)
        assert again.seeded


def test_far_apart_a_mixture_is_added_up_in_a_moment():
    wide = NoisyProjection(3.0, 1e-5).guarantee(2004, 22)
    outcome = OutcomeMechanism(5.0, 0.0, (0.0, 1.0)).guarantee()
    start = time.process_time()
    total = compose([wide, outcome], delta=1e-5)
    assert total.at(50.0) == pytest.approx(wide.law.epsilon(50.0, 1e-5) + 5.0, rel=1e-6)
    assert math.isfinite(total.at(2000.0))
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"delta": 1.0}, "delta must be a number in"),
        ({"delta_fp": -1.0}, "delta_fp must be a number in"),
        ({"holds": 1}, "holds must be True or False, got 1"),
        ({"reasons": ("x",)}, "holds must be False where there are reasons why not"),
        ({"outcome_range": (1.0, 0.0)}, "outcome_range must be two rising numbers"),
        ({"outcome_range": (0.0, math.inf)}, "outcome_range_high must be a finite number"),
    ],
)
def test_a_guarantee_that_makes_no_sense_cannot_be_made(change, message):
    with pytest.raises(ValueError, match=message):
        replace(LAPLACE, **change)


def test_releases_without_noise_add_their_claims_and_promise_nothing_beyond_one_unit():
    spectral = SpectralProjection(1.0, 1e-5, 3).guarantee(3, 5)
    total = compose([spectral, spectral])
    assert total.epsilon == pytest.approx(2.0)
    assert total.at(1.1) == math.inf


def test_a_delta_below_what_the_parts_spend_in_any_case_is_refused():
    spectral = SpectralProjection(1.0, 1e-5, 3).guarantee(3, 5)
    for parts, least in (([spectral, spectral], "2e-05"), ([LAPLACE, LAPLACE], "1.78e-15")):
        with pytest.raises(ValueError, match=f"delta must be at least {least}, which the parts spend"):
            compose(parts, delta=0.0)


def test_a_composition_keeps_the_widest_ball():
    parts = [replace(LAPLACE, radius=radius) for radius in (25.0, 50.0, 30.0)]
    assert compose(parts).radius == 50.0


def test_a_mixture_never_costs_more_than_the_sum_and_is_infinite_where_it_cannot_be_computed():
    far = compose([PROJECTED, PROJECTED, LAPLACE])
    assert far.at(1.0) <= 2 * PROJECTED.law.epsilon(1.0, 0.99e-5) + LAPLACE.at(1.0)
    sums = 2 * PROJECTED.law.epsilon(200.0, 0.99e-5) + LAPLACE.at(200.0)
    assert far.at(200.0) <= sums * (1 + 1e-6)


def test_a_composition_of_nothing_is_refused():
    with pytest.raises(ValueError, match="guarantees must hold at least one"):
        compose([])


def test_composing_a_mixture_without_dp_accounting_says_what_to_install(monkeypatch):
    without("dp_accounting", monkeypatch, "botorch_private.privacy.composition")
    import_module("botorch_private.privacy.composition")
    compose([LAPLACE, LAPLACE]), compose([GAUSSIAN, GAUSSIAN])
    with pytest.raises(ImportError, match=r"pip install 'botorch-private\[accounting\]'"):
        compose([LAPLACE, GAUSSIAN])


def test_composed_gaussians_pay_for_the_arithmetic_of_every_draw():
    laws = [replace(GAUSSIAN.law, scale=scale) for scale in (3.0, 5.0, 8.0)]
    parts = [replace(GAUSSIAN, law=law) for law in laws]
    slack = sum(law.arithmetic_slack(2.0) for law in laws)
    assert slack > 1e-9  # far above the tolerance below
    mu = math.sqrt(sum(((2.0 + law.rounding) / law.scale) ** 2 for law in laws))
    ideal = gaussian_epsilon((1e-5 - 3 * DELTA_FP) * math.exp(-slack), mu)
    assert compose(parts, delta=1e-5).at(2.0) == pytest.approx(ideal + slack, rel=1e-13)
    # With a delta that the draws' own errors use up, nothing is promised.
    assert compose(parts, delta=3 * DELTA_FP).epsilon == math.inf


def test_a_projected_event_pays_its_delta_in_a_mixture():
    """l2 Laplace as pure events, and all projected Gaussians together as one with a delta of its own."""
    pure = NoisyProjection(0.1).guarantee(2004, 20)
    count, delta = 20, 1e-3
    total = compose([*[PROJECTED] * 2, *[pure] * count], delta=delta)
    laws = [PROJECTED.law] * 2 + [pure.law] * count
    slack = sum(law.arithmetic_slack(1.0) for law in laws)
    ideal_delta = (delta - len(laws) * DELTA_FP) * math.exp(-slack)
    squares, weights = summed([PROJECTED.law.gaussian_squares(1.0)] * 2)

    def accountant(event_delta):
        both = gaussian_epsilon(ideal_delta / 2, np.sqrt(squares), weights)
        loss = event(both, event_delta)
        for _ in range(count):
            loss = loss.compose(event(pure.law.epsilon(1.0, 0.0), 0.0))
        return loss.get_epsilon_for_delta(ideal_delta) + slack

    def event(epsilon, event_delta):
        event = pld.common.DifferentialPrivacyParameters(epsilon, event_delta)
        return pld.privacy_loss_distribution.from_privacy_parameters(event)

    assert slack > 1e-9  # far above the tolerance
    assert total.epsilon == pytest.approx(accountant(ideal_delta / 2), rel=1e-12)
    # It beats basic composition here, and an accountant that forgot the event's delta would not
    # report as much.
    basic = gaussian_epsilon(ideal_delta, np.sqrt(squares), weights) + count * pure.epsilon
    assert accountant(0.0) * (1 + 1e-6) < total.epsilon < basic


def test_each_projected_l2_draw_is_an_event_with_a_delta_of_its_own_in_a_mixture():
    """It has neither Gaussian shifts nor losses of its own to compose."""
    pure = NoisyProjection(0.1).guarantee(2004, 20)
    count, delta = 20, 1e-3
    total = compose([*[PROJECTED_L2] * 2, *[pure] * count], delta=delta)
    laws = [PROJECTED_L2.law] * 2 + [pure.law] * count
    slack = sum(law.arithmetic_slack(1.0) for law in laws)
    ideal_delta = (delta - len(laws) * DELTA_FP) * math.exp(-slack)

    def accountant(event_delta):
        epsilon = PROJECTED_L2.law.epsilon(1.0, ideal_delta / 4 + DELTA_FP)
        events = [(epsilon, event_delta)] * 2 + [(pure.law.epsilon(1.0, 0.0), 0.0)] * count
        loss = pld.privacy_loss_distribution.identity()
        for each in events:
            parameters = pld.common.DifferentialPrivacyParameters(*each)
            loss = loss.compose(pld.privacy_loss_distribution.from_privacy_parameters(parameters))
        return loss.get_epsilon_for_delta(ideal_delta) + slack

    basic = 2 * PROJECTED_L2.law.epsilon(1.0, ideal_delta / 2 + DELTA_FP) + count * pure.epsilon
    assert total.epsilon == pytest.approx(accountant(ideal_delta / 4), rel=1e-12)
    # An accountant that forgot the events' delta would not report as much.
    assert accountant(0.0) * (1 + 1e-6) < total.epsilon < basic


def test_the_sharpest_of_several_releases_locates_a_record():
    wide = NoisyProjection(0.1).guarantee(n=2004, d=2)
    total = compose([wide, LAPLACE, wide])
    assert total.location_radius(0.95) == LAPLACE.location_radius(0.95) < wide.location_radius(0.95)


def test_a_projected_release_locates_only_the_projection():
    assert "units of its record's projection; who knows more" in str(PROJECTED)
    assert "units of its record; who knows more" in str(LAPLACE)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_a_printed_guarantee_says_what_it_rests_on_and_leaves_out(delta):
    guarantee = NoisyProjection(3.0, delta).guarantee(n=1000, d=2)
    said = " ".join(str(guarantee).split())
    assert "that a person is in the table is not hidden, nor is the number of records" in said
    assert "chosen from what they mean, without a look at the table; nothing here can check that" in said
    answers = str(OutcomeMechanism(3.0, delta, (0.0, 1.0)).guarantee())
    assert "chosen from what they mean, without a look at the table" in answers
    assert guarantee.records == 1000  # the number of records is public: it travels with the guarantee


def test_several_records_under_l2_noise_cost_what_as_many_releases_of_one_cost():
    """Each has noise of its own: with accounting, far less than so many times the epsilon of one."""
    one = NoisyProjection(3.0, 1e-5, noise="l2").guarantee(n=2004, d=22)
    for count in (2, 5):
        assert one.at(1.0, records=count) == pytest.approx(compose([one] * count, delta=1e-5).at(1.0))
    assert one.at(1.0, records=5) < 9.0 < 0.6 * one.law.epsilon(1.0, 1e-5, 5)
    assert one.at(1.0, records=1) == one.law.epsilon(1.0, 1e-5)


def test_several_records_under_l2_noise_need_no_accounting(monkeypatch):
    without("dp_accounting", monkeypatch, "botorch_private.privacy.composition")
    import_module("botorch_private.privacy.composition")
    one = NoisyProjection(3.0, 1e-5, noise="l2").guarantee(n=2004, d=22)
    assert one.at(1.0, records=5) == pytest.approx(one.law.epsilon(1.0, 1e-5, 5), rel=1e-6)
