"""A lock for tasks that is bound to no event loop."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class FairLock:
    """Lets one task in at a time, in the order in which they came.

    Any event loop may use it, one after the other: whom a loop left inside or waiting counts no more once that loop
    is closed.
    """

    def __init__(self) -> None:
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
        if self.idle:
            self._enter(entry)
        else:
            self._waiting.append(entry)
        try:
            await entry
            yield
        finally:
            entry.cancel()
            if self._inside is entry:
                self._let_in()

    def _enter(self, entry: asyncio.Future[None]) -> None:
        self._inside = entry
        entry.set_result(None)

    def _let_in(self) -> None:
        self._inside = None
        while self._waiting and self._inside is None:
            entry = self._waiting.popleft()
            if not entry.done() and not entry.get_loop().is_closed():
                self._enter(entry)
