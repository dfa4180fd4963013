"""Addresses that a message may go to, and that a name that moves is not followed."""

import socket

import pytest

from botorch_private.curator.service.notify.addresses import AddressError, allowed_address, is_allowed

PUBLIC = ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"]
INTERNAL = ["127.0.0.1", "10.1.2.3", "192.168.0.9", "172.16.4.5", "::1", "fd00::7", "::ffff:10.0.0.1"]
NEVER = ["169.254.169.254", "0.0.0.0", "224.0.0.1", "fe80::1", "::", "ff02::1", "::ffff:169.254.169.254"]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed(address):
    assert is_allowed(address, internal=False)
    assert is_allowed(address, internal=True)


@pytest.mark.parametrize("address", [*INTERNAL, "2002:a00:1::", "fd00::7%eth0"])
def test_addresses_of_a_network_of_ones_own_are_allowed_for_who_says_so(address):
    assert not is_allowed(address, internal=False)
    assert is_allowed(address, internal=True)


@pytest.mark.parametrize("address", NEVER)
def test_addresses_that_no_receiver_has_are_refused(address):
    assert not is_allowed(address, internal=False)
    assert not is_allowed(address, internal=True)


def test_a_name_is_followed_to_an_address_that_is_allowed(monkeypatch):
    found = [(2, 1, 6, "", (each, 443)) for each in ("127.0.0.1", PUBLIC[0])]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    assert allowed_address("example.org", 443, internal=False) == PUBLIC[0]
    assert allowed_address("example.org", 443, internal=True) == "127.0.0.1"
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found[:1])
    with pytest.raises(AddressError, match="unless internal = true"):
        allowed_address("example.org", 443, internal=False)


def test_a_name_that_nobody_knows_is_said(monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(-2, "secret words")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(AddressError, match="^the host's name is not known$"):
        allowed_address("example.org", 443, internal=False)
