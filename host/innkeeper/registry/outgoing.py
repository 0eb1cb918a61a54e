"""The HTTP client that all plugins of a host share."""

from datetime import timedelta
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Final, Self, final

import httpx

TIMEOUT: Final = timedelta(seconds=10)
"""How long a connection, a read or a write may take, unless the request says otherwise."""

CONNECTIONS: Final = 100


@final
class SharedClient(httpx.AsyncClient):
    """A client that no plugin can turn against another: it keeps no cookies, follows no redirects, cannot be closed.

    The host ends it with ``end``.
    """

    def __init__(self) -> None:
        super().__init__(
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
