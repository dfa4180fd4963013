"""The HTTP interface: what is answered, what is refused, and what is never said."""

import asyncio
import json
import re
import threading
import time

import pytest
import torch
from helpers.operations import OPERATIONS
from safetensors.torch import load

from botorch_private import Release
from botorch_private.curator.service import modeler_api
from botorch_private.curator.service.limits import LARGEST_BODY, RateLimit
from botorch_private.curator.service.question import Question
from botorch_private.curator.service.waiting import Waiting

N = 20


def code(response):
    return response.json()["error"]["code"]


def test_the_release_is_the_one_in_the_folder(serve, tmp_path):
    service = serve(max_queries=9)
    facts = service.get("/v1/release").json()
    file = service.get("/v1/release/file")
    assert file.headers["etag"] == f'"{facts["identity"]}"'
    (tmp_path / "got.safetensors").write_bytes(file.content)
    release = Release.load(tmp_path / "got.safetensors")
    assert release.identity == facts["identity"]
    assert torch.equal(load(file.content)["candidates"], release.candidates)
    assert (facts["rows"], facts["projection_dim"]) == tuple(release.candidates.shape)
    assert (facts["max_queries"], facts["queries_left"]) == (9, 9)


def test_the_release_is_not_sent_to_who_has_it(serve):
    service = serve()
    etag = service.get("/v1/release/file").headers["etag"]
    for sent, status in ((etag, 304), (f'"x", {etag}', 304), ('"x"', 200)):
        again = service.get("/v1/release/file", **{"If-None-Match": sent})
        assert again.status_code == status
        assert bool(again.content) is (status == 200)


def test_the_guarantee_in_words_and_in_json(serve):
    service = serve(noised=True)
    found = service.get("/v1/guarantee").json()
    assert "HOLDS" in found["words"]
    assert found["guarantee"]["epsilon"] == pytest.approx(8.0)
    assert found["queries_left"] is None


def test_a_question_its_measurement_and_its_answer(serve):
    service = serve()
    asked = service.ask(3)
    assert asked.status_code == 201
    assert asked.json() == {"id": 1, "row": 3, "state": "pending", "value": None, "revision": 0}
    assert service.ask(3).status_code == 200
    assert service.ask(3, "another-key").json() == asked.json()
    assert service.get("/v1/queries/1").json() == asked.json()
    assert service.measure(1, 2.5).json()["value"] == 2.5
    answered = {**asked.json(), "state": "measured", "value": 2.5}
    assert service.get("/v1/queries/1").json() == answered
    assert service.ask(3).json() == answered
    listed = service.get("/v1/queries?state=measured").json()
    assert listed == {"queries": [answered]}


def test_the_same_value_again_is_fine_and_another_one_a_conflict(serve):
    service = serve()
    service.ask(3)
    assert [service.measure(1, value).status_code for value in (2, 2.0, 3.0)] == [200, 200, 409]
    assert code(service.measure(1, 3.0)) == "measured"


@pytest.mark.parametrize(
    "body",
    [
        '{"row": true}',
        '{"row": "1"}',
        '{"row": 1.0}',
        '{"row": 1.5}',
        '{"row": -1}',
        '{"row": 20}',
        '{"row": 1e3}',
        '{"row": NaN}',
        '{"row": null}',
        '{"row": [1]}',
        '{"row": 1, "MARKER": 1}',
        "{}",
        "[]",
        "null",
        "",
        "{",
        "MARKER",
        '{"row": ' + "9" * 5000 + "}",
        "[" * 8000,
    ],
)
def test_a_row_that_is_none_is_refused_and_nothing_is_echoed(serve, body):
    service = serve()
    headers = {
        **service.modeler,
        "Idempotency-Key": "key-00001",
        "Content-Type": "application/json",
    }
    response = service.client.post("/v1/queries", content=body, headers=headers)
    assert response.status_code in (400, 422)
    assert "MARKER" not in response.text
    assert "99999" not in response.text
    assert service.store.queries() == []


@pytest.mark.parametrize(
    "value", ["NaN", "Infinity", "-Infinity", "1e999", "true", '"41.7319"', "null", "[41.7319]", "{}"]
)
def test_a_value_that_is_no_finite_number_is_refused_and_not_echoed(serve, value):
    service = serve()
    service.ask(3)
    response = service.client.put(
        "/v1/staff/queries/1/measurement",
        content=f'{{"value": {value}}}',
        headers={**service.staff, "Content-Type": "application/json"},
    )
    assert response.status_code == 422
    assert "41.7319" not in response.text
    assert service.store.query(1).state == "pending"


@pytest.mark.parametrize("key", [None, "short", "x" * 129, "with space", "caf\u00e9-cafe"])
def test_a_key_that_is_none_is_refused(serve, key):
    service = serve()
    headers = dict(service.modeler)
    if key is not None:
        headers["Idempotency-Key"] = key.encode()
    response = service.client.post("/v1/queries", json={"row": 3}, headers=headers)
    assert response.status_code == 422
    assert service.store.queries() == []


