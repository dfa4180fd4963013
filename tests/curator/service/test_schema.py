"""Requests made up from the OpenAPI description: no server error, no undocumented answer, no echo."""

import logging

import pytest
import schemathesis
from helpers.operations import OPERATIONS
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    response_schema_conformance,
    status_code_conformance,
)

from botorch_private.curator.service.limits import RateLimit

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    ignored_auth,
]
MARKER = "41.73190526"


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_made_up_request_gets_a_documented_answer(serve, method, path, mode):
    service = serve(max_queries=10, noised=True)
    for row in range(6):
        number = service.ask(row).json()["id"]
        if row % 2:
            service.measure(number, 4.5)
    app = service.client.app
    app.state.waiting.close()  # questions stay pending here: nobody would end a wait
    app.state.access._failures = RateLimit(1e9, 1e9)
    schema = schemathesis.openapi.from_asgi("/v1/openapi.json", app)
    operation = schema[path][method]
    headers = service.staff if "/staff/" in path else service.modeler

    @given(operation.as_strategy(generation_mode=mode))
    @settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def check(case):
        case.call_and_validate(headers=headers, checks=CHECKS)

    check()


def test_the_description_names_the_token_and_every_kind_of_error(serve):
    found = serve().client.get("/v1/openapi.json").json()
    assert found["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    for path, methods in found["paths"].items():
        for operation in methods.values():
            if path != "/v1/health":
                assert {"401", "403", "404", "409", "422", "429", "503"} <= operation["responses"].keys()
                assert operation["security"] == [{"HTTPBearer": []}]


def test_no_request_is_logged_with_what_it_holds(serve, caplog):
    service = serve()
    with caplog.at_level(logging.DEBUG):
        service.ask(3)
        for body in ({"value": float(MARKER)}, {"value": MARKER}, {MARKER: 1}, [MARKER]):
            service.client.put("/v1/staff/queries/1/measurement", json=body, headers=service.staff)
    ours = [each for each in caplog.records if not each.name.startswith(("httpx", "asyncio"))]
    assert not any(MARKER in each.getMessage() for each in ours)
