"""Foreign code that nobody waits for any more, and that runs on."""

import asyncio
import logging
import math
from typing import Any, final

import anyio

from innkeeper.registry.secrets import Secrets
from innkeeper.registry.watchdog import Steps

log = logging.getLogger(__name__)


@final
class Strays:
    """Foreign code that ignored its cancellation and runs on; each stays listed until it ends.

    One for each host, so that ``steps`` tells which foreign code of the host runs right now, and ``secrets`` what must
    not be written of what it says. ``rooms`` are the threads that each plugin has left, ``threads`` are not the host's
    own: no plugin takes those.
    """

    def __init__(self, secrets: Secrets | None = None) -> None:
        self.secrets = secrets or Secrets()
        self._names: dict[asyncio.Future[Any], str] = {}
        self.steps = Steps()
        self.rooms: dict[str, anyio.Semaphore] = {}
        self.threads = anyio.CapacityLimiter(math.inf)

    def leave(self, running: asyncio.Future[Any], name: str) -> None:
        """Keep a reference to ``running`` and list it as ``name`` until it is done."""
        if not running.done():
            log.warning("%s ignores its cancellation and is left behind", name)
            self._names[running] = name
            running.add_done_callback(self._ended)

    def names(self) -> tuple[str, ...]:
        """Return who is still running, in the order in which they were left."""
        return tuple(self._names.values())

    @property
    def count(self) -> int:
        """How many are still running."""
        return len(self._names)

    def _ended(self, ended: asyncio.Future[Any]) -> None:
        self._names.pop(ended, None)
        if not ended.cancelled():
            ended.exception()  # looked at, so that asyncio does not complain