def test_a_key_with_another_row_is_a_conflict_and_a_spent_budget_is_told(serve):
    service = serve(max_queries=1)
    service.ask(3, "key-00001")
    for key, status, problem in (("key-00001", 409, "key_reused"), (None, 403, "budget_spent")):
        response = service.ask(4, key)
        assert (response.status_code, code(response)) == (status, problem)
    assert service.ask(3).status_code == 200


def test_implausible_values_must_be_confirmed(serve):
    service = serve(plausible=(0.0, 10.0))
    service.ask(3)
    response = service.measure(1, 100.0)
    assert (response.status_code, code(response)) == (422, "implausible")
    assert "100" not in response.json()["error"]["message"].replace("10:", "")
    assert service.measure(1, 100.0, confirm=True).status_code == 200


def test_withdrawals_corrections_and_retries(serve):
    service = serve()
    for row in (3, 4):
        service.ask(row)
    gone = service.put(1, "withdrawal", reason="moved")
    assert gone.json()["state"] == "withdrawn"
    seen = service.get("/v1/queries/1").json()
    assert seen == {"id": 1, "row": 3, "state": "withdrawn", "value": None, "revision": 0}
    service.measure(2, 1.0)
    corrected = service.put(2, "correction", value=2.0, reason="typo")
    assert (corrected.json()["value"], corrected.json()["revision"]) == (2.0, 1)
    assert service.get("/v1/queries/2").json()["revision"] == 1
    for path, body in (
        ("withdrawal", {"reason": ""}),
        ("correction", {"value": 3.0}),
        ("correction", {"value": 3.0, "reason": "x" * 501}),
    ):
        assert service.put(2, path, **body).status_code == 422
    retry = service.client.post("/v1/staff/queries/2/retry", headers=service.staff)
    assert (retry.status_code, code(retry)) == (409, "not_failed")


def test_a_noised_answer_that_was_read_is_not_corrected(serve):
    service = serve(noised=True)
    service.ask(3)
    service.measure(1, 5.0)
    assert service.put(1, "correction", value=6.0, reason="typo").status_code == 200
    first = service.get("/v1/queries/1").json()
    assert first["value"] != 6.0
    refused = service.put(1, "correction", value=7.0, reason="typo")
    assert (refused.status_code, code(refused)) == (409, "told")
    assert service.get("/v1/queries/1").json() == first
    # Listing and asking again count as reading, too.
    for row, read in (
        (4, lambda: service.ask(4)),
        (5, lambda: service.get("/v1/queries")),
    ):
        number = service.ask(row).json()["id"]
        service.measure(number, 5.0)
        read()
        assert service.store.query(number).told


# --- who may do what ---

FIRST = [(method, path.replace("{number}", "1").replace("{part}", "0")) for method, path in OPERATIONS]


@pytest.mark.parametrize(("method", "path"), FIRST)
def test_nothing_without_a_token_of_the_role(serve, method, path):
    service = serve()
    service.ask(3)
    right, wrong = service.modeler, service.staff
    if "staff" in path:
        right, wrong = wrong, right
    bodies = {"measurement": {"value": 1.0}, "withdrawal": {"reason": "x"}, "queries": {"row": 3}}
    bodies["correction"] = {"value": 1.0, "reason": "x"}
    bodies["known"] = {"outcomes": [{"identifier": "record 1", "value": 1.0}]}
    body = bodies.get(path.rsplit("/", 1)[-1]) if method != "GET" else None
    more = {"Idempotency-Key": "key-00009"}

    def status(headers):
        response = service.client.request(method, path, json=body, headers={**more, **headers})
        assert "P-" not in response.text or headers == right
        return response.status_code

    assert status({}) == 401
    assert status({"Authorization": "Bearer bop_" + "A" * 43}) == 401
    assert status({"Authorization": right["Authorization"].replace("Bearer", "Basic")}) == 401
    assert status({"Authorization": "Bearer " + "x" * 5000}) == 401
    assert status(wrong) == 403
    assert status(right) in (200, 201, 409)


def test_every_route_is_in_the_list_of_operations(serve):
    service = serve()
    paths = service.client.get("/v1/openapi.json").json()["paths"]
    found = {
        (method.upper(), path)
        for path, methods in paths.items()
        for method in methods
        if not path.startswith("/console")
    }
    assert found == {*OPERATIONS, ("GET", "/v1/health")}


def test_a_modeler_never_sees_identifiers_records_or_reasons(serve):
    service = serve(noised=True)
    for row in (3, 4):
        service.ask(row)
    service.measure(1, 4.7319)
    service.put(2, "withdrawal", reason="secret")
    paths = {path for _, path in FIRST if "file" not in path and "staff" not in path}
    texts = [service.get(path).text for path in paths]
    texts += [service.ask(3).text, service.get("/v1/queries/2").text]
    for text in texts:
        assert not re.search(r"record \d", text)  # identifiers
        assert "secret" not in text
        assert "4.7319" not in text  # the outcome before its noise


