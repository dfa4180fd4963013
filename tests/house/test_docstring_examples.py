"""Every public name has an example in its docstring, and it runs as it stands there."""

import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import botorch_private

TESTS = Path(__file__).parents[1]
SETUP = TESTS.parent / "docs" / "reference" / "index.md"
WITHOUT = {  # why these have no example
    "BudgetError": "raised, never made by a user",
    "ClippedRecordsWarning": "a warning",
    "ManyCellsWarning": "a warning",
    "MeasurementError": "raised, never made by a user",
    "NotDifferentiallyPrivate": "a warning",
    "PrivacyLeakWarning": "a warning",
    "RemoteError": "raised, never made by a user",
    "TiedScoresWarning": "a warning",
    "NoValueError": "raised, never made by a user",
    "WithdrawnError": "raised, never made by a user",
}
ALSO = ("botorch_private.audit", "botorch_private.report", "botorch_private.theory")


def documented():
    """Every public thing by its dotted name: classes, functions, and public members of the classes."""
    for home in ("botorch_private", *ALSO):
        module = import_module(home)
        for name in module.__all__:
            thing = getattr(module, name)
            yield f"{home}.{name}".removeprefix("botorch_private."), thing
            for member, value in members(thing) if inspect.isclass(thing) else ():
                if not member.startswith("_"):
                    yield f"{home}.{name}.{member}".removeprefix("botorch_private."), value


def members(kind):
    """Those of a class, and of what it is made of in this package."""
    own = [each for each in reversed(kind.__mro__) if each.__module__.startswith("botorch_private")]
    return {name: value for each in own for name, value in vars(each).items()}.items()


def examples(thing):
    document = getattr(thing, "__doc__", None)
    return doctest.DocTestParser().get_examples(document) if isinstance(document, str) else []


WITH = {name: thing for name, thing in documented() if examples(thing)}


@pytest.fixture(scope="module")
def setup():
    return re.search(r"```python\n(.*?)```", SETUP.read_text(encoding="utf-8"), re.DOTALL)[1]


@pytest.fixture
def names(setup, tmp_path, monkeypatch):
    """What the reference says that examples start from, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    namespace = {}
    exec(setup, namespace)
    return namespace


@pytest.fixture
def server(tmp_path):
    from helpers.remote_server import Server, make_curator

    server = Server(tmp_path / "folder", make_curator())
    yield server.start()
    server.kill()


@pytest.mark.parametrize("name", botorch_private.__all__)
def test_a_public_name_has_an_example_or_a_reason_for_none(name):
    assert bool(examples(getattr(botorch_private, name))) != (name in WITHOUT)


@pytest.mark.parametrize("home", ALSO)
def test_every_function_of_the_other_public_modules_has_an_example(home):
    module = import_module(home)
    for name in module.__all__:
        thing = getattr(module, name)
        assert examples(thing) or inspect.isclass(thing), name  # (the classes are what they return)


@pytest.mark.parametrize("name", WITH)
def test_an_example_runs(name, names, request):
    if name == "RemoteCurator":
        server = request.getfixturevalue("server")
        names |= {"url": server.url, "token": server.token}
    thing = WITH[name]
    test = doctest.DocTest(examples(thing), names, name, None, 0, None)
    said = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert result.failed == 0, "".join(said)
    assert result.attempted > 0


def test_no_more_exceptions_than_there_are_names():
    assert set(WITHOUT) <= set(botorch_private.__all__)
