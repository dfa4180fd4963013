"""What to do about a server that cannot be reached: each kind of trouble with TLS has its own remedy."""

from __future__ import annotations

import ssl

# https://docs.openssl.org/master/man3/X509_STORE_CTX_get_error/
_NOT_YET_VALID, _EXPIRED = 9, 10
_OTHER_NAMES = (62, 64)  # of a host, and of an IP address
_UNKNOWN = (18, 19, 20, 21)  # self-signed, alone or in a chain; the issuer is not known
# How OpenSSL calls an answer that is no TLS: by 3.2 on, by earlier ones, and in HTTP's own words.
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "UNKNOWN_PROTOCOL")


def tls_error(error: BaseException) -> ssl.SSLError | None:
    """The TLS error behind a failed request, if it is one."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLError):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None


def may_pass(error: BaseException) -> bool:
    """Whether it may help to try again soon: certificates and ports do not change by themselves."""
    found = tls_error(error)
    return not (
        isinstance(found, ssl.SSLCertVerificationError) or (found is not None and _is_no_tls(found))
    )


def remedy(error: BaseException, *, https: bool, own_file: bool) -> str:
    """What to do about a request that failed.

    Args:
        error: Of the request.
        https: Whether the address begins with ``https://``.
        own_file: Whether certificates to believe were given (``verify=``, ``--ca-file``).
    """
    found = tls_error(error)
    if isinstance(found, ssl.SSLCertVerificationError):
        return _certificate_remedy(found.verify_code, own_file=own_file)
    if found is not None and _is_no_tls(found):
        return (
            "it does not speak TLS there: is the port right? If the curator serves without TLS (on this "
            "machine, or behind a way that is protected otherwise), begin the address with http://"
        )
    if found is not None:
        return "TLS failed there: tell the curator"
    if not https and type(error).__name__ in ("RemoteProtocolError", "ReadError"):
        return "is it running? If the curator serves with TLS, begin the address with https://"
    return "is it running, and is the address right?"


def _certificate_remedy(code: int, *, own_file: bool) -> str:
    if code == _EXPIRED:
        return (
            "its certificate has expired: the curator must renew it (or the clock of this machine is "
            "wrong)"
        )
    if code == _NOT_YET_VALID:
        return "its certificate is not valid yet: is the clock right, here and at the curator?"
    if code in _OTHER_NAMES:
        return (
            "its certificate is for another host name: use the name that is in the certificate as the "
            "host of the address, or let the curator make one for this host"
        )
    if code not in _UNKNOWN:
        return "its certificate is refused: tell the curator"
    if own_file:
        return (
            "the file of certificates (verify=, --ca-file) holds neither its certificate nor that of "
            "its authority: ask the curator for the present one"
        )
    return "if the curator made its own certificate, give the file with it (verify=, --ca-file)"


def _is_no_tls(error: ssl.SSLError) -> bool:
    return any(word in str(error.reason or error).upper() for word in _NO_TLS)
