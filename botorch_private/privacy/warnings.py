"""The two warnings that a user must not miss."""


class NotDifferentiallyPrivate(UserWarning):
    """What is about to be released carries no differential privacy guarantee."""


class PrivacyLeakWarning(UserWarning):
    """Something is about to leak that a guarantee does not speak of.

    A public parameter was learned from the data, which voids any guarantee built on it; people are
    released twice; or delta is so large that whole records may come out.
    """
