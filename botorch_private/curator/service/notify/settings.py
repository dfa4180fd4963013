"""Settings: the file that says who is told, and when."""

from __future__ import annotations

import math
import os
import ssl
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from botorch_private._base.loopback import is_loopback
from botorch_private.curator.service.notify.mail import SECURITY, Mail
from botorch_private.curator.service.notify.signing import read_secret
from botorch_private.curator.service.notify.webhook import Webhook

Channel = Webhook | Mail
_LARGEST_FILE = 64 * 1024
_LARGEST_SECRET = 1024
_LONGEST_NAME = 80
_PORTS = {"starttls": 587, "tls": 465, "none": 25}
_LARGEST_PORT = 65535
_TOP = {"name", "console", "wait", "every", "idle", "webhook", "mail"}
_WEBHOOK = {"url", "secret_file", "secret_env", "internal", "ca_file"}
_MAIL = {"to", "from", "host", "port", "security", "user", "password_file", "password_env", "ca_file"}


@dataclass(frozen=True)
class NotifySettings:
    """Who is told, and when.

    Args:
        channels: Where messages go.
        name: What the server is called in them.
        console: Address of its console; may be empty.
        wait: Seconds after a new question in which others join its message.
        every: Seconds between two messages about new questions, at least.
        idle: Hours without a settled question after which those that wait are told of; None: never.
    """

    channels: tuple[Channel, ...]
    name: str = "curator"
    console: str = ""
    wait: float = 60.0
    every: float = 900.0
    idle: float | None = None


