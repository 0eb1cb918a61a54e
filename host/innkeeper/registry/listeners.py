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

    What does not fit into the queue is dropped and counted; the log says when that begins, and how many it were.
    """

    def __init__(self, implementation: Implementation, tell: Tell, charges: Charges) -> None:
        self._implementation = implementation
        self._tell = tell
        self._charges = charges
        self._queue: deque[TurnEvent] = deque()
        self._task: asyncio.Task[None] | None = None
        self._missed = 0
        self.dropped = 0

    @property
    def plugin(self) -> str:
        """The name of the plugin that listens."""
        return self._implementation.plugin

    def push(self, event: TurnEvent) -> None:
        """Queue an event; call it on the event loop."""
        if len(self._queue) >= WAITING:
            if not self._missed:
                self._implementation.context.log.warning(
                    "%s does not keep up: its queue is full, what does not fit in is dropped", self._implementation.name
                )
            self._missed += 1
            self._charge(1)
            return
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
        self._missed += len(self._queue)
        self._charge(len(self._queue))
        self._queue.clear()
        self._tell_missed()

    async def _work(self) -> None:
        try:
            while self._queue:
                await self._tell(self._implementation, self._queue.popleft())
            self._tell_missed()
        finally:
            self._task = None

    def _charge(self, events: int) -> None:
        self.dropped += events
        for _ in range(events):
            tenant = self._implementation.context.tenant or ""
            self._charges.add(Charge(self._implementation.plugin, self._implementation.hook, tenant))

    def _tell_missed(self) -> None:
        """Say how many events were dropped since this was said last."""
        if self._missed:
            self._implementation.context.log.warning(
                "%s was not told of %d events", self._implementation.name, self._missed
            )
        self._missed = 0