def test_a_token_may_ask_so_often(serve):
    service = serve(rate=10.0)
    statuses = [service.get("/v1/release").status_code for _ in range(15)]
    assert statuses.count(429) >= 4
    assert service.client.get("/v1/staff/queries", headers=service.staff).status_code == 200


def test_rate_limits_refill_and_forget():
    now = [0.0]
    limit = RateLimit(2.0, 4.0, lambda: now[0])
    assert [limit.wait("a") for _ in range(4)] == [0.0] * 4
    assert limit.wait("a") == pytest.approx(0.5)
    assert limit.wait("b") == 0.0
    now[0] = 0.5
    assert limit.wait("a") == 0.0
    assert limit.wait("a") > 0


def test_large_bodies_are_refused_whatever_their_header_says(serve):
    service = serve()
    headers = {**service.modeler, "Idempotency-Key": "key-00001", "Content-Type": "application/json"}
    large = b'{"row": 3' + b" " * LARGEST_BODY + b"}"
    assert service.client.post("/v1/queries", content=large, headers=headers).status_code == 413

    def chunks():
        for start in range(0, len(large), 1000):
            yield large[start : start + 1000]

    assert service.client.post("/v1/queries", content=chunks(), headers=headers).status_code == 413
    assert service.store.queries() == []


def test_every_answer_has_strict_headers(serve):
    service = serve()
    for path, headers in (("/v1/release", service.modeler), ("/v1/release", {}), ("/nothing", {})):
        response = service.client.get(path, headers=headers)
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["x-frame-options"] == "DENY"
        assert response.headers["content-security-policy"].startswith("default-src 'none'")
        assert "server" not in response.headers


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v2", 404), ("GET", "/v1", 404), ("DELETE", "/v1/queries", 405), ("GET", "/docs", 404)],
)
def test_other_addresses_are_refused_in_the_same_form(serve, method, path, status):
    response = serve().client.request(method, path)
    assert response.status_code == status
    assert response.json()["error"]["code"] == "http"


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5", "9" * 30, "2"])
def test_queries_that_are_none_are_refused_by_number(serve, number):
    service = serve()
    response = service.get(f"/v1/queries/{number}")
    assert response.status_code in (404, 422)
    assert "999" not in response.text


# --- waiting ---


def test_a_waiting_modeler_is_woken_by_the_measurement(serve):
    service = serve()
    service.ask(3)
    threading.Timer(0.3, lambda: service.store.measure(1, 2.5, 2)).start()
    start = time.monotonic()
    answer = service.get("/v1/queries/1?wait=20").json()
    assert answer["value"] == 2.5
    assert 0.2 < time.monotonic() - start < 10


def test_waiting_ends_with_the_time_and_not_at_all_for_what_is_measured(serve):
    service = serve()
    service.ask(3)
    start = time.monotonic()
    pending = service.get("/v1/queries/1?wait=0.3").json()
    assert pending["state"] == "pending"
    assert 0.25 < time.monotonic() - start < 5
    service.measure(1, 1.0)
    start = time.monotonic()
    service.get("/v1/queries/1?wait=20")
    assert time.monotonic() - start < 5
    for wait in ("31", "-1", "nan", "inf", "x"):
        response = service.get(f"/v1/queries/1?wait={wait}")
        assert response.status_code == 422


def test_a_change_between_looking_and_waiting_is_not_missed():
    measured = Question(1, 3, "measured", 1.0, 1.0, 0, None, "t", "t", False)

    async def scenario():
        waiting = Waiting()
        await asyncio.wait_for(waiting.wait(1, 20.0, lambda: measured), 5)
        assert not waiting._waiting

    asyncio.run(scenario())


def test_waiting_ends_when_the_server_stops():
    pending = Question(1, 3, "pending", None, None, 0, None, "t", None, False)

    async def scenario():
        waiting = Waiting()
        task = asyncio.create_task(waiting.wait(1, 20.0, lambda: pending))
        await asyncio.sleep(0.05)
        waiting.close()
        await asyncio.wait_for(task, 5)
        await asyncio.wait_for(waiting.wait(1, 20.0, lambda: pending), 5)

    asyncio.run(scenario())


def test_the_longest_wait_is_shorter_than_proxies_wait():
    assert modeler_api.LONGEST_WAIT <= 30


def test_answers_are_json_that_keeps_every_bit(serve):
    service = serve()
    service.ask(3)
    service.measure(1, 0.1 + 0.2)
    text = service.get("/v1/queries/1").text
    assert json.loads(text)["value"] == 0.1 + 0.2
