"""A lock for tasks that is bound to no event loop."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class FairLock:
    """Lets one task in at a time, in the order in which they came.

    Any event loop may use it, at the same time too: whom a loop left inside or waiting counts no more once that loop is
    closed.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._inside: asyncio.Future[None] | None = None
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def idle(self) -> bool:
        """Whether nobody is inside."""
        return self._inside is None or self._inside.get_loop().is_closed()

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Be inside for the block."""
        entry = asyncio.get_running_loop().create_future()
        with self._guard:
            if self.idle:
                self._inside = entry
                entry.set_result(None)
            else:
                self._waiting.append(entry)
        try:
            await entry
            yield
        finally:
            with self._guard:
                if self._inside is entry:
                    self._let_in()
                elif entry in self._waiting:
                    self._waiting.remove(entry)

    def _let_in(self) -> None:
        self._inside = None
        while self._waiting and self._inside is None:
            entry = self._waiting.popleft()
            with suppress(RuntimeError):  # its loop is closed
                entry.get_loop().call_soon_threadsafe(_enter, entry)
                self._inside = entry


def _enter(entry: asyncio.Future[None]) -> None:
    if not entry.done():  # whoever is cancelled meanwhile is inside all the same, and leaves
        entry.set_result(None)
