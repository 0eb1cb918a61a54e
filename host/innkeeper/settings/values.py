"""The kinds of values that settings hold, and what is wrong with other ones."""

import ipaddress
import re
from datetime import timedelta
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

_UNITS: Final = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}
_DURATION: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_ID: Final = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?")
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def duration_from_text(value: object) -> timedelta:
    """Read "250ms", "10s", "5m", "24h" or "30d"."""
    if isinstance(value, timedelta):
        return value
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError('a duration is a number with a unit, such as "250ms", "10s", "5m", "24h" or "30d"')
    try:
        return float(match[1]) * _UNITS[match[2]]
    except OverflowError:
        raise ValueError("the duration is too long") from None


def _positive(value: timedelta) -> timedelta:
    if value <= timedelta(0):
        raise ValueError("the duration must be longer than zero")
    return value


def split_bind(bind: str) -> tuple[str, int]:
    """Return host and port of "127.0.0.1:8080" or "[::1]:8080"; the host without brackets.

    Raises:
        ValueError: it is not of that form; a Unix socket or a file descriptor is not served.
    """
    if bind.startswith(("unix:", "fd:")):
        raise ValueError("Unix sockets and file descriptors are not served; bind to host:port")
    host, colon, port = bind.rpartition(":")
    if not colon or not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise ValueError('a bind is "host:port", such as "127.0.0.1:8080", with a port of 0 to 65535')
    if host.startswith("[") and host.endswith("]"):
        try:
            return str(ipaddress.IPv6Address(host[1:-1])), int(port)
        except ValueError:
            raise ValueError("what stands in brackets is an IPv6 address") from None
    if ":" in host:
        raise ValueError('an IPv6 address is written in brackets, such as "[::1]:8080"')
    if not _NAME.fullmatch(host):
        raise ValueError('a bind is "host:port"; every address is "0.0.0.0:port" or "[::]:port"')
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches the address; of names, that is known of localhost alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bind(value: str) -> str:
    split_bind(value)
    return value


def _tenant_id(value: str) -> str:
    if not _ID.fullmatch(value):
        raise ValueError("an id is 1 to 63 of a-z 0-9 . _ -, starting and ending with a letter or digit")
    return value


def _base_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.query or parts.fragment or value.endswith(("?", "#")):
        raise ValueError("a base URL has no query and no fragment")
    _check_origin(value)
    return value.rstrip("/")


def _origin(value: str) -> str:
    _check_origin(value)
    if urlsplit(value)[2:] != ("", "", ""):
        raise ValueError('an origin is scheme, host and port, such as "https://example.com", without a path')
    return value


def _check_origin(value: str) -> None:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"[^!-~]", value):
        raise ValueError('expected is an absolute URL, such as "https://agents.example.com"')
    if "@" in parts.netloc:
        raise ValueError("the URL carries credentials")
    _ = parts.port  # raises ValueError itself when out of range


def _host_header(value: str) -> str:
    parts = urlsplit(f"//{value}")
    if not parts.hostname or parts.netloc != value or re.search(r"[^!-~]|[@*]", value):
        raise ValueError('expected is a host as in the Host header, such as "example.com" or "example.com:8443"')
    _ = parts.port  # raises ValueError itself when out of range
    return value.lower()


def _list(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise ValueError('expected is a list, such as ["a", "b"]')  # noqa: TRY004 - pydantic collects ValueErrors
    return value


def _list_of_any(value: object) -> object:
    """Take a text for a list with nothing else in it."""
    return [value] if isinstance(value, str) else _list(value)


def _number(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("expected is a whole number")  # noqa: TRY004 - pydantic collects ValueErrors
    return value


def _unit(unit: str) -> Any:
    return Field(json_schema_extra={"unit": unit})


Duration = Annotated[timedelta, BeforeValidator(duration_from_text), _unit("duration")]
PositiveDuration = Annotated[Duration, AfterValidator(_positive)]
Count = Annotated[int, Field(ge=1), BeforeValidator(_number)]
TurnCount = Annotated[Count, _unit("turns")]
Attempts = Annotated[Count, _unit("attempts")]
Bytes = Annotated[Count, _unit("bytes")]
Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(_list_of_any)]
Id = Annotated[str, AfterValidator(_tenant_id)]
Bind = Annotated[str, AfterValidator(_bind)]
BaseUrl = Annotated[str, AfterValidator(_base_url)]
Origin = Annotated[str, AfterValidator(_origin)]
HostHeader = Annotated[str, AfterValidator(_host_header)]
Binds = Annotated[tuple[Bind, ...], BeforeValidator(_list), Field(min_length=1)]
Ids = Annotated[tuple[Id, ...], BeforeValidator(_list)]
Origins = Annotated[tuple[Origin, ...], BeforeValidator(_list)]
HostHeaders = Annotated[tuple[HostHeader, ...], BeforeValidator(_list)]
