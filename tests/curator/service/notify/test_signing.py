"""Signatures: as Standard Webhooks publishes them, and as its own library checks them."""

import base64
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from botorch_private.curator.service.notify.signing import read_secret, signed_headers

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwx5Mn6gPnRtY="


def test_the_published_example_is_signed_as_published():
    # https://docs.svix.com/receiving/verifying-payloads/how-manual; its secret is short.
    key = base64.b64decode("plJ3nmyCDGBKInavdOK15jsl")
    body = b'{"event_type":"ping","data":{"success":true}}'
    headers = signed_headers(key, "msg_loFOjxBNrRLzqYUf", 1731705121, body)
    assert headers["webhook-signature"] == "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0="


@given(st.binary(max_size=200), st.text("abcdef_0123", min_size=1))
def test_the_library_of_the_standard_takes_what_is_signed(body, name):
    now = int(datetime.now(UTC).timestamp())
    headers = signed_headers(read_secret(SECRET), name, now, b'{"a":' + repr(len(body)).encode() + b"}")
    assert Webhook(SECRET).verify(b'{"a":' + repr(len(body)).encode() + b"}", headers) == {
        "a": len(body)
    }


@pytest.mark.parametrize("changed", ["webhook-id", "webhook-timestamp", "body", "key", "late"])
def test_whatever_is_changed_is_refused(changed):
    now, body, secret = int(datetime.now(UTC).timestamp()), b'{"new": 3}', SECRET
    headers = signed_headers(read_secret(SECRET), "msg_1", now - 600 * (changed == "late"), body)
    if changed == "body":
        body = b'{"new": 4}'
    elif changed == "key":
        secret = SECRET.replace("M", "N")
    elif changed != "late":
        headers[changed] = {"webhook-id": "msg_2", "webhook-timestamp": str(now + 1)}[changed]
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(body, headers)


@pytest.mark.parametrize(
    "text", ["", "whsec_c2hvcnQ=", "not base64 at all, really", "é" * 40, "A" * 400]
)
def test_what_is_no_secret_is_refused_and_not_repeated(text):
    with pytest.raises(ValueError, match="a webhook's secret must be whsec_") as caught:
        read_secret(text)
    assert not text or text not in str(caught.value)
