"""A browser without scripts: it keeps cookies, reads forms, and sends them as they stand."""

import sqlite3
from html.parser import HTMLParser

import torch
from starlette.testclient import TestClient

from botorch_private import Curator, NoisyProjection, OutcomeMechanism, PublicScaling
from botorch_private.curator.service.make_folder import make_folder

N = 12
IDENTIFIERS = [f"MRN-{1000 + 7 * i}" for i in range(N)]


def console_folder(path, *, identifiers=IDENTIFIERS, noised=False, max_queries=10, **options):
    """A folder whose records are measured by people, unless ``objective`` says otherwise."""
    n = len(identifiers)
    records = torch.rand(n, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    curator = Curator(
        records,
        PublicScaling([0.0, 0.0], [1.0, 1.0]),
        NoisyProjection(3.0),
        lambda record: 0.0,
        max_queries=max_queries,
        outcome_mechanism=OutcomeMechanism(5.0, 0.0, (0.0, 10.0)) if noised else None,
    )
    settings = {"outcome_name": "length of stay", "outcome_unit": "days", "plausible": (0.0, 120.0)}
    return make_folder(path, curator, identifiers=identifiers, **{**settings, **options})


def many_asked(path, n):
    """A folder of many records, "record 0" and so on, all asked for; quicker than one by one."""
    folder = console_folder(path, identifiers=[f"record {i}" for i in range(n)], max_queries=None)
    with sqlite3.connect(folder.database) as connection:
        connection.execute(
            "INSERT INTO query (row, state, asked, label) "
            "SELECT row, 'pending', '2027-01-01T00:00:00.000000+00:00', identifier FROM record"
        )
    connection.close()
    return folder


class Page(HTMLParser):
    """What a test needs of a page: its text, and its forms with their fields."""

    def __init__(self, response):
        super().__init__()
        self.status, self.url, self.html = response.status_code, response.url.path, response.text
        self.headers = response.headers
        self.forms, self.fields, self._words, self._open = {}, {}, [], None
        self.feed(response.text)
        self.text = " ".join(" ".join(self._words).split())

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "form":
            self._open = self.forms.setdefault(found["action"], {})
        elif tag == "input" and self._open is not None:
            self.fields[found.get("id")] = found
            if found.get("type") != "checkbox":
                self._open[found["name"]] = found.get("value", "")

    def handle_endtag(self, tag):
        if tag == "form":
            self._open = None

    def handle_data(self, data):
        self._words.append(data)


class StaffBrowser:
    """One person at the console of a service of the `serve` fixture."""

    def __init__(self, service, **options):
        self.service = service
        self.client = TestClient(service.client.app, **options)
        self.page = None

    def open(self, path):
        self.page = Page(self.client.get(path))
        return self.page

    def send(self, action, **fields):
        """Send a form of this page, with what it holds and what is typed."""
        filled = {**self.page.forms[action], **fields}
        self.page = Page(self.client.post(action, data=filled))
        return self.page

    def upload(self, content, *, headers=None, drop_csrf=False, **fields):
        """Send a sheet, with what the form says."""
        filled = {**self.open("/console/sheet").forms["/console/sheet"], **fields}
        filled.pop("sheet", None)
        if drop_csrf:
            del filled["csrf"]
        content = content.encode() if isinstance(content, str) else content
        answer = self.client.post(
            "/console/sheet", data=filled, files={"sheet": ("values.csv", content)}, headers=headers
        )
        self.page = Page(answer)
        return self.page

    def log_in(self, token=None):
        text = self.service.staff["Authorization"].split()[1] if token is None else token
        self.open("/console/login")
        return self.send("/console/login", token=text)

    def enter(self, number, text, **more):
        """Type a value into the queue and confirm it."""
        self.open("/console")
        self.send(f"/console/questions/{number}/check", value=text)
        return self.send(f"/console/questions/{number}/measurement", **more)


def logged_in(service):
    browser = StaffBrowser(service)
    browser.log_in()
    return browser