def read_settings(path: Path) -> NotifySettings:
    """Read a TOML file; the operator's guide shows one.

    Secrets do not stand in it: each is in a file of its own, beside it if no folder is named, or in a
    variable of the environment.

    Raises:
        ValueError: If an entry is unusable or unknown. What the file holds is not repeated.
        OSError: If a file cannot be read.
    """
    content = _read(path, _LARGEST_FILE)
    try:
        found = tomllib.loads(content.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        raise ValueError(f"{path} must be a TOML file in UTF-8, but it is not") from None
    try:
        return _settings(found, path.absolute().parent)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _settings(found: Mapping[str, Any], folder: Path) -> NotifySettings:
    _only(found, _TOP, "the file")
    channels = [
        *(_webhook(each, i, folder) for i, each in enumerate(_tables(found, "webhook"), 1)),
        *(_mail(each, i, folder) for i, each in enumerate(_tables(found, "mail"), 1)),
    ]
    if not channels:
        raise ValueError("there must be a [[webhook]] or a [[mail]]: nobody would be told")
    if len({each.identity for each in channels}) < len(channels):
        raise ValueError("each [[webhook]] and [[mail]] must be named once")
    console = _text(found, "console", "", _LARGEST_SECRET)
    if console and urlsplit(console).scheme not in ("http", "https"):
        raise ValueError("console must be an address that begins with https://")
    return NotifySettings(
        channels=tuple(channels),
        name=_text(found, "name", "curator", _LONGEST_NAME),
        console=console,
        wait=_seconds(found, "wait", 60.0, 0.0),
        every=_seconds(found, "every", 900.0, 0.0),
        idle=_seconds(found, "idle", 24.0, 0.001) if "idle" in found else None,
    )


def _webhook(found: Mapping[str, Any], number: int, folder: Path) -> Webhook:
    place = f"[[webhook]] {number}"
    _only(found, _WEBHOOK, place)
    url = _needed(found, "url", place)
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError(f"{place}: url must be an address, such as https://example.org/hook") from None
    if not host or parts.username or parts.password or parts.fragment:
        raise ValueError(
            f"{place}: url must be an address such as https://example.org/hook, without a password"
        )
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise ValueError(f"{place}: url must begin with https://, unless the host is this machine")
    internal = found.get("internal", False)
    if not isinstance(internal, bool):
        raise ValueError(f"{place}: internal must be true or false")
    try:
        key = read_secret(_secret(found, "secret", place, folder))
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    return Webhook(url, key, internal=internal, context=_authorities(found, place, folder))


def _mail(found: Mapping[str, Any], number: int, folder: Path) -> Mail:
    place = f"[[mail]] {number}"
    _only(found, _MAIL, place)
    to = found.get("to", ())
    if not isinstance(to, list) or not to or not all(_is_address(each) for each in to):
        raise ValueError(f"{place}: to must be a list of e-mail addresses")
    sender, host = _needed(found, "from", place), _needed(found, "host", place)
    if not _is_address(sender):
        raise ValueError(f"{place}: from must be an e-mail address")
    security = found.get("security", "starttls")
    if security not in SECURITY:
        raise ValueError(f"{place}: security must be one of {', '.join(SECURITY)}")
    if security == "none" and not is_loopback(host):
        raise ValueError(
            f'{place}: security must be "starttls" or "tls", unless the host is this machine'
        )
    port = found.get("port", _PORTS[security])
    if not isinstance(port, int) or isinstance(port, bool) or not 1 <= port <= _LARGEST_PORT:
        raise ValueError(f"{place}: port must be in 1..{_LARGEST_PORT}")
    user = _text(found, "user", "", _LARGEST_SECRET)
    password = _secret(found, "password", place, folder) if user else ""
    if not user and ("password_file" in found or "password_env" in found):
        raise ValueError(f"{place}: user must say whose password it is")
    context = _authorities(found, place, folder)
    return Mail(tuple(to), sender, host, port, security, user, password, context)


def _secret(found: Mapping[str, Any], what: str, place: str, folder: Path) -> str:
    """A secret from a file or the environment."""
    in_file, in_environment = found.get(f"{what}_file"), found.get(f"{what}_env")
    if (in_file is None) == (in_environment is None):
        raise ValueError(f"{place}: {what}_file or {what}_env must say where the {what} is")
    if in_environment is not None:
        text = os.environ.get(str(in_environment), "")
        if not text:
            raise ValueError(f"{place}: {what}_env must name a variable that is set")
        return text
    try:
        text = _read(folder / _file(in_file, place), _LARGEST_SECRET).decode().strip()
    except UnicodeDecodeError:
        text = ""
    if not text or "\n" in text:
        raise ValueError(f"{place}: {what}_file must hold the {what} alone, in one line")
    return text


def _authorities(found: Mapping[str, Any], place: str, folder: Path) -> ssl.SSLContext | None:
    if "ca_file" not in found:
        return None
    path = folder / _file(found["ca_file"], place)
    try:
        return ssl.create_default_context(cadata=_read(path, 2**24).decode("ascii"))
    except (ssl.SSLError, ValueError):
        raise ValueError(f"{place}: ca_file must be a file with certificates in PEM form") from None


def _file(value: Any, place: str) -> Path:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError(f"{place}: a file must be named by its path")
    return Path(value)


def _read(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{path} must have at most {most} bytes")
    return content


def _tables(found: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    tables = found.get(name, [])
    if not isinstance(tables, list) or not all(isinstance(each, Mapping) for each in tables):
        raise ValueError(f"{name} must be written as [[{name}]]")
    return tables


def _only(found: Mapping[str, Any], known: set[str], place: str) -> None:
    if set(found) - known:
        raise ValueError(f"{place} must have no entries but {', '.join(sorted(known))}")


def _needed(found: Mapping[str, Any], name: str, place: str) -> str:
    text = _text(found, name, "", _LARGEST_SECRET)
    if not text:
        raise ValueError(f"{place}: {name} is missing")
    return text


def _text(found: Mapping[str, Any], name: str, default: str, most: int) -> str:
    text = found.get(name, default)
    if not isinstance(text, str) or not text.isprintable() or len(text) > most:
        raise ValueError(f"{name} must be a text of one line, of at most {most} characters")
    return text


def _seconds(found: Mapping[str, Any], name: str, default: float, least: float) -> float:
    value = found.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name} must be a number")
    if not (math.isfinite(value) and value >= least):
        raise ValueError(f"{name} must be a finite number >= {least:g}")
    return float(value)


def _is_address(text: Any) -> bool:
    if not isinstance(text, str) or not text.isascii() or not text.isprintable():
        return False
    name, at, host = text.partition("@")
    return bool(name and at and host) and not set(text) & set(' ,;:<>()"\\[]') and "@" not in host
