"""URLs as browsers read them (WHATWG URL), for http and https: two spellings of one place become one string."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

_URL: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::(?P<port>[0-9]*))?"
    r"(?P<path>/[^?#]*)?(?P<query>\?[^#]*)?(?P<fragment>#.*)?",
    re.IGNORECASE,
)
_PRINTABLE: Final = re.compile(r"[!-\[\]-~]+")
"""ASCII without spaces, controls and the backslash, of which parsers disagree what they separate."""

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_DOT: Final = frozenset({".", "%2e"})
_DOTS: Final = frozenset({"..", ".%2e", "%2e.", "%2e%2e"})


@dataclass(frozen=True, slots=True)
class Url:
    """A normalised URL: scheme and host in lower case, no default port, no dot segments, a path of at least a slash.

    ``port`` is None for the scheme's own. ``rest`` is query and fragment as written, with their marks.
    """

    scheme: str
    host: str
    port: int | None
    path: str
    rest: str = ""

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{self.scheme}://{self.host}" + ("" if self.port is None else f":{self.port}")

    @property
    def address(self) -> str:
        """The origin and the path."""
        return self.origin + self.path

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine is meant."""
        return self.host in {"localhost", "[::1]"} or bool(re.fullmatch(r"127(\.\d{1,3}){3}", self.host))

    def secure(self, *, loopback_http: bool) -> bool:
        """Tell whether nobody on the way can read along: https, or http on loopback where that is allowed."""
        return self.scheme == "https" or (loopback_http and self.on_loopback)


def url_from_text(text: str) -> Url:
    """Read an absolute URL.

    Names are written in ASCII, addresses in their usual form, and there are no credentials: what different parsers
    could take for different hosts is refused.

    Raises:
        ValueError: it is no such URL.
    """
    match = _URL.fullmatch(text) if _PRINTABLE.fullmatch(text) else None
    if match is None:
        raise ValueError("not an absolute http or https URL")
    scheme = match["scheme"].lower()
    digits = (match["port"] or "").lstrip("0")[:6]
    port = int(digits or "0") if match["port"] else _DEFAULT_PORTS[scheme]
    if port > 65535:
        raise ValueError("a port out of range")
    rest = (match["query"] or "") + (match["fragment"] or "")
    own = port == _DEFAULT_PORTS[scheme]
    return Url(scheme, _host(match["host"].lower()), None if own else port, _without_dots(match["path"] or "/"), rest)


def endpoint_url(origin: str, path: str) -> str:
    """Join an origin, with or without slashes at its end, and a path, with or without one at its beginning."""
    return origin.rstrip("/") + "/" + path.removeprefix("/")


def audience_for(endpoint: str) -> str:
    """Return what a token for an endpoint names as its audience: the normalised URL without query and fragment.

    Raises:
        ValueError: it is not an absolute URL.
    """
    return url_from_text(endpoint).address


def _host(host: str) -> str:
    if host.startswith("["):
        return f"[{ipaddress.IPv6Address(host[1:-1]).compressed}]"
    last = host.removesuffix(".").rpartition(".")[2]
    if last.isdigit() or re.fullmatch(r"0x[0-9a-f]*", last):  # a number, which must be an address then
        return str(ipaddress.IPv4Address(host))
    if not host.strip("."):
        raise ValueError("a host without a name")
    return host


def _without_dots(path: str) -> str:
    kept: list[str] = []
    segments = path.split("/")[1:]
    for number, segment in enumerate(segments, 1):
        folded = segment.lower()
        if folded in _DOTS and kept:
            kept.pop()
        if folded not in _DOTS | _DOT:
            kept.append(segment)
        elif number == len(segments):
            kept.append("")
    return "/" + "/".join(kept)
