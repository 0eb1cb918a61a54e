"""Which names this host answers to, and which browser pages may change its state."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from innkeeper.edge.http import Exchange, Scope, refusal

_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")


ABSOLUTE: Final = ("http://", "https://")
"""How a request target in absolute form begins."""


def origin_form(scope: Scope) -> Scope:
    """Rewrite a request whose target is a whole URL: its authority is the Host that counts (RFC 9112 §3.2.2)."""
    authority, path = _split_target(scope["path"])
    headers = [(name, value) for name, value in scope["headers"] if name != b"host"]
    inner = {**scope, "path": path, "headers": [*headers, (b"host", authority.encode())]}
    if raw := scope.get("raw_path"):
        inner["raw_path"] = _split_target(raw.decode("latin-1"))[1].encode("latin-1")
    return inner


def _split_target(target: str) -> tuple[str, str]:
    """Return authority and path of a whole URL."""
    authority, slash, rest = target.partition("://")[2].partition("/")
    return authority, f"{slash or '/'}{rest}"


@dataclass(frozen=True, slots=True)
class Origins:
    """The Host headers that are served, and the Origins that may do more than read; all in lower case.

    A name that was made to point here is not ours (DNS rebinding), and a page from elsewhere has no business here.
    """

    hosts: frozenset[str]
    origins: frozenset[str]

    def check(self, exchange: Exchange) -> None:
        """Refuse a request for another host, and one that a foreign page sent to change something.

        Raises:
            Refusal: 421 for the Host header, 403 for the Origin.
        """
        hosts = exchange.header(b"host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            raise refusal(421, "This host is not served here")
        if exchange.method not in _SAFE_METHODS and any(
            origin.lower() not in self.origins for origin in exchange.header(b"origin")
        ):
            raise refusal(403, "This origin may not send here")


def origins_from_urls(
    public_url: str, binds: Iterable[str], allowed_hosts: Iterable[str] = (), allowed_origins: Iterable[str] = ()
) -> Origins:
    """Work out what is served from the configured values.

    ``binds`` are ``address:port`` as the server listens; a bind on loopback answers to every loopback name, one that
    is no address (a socket's path) or any address (``0.0.0.0``) to none. ``allowed_hosts`` are taken as they are.
    """
    url = urlsplit(public_url)
    public = {url.netloc.rpartition("@")[2]}
    default = _DEFAULT_PORTS.get(url.scheme)
    if default is not None and url.hostname and url.port in (None, default):
        name = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
        public = {name, f"{name}:{default}"}
    bound = {authority for bind in binds for authority in _authorities(bind)}
    # A port speaks one of the two schemes, so the other spelling is nobody else's.
    own_pages = {f"{scheme}://{authority}" for scheme in _DEFAULT_PORTS for authority in bound}
    return Origins(
        hosts=_lower(public | bound | set(allowed_hosts)),
        origins=_lower({f"{url.scheme}://{name}" for name in public} | own_pages | set(allowed_origins)),
    )


def _authorities(bind: str) -> set[str]:
    host, _, port = bind.rpartition(":")
    if not host or not port.isdigit():
        return set()
    names: tuple[str, ...] = (host,)
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        names = _LOOPBACK_NAMES if host.lower() == "localhost" else names
    else:
        if address.is_unspecified:
            return set()
        names = (host, *_LOOPBACK_NAMES) if address.is_loopback else names
    short = set(names) if int(port) in _DEFAULT_PORTS.values() else set()
    return short | {f"{name}:{port}" for name in names}


def _lower(values: Iterable[str]) -> frozenset[str]:
    return frozenset(value.lower() for value in values)
