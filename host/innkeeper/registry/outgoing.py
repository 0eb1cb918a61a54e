"""The HTTP clients of plugins."""

import functools
import ssl
from datetime import timedelta
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Final, Self, final

import httpx

TIMEOUT: Final = timedelta(seconds=10)
"""How long a connection, a read or a write may take, unless the request says otherwise."""

CONNECTIONS: Final = 100


@final
class PluginClient(httpx.AsyncClient):
    """The client of one plugin at all its tenants: it keeps no cookies, follows no redirects and cannot be closed.

    The host ends it with ``end``.
    """

    def __init__(self, tls: ssl.SSLContext | bool = True) -> None:
        super().__init__(
            verify=tls,
            timeout=TIMEOUT.total_seconds(),
            limits=httpx.Limits(max_connections=CONNECTIONS),
            follow_redirects=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        """Stay open: others use it."""

    async def aclose(self) -> None:
        """Stay open: others use it."""

    async def end(self) -> None:
        """Close every connection; the client cannot be used any more."""
        await super().aclose()


@final
class Clients:
    """A client for each plugin: what one sets on its own, such as headers or hooks, no other sees."""

    def __init__(self) -> None:
        self._clients: dict[str, PluginClient] = {}

    def of(self, plugin: str) -> PluginClient:
        """Return the client of a plugin; all of them trust the same certificates, which are read once."""
        if plugin not in self._clients:
            self._clients[plugin] = PluginClient(_trusted())
        return self._clients[plugin]

    async def end(self) -> None:
        """Close every connection of every client."""
        for client in self._clients.values():
            await client.end()


@functools.cache
def _trusted() -> ssl.SSLContext:
    return httpx.create_ssl_context()
