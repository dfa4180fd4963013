"""The access log and the metrics: what they count, and that nothing of a record is in them."""

import os
import re
import stat
from collections import Counter
from contextlib import closing

import httpx2
import pytest
from helpers.staff_browser import IDENTIFIERS, StaffBrowser, console_folder
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from botorch_private.curator.service.access_log import AccessLog
from botorch_private.curator.service.metrics import Metrics, parse_place
from botorch_private.curator.service.observed import Observed

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \S+ ([A-Z-]+) (\S+) (\d+)")


class Watched:
    """A service whose requests are logged and counted."""

    def __init__(self, service, path):
        self.service, self.path = service, path
        self.log, self.metrics = AccessLog(path), Metrics(service.store)
        app = Observed(service.client.app, (self.log.observe, self.metrics.observe))
        self.client = TestClient(app, raise_server_exceptions=False)

    def get(self, path, **options):
        headers = {**self.service.modeler, **options.pop("headers", {})}
        return self.client.get(path, headers=headers, **options)

    @property
    def lines(self):
        return [LINE.fullmatch(each).groups() for each in self.path.read_text().splitlines()]

    @property
    def samples(self):
        families = text_string_to_metric_families(scrape(self.metrics))
        return {
            (each.name, *sorted(each.labels.values())): each.value
            for family in families
            for each in family.samples
        }


def scrape(metrics):
    with closing(metrics):
        port = metrics.serve("127.0.0.1", 0)
        return httpx2.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text


@pytest.fixture
def watched(service, tmp_path):
    found = Watched(service, tmp_path / "access.log")
    yield found
    found.log.close()


def test_a_line_has_the_pattern_of_a_path_and_no_number_query_or_token(watched):
    watched.service.ask(0)
    watched.get("/v1/queries/1?wait=0.01&MARKER=1")
    watched.get("/v1/queries/77")
    watched.get("/MARKER/P-1001", headers={"User-Agent": "MARKER"})
    watched.client.get("/v1/release", headers={"Authorization": "Bearer MARKER"})
    watched.client.request("MARKER", "/v1/release")
    assert watched.lines == [
        ("GET", "/v1/queries/{number}", "200"),
        ("GET", "/v1/queries/{number}", "404"),
        ("GET", "-", "404"),
        ("GET", "/v1/release", "401"),
        ("-", "/v1/release", "405"),
    ]
    assert "MARKER" not in watched.path.read_text()


def test_pages_of_the_console_are_logged_by_their_pattern(watched):
    for row in range(3):
        watched.service.ask(row)
    browser = StaffBrowser(watched.service)
    browser.client = watched.client
    browser.log_in()
    browser.enter(1, "4.125")
    routes = {route for _, route, _ in watched.lines}
    assert "/console/questions/{number}/measurement" in routes
    text = watched.path.read_text()
    assert not any(each in text for each in [*IDENTIFIERS, "4.125", "bop_"])


def test_an_address_cannot_break_a_line(tmp_path):
    with closing(AccessLog(tmp_path / "log")) as log:
        log.write("1.2.3.4\n2026 fake é" * 20, "GET", "/", 200)
        log.write("::ffff:1.2.3.4", "GET", "/", 200)
    lines = (tmp_path / "log").read_text().splitlines()
    assert len(lines) == 2
    assert lines[1].split()[1] == "::ffff:1.2.3.4"


def test_the_log_is_closed_to_others_and_grows(tmp_path):
    path = tmp_path / "log"
    for _ in range(2):
        with closing(AccessLog(path)) as log:
            log.write("1.2.3.4", "GET", "/", 200)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().count("\n") == 2


def test_a_log_that_was_moved_goes_on_in_a_new_file(tmp_path, caplog):
    path = tmp_path / "log"
    with closing(AccessLog(path)) as log:
        log.write("1.1.1.1", "GET", "/", 200)
        path.rename(tmp_path / "log.1")
        log.write("2.2.2.2", "GET", "/", 200)
        log.reopen()
        log.write("3.3.3.3", "GET", "/", 200)
        path.unlink()
        path.mkdir()
        log.reopen()  # it cannot, so it goes on
        log.write("4.4.4.4", "GET", "/", 200)
    assert (tmp_path / "log.1").read_text().count("\n") == 2
    assert caplog.text.count("the access log cannot be written: IsADirectoryError") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_disk_that_is_full_stops_no_request(watched, tmp_path, caplog):
    full = AccessLog(tmp_path / "full")
    os.close(full._file)
    full._file = os.open("/dev/full", os.O_WRONLY)
    app = Observed(watched.service.client.app, (full.observe,))
    client = TestClient(app)
    for _ in range(3):
        assert client.get("/v1/health").status_code == 200
    assert caplog.text.count("the access log cannot be written: OSError") == 1
    full.close()


