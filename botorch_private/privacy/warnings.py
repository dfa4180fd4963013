"""The two warnings that a user must not miss."""


class NotDifferentiallyPrivate(UserWarning):
    """What is about to be released carries no differential privacy guarantee."""


class PrivacyLeakWarning(UserWarning):
    """A public parameter was learned from the data, which voids any guarantee built on it."""
