"""The mechanism is rebuilt from the guarantee, or the report says why not; the attack works."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.report_samples import MECHANISMS, declared, make_release, some_records

from botorch_private import NoisyProjection, Release
from botorch_private.curator.mechanisms import noise
from botorch_private.report import report
from botorch_private.report.audit_facts import audit, stated_mechanism


def altered(release, **changes):
    return replace(release, guarantee=replace(release.guarantee, **changes))


@pytest.mark.parametrize("kind", ["laplace", "gaussian", "rotated", "projected", "far", "spectral"])
def test_a_release_from_a_file_gives_its_mechanism_back(kind, tmp_path):
    release = make_release(kind)
    release.save(tmp_path / "r.safetensors")
    mechanism = stated_mechanism(Release.load(tmp_path / "r.safetensors"))
    original = MECHANISMS[kind]
    if kind == "spectral":
        assert mechanism == original
    else:
        assert mechanism.law(4) == original.law(4)
        assert mechanism.projection_dim == original.projection_dim
        assert mechanism.guarantee(300, 4) == original.guarantee(300, 4)


def test_too_little_noise_for_the_claim_is_not_audited_but_said():
    release = make_release("gaussian")
    law = release.guarantee.law
    found = audit(altered(release, law=replace(law, scale=law.scale * 0.99)), "it")
    assert found.result is None
    assert "is not the noise that its epsilon and delta call for" in found.untested
    assert found.refuted  # the numbers in the file contradict each other
    assert any("the stated epsilon is that at one unit" in problem for problem in found.claim.problems)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"features": None}, "does not say by which settings"),
        ({"law": None, "mechanism": "Magic"}, "Magic cannot be rebuilt"),
        ({"epsilon": 1e-13}, "cannot be rebuilt"),
    ],
)
def test_what_cannot_be_rebuilt_is_said(changes, reason):
    with pytest.raises(ValueError, match=reason):
        stated_mechanism(altered(make_release("gaussian"), **changes))


def test_a_release_without_privacy_has_nothing_to_test():
    assert "as they are" in audit(make_release("none"), "it").untested


def test_the_attack_is_near_the_claim_for_laplace_noise():
    result = audit(make_release("far"), "it").result
    assert result.trials == 100_000
    result = audit(make_release("laplace"), "it").result
    assert 1.5 < result.lower_bound < 3.3
    assert result.claimed == pytest.approx(3.0, rel=1e-3)
    assert result.distance == pytest.approx(1.0)


def test_the_attack_refutes_algorithm_1_in_any_width():
    for kind in ("spectral", "narrow spectral"):
        result = audit(make_release(kind), "it").result
        assert result.refuted
        assert result.lower_bound > 4


def test_many_features_and_projections_have_fewer_trials(monkeypatch):
    import botorch_private.report.audit_facts as module

    asked = []
    monkeypatch.setattr(
        module,
        "empirical_epsilon",
        lambda mechanism, records, neighbour, trials, **_: asked.append(trials),
    )
    wide = NoisyProjection(1.0, 1e-5)
    rows = torch.zeros(3, 1000, dtype=torch.float64)
    release = Release(rows, wide.guarantee(3, 1000), wide.noise_variance(1000), 1000, False)
    audit(release, "it")
    audit(make_release("projected"), "it")
    audit(make_release("laplace"), "it", trials=123)
    assert asked == [30_000, 1_000, 123]


@pytest.mark.parametrize("kind", ["laplace", "gaussian", "rotated", "projected"])
def test_software_with_too_little_noise_is_refuted_in_words(monkeypatch, kind):
    """5 % too narrow, which the lower bound of epsilon does not see."""
    honest = noise.sample_on_grid
    assert not audit(make_release(kind), "it", trials=200).refuted

    def narrow(law, count, source):
        return honest(replace(law, scale=0.95 * law.scale), count, source)

    release = make_release(kind)
    monkeypatch.setattr(noise, "sample_on_grid", narrow)
    made = report(release, trials=200, progress=False)
    (found,) = made.audits
    assert not found.result.refuted
    assert found.noise.refuted
    text = " ".join(made.text().split())
    assert "The test REFUTES the promise: it is not so that the noise is as wide as claimed" in text
    assert "The tests REFUTE the promise." in text
    assert "The attack REFUTES the promise. Do not use this release." in text


def test_rows_in_the_tables_order_are_refuted_in_words(monkeypatch):
    from botorch_private.curator import publish

    monkeypatch.setattr(publish, "permutation", lambda _, n: np.arange(n))
    records = some_records()
    release = make_release("gaussian", records)
    monkeypatch.undo()
    made = report(release, scaling=declared(), records=records, trials=200, progress=False)
    assert made.table[0].refuted
    assert "the rows were LEFT in such an order" in " ".join(made.text().split())
    shuffled = report(
        make_release("gaussian", records),
        scaling=declared(),
        records=records,
        trials=200,
        progress=False,
    )
    assert not shuffled.table[0].refuted
    assert "It would have seen a value outside its range" in " ".join(shuffled.text().split())
