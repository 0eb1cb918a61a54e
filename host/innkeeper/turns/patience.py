"""Why a run is stopped, and how long it waits for a store that takes nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Final, TypeVar

from innkeeper.contract.errors import Unavailable

T = TypeVar("T")

FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 5.0
"""How long a turn waits before it writes again what the store could not take; the pause doubles in between."""


class Stop(Enum):
    """Why a run is stopped from outside."""

    CANCELED = "canceled"
    SHUTDOWN = "shutdown"


class Patience:
    """Writes or reads, again and again while the store cannot: the session waits, and its order stays.

    ``stop`` is done when the run is stopped; ``stuck`` is told, each time, that the store cannot.
    """

    def __init__(self, stop: asyncio.Future[Stop], stuck: Callable[[Unavailable], None]) -> None:
        self._stop = stop
        self._stuck = stuck

    async def stored(self, write: Callable[[], Awaitable[T]]) -> T:
        """Return what the write answers once it could be stored.

        Raises:
            Unavailable: the host stops first; the turn is left to its next start.
        """
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                return await write()
            except Unavailable as error:
                self._stuck(error)
                if self._stop.done() and self._stop.result() is Stop.SHUTDOWN:
                    raise
                await self._pause(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _pause(self, seconds: float) -> None:
        """Wait, but no longer than until the run is stopped; a stop that came before is waited out."""
        if self._stop.done():
            await asyncio.sleep(seconds)
        else:
            await asyncio.wait((self._stop,), timeout=seconds)
