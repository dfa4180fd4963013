"""The mechanism is rebuilt from the guarantee, or the report says why not; the attack works."""

from dataclasses import replace

import pytest
import torch
from helpers.report_samples import MECHANISMS, make_release

from botorch_private import NoisyProjection, Release
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