def test_metrics_count_requests_and_questions(watched):
    for row in range(3):
        watched.service.ask(row)
    watched.service.measure(1, 3.0)
    watched.service.put(2, "withdrawal", reason="left")
    watched.get("/v1/release")
    watched.get("/v1/release")
    watched.get("/nothing")
    found = watched.samples
    assert found["curator_requests_total", *sorted(("GET", "/v1/release", "200"))] == 2
    assert found["curator_questions", "pending"] == 1
    assert found["curator_questions", "measured"] == 1
    assert found["curator_questions", "withdrawn"] == 1
    assert found["curator_measurements_left",] == 8
    assert found["curator_healthy",] == 1
    assert found["curator_request_seconds_count",] == 3


def test_how_long_a_measurement_took_and_what_failed_is_not_counted(serve, tmp_path):
    """Two runs that differ only in what the table made a program do have the same metrics."""
    texts = []
    for fails in (False, True):
        service = serve(folder=console_folder(tmp_path / f"program{fails}", objective="lab:total"))
        watched = Watched(service, tmp_path / f"log{fails}")
        service.ask(0)
        watched.get("/v1/queries/1", params={"wait": 0.3 if fails else 0.01})
        service.store.begin().result()
        if fails:
            service.store.fail(1, "no").result()
        shown = [
            each
            for each in scrape(watched.metrics).splitlines()
            if not each.startswith(("process_", "# ")) and "_created" not in each
        ]
        texts.append(shown)
        watched.log.close()
    assert texts[0] == texts[1]
    assert any(each.startswith('curator_questions{state="pending"} 1.0') for each in texts[0])


def counted(metrics):
    return [
        each
        for each in scrape(metrics).splitlines()
        if not each.startswith(("process_", "# ")) and "_created" not in each
    ]


def test_what_staff_do_is_not_counted(serve, tmp_path):
    """Two runs that differ only in an outcome, which is entered in one step or in several."""
    texts = []
    for implausible in (False, True):
        service = serve(folder=console_folder(tmp_path / f"staff{implausible}", plausible=(0.0, 100.0)))
        watched = Watched(service, tmp_path / f"log{implausible}")
        service.ask(0)
        path, bodies = "/v1/staff/queries/1/measurement", [{"value": 3.0}]
        if implausible:
            bodies = [{"value": 300.0}, {"value": 300.0, "confirm": True}]
        found = [
            watched.client.put(path, json=each, headers=service.staff).status_code for each in bodies
        ]
        assert found == ([422, 200] if implausible else [200])
        watched.client.get("/console/questions/1")
        watched.client.get(f"/console/{'questions/1/confirm' if implausible else ''}")
        texts.append(counted(watched.metrics))
        watched.log.close()
    assert texts[0] == texts[1]
    watched.metrics.observe("-", "POST", "/console/questions/{number}/retry", 503, 0.1)
    assert watched.samples["curator_requests_total", "-", "503", "staff"] == 1


def test_messages_about_failures_are_not_counted(serve, tmp_path):
    service = serve(folder=console_folder(tmp_path / "program", objective="lab:total"))
    sent = Counter()
    metrics = Metrics(service.store, notified=sent)
    before = counted(metrics)
    sent["sent"] += 1
    assert counted(metrics) == before


def test_strangers_cannot_make_new_series(watched):
    before = len(watched.samples)
    for i in range(50):
        watched.get(f"/nothing/{i}")
        watched.get(f"/v1/queries/{i + 100}")
        watched.client.request(f"METHOD{i}", "/v1/release")
    assert len(watched.samples) - before <= 6


def test_nothing_of_a_record_is_in_metrics(watched):
    for row in range(3):
        watched.service.ask(row)
    watched.service.measure(1, 41.73190526)
    text = scrape(watched.metrics)
    assert "41.73190526" not in text
    assert not any(each in text for each in IDENTIFIERS)
    assert "length of stay" not in text


@pytest.mark.parametrize(
    ("text", "place"),
    [("9400", ("127.0.0.1", 9400)), ("0.0.0.0:9400", ("0.0.0.0", 9400)), ("[::1]:9", ("::1", 9))],
)
def test_a_place_is_an_address_and_a_port(text, place):
    assert parse_place(text) == place


@pytest.mark.parametrize("text", ["", "x", "99999", "host:80", "1.2.3:80", "127.0.0.1:", "-1", "²"])
def test_what_is_no_place_is_refused(text):
    with pytest.raises(ValueError, match="metrics must be a port"):
        parse_place(text)
