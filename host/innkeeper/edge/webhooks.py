"""Where the host may send to for a caller: URLs screened as they are registered, and again before each connection.

Whoever names a URL makes the host connect to it from where the host stands (server-side request forgery). So it is
https, to a public address, and the address that was screened is the one to connect to.
"""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

import anyio

from innkeeper.edge.identity.urls import Url, url_from_text
from innkeeper.ports.resolver import Resolver

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

LOWEST_PORT: Final = 1024
"""Below it, ports other than https' own (http's on loopback) are those of other protocols."""

_GLOBAL_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
_TRANSLATED: Final = ipaddress.IPv6Network("64:ff9b::/96")
_SPECIAL: Final = tuple(map(ipaddress.ip_network, ("168.63.129.16/32", "192.0.0.0/24", "3fff::/20")))
"""What older registries in Python take for public: metadata of clouds, protocol assignments, documentation."""

_LOOPBACK: Final = (ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1"))
_LOCALHOST: Final = re.compile(r"(?:.*\.)?localhost\.?")


class WebhookRefused(Exception):
    """A URL that is no place to send to. The words are for the caller, and tell nothing of the network."""


class Unresolved(Exception):
    """The name of a webhook has no address now."""


@dataclass(frozen=True, slots=True)
class Destination:
    """A webhook that was screened, and the addresses that its host had then: connect to these and to no other."""

    url: Url
    addresses: tuple[str, ...]


@final
class Webhooks:
    """Screens URLs of webhooks.

    Hosts in ``allow_hosts`` may be at any address. With ``loopback_http`` they may be on loopback, by http too, where
    the URL says loopback itself. A name has ``seconds`` to resolve.

    Raises:
        ValueError: an entry of ``allow_hosts`` is no host.
    """

    def __init__(
        self,
        resolver: Resolver,
        *,
        allow_hosts: Iterable[str] = (),
        loopback_http: bool = False,
        seconds: float = 2.0,
    ) -> None:
        self._resolver = resolver
        self._allowed = frozenset(map(_host, allow_hosts))
        self._loopback_http = loopback_http
        self._seconds = seconds

    async def check(self, text: str) -> None:
        """Refuse what is known to be no place to send to; a name that has no address now may have one later.

        Raises:
            WebhookRefused: it is no such place.
        """
        try:
            await self.destination(text)
        except Unresolved:
            return

    async def destination(self, text: str) -> Destination:
        """Return where a URL leads now; ask right before connecting.

        Raises:
            WebhookRefused: it is no place to send to: one address is enough that is not allowed.
            Unresolved: its name has no address now.
        """
        url = self._url(text)
        addresses = _known(url.host) or await self._looked_up(url.host)
        if not all(self._may_reach(url, address) for address in addresses):
            raise WebhookRefused("leads to an address that is not allowed")
        return Destination(url, tuple(map(str, addresses)))

    def _url(self, text: str) -> Url:
        try:
            url = url_from_text(text)
        except ValueError:
            raise WebhookRefused("is not an absolute URL without credentials") from None
        if not url.secure(loopback_http=self._loopback_http):
            raise WebhookRefused("does not begin with https://")
        if url.port is not None and url.port < LOWEST_PORT:
            raise WebhookRefused("has a port that is not for this")
        return url

    async def _looked_up(self, host: str) -> Sequence[Address]:
        with anyio.move_on_after(self._seconds):
            if found := await self._resolver.addresses(host):
                return [ipaddress.ip_address(each) for each in found]
        raise Unresolved(host)

    def _may_reach(self, url: Url, address: Address) -> bool:
        if url.host in self._allowed:
            return True
        on_loopback = self._loopback_http and url.on_loopback and address.is_loopback
        return on_loopback or is_public(address)


def is_public(address: Address) -> bool:
    """Tell whether an address is one of the internet: it, and the IPv4 address that it stands for, if it does."""
    inner = _inner(address)
    if isinstance(inner, ipaddress.IPv6Address) and inner not in _GLOBAL_UNICAST:
        return False
    return inner.is_global and not inner.is_multicast and not any(inner in network for network in _SPECIAL)


def _inner(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address is translated to on its way, or else the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _known(host: str) -> Sequence[Address]:
    """Return the addresses of a host that need not be looked up."""
    if _LOCALHOST.fullmatch(host):
        return _LOOPBACK
    try:
        return (ipaddress.ip_address(host.strip("[]")),)
    except ValueError:
        return ()


def _host(entry: str) -> str:
    try:
        url = url_from_text(f"https://{entry}")
    except ValueError:
        url = None
    if url is None or url.port is not None or url.path != "/" or url.rest:
        raise ValueError(f"{entry!r}: expected is a host, such as hooks.example.com or [fd00::1]")
    return url.host
