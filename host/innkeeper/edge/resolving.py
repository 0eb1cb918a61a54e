"""Names looked up as the system does it."""

import socket
from collections.abc import Sequence
from typing import Final

import anyio
from anyio import to_thread

LOOKUPS: Final = 8
"""How many look-ups go on at the same time: callers choose the names, and a slow one holds a thread for long."""


class SystemResolver:
    """Implements ``ports.resolver.Resolver``."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(LOOKUPS)

    async def addresses(self, host: str) -> Sequence[str]:
        """Return every address of a name."""
        return await to_thread.run_sync(_addresses, host, abandon_on_cancel=True, limiter=self._limiter)


def _addresses(host: str) -> Sequence[str]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # UnicodeError: a label that is empty or too long
        return ()
    return tuple(dict.fromkeys(str(where[0]) for _, _, _, _, where in found))
