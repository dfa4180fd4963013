"""Addresses that a message may be sent to, looked up and then held on to.

Whoever runs the server names a host, and whoever answers for its name says where that is. Without a
check a name could lead to a service of this machine, or of the network around it, that trusts its
neighbours.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address


class AddressError(OSError):
    """A name leads to no address that is allowed."""


def allowed_address(host: str, port: int, *, internal: bool) -> str:
    """The first address of a host that a message may go to. Connect to it, and not to the name again.

    Args:
        host: Name or address.
        port: Port, for the lookup.
        internal: Whether addresses of this machine and of private networks are allowed.

    Raises:
        AddressError: If there is none.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        raise AddressError("the host's name is not known") from None
    for _, _, _, _, address in found:
        if is_allowed(str(address[0]), internal=internal):
            return str(address[0])
    raise AddressError(
        "the host's address must not be a link-local, multicast or unspecified one"
        if internal
        else "the host's address must be a public one, unless internal = true is said"
    )


def is_allowed(text: str, *, internal: bool) -> bool:
    """Whether a message may go to an address; never to one that no receiver can have."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address):
        address = _inside(address) or address
    if address.is_multicast or address.is_unspecified or address.is_link_local:
        return False
    return internal or address.is_global


def _inside(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for."""
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
