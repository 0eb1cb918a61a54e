"""Telling plugins of events: a bounded queue per listener, so that a slow one holds up nobody."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, final

from innkeeper.contract.turn_event import TurnEvent
from innkeeper.registry.charges import Charge, Charges
from innkeeper.registry.fanout import Implementation

WAITING: Final = 1000
"""How many events may wait for one listener."""

Tell = Callable[[Implementation, TurnEvent], Awaitable[None]]


@final
class Listener:
    """Tells one implementation one event after another, at most once each. It owns a task while there is any to tell.

    What does not fit into the queue is dropped, counted and, once per overflow, logged.
    """

    def __init__(self, implementation: Implementation, tell: Tell, charges: Charges) -> None:
        self._implementation = implementation
        self._tell = tell
        self._charges = charges
        self._queue: deque[TurnEvent] = deque()
        self._task: asyncio.Task[None] | None = None
        self._overflowing = False
        self.dropped = 0

    @property
    def plugin(self) -> str:
        """The name of the plugin that listens."""
        return self._implementation.plugin

    def push(self, event: TurnEvent) -> None:
        """Queue an event; call it on the event loop."""
        if len(self._queue) >= WAITING:
            self._drop(1, "its queue is full")
            self._overflowing = True
            return
        self._overflowing = False
        self._queue.append(event)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work(), name=self._implementation.name)

    async def close(self, timeout: float) -> None:
        """Give the listener ``timeout`` seconds to hear what waits, then drop the rest."""
        if self._task is None:
            return
        await asyncio.wait((self._task,), timeout=timeout)
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))
        if self._queue:
            self._overflowing = False
            self._drop(len(self._queue), "the host stops")
            self._queue.clear()

    async def _work(self) -> None:
        try:
            while self._queue:
                await self._tell(self._implementation, self._queue.popleft())
        finally:
            self._task = None

    def _drop(self, events: int, why: str) -> None:
        self.dropped += events
        context = self._implementation.context
        for _ in range(events):
            self._charges.add(Charge(self._implementation.plugin, self._implementation.hook, context.tenant or ""))
        if not self._overflowing:
            context.log.warning("%s is not told of %d events: %s", self._implementation.name, events, why)
