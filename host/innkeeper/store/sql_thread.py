"""A SQLite connection that can be interrupted, on threads that it shares and bound to no event loop."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio

from innkeeper.store.connection import BUSY_TIMEOUT_SECONDS

T = TypeVar("T")

INTERRUPT_SECONDS: Final = 0.005
"""How soon a statement is interrupted again: the first time it may not have begun yet."""


class SharedThreads:
    """At most ``most`` threads, for any number of connections; there while a connection is."""

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._guard = threading.Lock()
        self._users = 0
        self._executor = ThreadPoolExecutor(1)  # without a thread until it is used, and it never is

    def join(self) -> ThreadPoolExecutor:
        """Return what runs the functions of one connection more."""
        with self._guard:
            if self._users == 0:
                self._executor = ThreadPoolExecutor(self._most, thread_name_prefix=self._name)
            self._users += 1
            return self._executor

    def leave(self) -> None:
        """Take note that a connection is closed: the last one ends the threads."""
        with self._guard:
            self._users -= 1
            if self._users == 0:
                self._executor.shutdown()


class SqlThread:
    """A connection whose every use is one function, run on a thread, one at a time.

    Any event loop may ask, one after the other. It must be closed.
    """

    def __init__(self, path: Path, threads: SharedThreads) -> None:
        self._path = path
        self._threads = threads
        self._executor = threads.join()
        self._alone = threading.Lock()
        self._raw: sqlite3.Connection | None = None
        self._last: Future[Any] | None = None

    async def open(self, prepare: Callable[[sqlite3.Connection], None]) -> None:
        """Open the file, which must exist, and prepare the connection; on any failure nothing stays open.

        Raises:
            sqlite3.Error: the file cannot be opened; whatever ``prepare`` raises.
        """
        try:
            await self._call(self._connect)
            await self.run(prepare)
        except BaseException:
            await self.close()
            raise

    def _connect(self) -> None:
        self._raw = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?mode=rw",
            uri=True,
            isolation_level=None,
            timeout=BUSY_TIMEOUT_SECONDS,
            cached_statements=0,
            check_same_thread=False,  # one function at a time all the same
        )

    async def run(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Run the function on the thread, with the connection, and return its answer.

        On return and on any raise it is over. A cancellation interrupts its statement and the rest of it.
        """

        def call() -> T:
            with self._alone:  # one that a closed event loop has left behind may still be running
                if self._raw is None:
                    raise sqlite3.ProgrammingError("the connection is closed")
                return function(self._raw)

        return await self._call(call)

    async def _call(self, function: Callable[[], T]) -> T:
        job = self._last = self._executor.submit(function)
        try:
            return await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            await self._until_done(job, self._interrupt)
            raise

    async def run_to_its_end(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Interrupt what is running, then run the function; a cancellation of the caller is left for later.

        A rollback and a close must happen whoever is in a hurry.
        """
        if self._last is not None:
            await self._until_done(self._last, self._interrupt)
        raw = self._raw
        if raw is None:
            raise sqlite3.ProgrammingError("the connection is closed")

        def call() -> T:
            with self._alone:
                return function(raw)

        job: Future[T] = self._executor.submit(call)
        self._last = job
        await self._until_done(job, lambda: None)
        return job.result()

    async def _until_done(self, job: Future[Any], meanwhile: Callable[[], None]) -> None:
        """Wait for the job whatever happens: whoever is cancelled here is on its way out, or about to be."""
        ended = asyncio.wrap_future(job)
        ended.add_done_callback(
            lambda _: ended.cancelled() or ended.exception()
        )  # looked at: asyncio need not complain
        with anyio.CancelScope(shield=True):
            while not ended.done():
                meanwhile()
                with suppress(asyncio.CancelledError):
                    await asyncio.wait({ended}, timeout=INTERRUPT_SECONDS)

    def _interrupt(self) -> None:
        if self._raw is not None:
            with suppress(sqlite3.ProgrammingError):  # closed meanwhile
                self._raw.interrupt()

    async def close(self) -> None:
        """Interrupt what is running, close the file and leave the threads; an open transaction is undone."""
        try:
            if self._raw is not None:
                await self.run_to_its_end(_close)
        finally:
            self._raw = None
            self._threads.leave()


def _close(raw: sqlite3.Connection) -> None:
    with suppress(sqlite3.OperationalError):
        raw.execute("SELECT 1")  # an interrupt that has come too late for a statement would meet the last checkpoint
    raw.close()
