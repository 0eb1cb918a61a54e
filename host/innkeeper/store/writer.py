"""The one writer: whatever has queued is committed together, in one trip to the database thread."""

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from innkeeper.contract.errors import Answerable, Unavailable
from innkeeper.ports.events import Committed, EventSink
from innkeeper.store.connection import Connection
from innkeeper.store.faults import unavailable
from innkeeper.store.files_in_place import FilesInPlace
from innkeeper.store.transactions import Done, Failed, Outcome, Transactions, Work

log = logging.getLogger(__name__)

T = TypeVar("T")

BATCH: Final = 512
"""How many pieces of work share a commit at most."""

PROBE_SECONDS: Final = 1.0
"""How often a disk that takes nothing is tried again."""

THREAD_WATCH_SECONDS: Final = 1.0
"""How often a commit that takes its time is asked whether its thread still lives."""


@dataclass(frozen=True, slots=True)
class Written(Generic[T]):
    """What a piece of work answers, and the events to publish once it is on disk."""

    answer: T
    events: tuple[Committed, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    work: Work[Written[T]]
    then: Callable[[T], None] | None
    future: asyncio.Future[T]

    def settle(self, outcome: Outcome[Written[T]], sink: EventSink) -> None:
        """Publish, call back and answer, in this order."""
        if isinstance(outcome, Done):
            for event in outcome.answer.events:
                _call(sink, event)
            if self.then is not None:
                _call(self.then, outcome.answer.answer)
            if not self.future.done():
                self.future.set_result(outcome.answer.answer)
        else:
            self.fail(outcome.error)

    def fail(self, error: BaseException) -> None:
        """Answer with the error; where nobody waits any more, one that says more than no is logged."""
        answer = unavailable(error) or error
        if not self.future.done():
            if isinstance(answer, (StopIteration, asyncio.CancelledError)):  # a future cannot carry these as errors
                answer = RuntimeError(f"{type(error).__name__} raised by work for the database")
                answer.__cause__ = error
            self.future.set_exception(answer)
        elif not isinstance(error, Answerable):
            log.error("work for the database failed after its caller had left", exc_info=error)


class Writer:
    """Runs work in the order of its submission; nobody who submits ever waits for nothing.

    The event loop on which it is made is the one from which it is used. It owns one task, ended by ``close``, and
    uses a connection that it leaves open.
    """

    def __init__(
        self, connection: Connection, transactions: Transactions, files: FilesInPlace, sink: EventSink
    ) -> None:
        self._connection = connection
        self._transactions = transactions
        self._files = files
        self._sink = sink
        self._queue: deque[_Entry[Any]] = deque()
        self._in_flight: list[_Entry[Any]] = []
        self._refusal = ""
        self._failing = False
        self._wake = asyncio.Event()
        self._flushing = asyncio.create_task(self._flush_until_closed(), name="store writer")

    @property
    def failing(self) -> bool:
        """Whether the last batch met a disk, file or lock that took no writes, or the next one will."""
        return self._failing or self._files.moved

    def submit(self, work: Work[Written[T]], *, then: Callable[[T], None] | None = None) -> asyncio.Future[T]:
        """Queue the work now and answer with the future of its answer.

        The work runs even if the future is cancelled. After its commit its events go to the sink, then ``then`` is
        called with the answer, then the future is resolved. The future raises what the work raised, or ``Unavailable``
        where it cannot be stored.
        """
        entry = _Entry(work, then, asyncio.get_running_loop().create_future())
        if self._refusal:
            entry.fail(Unavailable(self._refusal))
        else:
            self._queue.append(entry)
            self._wake.set()
        return entry.future

    async def close(self) -> None:
        """Take no more, write what has queued, and end the task."""
        self._refusal = self._refusal or "The host is shutting down"
        self._wake.set()
        try:
            await asyncio.wait({self._flushing})
        finally:
            self._flushing.cancel()

    async def _flush_until_closed(self) -> None:
        try:
            while True:
                await self._woken()
                self._wake.clear()
                while self._queue:
                    await self._flush()
                if self._refusal:
                    return
        except Exception:
            log.exception("the store's writer has failed")
        finally:
            self._failing = self._failing or not self._refusal
            self._refusal = self._refusal or "The host cannot store anything any more"
            for entry in (*self._in_flight, *self._queue):
                if not entry.future.done():
                    entry.fail(Unavailable(self._refusal))
            self._queue.clear()

    async def _woken(self) -> None:
        """Wait for work; while the disk refuses, try it now and then: a host that is not ready may get none."""
        if not self._failing:
            await self._wake.wait()
            return
        try:
            await asyncio.wait_for(self._wake.wait(), PROBE_SECONDS)
        except TimeoutError:
            self.submit(_probe).add_done_callback(asyncio.Future.exception)  # looked at: the note is taken elsewhere

    async def _flush(self) -> None:
        self._in_flight = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
        works = [entry.work for entry in self._in_flight]
        outcomes = await self._on_thread(works)
        self._take_note(outcomes)
        for entry, outcome in zip(self._in_flight, outcomes, strict=True):
            entry.settle(outcome, self._sink)
        self._in_flight = []

    def _take_note(self, outcomes: list[Outcome[Written[Any]]]) -> None:
        """Say when the disk begins to refuse, and when it takes writes again."""
        errors = [outcome.error for outcome in outcomes if isinstance(outcome, Failed) and unavailable(outcome.error)]
        if errors and not self._failing:
            log.error("nothing can be stored: %s", errors[0])
        elif self._failing and not errors:
            log.warning("writes are stored again")
        self._failing = bool(errors)

    async def _on_thread(self, works: list[Work[Written[Any]]]) -> list[Outcome[Written[Any]]]:
        trip = asyncio.ensure_future(self._connection.run(lambda raw: self._committed(raw, works)))
        try:
            while not trip.done():
                await asyncio.wait({trip}, timeout=THREAD_WATCH_SECONDS)
                if not trip.done() and not self._connection.alive:
                    raise RuntimeError("the database thread is gone")
            return trip.result()
        finally:
            trip.cancel()

    def _committed(self, raw: sqlite3.Connection, works: list[Work[Written[Any]]]) -> list[Outcome[Written[Any]]]:
        try:
            self._files.refuse_when_moved()
            outcomes = self._transactions.run(works)
            self._files.refuse_when_moved()  # before anybody is told
        except sqlite3.Error as error:
            return [Failed(error) for _ in works]
        try:
            self._files.empty_long_log(raw)
        except (sqlite3.Error, OSError):
            log.exception("the write-ahead log could not be emptied")
        return outcomes


def _call(callback: Callable[[T], None], value: T) -> None:
    try:
        callback(value)
    except Exception:
        log.exception("a listener of the store failed")


def _probe(connection: sqlite3.Connection) -> Written[None]:
    """Write a page and change nothing."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.execute(f"PRAGMA user_version = {version:d}")
    return Written(None)
