"""Who hears what: watches on tasks and callers that wait for a task to settle."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Self

from innkeeper.contract.errors import Unavailable
from innkeeper.ports.events import SETTLED, TERMINAL, Committed, State
from innkeeper.ports.store import TaskView

TAIL: Final = 1024
"""How many events a watch holds in memory; a slower reader catches up from the log instead."""

ReadLog = Callable[[str, int, int], Awaitable[tuple[Committed, ...]]]
"""Reads (task id, after seq, limit) from the durable log."""


class Watch:
    """A reader's place in the event log of one task, from where it was opened to the task's next settled state.

    Iterate to get every event once, in order. A reader slower than the task falls back on the log, so it never makes
    the task wait and never misses an event. Iteration ends after a settled state, when the task has no accepted turn
    left, and when the host stops. ``from_start`` says that the events begin with the task's first, ``lasting`` that
    only a terminal state ends it: a task that waits for its caller goes on when that has answered.
    """

    def __init__(self, bus: "Bus", task_id: str, *, from_start: bool, lasting: bool) -> None:
        self.task_id = task_id
        self.from_start = from_start
        self.lasting = lasting
        self._ends: frozenset[State] = TERMINAL if lasting else SETTLED
        self._bus = bus
        self._tail: deque[Committed] = deque()
        self._seen = 0
        self._known = 0
        self._lagging = False
        self._over = False
        self._wake = asyncio.Event()

    def resume(self, after: int, known: int) -> None:
        """Go back to right after the event of that number, from where the log is read.

        The task has come to the event ``known``: whatever had settled before that has gone on since, and ends nothing.
        """
        self._seen, self._known = after, known
        self._lagging = True
        self._tail.clear()
        self._wake.set()

    def push(self, committed: Committed) -> None:
        """Take an event from the bus."""
        if self._lagging:
            pass  # the log has it
        elif len(self._tail) < TAIL:
            self._tail.append(committed)
        else:
            self._lagging = True
            self._tail.clear()
        self._wake.set()

    def finish(self) -> None:
        """End the iteration after what is there."""
        self._over = True
        self._wake.set()

    def close(self) -> None:
        """Stop listening."""
        self._bus.forget(self)
        self.finish()

    async def aclose(self) -> None:
        """Stop listening."""
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Committed:
        while True:
            if self._tail:
                return self._take()
            if self._lagging:
                await self._catch_up()
            elif self._over:
                raise StopAsyncIteration
            else:
                self._wake.clear()
                await self._wake.wait()

    def _take(self) -> Committed:
        committed = self._tail.popleft()
        self._seen = max(self._seen, committed.seq)
        if committed.state in self._ends and committed.seq >= self._known:
            self._tail.clear()
            self._lagging = False
            self.close()
        return committed

    async def _catch_up(self) -> None:
        self._lagging = False  # from here on the tail is kept again, so that nothing falls between log and tail
        read = await self._bus.read_log(self.task_id, self._seen, TAIL)
        if read:
            self._seen = read[-1].seq
        if len(read) == TAIL:
            self._lagging = True
            self._tail.clear()
        later = (committed for committed in self._tail if committed.seq > self._seen)
        self._tail = deque((*(committed for committed in read if committed.body), *later))


class Bus:
    """Passes committed events on to the watches of their task, and wakes those who wait for it to settle."""

    def __init__(self, read_log: ReadLog) -> None:
        self.read_log = read_log
        self._watches: dict[str, list[Watch]] = {}
        self._waiters: dict[str, list[asyncio.Future[TaskView | None]]] = {}
        self._closed = False

    @property
    def open_watches(self) -> int:
        """How many watches are open."""
        return sum(map(len, self._watches.values()))

    def publish(self, committed: Committed) -> None:
        """Hand an event to everyone who watches its task."""
        if committed.body:
            for watch in self._watches.get(committed.task_id, ()):
                watch.push(committed)
        if committed.state in SETTLED:
            self._wake(committed.task_id, committed.whole)

    def watch(self, task_id: str, *, from_start: bool = False, lasting: bool = False) -> Watch:
        """Open a watch: it gets every event of the task that is published from now on."""
        watch = Watch(self, task_id, from_start=from_start, lasting=lasting)
        if self._closed:
            watch.finish()
            return watch
        self._watches.setdefault(task_id, []).append(watch)
        return watch

    def forget(self, watch: Watch) -> None:
        """Drop a watch; dropping it twice is no fault."""
        watches = self._watches.get(watch.task_id, [])
        if watch in watches:
            watches.remove(watch)
        if not watches:
            self._watches.pop(watch.task_id, None)

    async def until_settled(self, task_id: str) -> TaskView | None:
        """Wait until the task settles or has no accepted turn left; answer it as it stands then, where that is known.

        Raises:
            Unavailable: the host stops.
        """
        if self._closed:
            raise _stopping()
        waiter: asyncio.Future[TaskView | None] = asyncio.get_running_loop().create_future()
        self._waiters.setdefault(task_id, []).append(waiter)
        try:
            return await waiter
        finally:
            waiters = self._waiters.get(task_id)
            if waiters and waiter in waiters:
                waiters.remove(waiter)
                if not waiters:
                    del self._waiters[task_id]

    def end(self, task_id: str) -> None:
        """Say that the task has no accepted turn left."""
        for watch in self._watches.get(task_id, ()):
            if not watch.lasting:
                watch.finish()
        self._wake(task_id)

    def refuse(self, task_id: str, error: Unavailable) -> None:
        """Tell everyone who waits for the task that it cannot go on now."""
        for watch in self._watches.get(task_id, ()):
            watch.finish()
        for waiter in self._waiters.pop(task_id, ()):
            if not waiter.done():
                waiter.set_exception(error)

    def close(self) -> None:
        """End every watch and refuse everyone who waits, now and from now on: the host stops."""
        self._closed = True
        for task_id in {*self._watches, *self._waiters}:
            self.refuse(task_id, _stopping())

    def _wake(self, task_id: str, whole: TaskView | None = None) -> None:
        for waiter in self._waiters.pop(task_id, ()):
            if not waiter.done():
                waiter.set_result(whole)


def _stopping() -> Unavailable:
    return Unavailable("The host is stopping; the task goes on after its restart")
