"""Requests about a release in parts, made up from the description of the API."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import status_code_conformance


@pytest.mark.parametrize("path", ["/v1/release", "/v1/release/manifest", "/v1/release/parts/{part}"])
def test_every_made_up_request_about_parts_gets_a_documented_answer(in_parts, path):
    service = in_parts()
    schema = schemathesis.openapi.from_asgi("/v1/openapi.json", service.client.app)

    @given(schema[path]["GET"].as_strategy())
    @settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def check(case):
        case.call_and_validate(
            headers=service.modeler, checks=[not_a_server_error, status_code_conformance]
        )

    check()
