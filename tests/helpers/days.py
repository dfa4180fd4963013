"""A day in a laboratory: a folder in which all kinds of things happened."""

from contextlib import closing

from botorch_private.curator.service.circumstances import Circumstances

SAID = Circumstances("2020-01-02", "scale 3", "fasting")


def day_of(folder):
    """A folder after a day; token 1 is a modeler's, token 2 is staff's."""
    with closing(folder.open()) as store:
        for role in ("modeler", "staff"):
            store.tokens.make(role, f"a {role}").result()
        for row in range(5):
            store.ask(f"key-{row:08d}", row, 1).result()
        store.measure(1, 2.5, 2, SAID).result()
        store.measure(2, 3.0, 2).result()
        store.correct(1, 25.0, "a point too many", 2, circumstances=Circumstances(comment="")).result()
        store.correct(2, 3.0, "forgotten", 2, circumstances=SAID).result()
        store.withdraw(3, "left", 2).result()
        store.agenda.take(4, 2, 8).result()
    return folder
