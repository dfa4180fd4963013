"""A console and an API below a prefix: every link, form, cookie and redirect leads there."""

import re

import pytest
from helpers.staff_browser import Page, console_folder
from starlette.testclient import TestClient

from botorch_private.curator.service.app import create_app
from botorch_private.curator.service.root_path import checked_root_path

PREFIX = "/lab/curator"


@pytest.fixture(params=["passes the prefix on", "takes the prefix off"])
def client(request, serve, tmp_path):
    """A browser that reaches a console of several kinds of pages through a proxy."""
    service = serve(folder=console_folder(tmp_path / "below", objective="person"))
    for row in range(4):
        service.ask(row)
    service.measure(1, 3.0)
    app = create_app(service.folder, service.store, rate=1e6, root_path=PREFIX)

    async def proxy(scope, receive, send):
        if scope["type"] == "http":
            assert scope["path"].startswith(f"{PREFIX}/"), scope["path"]  # nothing else is the curator's
            if request.param == "takes the prefix off":
                scope["path"] = scope["path"].removeprefix(PREFIX)
        await app(scope, receive, send)

    found = TestClient(proxy, base_url="https://proxy.example.org")
    found.staff = service.staff["Authorization"].split()[1]
    found.service = service
    return found


def log_in(client):
    page = Page(client.get(f"{PREFIX}/console"))
    assert page.url == f"{PREFIX}/console/login"
    (action,) = page.forms
    assert action == f"{PREFIX}/console/login"
    page = Page(client.post(action, data={"token": client.staff}))
    assert page.url == f"{PREFIX}/console"
    return page


def test_every_link_of_every_page_is_below_the_prefix(client):
    page = log_in(client)
    seen, todo = set(), [page.url]
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        answer = client.get(path)
        assert answer.status_code == 200, path
        links = re.findall(r'\b(?:href|action|src)="([^"]*)"', answer.text.replace("&amp;", "&"))
        for link in links:
            assert link.startswith((f"{PREFIX}/", "#", "data:")), (path, link)
            assert link.count(PREFIX) <= 1
        pages = re.findall(r'\b(?:href|src)="(/[^"]*)"', answer.text.replace("&amp;", "&"))
        todo += [each for each in pages if len(seen) < 60]
    kinds = {re.sub(r"\d+", "N", each.partition("?")[0]) for each in seen}
    assert {
        f"{PREFIX}/console/{each}" for each in ("news", "measured", "progress", "console.css")
    } <= kinds


def test_forms_redirects_and_the_cookie_work_below_the_prefix(client):
    page = log_in(client)
    (cookie,) = list(client.cookies.jar)
    assert cookie.path == f"{PREFIX}/console"
    action = f"{PREFIX}/console/questions/2/check"
    page = Page(client.post(action, data={**page.forms[action], "value": "7"}))
    assert page.url == f"{PREFIX}/console/questions/2/confirm"
    action = f"{PREFIX}/console/questions/2/measurement"
    page = Page(client.post(action, data=page.forms[action]))
    assert page.url == f"{PREFIX}/console"
    page = Page(client.post(f"{PREFIX}/console/logout", data=page.forms[f"{PREFIX}/console/logout"]))
    assert page.url == f"{PREFIX}/console/login"
    assert list(client.cookies.jar) == []


def test_the_address_alone_leads_to_the_console(client):
    assert Page(client.get(f"{PREFIX}/")).url == f"{PREFIX}/console/login"


def test_the_api_is_below_the_prefix(client):
    assert client.get(f"{PREFIX}/v1/health").json() == {"status": "ok"}
    assert client.get(f"{PREFIX}/v1/release", headers=client.service.modeler).status_code == 200
    found = client.get(f"{PREFIX}/v1/openapi.json").json()
    assert found["servers"] == [{"url": PREFIX}]
    assert client.get(f"{PREFIX}/nothing").status_code == 404


@pytest.mark.parametrize(
    ("text", "prefix"), [("", ""), ("/", ""), ("/a/", "/a"), ("/a/b-1_~.c", "/a/b-1_~.c")]
)
def test_a_prefix_is_a_path(text, prefix):
    assert checked_root_path(text) == prefix


@pytest.mark.parametrize(
    "text", ["a", "/a//b", "/a b", "/ü", '/"', "//host", "/a?b", "/a/../b", "/.", "https://x/y", "/a\n"]
)
def test_what_is_no_path_is_refused(serve, text):
    with pytest.raises(ValueError, match="root_path must be a path such as /curator"):
        checked_root_path(text)
