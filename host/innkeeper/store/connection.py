"""A SQLite connection on a thread of its own, asked for one function at a time."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import aiosqlite
import anyio

from innkeeper.contract.errors import Unavailable

T = TypeVar("T")

BUSY_TIMEOUT_SECONDS = 5.0
"""How long a statement waits for another process that writes, such as a command beside the host."""


class Connection:
    """A connection whose every use is one function, run on the connection's thread in the order of the calls.

    It must be closed: its thread keeps the process alive.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._raw: sqlite3.Connection | None = None
        self._thread: threading.Thread | None = None
        self._open = True
        self._aiosqlite = aiosqlite.Connection(self._connect, iter_chunk_size=64)

    def _connect(self) -> sqlite3.Connection:
        self._thread = threading.current_thread()
        self._raw = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=BUSY_TIMEOUT_SECONDS
        )
        return self._raw

    async def open(self) -> None:
        """Start the thread and open the file, which must exist.

        Raises:
            sqlite3.OperationalError: the file cannot be opened.
        """
        try:
            await self._aiosqlite
        except BaseException:
            # aiosqlite has told its thread to stop but does not wait for it. The thread answers to the event loop
            # once more: that must happen while there is one.
            if self._thread is not None:
                self._thread.join()
            raise

    @property
    def alive(self) -> bool:
        """Whether the thread is there to answer."""
        return self._thread is not None and self._thread.is_alive()

    async def run(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Run the function on the connection's thread, with the connection, and return its answer.

        Whoever is cancelled while it runs gets no answer; the function runs to its end all the same.

        Raises:
            Unavailable: the connection is closed.
            RuntimeError: the function raised ``StopIteration``, which no future can carry.
        """
        if not self._open:
            raise Unavailable("The host is shutting down")

        def call() -> T:
            try:
                return function(self._raw)  # type: ignore[arg-type]  # set since open()
            except StopIteration as error:
                raise RuntimeError("StopIteration raised on a database thread") from error

        # aiosqlite's public methods are one trip to the thread per statement. The one that they are all made of takes
        # any function: a whole transaction costs one trip.
        answer: T = await self._aiosqlite._execute(call)  # type: ignore[no-untyped-call]  # noqa: SLF001
        return answer

    async def close(self) -> None:
        """Finish what was asked before, close the file and end the thread. Closing twice is once."""
        if self._open and self._thread is not None and self.alive:
            self._open = False
            await self._aiosqlite.close()
            self._thread.join()  # it has answered for the last time


async def connect(path: Path, prepare: Callable[[sqlite3.Connection], None]) -> Connection:
    """Open a connection to a file that exists and prepare it; on any failure nothing stays open.

    Raises:
        sqlite3.Error: the file cannot be opened; whatever ``prepare`` raises.
    """
    connection = Connection(path)
    # A cancelled connect would leave the file open: the cancellation waits until there is something to close.
    opening = asyncio.ensure_future(connection.open())
    try:
        await asyncio.shield(opening)
        await connection.run(prepare)
    except BaseException:
        with anyio.CancelScope(shield=True):
            await asyncio.wait({opening})
            if opening.exception() is None:
                await connection.close()
        raise
    return connection
