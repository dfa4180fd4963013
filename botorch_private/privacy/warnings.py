"""The warnings that a user must not miss."""


class NotDifferentiallyPrivate(UserWarning):
    """What is about to be released carries no differential privacy guarantee."""


class PrivacyLeakWarning(UserWarning):
    """Something is about to leak that a guarantee does not speak of.

    A public parameter was learned from the data, or seems to be, which voids any guarantee on it; people
    are released twice; or delta is so large that whole records may come out.

    Where it says that an end of a declared range is the smallest or largest value of a column, or a
    quantile, ask where the range came from. Ends by chance, such as 0 of a count, do not warn.
    """


class ClippedRecordsWarning(UserWarning):
    """Many records lie outside of a declared range, or a number is the same in all of them.

    More than a tenth of the records, or three and more that hold one number far from the range: wrong
    units and stand-ins for "unknown" do that. What it says depends on the records, so it is for the
    curator alone.
    """
