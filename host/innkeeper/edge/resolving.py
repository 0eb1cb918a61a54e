"""Names looked up as the system does it."""

import asyncio
import socket
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

LOOKUPS: Final = 8
"""How many look-ups go on at the same time: callers choose the names, and a slow one holds its thread to the end."""


class SystemResolver:
    """Implements ``ports.resolver.Resolver``. A look-up that nobody waits for any more is not begun."""

    def __init__(self, threads: Executor) -> None:
        self._threads = threads

    async def addresses(self, host: str) -> Sequence[str]:
        """Return every address of a name."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, _addresses, host)


@contextmanager
def system_resolver() -> Iterator[SystemResolver]:
    """Look names up in threads of their own. On leaving, look-ups that go on are left to end by themselves."""
    threads = ThreadPoolExecutor(LOOKUPS, thread_name_prefix="resolver")
    try:
        yield SystemResolver(threads)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def _addresses(host: str) -> Sequence[str]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # UnicodeError: a label that is empty or too long
        return ()
    return tuple(dict.fromkeys(str(where[0]) for _, _, _, _, where in found))
