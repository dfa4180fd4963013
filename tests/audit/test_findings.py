"""Findings share their level among checks, and say what they found and would have seen."""

from botorch_private.audit import Check, Findings


def test_checks_share_the_level_in_equal_parts():
    checks = (Check("a", 2e-7), *(Check("b", 0.5) for _ in range(9)))
    assert Findings(checks[:2], sees=(), level=1e-6).refuted
    assert not Findings(checks, sees=(), level=1e-6).refuted  # 2e-7 of ten is not below 1e-6


def test_the_text_says_what_failed_and_what_was_seen():
    found = Findings(
        (
            Check("the noise is as wide as claimed", 1e-20, "0.95", "1 ± 0.003"),
            Check.exact("all is well", True),
            Check.exact("rows are kept", False),
        ),
        sees=("noise 5 % off",),
        unseen=("the weather",),
    )
    assert [check.name for check in found.failed] == ["the noise is as wide as claimed", "rows are kept"]
    assert str(found).splitlines() == [
        "The audit REFUTES the claim, by 3 checks.",
        "- it is not so that the noise is as wide as claimed: 0.95; honest is 1 ± 0.003 (p = 1e-20)",
        "- it is not so that rows are kept",
        "It would have seen: noise 5 % off.",
        "It could not see: the weather.",
    ]
